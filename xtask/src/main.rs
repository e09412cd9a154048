//! The project's own tasks: `cargo xtask <task>`.

mod paths;
mod plugins;
mod setup;

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The tasks of this project")]
enum Task {
    /// Builds the plugins, as components, into the cache.
    Plugins,
}

fn main() -> ExitCode {
    let outcome = match Task::parse() {
        Task::Plugins => plugins::run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
