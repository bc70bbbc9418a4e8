//! The text of expansions, and how long they may be.

use expect_test::expect_file;
use proc_macro2::TokenStream;
use quote::quote;

use super::expand;

/// What is generated beside the function, as a person would write it.
fn beside(args: TokenStream, function: &TokenStream) -> String {
    let whole = expand(args, function).to_string();
    let own = function.to_string();
    let beside = whole.strip_prefix(own.as_str()).expect("the function comes first and is unchanged");
    prettyplease::unparse(&syn::parse_str(beside).expect("items"))
}

fn within(text: &str, lines: usize, bytes: usize) {
    // Indentation is the printer's.
    let (has_lines, has_bytes) =
        (text.lines().count(), text.lines().map(|line| line.trim().len()).sum::<usize>());
    assert!(has_lines <= lines && has_bytes <= bytes, "{has_lines} lines, {has_bytes} bytes:\n{text}");
}

#[test]
fn one_input() {
    let text = beside(
        quote!(name = "collect_invoice", version = "1", key = "invoice:<invoice_id>:collect:v1"),
        &quote! {
            pub async fn collect_invoice(ctx: Context, input: CollectInvoice) -> Result<Receipt, Failure> { body }
        },
    );
    within(&text, 50, 1500);
    expect_file!["snapshots/one_input.rs"].assert_eq(&text);
}

#[test]
fn one_input_and_every_argument() {
    let text = beside(
        quote! {
            name = "collect_invoice", version = "1", key = "invoice:<customer.id>/<invoice_id>:collect:v1",
            destination = PAYMENTS, on_unknown = may_duplicate, retry = relaxed, timeout = "30s", retention = KEPT,
            queue = "bulk", concurrency = 4, priority = 5, new_identity = "the customer came in", crate = path::to::ratchet
        },
        &quote! {
            /// Collects.
            #[deprecated]
            #[inline]
            pub(crate) async fn collect_invoice(ctx: Context, State(c): State<Client>, mut input: CollectInvoice)
                -> Result<Receipt, Failure> { body }
        },
    );
    within(&text, 81, 2200);
    expect_file!["snapshots/every_argument.rs"].assert_eq(&text);
}

#[test]
fn several_parameters() {
    let text = beside(
        quote!(name = "charge", version = "1", key = "charge:<invoice_id>:<r#type>:v1"),
        &quote!(
            async fn charge(invoice_id: InvoiceId, r#type: Kind, amount: u64) -> Result<(), Failure> {
                body
            }
        ),
    );
    assert!(text.contains("compile_error"), "raw identifiers are written without `r#`");
    let text = beside(
        quote!(name = "charge", version = "1", key = "charge:<invoice_id>:<type.code>:v1"),
        &quote!(
            async fn charge(invoice_id: InvoiceId, r#type: Kind, amount: u64) -> Result<(), Failure> {
                body
            }
        ),
    );
    within(&text, 86, 2200);
    expect_file!["snapshots/several_parameters.rs"].assert_eq(&text);
}

#[test]
fn a_broken_attribute() {
    let text = beside(
        quote!(name = "collect_invoice", versoin = "1", key = "invoice:<attempt>", timeout = "soon"),
        &quote!(
            async fn collect_invoice(input: CollectInvoice) -> Result<Receipt, Failure> {
                body
            }
        ),
    );
    expect_file!["snapshots/broken.rs"].assert_eq(&text);
}

mod properties {
    use proc_macro2::TokenStream;
    use proptest::prelude::*;

    use crate::operation::expand;
    use crate::{input, key_part, registry};

    /// Pieces of code that meet the macros, sound and broken.
    fn code() -> impl Strategy<Value = String> {
        let word = prop_oneof![
            Just("name = \"a\", version = \"1\", ".to_owned()),
            Just("key = \"x:<a.b>:<c>\"".to_owned()),
            Just("allow(R001 = \"a long reason\")".to_owned()),
            Just("async fn f(a: u64, mut b: &'a str, State(c): State<u8>) -> Result<(), F> {}".to_owned()),
            Just("pub(crate) struct S { #[key] password: String }".to_owned()),
            Just("#[ratchet(allow(R005 = \"x\"))] enum E { A, B(u8) }".to_owned()),
            "[a-zA-Z_<>{}=,.:&'()\\[\\]#!;\"0-9 -]{0,12}",
            "\\PC{0,6}",
        ];
        proptest::collection::vec(word, 0..6).prop_map(|words| words.join(" "))
    }

    fn tokens(text: &str) -> Option<TokenStream> {
        text.parse().ok()
    }

    proptest! {
        #[test]
        fn no_tokens_make_a_macro_panic(args in code(), item in code()) {
            let (args, item) = (tokens(&args).unwrap_or_default(), tokens(&item).unwrap_or_default());
            let expanded = expand(args.clone(), &item).to_string();
            prop_assert!(expanded.starts_with(&item.to_string()), "the item comes first, unchanged");
            prop_assert_eq!(expanded, expand(args, &item).to_string(), "two builds are the same");
            let _ = (input::expand(item.clone()), key_part::expand(item.clone()), registry::expand(item));
        }

        #[test]
        fn no_template_makes_the_attribute_panic(template in "[a-c<>.:/{}_é ]{0,24}", single: bool) {
            let args = quote::quote!(name = "a", version = "1", key = #template);
            let item = if single {
                quote::quote!(async fn f(input: Input) -> Result<(), Failure> {})
            } else {
                quote::quote!(async fn f(a: A, b: u64) -> Result<(), Failure> {})
            };
            let expanded = expand(args, &item).to_string();
            prop_assert!(syn::parse_str::<syn::File>(&expanded).is_ok(), "{expanded}");
        }
    }
}
