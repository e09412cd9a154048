//! Rules told of torrents that come, go, or get no data: each once, and of nothing that only looks so.

use qm_kernel::Ctx;
use qm_test_base::Hands;

use super::*;

const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);

/// A rule for each trigger; that on stalls waits for two hours.
struct Waiting;

impl RuleWatch for Waiting {
    fn watches_ratios(&self) -> bool {
        false
    }

    fn watches_stalls(&self) -> bool {
        true
    }

    fn remembers(&self) -> bool {
        true
    }

    fn due(&self, edge: Edge, record: &TorrentRecord<'_>) -> Vec<String> {
        let is_due = match edge {
            Edge::Added | Edge::Removed => true,
            Edge::Stalled { since } => since.plus(2 * HOUR) <= record.now,
            Edge::Completed | Edge::RatioMoved { .. } | Edge::Failed => false,
        };
        is_due.then(|| "rule".to_owned()).into_iter().collect()
    }
}

/// An engine whose time is in the test's hands.
struct Watched {
    bench: Bench,
    clock: Arc<Hands>,
}

impl Watched {
    async fn new(db: &Db) -> Self {
        let bench = Bench::new(db).await;
        Self::over(bench, Hands::starting_at(qm_test_base::START_MS))
    }

    fn over(bench: Bench, clock: Arc<Hands>) -> Self {
        let ctx: Ctx = clock.ctx();
        let deps = SyncDeps {
            watch: Arc::new(Waiting),
            ctx,
            ..sync_deps(&bench.db, &bench.heard)
        };
        let work = SyncLoop::new(bench.engine.clone(), deps, CancellationToken::new());
        Self {
            bench: Bench { work, ..bench },
            clock,
        }
    }

    /// Killed and started again.
    fn restarted(self) -> Self {
        Self::over(self.bench.restarted(), self.clock)
    }

    /// Reads the engine, and answers what rules were told: the trigger and the number of the torrent.
    async fn tick(&mut self) -> Vec<(String, u8)> {
        self.bench.work.tick().await;
        self.take_due()
            .into_iter()
            .map(|due| (due.trigger.clone(), number_of(&due)))
            .collect()
    }

    fn take_due(&self) -> Vec<RulesDue> {
        let events = self.bench.heard.take().into_iter();
        let due = events.filter(|event| event.event_key == "torrent.rules_due");
        due.map(|event| serde_json::from_value(event.payload).expect("a payload"))
            .collect()
    }

    /// Reads it again and again for that time.
    async fn read_for(&mut self, time: Duration) -> Vec<(String, u8)> {
        const STEP: Duration = Duration::from_secs(20);
        let mut told = Vec::new();
        for _ in 0..time.as_secs().div_ceil(STEP.as_secs()) {
            self.clock.advance(STEP);
            told.extend(self.tick().await);
        }
        told
    }

    fn put(&self, numbers: std::ops::RangeInclusive<u8>) {
        for number in numbers {
            self.bench.client.put(torrent(number));
        }
    }

    async fn settled(db: &Db, torrents: std::ops::RangeInclusive<u8>) -> Self {
        let mut watched = Self::new(db).await;
        watched.put(torrents);
        assert_eq!(
            watched.read_for(2 * MINUTE).await,
            [],
            "the first sight of an engine tells nothing"
        );
        watched
    }
}

fn number_of(due: &RulesDue) -> u8 {
    u8::from_str_radix(&due.hash[38..], 16).expect("a number")
}

fn added(number: u8) -> (String, u8) {
    ("torrent.added".to_owned(), number)
}

fn stalled(number: u8) -> (String, u8) {
    ("torrent.stalled".to_owned(), number)
}

db_test! {
    async fn a_torrent_that_comes_is_told_once_and_a_first_sight_is_not(db: Db) {
        let mut watched = Watched::settled(&db, 1..=3).await;
        watched.put(4..=4);
        assert_eq!(watched.tick().await, [added(4)]);
        assert_eq!(watched.read_for(MINUTE).await, []);
        // What came while the server did not run is told by the next one, and nothing else.
        let mut watched = watched.restarted();
        watched.put(5..=5);
        assert_eq!(watched.tick().await, [added(5)]);
        let mut watched = watched.restarted();
        assert_eq!(watched.read_for(2 * MINUTE).await, []);
    }

    async fn what_was_handed_over_is_told_even_at_first_sight(db: Db) {
        let mut watched = Watched::new(&db).await;
        watched.put(1..=3);
        let intake = crate::model::intake::Intake {
            noted_at: Timestamp::from_ms(1),
            added_at: Some(Timestamp::from_ms(1)),
            tags: Vec::new(),
            is_private: None,
            auto_managed: None,
        };
        watched.bench.engine.intakes.put_new(torrent(2).hash.to_string(), intake);
        assert_eq!(watched.tick().await, [added(2)]);
        assert_eq!(watched.read_for(MINUTE).await, []);
    }

    async fn a_removal_is_told_when_the_torrent_did_not_come_back_for_a_minute(db: Db) {
        let mut watched = Watched::settled(&db, 1..=3).await;
        watched.bench.client.forget(&torrent(2).hash);
        assert_eq!(watched.tick().await, []);
        // The server dies in between.
        let mut watched = watched.restarted();
        assert_eq!(watched.tick().await, []);
        watched.clock.advance(Duration::from_secs(20));
        assert_eq!(watched.tick().await, []);
        watched.clock.advance(Duration::from_secs(20));
        watched.tick().await;
        watched.clock.advance(Duration::from_secs(20));
        watched.bench.work.tick().await;
        let told = watched.take_due();
        assert_eq!((told.len(), told[0].trigger.as_str(), number_of(&told[0])), (1, "torrent.removed", 2));
        assert_eq!(told[0].torrent["name"], "torrent 2", "it is told as it was last");
        assert_eq!(watched.read_for(MINUTE).await, []);
        // It comes once more.
        watched.put(2..=2);
        assert_eq!(watched.tick().await, [added(2)]);
        assert_eq!(watched.read_for(2 * MINUTE).await, []);
    }

    async fn what_went_while_the_server_did_not_run_is_told_as_it_was_stored(db: Db) {
        let mut watched = Watched::settled(&db, 1..=3).await;
        watched.bench.client.put(Torrent { label: Some("os".into()), ..torrent(3) });
        watched.tick().await;
        let mut watched = watched.restarted();
        watched.bench.client.forget(&torrent(3).hash);
        watched.tick().await;
        watched.clock.advance(Duration::from_secs(20));
        watched.tick().await;
        watched.clock.advance(Duration::from_secs(20));
        watched.tick().await;
        watched.clock.advance(Duration::from_secs(20));
        watched.bench.work.tick().await;
        let told = watched.take_due();
        assert_eq!(told.len(), 1);
        assert_eq!((&told[0].torrent["name"], &told[0].torrent["label"]), (&"torrent 3".into(), &"os".into()));
        assert_eq!(told[0].torrent["isPrivate"], serde_json::Value::Null, "nothing is known of it");
    }

    async fn a_client_that_starts_tells_its_torrents_one_by_one(db: Db) {
        let mut watched = Watched::settled(&db, 1..=6).await;
        watched.bench.client.fail(Some(EngineError::Unreachable("starting".into())));
        assert_eq!(watched.read_for(5 * MINUTE).await, [], "an engine that is away tells nothing");
        watched.bench.client.fail(None);
        watched.bench.client.clear();
        watched.put(1..=1);
        for last in 2..=6 {
            assert_eq!(watched.read_for(Duration::from_secs(40)).await, []);
            watched.put(last..=last);
        }
        assert_eq!(watched.read_for(5 * MINUTE).await, [], "no torrent came, and none went");
        // The server starts at the same time.
        watched.bench.client.clear();
        watched.put(1..=2);
        let mut watched = watched.restarted();
        assert_eq!(watched.read_for(Duration::from_secs(40)).await, []);
        watched.put(3..=6);
        assert_eq!(watched.read_for(5 * MINUTE).await, []);
    }

    async fn another_client_under_the_same_address_is_a_first_sight(db: Db) {
        let watched = Watched::settled(&db, 1..=3).await;
        watched.bench.client.clear();
        watched.put(11..=13);
        let mut watched = watched.restarted();
        assert_eq!(watched.read_for(5 * MINUTE).await, []);
        watched.put(14..=14);
        assert_eq!(watched.tick().await, [added(14)]);
    }

    async fn a_list_that_is_cut_short_tells_nothing(db: Db) {
        let mut watched = Watched::settled(&db, 1..=3).await;
        let stats = qm_ports::engine::GlobalStats {
            torrent_count: 200_001,
            ..qm_ports::engine::GlobalStats::default()
        };
        *watched.bench.client.stats.lock().unwrap() = Some(stats);
        watched.bench.client.fail(Some(EngineError::Unreachable("away".into())));
        watched.tick().await;
        watched.bench.client.fail(None);
        watched.bench.client.forget(&torrent(1).hash);
        watched.put(4..=4);
        assert_eq!(watched.read_for(5 * MINUTE).await, []);
    }

    async fn a_stall_is_told_once_by_the_instant_that_is_stored(db: Db) {
        let wanting = |downloaded| Torrent { downloaded, progress: 0.5, ..torrent(1) };
        let mut watched = Watched::new(&db).await;
        watched.bench.client.put(wanting(500));
        watched.bench.client.put(Torrent { state: TorrentState::Paused, ..torrent(2) });
        watched.bench.client.put(Torrent { state: TorrentState::Seeding, progress: 1.0, ..torrent(3) });
        assert_eq!(watched.read_for(HOUR).await, []);
        watched.bench.client.put(wanting(600));
        assert_eq!(watched.read_for(118 * MINUTE).await, [], "it got data an hour after it began");
        watched.bench.work.store.flush().await.unwrap();
        // A restart does not begin anew, but waits until the client was read for a while.
        let mut watched = watched.restarted();
        let told = watched.read_for(11 * MINUTE).await;
        assert_eq!(told, [stalled(1)]);
        assert_eq!(watched.read_for(HOUR).await, [], "once a stall");
        watched.bench.client.put(wanting(700));
        assert_eq!(watched.read_for(HOUR).await, []);
        assert_eq!(watched.read_for(HOUR + 2 * MINUTE).await, [stalled(1)], "the next stall");
        // Whoever halts it wants no data.
        watched.bench.client.put(Torrent { state: TorrentState::Paused, ..wanting(700) });
        watched.read_for(MINUTE).await;
        watched.bench.client.put(wanting(700));
        assert_eq!(watched.read_for(HOUR).await, []);
        // While the engine is away nobody knows.
        watched.bench.client.fail(Some(EngineError::Unreachable("away".into())));
        assert_eq!(watched.read_for(3 * HOUR).await, []);
        watched.bench.client.fail(None);
        watched.bench.client.put(wanting(800));
        assert_eq!(watched.read_for(HOUR).await, []);
    }
}
