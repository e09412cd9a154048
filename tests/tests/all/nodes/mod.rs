//! Two servers on one PostgreSQL: which one is active, which one takes over, and that nothing is lost or doubled by
//! that. Parts that these tests share are here.

mod consumers;
mod ledger;
mod succession;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use qm_db::Db;
use qm_testkit::binary::Binary;
use qm_testkit::rtorrent::{Mode, Rtorrent};
use qm_testkit::sample::{Format, Sample};
use qm_testkit::wait::until_true;
use qm_testkit::{Api, Backend, TestDb, database, plugins};
use serde_json::{Value, json};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::Instant;

/// Time limit on a take-over.
pub const BOUND: Duration = Duration::from_secs(10);
/// Longer than the lease, and than what PostgreSQL leaves to a transaction that pauses.
pub const FROZEN: Duration = Duration::from_secs(15);
/// The same for all nodes.
pub const KEYS: [(&str, &str); 2] = [
    (
        "JWT_ACCESS_SECRET",
        "one key that both nodes sign their tokens with",
    ),
    (
        "ENCRYPTION_KEY",
        "another key that both nodes encrypt with, always",
    ),
];

/// A place for a node, with its own data directory.
pub struct Place {
    pub dir: tempfile::TempDir,
    pub name: &'static str,
}

impl Place {
    pub fn new(name: &'static str) -> Place {
        Place::with(name, "scgi_client.wasm")
    }

    /// The same with another plugin.
    pub fn with(name: &'static str, plugin: &str) -> Place {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let installed = dir.path().join("plugins");
        std::fs::create_dir_all(&installed).expect("our own directory");
        plugins::install(plugin, &installed);
        Place { dir, name }
    }

    pub fn env(&self) -> Vec<(&str, &str)> {
        let mut env = KEYS.to_vec();
        env.extend([("NODE_NAME", self.name), ("THROTTLE_LIMIT", "1000000")]);
        env
    }

    pub async fn active(&self, db: &TestDb) -> Binary {
        Binary::start_with(self.dir.path(), db.url(), &self.env()).await
    }

    pub async fn standby(&self, db: &TestDb) -> Binary {
        Binary::stand_by(self.dir.path(), db.url(), &self.env()).await
    }
}

/// Two nodes of one database, of which the second stands by, and a torrent client with one torrent, which the first lists.
pub struct Two {
    pub here: Place,
    pub there: Place,
    pub client: Rtorrent,
    pub sample: Sample,
    pub relay: Relay,
    /// Signed in at the first.
    pub admin: Api,
    /// The id of the client.
    pub engine: String,
    pub first: Binary,
    pub second: Binary,
}

impl Two {
    pub async fn start(db: &TestDb, torrent: &str) -> Two {
        let (here, there) = (Place::new("here"), Place::new("there"));
        let client = Rtorrent::start(Mode::Unix).await;
        let sample = Sample::new(torrent, 100_000, 1, Format::V1, "");
        client.seed(&sample).await;
        let relay = Relay::start(here.dir.path(), &client);
        let first = here.active(db).await;
        let admin = first.admin().await;
        let engine = admin.add_engine("Shared", "scgi_client", relay.config()).await;
        until_true("the torrent to be listed", async || {
            admin.torrent(&engine, &sample.hash).await.is_some()
        })
        .await;
        let second = there.standby(db).await;
        Two {
            here,
            there,
            client,
            sample,
            relay,
            admin,
            engine,
            first,
            second,
        }
    }
}

pub fn on_postgres(body: impl AsyncFnOnce(&TestDb)) {
    database::run(Backend::Postgres, body);
}

/// The same account, asking another server.
pub fn api_on(server: &Binary, api: &Api) -> Api {
    server.anonymous().with_token(Some(api.token().to_owned()))
}

/// Waits until a standby is active, and tells how long that took.
pub async fn takes_over(server: &Binary, since: Instant, how: &str) -> Duration {
    server.active().await;
    let took = since.elapsed();
    eprintln!("take-over after a node was {how}: {took:?}");
    took
}

pub async fn open(db: &TestDb) -> Db {
    Db::open(db.url()).await.expect("the database")
}

/// Stands between the nodes and a client, and notes which process called and when.
pub struct Relay {
    socket: PathBuf,
    calls: Arc<Mutex<Vec<(u32, Instant)>>>,
}

impl Relay {
    pub fn start(dir: &Path, client: &Rtorrent) -> Relay {
        let config = client.config();
        let target = PathBuf::from(config["socketPath"].as_str().expect("a socket"));
        let socket = dir.join("relay.socket");
        let listener = UnixListener::bind(&socket).expect("a socket of our own");
        let calls: Arc<Mutex<Vec<(u32, Instant)>>> = Arc::default();
        let noted = calls.clone();
        tokio::spawn(async move {
            while let Ok((mut caller, _)) = listener.accept().await {
                let pid = caller
                    .peer_cred()
                    .ok()
                    .and_then(|cred| cred.pid())
                    .unwrap_or_default();
                noted
                    .lock()
                    .expect("no panic")
                    .push((pid.unsigned_abs(), Instant::now()));
                let target = target.clone();
                tokio::spawn(async move {
                    let mut client = UnixStream::connect(&target).await?;
                    tokio::io::copy_bidirectional(&mut caller, &mut client).await
                });
            }
        });
        Relay { socket, calls }
    }

    pub fn config(&self) -> Value {
        json!({ "mode": "scgi-unix", "socketPath": self.socket.display().to_string() })
    }

    pub fn calls_of(&self, server: &Binary, since: Instant) -> usize {
        let pid = server.process().pid();
        let calls = self.calls.lock().expect("no panic");
        calls
            .iter()
            .filter(|(caller, at)| *caller == pid && *at >= since)
            .count()
    }
}
