//! The command line. Exit codes: 0 done, 1 failed with one line on standard error, 2 wrong usage.

mod plugin;

use std::fmt::Display;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use qm_kernel::Ctx;

use crate::app::App;
use crate::config::Config;
use crate::failure::StartError;
use crate::{PRODUCT, VERSION, api, logging, shutdown, start};

/// Self-hosted management of torrent clients: one API and one live channel for all of them.
///
/// Configured by environment variables; the README lists them.
#[derive(Parser)]
#[command(name = "quartermaster", version)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Start the service (what happens without a command).
    Serve,
    /// Bring the database up to date and stop.
    Migrate,
    /// Print the OpenAPI document of all routes.
    Openapi,
    /// Work on plugin files.
    #[command(subcommand)]
    Plugin(PluginCommand),
}

#[derive(Subcommand)]
enum PluginCommand {
    /// Print what a plugin file is and wants, and run the tests of its kind.
    Check {
        /// The component, a `.wasm` file.
        file: PathBuf,
        /// Configuration of an engine to test against: JSON, or `@` and the name of a file that holds it.
        #[arg(long, value_parser = plugin::parse_config)]
        config: Option<plugin::TargetConfig>,
    },
}

/// Runs the program with the process's arguments and environment.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match arguments.command.unwrap_or(Command::Serve) {
        Command::Serve => runtime().and_then(|runtime| runtime.block_on(serve())),
        Command::Migrate => runtime().and_then(|runtime| runtime.block_on(migrate())),
        Command::Openapi => return print(api::document()),
        Command::Plugin(PluginCommand::Check { file, config }) => {
            return match runtime() {
                Ok(runtime) => runtime.block_on(plugin::check(&file, config)),
                Err(error) => fail(&error.line()),
            };
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error.line()),
    }
}

/// Work waits far more than it computes: more workers would cost memory and gain nothing.
const MOST_WORKERS: usize = 8;
/// Threads that wait (files, name resolution) or compute (password hashes) beside the workers.
const BLOCKING_THREADS: usize = 32;

fn runtime() -> Result<tokio::runtime::Runtime, StartError> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores.min(MOST_WORKERS))
        .max_blocking_threads(BLOCKING_THREADS)
        .enable_all()
        .build()
        .map_err(StartError::Runtime)
}

async fn serve() -> Result<(), StartError> {
    let config = Config::from_env()?;
    logging::init(&config.log);
    let until = shutdown::requested().map_err(StartError::Signals)?;
    let app = start::start(config, Ctx::system()).await?;
    greet(&app);
    app.run(until).await;
    Ok(())
}

async fn migrate() -> Result<(), StartError> {
    let config = Config::from_env()?;
    logging::init(&config.log);
    let db = start::open_database(&config).await?;
    db.migrate().await?;
    db.close().await;
    say("The database is up to date.");
    Ok(())
}

/// What the person who started the service needs to know.
fn greet(app: &App) {
    let address = app.address();
    say(format_args!(
        "{PRODUCT} {VERSION} is listening on http://{address}"
    ));
    if app.has_docs() {
        say(format_args!("API documentation: http://{address}/api/docs"));
    }
    if let Some((username, password)) = app.first_admin() {
        say(format_args!(
            "First administrator: {username}, password {} (shown once; change it after signing in)",
            password.expose()
        ));
    }
}

/// A closed standard output is no reason to stop.
fn say(line: impl Display) {
    drop(writeln!(std::io::stdout(), "{line}"));
}

fn print(text: Result<String, serde_json::Error>) -> ExitCode {
    match text {
        Ok(text) => {
            drop(std::io::stdout().write_all(text.as_bytes()));
            ExitCode::SUCCESS
        }
        Err(error) => fail(&error.to_string()),
    }
}

fn fail(line: &str) -> ExitCode {
    drop(writeln!(std::io::stderr(), "quartermaster: {line}"));
    ExitCode::FAILURE
}
