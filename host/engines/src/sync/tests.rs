//! The loop tick by tick, over a client in memory and both databases.

use std::sync::Arc;
use std::time::Duration;

use qm_db::{Db, db_test};
use qm_kernel::Timestamp;
use qm_ports::engine::{
    Attention, Command, Delta, EngineError, ShareAction, ShareLimits, Torrent, TorrentState, Transfer,
};
use qm_ports::list::TorrentRecord;
use qm_ports::rules::{Edge, NoRules, RuleWatch};
use qm_test_base::blank::torrent;
use qm_test_base::{FakeEngine, Heard};
use qm_torrent_lists::{Admission, Limits, Snapshot};
use serde_json::Map;
use tokio_util::sync::CancellationToken;

use super::engine::{Engine, Loading};
use super::publish::RulesDue;
use super::{SyncDeps, SyncLoop};
use crate::model::intake::Intakes;
use crate::model::ledger::Counters;
use crate::model::stored::EngineRow;
use crate::model::unshared::Unshared;
use crate::repo;
use crate::testing::sync_deps;

mod limits;
mod news;

fn loading() -> Loading {
    Loading {
        at: Timestamp::from_ms(0),
        first_seq: 0,
        config: Map::new(),
        path_mappings: vec![],
    }
}

/// One rule for completions, one for a ratio of two.
struct TwoRules;

impl RuleWatch for TwoRules {
    fn watches_ratios(&self) -> bool {
        true
    }

    fn watches_stalls(&self) -> bool {
        true
    }

    fn remembers(&self) -> bool {
        true
    }

    fn due(&self, edge: Edge, record: &TorrentRecord<'_>) -> Vec<String> {
        match edge {
            Edge::Completed => vec!["done".to_owned()],
            Edge::RatioMoved { from } if from < 2.0 && record.torrent.ratio >= 2.0 => vec!["two".to_owned()],
            Edge::RatioMoved { .. } => vec![],
            Edge::Failed => vec!["broken".to_owned()],
            Edge::Added | Edge::Removed | Edge::Stalled { .. } => vec![],
        }
    }
}

struct Bench {
    watch: Arc<dyn RuleWatch>,
    db: Db,
    client: Arc<FakeEngine>,
    heard: Arc<Heard>,
    engine: Arc<Engine>,
    work: SyncLoop,
}

impl Bench {
    async fn new(db: &Db) -> Self {
        let row = EngineRow {
            id: "e".into(),
            name: "seedbox".into(),
            kind: "fake".into(),
            config: Map::new(),
            secret_fields: vec![],
            path_mappings: vec![],
            is_default: true,
            is_enabled: true,
        };
        let mut tx = db.begin_write().await.unwrap();
        repo::engines::insert(&mut tx, &row, Timestamp::from_ms(1))
            .await
            .unwrap();
        tx.commit().await.unwrap();
        Self::over(
            db,
            Arc::new(FakeEngine::default()),
            Arc::new(Heard::default()),
            Arc::new(NoRules),
        )
    }

    /// With rules that wait.
    async fn watched(db: &Db) -> Self {
        let bench = Self::new(db).await;
        Self::over(db, bench.client, bench.heard, Arc::new(TwoRules))
    }

    /// The rules that are to run for a torrent, with what of it they are told.
    fn due(&self) -> Vec<(String, Vec<String>, f64)> {
        let events = self
            .heard
            .take()
            .into_iter()
            .filter(|event| event.event_key == "torrent.rules_due");
        let due = events.map(|event| serde_json::from_value::<RulesDue>(event.payload).expect("a payload"));
        due.map(|due| {
            (
                due.trigger,
                due.rules,
                due.torrent["ratio"].as_f64().expect("a ratio"),
            )
        })
        .collect()
    }

    fn over(db: &Db, client: Arc<FakeEngine>, heard: Arc<Heard>, watch: Arc<dyn RuleWatch>) -> Self {
        let driver = client.clone();
        let timeout = Duration::from_secs(1);
        let intakes = Intakes::default();
        let engine = Engine::new("e", "seedbox", "fake", driver, timeout, intakes, loading());
        let deps = SyncDeps {
            watch: watch.clone(),
            ..sync_deps(db, &heard)
        };
        let work = SyncLoop::new(engine.clone(), deps, CancellationToken::new());
        Self {
            watch,
            db: db.clone(),
            client,
            heard,
            engine,
            work,
        }
    }

    /// Killed and started again: the loop's memory is lost.
    fn restarted(self) -> Self {
        Self::over(&self.db, self.client, self.heard, self.watch)
    }

    /// The attention of each poll since the last look.
    fn attention(&self) -> Vec<Attention> {
        std::mem::take(&mut *self.client.attention.lock().unwrap())
    }

    async fn stored(&self) -> Vec<(String, f64, u64)> {
        let mut tx = self.db.begin_read().await.unwrap();
        let mut rows = repo::snapshots::load(&mut tx, "e").await.unwrap();
        rows.sort_by(|a, b| a.hash.cmp(&b.hash));
        rows.into_iter()
            .map(|row| (row.name, row.progress, row.downloaded))
            .collect()
    }

    async fn ledger(&self) -> (Counters, Counters) {
        let mut tx = self.db.begin_read().await.unwrap();
        let ledger = repo::ledger::load(&mut tx, "e").await.unwrap().expect("a ledger");
        (ledger.baseline, ledger.accrued.moved)
    }
}

fn torrent_with(progress: f64, downloaded: u64) -> Torrent {
    Torrent {
        progress,
        downloaded,
        ..torrent(1)
    }
}

const fn bytes(downloaded: u64, uploaded: u64) -> Counters {
    Counters { downloaded, uploaded }
}

db_test! {
    async fn a_first_tick_shows_stores_and_starts_the_ledger(db: Db) {
        let mut bench = Bench::new(&db).await;
        bench.client.put(torrent_with(0.5, 500));
        bench.work.tick().await;
        let snapshot = bench.engine.snapshot().expect("a snapshot");
        assert_eq!((snapshot.seq, snapshot.len()), (1, 1));
        assert_eq!(bench.stored().await, [("torrent 1".to_owned(), 0.5, 500)]);
        assert_eq!(bench.ledger().await, (bytes(500, 0), bytes(0, 0)));
        let status = bench.engine.status().expect("a status");
        assert_eq!((status.online, status.torrent_count), (true, 1));
        assert!(bench.heard.keys().is_empty());
    }

    async fn an_all_time_count_is_the_better_baseline(db: Db) {
        let mut bench = Bench::new(&db).await;
        *bench.client.all_time.lock().unwrap() = Some(Transfer { downloaded: 9000, uploaded: 70 });
        bench.client.put(torrent_with(0.5, 500));
        bench.work.tick().await;
        bench.client.put(torrent_with(0.6, 600));
        bench.work.tick().await;
        bench.work.store.flush().await.unwrap();
        assert_eq!(bench.ledger().await, (bytes(9000, 70), bytes(100, 0)));
        assert_eq!(bench.work.store.totals(), Some(bytes(9100, 70)));
    }

    async fn edges_are_stored_then_told_once(db: Db) {
        let mut bench = Bench::new(&db).await;
        bench.client.put(torrent_with(0.5, 500));
        bench.work.tick().await;
        bench.client.put(Torrent { state: TorrentState::Seeding, ratio: 0.25, ..torrent_with(1.0, 1000) });
        bench.work.tick().await;
        assert_eq!(bench.heard.keys(), ["torrent.completed"]);
        let events = bench.heard.take();
        assert_eq!(events[0].payload["sizeBytes"], "1000");
        assert!(bench.stored().await[0].1 >= 1.0);
        let mut bench = bench.restarted();
        bench.work.tick().await;
        bench.work.tick().await;
        assert!(bench.heard.keys().is_empty(), "a restart repeats nothing");
        assert_eq!(bench.ledger().await, (bytes(500, 0), bytes(500, 0)));
    }

    async fn rules_are_due_once_an_edge_and_at_once(db: Db) {
        let seeding = |ratio| Torrent { state: TorrentState::Seeding, ratio, ..torrent_with(1.0, 1000) };
        let mut bench = Bench::watched(&db).await;
        bench.client.put(torrent_with(0.5, 500));
        bench.work.tick().await;
        assert_eq!(bench.due(), []);
        bench.client.put(seeding(1.5));
        bench.work.tick().await;
        let completed = |ratio| ("torrent.completed".to_owned(), vec!["done".to_owned()], ratio);
        assert_eq!(bench.due(), [completed(1.5)]);
        bench.client.put(seeding(1.9));
        bench.work.tick().await;
        assert_eq!(bench.due(), [], "what crosses nothing waits for the next flush");
        // The next flush is seconds away; the rule does not wait for it.
        bench.client.put(seeding(2.25));
        bench.work.tick().await;
        bench.work.tick().await;
        let reached = ("ratio.reached".to_owned(), vec!["two".to_owned()], 2.25);
        assert_eq!(bench.due(), std::slice::from_ref(&reached));
        bench.client.put(seeding(1.0));
        bench.work.tick().await;
        bench.work.store.flush().await.unwrap();
        let mut bench = bench.restarted();
        bench.work.tick().await;
        assert_eq!(bench.due(), []);
        // It rose while the service was down, or before it had stored that.
        let mut bench = bench.restarted();
        bench.client.put(seeding(2.25));
        bench.work.tick().await;
        assert_eq!(bench.due(), [reached]);
        bench.client.put(Torrent { state: TorrentState::Error, ..seeding(2.25) });
        bench.work.tick().await;
        assert_eq!(bench.due(), [("torrent.failed".to_owned(), vec!["broken".to_owned()], 2.25)]);
    }

    async fn a_completion_that_the_client_knows_no_instant_of_has_the_one_at_which_it_was_seen(db: Db) {
        let mut bench = Bench::new(&db).await;
        let shown = |bench: &Bench| {
            let snapshot = bench.engine.snapshot().expect("a snapshot");
            snapshot.get(&torrent(1).hash).expect("listed").torrent.completed_at
        };
        // Of one that was complete when it was first seen nobody knows.
        bench.client.put(Torrent { state: TorrentState::Seeding, ..torrent_with(1.0, 1000) });
        bench.work.tick().await;
        assert_eq!(shown(&bench), None);
        bench.client.put(torrent_with(0.5, 1000));
        bench.work.tick().await;
        assert_eq!(shown(&bench), None);
        let seeding = |uploaded| Torrent { state: TorrentState::Seeding, uploaded, ..torrent_with(1.0, 1000) };
        bench.client.put(Torrent { state: TorrentState::Checking, ..torrent_with(1.0, 1000) });
        bench.work.tick().await;
        assert_eq!(shown(&bench), None);
        bench.client.put(seeding(0));
        bench.work.tick().await;
        let seen = shown(&bench);
        assert!(seen.is_some());
        bench.client.put(seeding(7));
        bench.work.tick().await;
        assert_eq!(shown(&bench), seen);
        let mut bench = bench.restarted();
        bench.work.tick().await;
        assert_eq!(shown(&bench), seen, "and it was stored");
        // Another file is wanted, and comes.
        bench.client.put(Torrent { download_rate: 5, state: TorrentState::Downloading, ..torrent_with(0.7, 1000) });
        bench.work.tick().await;
        assert_eq!(shown(&bench), None);
    }

    async fn the_first_instant_of_a_completion_outlives_the_client_and_us(db: Db) {
        let whole = |instant: i64| Torrent {
            state: TorrentState::Seeding,
            completed_at: Some(Timestamp::from_secs(instant)),
            ..torrent_with(1.0, 1000)
        };
        let mut bench = Bench::new(&db).await;
        let shown = |bench: &Bench| {
            let snapshot = bench.engine.snapshot().expect("a snapshot");
            let entry = snapshot.get(&torrent(1).hash).expect("listed").clone();
            let json: serde_json::Value = serde_json::from_slice(entry.json()).expect("JSON");
            (entry.torrent.completed_at.map(Timestamp::secs), json["completedAt"].clone())
        };
        let first = (Some(5), serde_json::json!("1970-01-01T00:00:05.000Z"));
        bench.client.put(torrent_with(0.5, 500));
        bench.work.tick().await;
        bench.client.put(whole(5));
        bench.work.tick().await;
        assert_eq!(shown(&bench), first);
        // The client was killed before it had stored that, and found the data when it came back.
        bench.client.put(torrent_with(0.0, 0));
        bench.work.tick().await;
        bench.client.put(whole(99));
        bench.work.tick().await;
        assert_eq!(shown(&bench), first);
        let mut bench = bench.restarted();
        bench.work.tick().await;
        assert_eq!(shown(&bench), first);
        bench.client.put(Torrent { uploaded: 7, ..whole(100) });
        bench.work.tick().await;
        assert_eq!(shown(&bench), first);
        assert_eq!(bench.heard.keys(), ["torrent.completed"], "it was completed once");
        // One that was removed and added again is another one.
        bench.client.clear();
        bench.work.tick().await;
        bench.client.put(whole(200));
        bench.work.tick().await;
        assert_eq!(shown(&bench).0, Some(200));
    }

    async fn a_crash_before_growth_was_stored_loses_none_of_it(db: Db) {
        let mut bench = Bench::new(&db).await;
        bench.client.put(torrent_with(0.1, 100));
        bench.work.tick().await;
        bench.client.put(torrent_with(0.2, 200));
        bench.work.tick().await;
        assert_eq!(bench.stored().await[0].2, 100, "growth alone waits");
        let mut bench = bench.restarted();
        bench.client.put(torrent_with(0.3, 300));
        bench.work.tick().await;
        bench.work.store.flush().await.unwrap();
        assert_eq!(bench.ledger().await, (bytes(100, 0), bytes(200, 0)));
    }

    async fn a_failed_read_deletes_nothing_and_an_empty_one_everything(db: Db) {
        let mut bench = Bench::new(&db).await;
        bench.client.put(torrent_with(0.5, 500));
        bench.work.tick().await;
        for error in [EngineError::Unreachable("gone".into()), EngineError::Timeout("silent".into())] {
            bench.client.fail(Some(error));
            bench.work.tick().await;
        }
        let status = bench.engine.status().expect("a status");
        assert_eq!(status.error.as_deref(), Some("seedbox did not answer in time: silent"));
        assert!(!status.online && status.last_seen_at.is_some() && status.torrent_count == 1);
        assert_eq!((bench.engine.snapshot().unwrap().len(), bench.stored().await.len()), (1, 1));
        bench.client.fail(None);
        bench.client.clear();
        bench.work.tick().await;
        assert_eq!((bench.engine.snapshot().unwrap().len(), bench.stored().await.len()), (0, 0));
        assert!(bench.heard.keys().is_empty(), "that an engine went is told by the engine watch, once a minute");
        // A client that is still loading lists fewer for a moment; what comes back is no news.
        bench.client.put(Torrent { completed_at: Some(Timestamp::from_secs(5)), ..torrent_with(0.0, 0) });
        bench.work.tick().await;
        bench.client.put(Torrent { completed_at: Some(Timestamp::from_secs(5)), ..torrent_with(1.0, 1000) });
        bench.work.tick().await;
        assert!(!bench.heard.keys().contains(&"torrent.completed".into()));
    }

    async fn a_tick_without_news_writes_nothing(db: Db) {
        let mut bench = Bench::new(&db).await;
        bench.client.put(torrent_with(0.5, 500));
        bench.work.tick().await;
        let shown = bench.engine.snapshot().unwrap();
        // On SQLite a second writer would have to wait for this one.
        let writer = db.begin_write().await.unwrap();
        tokio::time::timeout(Duration::from_mins(1), bench.work.tick()).await.expect("no write was tried");
        drop(writer);
        assert!(Arc::ptr_eq(&shown, &bench.engine.snapshot().unwrap()));
    }

    async fn nobody_looking_a_read_is_a_quiet_one(db: Db) {
        let mut bench = Bench::new(&db).await;
        bench.client.put(torrent_with(0.5, 500));
        for _ in 0..3 {
            bench.work.tick().await;
        }
        assert_eq!(bench.attention(), [Attention::Watched, Attention::Quiet, Attention::Quiet]);
        let confirmed = bench.engine.confirmed_at();
        tokio::time::sleep(Duration::from_millis(2)).await;
        bench.engine.poke();
        for _ in 0..2 {
            bench.work.tick().await;
        }
        assert_eq!(bench.attention(), [Attention::Watched, Attention::Quiet], "a command is shown at once");
        assert!(bench.engine.confirmed_at() > confirmed);
        bench.client.fail(Some(EngineError::Timeout("silent".into())));
        bench.work.tick().await;
        bench.client.fail(None);
        bench.work.tick().await;
        assert_eq!(bench.attention(), [Attention::Quiet, Attention::Watched], "a failure costs a full read");
    }

    async fn the_first_list_after_a_quiet_time_is_read_for_it(db: Db) {
        let mut bench = Bench::new(&db).await;
        bench.client.put(torrent_with(0.5, 500));
        for _ in 0..2 {
            bench.work.tick().await;
        }
        bench.client.put(torrent_with(0.7, 700));
        bench.attention();
        let engine = bench.engine.clone();
        let work = &mut bench.work;
        let loop_once = async {
            engine.poked().await;
            work.tick().await;
        };
        // Whoever asks while the first one waits gets the fresh list as well.
        let (first, second, ()) = tokio::join!(engine.listed(), engine.listed(), loop_once);
        for list in [first, second] {
            assert_eq!(list.unwrap().get(&torrent(1).hash).unwrap().torrent.downloaded, 700);
        }
        bench.work.tick().await;
        assert_eq!(bench.attention(), [Attention::Watched, Attention::Watched], "and it stays exact for a while");
    }

    async fn a_list_that_decides_is_read_exactly(db: Db) {
        let mut bench = Bench::new(&db).await;
        bench.client.put(torrent_with(0.5, 500));
        bench.work.tick().await;
        bench.attention();
        let engine = bench.engine.clone();
        let minute = Duration::from_mins(1);
        for error in [None, Some(EngineError::Timeout("silent".into()))] {
            bench.client.fail(error.clone());
            let work = &mut bench.work;
            let loop_once = async {
                engine.poked().await;
                work.tick().await;
            };
            let (read, ()) = tokio::join!(engine.refresh_exactly(minute), loop_once);
            assert_eq!(read.err(), error, "whoever decides by a list is told that it could not be read");
        }
        bench.client.fail(None);
        bench.work.tick().await;
        assert_eq!(bench.attention(), [Attention::Exact, Attention::Exact, Attention::Watched], "a demand is served once");
    }

    async fn an_engine_deleted_under_the_loop_does_no_harm(db: Db) {
        let mut bench = Bench::new(&db).await;
        bench.client.put(torrent_with(0.5, 500));
        bench.work.tick().await;
        let mut tx = db.begin_write().await.unwrap();
        repo::engines::delete(&mut tx, "e", Timestamp::from_ms(2)).await.unwrap().exactly(1).unwrap();
        tx.commit().await.unwrap();
        bench.client.put(torrent_with(1.0, 1000));
        bench.work.tick().await;
        assert!(bench.heard.keys().is_empty(), "nothing is told that is not stored");
        assert_eq!(bench.stored().await, [("torrent 1".to_owned(), 0.5, 500)], "and nothing is stored that is to go");
        assert!(bench.engine.is_discarded(), "its loop ends");
        let seq = bench.engine.seq();
        bench.client.put(torrent(2));
        bench.work.tick().await;
        assert_eq!(bench.engine.seq(), seq, "and shows nothing more");
    }
}

/// A client that hangs while nobody looked holds the first request for three seconds, and those after it not at all.
#[tokio::test(start_paused = true)]
async fn a_list_waits_for_a_fresh_read_but_not_long() {
    let engine = idle_engine();
    let at = Timestamp::from_ms(1);
    engine.show(Arc::new(Snapshot::empty(&engine.id, 0, at)));
    engine.note_read(Attention::Quiet, Some(at));
    let begun = tokio::time::Instant::now();
    engine.listed().await.unwrap();
    assert_eq!(begun.elapsed().as_secs(), 3);
    engine.listed().await.unwrap();
    assert_eq!(begun.elapsed().as_secs(), 3);
    tokio::time::advance(Duration::from_secs(31)).await;
    let begun = tokio::time::Instant::now();
    engine.note_read(Attention::Quiet, None);
    engine.listed().await.unwrap();
    assert_eq!(
        begun.elapsed().as_secs(),
        0,
        "an engine that is gone is not waited for"
    );
}

fn idle_engine() -> Arc<Engine> {
    let driver = Arc::new(FakeEngine::default());
    let timeout = Duration::from_secs(1);
    Engine::new(
        "e",
        "seedbox",
        "fake",
        driver,
        timeout,
        Intakes::default(),
        loading(),
    )
}

/// A client lists a torrent some time after it took it; each read asks for it until then, and for a while after.
#[tokio::test(start_paused = true)]
async fn a_torrent_that_was_handed_over_is_asked_for_until_it_is_listed() {
    let engine = idle_engine();
    let pass = |seconds| tokio::time::advance(Duration::from_secs(seconds));
    let added = [torrent(1).hash.to_string(), torrent(2).hash.to_string()];
    let asked = || {
        let mut asked = engine.fresh();
        asked.sort_unstable();
        asked
    };
    engine.note_added(&added);
    pass(30).await;
    assert_eq!(asked(), added, "longer than after a command");
    engine.note_fresh(&added[..1]);
    pass(20).await;
    assert_eq!(asked(), added, "a command does not end that");
    let at = Timestamp::from_ms(1);
    let delta = Delta {
        full: true,
        changed: vec![torrent(1)],
        ..Delta::default()
    };
    let admission = Admission {
        limits: Limits {
            torrents: 10,
            bytes: 1 << 20,
        },
        is_known: &|_| false,
    };
    let (list, _) = Snapshot::empty(&engine.id, 0, at).apply(delta, at, &admission);
    engine.show(Arc::new(list.expect("a torrent is new")));
    assert_eq!(asked(), added);
    pass(9).await;
    assert_eq!(asked(), added, "it is told as it is for a while");
    pass(2).await;
    assert_eq!(asked(), [""; 0], "nor is one for ever that is never listed");
}

/// The proof is of now, and the client would take the data later.
#[tokio::test]
async fn no_proof_has_a_client_take_data_by_itself() {
    let engine = idle_engine();
    let hashes = [torrent(1).hash.to_string()];
    let limits = ShareLimits {
        action: ShareAction::RemoveWithData,
        ..ShareLimits::default()
    };
    let proof = Unshared::judged(hashes.clone());
    let with = engine
        .order_taking(&hashes, Command::ShareLimits(limits), &proof)
        .await;
    let without = engine.order(&hashes, Command::ShareLimits(limits)).await;
    for refused in [with, without] {
        assert!(matches!(refused, Err(EngineError::Unsupported(_))), "{refused:?}");
    }
}
