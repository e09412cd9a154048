//! A durable consumer over a take-over: the active node is lost while it handles an event, the other one goes on where it
//! was, and each event has its effect once, in order.
//!
//! The nodes are this very test program, begun again as [`node`]: a server like any other, with a consumer of its own.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use qm_db::{Tx, all, exec, sql, value};
use qm_platform::outbox::{ConsumeError, Consumer, StoredEvent};
use qm_server::app::Brought;
use qm_testkit::binary::{Binary, play, played_by};
use qm_testkit::wait::{until, until_true};
use qm_testkit::{Api, TestDb};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{FROZEN, Place, api_on, on_postgres, open, takes_over};

/// Variable that tells a process of this program that it is a node, and at which event it stops and waits.
const HOLDS_AT: &str = "QM_TEST_NODE_HOLDS_AT";
const HOLD: usize = 12;
const NEVER: usize = 0;
/// The line that a node prints when it has written the effect of an event, before that is committed.
const NOTED: &str = "noted ";
/// The line that it prints when it waits.
const HOLDS: &str = "holds";
/// Events at each node, so many at a time.
const EVENTS: usize = 30;
const AT_ONCE: usize = 4;

sql! {
    /// Each effect under the event's id, numbered in the order of effects. The table serves as one that nobody else needs.
    NOTE = "INSERT INTO settings (key, value, updated_at) \
        SELECT CAST($1 AS TEXT), CAST($2 AS TEXT), COUNT(*) FROM settings WHERE key LIKE 'effect.%'";
    EFFECTS = "SELECT value, updated_at FROM settings WHERE key LIKE 'effect.%' ORDER BY updated_at";
    SET_ASIDE = "SELECT COUNT(*) FROM events_set_aside";
}

/// A consumer whose effect is a row an event.
struct Noting {
    holds_at: usize,
    handled: AtomicUsize,
}

#[async_trait]
impl Consumer for Noting {
    fn name(&self) -> &'static str {
        "test.noting"
    }

    fn keys(&self) -> &'static [&'static str] {
        &["security.api_key_created"]
    }

    async fn handle(&self, tx: &mut Tx, stored: &StoredEvent) -> Result<(), ConsumeError> {
        let effect = json!({ "position": stored.position, "name": stored.event.payload["keyName"] });
        let id = format!("effect.{}", stored.event.id);
        exec!(tx, NOTE, id, effect.to_string()).await?.exactly(1)?;
        println!("{NOTED}{}", stored.position);
        let handled = self.handled.fetch_add(1, Ordering::SeqCst) + 1;
        if handled == self.holds_at {
            println!("{HOLDS}");
            // Ends when the process does, or was frozen meanwhile.
            sleep(FROZEN).await;
        }
        Ok(())
    }
}

/// Not a test of its own: the program of the nodes.
#[test]
#[ignore = "a node, which the tests beside begin"]
fn node() {
    let Some(holds_at) = std::env::var(HOLDS_AT).ok().and_then(|text| text.parse().ok()) else {
        return;
    };
    play(|| Brought {
        consumers: vec![Arc::new(Noting {
            holds_at,
            handled: AtomicUsize::new(0),
        })],
        ..Brought::default()
    });
}

/// The way in which the first node is lost.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loss {
    Killed,
    /// Stopped, and woken when the other one has long taken over.
    Frozen,
}

fn command(place: &Place, db: &TestDb, holds_at: usize) -> std::process::Command {
    let mut command = played_by("nodes::consumers::node", place.dir.path(), db.url());
    command.envs(place.env()).env(HOLDS_AT, holds_at.to_string());
    command
}

/// Makes an API key, which is an event. Answers its name once that is acknowledged.
async fn publish(admin: Api, name: String) -> Option<String> {
    let body = json!({ "name": name, "scopes": ["torrents"] });
    let reply = admin.request("POST", "/api/api-keys").json(&body).send().await;
    reply.is_ok_and(|reply| reply.status == 201).then_some(name)
}

/// Publishes [`EVENTS`] events, a few at a time. Answers the names of those that were acknowledged.
async fn publish_all(admin: Api, what: &'static str) -> BTreeSet<String> {
    use futures_util::StreamExt as _;
    let names = (0..EVENTS).map(|number| publish(admin.clone(), format!("{what} {number}")));
    futures_util::stream::iter(names)
        .buffer_unordered(AT_ONCE)
        .filter_map(std::future::ready)
        .collect()
        .await
}

/// The positions of the events a node wrote effects of, whatever became of them.
fn noted_by(node: &Binary) -> Vec<usize> {
    let output = node.process().output();
    let positions = output
        .lines()
        .filter_map(|line| line.strip_prefix(NOTED)?.parse().ok());
    positions.collect()
}

fn lost_while_it_consumes(loss: Loss) {
    on_postgres(async |db| {
        let places = [Place::new("here"), Place::new("there")];
        let mut first = Binary::active_of(places[0].dir.path(), &mut command(&places[0], db, HOLD)).await;
        let second = Binary::standby_of(places[1].dir.path(), &mut command(&places[1], db, NEVER)).await;
        let admin = first.admin().await;
        let publishing = tokio::spawn(publish_all(admin.clone(), "early"));
        until_true("the consumer to be in the middle", async || {
            first.process().output().lines().any(|line| line == HOLDS)
        })
        .await;
        match loss {
            Loss::Killed => first.kill(),
            Loss::Frozen => first.process().signal("STOP"),
        }
        let since = Instant::now();
        takes_over(&second, since, "lost while it consumed").await;
        let admin = api_on(&second, &admin);
        let mut told = publish_all(admin.clone(), "late").await;
        assert_eq!(told.len(), EVENTS, "the other node takes them all");
        if loss == Loss::Frozen {
            sleep(FROZEN.saturating_sub(since.elapsed())).await;
            first.process().signal("CONT");
            let ended = first.ended().await;
            assert_eq!(ended.code(), Some(4), "{}", first.process().output());
        }
        told.extend(publishing.await.expect("no panic"));
        each_had_its_effect_once(db, &admin, &told).await;

        let (before, after) = (noted_by(&first), noted_by(&second));
        let (last, next) = (before[before.len() - 1], after[0]);
        eprintln!(
            "the first node wrote {} effects, of which those from {next} to {last} were undone; the second {}",
            before.len(),
            after.len()
        );
        assert_eq!(before.len(), HOLD, "it never got on");
        assert!(next > 1, "what the first node had committed stood");
        assert!(next <= last, "what it had in hand was handled again");
    });
}

/// Every change had one effect, in the order of the events, and every acknowledged change is among them.
async fn each_had_its_effect_once(db: &TestDb, admin: &Api, told: &BTreeSet<String>) {
    let keys = admin.get("/api/api-keys").await;
    let keys = keys.as_array().expect("a list").iter();
    let keys: BTreeSet<String> = keys
        .map(|key| key["name"].as_str().expect("a name").to_owned())
        .collect();
    let lost: Vec<&String> = told.difference(&keys).collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    let database = open(db).await;
    let effects = until("every event to have its effect", async || {
        let mut tx = database.begin_read().await.expect("a transaction");
        let rows = all!(&mut tx, (String, i64), EFFECTS).await.expect("the effects");
        (rows.len() >= keys.len()).then_some(rows)
    })
    .await;
    let effects: Vec<(Value, i64)> = effects
        .into_iter()
        .map(|(effect, number)| (serde_json::from_str(&effect).expect("JSON"), number))
        .collect();
    let numbers: Vec<i64> = effects.iter().map(|(_, number)| *number).collect();
    assert_eq!(numbers, (0..effects.len() as i64).collect::<Vec<_>>());
    let positions: Vec<i64> = effects
        .iter()
        .map(|(effect, _)| effect["position"].as_i64().expect("a position"))
        .collect();
    assert_eq!(
        positions,
        (1..=effects.len() as i64).collect::<Vec<_>>(),
        "in order, none left out"
    );
    let names: BTreeSet<String> = effects
        .iter()
        .map(|(effect, _)| effect["name"].as_str().expect("a name").to_owned())
        .collect();
    assert_eq!(
        (names, effects.len()),
        (keys.clone(), keys.len()),
        "an effect a change"
    );
    let mut tx = database.begin_read().await.expect("a transaction");
    assert_eq!(value!(&mut tx, i64, SET_ASIDE).await.expect("a count"), 0);
    drop(tx);
    database.close().await;
}

#[test]
fn the_other_node_goes_on_after_a_kill() {
    lost_while_it_consumes(Loss::Killed);
}

#[test]
fn the_other_node_goes_on_after_a_freeze() {
    lost_while_it_consumes(Loss::Frozen);
}
