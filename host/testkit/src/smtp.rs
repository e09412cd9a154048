//! A real mail server, aiosmtpd, on loopback: with STARTTLS, or TLS from the start, under a certificate of its own.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::plugins;
use crate::process::Process;
use crate::wait::until;

/// The user who may send.
pub const USER: &str = "postman";
pub const PASSWORD: &str = "mail-secret-7d11";

/// The ways in which the server can differ.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// TLS from the first byte; otherwise STARTTLS, without which it takes nothing.
    pub implicit_tls: bool,
    /// A sender has to sign in as [`USER`].
    pub login: bool,
}

/// A running mail server.
pub struct Smtp {
    _process: Process,
    dir: TempDir,
    port: u16,
}

/// The Python that has aiosmtpd, which `cargo xtask setup test` installs; `None`, with a message, on a machine without
/// it. In CI that is a failure.
fn python() -> Option<PathBuf> {
    let path = plugins::built_directory()
        .with_file_name("aiosmtpd")
        .join("bin/python");
    if path.exists() {
        return Some(path);
    }
    let missing = format!("{} is not there: run `cargo xtask setup test`", path.display());
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{missing}");
    eprintln!("skipping what needs a real mail server: {missing}");
    None
}

impl Smtp {
    /// Starts one for `localhost`. None: this machine has none.
    pub async fn start(options: Options) -> Option<Smtp> {
        let python = python()?;
        let dir = tempfile::tempdir().expect("a temporary directory");
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let made = rcgen::generate_simple_self_signed(names).expect("a certificate");
        let file = |name: &str| dir.path().join(name);
        std::fs::write(file("cert.pem"), made.cert.pem()).expect("our own directory");
        std::fs::write(file("key.pem"), made.signing_key.serialize_pem()).expect("our own directory");
        let login = options.login.then_some((USER, PASSWORD));
        let settings = json!({
            "journal": file("journal"), "cert": file("cert.pem"), "key": file("key.pem"),
            "implicit": options.implicit_tls,
            "user": login.map(|(user, _)| user), "password": login.map(|(_, password)| password),
        });
        let script = crate::checkout().join("tests/smtp/server.py");
        let mut command = Command::new(python);
        command.arg(script).arg(settings.to_string());
        let mut process = Process::start("aiosmtpd", dir.path(), &mut command);
        let port = until("the mail server to say where it listens", || {
            process.assert_running();
            let port = process
                .output()
                .lines()
                .find_map(|line| line.strip_prefix("port ")?.parse().ok());
            async move { port }
        })
        .await;
        Some(Smtp {
            _process: process,
            dir,
            port,
        })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The certificate that it shows, as a file.
    pub fn certificate_file(&self) -> PathBuf {
        self.dir.path().join("cert.pem")
    }

    /// The same, as it stands there.
    pub fn certificate(&self) -> Vec<u8> {
        std::fs::read(self.certificate_file()).expect("our own file")
    }

    /// The settings by which the product sends through this server.
    pub fn settings(&self) -> Value {
        json!({
            "host": "localhost", "port": self.port, "fromAddress": "qm@example.org", "fromName": "Quartermaster",
        })
    }

    /// Makes it hold back its answer to each letter it takes (`true`), or answer at once again.
    pub fn hold(&self, holds: bool) {
        let file = self.dir.path().join("journal.holds");
        if holds {
            std::fs::write(file, "").expect("our own directory");
        } else {
            let _ = std::fs::remove_file(file);
        }
    }

    /// Every letter it took: `tls`, `login`, `from`, `to` and `data`.
    pub fn letters(&self) -> Vec<Value> {
        let journal = std::fs::read_to_string(self.dir.path().join("journal")).unwrap_or_default();
        let lines = journal.lines();
        lines
            .map(|line| serde_json::from_str(line).expect("a line of JSON"))
            .collect()
    }
}
