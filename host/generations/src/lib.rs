//! Generations of torrent clients for tests: the client of each Debian release, its place on this machine,
//! and the meaning of a failure with a version that is not proven yet.
//!
//! A client of this machine's own release is the one on the PATH. Those of other releases lie in roots that
//! `cargo xtask setup test` makes under the cache, and run through that root's own dynamic loader: no chroot, so that
//! paths, ports and processes are shared with the test. Never used by production code.
//! Bounds: a program is asked for its version once a process.

mod crash;
mod ports;
mod program;
mod proven;
mod suite;

pub use crash::died;
pub use ports::free_port;
pub use program::{Program, version};
pub use suite::{Suite, suites};

use proven::is_newer;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// A torrent client as a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Product {
    Rtorrent,
    Qbittorrent,
    Transmission,
}

impl Product {
    pub const ALL: [Product; 3] = [Product::Rtorrent, Product::Qbittorrent, Product::Transmission];

    /// Name in `tests/clients.toml`.
    pub const fn name(self) -> &'static str {
        match self {
            Product::Rtorrent => "rtorrent",
            Product::Qbittorrent => "qbittorrent",
            Product::Transmission => "transmission",
        }
    }

    /// The Debian package, and its program.
    pub const fn program(self) -> &'static str {
        match self {
            Product::Rtorrent => "rtorrent",
            Product::Qbittorrent => "qbittorrent-nox",
            Product::Transmission => "transmission-daemon",
        }
    }

    /// Argument that makes the program print its version and end.
    const fn version_argument(self) -> &'static str {
        match self {
            Product::Rtorrent => "-h",
            Product::Qbittorrent | Product::Transmission => "--version",
        }
    }
}

/// One product of one release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Generation {
    pub product: Product,
    pub suite: Suite,
}

impl Generation {
    pub const fn new(product: Product, suite: Suite) -> Generation {
        Generation { product, suite }
    }

    /// The generation for tests that are not about the client.
    pub const fn oldest(product: Product) -> Generation {
        Generation::new(product, Suite::Bookworm)
    }

    /// Every generation in `tests/clients.toml`.
    pub fn recorded() -> Vec<Generation> {
        let pairs = Suite::ALL
            .into_iter()
            .flat_map(|suite| Product::ALL.map(|product| Generation::new(product, suite)));
        pairs.filter(|generation| generation.proven().is_some()).collect()
    }

    /// The newest version with which every test has passed.
    pub fn proven(self) -> Option<&'static str> {
        proven::version(self.suite.name(), self.product.name())
    }

    /// The program on this machine.
    ///
    /// # Errors
    /// A sentence: what is missing, and how to get it.
    pub fn find(self) -> Result<Program, String> {
        program::find(self)
    }

    /// Runs a test with this generation's client, on the test's own thread. Where the client is missing the test is
    /// skipped, and says so; with `CI=true` that is a failure. A failure with a version newer than the proven one is
    /// printed and lets the test pass. Where the client itself has [`died`], the test is run once more, and says so.
    ///
    /// # Panics
    /// When the test does, with a proven version; when the client is missing in CI.
    pub fn test(self, test: impl Fn(&Program)) {
        let program = match self.find() {
            Ok(program) => program,
            Err(missing) => {
                assert!(std::env::var("CI").as_deref() != Ok("true"), "{missing}");
                say(&format!("skipped: {missing}"));
                return;
            }
        };
        judge(&program, self.proven().unwrap_or_default(), test);
    }
}

/// Runs a test whose failure counts only if the version is not newer than the proven one.
fn judge(program: &Program, proven: &str, test: impl Fn(&Program)) {
    if !is_newer(program.version(), proven) {
        crash::take();
        let outcome = catch_unwind(AssertUnwindSafe(|| test(program)));
        return match (outcome, crash::take()) {
            (Ok(()), _) => {}
            (Err(_), Some(death)) => {
                say(&format!("{death}; the test is run once more"));
                test(program);
            }
            (Err(failure), None) => resume_unwind(failure),
        };
    }
    let outcome = catch_unwind(AssertUnwindSafe(|| test(program)));
    say(&verdict(program, proven, outcome.as_ref().err().map(reason)));
}

fn verdict(program: &Program, proven: &str, failure: Option<String>) -> String {
    let outcome = failure.map_or_else(|| "passes".to_owned(), |why| format!("FAILS: {why}"));
    format!("unproven: {program} (tests/clients.toml knows {proven}) {outcome}")
}

/// Message of a panic.
fn reason(panic: &Box<dyn std::any::Any + Send>) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a text")
        .to_owned()
}

/// Prints a line that is visible although the test passes: output of the print macros would be captured.
fn say(line: &str) {
    use std::io::Write as _;
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    // A closed standard error is ignored.
    let _ = writeln!(std::io::stderr(), "{test}: {line}");
}

/// Makes a test a generation of each function: `each_generation! { rtorrent: adds, removes }` makes `adds::bookworm`,
/// `adds::sid` and so on of `fn adds(program: &Program)`.
#[macro_export]
macro_rules! each_generation {
    (rtorrent: $($test:ident),+ $(,)?) => {
        $crate::each_generation! { @tests Rtorrent (bookworm Bookworm, sid Sid) $($test)+ }
    };
    (qbittorrent: $($test:ident),+ $(,)?) => {
        $crate::each_generation! { @tests Qbittorrent (bookworm Bookworm, trixie Trixie, sid Sid) $($test)+ }
    };
    (@tests $product:ident $suites:tt $($test:ident)+) => {
        $($crate::each_generation! { @test $product $suites $test })+
    };
    (@test $product:ident ($($name:ident $suite:ident),+) $test:ident) => {
        mod $test {
            $(#[test]
            fn $name() {
                $crate::Generation::new($crate::Product::$product, $crate::Suite::$suite).test(super::$test);
            })+
        }
    };
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::process::ExitStatus;

    use super::*;

    #[test]
    fn only_a_newer_version_may_fail() {
        let sid = Generation::new(Product::Rtorrent, Suite::Sid);
        let run = |version: &str| {
            let program = Program::saying(sid, version);
            catch_unwind(|| judge(&program, "0.16.17", |_| panic!("on purpose"))).is_ok()
        };
        assert!(run("0.16.18") && run("0.17.0"), "newer than proven");
        assert!(!run("0.16.17") && !run("0.9.8"), "proven");
        let failure = catch_unwind(|| panic!("no {}", "answer")).expect_err("it panics");
        let line = verdict(&Program::saying(sid, "0.17.0"), "0.16.17", Some(reason(&failure)));
        assert_eq!(
            line,
            "unproven: rtorrent 0.17.0 of sid (tests/clients.toml knows 0.16.17) FAILS: no answer"
        );
    }

    #[test]
    fn a_client_that_died_by_itself_gives_a_test_one_more_chance() {
        use std::os::unix::process::ExitStatusExt as _;
        let program = Program::saying(Generation::oldest(Product::Rtorrent), "0.9.8");
        let runs = |deaths: usize, failures: usize| {
            let run = Cell::new(0);
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                judge(&program, "0.9.8", |program| {
                    run.set(run.get() + 1);
                    if run.get() <= deaths {
                        died(program, ExitStatus::from_raw(11));
                    }
                    assert!(run.get() > failures, "on purpose");
                });
            }));
            (run.get(), outcome.is_ok())
        };
        assert_eq!(runs(0, 0), (1, true));
        assert_eq!(runs(0, 1), (1, false), "nobody died");
        assert_eq!(runs(1, 1), (2, true));
        assert_eq!(runs(2, 2), (2, false), "it dies of what we do");
        assert_eq!(runs(1, 0), (1, true), "the test wants it so");
        assert_eq!(runs(0, 1), (1, false), "a death before is forgotten");
    }

    #[test]
    fn every_recorded_version_is_in_the_readme() {
        let readme = include_str!("../../../README.md");
        let line = |product: Product| {
            let versions: Vec<&str> = Generation::recorded()
                .into_iter()
                .filter(|generation| generation.product == product)
                .filter_map(Generation::proven)
                .collect();
            let (last, others) = versions.split_last().expect("every product is tested");
            format!("{} and {last}", others.join(", "))
        };
        for product in Product::ALL {
            let versions = line(product);
            assert!(
                readme.contains(&versions),
                "README.md does not name {product:?} {versions}"
            );
        }
    }
}
