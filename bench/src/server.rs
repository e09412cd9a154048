//! The measured process: the release binary with its own data directory.

use std::path::{Path, PathBuf};
use std::process::Command;

use qm_testkit::http::Http;
use qm_testkit::process::{Process, free_port};
use qm_testkit::wait::until;
use serde_json::{Value, json};
use tempfile::TempDir;

pub const PASSWORD: &str = "a-password-for-measuring";

/// A running release server.
pub struct Server {
    process: Process,
    port: u16,
    http: Http,
    token: String,
    dir: TempDir,
}

/// CPU seconds used by a process, user and system.
pub fn cpu_seconds(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name in parentheses may contain blanks; fields are counted after it. Linux has 100 ticks a second.
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let ticks = |at: usize| {
        fields
            .get(at)
            .and_then(|text| text.parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    (ticks(11) + ticks(12)) / 100.0
}

/// A built server with its plugins.
#[derive(Clone, Debug)]
pub struct Build {
    pub binary: PathBuf,
    pub plugins: PathBuf,
}

impl Build {
    /// The server built by `cargo xtask bench`.
    pub fn measured() -> Build {
        Self::named("QM_SERVER", "QM_PLUGINS_DIR")
            .expect("QM_SERVER and QM_PLUGINS_DIR: call `cargo xtask bench`")
    }

    /// An earlier server to compare with, if one is named.
    pub fn baseline() -> Option<Build> {
        Self::named("QM_BASELINE", "QM_BASELINE_PLUGINS")
    }

    fn named(binary: &str, plugins: &str) -> Option<Build> {
        Some(Build {
            binary: std::env::var_os(binary)?.into(),
            plugins: std::env::var_os(plugins)?.into(),
        })
    }

    /// Command line of a server on `port` with its data in `dir`.
    pub fn command(&self, dir: &Path, port: u16) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .arg("serve")
            .env("PORT", port.to_string())
            .env("DATA_DIR", dir)
            .env("PLUGINS_DIR", &self.plugins)
            .env("FILE_MANAGER_ROOTS", "/var/tmp")
            .env("THROTTLE_LIMIT", "1000000000")
            .env("JWT_ACCESS_TTL", "1d")
            .env("ADMIN_PASSWORD", PASSWORD)
            .env("RUST_LOG", "warn")
            .current_dir(dir);
        command
    }
}

/// Starts a server and stops it once every plugin is compiled, which is after its first answer.
pub async fn first_start(build: &Build, dir: &Path, http: &Http, env: &[(&str, &str)]) {
    let port = free_port();
    let mut command = build.command(dir, port);
    let mut process = Process::start("quartermaster", dir, command.envs(env.iter().copied()));
    let token = log_in(http, port).await;
    let url = format!("http://127.0.0.1:{port}/api/plugins");
    until("the plugins to be compiled", || async {
        let list = http
            .request("GET", &url)
            .header("Authorization", &format!("Bearer {token}"))
            .send();
        let list = list.await.ok()?.json();
        let compiled = list
            .as_array()?
            .iter()
            .all(|plugin| plugin["state"] != "compiling");
        compiled.then_some(())
    })
    .await;
    process.kill();
}

/// Waits for the server on `port`; returns an access token of its administrator.
async fn log_in(http: &Http, port: u16) -> String {
    let url = format!("http://127.0.0.1:{port}/api/auth/login");
    until("the server to log us in", || async {
        let reply = http
            .request("POST", &url)
            .json(&json!({ "username": "admin", "password": PASSWORD }))
            .send()
            .await;
        Some(reply.ok()?.json()["accessToken"].as_str()?.to_owned())
    })
    .await
}

impl Server {
    pub async fn start() -> Server {
        Self::start_of(&Build::measured(), &[]).await
    }

    /// A server of this build with these variables and compiled plugins.
    pub async fn start_of(build: &Build, env: &[(&str, &str)]) -> Server {
        let dir = tempfile::tempdir().expect("a temporary directory");
        // The compiler's memory stays in the process that compiled; every start but the first is measured.
        first_start(build, dir.path(), &Http::new(), env).await;
        Self::start_in(build, dir, env).await
    }

    /// A server without plugins on the caller's database.
    pub async fn start_on(database_url: &str) -> Server {
        Self::start_with(&[("DATABASE_URL", database_url)]).await
    }

    /// A server without plugins and with these variables.
    pub async fn start_with(env: &[(&str, &str)]) -> Server {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let plugins = dir.path().join("plugins");
        std::fs::create_dir(&plugins).expect("our own directory");
        let plugins = plugins.display().to_string();
        let env: Vec<(&str, &str)> = [("PLUGINS_DIR", plugins.as_str())]
            .iter()
            .chain(env)
            .copied()
            .collect();
        Self::start_in(&Build::measured(), dir, &env).await
    }

    /// A server with the compiled plugins of `plugins`.
    pub async fn start_beside(plugins: &Path) -> Server {
        let build = Build {
            plugins: plugins.to_owned(),
            ..Build::measured()
        };
        Self::start_of(&build, &[]).await
    }

    async fn start_in(build: &Build, dir: TempDir, env: &[(&str, &str)]) -> Server {
        let http = Http::new();
        let port = free_port();
        let mut command = build.command(dir.path(), port);
        let process = Process::start("quartermaster", dir.path(), command.envs(env.iter().copied()));
        let token = log_in(&http, port).await;
        Server {
            process,
            port,
            http,
            token,
            dir,
        }
    }

    /// Suspends or resumes the process, so that another measurement has the machine to itself.
    pub fn freeze(&self, frozen: bool) {
        self.process.signal(if frozen { "STOP" } else { "CONT" });
    }

    /// Its database, unless another was named.
    pub fn database(&self) -> PathBuf {
        self.dir.path().join("quartermaster.db")
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub fn token(&self) -> &str {
        &self.token
    }

    pub fn ws_url(&self) -> String {
        format!("ws://127.0.0.1:{}/ws/?token={}", self.port, self.token)
    }

    pub fn cpu_seconds(&self) -> f64 {
        cpu_seconds(self.process.pid())
    }

    pub fn resident_mib(&self) -> f64 {
        self.process.resident_bytes() as f64 / (1024.0 * 1024.0)
    }

    /// Resident memory, and the process's own share of it.
    pub fn memory(&self) -> String {
        let own = self.process.own_bytes() as f64 / (1024.0 * 1024.0);
        format!("{:.0} MiB ({own:.0} its own)", self.resident_mib())
    }

    /// Resets the peak, e.g. that of the login; returns the present resident memory.
    pub fn settled_mib(&self) -> f64 {
        self.process.forget_peak();
        self.resident_mib()
    }

    /// Peak memory, since the start or since [`Server::settled_mib`].
    pub fn peak_mib(&self) -> f64 {
        self.process.peak_resident_bytes() as f64 / (1024.0 * 1024.0)
    }

    pub async fn get(&self, path: &str) -> Value {
        self.call("GET", path, None).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Value {
        self.call("POST", path, Some(body)).await
    }

    pub async fn patch(&self, path: &str, body: &Value) -> Value {
        self.call("PATCH", path, Some(body)).await
    }

    async fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let mut request = self
            .http
            .request(method, &self.url(path))
            .header("authorization", &format!("Bearer {}", self.token));
        if let Some(body) = body {
            request = request.json(body);
        }
        let reply = request
            .send()
            .await
            .unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        assert!(
            reply.status < 300,
            "{method} {path}: {} {}",
            reply.status,
            reply.text()
        );
        reply.json()
    }

    /// Adds the default engine, waits until its list holds `torrents`, and returns its id.
    pub async fn add_engine(&self, kind: &str, config: &Value, torrents: u64) -> String {
        let id = self
            .create_engine(&json!({ "name": kind, "kind": kind, "config": config, "isDefault": true }))
            .await;
        until("the server to list the torrents", || async {
            let page = self.call("GET", "/api/torrents?pageSize=1", None).await;
            (page["total"].as_u64() == Some(torrents)).then_some(())
        })
        .await;
        id
    }

    /// Adds an engine that may not answer.
    pub async fn add_neighbour(&self, kind: &str, config: &Value) -> String {
        self.create_engine(&json!({ "name": "neighbour", "kind": kind, "config": config }))
            .await
    }

    async fn create_engine(&self, body: &Value) -> String {
        let created = self.call("POST", "/api/engines", Some(body)).await;
        created["id"].as_str().expect("the id of the engine").to_owned()
    }

    pub async fn remove_engine(&self, id: &str) {
        self.call("DELETE", &format!("/api/engines/{id}"), None).await;
    }
}
