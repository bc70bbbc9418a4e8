//! Input and result without what is hidden.

use maud::{Markup, html};
use ratchet::{Client, HiddenPaths, LedgerError, Payload, Record};
use serde_json::Value;

use super::words::foreign;
use crate::said::Said;

/// Input and result as people may see them.
pub(super) struct Shown {
    input: Value,
    result: Option<Value>,
    /// Whether a worker has declared what is hidden.
    is_declared: bool,
    /// What programs said about its failures.
    pub(super) said: Said,
}

/// Hides what the operation marks as personal. Where no worker has declared that, it is not known what may be shown, and
/// everything is hidden.
pub(super) async fn read(client: &Client, record: &Record) -> Result<Shown, LedgerError> {
    let declared = client.ledger().hidden(record.served()).await?;
    let (is_declared, said) = (declared.is_some(), Said::of(record, declared.as_ref()));
    let hidden = declared.unwrap_or_else(HiddenPaths::everything);
    let result = record.result.as_ref().map(|result| without(result, &hidden));
    Ok(Shown { input: without(&record.input, &hidden), result, is_declared, said })
}

fn without(payload: &Payload, hidden: &HiddenPaths) -> Value {
    let read: Option<Value> = payload.decode().ok();
    let is_readable = read.is_some();
    let mut value = read.unwrap_or_else(|| Value::from(""));
    if is_readable {
        hidden.hide(&mut value);
    } else {
        HiddenPaths::everything().hide(&mut value);
    }
    value
}

impl Shown {
    pub(super) fn show(&self) -> Markup {
        html! {
            (document("Input", &self.input))
            @match &self.result {
                Some(result) => (document("Result", result)),
                None => p.hint { "No result is on record." },
            }
            @if !self.is_declared {
                p.hint {
                    "Everything is hidden, and what programs said about failures: no worker has declared what of this "
                    "operation and version may be shown."
                }
            }
        }
    }
}

fn document(name: &str, value: &Value) -> Markup {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    html! {
        h3 { (name) }
        pre tabindex="0" aria-label=(name) { (foreign(&text)) }
    }
}

#[cfg(test)]
mod tests {
    use ratchet::HiddenPath;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_hidden_of_an_input_is_hidden_of_a_result_too() {
        let email = HiddenPaths::new([HiddenPath::default().field("email")]);
        let payload = Payload::from_stored(r#"{"email":"ada@example.com","id":7}"#);
        assert_eq!(without(&payload, &email), json!({"email": "[redacted]", "id": 7}));
        assert_eq!(without(&payload, &HiddenPaths::everything()), json!("[redacted]"));
        let broken = Payload::from_stored("ada@example.com");
        assert_eq!(without(&broken, &HiddenPaths::default()), json!("[redacted]"));
    }
}
