//! Engines that list more than is taken.

use std::sync::atomic::Ordering;

use qm_ports::engine::{GlobalStats, LIST_LIMIT};

use super::*;

const ENDLESS: usize = 1 << 40;

impl Bench {
    fn limit(&self, torrents: usize, bytes: usize) {
        self.work.deps.limits.store(Arc::new(Limits { torrents, bytes }));
    }

    async fn lists(&mut self, torrents: &[u8]) {
        self.client.whole.store(true, Ordering::SeqCst);
        self.client.clear();
        for n in torrents {
            self.client.put(torrent(*n));
        }
        self.work.tick().await;
    }

    /// Makes the client say that its list has so many torrents, however many arrive here.
    fn says(&self, torrent_count: usize) {
        let torrent_count = torrent_count as u32;
        *self.client.stats.lock().unwrap() = Some(GlobalStats {
            torrent_count,
            ..GlobalStats::default()
        });
    }

    /// The shown torrents, the stored ones, and why not all are there.
    async fn taken(&self) -> (Vec<String>, Vec<String>, Option<String>) {
        let snapshot = self.engine.snapshot().unwrap();
        let mut shown: Vec<String> = snapshot.torrents().map(|torrent| torrent.name.clone()).collect();
        shown.sort_unstable();
        let stored = self.stored().await.into_iter().map(|(name, ..)| name).collect();
        let status = self.engine.status().unwrap();
        assert!(status.online && status.error.is_none());
        (shown, stored, status.limited.clone())
    }

    async fn assert_taken(&self, torrents: &[u8], limit: Option<&str>) {
        let names: Vec<String> = torrents.iter().map(|n| format!("torrent {n}")).collect();
        let (shown, stored, limited) = self.taken().await;
        assert_eq!((&shown, &stored), (&names, &names));
        match limit {
            None => assert_eq!(limited, None),
            Some(word) => assert!(
                limited.as_ref().is_some_and(|why| why.contains(word)),
                "{limited:?}"
            ),
        }
    }

    /// Bytes that one torrent takes.
    async fn weight(&mut self) -> usize {
        self.lists(&[1]).await;
        self.engine.snapshot().unwrap().bytes()
    }
}

db_test! {
    async fn torrents_over_the_limit_are_left_out_and_told_of(db: Db) {
        let mut bench = Bench::new(&db).await;
        bench.limit(3, ENDLESS);
        bench.lists(&[1, 2, 3]).await;
        bench.assert_taken(&[1, 2, 3], None).await;
        bench.lists(&[1, 2, 3, 4, 5]).await;
        bench.assert_taken(&[1, 2, 3], Some("engine.maxTorrents")).await;
        let since = bench.engine.status().unwrap().since;
        bench.lists(&[0, 1, 2, 3, 5]).await;
        bench.assert_taken(&[1, 2, 3], Some("engine.maxTorrents")).await;
        assert_eq!(bench.engine.status().unwrap().since, since, "it has been so all the time");
        bench.lists(&[1, 3, 4, 5]).await;
        bench.assert_taken(&[1, 3, 4], Some("engine.maxTorrents")).await;
        bench.limit(2, ENDLESS);
        bench.lists(&[1, 3, 4, 5]).await;
        bench.assert_taken(&[1, 3, 4], Some("engine.maxTorrents")).await;
        bench.limit(4, ENDLESS);
        bench.lists(&[1, 3, 4, 5]).await;
        bench.assert_taken(&[1, 3, 4, 5], None).await;
    }

    async fn bytes_over_the_limit_are_left_out_and_told_of(db: Db) {
        let mut bench = Bench::new(&db).await;
        let weight = bench.weight().await;
        bench.limit(ENDLESS, 3 * weight - 1);
        bench.lists(&[1, 2, 3]).await;
        bench.assert_taken(&[1, 2], Some("engine.maxSnapshotBytes")).await;
        // One that grows beyond what there is stays as it was.
        bench.client.put(Torrent { label: Some("x".repeat(weight)), progress: 0.5, ..torrent(2) });
        bench.work.tick().await;
        bench.assert_taken(&[1, 2], Some("engine.maxSnapshotBytes")).await;
        assert_eq!(bench.engine.snapshot().unwrap().get(&torrent(2).hash).unwrap().torrent, torrent(2));
        bench.client.put(Torrent { progress: 0.5, ..torrent(2) });
        bench.client.forget(&torrent(3).hash);
        bench.work.tick().await;
        bench.assert_taken(&[1, 2], None).await;
        let shown = bench.engine.snapshot().unwrap();
        assert!(shown.get(&torrent(2).hash).unwrap().torrent.progress > 0.4, "what fits again is taken");
    }

    async fn what_was_taken_before_a_restart_is_taken_after_it(db: Db) {
        let mut bench = Bench::new(&db).await;
        bench.limit(3, ENDLESS);
        bench.lists(&[5, 6, 7]).await;
        let mut bench = bench.restarted();
        bench.limit(3, ENDLESS);
        bench.lists(&[1, 2, 3, 4, 5, 6, 7]).await;
        bench.assert_taken(&[5, 6, 7], Some("engine.maxTorrents")).await;
        // With less room than there are rows, rows of torrents that are listed stay; those of others go.
        let mut bench = bench.restarted();
        bench.limit(1, ENDLESS);
        bench.lists(&[1, 2, 3, 4, 6, 7]).await;
        let (shown, stored, _) = bench.taken().await;
        assert_eq!((shown.len(), stored), (1, vec!["torrent 6".to_owned(), "torrent 7".to_owned()]));
    }

    async fn a_list_that_was_cut_short_retires_nobody(db: Db) {
        let mut bench = Bench::new(&db).await;
        bench.lists(&[1, 2, 3]).await;
        bench.says(LIST_LIMIT + 1);
        bench.lists(&[1, 2, 4]).await;
        bench.assert_taken(&[1, 2, 3, 4], Some("more than 200000 torrents")).await;
        let mut bench = bench.restarted();
        bench.lists(&[1, 2]).await;
        let (shown, stored, _) = bench.taken().await;
        assert_eq!((shown.len(), stored.len()), (2, 4), "not in the first list of a run either");
        bench.says(2);
        bench.lists(&[1, 2]).await;
        bench.assert_taken(&[1, 2], None).await;
    }

    async fn a_limited_engine_that_rests_is_not_written(db: Db) {
        let mut bench = Bench::new(&db).await;
        bench.limit(2, ENDLESS);
        bench.lists(&[1, 2, 3]).await;
        bench.lists(&[1, 2, 3]).await;
        let shown = bench.engine.snapshot().unwrap();
        // On SQLite a second writer would have to wait for this one.
        let writer = db.begin_write().await.unwrap();
        tokio::time::timeout(Duration::from_mins(1), bench.lists(&[1, 2, 3])).await.expect("no write was tried");
        drop(writer);
        assert!(Arc::ptr_eq(&shown, &bench.engine.snapshot().unwrap()));
        bench.assert_taken(&[1, 2], Some("engine.maxTorrents")).await;
    }
}
