//! A private transmission-daemon, of any generation, on loopback: the client of a kind that only a third-party plugin provides.

use std::path::PathBuf;

use qm_generations::Program;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::http::Http;
use crate::process::{Process, free_port, loopback_address};
use crate::wait::until;

/// A running transmission-daemon.
pub struct Transmission {
    _process: Process,
    port: u16,
    http: Http,
    dir: TempDir,
}

impl Transmission {
    pub async fn start_program(program: &Program) -> Transmission {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let downloads = dir.path().join("downloads");
        std::fs::create_dir(&downloads).expect("our own directory");
        let port = free_port();
        let settings = json!({
            "rpc-enabled": true, "rpc-bind-address": "127.0.0.1", "rpc-port": port, "rpc-authentication-required": false,
            "rpc-whitelist-enabled": false, "rpc-host-whitelist-enabled": false, "bind-address-ipv4": loopback_address(),
            "peer-port": free_port(), "dht-enabled": false, "lpd-enabled": false, "pex-enabled": false, "utp-enabled": false,
            "port-forwarding-enabled": false, "download-dir": downloads,
        });
        std::fs::write(dir.path().join("settings.json"), settings.to_string()).expect("our own directory");
        let mut command = program.command();
        command.args(["--foreground", "--config-dir"]).arg(dir.path());
        let mut process = Process::start("transmission", dir.path(), &mut command);
        let http = Http::new();
        let url = format!("http://127.0.0.1:{port}/transmission/rpc");
        until("transmission-daemon to answer", || {
            process.assert_running();
            async { http.get(&url).await.ok() }
        })
        .await;
        Transmission {
            _process: process,
            port,
            http,
            dir,
        }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/transmission/rpc", self.port)
    }

    /// `config` of `POST /api/engines`.
    pub fn config(&self) -> Value {
        json!({ "url": self.url() })
    }

    pub fn downloads(&self) -> PathBuf {
        self.dir.path().join("downloads")
    }

    /// Asks it directly: one RPC, its `arguments`.
    pub async fn call(&self, method: &str, arguments: Value) -> Value {
        let body = json!({ "method": method, "arguments": arguments });
        let send = |session: String| {
            let request = self
                .http
                .request("POST", &self.url())
                .header("x-transmission-session-id", &session);
            request.json(&body).send()
        };
        let refused = send(String::new()).await.expect("it answers");
        let session = refused
            .header("x-transmission-session-id")
            .unwrap_or_default()
            .to_owned();
        let reply = send(session).await.expect("it answers").json();
        assert_eq!(reply["result"], "success", "transmission {method}");
        reply["arguments"].clone()
    }

    /// Its own rows of all torrents, with these fields.
    pub async fn torrents(&self, fields: &[&str]) -> Vec<Value> {
        let answer = self.call("torrent-get", json!({ "fields": fields })).await;
        answer["torrents"].as_array().cloned().unwrap_or_default()
    }
}
