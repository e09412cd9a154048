//! Two processes work off one PostgreSQL database, and one of them is killed: every job is done once, except
//! those that the killed process was running, and none is stuck. The processes are this test program, started
//! again as [`worker`].

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use qm_db::testing::Scratch;
use qm_db::{Backend, Db, sql};
use qm_jobs::{Done, JobContext, JobError, JobHandler, JobType, Jobs, NewJob, Pace, testing};
use serde_json::json;

const TYPE: &str = "test.count";
const JOBS: usize = 2000;
/// Jobs of one process at once: as many may be under way when it dies.
const PLACES: usize = 16;
/// Environment variable with the database URL; tells a process of this program to be a worker.
const URL: &str = "QM_JOBS_WORKER_URL";

sql! {
    COUNT_RUN = "INSERT INTO settings (key, value, updated_at) VALUES ($1, '1', 0) \
        ON CONFLICT (key) DO UPDATE SET updated_at = settings.updated_at + 1";
    RUNS = "SELECT key, updated_at + 1 FROM settings WHERE key LIKE 'ran %'";
    ENDED = "SELECT status, attempt, COUNT(*) FROM platform_jobs GROUP BY status, attempt";
    COMPLETED_TWICE = "SELECT COUNT(*) FROM (SELECT job_id FROM platform_job_events WHERE event_type = 'completed' \
        GROUP BY job_id HAVING COUNT(*) > 1) twice";
}

/// Counts each run of each job, in a transaction of its own like a real effect.
struct Counting(Db);

#[async_trait]
impl JobHandler for Counting {
    async fn run(&self, job: &JobContext) -> Result<Done, JobError> {
        let mut tx = self.0.begin_write().await?;
        qm_db::exec!(&mut tx, COUNT_RUN, format!("ran {}", job.id()))
            .await?
            .exactly(1)?;
        tx.commit().await?;
        Ok(Done::nothing())
    }
}

fn jobs_of(db: &Db) -> Jobs {
    let pace = Pace {
        lease: Duration::from_secs(6),
        places: Some(PLACES),
        ..Pace::default()
    };
    let (jobs, _) = testing::worker(db, pace);
    jobs.register(JobType {
        max_attempts: 3,
        handler: Arc::new(Counting(db.clone())),
        ..testing::scripted(TYPE, None)
    });
    jobs
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
}

/// Body of the child processes of [`a_worker_that_is_killed_costs_no_job`]; passes at once without the
/// variable.
#[test]
fn worker() {
    let Ok(url) = std::env::var(URL) else { return };
    runtime().block_on(async {
        let db = Db::open(&url).await.expect("the database");
        let jobs = jobs_of(&db);
        jobs.start().await.expect("a start");
        // Until it is killed, or whoever started it has gone.
        let mut end = String::new();
        let _ = tokio::task::spawn_blocking(move || std::io::stdin().read_line(&mut end)).await;
    });
    std::process::exit(0);
}

fn start_worker(url: &str) -> Child {
    Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "worker", "--nocapture"])
        .env(URL, url)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("this program again")
}

/// Number of jobs by (status, attempt).
async fn ended(db: &Db) -> BTreeMap<(String, i64), i64> {
    let mut tx = db.begin_read().await.expect("the database");
    let rows = qm_db::all!(&mut tx, (String, i64, i64), ENDED)
        .await
        .expect("the jobs");
    rows.into_iter()
        .map(|(status, attempt, count)| ((status, attempt), count))
        .collect()
}

async fn completed(db: &Db) -> i64 {
    let ended = ended(db).await;
    ended
        .iter()
        .filter(|((status, _), _)| status == "completed")
        .map(|(_, count)| count)
        .sum()
}

async fn until_completed(db: &Db, least: i64) {
    let begun = Instant::now();
    loop {
        let done = completed(db).await;
        if done >= least {
            return;
        }
        assert!(
            begun.elapsed() < Duration::from_mins(2),
            "{done} of {least} jobs are done: {:?}",
            ended(db).await
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[test]
fn a_worker_that_is_killed_costs_no_job() {
    runtime().block_on(async {
        let Some(scratch) = Scratch::new(Backend::Postgres).await else {
            return;
        };
        let db = scratch.open().await;
        let jobs = jobs_of(&db);
        let mut tx = db.begin_write().await.expect("the database");
        for _ in 0..JOBS {
            let _ = jobs
                .enqueue(&mut tx, NewJob::new(TYPE, json!({})))
                .await
                .expect("the job is taken");
        }
        tx.commit().await.expect("the jobs stand");
        let (mut one, mut other) = (start_worker(scratch.url()), start_worker(scratch.url()));
        until_completed(&db, JOBS as i64 / 4).await;
        one.kill().expect("it was running");
        let _ = one.wait();
        until_completed(&db, JOBS as i64).await;
        other.kill().expect("it was running");
        let _ = other.wait();
        judge(&db).await;
        db.close().await;
        scratch.remove().await;
    });
}

async fn judge(db: &Db) {
    let ended = ended(db).await;
    let (mut first, mut again) = (0, 0);
    for ((status, attempt), count) in &ended {
        assert_eq!(status, "completed", "{ended:?}");
        if *attempt == 1 {
            first += count;
        } else {
            again += count;
        }
    }
    assert_eq!(first + again, JOBS as i64, "{ended:?}");
    assert!(
        again <= PLACES as i64,
        "only what the dead one had in hand comes again: {ended:?}"
    );
    let mut tx = db.begin_read().await.expect("the database");
    let runs = qm_db::all!(&mut tx, (String, i64), RUNS)
        .await
        .expect("the counters");
    assert_eq!(runs.len(), JOBS, "each has run");
    let repeated = runs.iter().filter(|(_, times)| *times > 1).count() as i64;
    assert!(
        repeated <= again,
        "{repeated} ran more than once, {again} were given another attempt"
    );
    let twice = qm_db::value!(&mut tx, i64, COMPLETED_TWICE)
        .await
        .expect("the events");
    assert_eq!(twice, 0, "no job has ended twice");
    eprintln!("{JOBS} jobs: {first} at the first attempt, {again} at another, {repeated} ran twice");
}

/// Whatever is done here is done to a table of another area, which only counts.
#[test]
fn the_counter_counts() {
    runtime().block_on(async {
        let Some(scratch) = Scratch::new(Backend::Postgres).await else {
            return;
        };
        let db = scratch.open().await;
        let mut tx = db.begin_write().await.expect("the database");
        for _ in 0..3 {
            qm_db::exec!(&mut tx, COUNT_RUN, "ran x")
                .await
                .expect("a run")
                .exactly(1)
                .expect("one");
        }
        let runs = qm_db::all!(&mut tx, (String, i64), RUNS)
            .await
            .expect("the counters");
        assert_eq!(runs, [("ran x".to_owned(), 3)]);
        drop(tx);
        db.close().await;
        scratch.remove().await;
    });
}
