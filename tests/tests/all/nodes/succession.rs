//! Two server processes on one PostgreSQL: one is active, the other stands by and takes over when the first is stopped,
//! killed, or frozen; and one that wakes up too late does nothing any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use qm_db::{Db, all, exec, sql, value};
use qm_jobs::testing;
use qm_kernel::{Ctx, Timestamp};
use qm_testkit::binary::command;
use qm_testkit::wait::{until, until_true};
use qm_testkit::{Api, TestDb};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{BOUND, FROZEN, KEYS, Place, Two, api_on, on_postgres, open, takes_over};

const JOBS: usize = 100;
/// Changes before the kill.
const CHANGES: usize = 40;
/// Old jobs: removing them takes long enough to be killed at it.
const OLD: u64 = 150_000;
/// Id of the first of these jobs, whose kind is that removal.
const FIRST_JOB: &str = "00000000-0000-4000-8000-000000000000";

sql! {
    /// Somebody waits for events, so they are stored.
    WAIT_FOR = "INSERT INTO event_consumers (name, event_keys, position, lease_owner, lease_until, attempts, retry_at, \
        last_error, seen_at) VALUES ('test', $1, 0, NULL, 0, 0, 0, NULL, $2)";
    STORED = "SELECT position, event FROM outbox ORDER BY position";
    WRITTEN = "SELECT value FROM settings WHERE value LIKE '%late %'";
    WAITING = "SELECT COUNT(*) FROM platform_jobs WHERE status = 'queued'";
    STARTS = "SELECT j.id, j.status, CAST(COUNT(e.job_id) AS BIGINT) FROM platform_jobs j \
        LEFT JOIN platform_job_events e ON e.job_id = j.id AND e.event_type = 'started' WHERE j.id <> $1 GROUP BY j.id, j.status";
}

#[test]
fn one_is_active_and_the_other_says_so_and_waits_for_its_turn() {
    on_postgres(async |db| {
        let (here, there) = (Place::new("here"), Place::new("there"));
        let mut first = here.active(db).await;
        let admin = first.admin().await;
        let health = admin.get("/api/system/health").await;
        assert_eq!(
            health["node"],
            json!({ "name": "here", "role": "active", "term": 1 })
        );

        let mut second = there.standby(db).await;
        let stranger = second.anonymous();
        let ready = stranger.send("GET", "/api/system/ready", None).await;
        assert_eq!((ready.status, ready.header("retry-after")), (503, Some("5")));
        let body = ready.json();
        assert_eq!(
            (
                &body["status"],
                &body["code"],
                &body["database"],
                &body["statusCode"]
            ),
            (&json!("standby"), &json!("standby"), &json!(true), &json!(503))
        );
        let known = api_on(&second, &admin);
        for (method, path) in [
            ("GET", "/api/engines"),
            ("GET", "/api/system/health"),
            ("GET", "/api/system/version"),
            ("POST", "/api/tags"),
            ("GET", "/nothing/is/here"),
            ("GET", "/ws/"),
        ] {
            let reply = known.send(method, path, None).await;
            let body = reply.json();
            assert_eq!(
                (reply.status, &body["code"]),
                (503, &json!("standby")),
                "{method} {path}"
            );
            assert!(
                body["message"]
                    .as_str()
                    .is_some_and(|text| text.contains("`here`")),
                "{body}"
            );
            assert_eq!(reply.header("retry-after"), Some("5"));
        }
        assert_eq!(stranger.get("/api/system/live").await["status"], "ok");
        assert_eq!(
            stranger.send("GET", "/api/system/metrics", None).await.status,
            401
        );
        let counted = known.send("GET", "/api/system/metrics", None).await.text();
        assert!(counted.contains("quartermaster_node_active 0"), "{counted}");
        let counted = admin.send("GET", "/api/system/metrics", None).await.text();
        assert!(
            counted.contains("quartermaster_node_active 1") && counted.contains("quartermaster_node_term 1")
        );
        strangers_are_refused(db, &there);

        let since = Instant::now();
        assert!(first.stop().await.success());
        takes_over(&second, since, "stopped").await;
        let health = known.get("/api/system/health").await;
        assert_eq!(
            health["node"],
            json!({ "name": "there", "role": "active", "term": 2 })
        );
        // It comes back as what it is by now.
        let first = here.standby(db).await;
        let body = first.anonymous().send("GET", "/api/engines", None).await.json();
        assert!(
            body["message"]
                .as_str()
                .is_some_and(|text| text.contains("`there`")),
            "{body}"
        );
        // A standby is stopped as any other.
        let mut first = first;
        assert!(first.stop().await.success());
        // And one that was killed comes back at once: nobody else is in its place.
        second.kill();
        let since = Instant::now();
        let again = there.active(db).await;
        assert_eq!(again.ready().await, Some(200));
        eprintln!("a killed node was back after {:?}", since.elapsed());
        let health = api_on(&again, &admin).get("/api/system/health").await;
        assert_eq!(health["node"]["term"], 3);
    });
}

/// A node with other keys could read nothing of what the first one stored.
fn strangers_are_refused(db: &TestDb, place: &Place) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let output = command(dir.path(), db.url())
        .env("JWT_ACCESS_SECRET", KEYS[0].1)
        .env("NODE_NAME", place.name)
        .output()
        .expect("the binary");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("the node `here`") && said.contains("other secrets"),
        "{said}"
    );
    assert!(
        !dir.path().join("data/secrets.json").exists(),
        "nothing is left of its own keys"
    );
}

#[test]
fn a_killed_node_is_succeeded_without_losing_or_doubling_anything() {
    on_postgres(async |db| {
        let database = open(db).await;
        prepare(&database).await;
        let Two {
            here: _here,
            there: _there,
            client: _client,
            sample,
            relay,
            admin,
            engine,
            mut first,
            second,
        } = Two::start(db, "carried over").await;
        let seen = async |api: &Api| api.torrent(&engine, &sample.hash).await.is_some();
        assert_eq!(
            relay.calls_of(&second, Instant::now() - BOUND),
            0,
            "a standby asks no client"
        );
        // Killed in the middle of jobs, and of changes that tell of themselves.
        let count: Arc<AtomicUsize> = Arc::default();
        let changing = (0..4).map(|worker| tokio::spawn(make_keys(admin.clone(), worker, count.clone())));
        let changing: Vec<_> = changing.collect();
        until_true("enough changes", || async {
            count.load(Ordering::SeqCst) >= CHANGES
        })
        .await;
        let asked = ask_for_jobs(&admin).await;
        first.kill();
        let since = Instant::now();
        let left = waiting(&database).await;
        takes_over(&second, since, "killed").await;
        eprintln!("{left} jobs were left to the next node");
        assert!(left > 0, "it was killed in the middle");
        let mut told = Vec::new();
        for worker in changing {
            let made = worker.await.expect("no panic");
            assert!(!made.is_empty(), "it was killed in the middle");
            told.extend(made);
        }
        let admin = api_on(&second, &admin);
        for number in 0..20 {
            told.push(
                make_key(&admin, &format!("later {number}"))
                    .await
                    .expect("the new node answers"),
            );
        }
        assert_eq!(
            admin.get("/api/auth/me").await["username"],
            "admin",
            "the session goes on"
        );
        until_true("the torrent to be listed again", || seen(&admin)).await;
        assert!(relay.calls_of(&second, since) > 0);
        events_are_whole(&database, &admin, &told).await;
        jobs_are_done_once(&database, &asked).await;
        database.close().await;
    });
}

async fn prepare(database: &Db) {
    database.migrate().await.expect("the migrations");
    let long_ago = Timestamp::from_secs(1_600_000_000);
    testing::fill(database, OLD, long_ago).await.expect("old jobs");
    let mut tx = database.begin_write().await.expect("a transaction");
    let keys = json!(["security.api_key_created"]).to_string();
    exec!(&mut tx, WAIT_FOR, keys, Ctx::system().now().ms())
        .await
        .expect("a consumer")
        .exactly(1)
        .expect("one");
    tx.commit().await.expect("committed");
}

/// Makes an API key. Answers its name once that is acknowledged.
async fn make_key(admin: &Api, name: &str) -> Option<String> {
    let body = json!({ "name": name, "scopes": ["torrents"] });
    let reply = admin
        .request("POST", "/api/api-keys")
        .json(&body)
        .send()
        .await
        .ok()?;
    assert_eq!(reply.status, 201, "{}", reply.text());
    Some(name.to_owned())
}

/// Makes keys until the server is gone. Answers those that were acknowledged.
async fn make_keys(admin: Api, worker: usize, count: Arc<AtomicUsize>) -> Vec<String> {
    let mut told = Vec::new();
    for number in 0.. {
        match make_key(&admin, &format!("key {worker} {number}")).await {
            Some(name) => {
                told.push(name);
                count.fetch_add(1, Ordering::SeqCst);
            }
            None => break,
        }
    }
    told
}

/// Each key has one event, the positions have no gaps, whichever node stored them, and every acknowledged key is there.
async fn events_are_whole(database: &Db, admin: &Api, told: &[String]) {
    let mut tx = database.begin_read().await.expect("a transaction");
    let rows = all!(&mut tx, (i64, String), STORED).await.expect("the events");
    drop(tx);
    let positions: Vec<i64> = rows.iter().map(|(position, _)| *position).collect();
    let expected: Vec<i64> = (1..=rows.len() as i64).collect();
    assert_eq!(positions, expected);
    let name_of = |event: &str| {
        let event: Value = serde_json::from_str(event).expect("JSON");
        event["payload"]["keyName"].as_str().expect("a name").to_owned()
    };
    let mut events: Vec<String> = rows.iter().map(|(_, event)| name_of(event)).collect();
    let keys = admin.get("/api/api-keys").await;
    let keys = keys.as_array().expect("a list").iter();
    let mut keys: Vec<String> = keys
        .map(|key| key["name"].as_str().expect("a name").to_owned())
        .collect();
    events.sort();
    keys.sort();
    assert_eq!(events, keys, "one event a change");
    let missing: Vec<&String> = told.iter().filter(|name| !keys.contains(name)).collect();
    assert!(missing.is_empty(), "acknowledged and lost: {missing:?}");
    eprintln!("{} changes with an event each over a take-over", keys.len());
}

/// The first one takes long, and of its kind one at a time is run: the others wait when the server is killed.
async fn ask_for_jobs(admin: &Api) -> Vec<String> {
    let again = async |id: &str| {
        let begun = admin.act(&format!("/api/jobs/{id}/rerun")).await;
        begun["jobId"].as_str().expect("an id").to_owned()
    };
    let first = again(FIRST_JOB).await;
    let asking = (1..JOBS).map(|_| again(&first));
    let mut asked: Vec<String> = futures_util::stream::iter(asking)
        .buffer_unordered(8)
        .collect()
        .await;
    asked.push(first);
    asked
}

/// The number of jobs that nobody has begun.
async fn waiting(database: &Db) -> i64 {
    let mut tx = database.begin_read().await.expect("a transaction");
    value!(&mut tx, i64, WAITING).await.expect("a count")
}

/// Every job has ended, and was begun once; at most the one that was cut off says so.
async fn jobs_are_done_once(database: &Db, asked: &[String]) {
    let jobs = until("all jobs to end", || async {
        let mut tx = database.begin_read().await.ok()?;
        let jobs = all!(&mut tx, (String, String, i64), STARTS, FIRST_JOB)
            .await
            .ok()?;
        let ended = |status: &str| ["completed", "failed"].contains(&status);
        jobs.iter().all(|(_, status, _)| ended(status)).then_some(jobs)
    })
    .await;
    for id in asked {
        let job = jobs.iter().find(|(found, ..)| found == id);
        let (_, status, starts) = job.unwrap_or_else(|| panic!("job {id} is lost"));
        assert_eq!(*starts, 1, "job {id} was begun {starts} times and is {status}");
    }
    let cut_off = jobs.iter().filter(|(_, status, _)| status == "failed").count();
    eprintln!("{} jobs over a take-over, {cut_off} of them cut off", asked.len());
    assert!(cut_off <= 1, "one at a time is run of this kind");
}

#[test]
fn a_node_that_wakes_up_after_its_succession_does_nothing() {
    on_postgres(async |db| {
        let Two {
            here,
            there: _there,
            client,
            sample,
            relay,
            admin,
            engine,
            mut first,
            second,
        } = Two::start(db, "left alone").await;
        let seen = async |api: &Api| api.torrent(&engine, &sample.hash).await.is_some();

        first.process().signal("STOP");
        let since = Instant::now();
        // The kernel takes these for a process that does not run: they wait for it to wake up.
        let late: Vec<_> = (0..20)
            .map(|number| {
                let admin = admin.clone();
                let command = format!("/api/torrents/{}/pause?engineId={engine}", sample.hash);
                tokio::spawn(async move {
                    let setting = "/api/settings/general.theme";
                    let request = match number % 2 {
                        0 => admin
                            .request("PUT", setting)
                            .json(&json!({ "value": format!("late {number}") })),
                        _ => admin.request("POST", &command),
                    };
                    request.send().await.map(|reply| reply.status)
                })
            })
            .collect();
        takes_over(&second, since, "frozen").await;
        let admin = api_on(&second, &admin);
        until_true("the torrent to be listed again", || seen(&admin)).await;
        let frozen = std::env::var("QM_FROZEN_SECS")
            .ok()
            .and_then(|text| text.parse().ok());
        sleep(
            frozen
                .map_or(FROZEN, Duration::from_secs)
                .saturating_sub(since.elapsed()),
        )
        .await;
        assert!(late.iter().all(|request| !request.is_finished()), "it is frozen");

        let awake = Instant::now();
        first.process().signal("CONT");
        for request in late {
            // Refused, or cut off by the end of the process.
            let status = request.await.expect("no panic").unwrap_or(503);
            assert_eq!(status, 503);
        }
        let ended = first.ended().await;
        assert_eq!(ended.code(), Some(4), "{}", first.process().output());
        assert!(first.process().output().contains("another node has taken over"));
        assert_eq!(
            relay.calls_of(&first, awake),
            0,
            "it asked the client for nothing"
        );
        assert!(
            relay.calls_of(&second, since) > 0,
            "the other one did, as it should"
        );
        assert_eq!(
            client.get("d.is_active", &sample.hash).await,
            json!(1),
            "nobody paused it"
        );
        let database = open(db).await;
        let mut tx = database.begin_read().await.expect("a transaction");
        let written = all!(&mut tx, (String,), WRITTEN).await.expect("the settings");
        assert!(written.is_empty(), "{written:?}");
        drop(tx);
        database.close().await;
        // Started again, as a service manager does, it stands by.
        let first = here.standby(db).await;
        assert_eq!(first.ready().await, Some(503));
        assert_eq!(second.ready().await, Some(200));
    });
}
