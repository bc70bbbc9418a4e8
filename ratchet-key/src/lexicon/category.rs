//! What kind of personal or secret data a name speaks of.

use std::fmt;

/// The kind of data that a finding on personal data or a credential is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Category {
    /// Names a person or reaches them: a name, an e-mail address, a telephone number, a street, a government number.
    DirectPii,
    /// Says something of a person: where they are, their birth, gender, pay, position, device or account elsewhere.
    IndirectPii,
    /// A secret, or a bearer token.
    Credential,
    /// A card or a bank account.
    FinancialAccount,
    /// The content of medical care.
    Health,
}

impl Category {
    /// The category as it is written in reports, such as `direct_pii`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DirectPii => "direct_pii",
            Self::IndirectPii => "indirect_pii",
            Self::Credential => "credential",
            Self::FinancialAccount => "financial_account",
            Self::Health => "health",
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
