//! The binary `quartermaster`; see [`qm_server::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    qm_db::use_migrations(qm_migrations::ALL);
    qm_server::cli::main()
}
