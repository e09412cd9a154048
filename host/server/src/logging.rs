//! Logs: one line an event on standard error; standard output is for the person who started the process.
//!
//! Lines that belong to a request or to a background loop name it, whichever crate writes them and whatever is filtered
//! out. In JSON each line is one flat object, panics and the reason of a failed start included.

mod json;

use std::io::IsTerminal as _;
use std::panic::PanicHookInfo;

use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

use crate::config::{LogConfig, LogFormat};

pub use json::failure_line;

/// Spans that name what a line belongs to: no filter takes them away, as they are no lines themselves.
const CONTEXT: &[&str] = &["request=error", "loop=error"];

/// Installs the process's logger. A second call (tests start several servers) keeps the first one.
pub fn init(config: &LogConfig) {
    let lines = match config.format {
        LogFormat::Pretty => tracing_subscriber::fmt::layer()
            .with_writer(std::io::stderr)
            .with_span_events(FmtSpan::NONE)
            .with_ansi(std::io::stderr().is_terminal())
            .boxed(),
        LogFormat::Json => json::JsonLines::new(std::io::stderr).boxed(),
    };
    let installed = tracing_subscriber::registry()
        .with(filter(&config.filter))
        .with(lines)
        .try_init();
    if installed.is_ok() {
        std::panic::set_hook(Box::new(report_panic));
    }
}

fn filter(directives: &str) -> EnvFilter {
    let named = |directive: &&&str| {
        let target = directive.split('=').next().unwrap_or_default();
        let names_it = |part: &str| part.trim().split(['=', '[']).next() == Some(target);
        directives.split(',').any(names_it)
    };
    let context = CONTEXT.iter().filter(|directive| !named(directive));
    let all = context.fold(directives.to_owned(), |all, directive| {
        format!("{all},{directive}")
    });
    EnvFilter::new(all)
}

/// Logs a panic and its place. The code that catches the panic decides about the work.
fn report_panic(panic: &PanicHookInfo<'_>) {
    let text = panic.payload_as_str().unwrap_or("no text");
    let place = panic.location().map(ToString::to_string);
    let thread = std::thread::current();
    tracing::error!(
        target: "panic",
        place,
        thread = thread.name(),
        "{text}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_context_stays_whatever_is_filtered() {
        for (asked, shown) in [
            ("info", "request=error,loop=error,info"),
            ("off", "request=error,loop=error,off"),
            ("warn,request=trace", "request=trace,loop=error,warn"),
            ("requests=info", "requests=info,request=error,loop=error"),
        ] {
            let mut expected: Vec<_> = shown.split(',').map(str::to_owned).collect();
            expected.sort_unstable();
            let mut found: Vec<_> = filter(asked).to_string().split(',').map(str::to_owned).collect();
            found.sort_unstable();
            assert_eq!(found, expected, "{asked}");
        }
    }

    #[test]
    fn a_panic_is_a_line_with_its_place() {
        let memory = json::tests::Memory::default();
        let writer = memory.clone();
        let lines = json::JsonLines::new(move || writer.clone());
        let subscriber = tracing_subscriber::registry().with(lines);
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(report_panic));
        tracing::subscriber::with_default(subscriber, || {
            let _span =
                tracing::error_span!(target: "request", "http.request", request.id = "0123").entered();
            let caught = std::panic::catch_unwind(|| panic!("over {}", "the edge"));
            assert!(caught.is_err());
        });
        std::panic::set_hook(before);
        let lines = memory.lines();
        assert_eq!(
            (&lines[0]["message"], &lines[0]["target"]),
            (&"over the edge".into(), &"panic".into())
        );
        assert_eq!(lines[0]["request.id"], "0123");
        assert!(
            lines[0]["place"]
                .as_str()
                .is_some_and(|place| place.contains("logging.rs:")),
            "{lines:?}"
        );
    }
}
