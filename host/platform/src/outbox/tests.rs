//! Tests of consumers on both databases: received events, events set aside, competing servers, pruning.
//! Crashes and many writers are in `tests/outbox`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::collections::BTreeMap;
use std::sync::Mutex;

use prometheus::Registry;
use qm_db::{all, exec, sql, value};
use qm_kernel::Timestamp;
use qm_kernel::event::{Cause, Event as _, EventSpec};
use qm_test_base::frozen;

use super::repo::Claim;
use super::upkeep::Upkeep;
use super::*;
use crate::testing::Wired;

qm_kernel::events! {
    struct Counted: "test.counted" about "thing" {
        number: i64,
    }

    struct Passing: "test.passing" about "thing" {}
}

sql! {
    EFFECT = "INSERT INTO settings (key, value, updated_at) VALUES ($1, '1', 1) \
        ON CONFLICT (key) DO UPDATE SET updated_at = settings.updated_at + 1";
    EFFECTS = "SELECT key, updated_at FROM settings ORDER BY key";
    ASIDE = "SELECT event_id, error, attempts FROM events_set_aside WHERE consumer = $1 ORDER BY position";
    STORED = "SELECT COUNT(*) FROM outbox";
    /// Last assigned position, counting pruned events too.
    GIVEN = "SELECT last FROM outbox_counter";
    WINDOWS = "SELECT COUNT(*) FROM event_windows";
    ADD_WINDOW = "INSERT INTO event_windows (occurrence, ends_at) VALUES ($1, $2)";
    BAD = "INSERT INTO settings (key, value, updated_at) VALUES ('twice', '1', 1)";
}

const KINDS: &[EventSpec] = &[
    EventSpec::for_event::<Counted>(),
    EventSpec::for_event::<Passing>(),
];
const WAIT: Duration = Duration::from_mins(1);
const BRISK: Patience = Patience {
    poll: Duration::from_millis(20),
    idle_poll: Duration::from_millis(20),
    batch_delay: Duration::from_millis(1),
    lease: Duration::from_mins(1),
    handling: Duration::from_millis(300),
    attempts: 3,
    pause: Duration::from_millis(1),
};

/// Behaviour of a consumer at one event.
#[derive(Clone, Copy)]
enum Doing {
    Panic,
    Hang,
    Wait(Duration),
    /// Fails this often, and then succeeds.
    Fail(usize),
    /// Continues after a failed statement.
    Overlook,
}

/// Counts every event it handles, in its transaction, and records each call.
struct Counter {
    name: &'static str,
    keys: &'static [&'static str],
    doing: BTreeMap<i64, Doing>,
    calls: Mutex<Vec<i64>>,
}

impl Counter {
    fn new(name: &'static str, doing: impl IntoIterator<Item = (i64, Doing)>) -> Arc<Self> {
        Arc::new(Self {
            name,
            keys: &[Counted::KEY],
            doing: doing.into_iter().collect(),
            calls: Mutex::default(),
        })
    }

    fn calls(&self) -> Vec<i64> {
        self.calls.lock().unwrap().clone()
    }
}

#[async_trait]
impl Consumer for Counter {
    fn name(&self) -> &'static str {
        self.name
    }

    fn keys(&self) -> &'static [&'static str] {
        self.keys
    }

    async fn handle(&self, tx: &mut Tx, event: &StoredEvent) -> Result<(), ConsumeError> {
        let number = event.event.read::<Counted>().expect("its key")?.number;
        let before = {
            let mut calls = self.calls.lock().unwrap();
            calls.push(number);
            calls.iter().filter(|call| **call == number).count() - 1
        };
        exec!(tx, EFFECT, format!("{}/{number:03}", self.name))
            .await?
            .exactly(1)?;
        match self.doing.get(&number) {
            None => Ok(()),
            Some(Doing::Panic) => panic!("on {number}"),
            Some(Doing::Hang) => std::future::pending().await,
            Some(Doing::Wait(time)) => {
                tokio::time::sleep(*time).await;
                Ok(())
            }
            Some(Doing::Fail(times)) if before < *times => Err(ConsumeError::Failed(format!("not {number}"))),
            Some(Doing::Fail(_)) => Ok(()),
            Some(Doing::Overlook) => {
                drop(exec!(&mut *tx, BAD).await);
                drop(exec!(&mut *tx, BAD).await);
                Ok(())
            }
        }
    }
}

/// One server on a database.
struct Server {
    db: Db,
    ctx: Ctx,
    outbox: Outbox,
    background: Background,
    metrics: Registry,
}

impl Server {
    async fn new(db: &Db, patience: Patience) -> Server {
        Self::with_clock(db, patience, Ctx::system()).await
    }

    async fn with_clock(db: &Db, patience: Patience, ctx: Ctx) -> Server {
        let Wired {
            db,
            outbox,
            background,
            metrics,
            ..
        } = Wired::new(db, &ctx, KINDS, patience).await;
        Server {
            db,
            ctx,
            outbox,
            background,
            metrics,
        }
    }

    async fn start(&self, consumer: &Arc<Counter>) {
        let consumers: Vec<Arc<dyn Consumer>> = vec![consumer.clone()];
        self.outbox.start(consumers, &self.background).await.unwrap();
    }

    async fn publish<E: qm_kernel::event::Event>(&self, events: &[E]) {
        let mut tx = self.db.begin_write().await.unwrap();
        for event in events {
            tx.publish(DomainEvent::new(&self.ctx, Cause::NONE, "a", event));
        }
        tx.commit().await.unwrap();
    }

    async fn count(&self, numbers: impl IntoIterator<Item = i64>) {
        for number in numbers {
            self.publish(&[Counted { number }]).await;
        }
    }

    fn metric(&self, line: &str) -> bool {
        prometheus::TextEncoder::new()
            .encode_to_string(&self.metrics.gather())
            .unwrap()
            .contains(line)
    }
}

async fn effects(db: &Db) -> Vec<(String, i64)> {
    let mut tx = db.begin_read().await.unwrap();
    all!(&mut tx, (String, i64), EFFECTS).await.unwrap()
}

/// Waits until there are this many effects, and asserts that each is unique.
async fn once(db: &Db, count: usize) -> Vec<String> {
    until("the effects", || async { effects(db).await.len() >= count }).await;
    let effects = effects(db).await;
    assert!(effects.iter().all(|(_, times)| *times == 1), "{effects:?}");
    assert_eq!(effects.len(), count, "{effects:?}");
    effects.into_iter().map(|(key, _)| key).collect()
}

async fn until<F: Future<Output = bool>>(what: &str, mut is_so: impl FnMut() -> F) {
    let wait = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(
        tokio::time::timeout(WAIT, wait).await.is_ok(),
        "{what}: waited in vain"
    );
}

async fn aside(db: &Db, consumer: &str) -> Vec<(String, String, i64)> {
    let mut tx = db.begin_read().await.unwrap();
    all!(&mut tx, (String, String, i64), ASIDE, consumer)
        .await
        .unwrap()
}

async fn rows(db: &Db, statement: qm_db::Statement) -> i64 {
    value!(&mut db.begin_read().await.unwrap(), i64, statement)
        .await
        .unwrap()
}

qm_db::db_test! {
    async fn a_consumer_gets_its_events_in_order_also_those_of_while_it_was_away(db: Db) {
        // A page that takes too long on a busy machine would be repeated singly.
        let patient = Patience { handling: WAIT, ..BRISK };
        let first = Server::new(&db, patient).await;
        first.count([1]).await;
        let consumer = Counter::new("counter", []);
        first.start(&consumer).await;
        first.count(2..=5).await;
        once(&db, 4).await;
        assert_eq!(consumer.calls(), [2, 3, 4, 5], "it begins with what comes after it");
        first.background.shutdown().await;
        first.count(6..=150).await;

        let second = Server::new(&db, patient).await;
        let consumer = Counter::new("counter", []);
        second.start(&consumer).await;
        once(&db, 149).await;
        second.count(151..=300).await;
        once(&db, 299).await;
        assert_eq!(consumer.calls(), (6..=300).collect::<Vec<_>>());
        until("nothing to be left", || async { second.metric("quartermaster_consumer_events_behind{consumer=\"counter\"} 0") }).await;
        assert!(second.metric("quartermaster_consumer_events_handled_total{consumer=\"counter\"} 295"));
        second.background.shutdown().await;
    }

    async fn what_nobody_wants_is_not_stored_and_a_rollback_stores_nothing(db: Db) {
        let server = Server::new(&db, BRISK).await;
        server.start(&Counter::new("counter", [])).await;
        server.publish(&[Passing {}]).await;
        let mut tx = server.db.begin_write().await.unwrap();
        tx.publish(DomainEvent::new(&server.ctx, Cause::NONE, "a", &Counted { number: 1 }));
        drop(tx);
        assert_eq!(rows(&db, GIVEN).await, 0);
        server.db.tell(DomainEvent::new(&server.ctx, Cause::NONE, "a", &Counted { number: 2 })).await;
        assert_eq!(once(&db, 1).await, ["counter/002"]);
        assert_eq!(rows(&db, GIVEN).await, 1);
        server.background.shutdown().await;
    }

    async fn what_fails_too_often_is_set_aside_and_the_rest_goes_on(db: Db) {
        let server = Server::new(&db, BRISK).await;
        let doing = [
            (2, Doing::Panic),
            (4, Doing::Fail(2)),
            (5, Doing::Hang),
            (7, Doing::Fail(usize::MAX)),
            (8, Doing::Overlook),
        ];
        let consumer = Counter::new("counter", doing);
        server.start(&consumer).await;
        let numbers: Vec<Counted> = (1..=9).map(|number| Counted { number }).collect();
        server.publish(&numbers).await;
        let done = once(&db, 5).await;
        assert_eq!(done, ["counter/001", "counter/003", "counter/004", "counter/006", "counter/009"]);
        let aside = aside(&db, "counter").await;
        let why: Vec<(&str, i64)> = aside.iter().map(|(_, error, attempts)| (&**error, *attempts)).collect();
        let overlooked = "the transaction was given up after an error";
        let expected = [("it panicked: on 2", 3), ("it took longer than 0.3 s", 3), ("not 7", 3), (overlooked, 3)];
        assert_eq!(why, expected);
        assert!(aside.iter().all(|(id, ..)| !id.is_empty()));
        let figure = "quartermaster_consumer_events_set_aside{consumer=\"counter\"} 4";
        until("the metric", || async { server.metric(figure) }).await;
        // Another start shows it too.
        let other = Server::new(&db, BRISK).await;
        other.start(&Counter::new("counter", [])).await;
        assert!(other.metric(figure));
        other.background.shutdown().await;
        server.background.shutdown().await;
    }

    async fn an_event_that_ends_the_server_each_time_is_set_aside(db: Db) {
        let server = Server::new(&db, BRISK).await;
        server.outbox.start(vec![Counter::new("counter", [])], &server.background).await.unwrap();
        server.background.shutdown().await;
        server.count([1, 2]).await;
        // State after three servers that crashed over the first event.
        let mut tx = server.db.begin_write().await.unwrap();
        let now = server.ctx.now();
        let claim = Claim { consumer: "counter", position: 0, owner: "dead", now, until: now };
        assert!(claim.note(&mut tx, 3, now, None).await.unwrap());
        tx.commit().await.unwrap();

        let next = Server::new(&db, BRISK).await;
        let consumer = Counter::new("counter", []);
        next.start(&consumer).await;
        assert_eq!(once(&db, 1).await, ["counter/002"]);
        assert_eq!(consumer.calls(), [2]);
        let aside = aside(&db, "counter").await;
        assert_eq!((aside.len(), &*aside[0].1), (1, "the server ended while it was being handled"));
        next.background.shutdown().await;
    }

    async fn an_attempt_that_a_stop_cuts_off_does_not_count(db: Db) {
        let patient = Patience { handling: WAIT, ..BRISK };
        for _ in 0..4 {
            let server = Server::new(&db, patient).await;
            let consumer = Counter::new("counter", [(1, Doing::Hang)]);
            server.start(&consumer).await;
            if rows(&db, GIVEN).await == 0 {
                server.count([1]).await;
            }
            until("it to be begun", || async { !consumer.calls().is_empty() }).await;
            server.background.shutdown().await;
        }
        let mut tx = db.begin_read().await.unwrap();
        let standing = repo::standing(&mut tx, "counter").await.unwrap().unwrap();
        assert_eq!((standing.position, standing.attempts, standing.lease_until), (0, 0, 0));
        drop(tx);
        let server = Server::new(&db, BRISK).await;
        server.start(&Counter::new("counter", [])).await;
        assert_eq!(once(&db, 1).await, ["counter/001"]);
        assert!(aside(&db, "counter").await.is_empty());
        server.background.shutdown().await;
    }

    async fn a_page_takes_no_longer_than_one_event_may(db: Db) {
        let server = Server::new(&db, BRISK).await;
        let pause = BRISK.handling / 3;
        let consumer = Counter::new("counter", (2..=9).map(|number| (number, Doing::Wait(pause))));
        server.start(&consumer).await;
        server.count([1]).await;
        once(&db, 1).await;
        let numbers: Vec<Counted> = (2..=9).map(|number| Counted { number }).collect();
        server.publish(&numbers).await;
        once(&db, 9).await;
        assert!(consumer.calls().len() > 9, "together they take too long: {:?}", consumer.calls());
        assert!(aside(&db, "counter").await.is_empty());
        server.background.shutdown().await;
    }

    async fn of_two_servers_one_consumes_and_the_other_takes_over(db: Db) {
        let (one, two) = (Server::new(&db, BRISK).await, Server::new(&db, BRISK).await);
        let (ones, twos) = (Counter::new("counter", []), Counter::new("counter", []));
        one.start(&ones).await;
        two.start(&twos).await;
        one.count([1]).await;
        once(&db, 1).await;
        let (owner, other) = if ones.calls().is_empty() { ((&two, &twos), (&one, &ones)) } else { ((&one, &ones), (&two, &twos)) };
        // Either server publishes: the lease stays with its owner.
        for number in (2..=40).step_by(2) {
            owner.0.count([number]).await;
            other.0.count([number + 1]).await;
        }
        once(&db, 41).await;
        assert_eq!(owner.1.calls(), (1..=41).collect::<Vec<_>>());
        assert!(other.1.calls().is_empty());
        // A stopping server releases the lease at once, long before it ends.
        owner.0.background.shutdown().await;
        other.0.count(42..=60).await;
        once(&db, 60).await;
        assert_eq!(other.1.calls(), (42..=60).collect::<Vec<_>>());
        other.0.background.shutdown().await;
    }

    async fn moving_on_needs_the_lease_and_the_place(db: Db) {
        let (hands, ctx) = frozen();
        let server = Server::with_clock(&db, BRISK, ctx.clone()).await;
        server.outbox.register(&*Counter::new("counter", [])).await.unwrap();
        let claim = |owner: &'static str, position| Claim {
            consumer: "counter",
            position,
            owner,
            now: ctx.now(),
            until: ctx.now().plus(BRISK.lease),
        };
        let advance = async |claim: Claim<'_>, to| {
            let mut tx = db.begin_write().await.unwrap();
            let moved = claim.advance(&mut tx, to).await.unwrap();
            tx.commit().await.unwrap();
            moved
        };
        assert!(advance(claim("a", 0), 1).await);
        assert!(!advance(claim("a", 0), 1).await, "it has moved on");
        assert!(!advance(claim("b", 1), 2).await, "the lease is another's");
        assert!(advance(claim("a", 1), 2).await, "and not its own");
        hands.advance(BRISK.lease);
        assert!(advance(claim("b", 2), 3).await, "the lease has ended");
        assert!(!advance(claim("a", 3), 4).await, "who had it has it no more");
        let mut tx = db.begin_write().await.unwrap();
        repo::release(&mut tx, "counter", "a").await.unwrap();
        tx.commit().await.unwrap();
        assert!(!advance(claim("a", 3), 4).await, "nobody gives away another's");
        let mut tx = db.begin_write().await.unwrap();
        repo::release(&mut tx, "counter", "b").await.unwrap();
        tx.commit().await.unwrap();
        assert!(advance(claim("a", 3), 4).await);
    }

    async fn what_everybody_has_passed_goes(db: Db) {
        let (hands, ctx) = frozen();
        let server = Server::with_clock(&db, BRISK, ctx.clone()).await;
        let (quick, slow) = (Counter::new("quick", []), Counter::new("slow", []));
        for consumer in [&quick, &slow] {
            server.outbox.bus.keep(consumer.keys.iter().map(|key| (*key).to_owned()));
            server.outbox.register(&**consumer).await.unwrap();
        }
        server.count(1..=10).await;
        let upkeep = Upkeep::new(server.outbox.clone(), vec!["quick"]);
        let advance = async |consumer: &'static str, from, to| {
            let claim = Claim { consumer, position: from, owner: "a", now: ctx.now(), until: ctx.now() };
            let mut tx = db.begin_write().await.unwrap();
            assert!(claim.advance(&mut tx, to).await.unwrap());
            tx.commit().await.unwrap();
        };
        upkeep.once().await.unwrap();
        assert_eq!(rows(&db, STORED).await, 10);
        advance("quick", 0, 10).await;
        advance("slow", 0, 4).await;
        upkeep.once().await.unwrap();
        assert_eq!(rows(&db, STORED).await, 6, "the slow one still needs them");
        assert!(server.metric("quartermaster_outbox_events 6"));
        // No server has the slow consumer any more.
        hands.advance(FORGOTTEN);
        upkeep.once().await.unwrap();
        assert_eq!(rows(&db, STORED).await, 6);
        hands.advance(Duration::from_millis(1));
        upkeep.once().await.unwrap();
        assert_eq!(rows(&db, STORED).await, 0);
        let mut tx = db.begin_read().await.unwrap();
        assert!(repo::standing(&mut tx, "quick").await.unwrap().is_some(), "this server has that one");
        assert!(repo::standing(&mut tx, "slow").await.unwrap().is_none());
        drop(tx);

        let mut tx = db.begin_write().await.unwrap();
        for (window, ends) in [("ended", 0), ("runs", 1)] {
            exec!(&mut tx, ADD_WINDOW, window, ctx.now().ms() + ends).await.unwrap().exactly(1).unwrap();
        }
        tx.commit().await.unwrap();
        upkeep.once().await.unwrap();
        assert_eq!(rows(&db, WINDOWS).await, 1);
        hands.advance(Duration::from_millis(1));
        upkeep.once().await.unwrap();
        assert_eq!(rows(&db, WINDOWS).await, 0);
    }

    async fn a_consumer_that_was_forgotten_begins_anew(db: Db) {
        let server = Server::new(&db, BRISK).await;
        let consumer = Counter::new("counter", []);
        server.start(&consumer).await;
        server.count([1]).await;
        once(&db, 1).await;
        let mut tx = db.begin_write().await.unwrap();
        assert!(repo::forget(&mut tx, "counter", Timestamp::from_ms(i64::MAX)).await.unwrap());
        tx.commit().await.unwrap();
        until("it to be there again", || async {
            let mut tx = db.begin_read().await.unwrap();
            repo::standing(&mut tx, "counter").await.unwrap().is_some()
        })
        .await;
        server.count([2]).await;
        once(&db, 2).await;
        server.background.shutdown().await;
    }

    async fn another_versions_consumer_keeps_its_events(db: Db) {
        let newer = Server::new(&db, BRISK).await;
        newer.start(&Counter::new("counter", [])).await;
        newer.background.shutdown().await;
        // An earlier version without this consumer.
        let earlier = Server::new(&db, BRISK).await;
        earlier.outbox.start(Vec::new(), &earlier.background).await.unwrap();
        earlier.count([1]).await;
        earlier.background.shutdown().await;
        let newer = Server::new(&db, BRISK).await;
        newer.start(&Counter::new("counter", [])).await;
        assert_eq!(once(&db, 1).await, ["counter/001"]);
        newer.background.shutdown().await;

        // A consumer that is added while another version runs.
        let running = Server::new(&db, BRISK).await;
        let late = Counter { name: "late", keys: &[Passing::KEY], doing: BTreeMap::new(), calls: Mutex::default() };
        newer.outbox.register(&late).await.unwrap();
        running.publish(&[Passing {}]).await;
        Upkeep::new(running.outbox.clone(), Vec::new()).once().await.unwrap();
        assert_eq!(rows(&db, STORED).await, 0, "nobody it knew waited for it");
        running.publish(&[Passing {}]).await;
        assert_eq!(rows(&db, STORED).await, 1, "from the next upkeep on");
    }

    async fn an_event_is_handled_at_once_whatever_was_passed_before_it(db: Db) {
        let seldom = Duration::from_mins(10);
        let server = Server::new(&db, Patience { poll: seldom, idle_poll: seldom, ..BRISK }).await;
        let consumer = Counter::new("counter", []);
        server.outbox.bus.keep([Passing::KEY.to_owned()]);
        server.start(&consumer).await;
        for number in 1..=3 {
            server.publish(&[Passing {}, Passing {}]).await;
            server.count([number]).await;
            server.publish(&[Passing {}]).await;
            once(&db, number as usize).await;
        }
        server.background.shutdown().await;
    }

    async fn what_follows_a_page_closely_is_one_page(db: Db) {
        let patience = Patience { batch_delay: Duration::from_secs(1), ..BRISK };
        let server = Server::new(&db, patience).await;
        // After a failure all events of the page are handled again.
        let consumer = Counter::new("counter", [(3, Doing::Fail(1))]);
        server.start(&consumer).await;
        until("it to see that nothing waits", || async { server.metric("events_behind{consumer=\"counter\"} 0") }).await;
        server.count([1]).await;
        once(&db, 1).await;
        server.count([2, 3]).await;
        once(&db, 3).await;
        assert_eq!(consumer.calls(), [1, 2, 3, 2, 3]);
        server.background.shutdown().await;
    }

    async fn events_of_others_are_passed_without_a_write_each(db: Db) {
        let server = Server::new(&db, BRISK).await;
        let consumer = Counter::new("counter", []);
        server.outbox.bus.keep([Passing::KEY.to_owned()]);
        server.start(&consumer).await;
        let place = async || {
            let mut tx = db.begin_read().await.unwrap();
            repo::standing(&mut tx, "counter").await.unwrap().unwrap().position
        };
        let behind = |events: i64| format!("quartermaster_consumer_events_behind{{consumer=\"counter\"}} {events}");
        for _ in 0..PAGE - 1 {
            server.publish(&[Passing {}]).await;
        }
        until("it to pass them", || async { server.metric(&behind(0)) && rows(&db, STORED).await == PAGE as i64 - 1 }).await;
        assert_eq!(place().await, 0);
        server.publish(&[Passing {}]).await;
        until("its place to be written down", || async { place().await == PAGE as i64 }).await;
        server.publish(&[Passing {}]).await;
        server.count([1]).await;
        once(&db, 1).await;
        assert_eq!(place().await, PAGE as i64 + 2);
        server.background.shutdown().await;
    }
}

#[test]
fn pauses_grow_up_to_a_minute() {
    let pauses: Vec<u64> = (1..=9)
        .map(|attempt| super::reader::pause_after(attempt, Duration::from_secs(1)).as_secs())
        .collect();
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    assert_eq!(
        super::reader::pause_after(i64::MAX, Duration::from_secs(1)).as_secs(),
        60
    );
}
