//! The functions in the database for programs in other languages: they answer as the code does.

mod decisions;
mod forms;
mod properties;
mod race;
mod roles;
mod stages;
mod support;
mod vectors;
