//! Key templates: literal text and placeholders.

mod parse;
mod path;
mod shape;

use crate::finding::Finding;

/// A range of bytes in the text of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// One piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// Text that stands in every key of the operation.
    Literal {
        /// The text, of `[a-z0-9_.:/-]`.
        text: String,
        /// Its place in the template.
        span: Span,
    },
    /// A value of the input.
    Placeholder {
        /// The identifiers of `<customer.id>`: `["customer", "id"]`. Never empty.
        path: Vec<String>,
        /// Its place in the template, angle brackets included.
        span: Span,
    },
}

/// A key template that keeps the grammar, such as `invoice:<invoice_id>:collect:v1`.
///
/// Holds at least one placeholder. Whatever values are rendered into it, different lists of values give
/// different keys, since between two placeholders stands a `:` or `/`, which no encoded value contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    segments: Vec<Segment>,
}

impl Template {
    /// Reads a template.
    ///
    /// Never panics, whatever the text. At most [`MAX_TEMPLATE_BYTES`](crate::MAX_TEMPLATE_BYTES) bytes and
    /// [`MAX_PLACEHOLDERS`](crate::MAX_PLACEHOLDERS) placeholders.
    ///
    /// # Errors
    ///
    /// Everything that breaks the grammar (`R007`), in order of position, and the absence of any placeholder
    /// (`R006`).
    ///
    /// ```
    /// use ratchet_key::{Code, Template};
    ///
    /// let findings = Template::parse("Invoice:<id>-<line>").unwrap_err();
    /// assert!(findings.iter().all(|finding| finding.code == Code::R007));
    /// assert_eq!(findings.len(), 2);
    /// ```
    pub fn parse(text: &str) -> Result<Template, Vec<Finding>> {
        parse::parse(text).map(|segments| Template { segments })
    }

    /// The pieces, in order.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }
}

impl Segment {
    /// Its place in the template.
    #[must_use]
    pub fn span(&self) -> Span {
        match self {
            Self::Literal { span, .. } | Self::Placeholder { span, .. } => *span,
        }
    }
}
