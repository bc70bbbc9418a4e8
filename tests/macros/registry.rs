//! R014 where the compiler cannot see it: registries that are put together at run time.

use ratchet::{Failure, Registry};

use ratchet::__private::Handler;

mod one {
    use super::Failure;

    #[ratchet::operation(name = "send_mail", version = "1", key = "mail:<order>/<line>")]
    pub(super) async fn send(order: u64, line: u64) -> Result<u64, Failure> {
        Ok(order + line)
    }
}

mod other {
    use super::Failure;

    #[ratchet::operation(name = "send_letter", version = "1", key = "mail:<a>/<b>")]
    pub(super) async fn send(a: u64, b: u64) -> Result<u64, Failure> {
        Ok(a * b)
    }
}

#[test]
fn two_names_with_one_template_clash() {
    let error = Registry::new([Handler::of::<one::send>(), Handler::of::<other::send>()]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "R014: `send_mail 1` and `send_letter 1` clash: some values give both the same key, so two actions could \
         not be told apart; name the action in the template, such as `:collect`"
    );
}

#[ratchet::operation(name = "send_parcel", version = "1", key = "parcel:<order>")]
async fn parcel(order: u64, _line: u64) -> Result<u64, Failure> {
    Ok(order)
}

#[ratchet::operation(
    name = "send_parcel",
    version = "2",
    key = "parcel:<order>:<line>",
    new_identity = "each line is sent alone"
)]
async fn parcel_of_a_line(order: u64, line: u64) -> Result<u64, Failure> {
    Ok(order + line)
}

#[test]
fn versions_may_have_different_templates_for_a_reason() {
    assert_eq!(ratchet::registry![parcel, parcel_of_a_line].served().count(), 2);
}

#[test]
fn an_empty_registry_is_one() {
    assert_eq!(ratchet::registry![].served().count(), 0);
    assert_eq!(ratchet::registry![one::send,].served().count(), 1);
}
