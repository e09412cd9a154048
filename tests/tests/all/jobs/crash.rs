//! A server that is killed, or stopped, while it runs a job: the next one says so, and goes on.

use std::path::Path;
use std::time::Duration;

use qm_db::Db;
use qm_jobs::testing;
use qm_kernel::Timestamp;
use qm_testkit::binary::Binary;
use qm_testkit::wait::until;
use qm_testkit::{Api, TestDb, both_databases};
use serde_json::{Value, json};

/// Old jobs for the cleanup to remove: enough to be caught at it.
const OLD: u64 = 60_000;
/// One of them, whose type the cleanup is.
const FIRST: &str = "00000000-0000-4000-8000-000000000000";

async fn with_old_jobs(db: &TestDb) {
    let db = Db::open(db.url()).await.expect("a database");
    db.migrate().await.expect("the migrations");
    let long_ago = Timestamp::from_secs(1_600_000_000);
    testing::fill(&db, OLD, long_ago).await.expect("old jobs");
    db.close().await;
}

async fn job(api: &Api, id: &str) -> Value {
    api.get(&format!("/api/jobs/{id}")).await
}

async fn once(api: &Api, id: &str, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
    until(what, || async {
        Some(job(api, id).await).filter(|job| holds(job))
    })
    .await
}

/// Begins a cleanup and waits until it is at work; its id.
async fn cleanup(api: &Api) -> String {
    let begun = api.act(&format!("/api/jobs/{FIRST}/rerun")).await;
    let id = begun["jobId"].as_str().expect("an id").to_owned();
    let seen = until("the cleanup to be at work", || async {
        Some(job(api, &id).await).filter(|job| job["status"] != "queued")
    })
    .await;
    assert_eq!(seen["status"], "running", "it is caught at it: {seen}");
    id
}

async fn start(dir: &Path, db: &TestDb) -> (Binary, Api) {
    // A job is looked at more often here than a person would.
    let server = Binary::start_with(dir, db.url(), &[("THROTTLE_LIMIT", "1000000")]).await;
    let admin = server.admin().await;
    (server, admin)
}

both_databases! {
    async fn a_killed_servers_job_is_interrupted_and_what_it_had_done_stays_done(db: &TestDb) {
        with_old_jobs(db).await;
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (mut server, admin) = start(dir.path(), db).await;
        let id = cleanup(&admin).await;
        // Another one waits for its turn: of this type one runs at a time.
        let waiting = admin.act(&format!("/api/jobs/{id}/rerun")).await["jobId"].as_str().expect("an id").to_owned();
        server.kill();
        let (mut server, admin) = start(dir.path(), db).await;
        // On PostgreSQL the lease has to end first: another node might have lived.
        let ended = once(&admin, &id, "the job to be given up", |job| job["status"] != "running").await;
        assert_eq!((&ended["status"], &ended["errorCode"]), (&json!("failed"), &json!("interrupted")));
        assert!(ended["workerId"].is_string() && ended["failedAt"].is_string(), "{ended}");
        let done = once(&admin, &waiting, "the waiting one to run", |job| job["completedAt"].is_string()).await;
        assert_eq!(done["status"], "completed", "what was queued runs again: {done}");
        let left = admin.get("/api/jobs/list").await;
        assert_eq!(left["total"], json!(2), "every old job is gone");
        assert!(server.stop().await.success());
    }

    async fn a_stopped_server_interrupts_its_job_in_good_time(db: &TestDb) {
        with_old_jobs(db).await;
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (mut server, admin) = start(dir.path(), db).await;
        let id = cleanup(&admin).await;
        let stopped = tokio::time::timeout(Duration::from_mins(1), server.stop()).await;
        assert!(stopped.expect("it does not wait for the whole job").success());
        let (_server, admin) = start(dir.path(), db).await;
        let ended = job(&admin, &id).await;
        assert_eq!((&ended["status"], &ended["errorCode"]), (&json!("failed"), &json!("interrupted")), "written before it ended");
    }
}
