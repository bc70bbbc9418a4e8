//! Both forms of an operation: keys, requests, records, execution.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ratchet::{
    Context, Contract, Enqueued, Failure, Input, KeyPart, OnUnknown, Ratchet, RecordState, RetryPolicy,
    State, WorkerError,
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize, Input)]
struct CollectInvoice {
    #[key]
    invoice_id: String,
    customer: Customer,
    amount: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Customer {
    id: CustomerId,
    r#type: Kind,
}

#[derive(Debug, Clone, Serialize, Deserialize, KeyPart)]
struct CustomerId(u64);

#[derive(Debug, Clone, Serialize, Deserialize, KeyPart)]
enum Kind {
    WholeSale,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Receipt {
    amount: u64,
}

#[derive(Debug, Clone, Default)]
struct Collected(Arc<AtomicU64>);

const PAYMENTS: Contract = Contract::header("Idempotency-Key");
const AT_ONCE: u32 = 2 + 2;

#[ratchet::operation(
    name = "collect_invoice",
    version = "2",
    key = "invoice:<customer.type>/<customer.id>/<invoice_id>:collect:v1",
    destination = PAYMENTS,
    on_unknown = may_lose,
    retry = aggressive,
    timeout = "30s",
    retention = Duration::from_hours(24),
    queue = "invoices",
    concurrency = AT_ONCE,
    priority = -5,
    new_identity = "the kind of the customer became part of it",
)]
async fn collect_invoice(
    State(collected): State<Collected>,
    _ctx: Context,
    CollectInvoice { amount, .. }: CollectInvoice,
) -> Result<Receipt, Failure> {
    collected.0.fetch_add(amount, Ordering::SeqCst);
    Ok(Receipt { amount })
}

#[ratchet::operation(name = "transfer", version = "1", key = "transfer/<order>/<customer.id>:v1")]
async fn transfer(
    order: u64,
    ctx: Context,
    mut customer: Customer,
    State(collected): State<Collected>,
    note: Option<String>,
) -> Result<String, Failure> {
    customer.id.0 += 1;
    collected.0.fetch_add(order, Ordering::SeqCst);
    Ok(format!("{} {} {note:?}", ctx.attempt(), customer.id.0))
}

/// A lifetime in a parameter's type is none of the client's, and a misleading name is allowed with a reason.
#[ratchet::operation(
    name = "notify",
    version = "1",
    key = "notify:<channel>",
    crate = "::ratchet",
    allow(R005 = "the number on a paper ticket")
)]
async fn notify(channel: u64, token: Option<std::borrow::Cow<'static, str>>) -> Result<bool, Failure> {
    Ok(channel > 0 && token.is_some())
}

#[tokio::test]
async fn parameters_may_hold_what_lives_forever() {
    let ratchet = Ratchet::in_memory();
    let enqueued = notify::enqueue(&ratchet, 1, Some("7".into())).await.unwrap();
    assert!(matches!(enqueued, Enqueued::New { .. }));
}

fn customer() -> Customer {
    Customer { id: CustomerId(7), r#type: Kind::WholeSale }
}

fn input() -> CollectInvoice {
    CollectInvoice { invoice_id: "inv 1".to_owned(), customer: customer(), amount: 5 }
}

#[test]
fn keys_follow_the_template() {
    assert_eq!(collect_invoice::key(&input()).unwrap().as_str(), "invoice:whole_sale/7/inv%201:collect:v1");
    assert_eq!(transfer::key(&3, &customer(), &None).unwrap().as_str(), "transfer/3/7:v1");
    assert_eq!(collect_invoice::NAME, "collect_invoice");
    assert_eq!(collect_invoice::VERSION, "2");
    assert_eq!(transfer::KEY_TEMPLATE, "transfer/<order>/<customer.id>:v1");
}

#[test]
fn a_value_that_cannot_be_in_a_key_is_refused() {
    let empty = CollectInvoice { invoice_id: String::new(), ..input() };
    assert!(collect_invoice::key(&empty).unwrap_err().to_string().contains("key part 3"));
}

#[tokio::test]
async fn an_operation_can_be_called_like_the_function_that_it_is() {
    let collected = Collected::default();
    let ctx = collect_invoice::test_context(&input());
    let receipt = collect_invoice(State(collected.clone()), ctx, input()).await.unwrap();
    assert_eq!(receipt, Receipt { amount: 5 });
    let ctx = transfer::test_context(&3, &customer(), &None);
    assert_eq!(transfer(3, ctx, customer(), State(collected), None).await.unwrap(), "1 8 None");
}

#[test]
fn the_settings_of_the_attribute_reach_the_request() {
    let request = collect_invoice::request(input());
    let submission = request.into_submission(&ratchet::Namespace::DEFAULT).unwrap();
    assert_eq!(submission.policy.on_unknown, OnUnknown::MayLose);
    assert_eq!(submission.policy.retry, RetryPolicy::AGGRESSIVE);
    assert_eq!(submission.policy.timeout, Duration::from_secs(30));
    assert_eq!(submission.policy.retention, Duration::from_hours(24));
    assert_eq!(submission.priority.0, -5);
    assert_eq!(submission.queue.as_str(), "invoices");
    let other = collect_invoice::request(input()).queue("bulk");
    assert_eq!(other.into_submission(&ratchet::Namespace::DEFAULT).unwrap().queue.as_str(), "bulk");
    assert_eq!(submission.contract, PAYMENTS.terms());
    assert_eq!(submission.id.key.as_str(), "invoice:whole_sale/7/inv%201:collect:v1");
}

#[test]
fn a_worker_offers_what_the_attribute_says() {
    let registry = ratchet::registry![collect_invoice, transfer];
    let offers: Vec<_> = registry
        .offers()
        .map(|offer| (offer.served.operation.to_string(), offer.queue.to_string(), offer.at_most))
        .collect();
    let expected = [
        ("collect_invoice".to_owned(), "invoices".to_owned(), NonZeroU32::new(4)),
        ("transfer".to_owned(), "default".to_owned(), None),
    ];
    assert_eq!(offers, expected);
}

#[test]
fn several_parameters_are_an_object_by_name() {
    let request = transfer::request(3, customer(), Some("x".to_owned()));
    let submission = request.into_submission(&ratchet::Namespace::DEFAULT).unwrap();
    assert_eq!(submission.input.as_str(), r#"{"customer":{"id":7,"type":"WholeSale"},"note":"x","order":3}"#);
}

#[tokio::test]
async fn a_worker_executes_both_forms_and_hands_them_state() {
    let ratchet = Ratchet::in_memory();
    let Enqueued::New { id: first } = collect_invoice::enqueue(&ratchet, input()).priority(1).await.unwrap()
    else {
        panic!("it is the first");
    };
    let second = transfer::enqueue(&ratchet, 3, customer(), None).await.unwrap();
    let (second, _) = second.accepted().unwrap();
    let again = collect_invoice::enqueue(&ratchet, input()).await.unwrap();
    assert!(matches!(again, Enqueued::Existing { state: RecordState::Pending, .. }));

    let collected = Collected::default();
    let registry = ratchet::registry![collect_invoice, transfer];
    let worker = ratchet.worker(registry).state(collected.clone()).build().unwrap();
    let settled = async {
        for id in [first, second] {
            while ratchet.state(id.clone()).await.unwrap() != Some(RecordState::Succeeded) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    };
    worker.run(settled).await.unwrap();
    assert_eq!(collected.0.load(Ordering::SeqCst), 8);

    let done = transfer::enqueue(&ratchet, 3, customer(), None).await.unwrap();
    let (_, result) = done.accepted().unwrap();
    assert_eq!(result.as_deref(), Some("1 8 None"));
}

#[test]
fn missing_state_is_reported_when_the_worker_is_built() {
    let error = Ratchet::in_memory().worker(ratchet::registry![transfer]).build().unwrap_err();
    let WorkerError::MissingState { operation, state } = error else { panic!("{error}") };
    assert_eq!(operation, "transfer");
    assert!(state.ends_with("Collected"), "{state}");
}
