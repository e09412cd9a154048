//! The command line. Exit codes: 0 done, 1 failed with one line on standard error, 2 wrong usage, 3 done but for some
//! stored secrets (`secrets rotate`), 4 another node has taken over (`serve`; started again, it stands by).

mod backup;
mod plugin;
mod secrets;
mod user;

use std::fmt::Display;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use qm_kernel::Ctx;
use qm_templates::{Language, Name, Role};

use crate::app::{App, Brought, Ending};
use crate::config::Config;
use crate::failure::StartError;
use crate::{PRODUCT, VERSION, api, config, descriptors, logging, shutdown, start};

/// Self-hosted management of torrent clients: one API and one live channel for all of them.
///
/// Configured by environment variables; docs/operate.md lists them.
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
    /// Print the tables of variables and settings.
    #[command(hide = true)]
    Settings,
    /// Copy the SQLite database to a file, also while the service runs.
    Backup {
        /// Where the copy goes. Put it on another disk, and the key (ENCRYPTION_KEY or secrets.json) elsewhere.
        file: PathBuf,
        /// Replace the file when it is there already.
        #[arg(long)]
        force: bool,
    },
    /// Put a backup in the place of the SQLite database, which is kept beside it. The service must be stopped.
    Restore {
        /// A file that `backup` wrote, or one of DATA_DIR/backups.
        file: PathBuf,
    },
    /// Work on what is stored encrypted.
    #[command(subcommand)]
    Secrets(SecretsCommand),
    /// Work on user accounts, also while the service runs.
    #[command(subcommand)]
    User(user::UserCommand),
    /// Work on plugin files.
    #[command(subcommand)]
    Plugin(PluginCommand),
}

#[derive(Subcommand)]
enum SecretsCommand {
    /// Encrypt everything stored under an earlier key with the current one.
    ///
    /// To change keys: set ENCRYPTION_KEY to the new key and ENCRYPTION_KEY_PREVIOUS to the one used so far (a key the
    /// service generated is `encryptionKey` in DATA_DIR/secrets.json), restart the service, run this with the same
    /// environment, and when a run rotates nothing unset ENCRYPTION_KEY_PREVIOUS. It may be interrupted and run again,
    /// and run beside the service. Exit codes: 0 all is under the current key, 1 failed, 3 some values are not; those
    /// that cannot be read are named.
    Rotate {
        /// Count, and change nothing.
        #[arg(long)]
        dry_run: bool,
    },
}

#[derive(Subcommand)]
enum PluginCommand {
    /// Write a plugin to start from into a new folder: it builds as its README says, and passes `plugin check`.
    New {
        /// Role of the plugin: a kind of torrent client, a notification channel, or actions for rules.
        #[arg(long, value_parser = plugin::roles())]
        role: Role,
        /// Programming language of the plugin.
        #[arg(long = "lang", value_parser = plugin::languages())]
        language: Language,
        /// Name of the folder, and of the plugin: lower-case letters, digits, `_` and `-`.
        name: Name,
    },
    /// Print what a plugin file is and wants, and run the tests of its kind.
    Check {
        /// The component, a `.wasm` file.
        file: PathBuf,
        /// Configuration to test with, as its users would enter it: JSON, or `@` and the name of a file that holds it.
        #[arg(long, value_parser = plugin::parse_config)]
        config: Option<plugin::TargetConfig>,
    },
    /// Compile what standard input brings, for the server that started it, within narrow limits.
    #[command(hide = true)]
    Compile,
}

/// Runs the program with the process's arguments and environment.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match arguments.command.unwrap_or(Command::Serve) {
        Command::Serve => runtime().and_then(|runtime| {
            let ended = runtime.block_on(serve());
            if matches!(ended, Ok(Ending::Succeeded)) {
                // At once: work that still runs in this process was begun as the active node.
                std::process::exit(SUCCEEDED);
            }
            // A lookup of a name that hangs is left behind, as is what hangs in a lane.
            runtime.shutdown_timeout(LEFT_BEHIND);
            ended.map(drop)
        }),
        Command::Migrate => runtime().and_then(|runtime| runtime.block_on(migrate())),
        Command::Backup { file, force } => {
            runtime().and_then(|runtime| runtime.block_on(backup::backup(&file, force)))
        }
        Command::Restore { file } => runtime().and_then(|runtime| runtime.block_on(backup::restore(&file))),
        Command::Secrets(SecretsCommand::Rotate { dry_run }) => {
            return runtime()
                .and_then(|runtime| runtime.block_on(secrets::rotate(dry_run)))
                .unwrap_or_else(|error| fail(&error.line()));
        }
        Command::User(command) => runtime().and_then(|runtime| runtime.block_on(user::run(command))),
        Command::Openapi => return print(api::document()),
        Command::Settings => return print(Ok(config::document())),
        Command::Plugin(PluginCommand::Compile) => qm_plugin_host::compile_for_parent(),
        Command::Plugin(PluginCommand::New { role, language, name }) => {
            return plugin::new(role, language, &name);
        }
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
/// Threads in which libraries look up names of hosts, which nobody can interrupt. What else blocks has lanes
/// (`qm_lanes`), with threads of their own.
const BLOCKING_THREADS: usize = 32;
/// Time for lookups that are under way when the service has ended.
const LEFT_BEHIND: Duration = Duration::from_millis(500);

fn runtime() -> Result<tokio::runtime::Runtime, StartError> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores.min(MOST_WORKERS))
        .max_blocking_threads(BLOCKING_THREADS)
        .enable_all()
        .build()
        .map_err(StartError::Runtime)
}

/// The exit code of a server that another one has succeeded.
const SUCCEEDED: i32 = 4;

async fn serve() -> Result<Ending, StartError> {
    let config = Config::from_env()?;
    logging::init(&config.log);
    let open_files = descriptors::raise();
    let mut until = Box::pin(shutdown::requested().map_err(StartError::Signals)?);
    let Some(app) = start::start(config, Ctx::system(), Brought::default(), until.as_mut()).await? else {
        return Ok(Ending::Asked);
    };
    open_files.tell();
    greet(&app);
    Ok(app.run(until).await)
}

async fn migrate() -> Result<(), StartError> {
    let config = Config::from_env()?;
    logging::init(&config.log);
    let ctx = Ctx::system();
    let db = start::open_database(&config, &start::session(&ctx)).await?;
    start::migrate(&db, &config, &ctx).await?;
    db.close().await;
    say("The database is up to date.");
    Ok(())
}

/// Prints the addresses, and the password of a new first administrator, for the person who started the service.
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
pub(crate) fn say(line: impl Display) {
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
    // There may be no logger yet, or the configuration that says how to log may be what is wrong.
    let text = if std::env::var_os("LOG_FORMAT").is_some_and(|format| format == "json") {
        logging::failure_line(line)
    } else {
        format!("quartermaster: {line}\n")
    };
    drop(std::io::stderr().write_all(text.as_bytes()));
    ExitCode::FAILURE
}
