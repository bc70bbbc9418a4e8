//! The text of expansions.
