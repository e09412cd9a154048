//! The project's own tasks: `cargo xtask <task>`.

mod area;
mod bench;
mod by_cargo;
mod cargo;
mod child;
mod foreign;
mod generated;
mod paths;
mod pictures;
mod plugins;
mod programs;
mod report;
mod retries;
mod run;
mod setup;
mod suites;
mod templates;
mod test;

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The tasks of this project")]
enum Task {
    /// Installs what a purpose needs and this machine lacks, or says what to install.
    Setup {
        #[arg(value_enum, default_value = "test")]
        purpose: setup::Purpose,
    },
    /// Builds the plugins, as components, into the cache.
    Plugins,
    /// Works on a plugin outside this checkout.
    #[command(subcommand)]
    Plugin(Plugin),
    /// Builds the examples in other languages and the templates of new plugins, as components, into the cache.
    Examples,
    /// Sets up, builds plugins and server, and starts the server.
    Run {
        /// The development profile: quicker to build, slower to run.
        #[arg(long)]
        dev: bool,
        /// Passed on to the server.
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Sets up and runs all tests, real torrent clients and both databases included.
    Test {
        /// Passed on to `cargo test`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Measures speed and memory of a release build against real torrent clients.
    Bench {
        /// Passed on to the measuring program; `--help` lists what it measures.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Works on areas of the service.
    #[command(subcommand)]
    Area(Area),
    /// Writes `docs/crates.md` from the manifests.
    Crates {
        /// Only say whether the committed file is up to date.
        #[arg(long)]
        check: bool,
    },
    /// Writes `docs/openapi.json` from the server's routes.
    Openapi {
        /// Only say whether the committed file is up to date.
        #[arg(long)]
        check: bool,
    },
    /// Writes the pictures of the README into `docs/pictures`: a screenshot of the API documentation, a drawing of the parts.
    Pictures,
}

#[derive(clap::Subcommand)]
enum Plugin {
    /// Builds a crate of type `cdylib` and writes its component beside its manifest, as NAME.wasm.
    Build {
        /// The crate's folder.
        path: std::path::PathBuf,
    },
}

#[derive(clap::Subcommand)]
enum Area {
    /// Writes a crate `host/NAME` with a route and a table, its migrations, and the lines that register them.
    New {
        /// Lower case, words joined by `-`.
        name: String,
    },
    /// Adds a sample area to a copy of the checkout and tests it; refuses when that touches more than eight other files.
    Check,
}

fn main() -> ExitCode {
    let outcome = match Task::parse() {
        Task::Setup { purpose } => setup::run(purpose),
        Task::Plugins => plugins::run(),
        Task::Plugin(Plugin::Build { path }) => plugins::build_outside(&path),
        Task::Examples => foreign::setup()
            .and_then(|()| foreign::run())
            .and_then(|()| templates::run()),
        Task::Run { dev, args } => run::run(dev, &args),
        Task::Test { args } => test::run(&args),
        Task::Bench { args } => bench::run(&args),
        Task::Area(Area::New { name }) => {
            area::create(&paths::root(), &name).and_then(|()| generated::crates(false))
        }
        Task::Area(Area::Check) => area::check(),
        Task::Crates { check } => generated::crates(check),
        Task::Openapi { check } => generated::openapi(check),
        Task::Pictures => pictures::run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
