//! The key templates that workers declare before they start.

use super::Fixture;
use super::build::{COLLECT, MAIL};
use crate::ledger::Served;
use crate::ledger::{Declaration, LedgerError};
use crate::model::{HiddenPath, HiddenPaths, OperationName, Version};

fn template(operation: OperationName, template: &str, new_identity: Option<&str>) -> Declaration {
    Declaration {
        new_identity: new_identity.map(str::to_owned),
        ..Declaration::new(operation, Version::from_static("1"), template)
    }
}

async fn declare(fixture: &Fixture, templates: Vec<Declaration>) -> Result<(), (String, String)> {
    match fixture.ledger.declare(templates).await {
        Ok(()) => Ok(()),
        Err(LedgerError::TemplateChanged { declared, on_record, .. }) => Err((declared, on_record)),
        Err(other) => panic!("declare: {other}"),
    }
}

fn refused(declared: &str, on_record: &str) -> Result<(), (String, String)> {
    Err((declared.to_owned(), on_record.to_owned()))
}

/// The same action must not get a second identity by an edit of its template.
pub async fn a_changed_template_is_refused(fixture: Fixture) {
    let first = template(COLLECT, "invoice:<id>:v1", None);
    assert_eq!(declare(&fixture, vec![first.clone()]).await, Ok(()));
    assert_eq!(declare(&fixture, vec![first.clone()]).await, Ok(()));
    let changed = template(COLLECT, "invoice:<id>:v2", None);
    let answer = declare(&fixture, vec![changed]).await;
    assert_eq!(answer, refused("invoice:<id>:v2", "invoice:<id>:v1"));
    assert_eq!(declare(&fixture, vec![first]).await, Ok(()));
}

const V1: &str = "invoice:<id>:v1";
const V2: &str = "invoice:<id>:v2";

/// Version 1 as it was, and version 2 with its reason.
fn rollout() -> [Declaration; 2] {
    [template(COLLECT, V1, None), template(COLLECT, V2, Some("ids were merged"))]
}

/// With a stated reason a template is added; it needs none afterwards, and a third one is compared with it.
pub async fn a_changed_template_with_a_reason_is_added(fixture: Fixture) {
    for (declared, reason, answer) in [
        (V1, None, Ok(())),
        (V2, Some("ids were merged"), Ok(())),
        (V2, None, Ok(())),
        ("invoice:<id>:v3", None, refused("invoice:<id>:v3", V2)),
        ("invoice:<id>:v3", Some("ids were split"), Ok(())),
        ("invoice:<id>:v4", None, refused("invoice:<id>:v4", "invoice:<id>:v3")),
    ] {
        assert_eq!(declare(&fixture, vec![template(COLLECT, declared, reason)]).await, answer, "{declared}");
    }
}

/// While a change is rolled out, old and new workers start in any order and any number of times.
pub async fn an_accepted_template_stays_accepted(fixture: Fixture) {
    let [old, new] = rollout();
    for one in [&old, &new, &old, &new, &old] {
        assert_eq!(declare(&fixture, vec![one.clone()]).await, Ok(()), "{one:?}");
    }
    assert_eq!(declare(&fixture, vec![new.clone(), old.clone()]).await, Ok(()));
    assert_eq!(declare(&fixture, vec![old, new]).await, Ok(()));
    let third = template(COLLECT, "bill:<id>", None);
    assert_eq!(declare(&fixture, vec![third]).await, refused("bill:<id>", V2), "the newest is named");
}

/// A worker of both versions declares them together, the one on record first or last.
pub async fn old_and_new_templates_may_come_together(fixture: Fixture) {
    let [old, new] = rollout();
    assert_eq!(declare(&fixture, vec![old.clone(), new.clone()]).await, Ok(()));
    assert_eq!(declare(&fixture, vec![template(COLLECT, V2, None)]).await, Ok(()));
    let mail = |one: &Declaration| Declaration { operation: MAIL, ..one.clone() };
    assert_eq!(declare(&fixture, vec![mail(&old)]).await, Ok(()));
    assert_eq!(declare(&fixture, vec![mail(&new), mail(&old)]).await, Ok(()));
    assert_eq!(declare(&fixture, vec![template(MAIL, V2, None)]).await, Ok(()));
}

/// Where nothing is known the first one is the one on record, whether it has a reason or not: the other way round,
/// nobody said why the older template differs.
pub async fn the_first_template_needs_no_reason_and_the_second_does(fixture: Fixture) {
    let [old, new] = rollout();
    assert_eq!(declare(&fixture, vec![new.clone(), old.clone()]).await, refused(V1, V2));
    assert_eq!(declare(&fixture, vec![old.clone()]).await, Ok(()), "the refused batch recorded nothing");
    let mail = |one: Declaration| Declaration { operation: MAIL, ..one };
    assert_eq!(declare(&fixture, vec![mail(new)]).await, Ok(()));
    assert_eq!(declare(&fixture, vec![mail(old)]).await, refused(V1, V2));
}

/// A template with a reason that stands in a refused batch is not accepted either.
pub async fn a_refused_batch_adds_no_template(fixture: Fixture) {
    let [old, new] = rollout();
    assert_eq!(declare(&fixture, vec![old, template(MAIL, "receipt:<id>", None)]).await, Ok(()));
    let batch = vec![new, template(MAIL, "mail:<id>", None)];
    assert_eq!(declare(&fixture, batch).await, refused("mail:<id>", "receipt:<id>"));
    assert_eq!(declare(&fixture, vec![template(COLLECT, V2, None)]).await, refused(V2, V1));
}

/// One refusal, and nothing of the whole batch is recorded.
pub async fn a_refused_batch_of_templates_records_nothing(fixture: Fixture) {
    assert_eq!(declare(&fixture, vec![template(COLLECT, "invoice:<id>", None)]).await, Ok(()));
    let batch = vec![template(MAIL, "receipt:<id>", None), template(COLLECT, "bill:<id>", None)];
    assert_eq!(declare(&fixture, batch).await, refused("bill:<id>", "invoice:<id>"));
    let other = template(MAIL, "mail:<id>", None);
    assert_eq!(declare(&fixture, vec![other]).await, Ok(()), "nothing was recorded for the first entry");
}

/// Entries of a batch see each other, as if each had come alone.
pub async fn two_templates_for_one_name_in_one_batch_are_refused(fixture: Fixture) {
    let batch = vec![template(COLLECT, "invoice:<id>", None), template(COLLECT, "bill:<id>", None)];
    assert_eq!(declare(&fixture, batch).await, refused("bill:<id>", "invoice:<id>"));
    assert_eq!(declare(&fixture, vec![template(COLLECT, "bill:<id>", None)]).await, Ok(()));
}

/// What a worker hides of the inputs of a version stays hidden, whoever starts next.
pub async fn what_was_hidden_once_stays_hidden(fixture: Fixture) {
    let path = |name: &str| HiddenPath::default().field("customer").field(name);
    let hiding = |version: &'static str, names: &[&str]| Declaration {
        version: Version::from_static(version),
        hidden: HiddenPaths::new(names.iter().map(|name| path(name))),
        ..template(COLLECT, V1, None)
    };
    let served = |version| Served { operation: COLLECT, version: Version::from_static(version) };
    assert_eq!(fixture.ledger.hidden(served("1")).await.expect("it answers"), None);
    let declared = vec![hiding("1", &["email"]), hiding("2", &[])];
    assert_eq!(declare(&fixture, declared).await, Ok(()));
    assert_eq!(declare(&fixture, vec![hiding("1", &["phone"])]).await, Ok(()));
    assert_eq!(declare(&fixture, vec![hiding("1", &[])]).await, Ok(()));
    let both = HiddenPaths::new([path("phone"), path("email")]);
    assert_eq!(fixture.ledger.hidden(served("1")).await.expect("it answers"), Some(both));
    assert_eq!(fixture.ledger.hidden(served("2")).await.expect("it answers"), Some(HiddenPaths::default()));
    // A refused declaration hides nothing.
    let refused = Declaration { template: V2.to_owned(), ..hiding("2", &["email"]) };
    assert!(declare(&fixture, vec![refused]).await.is_err());
    assert_eq!(fixture.ledger.hidden(served("2")).await.expect("it answers"), Some(HiddenPaths::default()));
}
