//! Socket.IO's own JavaScript client, run by Node.js: what our server must satisfy.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::contract;
use crate::wait::PATIENCE;

/// One JavaScript client; it ends with this value.
pub struct SocketIo {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl SocketIo {
    /// `options` are the client library's own, e.g. `{"auth": {"token": …}}`.
    pub fn connect(base: &str, options: &Value) -> SocketIo {
        let script = crate::checkout().join("tests/js/socket-io-client.mjs");
        let modules = script.with_file_name("node_modules");
        assert!(
            modules.exists(),
            "Socket.IO's client is not installed: run `cargo xtask setup`"
        );
        let mut child = Command::new("node")
            .arg(script)
            .args([base, &options.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("Node.js is installed");
        let input = child.stdin.take().expect("stdin is a pipe");
        let output = BufReader::new(child.stdout.take().expect("stdout is a pipe")).lines();
        SocketIo { child, input, output }
    }

    /// The next message; `None` when the connection has ended.
    pub async fn next(&mut self) -> Option<Value> {
        let line = tokio::time::timeout(PATIENCE, self.output.next_line()).await;
        let line = line.unwrap_or_else(|_| panic!("the Socket.IO client said nothing within {PATIENCE:?}"));
        let message: Value = serde_json::from_str(&line.expect("stdout is a pipe")?).expect("it says JSON");
        if message["type"] == "event" {
            contract::message(message["name"].as_str().unwrap_or_default(), &message["args"][0]);
        }
        Some(message)
    }

    /// The next message for which `wanted` gives a value; others are passed over.
    pub async fn until<T>(&mut self, what: &str, mut wanted: impl FnMut(&Value) -> Option<T>) -> T {
        let search = async {
            loop {
                let message = self
                    .next()
                    .await
                    .unwrap_or_else(|| panic!("the client ended while waiting for {what}"));
                if let Some(value) = wanted(&message) {
                    return value;
                }
            }
        };
        tokio::time::timeout(PATIENCE, search)
            .await
            .unwrap_or_else(|_| panic!("gave up waiting for {what}"))
    }

    /// Waits for a message of a type, e.g. `connect`.
    pub async fn until_type(&mut self, kind: &str) -> Value {
        self.until(kind, |message| (message["type"] == kind).then(|| message.clone()))
            .await
    }

    /// Waits for an event and answers its payload.
    pub async fn until_event(&mut self, name: &str) -> Value {
        self.until(name, |message| {
            (message["name"] == name).then(|| message["args"][0].clone())
        })
        .await
    }

    /// Disconnects and connects again with a new token.
    pub async fn reconnect(&mut self, token: &str) {
        self.tell(&json!({ "do": "reconnect", "auth": { "token": token } }))
            .await;
    }

    /// Sends an event to the server.
    pub async fn emit(&mut self, name: &str, args: Value) {
        self.tell(&json!({ "do": "emit", "name": name, "args": args }))
            .await;
    }

    async fn tell(&mut self, command: &Value) {
        self.input
            .write_all(format!("{command}\n").as_bytes())
            .await
            .expect("the client runs");
    }
}

impl Drop for SocketIo {
    fn drop(&mut self) {
        // Fails only when it has ended already.
        let _ = self.child.start_kill();
    }
}
