//! `allow(R002 = "reason")`: findings that the author knows better about.

use proc_macro2::{Ident, Span, TokenStream};
use ratchet_key::Code;
use syn::ext::IdentExt;
use syn::parse::{ParseBuffer, ParseStream};
use syn::spanned::Spanned;
use syn::{Error, Expr, Token};

use crate::errors::{Errors, list, with_help};
use crate::operation::reason;

/// The findings that are judgements on names and values, which can be wrong.
const ALLOWABLE: [Code; 8] =
    [Code::R001, Code::R002, Code::R003, Code::R004, Code::R005, Code::R006, Code::R012, Code::R013];

/// What is allowed, and whether there was something to allow.
#[derive(Clone, Default)]
pub(crate) struct Allowances(Vec<Allowance>);

#[derive(Clone)]
struct Allowance {
    code: Code,
    span: Span,
    used: bool,
}

impl Allowances {
    /// Reads what stands between the parentheses.
    pub(crate) fn parse(&mut self, content: &ParseBuffer<'_>, errors: &mut Errors) -> syn::Result<()> {
        if content.is_empty() {
            return Err(wrong_form(content.span()));
        }
        while !content.is_empty() {
            if !content.peek(Ident::peek_any) {
                let span = content.span();
                // What is left would be a second error.
                content.parse::<TokenStream>()?;
                return Err(wrong_form(span));
            }
            self.one(content, errors)?;
            if content.parse::<Option<Token![,]>>()?.is_none() && !content.is_empty() {
                let message = "R015: expected a comma between two permissions";
                errors.at(content.span(), with_help(message, "write a comma before this"));
            }
        }
        Ok(())
    }

    fn one(&mut self, content: ParseStream<'_>, errors: &mut Errors) -> syn::Result<()> {
        let ident = content.call(Ident::parse_any)?;
        let code = code(&ident);
        if let Err(error) = &code {
            errors.push(error.clone());
        }
        if content.parse::<Option<Token![=]>>()?.is_none() {
            if let Ok(code) = code {
                let help = format!("write `allow({ident} = \"why it is right here\")`");
                errors.at(ident.span(), with_help("R015: a finding is allowed with a reason only", help));
                // It is taken as allowed, so that the missing reason is the only error.
                self.0.push(Allowance { code, span: ident.span(), used: true });
            }
            return Ok(());
        }
        let expr: Expr = content.parse()?;
        if let Err(error) = reason("allow", &expr) {
            errors.push(error);
        }
        let Ok(code) = code else { return Ok(()) };
        if self.0.iter().any(|allowance| allowance.code == code) {
            errors.at(ident.span(), format!("R015: `{code}` is allowed twice"));
        } else {
            let span = ident.span().join(expr.span()).unwrap_or_else(|| ident.span());
            self.0.push(Allowance { code, span, used: false });
        }
        Ok(())
    }

    /// Whether a finding is allowed; from now on the permission counts as used.
    pub(crate) fn take(&mut self, code: Code) -> Option<()> {
        let allowance = self.0.iter_mut().find(|allowance| allowance.code == code)?;
        allowance.used = true;
        Some(())
    }

    /// Whether a finding is allowed that was not found so far; from now on the permission counts as used.
    pub(crate) fn take_unused(&mut self, code: Code) -> bool {
        let unused = self.0.iter_mut().find(|allowance| allowance.code == code && !allowance.used);
        unused.map(|allowance| allowance.used = true).is_some()
    }

    /// Permissions that nothing needs would hide what comes later.
    pub(crate) fn report_unused(&self, errors: &mut Errors) {
        for allowance in self.0.iter().filter(|allowance| !allowance.used) {
            let message = format!("R015: there is nothing to allow: {} was not found here", allowance.code);
            errors.at(allowance.span, with_help(message, "remove this permission"));
        }
    }
}

/// `allow` without a finding and a reason.
pub(crate) fn wrong_form(span: Span) -> Error {
    let message = "R015: `allow` names a finding and a reason";
    Error::new(span, with_help(message, "write `allow(R002 = \"why it is right here\")`"))
}

fn code(ident: &Ident) -> Result<Code, Error> {
    let typed = ident.to_string();
    if let Some(code) = ALLOWABLE.into_iter().find(|code| code.as_str().eq_ignore_ascii_case(&typed)) {
        return if typed == code.as_str() {
            Ok(code)
        } else {
            Err(Error::new(
                ident.span(),
                with_help("R015: findings are written in upper case", format!("write `{code}`")),
            ))
        };
    }
    let message = format!("R015: `{typed}` cannot be allowed");
    let help = format!("what can be allowed is {}", list(ALLOWABLE.map(Code::as_str)));
    Err(Error::new(ident.span(), with_help(message, help)))
}
