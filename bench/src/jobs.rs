//! 10,000 tiny jobs in the database: jobs stored per second in single transactions, and jobs run per second
//! by two workers.

use std::time::{Duration, Instant};

use qm_db::testing::Scratch;
use qm_db::{Backend, Db};
use qm_jobs::testing::{Runs, counting, worker};
use qm_jobs::{Jobs, NewJob, Pace};
use serde_json::json;

use crate::report::{Report, median};

const JOBS: usize = 10_000;
/// Jobs stored one by one.
const SUBMITTED: usize = 500;
/// Concurrent jobs per worker: the default of the setting, and its maximum.
const PLACES: [usize; 2] = [4, 64];
const TYPE: &str = "bench.count";

pub async fn measure(report: &mut Report) {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        match Scratch::new(backend).await {
            Some(scratch) => {
                let db = scratch.open().await;
                for places in PLACES {
                    run(report, backend, &db, places).await;
                }
                latency(report, backend, &db).await;
                db.close().await;
                scratch.remove().await;
            }
            None => report.add(format!("jobs, {backend:?}"), "no such server on this machine", ""),
        }
    }
}

fn pace(places: usize) -> Pace {
    Pace {
        places: Some(places),
        ..Pace::default()
    }
}

/// Two workers run all stored jobs, each once; otherwise there is no figure.
async fn run(report: &mut Report, backend: Backend, db: &Db, places: usize) {
    let runs = Runs::default();
    let workers = [worker(db, pace(places)), worker(db, pace(places))];
    for (jobs, _) in &workers {
        jobs.register(counting(TYPE, &runs));
    }
    let mut tx = db.begin_write().await.expect("the database");
    for _ in 0..JOBS {
        let _ = workers[0]
            .0
            .enqueue(&mut tx, NewJob::new(TYPE, json!({})))
            .await
            .expect("the job is taken");
    }
    tx.commit().await.expect("the jobs stand");
    let begun = Instant::now();
    for (jobs, _) in &workers {
        jobs.start().await.expect("a start");
    }
    while workers.iter().any(|(jobs, _)| jobs.running() > 0) || ran(&runs) < JOBS {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let took = begun.elapsed().as_secs_f64();
    for (jobs, background) in &workers {
        jobs.shutdown().await;
        background.shutdown().await;
    }
    let once = runs
        .lock()
        .is_ok_and(|runs| runs.values().all(|times| *times == 1));
    let figure = if once {
        format!("{:.0}/s", JOBS as f64 / took)
    } else {
        "some were run twice".to_owned()
    };
    report.add(
        format!("jobs, {backend:?}: {JOBS} by two workers of {places} places, each once"),
        figure,
        "",
    );
}

fn ran(runs: &Runs) -> usize {
    runs.lock().map_or(0, |runs| runs.len())
}

/// Time from the request of a job to its end, one at a time.
async fn latency(report: &mut Report, backend: Backend, db: &Db) {
    let runs = Runs::default();
    let (jobs, background) = worker(db, pace(4));
    jobs.register(counting(TYPE, &runs));
    jobs.start().await.expect("a start");
    let (mut stored, mut ended) = (Vec::new(), Vec::new());
    for number in 1..=SUBMITTED {
        let begun = Instant::now();
        jobs.submit(NewJob::new(TYPE, json!({})))
            .await
            .expect("the job is taken");
        stored.push(begun.elapsed().as_secs_f64() * 1000.0);
        idle_after(&jobs, &runs, number).await;
        ended.push(begun.elapsed().as_secs_f64() * 1000.0);
    }
    jobs.shutdown().await;
    background.shutdown().await;
    ended.sort_by(f64::total_cmp);
    let late = ended[ended.len() * 99 / 100];
    report.add(
        format!("jobs, {backend:?}: one at a time"),
        format!(
            "stored in {:.2} ms, done in {:.2} ms, p99 {late:.2} ms",
            median(stored),
            median(ended)
        ),
        "",
    );
}

async fn idle_after(jobs: &Jobs, runs: &Runs, number: usize) {
    while ran(runs) < number || jobs.running() > 0 {
        tokio::time::sleep(Duration::from_micros(200)).await;
    }
}
