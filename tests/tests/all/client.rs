//! The two kinds of torrent client, asked directly: what the API claims is checked against what they say themselves.

use std::path::PathBuf;

use qm_testkit::generations::Program;
use qm_testkit::qbittorrent::Qbittorrent;
use qm_testkit::rtorrent::{Mode, Rtorrent};
use qm_testkit::sample::Sample;
use qm_testkit::xmlrpc::Param;
use serde_json::{Value, json};

/// A real client of one of the two first-party kinds.
pub enum Client {
    Rtorrent(Rtorrent),
    Qbittorrent(Qbittorrent),
}

/// The activity of a client on a torrent, in the words that both clients have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    Running,
    Paused,
    Stopped,
    Checking,
}

impl Client {
    /// One of the oldest generation.
    pub async fn rtorrent(mode: Mode) -> Client {
        Client::Rtorrent(Rtorrent::start(mode).await)
    }

    pub async fn rtorrent_of(program: &Program, mode: Mode) -> Client {
        Client::Rtorrent(Rtorrent::start_program(program, mode).await)
    }

    /// One of the oldest generation.
    pub async fn qbittorrent() -> Client {
        Client::Qbittorrent(Qbittorrent::start().await)
    }

    pub async fn qbittorrent_of(program: &Program) -> Client {
        Client::Qbittorrent(Qbittorrent::start_program(program).await)
    }

    /// One that sees its directories under other paths than this test.
    pub async fn rtorrent_elsewhere(program: &Program) -> Client {
        Client::Rtorrent(Rtorrent::start_elsewhere(program, Mode::Tcp).await)
    }

    /// One that sees its directories under other paths than this test.
    pub async fn qbittorrent_elsewhere(program: &Program) -> Client {
        Client::Qbittorrent(Qbittorrent::start_elsewhere(program).await)
    }

    /// The engine kind that drives it.
    pub fn kind(&self) -> &'static str {
        match self {
            Client::Rtorrent(_) => "scgi_client",
            Client::Qbittorrent(_) => "webapi_client",
        }
    }

    pub fn config(&self) -> Value {
        match self {
            Client::Rtorrent(client) => client.config(),
            Client::Qbittorrent(client) => client.config(),
        }
    }

    pub fn downloads(&self) -> PathBuf {
        match self {
            Client::Rtorrent(client) => client.downloads(),
            Client::Qbittorrent(client) => client.downloads(),
        }
    }

    pub fn other_directory(&self) -> PathBuf {
        match self {
            Client::Rtorrent(client) => client.other_directory(),
            Client::Qbittorrent(client) => client.other_directory(),
        }
    }

    pub async fn seed(&self, sample: &Sample) {
        match self {
            Client::Rtorrent(client) => client.seed(sample).await,
            Client::Qbittorrent(client) => client.seed(sample).await,
        }
    }

    /// Starts a torrent that was added stopped, behind our server's back.
    pub async fn start(&self, sample: &Sample) {
        match self {
            Client::Rtorrent(client) => {
                let hash = sample.hash.to_uppercase();
                for method in ["d.open", "d.start"] {
                    client.call(method, &[Param::Text(&hash)]).await;
                }
            }
            Client::Qbittorrent(client) => client.start_torrent(sample).await,
        }
    }

    pub async fn throttle(&self, bytes_per_second: i64) {
        match self {
            Client::Rtorrent(client) => client.throttle(bytes_per_second).await,
            Client::Qbittorrent(client) => client.throttle(bytes_per_second).await,
        }
    }

    /// Has it store what it knows, where it does not at once.
    pub async fn store_session(&self) {
        if let Client::Rtorrent(client) = self {
            client.store_session().await;
        }
    }

    pub fn kill(&mut self) {
        match self {
            Client::Rtorrent(client) => client.kill(),
            Client::Qbittorrent(client) => client.kill(),
        }
    }

    pub async fn restart(&mut self) {
        match self {
            Client::Rtorrent(client) => client.restart().await,
            Client::Qbittorrent(client) => client.restart().await,
        }
    }

    pub fn freeze(&self, frozen: bool) {
        match self {
            Client::Rtorrent(client) => client.freeze(frozen),
            Client::Qbittorrent(client) => client.freeze(frozen),
        }
    }

    pub async fn lists(&self, hash: &str) -> bool {
        match self {
            Client::Rtorrent(client) => client.hashes().await.iter().any(|listed| listed == hash),
            Client::Qbittorrent(client) => client.hashes().await.iter().any(|listed| listed == hash),
        }
    }

    async fn row(client: &Qbittorrent, hash: &str) -> Value {
        client.torrent(hash).await.expect("qBittorrent lists the torrent")
    }

    pub async fn doing(&self, hash: &str) -> Doing {
        match self {
            Client::Rtorrent(client) => {
                if client.get("d.hashing", hash).await != json!(0) {
                    Doing::Checking
                } else if client.get("d.state", hash).await == json!(0) {
                    Doing::Stopped
                } else if client.get("d.is_active", hash).await == json!(0) {
                    Doing::Paused
                } else {
                    Doing::Running
                }
            }
            Client::Qbittorrent(client) => match Self::row(client, hash).await["state"]
                .as_str()
                .unwrap_or_default()
            {
                // To qBittorrent stop and pause are one thing.
                "pausedUP" | "pausedDL" | "stoppedUP" | "stoppedDL" => Doing::Paused,
                state if state.starts_with("checking") => Doing::Checking,
                _ => Doing::Running,
            },
        }
    }

    /// The state that "stop" leaves a torrent of this kind in.
    pub fn stopped(&self) -> Doing {
        match self {
            Client::Rtorrent(_) => Doing::Stopped,
            Client::Qbittorrent(_) => Doing::Paused,
        }
    }

    /// The number of bytes of the torrent that the client has.
    pub async fn completed_bytes(&self, hash: &str) -> u64 {
        let bytes = match self {
            Client::Rtorrent(client) => client.get("d.completed_bytes", hash).await,
            Client::Qbittorrent(client) => Self::row(client, hash).await["completed"].clone(),
        };
        bytes.as_u64().unwrap_or_default()
    }

    /// Upload and download limits in bytes a second; 0 = none. rTorrent's highest rate, 1 GiB/s, is as good as none.
    pub async fn limits(&self, hash: &str) -> (i64, i64) {
        match self {
            Client::Rtorrent(client) => {
                let group = client.get("d.throttle_name", hash).await;
                let group = group.as_str().unwrap_or_default().to_owned();
                let mut rates = Vec::new();
                for getter in ["throttle.up.max", "throttle.down.max"] {
                    let rate = client.call(getter, &[Param::Text(""), Param::Text(&group)]).await;
                    let rate = rate
                        .as_i64()
                        .or_else(|| rate.as_str()?.parse().ok())
                        .unwrap_or(-1);
                    rates.push(if rate >= 1 << 30 { 0 } else { rate });
                }
                (rates[0], rates[1])
            }
            Client::Qbittorrent(client) => {
                let row = Self::row(client, hash).await;
                (
                    row["up_limit"].as_i64().unwrap_or(-1),
                    row["dl_limit"].as_i64().unwrap_or(-1),
                )
            }
        }
    }

    /// The first file's priority as the API counts: 0 skip, 1 normal, 2 high.
    pub async fn file_priority(&self, hash: &str) -> i64 {
        match self {
            Client::Rtorrent(client) => {
                let file = format!("{}:f0", hash.to_uppercase());
                client
                    .call("f.priority", &[Param::Text(&file)])
                    .await
                    .as_i64()
                    .unwrap_or(-1)
            }
            Client::Qbittorrent(client) => {
                let files = client.get(&format!("torrents/files?hash={hash}")).await;
                files[0]["priority"].as_i64().unwrap_or(-1).min(2)
            }
        }
    }

    /// Tracker addresses in use, disabled ones left out.
    pub async fn trackers(&self, hash: &str) -> Vec<String> {
        match self {
            Client::Rtorrent(client) => {
                let hash = hash.to_uppercase();
                let fields = [&hash, "", "t.url=", "t.is_enabled="].map(Param::Text);
                let rows = client.call("t.multicall", &fields).await;
                let rows = rows.as_array().cloned().unwrap_or_default();
                rows.iter()
                    .filter(|row| row[1] == json!(1))
                    .filter_map(|row| Some(row[0].as_str()?.to_owned()))
                    .collect()
            }
            Client::Qbittorrent(client) => {
                let rows = client.get(&format!("torrents/trackers?hash={hash}")).await;
                let rows = rows.as_array().cloned().unwrap_or_default();
                rows.iter()
                    .filter_map(|row| Some(row["url"].as_str()?.to_owned()))
                    .collect()
            }
        }
    }

    /// Where it says it saves the torrent.
    pub async fn directory(&self, hash: &str) -> String {
        let directory = match self {
            Client::Rtorrent(client) => client.get("d.directory", hash).await,
            Client::Qbittorrent(client) => Self::row(client, hash).await["save_path"].clone(),
        };
        directory
            .as_str()
            .unwrap_or_default()
            .trim_end_matches('/')
            .to_owned()
    }

    pub async fn name(&self, hash: &str) -> String {
        let name = match self {
            Client::Rtorrent(client) => client.get("d.name", hash).await,
            Client::Qbittorrent(client) => Self::row(client, hash).await["name"].clone(),
        };
        name.as_str().unwrap_or_default().to_owned()
    }
}
