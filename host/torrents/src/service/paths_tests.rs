//! Mappings of paths over clients in memory and both databases.

use std::sync::Arc;

use qm_db::{Db, db_test};
use qm_engines::TorrentsError;
use qm_engines::dto::engines::UpdateEngine;
use qm_engines::dto::paths::{CheckPaths, PathVerdict};
use qm_engines::model::mappings::PathMapping;
use qm_ports::engine::{AddOptions, Command, EngineError, Torrent};
use qm_test_base::blank::{hash, torrent};
use qm_test_base::{FakeEngine, FakeKinds};

use super::{AddInput, AddSource};
use crate::testing::{House, audited, eventually};

fn pairs(pairs: &[(&str, &str)]) -> Vec<PathMapping> {
    let pair = |(remote, local): &(&str, &str)| PathMapping {
        remote: (*remote).into(),
        local: (*local).into(),
    };
    pairs.iter().map(pair).collect()
}

fn placed(n: u8, save_path: &str) -> Torrent {
    Torrent {
        name: format!("t{n}"),
        save_path: save_path.into(),
        content_path: format!("{save_path}/t{n}"),
        downloaded: 1000,
        progress: 1.0,
        ..torrent(n)
    }
}

struct Site {
    house: House,
    client: Arc<FakeEngine>,
    id: String,
}

impl Site {
    async fn new(db: &Db) -> Self {
        let house = House::new(db, &["fake"]).await;
        let client = house.kinds.engine("a");
        let id = house.engine("box", "a").await;
        Self { house, client, id }
    }

    async fn change(&self, changes: UpdateEngine) -> Result<(), TorrentsError> {
        let caller = self.house.caller();
        let changed = self
            .house
            .torrents
            .engines
            .update_engine(caller, &self.id, changes)
            .await;
        changed.map(drop)
    }

    async fn map(&self, mappings: &[(&str, &str)]) -> Result<(), TorrentsError> {
        let judged = self.house.torrents.judge_mappings(Some(pairs(mappings))).await?;
        let changes = UpdateEngine {
            path_mappings: judged,
            ..UpdateEngine::default()
        };
        self.change(changes).await
    }

    async fn until_at(&self, n: u8, content_path: &str) {
        eventually("the torrent is listed there", || {
            let known = self.house.torrents.torrent(&self.id, &hash(n));
            known.is_some_and(|known| known.torrent.content_path == content_path)
        })
        .await;
    }

    /// The paths as they are stored.
    async fn stored(&self, db: &Db) -> Vec<(String, Option<String>)> {
        let mut tx = db.begin_read().await.unwrap();
        let places = qm_engines::repo::snapshots::places(&mut tx, &self.id)
            .await
            .unwrap();
        let mut places: Vec<_> = places
            .into_iter()
            .map(|place| (place.save_path, place.content_path))
            .collect();
        places.sort();
        places
    }
}

fn place_at(save_path: &str, n: u8) -> (String, Option<String>) {
    (save_path.to_owned(), Some(format!("{save_path}/t{n}")))
}

db_test! {
    async fn a_client_is_told_its_own_paths_and_tells_ours(db: Db) {
        let site = Site::new(&db).await;
        site.client.put(placed(1, "/data"));
        site.client.put(placed(2, "/downloads/box"));
        site.until_at(1, "/data/t1").await;
        site.map(&[("/data", "/downloads/box/")]).await.unwrap();
        // Its own directory of that name is another one.
        site.until_at(1, "/downloads/box/t1").await;
        site.until_at(2, "/.not-mapped/downloads/box/t2").await;

        let engine = site.house.torrents.resolve(Some(&site.id)).unwrap();
        let of_magnet = format!("magnet:?xt=urn:btih:{}", hash(7));
        let options = AddOptions { save_path: Some("/downloads/box/new".into()), ..AddOptions::default() };
        let input = AddInput { source: AddSource::Magnet(of_magnet), engine_id: None, options };
        site.house.torrents.add(site.house.caller(), input).await.unwrap();
        let added = site.client.added.lock().unwrap().pop().unwrap();
        assert_eq!(added.options.save_path.as_deref(), Some("/data/new"));

        let download_path = |path: &str| Command::DownloadPath(Some(path.into()));
        engine.order_one(&hash(1), download_path("/downloads/box/part"), None).await.unwrap();
        let (_, told) = site.client.commands().pop().unwrap();
        assert!(matches!(told, Command::DownloadPath(Some(path)) if path == "/data/part"));
        // As `/data/x` it would be another directory.
        let before = site.client.commands().len();
        let refused = engine.order_one(&hash(1), download_path("/data/x"), None).await.expect_err("refused");
        assert!(matches!(&refused, EngineError::InvalidConfig(why) if why.contains("`/downloads/box/x` here")), "{refused}");
        assert_eq!(site.client.commands().len(), before, "the client was told nothing");
        site.house.torrents.shutdown().await;
    }

    async fn stored_paths_follow_the_mappings_also_of_a_client_that_is_away(db: Db) {
        let site = Site::new(&db).await;
        site.client.put(placed(1, "/data"));
        site.client.put(placed(2, "/srv/other"));
        site.until_at(1, "/data/t1").await;
        site.map(&[("/data", "/downloads/box")]).await.unwrap();
        site.until_at(1, "/downloads/box/t1").await;
        site.change(UpdateEngine { is_enabled: Some(false), ..UpdateEngine::default() }).await.unwrap();
        assert_eq!(site.stored(&db).await, [place_at("/downloads/box", 1), place_at("/srv/other", 2)]);
        // Nobody reads it now.
        site.map(&[("/data", "/downloads/moved"), ("/srv", "/downloads/box")]).await.unwrap();
        assert_eq!(site.stored(&db).await, [place_at("/downloads/box/other", 2), place_at("/downloads/moved", 1)]);
        site.map(&[]).await.unwrap();
        assert_eq!(site.stored(&db).await, [place_at("/data", 1), place_at("/srv/other", 2)]);

        site.map(&[("/data", "/downloads/box")]).await.unwrap();
        site.client.fail(Some(EngineError::Unreachable("away".into())));
        site.change(UpdateEngine { is_enabled: Some(true), ..UpdateEngine::default() }).await.unwrap();
        assert_eq!(site.stored(&db).await, [place_at("/downloads/box", 1), place_at("/srv/other", 2)]);
        site.house.torrents.shutdown().await;

        // As the next start finds it after a change that nobody could follow any more.
        let mut tx = db.begin_write().await.unwrap();
        let mut row = qm_engines::repo::engines::find(&mut tx, &site.id).await.unwrap().unwrap();
        row.path_mappings = pairs(&[("/data", "/downloads/last")]);
        qm_engines::repo::engines::update(&mut tx, &row, qm_kernel::Timestamp::from_ms(9)).await.unwrap();
        tx.commit().await.unwrap();
        let house = House::over(&db, FakeKinds::new(&["fake"])).await;
        let stored = site.stored(&db).await;
        house.torrents.shutdown().await;
        assert_eq!(stored, [place_at("/downloads/last", 1), place_at("/srv/other", 2)]);
    }

    async fn mappings_are_judged_where_they_lead_and_audited(db: Db) {
        let site = Site::new(&db).await;
        for (mappings, words) in [
            (&[("/data", "/etc")][..], "pathMappings.0.local: Path is a protected system directory."),
            (&[("/data", "/srv/x")], "pathMappings.0.local: Path is outside the allowed storage roots"),
            (&[("/data", "/downloads/a"), ("/data", "/downloads/b")], "have one remote directory"),
        ] {
            let refused = site.map(mappings).await.expect_err(words);
            assert!(matches!(&refused, TorrentsError::Fields(_)) && refused.to_string().contains(words), "{refused}");
        }
        site.map(&[("/data", "/downloads/./a")]).await.expect_err("a dot");
        site.map(&[("/data", "/downloads/a/")]).await.unwrap();
        let shown = serde_json::to_value(site.house.torrents.engines.list_engines().await.unwrap()).unwrap();
        assert_eq!(shown[0]["pathMappings"], serde_json::json!([{ "remote": "/data", "local": "/downloads/a" }]));
        let rows = audited(&db).await;
        let noted = rows.iter().filter_map(|row| row.metadata.as_ref()?.0.get("pathMappings").cloned());
        assert_eq!(noted.count(), 1, "the change that was made");
        site.house.torrents.shutdown().await;
    }

    async fn a_check_says_what_both_sides_see(db: Db) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let house = House::within(&db, FakeKinds::new(&["fake"]), vec![root.display().to_string()]).await;
        let client = house.kinds.engine("a");
        let id = house.engine("box", "a").await;
        let site = Site { house, client, id };
        std::fs::create_dir(root.join("box")).unwrap();
        std::fs::write(root.join("box/t1"), b"data").unwrap();
        std::fs::write(root.join("file"), b"data").unwrap();
        for n in [1, 2] {
            site.client.put(placed(n, "/data"));
        }
        site.client.put(placed(3, "/elsewhere"));
        site.until_at(1, "/data/t1").await;
        let check = |tried: Option<Vec<PathMapping>>| {
            let check = CheckPaths { path_mappings: tried };
            site.house.torrents.check_paths(site.house.caller(), &site.id, check)
        };
        let local = |name: &str| root.join(name).display().to_string();
        let tried = check(Some(pairs(&[("/data", &local("box")), ("/x", &local("absent"))]))).await.unwrap();
        let [data, absent] = &tried.mappings[..] else { panic!("two mappings") };
        assert_eq!((data.sample.torrents, data.sample.looked_for, data.sample.found), (2, 2, 1));
        assert_eq!(data.sample.missing[0].local, local("box/t2"));
        assert!(data.server.readable && data.server.writable && data.server.free_bytes.is_some());
        assert_eq!(data.verdict, PathVerdict::Wrong, "{}", data.message);
        assert!(absent.message.contains("is not there as this server sees it"), "{}", absent.message);
        assert_eq!((tried.unmapped.sample.torrents, tried.unmapped.save_paths.clone()), (1, vec!["/elsewhere".to_owned()]));
        std::fs::write(root.join("box/t2"), b"data").unwrap();
        site.map(&[("/data", &local("box"))]).await.unwrap();
        site.until_at(2, &local("box/t2")).await;
        let stored = check(None).await.unwrap();
        assert_eq!(stored.mappings[0].verdict, PathVerdict::Good, "{}", stored.mappings[0].message);
        let file = check(Some(pairs(&[("/data", &local("file"))]))).await;
        let file = file.expect_err("a file is no directory");
        assert!(file.to_string().contains("pathMappings.0.local"), "{file}");
        // What is not loaded is checked by what is stored.
        site.change(UpdateEngine { is_enabled: Some(false), ..UpdateEngine::default() }).await.unwrap();
        let stored = check(None).await.unwrap();
        assert_eq!((stored.mappings[0].verdict, stored.error.is_some()), (PathVerdict::Good, true));
        let unknown = site.house.torrents.check_paths(site.house.caller(), "nobody", CheckPaths::default()).await;
        assert!(matches!(unknown, Err(TorrentsError::NoSuchEngine)));
        site.house.torrents.shutdown().await;
        assert_eq!(audited(&db).await.iter().filter(|row| row.action == "engines.check_paths").count(), 3);
    }
}
