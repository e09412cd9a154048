//! Renames beside a real client that seeds the files: what is copied or linked, it goes on seeding; what moves is treated as
//! the policy says, and is told.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use qm_testkit::generations::{Generation, Product, Program, Suite};
use qm_testkit::rtorrent::Mode;
use qm_testkit::sample::Sample;
use qm_testkit::tracker::Tracker;
use qm_testkit::wait::{PATIENCE, until_true};
use qm_testkit::{Api, TestDb, TestServer, every_generation};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::shelf::undo_all;
use crate::client::{Client, Doing};

const PLUGINS: &[&str] = &["scgi_client.wasm", "webapi_client.wasm"];
/// Address at which nobody listens.
const NOWHERE: &str = "http://127.0.0.1:9/announce";
const EPISODES: usize = 3;
/// Bytes of an episode.
const SIZE: usize = 400_000;
/// Interval between looks at a check.
const LOOK_EVERY: Duration = Duration::from_millis(200);

every_generation! { rtorrent: data_that_an_rtorrent_seeds_is_renamed }

every_generation! { qbittorrent: data_that_a_qbittorrent_seeds_is_renamed }

async fn data_that_an_rtorrent_seeds_is_renamed(db: &TestDb, program: &Program) {
    let newest = Generation::new(Product::Qbittorrent, Suite::Sid).find();
    let peer = Client::qbittorrent_of(&newest.expect("it is unpacked")).await;
    rows(db, Client::rtorrent_of(program, Mode::Tcp).await, peer).await;
}

async fn data_that_a_qbittorrent_seeds_is_renamed(db: &TestDb, program: &Program) {
    let newest = Generation::new(Product::Rtorrent, Suite::Sid).find();
    let peer = Client::rtorrent_of(&newest.expect("it is unpacked"), Mode::Tcp).await;
    rows(db, Client::qbittorrent_of(program).await, peer).await;
}

/// A season, each of whose episodes is a file.
fn season(number: u64, announce: &str) -> Sample {
    let name = |rest: &str| format!("Harbor.Nine.S{number:02}{rest}.1080p.WEB.x264-TIDE");
    let files = (1..=EPISODES).map(|episode| format!("{}.mkv", name(&format!("E{episode:02}"))));
    Sample::folder(&name(""), files.collect(), SIZE, 3000 + number, announce)
}

struct Scene {
    api: Api,
    client: Client,
    /// Engines of the client, and of the one that downloads from it.
    engines: [String; 2],
    library: PathBuf,
}

async fn rows(db: &TestDb, client: Client, peer: Client) {
    let library = client.other_directory().join("tv");
    std::fs::create_dir(&library).expect("our own directory");
    let roots = [client.downloads(), client.other_directory()].map(|root| root.display().to_string());
    let server = TestServer::builder(db)
        .plugins(PLUGINS)
        .env("FILE_MANAGER_ROOTS", roots.join(","))
        .start()
        .await;
    let api = server.admin();
    let seeding = api.add_engine("seeding", client.kind(), client.config()).await;
    let leeching = api.add_engine("leeching", peer.kind(), peer.config()).await;
    let new = json!({
        "name": "Shows", "path": library, "kind": "tv", "mode": "rename_move", "artworkEnabled": false, "nfoEnabled": false,
        "watchEnabled": false,
    });
    let shelf = api.post("/api/media/libraries", new).await["id"].clone();
    let scene = Scene {
        api,
        client,
        engines: [seeding, leeching],
        library,
    };
    for (mode, number) in ["copy", "hardlink", "symlink"].into_iter().zip(1..) {
        scene.goes_on(mode, number).await;
    }
    scene.is_downloaded_from_meanwhile(&peer).await;
    scene.shared_data_stays(5).await;
    for (policy, orphans, number) in [("ignore", 0, 6), ("report", 1, 7), ("remove", 1, 8)] {
        scene.moves(policy, orphans, "rename_move", number).await;
        scene.moves(policy, orphans, "rename_in_place", number + 10).await;
    }
    let shelf = shelf.as_str().expect("an id");
    let change = json!({ "autoOrganize": true });
    scene
        .api
        .patch(&format!("/api/media/libraries/{shelf}"), change)
        .await;
    scene.is_removed(9).await;
    server.end().await;
}

impl Scene {
    /// Has the client seed a sample, and waits until the server knows.
    async fn seed(&self, sample: &Sample) {
        self.client.seed(sample).await;
        self.until_seeding(sample).await;
    }

    async fn until_seeding(&self, sample: &Sample) {
        self.api
            .until_torrent(&self.engines[0], &sample.hash, "it to seed", |torrent| {
                torrent["state"] == "seeding" && torrent["progress"] == 1.0
            })
            .await;
    }

    async fn policy(&self, action: &str) {
        let body = json!({ "action": action });
        self.api.patch("/api/media/settings/seeding-torrent", body).await;
    }

    fn body(&self, sample: &Sample, library: &Path, mode: &str) -> Value {
        json!({ "hash": sample.hash, "engineId": self.engines[0], "libraryPath": library, "mode": mode, "kind": "tv" })
    }

    /// Renames the data of a torrent; the answer, and the new paths in the order of its files.
    async fn rename(&self, sample: &Sample, library: &Path, mode: &str) -> (Value, Vec<PathBuf>) {
        let body = self.body(sample, library, mode);
        let told = self.api.post("/api/media/apply", body).await;
        let numbers = [&told["applied"], &told["failed"], &told["duplicates"]];
        assert_eq!(
            numbers,
            [&json!(EPISODES), &json!(0), &json!(0)],
            "{mode}: {told}"
        );
        let mut items = told["plan"]["items"].as_array().expect("items").clone();
        items.sort_by_key(|item| item["source"].as_str().map(str::to_owned));
        let new = items
            .iter()
            .filter_map(|item| item["destination"].as_str().map(PathBuf::from));
        let new: Vec<PathBuf> = new.collect();
        assert_eq!(new.len(), EPISODES, "{told}");
        for (at, path) in new.iter().enumerate() {
            let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert!(
                bytes == sample.bytes[at * SIZE..(at + 1) * SIZE],
                "{mode}: {}",
                path.display()
            );
        }
        (told, new)
    }

    fn old(&self, sample: &Sample) -> Vec<PathBuf> {
        let folder = self.client.downloads().join(&sample.name);
        sample.files.iter().map(|name| folder.join(name)).collect()
    }

    /// Checks that the client has all of a torrent, as it finds when it looks. Once for each torrent: qBittorrent 4.5 never ends a
    /// check that is asked for while another one is under way.
    async fn assert_whole(&self, sample: &Sample, when: &str) {
        assert!(
            sample.is_in(&self.client.downloads()),
            "{when}: its bytes are there"
        );
        let hash = &sample.hash;
        let path = format!("/api/torrents/{hash}/recheck?engineId={}", self.engines[0]);
        self.api.act(&path).await;
        let begun = Instant::now();
        loop {
            let bytes = self.client.completed_bytes(hash).await;
            let doing = self.client.doing(hash).await;
            if bytes == sample.bytes.len() as u64 && doing == Doing::Running {
                break;
            }
            let is_late = begun.elapsed() > PATIENCE;
            assert!(!is_late, "{when}: the client has {bytes} bytes and is {doing:?}");
            tokio::time::sleep(LOOK_EVERY).await;
        }
        self.until_seeding(sample).await;
    }

    /// Checks that a torrent whose data nobody touched seeds it.
    async fn assert_seeding(&self, sample: &Sample, when: &str) {
        assert!(
            sample.is_in(&self.client.downloads()),
            "{when}: its bytes are there"
        );
        self.until_seeding(sample).await;
    }

    /// Checks that data which is copied or linked is seeded as before, and after the undo too.
    async fn goes_on(&self, mode: &str, number: u64) {
        let sample = season(number, NOWHERE);
        self.seed(&sample).await;
        let (told, new) = self.rename(&sample, &self.library, mode).await;
        let torrents = [&told["torrentsRemoved"], &told["torrentsOrphaned"]];
        assert_eq!(torrents, [&json!(0), &json!(0)], "{mode}: {told}");
        let old = self.old(&sample);
        for (old, new) in old.iter().zip(&new) {
            let inode = |path: &Path| std::fs::metadata(path).expect("it is there").ino();
            assert_eq!(inode(old) == inode(new), mode != "copy", "{mode}");
            let target = std::fs::read_link(new).ok();
            assert_eq!(target.is_some(), mode == "symlink", "{mode}: {target:?}");
        }
        self.assert_whole(&sample, mode).await;
        assert_eq!(undo_all(&self.api).await, EPISODES as u64, "{mode}");
        assert!(new.iter().all(|path| !path.exists()), "{mode}");
        self.assert_seeding(&sample, &format!("{mode}, undone")).await;
    }

    /// A torrent whose data was copied and linked in every way is downloaded from by another client.
    async fn is_downloaded_from_meanwhile(&self, peer: &Client) {
        let tracker = Tracker::start().await;
        let sample = season(4, &tracker.announce());
        tracker.allow(&sample.hash).await;
        self.seed(&sample).await;
        tracker.until_seeded(&sample.hash).await;
        for mode in ["copy", "hardlink", "symlink"] {
            let library = self.library.join(mode);
            std::fs::create_dir(&library).expect("our own directory");
            self.rename(&sample, &library, mode).await;
        }
        let fields = [("engineId", self.engines[1].as_str())];
        self.api.upload_torrent(&fields, &sample.metainfo).await;
        self.api
            .until_torrent(
                &self.engines[1],
                &sample.hash,
                "the other client to have it",
                |torrent| torrent["progress"] == 1.0,
            )
            .await;
        until_true("the other client to have written it", || async {
            sample.is_in(&peer.downloads())
        })
        .await;
        self.assert_whole(&sample, "downloaded from").await;
        assert_eq!(undo_all(&self.api).await, 3 * EPISODES as u64);
        self.assert_seeding(&sample, "downloaded from, undone").await;
    }

    /// Data that another torrent uses does not move with one of them.
    async fn shared_data_stays(&self, number: u64) {
        let sample = season(number, NOWHERE);
        let twin = sample.with_source("other", NOWHERE);
        self.seed(&sample).await;
        self.seed(&twin).await;
        for mode in ["rename_move", "rename_in_place"] {
            let body = self.body(&sample, &self.library, mode);
            let refused = self.api.send("POST", "/api/media/apply", Some(&body)).await;
            let told = refused.json();
            assert_eq!(
                (refused.status, &told["code"]),
                (409, &json!("conflict.shared_data")),
                "{told}"
            );
            let message = told["message"].as_str().expect("a message");
            assert!(message.contains(&twin.name), "{message}");
        }
        let (_, new) = self.rename(&sample, &self.library, "hardlink").await;
        for one in [&sample, &twin] {
            self.assert_whole(one, "shared").await;
        }
        undo_all(&self.api).await;
        assert!(new.iter().all(|path| !path.exists()));
    }

    /// Data that moves away from its torrent, which stays: that is counted, unless nobody wants to know. The undo brings it
    /// back, and the client has all of it again.
    async fn moves(&self, policy: &str, orphans: u64, mode: &str, number: u64) {
        self.policy(policy).await;
        let sample = season(number, NOWHERE);
        self.seed(&sample).await;
        let downloads = self.client.downloads();
        let library = if mode == "rename_move" {
            &self.library
        } else {
            &downloads
        };
        let (told, new) = self.rename(&sample, library, mode).await;
        let when = format!("{policy}, {mode}");
        let torrents = [&told["torrentsRemoved"], &told["torrentsOrphaned"]];
        assert_eq!(torrents, [&json!(0), &json!(orphans)], "{when}: {told}");
        assert!(self.client.lists(&sample.hash).await, "{when}: it stays");
        assert!(self.old(&sample).iter().all(|path| !path.exists()), "{when}");
        assert_eq!(undo_all(&self.api).await, EPISODES as u64, "{when}");
        assert!(new.iter().all(|path| !path.exists()), "{when}");
        self.assert_whole(&sample, &when).await;
    }

    /// A library that names its files by itself takes the torrent away, and keeps the data.
    async fn is_removed(&self, number: u64) {
        self.policy("remove").await;
        let sample = season(number, NOWHERE);
        self.seed(&sample).await;
        let (told, new) = self.rename(&sample, &self.library, "rename_move").await;
        let torrents = [&told["torrentsRemoved"], &told["torrentsOrphaned"]];
        assert_eq!(torrents, [&json!(1), &json!(0)], "{told}");
        until_true("the client to have let it go", || async {
            !self.client.lists(&sample.hash).await
        })
        .await;
        assert!(new.iter().all(|path| path.exists()), "its data stays");
        assert_eq!(undo_all(&self.api).await, EPISODES as u64);
        assert!(sample.is_in(&self.client.downloads()), "its data is back");
    }
}
