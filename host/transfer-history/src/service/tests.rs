//! Counts over both databases, with a clock and lists in the test's hands.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use qm_db::Db;
use qm_kernel::Timestamp;
use qm_platform::settings::TIMEZONE;
use qm_platform::testing::{self, Claims};
use qm_ports::engine::{Torrent, TorrentState};
use qm_ports::list::{Listed, TorrentList};
use qm_ports::sight::{EngineSight, EngineSights};
use qm_test_base::{Hands, START_MS};

use super::TransferHistory;
use crate::error::HistoryError;
use crate::model::answers::{Choice, History, Question, Top, TopQuestion};
use crate::model::{Counters, Step};

qm_db::sql! {
    ADD_ENGINE = "INSERT INTO torrent_engines (id, name, kind, config, created_at, updated_at) VALUES ($1, $1, 'fake', '{}', 0, 0)";
    DELETE_ENGINE = "DELETE FROM torrent_engines WHERE id = $1";
    COUNT_ROWS = "SELECT count(*) FROM torrent_transfers WHERE step = $1";
    COUNT_TORRENTS = "SELECT count(*) FROM transfer_torrents";
}

const MIB: u64 = 1 << 20;

/// A list in memory.
struct FakeList {
    engine_id: String,
    version: u64,
    torrents: Vec<Arc<Torrent>>,
}

impl TorrentList for FakeList {
    fn engine_id(&self) -> &str {
        &self.engine_id
    }

    fn version(&self) -> u64 {
        self.version
    }

    fn len(&self) -> usize {
        self.torrents.len()
    }

    fn entry_at(&self, position: usize) -> Option<Listed<'_>> {
        let torrent = self.torrents.get(position)?;
        Some(Listed { torrent, json: b"{}" })
    }

    fn find(&self, hash: &str) -> Option<Listed<'_>> {
        let torrent = self.torrents.iter().find(|torrent| *torrent.hash == *hash)?;
        Some(Listed { torrent, json: b"{}" })
    }
}

/// Engines in the test's hands.
#[derive(Default)]
struct Clients {
    engines: Mutex<BTreeMap<String, Client>>,
}

#[derive(Default)]
struct Client {
    version: u64,
    torrents: BTreeMap<u32, Arc<Torrent>>,
    is_offline: bool,
    is_cut: bool,
}

impl Clients {
    fn change(&self, engine: &str, change: impl FnOnce(&mut Client)) {
        let mut engines = self.engines.lock().unwrap();
        let client = engines.entry(engine.to_owned()).or_default();
        client.version += 1;
        change(client);
    }

    /// Lists a torrent with these counters.
    fn put(&self, engine: &str, number: u32, downloaded: u64, uploaded: u64) {
        self.put_so(engine, number, |torrent| {
            (torrent.downloaded, torrent.uploaded) = (downloaded, uploaded);
        });
    }

    fn put_so(&self, engine: &str, number: u32, change: impl FnOnce(&mut Torrent)) {
        self.change(engine, |client| {
            let mut torrent = client
                .torrents
                .get(&number)
                .map_or_else(|| torrent(number), |old| Torrent::clone(old));
            change(&mut torrent);
            client.torrents.insert(number, Arc::new(torrent));
        });
    }

    fn drop_engine(&self, engine: &str) {
        self.engines.lock().unwrap().remove(engine);
    }
}

fn hash(number: u32) -> String {
    format!("{number:040x}")
}

/// A torrent that was added long ago.
fn torrent(number: u32) -> Torrent {
    Torrent {
        hash: hash(number).into(),
        name: format!("torrent {number}"),
        state: TorrentState::Downloading,
        added_at: Some(Timestamp::from_ms(5)),
        ..Torrent::default()
    }
}

impl EngineSights for Clients {
    fn sights(&self) -> Vec<EngineSight> {
        let engines = self.engines.lock().unwrap();
        let sight = |(id, client): (&String, &Client)| EngineSight {
            is_online: !client.is_offline,
            is_whole: !client.is_cut,
            list: Arc::new(FakeList {
                engine_id: id.clone(),
                version: client.version,
                torrents: client.torrents.values().cloned().collect(),
            }),
        };
        engines.iter().map(sight).collect()
    }

    fn default_engine(&self) -> Option<String> {
        self.engines.lock().unwrap().keys().next().cloned()
    }

    fn is_loaded(&self, engine_id: &str) -> bool {
        self.engines.lock().unwrap().contains_key(engine_id)
    }
}

struct Bed {
    db: Db,
    clock: Arc<Hands>,
    clients: Arc<Clients>,
    app: Arc<TransferHistory>,
}

impl Bed {
    /// A server whose clock stands at the begin of a step of five minutes.
    async fn new(db: &Db, engines: &[&str]) -> Self {
        let mut tx = db.begin_write().await.unwrap();
        for id in engines {
            qm_db::exec!(&mut tx, ADD_ENGINE, id)
                .await
                .unwrap()
                .exactly(1)
                .unwrap();
        }
        tx.commit().await.unwrap();
        let bed = Self::over(db, Hands::starting_at(START_MS), Arc::default());
        bed.in_zone("UTC").await;
        bed
    }

    fn over(db: &Db, clock: Arc<Hands>, clients: Arc<Clients>) -> Self {
        let ground = testing::ground(db, &clock.ctx(), Arc::new(Claims));
        Self {
            app: TransferHistory::new(ground, clients.clone()),
            db: db.clone(),
            clock,
            clients,
        }
    }

    /// The same after a crash: what was not written is lost.
    fn restarted(&self) -> Self {
        Self::over(&self.db, self.clock.clone(), self.clients.clone())
    }

    async fn in_zone(&self, zone: &str) {
        let ground = testing::ground(&self.db, &self.clock.ctx(), Arc::new(Claims));
        let mut tx = self.db.begin_write().await.unwrap();
        let zone = Some(zone.to_owned());
        ground.settings.put(&mut tx, &TIMEZONE, &zone).await.unwrap();
        tx.commit().await.unwrap();
    }

    /// Looks after so many seconds.
    async fn pass(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
        self.app.count().await.unwrap();
    }

    async fn ask(&self, engines: Choice, number: Option<u32>, step: Step) -> Result<History, HistoryError> {
        let now = self.clock.ctx().now();
        let question = Question {
            engines,
            hash: number.map(hash),
            step,
            from: Some(Timestamp::from_ms(now.ms() - 1_990 * step.length())),
            to: Some(now.plus(Duration::from_secs(1))),
        };
        self.app.read_history(question).await
    }

    /// Counts of an engine, or of a torrent in it.
    async fn read(&self, engine: &str, number: Option<u32>, step: Step) -> History {
        self.ask(Choice::One(Some(engine.to_owned())), number, step)
            .await
            .unwrap()
    }

    /// Bytes of an engine by all three steps, which agree.
    async fn totals(&self, engine: &str, number: Option<u32>) -> (u64, u64) {
        let mut told = Vec::new();
        for step in Step::ALL {
            let moved = self.read(engine, number, step).await.moved;
            told.push((moved.downloaded, moved.uploaded));
        }
        assert!(told.iter().all(|one| *one == told[0]), "{told:?}");
        told[0]
    }

    async fn count(&self, statement: qm_db::Statement, step: Step) -> i64 {
        let mut tx = self.db.begin_read().await.unwrap();
        if statement.text == COUNT_TORRENTS.text {
            return qm_db::value!(&mut tx, i64, statement).await.unwrap();
        }
        qm_db::value!(&mut tx, i64, statement, step.minutes())
            .await
            .unwrap()
    }
}

/// Twenty torrents move a byte at each look, and then there is room for the last two counts of the finer step and for all of the longer
/// one. The question begins so many hours before all that.
async fn lose_the_first_counts(db: &Db, looks: &[u64], hours: i64, [finer, longer]: [Step; 2]) {
    let bed = Bed::new(db, &["e"]).await;
    let put_all = |bytes| (0..20).for_each(|number| bed.clients.put("e", number, bytes, 0));
    put_all(0);
    bed.pass(0).await;
    for (bytes, seconds) in (1..).zip(looks) {
        put_all(bytes);
        bed.pass(*seconds).await;
    }
    let ask = async || {
        let question = TopQuestion {
            engines: Choice::All,
            by_upload: false,
            from: Some(Timestamp::from_ms(START_MS - hours * 3_600_000)),
            to: None,
            limit: 20,
        };
        let top = bed.app.read_top(question).await.unwrap();
        let moved: Vec<u64> = top
            .torrents
            .iter()
            .map(|torrent| torrent.moved.downloaded)
            .collect();
        assert_eq!(moved, [looks.len() as u64; 20], "{:?}", top.step);
        top.step
    };
    assert_eq!(ask().await, finer);
    bed.app.forget_old(45).await.unwrap();
    assert_eq!(bed.count(COUNT_ROWS, finer).await, 40);
    assert_eq!(bed.count(COUNT_ROWS, longer).await, 40);
    assert_eq!(ask().await, longer);
}

qm_db::db_test! {
    async fn what_moves_is_counted_by_steps(db: Db) {
        let bed = Bed::new(&db, &["e"]).await;
        // What it had before anybody looked is not counted.
        bed.clients.put("e", 1, 500 * MIB, 900 * MIB);
        bed.clients.put("e", 2, 70 * MIB, 0);
        bed.pass(0).await;
        assert_eq!(bed.totals("e", None).await, (0, 0));
        bed.clients.put_so("e", 1, |torrent| {
            torrent.downloaded += 60 * MIB;
            torrent.uploaded += 30 * MIB;
            (torrent.download_rate, torrent.upload_rate) = (2 * MIB, MIB);
        });
        bed.pass(60).await;
        bed.clients.put_so("e", 1, |torrent| (torrent.download_rate, torrent.upload_rate) = (0, 0));
        bed.pass(240).await;
        bed.clients.put_so("e", 1, |torrent| torrent.uploaded += 3 * MIB);
        bed.pass(10).await;
        bed.pass(290).await;

        let history = bed.read("e", None, Step::FiveMinutes).await;
        let (first, second) = (history.points[0], history.points[1]);
        assert_eq!((history.points.len(), first.start, second.start), (2, START_MS, START_MS + 300_000));
        assert_eq!(first.tally.moved, Counters { downloaded: 60 * MIB, uploaded: 30 * MIB });
        assert_eq!((first.average_download, first.average_upload), (60 * MIB / 300, 30 * MIB / 300));
        assert_eq!((first.tally.peak_download, first.tally.peak_upload), (2 * MIB, MIB));
        assert_eq!((first.active, first.peak_active, first.tally.covered_ms), (Some(0.5), Some(1), 300_000));
        assert_eq!((second.tally.moved.uploaded, second.active), (3 * MIB, Some(0.0)));
        assert_eq!(bed.totals("e", None).await, (60 * MIB, 33 * MIB));
        assert_eq!(bed.totals("e", Some(1)).await, (60 * MIB, 33 * MIB));
        let of_torrent = bed.read("e", Some(1), Step::FiveMinutes).await;
        assert_eq!((of_torrent.points.len(), of_torrent.points[0].active), (2, None));
        // The other one moved nothing and has no rows.
        assert_eq!(bed.read("e", Some(2), Step::Day).await.points, []);
        assert_eq!(bed.count(COUNT_ROWS, Step::FiveMinutes).await, 2);
    }

    async fn counters_that_fall_or_leap_count_for_nothing(db: Db) {
        let bed = Bed::new(&db, &["e"]).await;
        bed.clients.put("e", 1, 100 * MIB, 800 * MIB);
        bed.pass(0).await;
        // The client lost its counters.
        bed.clients.put("e", 1, 0, 5);
        bed.pass(5).await;
        bed.clients.put("e", 1, 7, 9);
        bed.pass(5).await;
        bed.clients.put("e", 1, u64::MAX, u64::MAX);
        bed.pass(5).await;
        bed.clients.put("e", 1, 7, 9);
        bed.pass(5).await;
        // A check finds data.
        bed.clients.put_so("e", 1, |torrent| torrent.state = TorrentState::Checking);
        bed.pass(5).await;
        bed.clients.put("e", 1, 900 * MIB, 10);
        bed.pass(5).await;
        bed.clients.put_so("e", 1, |torrent| torrent.state = TorrentState::Seeding);
        bed.pass(300).await;
        assert_eq!(bed.totals("e", None).await, (7, 5));
    }

    async fn a_new_torrent_counts_from_nothing_and_a_found_one_from_where_it_is(db: Db) {
        let bed = Bed::new(&db, &["e"]).await;
        bed.pass(0).await;
        bed.clients.put("e", 1, 0, 0);
        bed.pass(5).await;
        let now = bed.clock.ctx().now();
        bed.clients.put_so("e", 2, |torrent| {
            (torrent.downloaded, torrent.uploaded, torrent.added_at) = (4 * MIB, MIB, Some(now));
        });
        // An import, and one that does not tell when it was added.
        bed.clients.put("e", 3, 80 * MIB, 90 * MIB);
        bed.clients.put_so("e", 4, |torrent| (torrent.downloaded, torrent.added_at) = (80 * MIB, None));
        bed.pass(5).await;
        bed.pass(300).await;
        assert_eq!(bed.totals("e", None).await, (4 * MIB, MIB));
        for (number, expected) in [(1, (0, 0)), (2, (4 * MIB, MIB)), (3, (0, 0)), (4, (0, 0))] {
            assert_eq!(bed.totals("e", Some(number)).await, expected, "{number}");
        }
    }

    async fn a_crash_neither_loses_nor_doubles_a_byte(db: Db) {
        let bed = Bed::new(&db, &["e"]).await;
        bed.clients.put("e", 1, 0, 0);
        bed.pass(0).await;
        bed.clients.put("e", 1, 10 * MIB, 20 * MIB);
        bed.pass(300).await;
        assert_eq!(bed.totals("e", None).await, (10 * MIB, 20 * MIB));
        bed.clients.put("e", 1, 15 * MIB, 20 * MIB);
        bed.pass(60).await;
        // Nothing of the last minute was written.
        let bed = bed.restarted();
        bed.clients.put("e", 1, 16 * MIB, 21 * MIB);
        bed.pass(600).await;
        assert_eq!(bed.totals("e", None).await, (16 * MIB, 21 * MIB));
        let bed = bed.restarted();
        bed.pass(300).await;
        assert_eq!(bed.totals("e", None).await, (16 * MIB, 21 * MIB));
        assert_eq!(bed.totals("e", Some(1)).await, (16 * MIB, 21 * MIB));
        // The bytes are spread over the time that nobody looked: the average is no giant.
        let history = bed.read("e", Some(1), Step::FiveMinutes).await;
        let last = history.points.last().unwrap();
        assert_eq!((last.tally.moved.downloaded, last.tally.covered_ms), (6 * MIB, 660_000));
        assert_eq!(last.average_download, 6 * MIB / 660);
        // One that ends in peace writes what it counted.
        bed.clients.put("e", 1, 17 * MIB, 21 * MIB);
        bed.pass(5).await;
        bed.app.write_all().await.unwrap();
        assert_eq!(bed.totals("e", None).await, (17 * MIB, 21 * MIB));
    }

    async fn an_engine_that_was_away_is_counted_by_the_days_in_between(db: Db) {
        let bed = Bed::new(&db, &["e"]).await;
        bed.in_zone("Europe/Berlin").await;
        bed.clients.put("e", 1, 0, 0);
        bed.pass(0).await;
        bed.clients.change("e", |client| client.is_offline = true);
        // From 11:15 of the day with 23 hours until 11:15 of the next but one.
        for _ in 0..6 {
            bed.pass(8 * 3_600).await;
        }
        bed.clients.change("e", |client| client.is_offline = false);
        bed.clients.put("e", 1, 48_000, 0);
        bed.pass(0).await;
        bed.pass(300).await;
        let days = bed.read("e", Some(1), Step::Day).await;
        let told: Vec<(u64, u64)> = days
            .points
            .iter()
            .map(|point| (point.tally.moved.downloaded, point.tally.covered_ms / 60_000))
            .collect();
        assert_eq!(told, [(12_750, 765), (24_000, 1_440), (11_250, 675)]);
        assert_eq!((days.points[0].end - days.points[0].start) / 3_600_000, 23);
        let of_engine = bed.read("e", None, Step::Day).await;
        assert_eq!(of_engine.points.iter().map(|point| point.tally.moved.downloaded).collect::<Vec<_>>(), [12_750, 24_000, 11_250]);
    }

    async fn engines_are_asked_one_by_one_or_together(db: Db) {
        let bed = Bed::new(&db, &["a", "b"]).await;
        assert!(matches!(bed.ask(Choice::One(None), None, Step::Hour).await, Err(HistoryError::NoEngine)));
        for engine in ["a", "b"] {
            bed.clients.put(engine, 1, 0, 0);
        }
        bed.pass(0).await;
        bed.clients.put("a", 1, 10, 100);
        bed.clients.put("b", 1, 1, 1_000);
        bed.clients.put_so("b", 2, |torrent| {
            (torrent.uploaded, torrent.added_at) = (50, Some(Timestamp::from_ms(START_MS)));
        });
        bed.pass(300).await;
        assert_eq!(bed.totals("a", None).await, (10, 100));
        assert_eq!(bed.totals("b", None).await, (1, 1_050));
        for (number, expected) in [(None, (11, 1_150)), (Some(1), (11, 1_100)), (Some(2), (0, 50))] {
            let moved = bed.ask(Choice::All, number, Step::Hour).await.unwrap().moved;
            assert_eq!((moved.downloaded, moved.uploaded), expected, "{number:?}");
        }
        let default = bed.ask(Choice::One(None), None, Step::Hour).await.unwrap();
        assert_eq!((default.engine_id.as_deref(), default.moved.uploaded), (Some("a"), 100));
        let unknown = bed.ask(Choice::One(Some("x".to_owned())), None, Step::Hour).await;
        assert!(matches!(unknown, Err(HistoryError::NoSuchEngine)));
        assert!(matches!(bed.ask(Choice::All, Some(9), Step::Hour).await, Err(HistoryError::NoSuchTorrent)));
        assert!(matches!(bed.ask(Choice::One(None), Some(2), Step::Hour).await, Err(HistoryError::NoSuchTorrent)));

        let top = |by_upload, limit, engines| {
            let question = TopQuestion { engines, by_upload, from: None, to: Some(Timestamp::from_ms(START_MS + 301_000)), limit };
            async { bed.app.read_top(question).await.unwrap() }
        };
        let told = |top: &Top| -> Vec<(String, u64)> {
            top.torrents.iter().map(|row| (format!("{} {}", row.engine_id, row.name), row.moved.uploaded)).collect()
        };
        let all = top(true, 10, Choice::All).await;
        assert_eq!(
            told(&all),
            [("b torrent 1".to_owned(), 1_000), ("a torrent 1".to_owned(), 100), ("b torrent 2".to_owned(), 50)]
        );
        assert_eq!(told(&top(true, 1, Choice::All).await).len(), 1);
        assert_eq!(told(&top(true, 10, Choice::One(Some("a".to_owned()))).await), [("a torrent 1".to_owned(), 100)]);
        let down = top(false, 10, Choice::All).await;
        assert_eq!(down.torrents.iter().map(|row| row.moved.downloaded).collect::<Vec<_>>(), [10, 1]);

        // An engine that is disabled keeps its history; one that is deleted loses it.
        bed.clients.drop_engine("b");
        bed.pass(5).await;
        assert_eq!(bed.totals("b", None).await, (1, 1_050));
        let mut tx = bed.db.begin_write().await.unwrap();
        qm_db::exec!(&mut tx, DELETE_ENGINE, "b").await.unwrap().exactly(1).unwrap();
        tx.commit().await.unwrap();
        let gone = bed.ask(Choice::One(Some("b".to_owned())), None, Step::Hour).await;
        assert!(matches!(gone, Err(HistoryError::NoSuchEngine)));
        bed.app.forget_old(1_000).await.unwrap();
        assert_eq!(bed.count(COUNT_TORRENTS, Step::Hour).await, 1);
        assert_eq!(told(&top(true, 10, Choice::All).await), [("a torrent 1".to_owned(), 100)]);
    }

    async fn ranges_that_make_no_sense_are_refused(db: Db) {
        let bed = Bed::new(&db, &["a"]).await;
        bed.clients.put("a", 1, 0, 0);
        bed.pass(0).await;
        let ask = |step, from, to| {
            let at = |ms| Some(Timestamp::from_ms(ms));
            let question = Question { engines: Choice::All, hash: None, step, from: at(from), to: at(to) };
            async { bed.app.read_history(question).await }
        };
        let hour = 3_600_000;
        assert!(matches!(ask(Step::Hour, hour, hour).await, Err(HistoryError::EmptyRange(..))));
        assert!(matches!(ask(Step::Hour, 2 * hour, hour).await, Err(HistoryError::EmptyRange(..))));
        let refused = ask(Step::FiveMinutes, 0, 1_000 * hour).await.unwrap_err();
        assert!(matches!(refused, HistoryError::TooManyPoints { count: 12_000, .. }), "{refused}");
        assert!(refused.to_string().contains("12000 steps of 5m"), "{refused}");
        assert!(ask(Step::Day, 0, 1_000 * hour).await.is_ok());
        assert!(ask(Step::Day, 0, i64::MAX / 4).await.is_err());
    }

    async fn torrents_that_go_keep_their_counts_and_come_back_to_them(db: Db) {
        let bed = Bed::new(&db, &["e"]).await;
        for number in [1, 2] {
            bed.clients.put("e", number, 0, 0);
        }
        bed.pass(0).await;
        bed.clients.put("e", 1, 10, 0);
        bed.pass(5).await;
        // A list that was cut says nothing of what is not in it.
        bed.clients.change("e", |client| {
            client.is_cut = true;
            client.torrents.remove(&1);
        });
        bed.pass(300).await;
        bed.clients.change("e", |client| client.is_cut = false);
        bed.pass(300).await;
        assert_eq!(bed.totals("e", Some(1)).await, (10, 0));
        let top = bed.app.read_top(TopQuestion { engines: Choice::All, by_upload: false, from: None, to: None, limit: 5 });
        let top = top.await.unwrap();
        assert!(top.torrents[0].gone_at.is_some());
        assert_eq!(top.torrents[0].name, "torrent 1");
        let now = bed.clock.ctx().now();
        bed.clients.put_so("e", 1, |torrent| (torrent.downloaded, torrent.added_at) = (7, Some(now)));
        bed.pass(300).await;
        assert_eq!(bed.totals("e", Some(1)).await, (17, 0));
        assert_eq!(bed.count(COUNT_TORRENTS, Step::Hour).await, 2);
        // Without counts it is forgotten once it is gone.
        bed.clients.change("e", |client| client.torrents.clear());
        bed.pass(300).await;
        bed.app.forget_old(1_000).await.unwrap();
        assert_eq!(bed.count(COUNT_TORRENTS, Step::Hour).await, 1);
    }

    async fn old_counts_and_too_many_are_removed(db: Db) {
        let bed = Bed::new(&db, &["e"]).await;
        for number in 0..20 {
            bed.clients.put("e", number, 0, 0);
        }
        bed.pass(0).await;
        for round in 1..=3 {
            for number in 0..20 {
                bed.clients.put("e", number, round, 0);
            }
            bed.pass(300).await;
        }
        assert_eq!(bed.count(COUNT_ROWS, Step::FiveMinutes).await, 60);
        assert_eq!(bed.count(COUNT_ROWS, Step::Day).await, 20);
        // The oldest go first, whole steps at a time.
        bed.app.forget_old(45).await.unwrap();
        assert_eq!(bed.count(COUNT_ROWS, Step::FiveMinutes).await, 40);
        assert_eq!(bed.count(COUNT_ROWS, Step::Day).await, 20);
        bed.clock.advance(Duration::from_hours(49));
        bed.app.forget_old(1_000).await.unwrap();
        assert_eq!(bed.count(COUNT_ROWS, Step::FiveMinutes).await, 0);
        assert_eq!(bed.count(COUNT_ROWS, Step::Hour).await, 20);
        bed.clock.advance(Duration::from_hours(60 * 24));
        bed.app.forget_old(1_000).await.unwrap();
        assert_eq!(bed.count(COUNT_ROWS, Step::Hour).await, 0);
        assert_eq!(bed.count(COUNT_ROWS, Step::Day).await, 20);
        assert_eq!(bed.read("e", None, Step::Day).await.moved.downloaded, 60);
        bed.clock.advance(Duration::from_hours(24 * 366 * 5));
        bed.app.forget_old(1_000).await.unwrap();
        assert_eq!(bed.count(COUNT_ROWS, Step::Day).await, 0);
    }

    async fn a_question_is_answered_by_hours_where_five_minutes_had_to_go(db: Db) {
        lose_the_first_counts(&db, &[300, 300, 3_600, 300], 1, [Step::FiveMinutes, Step::Hour]).await;
    }

    async fn a_question_is_answered_by_days_where_hours_had_to_go(db: Db) {
        lose_the_first_counts(&db, &[300, 86_400, 3_600], 10, [Step::Hour, Step::Day]).await;
    }

    async fn more_torrents_than_a_page_are_written_page_by_page(db: Db) {
        const MANY: u32 = 1_203;
        let bed = Bed::new(&db, &["e"]).await;
        for number in 0..MANY {
            bed.clients.put("e", number, 0, 0);
        }
        bed.pass(0).await;
        for number in 0..MANY {
            bed.clients.put("e", number, u64::from(number), 1);
        }
        bed.pass(300).await;
        let expected = (u64::from(MANY) * u64::from(MANY - 1) / 2, u64::from(MANY));
        assert_eq!(bed.totals("e", None).await, expected);
        assert_eq!(bed.count(COUNT_ROWS, Step::Day).await, i64::from(MANY));
        let bed = bed.restarted();
        bed.pass(300).await;
        assert_eq!(bed.totals("e", None).await, expected);
    }

    /// Whatever happens, what an engine moved is the sum over its torrents, by every step, and is what the counters say.
    async fn sums_agree_whatever_happens(db: Db) {
        let mut bed = Bed::new(&db, &["e"]).await;
        bed.in_zone("Asia/Kathmandu").await;
        let mut chance = 0x9E37_79B9_7F4A_7C15_u64;
        let mut roll = move |below: u64| {
            chance ^= chance << 13;
            chance ^= chance >> 7;
            chance ^= chance << 17;
            chance % below
        };
        let mut counters = [Counters::default(); 12];
        let mut expected = [Counters::default(); 12];
        for number in 0..12 {
            bed.clients.put("e", number, 0, 0);
        }
        bed.pass(0).await;
        for _ in 0..120 {
            for _ in 0..roll(5) {
                let number = roll(12) as usize;
                let now = &mut counters[number];
                if roll(10) == 0 {
                    // It lost its counters.
                    *now = Counters { downloaded: now.downloaded / 3, uploaded: 0 };
                } else {
                    let grown = Counters { downloaded: roll(900_000), uploaded: roll(700_000) };
                    now.downloaded += grown.downloaded;
                    now.uploaded += grown.uploaded;
                    expected[number].downloaded += grown.downloaded;
                    expected[number].uploaded += grown.uploaded;
                }
                bed.clients.put("e", number as u32, now.downloaded, now.uploaded);
                // Each change is seen by itself; otherwise a fall would hide growth.
                bed.pass(roll(40)).await;
            }
            match roll(12) {
                0 => {
                    bed.app.write_all().await.unwrap();
                    bed = bed.restarted();
                }
                1 => bed.pass(roll(20_000)).await,
                _ => bed.pass(roll(200)).await,
            }
        }
        bed.app.write_all().await.unwrap();
        let mut sum = (0, 0);
        for (number, expected) in expected.iter().enumerate() {
            // Of the last two days alone, five minutes would be kept by a server that runs upkeep.
            let told = bed.totals("e", Some(number as u32)).await;
            assert_eq!(told, (expected.downloaded, expected.uploaded), "{number}");
            sum = (sum.0 + told.0, sum.1 + told.1);
        }
        assert_eq!(bed.totals("e", None).await, sum);
    }
}
