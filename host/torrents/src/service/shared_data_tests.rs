//! Data of several torrents, over clients in memory and both databases.

use std::sync::Arc;

use qm_db::{Db, db_test};
use qm_engines::TorrentsError;
use qm_ports::action::{TorrentHands, TorrentRef};
use qm_ports::engine::{Attention, Command, EngineError, File, Torrent, capability};
use qm_ports::intake::{IntakeError, TorrentIntake};
use qm_ports::{Removal, TorrentPayload, TorrentPayloads as _};
use qm_test_base::blank::{hash, torrent};
use qm_test_base::{FakeEngine, FakeKinds};
use qm_torrent_data::How;
use qm_torrent_data::repo::removals;
use tokio_util::sync::CancellationToken;

use crate::testing::{House, audited, eventually};

/// Two clients and their engines.
struct Site {
    house: House,
    a: Arc<FakeEngine>,
    b: Arc<FakeEngine>,
    first: String,
    second: String,
}

fn placed(n: u8, content_path: &str) -> Torrent {
    let name = content_path.rsplit('/').next().unwrap();
    Torrent {
        name: name.to_owned(),
        save_path: content_path.strip_suffix(&format!("/{name}")).unwrap().to_owned(),
        content_path: content_path.to_owned(),
        downloaded: 1000,
        progress: 1.0,
        ..torrent(n)
    }
}

fn data(keep_shared: bool) -> Removal<'static> {
    Removal {
        with_data: true,
        keep_shared,
        along: &[],
    }
}

impl Site {
    async fn new(db: &Db) -> Self {
        let house = House::new(db, &["fake"]).await;
        let (a, b) = (house.kinds.engine("a"), house.kinds.engine("b"));
        let first = house.engine("first", "a").await;
        let second = house.engine("second", "b").await;
        Self {
            house,
            a,
            b,
            first,
            second,
        }
    }

    /// Lists a torrent and waits until that is known.
    async fn put(&self, client: &Arc<FakeEngine>, torrent: Torrent) {
        let hash = torrent.hash.clone();
        let path = torrent.content_path.clone();
        client.put(torrent);
        let engine = if Arc::ptr_eq(client, &self.a) {
            &self.first
        } else {
            &self.second
        };
        self.house.torrents.engines.get(engine).unwrap().poke();
        eventually("the torrent is listed", || {
            let known = self.house.torrents.torrent(engine, &hash);
            known.is_some_and(|known| known.torrent.content_path == path)
        })
        .await;
    }

    /// Removes torrents of the first engine with their data, as one order.
    async fn remove_together(&self, hashes: &[String]) -> Vec<Result<(), TorrentsError>> {
        let engine = self.house.torrents.resolve(Some(&self.first)).unwrap();
        let subjects: Vec<_> = hashes.iter().map(|hash| (engine.clone(), hash.clone())).collect();
        self.house
            .torrents
            .data
            .remove_with_data(&subjects, How::default())
            .await
    }

    async fn remove(&self, n: u8, removal: Removal<'_>) -> Result<(), TorrentsError> {
        let caller = Some(self.house.caller());
        self.house
            .torrents
            .remove_by(caller, Some(&self.first), &hash(n), removal)
            .await
    }

    async fn refused(&self, n: u8) -> String {
        let error = self.remove(n, data(false)).await.expect_err("it is refused");
        assert_eq!(error.code(), "conflict.shared_data", "{error}");
        error.to_string()
    }
}

/// Removals that a client was told of, each with whether it took the data.
fn removals(client: &FakeEngine) -> Vec<(String, bool)> {
    let removal = |(hash, command): (String, Command)| match command {
        Command::Remove { with_data } => Some((hash, with_data)),
        _ => None,
    };
    client.commands().into_iter().filter_map(removal).collect()
}

db_test! {
    async fn data_that_another_torrent_uses_is_not_removed(db: Db) {
        let site = Site::new(&db).await;
        site.put(&site.a, placed(1, "/downloads/Show")).await;
        for other in ["/downloads/Show", "/downloads/Show/S01", "/downloads"] {
            let other = Torrent { content_path: other.into(), name: "the other".into(), save_path: "/".into(), ..placed(2, other) };
            site.put(&site.b, other).await;
            let why = site.refused(1).await;
            assert!(why.starts_with("Other torrents use the data too: the other (second). "), "{why}");
            assert!(why.contains("keepShared: true"), "{why}");
        }
        assert!(site.a.commands().is_empty(), "no client was asked");
        site.b.put(placed(2, "/downloads/Show 2"));
        site.put(&site.b, placed(2, "/downloads/Show 2")).await;
        site.remove(1, data(false)).await.unwrap();
        assert_eq!(removals(&site.a), [(hash(1).to_string(), true)]);
        site.house.torrents.shutdown().await;
    }

    async fn keep_shared_removes_the_torrent_and_keeps_the_data(db: Db) {
        let site = Site::new(&db).await;
        site.house.mover.put("/downloads/x");
        site.put(&site.a, placed(1, "/downloads/x")).await;
        site.put(&site.b, placed(2, "/downloads/x")).await;
        site.remove(1, data(true)).await.unwrap();
        assert_eq!(removals(&site.a), [(hash(1).to_string(), false)]);
        assert_eq!(site.house.mover.paths(), ["/downloads/x"]);
        let caller = Some(site.house.caller());
        site.house.torrents.remove_by(caller, Some(&site.second), &hash(2), data(true)).await.unwrap();
        assert_eq!(removals(&site.b), [(hash(2).to_string(), true)], "nobody else uses it any more");
        assert!(site.house.mover.paths().is_empty());
        site.house.torrents.shutdown().await;
    }

    async fn who_asks_does_not_matter(db: Db) {
        let site = Site::new(&db).await;
        site.put(&site.a, placed(1, "/downloads/x")).await;
        site.put(&site.b, placed(2, "/downloads/x")).await;
        let torrents = &site.house.torrents;
        let of = |engine: &str, n| TorrentRef { engine_id: engine.to_owned(), hash: hash(n).to_string() };
        let rule = torrents.as_ref() as &dyn TorrentHands;
        let refused = rule.remove(&of(&site.first, 1), data(false)).await.unwrap_err();
        assert!(refused.to_string().contains("x (second)"), "{refused}");
        let replaced = TorrentIntake::remove(&**torrents, &site.first, &hash(1)).await.unwrap_err();
        assert!(matches!(&replaced, IntakeError::Refused(why) if why.contains("x (second)")), "{replaced}");
        let payload = |n: u8, engine: &str| TorrentPayload {
            engine_id: engine.to_owned(),
            hash: hash(n).to_string(),
            name: "x".into(),
            path: "/downloads/x".into(),
            state: "seeding",
            live: true,
        };
        let (one, other) = (payload(1, &site.first), payload(2, &site.second));
        let why = torrents.check_removal(std::slice::from_ref(&one)).await.unwrap_err();
        assert!(why.contains("x (second)"), "{why}");
        assert_eq!(torrents.check_removal(&[one.clone(), other.clone()]).await, Ok(()), "they go together");
        site.a.offer(capability::MOVES_DATA);
        let moved = torrents.data.relocate(site.house.caller(), Some(&site.first), &hash(1), "/downloads/new").await.unwrap_err();
        assert_eq!((moved.code(), moved.to_string().contains("It is not moved")), ("conflict.shared_data", true));
        assert!(site.a.commands().is_empty() && site.b.commands().is_empty(), "no client was asked");
        let along = [of(&site.first, 1), of(&site.second, 2)];
        let removal = Removal { along: &along, ..data(false) };
        for torrent in &along {
            rule.remove(torrent, removal).await.unwrap();
        }
        assert_eq!((removals(&site.a).len(), removals(&site.b).len()), (1, 1));
        site.house.torrents.shutdown().await;
    }

    async fn of_those_that_go_together_the_last_takes_the_data(db: Db) {
        let site = Site::new(&db).await;
        for path in ["/downloads/Show/S01", "/downloads/Show", "/downloads/y"].iter().enumerate() {
            site.put(&site.a, placed(u8::try_from(path.0 + 1).unwrap(), path.1)).await;
        }
        let hashes: Vec<String> = (1..=3).map(|n| hash(n).to_string()).collect();
        let done = site.remove_together(&hashes).await;
        assert!(done.iter().all(Result::is_ok), "{done:?}");
        let told = removals(&site.a);
        assert_eq!(told[0], (hashes[0].clone(), false), "what lies in the other's goes first, and leaves the data");
        assert!(told.contains(&(hashes[1].clone(), true)) && told.contains(&(hashes[2].clone(), true)));
        site.house.torrents.shutdown().await;
    }

    async fn data_of_a_client_that_is_away_is_checked_by_what_it_told_last(db: Db) {
        let site = Site::new(&db).await;
        site.put(&site.a, placed(1, "/downloads/x")).await;
        site.put(&site.b, placed(2, "/downloads/x")).await;
        site.a.fail(Some(EngineError::Unreachable("no route".into())));
        let payload = TorrentPayload {
            engine_id: site.first.clone(),
            hash: hash(1).to_string(),
            name: "x".into(),
            path: "/downloads/x".into(),
            state: "seeding",
            live: false,
        };
        let why = site.house.torrents.check_removal(&[payload]).await.unwrap_err();
        assert!(why.contains("(second)"), "{why}");
        site.house.torrents.shutdown().await;
    }

    async fn many_go_by_a_list_that_is_exact(db: Db) {
        let site = Site::new(&db).await;
        let numbers = 1..=21_u8;
        for n in numbers.clone() {
            site.put(&site.a, placed(n, &format!("/downloads/{n}"))).await;
        }
        let hashes: Vec<String> = numbers.map(|n| hash(n).to_string()).collect();
        let done = site.remove_together(&hashes).await;
        assert!(done.len() == 21 && done.iter().all(Result::is_ok), "{done:?}");
        let asked = site.a.attention.lock().unwrap().clone();
        assert!(asked.contains(&Attention::Exact), "{asked:?}");
        site.house.torrents.shutdown().await;
    }

    async fn who_shares_with_one_that_stays_stays_too(db: Db) {
        let site = Site::new(&db).await;
        site.put(&site.a, placed(1, "/downloads/Show")).await;
        site.put(&site.a, placed(2, "/downloads/Show/S01")).await;
        site.put(&site.a, placed(3, "/downloads/y")).await;
        site.put(&site.b, placed(4, "/downloads/Show/S01")).await;
        let hashes: Vec<String> = (1..=3).map(|n| hash(n).to_string()).collect();
        let done = site.remove_together(&hashes).await;
        assert_eq!(done.iter().map(Result::is_ok).collect::<Vec<_>>(), [false, false, true], "{done:?}");
        assert_eq!(removals(&site.a), [(hashes[2].clone(), true)]);
        site.house.torrents.shutdown().await;
    }

    async fn an_engine_that_is_away_counts_and_a_torrent_that_is_gone_does_not(db: Db) {
        let site = Site::new(&db).await;
        site.put(&site.a, placed(1, "/downloads/x")).await;
        site.put(&site.b, placed(2, "/downloads/x")).await;
        site.b.fail(Some(EngineError::Unreachable("refused".into())));
        eventually("it is away", || site.house.torrents.status(&site.second).is_some_and(|status| !status.online)).await;
        assert!(site.refused(1).await.contains("x (second)"));
        site.b.fail(None);
        eventually("it is back", || site.house.torrents.status(&site.second).is_some_and(|status| status.online)).await;
        // Its list may not be read yet.
        site.b.forget(&hash(2));
        site.remove(1, data(false)).await.unwrap();
        site.house.torrents.shutdown().await;
    }

    async fn files_that_lie_between_others_are_removed_one_by_one(db: Db) {
        let site = Site::new(&db).await;
        let file = |index, path: &str| File { index, path: path.into(), size: 5, downloaded: 5, progress: 1.0, priority: 1, availability: None };
        *site.a.files.lock().unwrap() = vec![file(0, "Season/e1"), file(1, "Season/e2")];
        *site.b.files.lock().unwrap() = vec![file(0, "e3"), file(1, "e4")];
        site.put(&site.a, placed(1, "/downloads/Season")).await;
        site.put(&site.b, placed(2, "/downloads/Season")).await;
        assert!(site.refused(1).await.contains("Season (second)"), "nothing is seen there");
        site.house.mover.put("/downloads/Season");
        site.remove(1, data(false)).await.unwrap();
        assert_eq!(removals(&site.a), [(hash(1).to_string(), false)], "its client would take the folder");
        *site.a.files.lock().unwrap() = vec![file(0, "Season/e2"), file(1, "Season/e3")];
        site.put(&site.a, placed(3, "/downloads/Season")).await;
        assert!(site.refused(3).await.contains("Season (second)"), "one is in both");
        site.house.torrents.shutdown().await;
    }

    async fn data_that_the_client_left_is_removed_and_what_stays_is_said(db: Db) {
        let site = Site::new(&db).await;
        site.house.mover.put("/downloads/x");
        site.house.mover.put("/downloads/y");
        site.put(&site.a, placed(1, "/downloads/x")).await;
        site.put(&site.a, placed(2, "/downloads/y")).await;
        site.remove(1, data(false)).await.unwrap();
        assert_eq!(site.house.mover.paths(), ["/downloads/y"]);
        *site.house.mover.stuck.lock().unwrap() = Some("permission denied".into());
        let stayed = site.remove(2, data(false)).await.unwrap_err();
        assert_eq!(stayed.code(), "conflict.data_stayed");
        assert_eq!(stayed.to_string(), "The torrent is removed, but 1 of its files stayed, e.g. /downloads/y: permission denied");
        assert!(site.a.torrent(&hash(2)).is_none());
        site.house.torrents.shutdown().await;
        let rows = audited(&db).await;
        let results: Vec<&str> =
            rows.iter().filter(|row| row.action == "torrents.delete_data").map(|row| row.result.as_str()).collect();
        assert_eq!(results, ["failure", "success"]);
        let mut tx = db.begin_read().await.unwrap();
        assert_eq!(removals::left_behind(&mut tx, "nobody").await.unwrap(), [], "nothing is noted any more");
    }

    async fn a_removal_that_was_cut_short_is_finished_by_the_next_start(db: Db) {
        let site = Site::new(&db).await;
        for path in ["/downloads/gone", "/downloads/kept", "/downloads/used"] {
            site.house.mover.put(path);
        }
        site.put(&site.a, placed(2, "/downloads/kept")).await;
        site.put(&site.b, placed(4, "/downloads/used")).await;
        let row = |n: u8, path: &str| {
            let seen = qm_ports::carry::DataSeen {
                top: path.as_bytes().to_vec(),
                files: vec![qm_ports::carry::SeenFile { path: vec![], inode: 1 }],
                missing: 0,
            };
            removals::RemovalRow {
                id: n.to_string(),
                engine_id: site.first.clone(),
                hash: hash(n).to_string(),
                name: path.to_owned(),
                seen: serde_json::to_string(&[seen]).unwrap(),
                user_id: String::new(),
                owner: "a server that was killed".into(),
            }
        };
        let mut tx = db.begin_write().await.unwrap();
        for row in [row(1, "/downloads/gone"), row(2, "/downloads/kept"), row(3, "/downloads/used")] {
            removals::insert(&mut tx, &row, qm_kernel::Timestamp::from_ms(1)).await.unwrap();
        }
        tx.commit().await.unwrap();
        let stop = CancellationToken::new();
        site.a.fail(Some(EngineError::Unreachable("refused".into())));
        assert!(site.house.torrents.data.settle_removals(&stop).await.unwrap(), "its client does not say");
        assert_eq!(site.house.mover.paths().len(), 3);
        site.a.fail(None);
        assert!(!site.house.torrents.data.settle_removals(&stop).await.unwrap());
        assert_eq!(site.house.mover.paths(), ["/downloads/kept", "/downloads/used"], "not of one that is listed, nor of another");
        assert!(!site.house.torrents.data.settle_removals(&stop).await.unwrap());
        site.house.torrents.shutdown().await;
        let rows = audited(&db).await;
        let results: Vec<&str> =
            rows.iter().filter(|row| row.action == "torrents.delete_data").map(|row| row.result.as_str()).collect();
        assert_eq!(results, ["failure", "success"], "once each");
    }

    async fn two_that_keep_what_they_share_never_both_keep_it_for_the_other(db: Db) {
        let site = Site::new(&db).await;
        site.house.mover.put("/downloads/x");
        site.put(&site.a, placed(1, "/downloads/x")).await;
        site.put(&site.b, placed(2, "/downloads/x")).await;
        let torrents = &site.house.torrents;
        let remove = |engine: &str, n| {
            let (caller, engine) = (site.house.caller(), engine.to_owned());
            async move { torrents.remove_by(Some(caller), Some(&engine), &hash(n), data(true)).await }
        };
        let (one, other) = tokio::join!(remove(&site.first, 1), remove(&site.second, 2));
        assert!(one.is_ok() && other.is_ok(), "{one:?} {other:?}");
        assert!(site.house.mover.paths().is_empty(), "the last one takes it");
        site.house.torrents.shutdown().await;
    }

    async fn a_snapshot_of_before_a_restart_counts(db: Db) {
        let site = Site::new(&db).await;
        site.put(&site.a, placed(1, "/downloads/x")).await;
        site.put(&site.b, placed(2, "/downloads/x")).await;
        site.house.torrents.shutdown().await;
        let kinds = FakeKinds::new(&["fake"]);
        kinds.engine("a").put(placed(1, "/downloads/x"));
        kinds.engine("b").fail(Some(EngineError::Unreachable("refused".into())));
        let house = House::over(&db, kinds).await;
        eventually("the first is read", || house.torrents.torrent(&site.first, &hash(1)).is_some()).await;
        let removed = house.torrents.remove_by(Some(house.caller()), Some(&site.first), &hash(1), data(false)).await;
        assert_eq!(removed.expect_err("it is refused").code(), "conflict.shared_data");
        house.torrents.shutdown().await;
    }
}
