//! Sends e-mail under the identity of an operation, and says what became of it.
//!
//! SMTP cannot tell a repeated message from a new one, and an answer that was lost can be asked for nowhere. So an
//! operation that sends mail says what it prefers where nobody knows: [`MAIL`] as its destination does not compile without
//! `on_unknown`.
//!
//! | `on_unknown` | the relay took the message, and the worker died before it knew | right for |
//! |---|---|---|
//! | `may_duplicate` | sent again, with the same Message-ID: mail stores may drop the second copy, none has to | receipts, password links |
//! | `may_lose` | never again: at most one copy, perhaps none | newsletters, reminders |
//! | `park` | the record waits for a person | contracts, notices of termination |
//!
//! ```no_run
//! use lettre::Message;
//! use ratchet_core::{Context, Failure};
//! use ratchet_mail::Mailer;
//!
//! // #[ratchet::operation(name = "send_receipt", version = "1", key = "order:<order_id>:receipt:v1",
//! //     destination = ratchet::mail::MAIL, on_unknown = may_duplicate)]
//! async fn send_receipt(ctx: Context, mailer: Mailer, order_id: u64, to: String) -> Result<String, Failure> {
//!     let message = Message::builder()
//!         .from("shop@example.com".parse()?)
//!         .to(to.parse()?)
//!         .subject("Your receipt")
//!         .body(format!("Thank you for order {order_id}."))?;
//!     Ok(mailer.send(&ctx, message).await?.to_string())
//! }
//! ```
//!
//! # What is the same on every attempt
//!
//! The Message-ID is a digest of the pinned key, at the domain of the [`Mailer`]. The date is that of the first send, in
//! place of whatever the message has, and the boundaries of its parts, which lettre draws at random, become digests of the
//! content. Sender, recipients and everything else are fingerprinted and pinned: an attempt that would send another text is
//! stopped before the network.
//!
//! # What is known
//!
//! | what happened | outcome |
//! |---|---|
//! | no connection, no TLS, no sign-in, or cut or silent before the message was complete | not applied |
//! | 4xx to the sender, the recipient or the message | not applied |
//! | 5xx to these | rejected |
//! | cut or silent after the final dot, or an answer that nobody can read | unknown |
//! | 2xx to the final dot | done: the relay has it, which is not yet the recipient |
//!
//! # One recipient for each operation
//!
//! A message to many people is many effects, and a key is the identity of one. An operation for a newsletter enqueues one
//! operation for each recipient, which is safe to repeat, and each of these sends one message:
//!
//! ```ignore
//! #[ratchet::operation(name = "send_newsletter", version = "1", key = "newsletter:<issue_id>:send:v1")]
//! async fn send_newsletter(State(ratchet): State<Ratchet>, State(list): State<Subscribers>, input: Issue)
//!     -> Result<(), Failure>
//! {
//!     for subscriber_id in list.of(&input.issue_id).await? {
//!         let copy = Copy { issue_id: input.issue_id.clone(), subscriber_id };
//!         send_copy::enqueue(&ratchet, copy).await?; // key = "newsletter:<issue_id>:to:<subscriber_id>:v1"
//!     }
//!     Ok(())
//! }
//! ```
//!
//! Logs and causes have reply codes alone: no addresses, no texts, nothing that a relay says. lettre's own feature
//! `tracing`, which is off, would log whole dialogues with their credentials: leave it off.

mod boundaries;
mod dialogue;
mod letter;
mod mailer;
mod message_id;
mod refusal;
mod relay;

use ratchet_core::Contract;

pub use lettre;
pub use mailer::{Mailer, MailerError};
pub use message_id::MessageId;
pub use relay::Relay;

/// What SMTP promises about a message that is sent twice: nothing.
pub const MAIL: Contract = Contract::NONE;
