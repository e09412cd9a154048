//! Logs: one line an event on standard error; standard output is for the person who started the process.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::FmtSpan;

use crate::config::{LogConfig, LogFormat};

/// Installs the process's logger. A second call (tests start several servers) keeps the first one.
pub fn init(config: &LogConfig) {
    let filter = EnvFilter::new(&config.filter);
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_span_events(FmtSpan::NONE)
        .with_ansi(std::io::stderr().is_terminal());
    let installed = match config.format {
        LogFormat::Pretty => lines.try_init(),
        LogFormat::Json => lines
            .json()
            .flatten_event(true)
            .with_current_span(true)
            .with_span_list(false)
            .try_init(),
    };
    drop(installed);
}
