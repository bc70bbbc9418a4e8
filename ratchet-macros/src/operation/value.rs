//! The values of arguments: texts, durations, numbers, words that stand for constants.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, Expr, ExprLit, ExprPath, Lit, LitStr};

use crate::errors::{closest, list, with_help};
use crate::names::generated;

/// The expression without the invisible groups and parentheses that other macros put around it.
pub(crate) fn peel(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => peel(&group.expr),
        Expr::Paren(paren) => peel(&paren.expr),
        other => other,
    }
}

/// A string literal.
pub(crate) fn text(name: &str, expr: &Expr) -> Result<LitStr, Error> {
    match peel(expr) {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Ok(text.clone()),
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => {
            let help = format!("write `{name} = \"{number}\"`");
            Err(Error::new(number.span(), with_help(format!("R015: `{name}` is a string literal"), help)))
        }
        other => {
            let message =
                format!("R015: `{name}` is a string literal, since it is read while the macro expands");
            Err(Error::new_spanned(other, with_help(message, "write the literal here")))
        }
    }
}

/// A single identifier.
fn word(expr: &Expr) -> Option<&Ident> {
    match peel(expr) {
        Expr::Path(path) if path.attrs.is_empty() => path.path.get_ident(),
        _ => None,
    }
}

/// The path of a function.
pub(super) fn function(name: &str, expr: &Expr) -> Result<ExprPath, Error> {
    match peel(expr) {
        Expr::Path(path) => Ok(path.clone()),
        other => {
            let message = format!("R015: `{name}` is the name of a function");
            let help = "write the function beside the operation, and name it here";
            Err(Error::new_spanned(other, with_help(message, help)))
        }
    }
}

/// One of some words; nothing else.
pub(super) fn one_of(name: &str, expr: &Expr, words: &[&str]) -> Result<String, Error> {
    let typed = word(expr).map(ToString::to_string);
    match typed {
        Some(typed) if words.contains(&typed.as_str()) => Ok(typed),
        Some(typed) => Err(unknown_word(name, expr, &typed, words, "")),
        None => Err(Error::new_spanned(
            peel(expr),
            with_help(
                format!("R015: this is no value of `{name}`"),
                format!("it takes {}", list(words.iter().copied())),
            ),
        )),
    }
}

/// One of some words, or an expression that the compiler judges.
pub(super) enum WordOr<'a> {
    Word(String),
    Expr(&'a Expr),
}

/// Reads one of some words or an expression. A lone word in lower case is not taken for a constant.
pub(super) fn word_or<'a>(
    name: &str,
    expr: &'a Expr,
    words: &[&str],
    constant: &str,
) -> Result<WordOr<'a>, Error> {
    let Some(typed) = word(expr).map(ToString::to_string) else {
        return match peel(expr) {
            Expr::Lit(literal) => {
                let message = format!("R015: this is no value of `{name}`");
                let help = format!("it takes {}, or {constant}", list(words.iter().copied()));
                Err(Error::new(literal.span(), with_help(message, help)))
            }
            _ => Ok(WordOr::Expr(expr)),
        };
    };
    if words.contains(&typed.as_str()) {
        Ok(WordOr::Word(typed))
    } else if typed.contains(|char: char| char.is_lowercase()) {
        Err(unknown_word(name, expr, &typed, words, &format!(", or {constant}")))
    } else {
        Ok(WordOr::Expr(expr))
    }
}

fn unknown_word(name: &str, expr: &Expr, typed: &str, words: &[&str], or: &str) -> Error {
    let message = format!("R015: `{typed}` is no value of `{name}`");
    let known = list(words.iter().copied());
    let help = match closest(typed, words.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`? It takes {known}{or}"),
        None => format!("it takes {known}{or}"),
    };
    Error::new_spanned(peel(expr), with_help(message, help))
}

/// A duration: a text such as `30s`, or an expression of type `Duration`.
pub(super) fn duration(name: &str, expr: &Expr) -> Result<TokenStream, Error> {
    match peel(expr) {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => {
            let millis = millis(&text.value()).map_err(|why| {
                let message = format!("R015: `{}` is no duration: {why}", text.value());
                Error::new(
                    text.span(),
                    with_help(message, format!("write a number and a unit, such as `{name} = \"30s\"`")),
                )
            })?;
            Ok(quote!(::core::time::Duration::from_millis(#millis)))
        }
        Expr::Lit(literal) => {
            let message = format!("R015: `{name}` is a duration, and a number alone has no unit");
            let written = literal.to_token_stream().to_string();
            let unit = if written.ends_with(|char: char| char.is_ascii_digit()) { "s" } else { "" };
            let help = format!("write a number and a unit, such as `{name} = \"{written}{unit}\"`");
            Err(Error::new(literal.span(), with_help(message, help)))
        }
        Expr::Unary(negative) => {
            let message = format!("R015: `{name}` is a duration, and no number");
            Err(Error::new_spanned(
                negative,
                with_help(message, format!("write a number and a unit, such as `{name} = \"30s\"`")),
            ))
        }
        // It is evaluated while compiling.
        value => Ok(quote_spanned!(generated(value.span())=> __r::lasting(#expr))),
    }
}

/// How many attempts run at once: a number from 1 up, or an expression of type `u32`.
pub(super) fn attempts(name: &str, expr: &Expr) -> Result<TokenStream, Error> {
    let refused = |why: &str| {
        let message = format!("R015: `{name}` is how many attempts run at once over all workers, and {why}");
        Err(Error::new_spanned(
            peel(expr),
            with_help(message, format!("write a whole number from 1 up, such as `{name} = 4`")),
        ))
    };
    match peel(expr) {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => match number.base10_parse::<u32>() {
            Ok(0) => return refused("0 would let nothing run"),
            Ok(_) => {}
            Err(_) => return refused("this is larger than 4294967295"),
        },
        Expr::Lit(_) | Expr::Unary(_) => return refused("this is no such number"),
        _ => {}
    }
    // It is evaluated while compiling.
    Ok(quote_spanned!(generated(expr.span())=> __r::attempts(#expr)))
}

/// The milliseconds of `30s`.
fn millis(text: &str) -> Result<u64, &'static str> {
    let digits = text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        return Err("it does not begin with a whole number");
    }
    let factor: u64 = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60 * 1000,
        "h" => 3600 * 1000,
        "d" => 24 * 3600 * 1000,
        "" => return Err("it has no unit"),
        _ => return Err("the units are `ms`, `s`, `m`, `h` and `d`, and one of them is used"),
    };
    let number: u64 = number.parse().map_err(|_| "the number is too large")?;
    match number.checked_mul(factor) {
        Some(0) => Err("it must be longer than nothing"),
        // Stores count milliseconds in 64 bits with a sign.
        Some(millis) if i64::try_from(millis).is_ok() => Ok(millis),
        _ => Err("the number is too large"),
    }
}

#[cfg(test)]
mod tests {
    use super::millis;

    #[test]
    fn durations_have_one_unit() {
        assert_eq!(millis("250ms"), Ok(250));
        assert_eq!(millis("30s"), Ok(30_000));
        assert_eq!(millis("2m"), Ok(120_000));
        assert_eq!(millis("1h"), Ok(3_600_000));
        assert_eq!(millis("90d"), Ok(7_776_000_000));
        for refused in
            ["", "s", "30", "1h30m", "30 s", "-1s", "1.5s", "0s", "99999999999999999999s", "30S", "ü"]
        {
            assert!(millis(refused).is_err(), "{refused}");
        }
    }
}
