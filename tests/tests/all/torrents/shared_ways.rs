//! Ways to remove a torrent's data that begin in another area: a better release of a feed, and items of a library.

use std::collections::HashMap;

use qm_testkit::files::{self, FileServer};
use qm_testkit::sample::{Format, Sample};
use qm_testkit::wait::{until, until_true};
use serde_json::{Value, json};

use super::shared_data::{ANNOUNCE, Laid, SIZE, Table, refused};

fn id(made: &Value) -> String {
    made["id"].as_str().expect("an id").to_owned()
}

/// A feed that shows these torrents by links to `at`.
fn feed_of(at: &FileServer, samples: &[&Sample]) -> Vec<u8> {
    let item = |sample: &&Sample| {
        let link = at.url(&format!("/{}.torrent", sample.hash));
        format!(
            "<item><guid>{0}</guid><title>{0}</title><link>{link}</link></item>",
            sample.name
        )
    };
    let items: String = samples.iter().map(item).collect();
    let text = format!("<rss version=\"2.0\"><channel><title>t</title>{items}</channel></rss>");
    files::ok(text.as_bytes())
}

impl Table {
    /// A better release takes the place of one whose data another torrent uses, and of one whose data nobody else uses.
    pub(super) async fn by_upgrade(&self) {
        let at = self.root.path().join("upgraded");
        let release = |episode: u8, quality: &str, seed| {
            let name = format!("Harbor.Nine.S01E{episode:02}.{quality}.WEB.x264-TIDE.mkv");
            Sample::new(&name, SIZE, seed, Format::V1, ANNOUNCE)
        };
        let (shared, alone) = (release(1, "720p", 960), release(2, "720p", 961));
        let better = [release(1, "1080p", 962), release(2, "1080p", 963)];
        for sample in [&shared, &alone] {
            sample.write_to(&at);
        }
        let laid = |sample: Sample| Laid {
            sample,
            at: at.clone(),
        };
        let other = laid(shared.with_source("other", ANNOUNCE));
        let (mine, theirs) = (&self.engines[0], &self.engines[1]);
        self.add(theirs, &other).await;
        let torrents = [&shared, &alone, &better[0], &better[1]].map(|sample| {
            let path = format!("/{}.torrent", sample.hash);
            (path, files::ok(&sample.metainfo))
        });
        let tracker = FileServer::start(HashMap::from(torrents)).await;
        let sites = FileServer::start(HashMap::from([
            ("/first".to_owned(), feed_of(&tracker, &[&shared, &alone])),
            ("/then".to_owned(), feed_of(&tracker, &[&better[0], &better[1]])),
        ]))
        .await;
        let new = json!({ "name": "first", "url": sites.url("/first") });
        let feed = id(&self.api.post("/api/rss/feeds", new).await);
        let new = json!({ "feedId": feed, "name": "the best", "savePath": at });
        let rule = id(&self.api.post("/api/rss/rules", new).await);
        for resolution in ["1080p", "720p"] {
            let candidate = json!({
                "name": resolution, "matchType": "smart_episode_match", "pattern": "Harbor Nine",
                "qualityRules": { "resolution": resolution },
            });
            let path = format!("/api/rss/rules/{rule}/match-candidates");
            self.api.post(&path, candidate).await;
        }
        let refresh = format!("/api/rss/feeds/{feed}/refresh");
        self.api.post(&refresh, json!({})).await;
        let (shared, alone) = (laid(shared), laid(alone));
        self.until_seeding(mine, &shared).await;
        self.until_seeding(mine, &alone).await;
        let moved = json!({ "url": sites.url("/then") });
        self.api.patch(&format!("/api/rss/feeds/{feed}"), moved).await;
        self.api.post(&refresh, json!({})).await;
        for sample in &better {
            self.api
                .until_torrent(mine, &sample.hash, "the better one to be listed", |_| true)
                .await;
        }
        // The one that nobody shares goes; with it the other one has had its turn.
        until_true("the worse release to be removed", || async {
            self.api.torrent(mine, &alone.sample.hash).await.is_none()
        })
        .await;
        assert!(
            !at.join(&alone.sample.name).exists(),
            "an upgrade takes data along"
        );
        self.assert_kept(theirs, &other, "an upgrade").await;
        self.assert_kept(mine, &shared, "an upgrade").await;
        self.api.delete(&format!("/api/rss/rules/{rule}")).await;
    }

    /// Files of a library's item are deleted with their torrent, while another torrent uses another file of it.
    pub(super) async fn by_library(&self) {
        let at = self.root.path().join("shelf");
        let names = ["Quiet.Harbor.S01E01.mkv", "Quiet.Harbor.S01E02.mkv"];
        let files = names.iter().map(|name| (*name).to_owned()).collect();
        let pack = Sample::folder("Quiet.Harbor.S01", files, SIZE, 970, ANNOUNCE);
        pack.write_to(&at);
        let mut alone = Sample::new(names[1], SIZE, 971, Format::V1, ANNOUNCE);
        alone.bytes = pack.bytes.slice(pack.bytes.len() / 2..);
        let (pack, alone) = (
            Laid {
                sample: pack,
                at: at.clone(),
            },
            Laid {
                sample: alone.with_source("alone", ANNOUNCE),
                at: at.join("Quiet.Harbor.S01"),
            },
        );
        let (mine, theirs) = (&self.engines[0], &self.engines[1]);
        self.add(mine, &pack).await;
        self.add(theirs, &alone).await;
        let new = json!({ "name": "Shows", "path": at, "kind": "tv" });
        let library = id(&self.api.post("/api/media/libraries", new).await);
        let list = format!("/api/media/items?libraryId={library}");
        let item = until("the episode to be on the shelf", || async {
            let listed = self.api.get(&list).await;
            let items = listed["items"].as_array()?;
            let is_first = |item: &&Value| item["path"].as_str().is_some_and(|path| path.ends_with(names[0]));
            items.iter().find(is_first).map(id)
        })
        .await;
        let path = "/api/media/items/bulk/delete-files";
        let mut body = json!({ "itemIds": [item], "torrentAction": "stop_and_delete" });
        let answer = self.send("POST", path, Some(body.clone())).await;
        refused("a library", answer, &format!("{} (second)", names[1]));
        self.assert_kept(mine, &pack, "a library").await;
        self.assert_kept(theirs, &alone, "a library").await;
        body["keepShared"] = true.into();
        let (status, told) = self.send("POST", path, Some(body)).await;
        assert_eq!(status, 201, "{told}");
        until_true("the file to be gone", || async {
            !at.join("Quiet.Harbor.S01").join(names[0]).exists()
        })
        .await;
        self.assert_kept(theirs, &alone, "a library").await;
        self.api.delete(&format!("/api/media/libraries/{library}")).await;
    }
}
