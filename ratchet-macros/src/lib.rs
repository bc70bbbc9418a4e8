//! The attribute and derives of Ratchet. Use them through the `ratchet` crate, which re-exports them.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable,
        clippy::indexing_slicing,
        clippy::string_slice
    )
)]

mod errors;
mod input;
mod key;
mod key_part;
mod names;
mod operation;
mod registry;

use proc_macro::TokenStream;

/// Declares an operation: a background action with an identity that is the same on every attempt.
///
/// ```text
/// #[ratchet::operation(name = "collect_invoice", version = "1", key = "invoice:<invoice_id>:collect:v1")]
/// async fn collect_invoice(ctx: Context, input: CollectInvoice) -> Result<Receipt, Failure> { … }
/// ```
///
/// The function stays as it is, and can be called in unit tests. Beside it stands a type of the same name, with
///
/// - `collect_invoice::enqueue(&ratchet, input).await?`: puts the action on record;
/// - `collect_invoice::request(input)`: the same as a plain value, to be submitted elsewhere;
/// - `collect_invoice::key(&input)?`: the key of an input;
/// - `collect_invoice::test_context(&input)`: a context for a unit test;
/// - `NAME`, `VERSION`, `KEY_TEMPLATE`.
///
/// # Parameters
///
/// Parameters of type `Context` and `State<T>` are injected; the others are the input. With exactly one of them, its
/// value is the payload (a struct with `#[derive(Input)]`) and the placeholders of the key name its fields. With two or
/// more, the payload is an object by parameter name, the placeholders begin with the name of a parameter, and
/// `enqueue`, `request`, `key` and `test_context` take the parameters one by one. These parameters are marked like the
/// fields of an input: `#[key]`, `#[pii]`, `#[volatile]` (see `derive(Input)`).
///
/// # Arguments
///
/// | argument | value |
/// |---|---|
/// | `name` | the name under which it is on record; required |
/// | `version` | the version of its code and input; required |
/// | `key` | the key template, such as `"invoice:<invoice_id>:collect:v1"`; required |
/// | `destination` | a constant of type `Contract`, `none`, or `steps` where each step has its own; left out, nothing is claimed, and what is unknown is parked |
/// | `on_unknown` | `park` (the default), `may_duplicate` or `may_lose`; required where a declared destination does not recognise a repeated request |
/// | `retry` | `standard` (the default), `aggressive`, `relaxed`, or a constant of type `RetryPolicy` |
/// | `timeout` | how long one attempt may run: `"30s"` (`ms`, `s`, `m`, `h`, `d`), or a constant of type `Duration`; `"60s"` if left out |
/// | `retention` | how long a settled record is kept, such as `"90d"`, which is the default |
/// | `replay_within` | how long after its end a record may be replayed; as long as it is kept if left out |
/// | `queue` | where its records wait, such as `"mail"`; `"default"` if left out. A request may name another: `.queue("bulk")` |
/// | `concurrency` | how many of its attempts run at once over all workers of a namespace, all versions and all queues: a `u32` from 1 up; no limit if left out |
/// | `priority` | an `i16`; higher is more urgent |
/// | `new_identity` | why the key template may differ from the one on record |
/// | `schema` | stands alone: the manifest of a registry has JSON Schemas of input and result, which have `schemars::JsonSchema` (feature `schema`) |
/// | `allow` | `allow(R002 = "slot is the scheduled time, stored on the booking")`: overrules a finding, with the reason |
/// | `crate` | where the `ratchet` crate is, if not at `::ratchet` |
///
/// # Findings
///
/// A key that defeats deduplication does not compile: a counter of attempts (R001), a clock (R002), a random value
/// (R003), personal data (R004), a credential (R005), nothing that tells records apart (R006), a template outside the
/// grammar (R007), a type without a stable text form (R008). Nor does an operation whose destination may forget the key
/// before the last retry (R009), whose record is purged too early (R010), that does not say what to do about unknown
/// outcomes (R011), or that has the name and version of another one in the crate
/// (R014). Personal data in a parameter that is not marked `#[pii]` is a warning (R013). All that is wrong is reported at
/// once, except what the compiler evaluates, which comes one by one.
///
/// The body is searched for what would defeat the key there: a random value, a clock or the attempt that is sent as an
/// idempotency key or enqueued (R012). It is an error if it is made in place, and a warning if it comes through a `let`.
///
/// `docs/findings.md` has a section for each, with a wrong and a right example; `ratchet explain R002` prints it.
#[proc_macro_attribute]
pub fn operation(args: TokenStream, item: TokenStream) -> TokenStream {
    errors::guarded(&item.into(), |item| operation::expand(args.into(), item)).into()
}

/// Makes a struct the input of an operation: its value is stored with the record, and its fields are named in keys.
///
/// ```text
/// #[derive(Serialize, Deserialize, Input)]
/// struct CollectInvoice {
///     #[key]
///     invoice_id: String,
///     amount: u64,
///     #[pii]
///     billing_address: String,
///     #[volatile]
///     requested_at: u64,
/// }
/// ```
///
/// # Marks of fields
///
/// - `#[key]`: the field is part of the key. If its type cannot be, it is said at that type; and every operation that takes
///   this input has to name the field in its template.
/// - `#[pii]`: personal data, acknowledged. Whatever Ratchet itself shows has `[redacted]` in its place, at every level of
///   nested inputs, and `input.redacted()` gives the same for your own logs. What your `Debug` prints is not changed.
/// - `#[volatile]`: may differ between two submissions of one action, such as a trace id: it is no part of the fingerprint,
///   and what is executed is the input that was submitted first. Adding or removing the mark needs a new version.
///
/// Fields go by the names that serde writes (`rename`, `rename_all`, `flatten`). Nested inputs are found by their type,
/// also in `Option`, `Vec`, `Box` and arrays. In a map, a tuple or another generic type, and under `serde(with = …)`, the
/// whole field is redacted if something in it is personal, and `#[volatile]` within it does nothing. Not found are inputs
/// behind a type alias of such types, in an enum, or in a struct that is no input: mark the field that leads there.
///
/// # Findings
///
/// A field that is named like personal data and not marked is a warning (R013), silenced by `#[pii]` or, where the name
/// misleads, by `#[ratchet(allow(R013 = "reason"))]`.
/// A field that is named like a credential is an error (R005), since inputs are stored and shown to operators. Where
/// the name misleads: `#[ratchet(allow(R005 = "reason"))]` on the field. `#[ratchet(crate = path)]` on the struct names
/// the `ratchet` crate if it is not at `::ratchet`.
#[proc_macro_derive(Input, attributes(key, pii, volatile, ratchet))]
pub fn derive_input(item: TokenStream) -> TokenStream {
    errors::guarded_derive(|| input::expand(item.into())).into()
}

/// Makes a type part of keys: a struct with one field is written as that field, an enum without data as the name of
/// its variant in `snake_case`.
///
/// ```text
/// #[derive(KeyPart)]
/// struct InvoiceId(String);
///
/// #[derive(KeyPart)]
/// enum Channel { Mail, PushMessage } // `mail`, `push_message`
/// ```
///
/// An enum has few values, so it cannot be the only placeholder of a key.
///
/// Programs in other languages are told how serde writes the type (`KeyPart::FORM`): newtypes as their field, variants by
/// their names with `rename` and `rename_all`. With `from`, `into`, `with` and their like nothing is told, and only Rust
/// makes such keys. A `Deserialize` written by hand that changes what it reads, as by trimming, is not seen: write
/// `KeyPart` by hand too.
#[proc_macro_derive(KeyPart, attributes(ratchet))]
pub fn derive_key_part(item: TokenStream) -> TokenStream {
    errors::guarded_derive(|| key_part::expand(item.into())).into()
}

/// The operations that a worker executes, checked while compiling: two of them must not share a name and version, nor
/// two names one key template (R014).
///
/// ```text
/// let worker = ratchet.worker(ratchet::registry![collect_invoice, mail::send_receipt]).build()?;
/// ```
///
/// `registry![crate = path; …]` names the `ratchet` crate if it is not at `::ratchet`.
#[proc_macro]
pub fn registry(operations: TokenStream) -> TokenStream {
    errors::guarded_derive(|| registry::expand(operations.into())).into()
}
