//! Whole crates, written here and given to the compiler: what callers see of a broken operation, which lints see
//! generated code, and which editions it compiles in.

#[path = "compile/callers.rs"]
mod callers;
#[path = "compile/lints.rs"]
mod lints;
#[path = "compile/project.rs"]
mod project;
