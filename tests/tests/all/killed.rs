//! Servers that are killed at something they do, one after the other on one database.
//!
//! Such a server is this very test program, begun again as an ignored test that plays it ([`play`](qm_testkit::binary::play)):
//! like any other, with an engine that completes as many torrents as a file says, and with something that writes down what it
//! does ([`Journal`]) and waits to be killed at one of its deeds.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use qm_ports::engine::TorrentState;
use qm_test_base::engine::{FakeEngine, FakeKinds, torrent};
use qm_testkit::binary::{Binary, played_by};
use qm_testkit::wait::until_true;
use qm_testkit::{Api, TestDb};

/// Variable with the directory in which the played server and the test share files.
const PLACE: &str = "QM_TEST_KILLED_PLACE";
/// Variable with the number of the deed at which the played server stops and waits to be killed; 0: at none.
const HOLDS_AT: &str = "QM_TEST_KILLED_HOLDS_AT";
pub const TORRENTS: u32 = 12;

/// The record of the deeds of a played server.
pub struct Journal {
    place: PathBuf,
    holds_at: usize,
    noted: AtomicUsize,
}

impl Journal {
    /// The journal of the server which this process plays; `None` when it plays none.
    pub fn of_played() -> Option<Self> {
        let place = std::env::var_os(PLACE).map(PathBuf::from)?;
        let holds_at = std::env::var(HOLDS_AT).ok().and_then(|text| text.parse().ok());
        Some(Self {
            place,
            holds_at: holds_at.unwrap_or(0),
            noted: AtomicUsize::new(0),
        })
    }

    /// The kinds of engines of this server, with the one at the host `one` that lists what the file says.
    pub fn kinds(&self) -> Arc<FakeKinds> {
        let kinds = FakeKinds::first_party();
        tokio::spawn(follow(kinds.engine("one"), self.place.clone()));
        kinds
    }

    /// Writes a line down. False: at this deed the server is to be killed.
    pub fn note(&self, line: &str) -> bool {
        let file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.place.join("journal"));
        let mut file = file.expect("our own file");
        // One write: the lines of two deeds do not mix.
        file.write_all(format!("{line}\n").as_bytes())
            .expect("our own file");
        file.sync_all().expect("our own file");
        let is_caught = self.noted.fetch_add(1, Ordering::SeqCst) + 1 == self.holds_at;
        if is_caught {
            std::fs::write(self.place.join("holds"), "").expect("our own file");
        }
        !is_caught
    }
}

/// The lines that all servers of the place wrote.
pub fn journal(place: &Path) -> String {
    std::fs::read_to_string(place.join("journal")).expect("the journal")
}

/// Torrents that are complete.
fn complete(place: &Path) -> u32 {
    let text = std::fs::read_to_string(place.join("complete")).unwrap_or_default();
    text.trim().parse().unwrap_or(0)
}

pub fn set_complete(place: &Path, count: u32) {
    let written = place.join("complete.new");
    std::fs::write(&written, count.to_string()).expect("our own file");
    std::fs::rename(written, place.join("complete")).expect("our own file");
}

/// Lists what the file says, and follows its changes.
async fn follow(engine: Arc<FakeEngine>, place: PathBuf) {
    let mut shown = None;
    loop {
        let now = complete(&place);
        if shown != Some(now) {
            for number in 1..=TORRENTS {
                let mut torrent = torrent(number);
                if number <= now {
                    torrent.progress = 1.0;
                    torrent.state = TorrentState::Seeding;
                }
                if engine.torrent(&torrent.hash).as_ref() != Some(&torrent) {
                    engine.put(torrent);
                }
            }
            shown = Some(now);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Begins a server, played by the ignored test of this name, that holds at the deed of this number.
pub async fn begin(test: &str, place: &Path, db: &TestDb, holds_at: usize) -> (Binary, Api) {
    let _ = std::fs::remove_file(place.join("holds"));
    let mut command = played_by(test, place, db.url());
    command
        .env(PLACE, place)
        .env(HOLDS_AT, holds_at.to_string())
        .env("THROTTLE_LIMIT", "1000000");
    let server = Binary::active_of(place, &mut command).await;
    let admin = server.admin().await;
    (server, admin)
}

/// Waits until the server holds.
pub async fn caught(place: &Path) {
    until_true("the server to be caught at a deed", || async {
        place.join("holds").exists()
    })
    .await;
}
