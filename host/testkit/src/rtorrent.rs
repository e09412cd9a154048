//! A private rTorrent, of any generation, on loopback, and the questions tests ask it directly.
//!
//! Bounds: one daemon with its own directory; no DHT, no peer exchange; it talks to 127.0.0.1 only.

use std::path::{Path, PathBuf};

use qm_generations::{Generation, Product, Program};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::mounted::Mounts;
use crate::nginx::Nginx;
use crate::process::{Process, free_port, loopback_address};
use crate::sample::Sample;
use crate::wait::{until, until_true};
use crate::xmlrpc::{self, Param, ScgiAddress};

/// The connection by which our server reaches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Tcp,
    Unix,
    /// Through nginx with `scgi_pass`.
    Http,
}

/// A running rTorrent.
pub struct Rtorrent {
    program: Program,
    process: Option<Process>,
    address: ScgiAddress,
    nginx: Option<Nginx>,
    mounts: Mounts,
    dir: TempDir,
}

impl Rtorrent {
    /// One of the oldest generation.
    ///
    /// # Panics
    /// When it is missing, saying how to get it.
    pub async fn start(mode: Mode) -> Rtorrent {
        let program = Generation::oldest(Product::Rtorrent).find();
        Self::start_program(&program.unwrap_or_else(|missing| panic!("{missing}")), mode).await
    }

    pub async fn start_program(program: &Program, mode: Mode) -> Rtorrent {
        Self::start_in(program, mode, |_, _| Mounts::default()).await
    }

    /// One that sees its downloads and its other directory at [`crate::mounted::DOWNLOADS`] and [`crate::mounted::OTHER`].
    pub async fn start_elsewhere(program: &Program, mode: Mode) -> Rtorrent {
        Self::start_in(program, mode, Mounts::elsewhere).await
    }

    async fn start_in(program: &Program, mode: Mode, mounts: fn(&Path, &Path) -> Mounts) -> Rtorrent {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for name in ["session", "downloads", "moved"] {
            std::fs::create_dir(dir.path().join(name)).expect("a directory of our own");
        }
        let address = match mode {
            Mode::Tcp => ScgiAddress::Tcp(free_port()),
            Mode::Unix | Mode::Http => ScgiAddress::Unix(dir.path().join("rpc.socket")),
        };
        let mut rtorrent = Rtorrent {
            program: program.clone(),
            process: None,
            address,
            nginx: None,
            mounts: mounts(&dir.path().join("downloads"), &dir.path().join("moved")),
            dir,
        };
        rtorrent.write_config();
        rtorrent.boot().await;
        if let (Mode::Http, ScgiAddress::Unix(socket)) = (mode, &rtorrent.address) {
            rtorrent.nginx = Some(Nginx::scgi_pass(socket).await);
        }
        rtorrent
    }

    fn write_config(&self) {
        let dir = self.dir.path().display();
        let listen = match &self.address {
            ScgiAddress::Tcp(port) => format!("network.scgi.open_port = 127.0.0.1:{port}"),
            ScgiAddress::Unix(socket) => format!("network.scgi.open_local = {}", socket.display()),
        };
        let downloads = self.mounts.seen(&self.downloads());
        let downloads = downloads.display();
        let (address, peers) = (loopback_address(), free_port());
        let config = format!(
            "directory.default.set = {downloads}\nsession.path.set = {dir}/session\nnetwork.port_range.set = {peers}-{peers}\n\
             network.port_random.set = no\nnetwork.bind_address.set = {address}\ndht.mode.set = disable\nprotocol.pex.set = no\n\
             trackers.use_udp.set = no\nnetwork.xmlrpc.size_limit.set = 33554432\n\
             catch = \"encoding.add=UTF-8\"\nsystem.daemon.set = true\n{listen}\n"
        );
        std::fs::write(self.dir.path().join("rtorrent.rc"), config).expect("our own directory");
    }

    async fn boot(&mut self) {
        if let ScgiAddress::Unix(socket) = &self.address {
            // One that was killed leaves its socket behind, and the next one cannot bind it.
            let _ = std::fs::remove_file(socket);
        }
        let mut command = self.program.command();
        command.current_dir(self.dir.path()).env("HOME", self.dir.path());
        command.args(["-n", "-o", "import=rtorrent.rc"]);
        let mut command = self.mounts.around(command);
        let mut process = Process::start("rtorrent", self.dir.path(), &mut command);
        until("rTorrent to answer", || {
            process.assert_running();
            async { self.try_call("system.client_version", &[]).await.ok() }
        })
        .await;
        self.process = Some(process);
    }

    /// SIGKILL; the session directory stays.
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Starts it again on the same session and address.
    pub async fn restart(&mut self) {
        self.kill();
        self.boot().await;
    }

    /// Has it store what it knows of its torrents, and waits until that is on disk: since 0.16 it is written after the
    /// answer. It does so by itself only now and then; what it did since is lost in a kill.
    pub async fn store_session(&self) {
        let session = self.dir.path().join("session");
        let states: Vec<PathBuf> = self
            .hashes()
            .await
            .iter()
            .map(|hash| session.join(format!("{}.torrent.rtorrent", hash.to_uppercase())))
            .collect();
        for state in &states {
            // One that was never stored is not there.
            let _ = std::fs::remove_file(state);
        }
        self.call("session.save", &[Param::Text("")]).await;
        until_true("rTorrent to store its session", || async {
            states.iter().all(|state| state.exists())
        })
        .await;
    }

    /// The id of the running process.
    pub fn pid(&self) -> u32 {
        self.process.as_ref().expect("it runs").pid()
    }

    /// Stops (`true`) or continues it: a client that has the port open and never answers.
    pub fn freeze(&self, frozen: bool) {
        let process = self.process.as_ref().expect("it runs");
        process.signal(if frozen { "STOP" } else { "CONT" });
    }

    /// `config` of `POST /api/engines`.
    pub fn config(&self) -> Value {
        match (&self.nginx, &self.address) {
            (Some(nginx), _) => {
                let (username, password) = nginx.login();
                json!({ "mode": "http", "url": nginx.url(), "username": username, "password": password })
            }
            (None, ScgiAddress::Tcp(port)) => {
                json!({ "mode": "scgi-tcp", "host": "127.0.0.1", "port": port })
            }
            (None, ScgiAddress::Unix(socket)) => {
                json!({ "mode": "scgi-unix", "socketPath": socket.display().to_string() })
            }
        }
    }

    pub fn downloads(&self) -> PathBuf {
        self.dir.path().join("downloads")
    }

    /// An empty directory next to the downloads.
    pub fn other_directory(&self) -> PathBuf {
        self.dir.path().join("moved")
    }

    pub fn root(&self) -> &Path {
        self.dir.path()
    }

    async fn try_call(&self, method: &str, params: &[Param<'_>]) -> Result<Value, String> {
        xmlrpc::call(&self.address, method, params).await
    }

    /// Asks it directly.
    ///
    /// # Panics
    /// On a fault.
    pub async fn call(&self, method: &str, params: &[Param<'_>]) -> Value {
        self.try_call(method, params)
            .await
            .unwrap_or_else(|fault| panic!("rTorrent refused {method}: {fault}"))
    }

    /// A getter of one torrent, e.g. `d.is_active`.
    pub async fn get(&self, getter: &str, hash: &str) -> Value {
        self.call(getter, &[Param::Text(&hash.to_uppercase())]).await
    }

    /// The hashes it lists, in lower case.
    pub async fn hashes(&self) -> Vec<String> {
        let rows = self.call("download_list", &[]).await;
        rows.as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_lowercase)
            .collect()
    }

    /// Puts the sample's file into the downloads, adds it behind our server's back and waits until it seeds.
    pub async fn seed(&self, sample: &Sample) {
        sample.write_to(&self.downloads());
        self.add(sample, true).await;
        until_true("rTorrent to seed", || async {
            self.get("d.complete", &sample.hash).await == json!(1)
        })
        .await;
    }

    /// Adds a torrent behind our server's back.
    pub async fn add(&self, sample: &Sample, start: bool) {
        let method = if start { "load.raw_start" } else { "load.raw" };
        self.call(method, &[Param::Text(""), Param::Bytes(&sample.metainfo)])
            .await;
        until_true("rTorrent to list the torrent", || async {
            self.hashes().await.contains(&sample.hash)
        })
        .await;
    }

    /// Bounds both directions of the whole client, in bytes a second; 0 = unlimited.
    pub async fn throttle(&self, bytes_per_second: i64) {
        for method in [
            "throttle.global_down.max_rate.set",
            "throttle.global_up.max_rate.set",
        ] {
            self.call(method, &[Param::Text(""), Param::Int(bytes_per_second)])
                .await;
        }
    }
}
