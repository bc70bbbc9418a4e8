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
        "R014: `send_mail 1` and `send_letter 1` clash: they have the same key template, so two actions would share \
         one key; name the action in the template"
    );
}

#[test]
fn an_empty_registry_is_one() {
    assert_eq!(ratchet::registry![].served().count(), 0);
    assert_eq!(ratchet::registry![one::send,].served().count(), 1);
}
