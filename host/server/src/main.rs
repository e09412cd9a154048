//! The binary `quartermaster`; see [`qm_server::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    qm_server::cli::main()
}
