//! Engines that are deleted with many rows, over clients in memory and both databases.

use std::sync::atomic::Ordering;
use std::time::Duration;

use qm_db::{Db, db_test, sql};
use qm_engines::repo::retire::{Progress, Step};
use qm_engines::settings::MAX_TORRENTS;
use qm_kernel::{Role, Timestamp};
use qm_test_base::engine::numbered;
use qm_test_base::principal;
use qm_torrent_lists::Limits;
use tokio_util::sync::CancellationToken;

use crate::service::EngineChoice;
use crate::testing::{House, audited, eventually};

const TORRENTS: u64 = 1200;

sql! {
    SNAPSHOTS = "SELECT COUNT(*) FROM torrent_snapshots WHERE engine_id = $1";
    ARCHIVED = "SELECT COUNT(*) FROM torrent_archive WHERE engine_id = $1";
    LEDGERS = "SELECT COUNT(*) FROM transfer_ledger WHERE engine_id = $1";
    ENGINES = "SELECT COUNT(*) FROM torrent_engines WHERE id = $1";
    ARCHIVE = "INSERT INTO torrent_archive (id, engine_id, hash, name, downloaded, uploaded, ratio, first_seen_at, retired_at) \
        SELECT 'a-' || id, engine_id, hash, name, downloaded, uploaded, ratio, captured_at, captured_at \
        FROM torrent_snapshots WHERE engine_id = $1 AND hash >= $2";
    CONFIG = "SELECT config || secret_fields FROM torrent_engines WHERE id = $1";
}

/// Rows of an engine: its torrents, its archive, its ledger, itself.
async fn rows(db: &Db, id: &str) -> [i64; 4] {
    let mut tx = db.begin_read().await.unwrap();
    let mut counts = [0; 4];
    for (count, statement) in counts.iter_mut().zip([SNAPSHOTS, ARCHIVED, LEDGERS, ENGINES]) {
        *count = qm_db::value!(&mut tx, i64, statement, id).await.unwrap();
    }
    counts
}

/// Waits for these rows: a torrent is shown before it is stored, and the ledger begins after that.
async fn settled(db: &Db, id: &str, expected: [i64; 4]) {
    for _ in 0..3000 {
        if rows(db, id).await == expected {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(rows(db, id).await, expected);
}

impl House {
    /// An engine of 1,200 torrents, all of them stored, 700 of them in the archive too.
    async fn large_engine(&self, db: &Db, name: &str) -> String {
        let client = self.kinds.engine(name);
        (0..TORRENTS).for_each(|n| client.put(numbered(n)));
        let id = self.engine(name, name).await;
        let torrents = self.torrents.clone();
        eventually("its torrents are shown", || torrents.status(&id).is_some()).await;
        let mut tx = db.begin_write().await.unwrap();
        let from = format!("{:040x}", 500);
        qm_db::exec!(&mut tx, ARCHIVE, &id, &from)
            .await
            .unwrap()
            .exactly(700)
            .unwrap();
        tx.commit().await.unwrap();
        settled(db, &id, [1200, 700, 1, 1]).await;
        id
    }

    async fn names(&self) -> Vec<String> {
        let engines = self.torrents.engines.list_engines().await.unwrap();
        engines.into_iter().map(|engine| engine.name).collect()
    }
}

async fn retire(house: &House) {
    house
        .torrents
        .engines
        .retire_deleted(&CancellationToken::new())
        .await
        .unwrap();
}

db_test! {
    async fn a_deleted_engine_is_gone_at_once_and_its_rows_later(db: Db) {
        let house = House::new(&db, &["fake"]).await;
        let id = house.large_engine(&db, "seedbox").await;
        let engine = house.torrents.resolve(Some(&id)).unwrap();
        house.torrents.engines.delete_engine(house.caller(), &id).await.unwrap();
        assert_eq!(rows(&db, &id).await, [1200, 700, 1, 1], "no row was touched for the answer");
        let mut tx = db.begin_read().await.unwrap();
        let stored = qm_db::value!(&mut tx, String, CONFIG, &id).await.unwrap();
        drop(tx);
        assert_eq!(stored, "{}[]", "what was configured is forgotten at once");

        assert!(house.names().await.is_empty());
        assert!(house.torrents.resolve(Some(&id)).is_err() && house.torrents.resolve(None).is_err());
        for text in ["Release", "\u{e9}Release"] {
            assert_eq!(house.torrents.search(text, 10).await.unwrap(), [], "{text}");
        }
        let summary = house.torrents.summary(&EngineChoice::All).await.unwrap();
        assert_eq!((summary.total_torrents, summary.engine_online), (0, false));
        let refused = house.torrents.engines.delete_engine(house.caller(), &id).await.unwrap_err();
        assert_eq!(refused.to_string(), "Engine not found");
        let deletions = audited(&db).await.into_iter().filter(|row| row.action == "engines.delete");
        assert_eq!(deletions.map(|row| row.object_id).collect::<Vec<_>>(), [Some(id.clone())]);

        let polls = house.kinds.engine("seedbox").polls.load(Ordering::SeqCst);
        engine.refresh(Duration::from_millis(300)).await;
        assert_eq!(house.kinds.engine("seedbox").polls.load(Ordering::SeqCst), polls, "it is polled no more");

        let again = house.engine("seedbox", "other").await;
        assert_eq!(house.names().await, ["seedbox"]);
        retire(&house).await;
        assert_eq!(rows(&db, &id).await, [0; 4]);
        assert_eq!(rows(&db, &again).await[3], 1, "the new one is none of its business");
        house.torrents.shutdown().await;
    }

    async fn the_loop_removes_rows_without_being_asked(db: Db) {
        let house = House::new(&db, &["fake"]).await;
        let id = house.large_engine(&db, "seedbox").await;
        let stop = CancellationToken::new();
        let upkeep = tokio::spawn(house.torrents.engines.clone().upkeep_loop(stop.clone()));
        house.torrents.engines.delete_engine(house.caller(), &id).await.unwrap();
        settled(&db, &id, [0; 4]).await;
        stop.cancel();
        upkeep.await.unwrap();
        house.torrents.shutdown().await;
    }

    async fn rows_go_in_steps_and_two_servers_take_turns(db: Db) {
        let house = House::new(&db, &["fake"]).await;
        let id = house.large_engine(&db, "seedbox").await;
        house.torrents.engines.delete_engine(house.caller(), &id).await.unwrap();
        house.torrents.shutdown().await;
        let step = async |progress: &mut Progress| {
            let mut tx = db.begin_write().await.unwrap();
            let step = progress.step(&mut tx, Timestamp::from_ms(9)).await.unwrap();
            tx.commit().await.unwrap();
            step
        };
        let mut first = Progress::begin(id.clone());
        assert_eq!(step(&mut first).await, Step::More(500));
        assert_eq!(rows(&db, &id).await[0], 700);
        // Another server begins, or this one begins again after a crash.
        let mut second = Progress::begin(id.clone());
        let steps = [
            (true, Step::More(500)),
            (false, Step::More(200)),
            (true, Step::More(0)),
            (true, Step::More(500)),
            (false, Step::More(200)),
            (true, Step::More(0)),
            (true, Step::More(0)),
        ];
        for (number, (is_second, expected)) in steps.into_iter().enumerate() {
            let progress = if is_second { &mut second } else { &mut first };
            assert_eq!(step(progress).await, expected, "step {number}");
        }
        assert_eq!(rows(&db, &id).await, [0, 0, 1, 1]);
        assert_eq!(step(&mut second).await, Step::Done);
        assert_eq!(rows(&db, &id).await, [0; 4]);
        assert_eq!(step(&mut first).await, Step::Done);
    }

    async fn a_deletion_that_is_refused_ends_nothing(db: Db) {
        let house = House::new(&db, &["fake"]).await;
        let id = house.engine("seedbox", "a").await;
        let nobody = principal(Role::User);
        let refused = house.torrents.engines.delete_engine(house.caller_as(&nobody), &id).await;
        assert!(refused.is_err());
        assert!(!house.torrents.resolve(Some(&id)).unwrap().is_discarded());
        assert_eq!(house.names().await, ["seedbox"]);
        house.torrents.shutdown().await;
    }

    async fn an_engine_that_another_server_deleted_is_let_go_of(db: Db) {
        let here = House::new(&db, &["fake"]).await;
        let id = here.engine("seedbox", "a").await;
        let there = House::new(&db, &["fake"]).await;
        let engine = there.torrents.resolve(Some(&id)).unwrap();
        here.torrents.engines.delete_engine(here.caller(), &id).await.unwrap();
        there.torrents.engines.look().await.unwrap();
        assert!(engine.is_discarded() && there.torrents.resolve(Some(&id)).is_err());
        here.torrents.shutdown().await;
        there.torrents.shutdown().await;
    }

    async fn limits_follow_their_settings(db: Db) {
        let house = House::new(&db, &["fake"]).await;
        let limits = || house.torrents.engines.limits();
        let standard = Limits { torrents: 200_000, bytes: 256 << 20 };
        assert_eq!(limits(), standard);
        for (stored, expected) in [(3, 3), (0, 200_000), (200_001, 200_000), (200_000, 200_000)] {
            let mut tx = db.begin_write().await.unwrap();
            house.ground.settings.put(&mut tx, &MAX_TORRENTS, &stored).await.unwrap();
            tx.commit().await.unwrap();
            house.torrents.engines.look().await.unwrap();
            assert_eq!(limits(), Limits { torrents: expected, ..standard }, "{stored}");
        }
        house.torrents.shutdown().await;
    }
}
