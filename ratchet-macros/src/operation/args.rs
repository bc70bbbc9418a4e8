//! The arguments of the attribute: which there are, which are missing, repeated or unknown.

use proc_macro2::{Ident, Span, TokenStream};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::token::Paren;
use syn::{Error, Expr, LitStr, Path, Token};

use super::settings::Settings;
use super::value;
use crate::errors::{Errors, closest, list, with_help};
use crate::key::{Allowances, wrong_form};
use crate::names::{crate_path, snake_case, unraw};

/// Every argument there is.
const KNOWN: [&str; 18] = [
    "name",
    "version",
    "key",
    "destination",
    "on_unknown",
    "reconcile",
    "reconcile_after",
    "retry",
    "timeout",
    "retention",
    "replay_within",
    "queue",
    "concurrency",
    "priority",
    "new_identity",
    "schema",
    "allow",
    "crate",
];

/// Arguments that look right and are not, each with what to do.
const RESERVED: [(&str, &str); 5] = [
    ("max_attempts", RETRIES),
    ("retries", RETRIES),
    ("namespace", "the client that enqueues has a namespace: `ratchet.in_namespace(…)`"),
    (
        "schedule",
        "it is reserved for a later version of ratchet; `enqueue(…).not_before(…)` delays one action",
    ),
    ("step", "it is reserved for a later version of ratchet"),
];

const RETRIES: &str = "how often and how long is tried is said by `retry = standard`, `aggressive`, `relaxed`, or a constant of type `RetryPolicy`";

/// What the attribute says.
#[derive(Default)]
pub(crate) struct Args {
    name: Option<LitStr>,
    version: Option<LitStr>,
    pub(crate) key: Option<LitStr>,
    pub(crate) allow: Allowances,
    pub(crate) krate: Option<Path>,
    schema: bool,
    pub(super) settings: Settings,
}

/// What a sound attribute says.
pub(super) struct Complete<'a> {
    pub(super) name: &'a LitStr,
    pub(super) version: &'a LitStr,
    pub(super) key: &'a LitStr,
    pub(super) krate: Option<&'a Path>,
    /// Whether the manifest describes input and output.
    pub(super) schema: bool,
    pub(super) settings: &'a Settings,
}

impl Args {
    pub(crate) fn parse(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut args = Self::default();
        let mut seen: Vec<String> = Vec::new();
        let outcome = |input: ParseStream<'_>| {
            while !input.is_empty() {
                if let Err(error) = args.argument(input, &mut seen, errors) {
                    errors.push(error);
                    skip_to_comma(input);
                }
                if input.parse::<Option<Token![,]>>()?.is_none() && !input.is_empty() {
                    let message = "R015: expected a comma between two arguments";
                    errors.at(input.span(), with_help(message, "write a comma before this"));
                    input.parse::<Option<Token![;]>>()?;
                }
            }
            Ok(())
        };
        // The parser takes everything and reports through `errors`.
        if let Err(error) = outcome.parse2(tokens) {
            errors.push(error);
        }
        report_missing(&seen, errors);
        args.settings.judge(errors);
        args
    }

    fn argument(
        &mut self,
        input: ParseStream<'_>,
        seen: &mut Vec<String>,
        errors: &mut Errors,
    ) -> syn::Result<()> {
        let key = input.call(Ident::parse_any).map_err(|error| {
            let help = format!("there are {}", list(KNOWN));
            Error::new(error.span(), with_help("R015: expected the name of an argument", help))
        })?;
        let name = unraw(&key);
        if !KNOWN.contains(&name.as_str()) {
            // What was meant is not missing as well.
            seen.extend(closest(&name, KNOWN).map(str::to_owned));
            return Err(unknown(&key, &name));
        }
        if seen.contains(&name) && name != "allow" {
            let message = format!("R015: `{name}` is given twice");
            // Its value is skipped, so that it is one error.
            return Err(Error::new(key.span(), with_help(message, "remove one of the two")));
        }
        seen.push(name.clone());
        if name == "schema" {
            self.schema = true;
            return alone(&key, input);
        }
        if name == "allow" {
            if !input.peek(Paren) {
                return Err(wrong_form(key.span()));
            }
            let content;
            syn::parenthesized!(content in input);
            return self.allow.parse(&content, errors);
        }
        if input.parse::<Token![=]>().is_err() || input.is_empty() || input.peek(Token![,]) {
            let help = format!("write `{name} = {}`", example(&name));
            return Err(Error::new(key.span(), with_help(format!("R015: `{name}` needs a value"), help)));
        }
        self.set(&name, input, errors)
    }

    fn set(&mut self, name: &str, input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<()> {
        if name == "crate" {
            self.krate = Some(crate_path(input)?);
            return Ok(());
        }
        let expr: Expr = input.parse().map_err(|error| {
            let message = format!("R015: the value of `{name}` cannot be read: {error}");
            Error::new(error.span(), with_help(message, format!("write `{name} = {}`", example(name))))
        })?;
        match name {
            "name" => self.name = Some(checked(name, &expr, 128, "")?),
            "version" => self.version = Some(checked(name, &expr, 32, "ABCDEFGHIJKLMNOPQRSTUVWXYZ+")?),
            "key" => self.key = Some(value::text(name, &expr)?),
            "queue" => self.settings.queue = Some(checked(name, &expr, 64, "")?),
            _ => self.settings.set(name, &expr, errors),
        }
        Ok(())
    }

    /// The arguments, if the required ones are there.
    pub(super) fn complete(&self) -> Option<Complete<'_>> {
        Some(Complete {
            name: self.name.as_ref()?,
            version: self.version.as_ref()?,
            key: self.key.as_ref()?,
            krate: self.krate.as_ref(),
            schema: self.schema,
            settings: &self.settings,
        })
    }
}

/// An argument that is a word and nothing else.
fn alone(key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
    if input.is_empty() || input.peek(Token![,]) {
        return Ok(());
    }
    let message = format!("R015: `{key}` takes no value");
    Err(Error::new(input.span(), with_help(message, format!("write `{key}` alone"))))
}

fn report_missing(seen: &[String], errors: &mut Errors) {
    let missing = ["name", "version", "key"].into_iter().filter(|name| !seen.iter().any(|s| s == name));
    let missing: Vec<&str> = missing.collect();
    if !missing.is_empty() {
        let adds: Vec<String> = missing.iter().map(|name| format!("{name} = {}", example(name))).collect();
        let message = format!("R015: an operation needs {}", list(missing.iter().copied()));
        errors.at(Span::call_site(), with_help(message, format!("add `{}`", adds.join(", "))));
    }
}

fn unknown(key: &Ident, name: &str) -> Error {
    let message = format!("R015: `{name}` is no argument of an operation");
    if let Some((_, help)) = RESERVED.iter().find(|(reserved, _)| *reserved == name) {
        return Error::new(key.span(), with_help(message, help));
    }
    let help = match closest(name, KNOWN) {
        Some(meant) => format!("did you mean `{meant}`? There are {}", list(KNOWN)),
        None => format!("there are {}", list(KNOWN)),
    };
    Error::new(key.span(), with_help(message, help))
}

fn example(name: &str) -> &'static str {
    match name {
        "name" => "\"collect_invoice\"",
        "version" => "\"1\"",
        "key" => "\"invoice:<invoice_id>:collect:v1\"",
        "destination" => "PAYMENTS",
        "on_unknown" => "park",
        "reconcile" => "ask_the_destination",
        "retry" => "standard",
        "reconcile_after" | "timeout" => "\"30s\"",
        "retention" => "\"90d\"",
        "replay_within" => "\"30d\"",
        "queue" => "\"mail\"",
        "concurrency" => "4",
        "priority" => "0",
        "new_identity" => "\"why the template changed\"",
        _ => "path::to::ratchet",
    }
}

/// A name that a record carries; the alphabets are those of `OperationName`, `Queue` and `Version`.
fn checked(name: &str, expr: &Expr, longest: usize, beside: &str) -> syn::Result<LitStr> {
    let text = value::text(name, expr)?;
    let value = text.value();
    let sound = |char: char| matches!(char, 'a'..='z' | '0'..='9' | '_' | '.' | '-') || beside.contains(char);
    let says = value.contains(|char: char| char.is_ascii_alphanumeric());
    if says && value.len() <= longest && value.chars().all(sound) {
        return Ok(text);
    }
    let alphabet =
        if beside.is_empty() { "`a-z`, `0-9` and `_ . -`" } else { "letters, digits and `_ . + -`" };
    let message = format!(
        "R015: `{name}` has 1 to {longest} characters of {alphabet}; a letter or a digit is among them"
    );
    let meant = snake_case(&value).split_whitespace().collect::<Vec<_>>().join("_").replace("__", "_");
    let writable = beside.is_empty() && !meant.is_empty() && meant != value && meant.chars().all(sound);
    let help =
        if writable { format!("write `\"{meant}\"`") } else { format!("write it as in `{}`", example(name)) };
    Err(Error::new(text.span(), with_help(message, help)))
}

fn skip_to_comma(input: ParseStream<'_>) {
    // A group counts as one token, so a comma inside of one is passed over.
    while !input.is_empty() && !input.peek(Token![,]) {
        if input.parse::<proc_macro2::TokenTree>().is_err() {
            return;
        }
    }
}
