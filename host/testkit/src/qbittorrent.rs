//! A private qbittorrent-nox, of any generation, on loopback, and the questions tests ask it directly.
//!
//! Bounds: its own profile; no DHT, no local discovery, no peer exchange, no queueing; it talks to 127.0.0.1 only.

use std::path::{Path, PathBuf};

use qm_generations::{Generation, Product, Program};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::http::{Http, Reply};
use crate::mounted::Mounts;
use crate::process::{Process, free_port, loopback_address};
use crate::sample::Sample;
use crate::wait::{until, until_true};

pub const USERNAME: &str = "admin";
pub const PASSWORD: &str = "loopback-only-password";
/// PBKDF2-HMAC-SHA512 of [`PASSWORD`], 100,000 rounds, as qBittorrent stores it.
const PASSWORD_HASH: &str = "AAECAwQFBgcICQoLDA0ODw==:7jhS2WIdabG4Clv9xOZqEgeW0qsL1NFnVRZtwSGwxv7A/9O6+kUHsVyYmKBtwRlUGl6zkIUYMXAw9NF/YA3Xvg==";

/// A running qbittorrent-nox.
pub struct Qbittorrent {
    program: Program,
    process: Option<Process>,
    port: u16,
    http: Http,
    cookie: String,
    mounts: Mounts,
    dir: TempDir,
}

impl Qbittorrent {
    /// One of the oldest generation.
    ///
    /// # Panics
    /// When it is missing, saying how to get it.
    pub async fn start() -> Qbittorrent {
        let program = Generation::oldest(Product::Qbittorrent).find();
        Self::start_program(&program.unwrap_or_else(|missing| panic!("{missing}"))).await
    }

    pub async fn start_program(program: &Program) -> Qbittorrent {
        Self::start_in(program, |_, _| Mounts::default()).await
    }

    /// One that sees its downloads and its other directory at [`crate::mounted::DOWNLOADS`] and [`crate::mounted::OTHER`].
    pub async fn start_elsewhere(program: &Program) -> Qbittorrent {
        Self::start_in(program, Mounts::elsewhere).await
    }

    async fn start_in(program: &Program, mounts: fn(&Path, &Path) -> Mounts) -> Qbittorrent {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for name in ["downloads", "moved", "qBittorrent/config"] {
            std::fs::create_dir_all(dir.path().join(name)).expect("a directory of our own");
        }
        let port = free_port();
        let config = dir.path().join("qBittorrent/config/qBittorrent.conf");
        let downloads = dir.path().join("downloads");
        let mounts = mounts(&downloads, &dir.path().join("moved"));
        std::fs::write(config, settings(&mounts.seen(&downloads), port)).expect("our own directory");
        let mut client = Qbittorrent {
            program: program.clone(),
            process: None,
            port,
            http: Http::new(),
            cookie: String::new(),
            mounts,
            dir,
        };
        client.boot().await;
        client
    }

    async fn boot(&mut self) {
        let mut command = self.program.command();
        command
            .env("HOME", self.dir.path())
            .env("XDG_CONFIG_HOME", self.dir.path())
            .env("XDG_DATA_HOME", self.dir.path());
        command.arg(format!("--profile={}", self.dir.path().display()));
        let mut command = self.mounts.around(command);
        let mut process = Process::start("qbittorrent", self.dir.path(), &mut command);
        let cookie = until("qBittorrent to let us in", || {
            process.assert_running();
            self.log_in()
        })
        .await;
        (self.process, self.cookie) = (Some(process), cookie);
    }

    async fn log_in(&self) -> Option<String> {
        let form = [("username", USERNAME), ("password", PASSWORD)];
        let request = self
            .http
            .request("POST", &self.api("auth/login"))
            .header("referer", &self.base_url())
            .form(&form);
        let reply = request.send().await.ok()?;
        // 200 and a text up to 5.1, 204 and none since.
        let let_in = reply.status == 204 || reply.text() == "Ok.";
        assert!(let_in, "qBittorrent refused its own password: {}", reply.text());
        Some(reply.header("set-cookie")?.split(';').next()?.to_owned())
    }

    /// SIGKILL; the profile stays.
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Starts it again on the same profile and port.
    pub async fn restart(&mut self) {
        self.kill();
        self.boot().await;
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

    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// `config` of `POST /api/engines`.
    pub fn config(&self) -> Value {
        json!({ "baseUrl": self.base_url(), "username": USERNAME, "password": PASSWORD })
    }

    pub fn downloads(&self) -> PathBuf {
        self.dir.path().join("downloads")
    }

    /// An empty directory next to the downloads.
    pub fn other_directory(&self) -> PathBuf {
        self.dir.path().join("moved")
    }

    fn api(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/api/v2/{path}", self.port)
    }

    /// Asks it directly.
    pub async fn get(&self, path: &str) -> Value {
        let reply = self
            .http
            .request("GET", &self.api(path))
            .header("cookie", &self.cookie)
            .send()
            .await;
        let reply = reply.unwrap_or_else(|error| panic!("qBittorrent {path}: {error}"));
        assert_eq!(reply.status, 200, "qBittorrent {path}: {}", reply.text());
        reply.json()
    }

    async fn post(&self, path: &str, form: &[(&str, &str)]) -> Reply {
        let request = self
            .http
            .request("POST", &self.api(path))
            .header("cookie", &self.cookie)
            .form(form);
        request
            .send()
            .await
            .unwrap_or_else(|error| panic!("qBittorrent {path}: {error}"))
    }

    /// Its own row of a torrent; `None` when it does not list it.
    pub async fn torrent(&self, hash: &str) -> Option<Value> {
        self.get(&format!("torrents/info?hashes={hash}"))
            .await
            .as_array()?
            .first()
            .cloned()
    }

    pub async fn hashes(&self) -> Vec<String> {
        let rows = self.get("torrents/info").await;
        rows.as_array()
            .into_iter()
            .flatten()
            .filter_map(|row| Some(row["hash"].as_str()?.to_owned()))
            .collect()
    }

    /// Puts the sample's file into the downloads, adds it behind our server's back and waits until it seeds.
    pub async fn seed(&self, sample: &Sample) {
        sample.write_to(&self.downloads());
        self.add(sample, true).await;
        until_true("qBittorrent to seed", || async {
            let row = self.torrent(&sample.qbittorrent_hash).await.unwrap_or_default();
            row["progress"] == json!(1)
                && row["state"]
                    .as_str()
                    .is_some_and(|state| state.ends_with("UP") || state == "uploading")
        })
        .await;
    }

    /// Adds a torrent behind our server's back.
    pub async fn add(&self, sample: &Sample, start: bool) {
        let stopped = if start { "false" } else { "true" };
        let request = self
            .http
            .request("POST", &self.api("torrents/add"))
            .header("cookie", &self.cookie);
        let request = request.multipart(
            // What 4 calls paused is stopped since 5.
            &[("paused", stopped), ("stopped", stopped)],
            &[("torrents", "sample.torrent", &sample.metainfo)],
        );
        let reply = request.send().await.expect("qBittorrent answers");
        assert_taken(&reply);
        until("qBittorrent to list the torrent", || {
            self.torrent(&sample.qbittorrent_hash)
        })
        .await;
    }

    /// Starts a torrent that was added paused, behind our server's back.
    pub async fn start_torrent(&self, sample: &Sample) {
        let form = [("hashes", sample.qbittorrent_hash.as_str())];
        // What 4 resumes 5 starts.
        let reply = self.post("torrents/start", &form).await;
        let reply = if reply.status == 404 {
            self.post("torrents/resume", &form).await
        } else {
            reply
        };
        assert_taken(&reply);
    }

    /// Adds many torrents at once, paused, without waiting for them to be listed.
    pub async fn add_all_paused(&self, samples: &[Sample]) {
        let files: Vec<_> = samples
            .iter()
            .map(|sample| ("torrents", sample.name.as_str(), sample.metainfo.as_slice()))
            .collect();
        let request = self
            .http
            .request("POST", &self.api("torrents/add"))
            .header("cookie", &self.cookie);
        let reply = request
            .multipart(&[("paused", "true"), ("stopped", "true")], &files)
            .send()
            .await
            .expect("qBittorrent answers");
        assert_taken(&reply);
    }

    /// Bounds both directions of the whole client, in bytes a second; 0 = unlimited.
    pub async fn throttle(&self, bytes_per_second: i64) {
        let limit = bytes_per_second.to_string();
        for path in ["transfer/setDownloadLimit", "transfer/setUploadLimit"] {
            assert_eq!(
                self.post(path, &[("limit", &limit)]).await.status,
                200,
                "qBittorrent took the limit"
            );
        }
    }
}

/// A text up to 5.1, JSON with counts since.
fn assert_taken(reply: &Reply) {
    let text = reply.text();
    assert!(
        (200..300).contains(&reply.status) && text != "Fails.",
        "qBittorrent did not take it: {} {text}",
        reply.status
    );
}

fn settings(downloads: &Path, port: u16) -> String {
    let (downloads, address, peers) = (downloads.display(), loopback_address(), free_port());
    format!(
        "[LegalNotice]\nAccepted=true\n\n[BitTorrent]\nSession\\DHTEnabled=false\nSession\\LSDEnabled=false\nSession\\PeXEnabled=false\n\
         Session\\Port={peers}\nSession\\InterfaceAddress={address}\nSession\\DefaultSavePath={downloads}\n\
         Session\\QueueingSystemEnabled=false\nSession\\MultiConnectionsPerIp=true\nSession\\BTProtocol=TCP\n\
         Session\\SSRFMitigation=false\nSession\\IgnoreLimitsOnLAN=false\nSession\\AddTorrentPaused=false\n\n\
         [Core]\nAutoDeleteAddedTorrentFile=Never\n\n[Preferences]\nWebUI\\Address=127.0.0.1\nWebUI\\Port={port}\nWebUI\\LocalHostAuth=true\n\
         WebUI\\UseUPnP=false\nWebUI\\Username={USERNAME}\nWebUI\\Password_PBKDF2=\"@ByteArray({PASSWORD_HASH})\"\n"
    )
}
