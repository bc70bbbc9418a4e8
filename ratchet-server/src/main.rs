//! The `ratchet` program; what it does is in the library of this package.

use std::process::ExitCode;

fn main() -> ExitCode {
    ratchet_server::run()
}
