//! Kill -9 at every step between a change and its effects, and at random times: after a full run of another
//! server, every committed change has had every effect once, and nothing else has. The killed process is this
//! test program, started again with a database and a step in its environment.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use qm_db::testing::Scratch;
use qm_db::{Backend, Db};
use tokio::time::timeout;

use crate::world::{Server, Steps, settled};

const URL: &str = "QM_OUTBOX_TEST_DATABASE";
/// `step/times`: number of passes of the step before the process kills itself; empty for a process that
/// survives.
const STEP: &str = "QM_OUTBOX_TEST_STEP";
/// Prefix of the names of a process's changes.
const NAME: &str = "QM_OUTBOX_TEST_NAME";

const STEPS: [&str; 14] = [
    "nothing is changed yet",
    "something is changed",
    "test.changed is planned",
    "it is published",
    "test.changed is committed",
    "test.changed is told",
    "first begins",
    "first has its effect",
    "test.followed is planned",
    "first has published",
    "test.followed is committed",
    "test.followed is told",
    "second begins",
    "second has its effect",
];

/// Kills the process at a step.
struct Fatal {
    step: String,
    left: AtomicU32,
}

impl Steps for Fatal {
    fn reach(&self, step: &str) {
        if step != self.step || self.left.fetch_sub(1, Ordering::SeqCst) > 0 {
            return;
        }
        let own = rustix::process::getpid();
        rustix::process::kill_process(own, rustix::process::Signal::KILL).unwrap();
        // The signal is pending; nothing may happen before it arrives.
        loop {
            std::thread::park();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the process that is killed"]
async fn victim() {
    let Ok(url) = std::env::var(URL) else { return };
    let (step, name) = (std::env::var(STEP).unwrap(), std::env::var(NAME).unwrap());
    let (step, times) = step.split_once('/').unwrap_or(("", "0"));
    let fatal = Fatal {
        step: step.to_owned(),
        left: AtomicU32::new(times.parse().unwrap()),
    };
    let server = Server::start(Db::open(&url).await.unwrap(), Arc::new(fatal)).await;
    for number in 0.. {
        server.change(format!("{name}/{number}")).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the process that runs to the end"]
async fn survivor() {
    let Ok(url) = std::env::var(URL) else { return };
    struct None;
    impl Steps for None {
        fn reach(&self, _: &str) {}
    }
    let server = Server::start(Db::open(&url).await.unwrap(), Arc::new(None)).await;
    settled(&server.db).await;
    server.background.shutdown().await;
    server.db.close().await;
}

fn start(task: &str, url: &str, step: &str, name: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--ignored",
            "--exact",
            &format!("kill::{task}"),
            "--test-threads=1",
        ])
        .envs([(URL, url), (STEP, step), (NAME, name)])
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

async fn end_of(mut child: Child) -> ExitStatus {
    let waited = tokio::task::spawn_blocking(move || child.wait());
    timeout(Duration::from_mins(1), waited)
        .await
        .expect("the process ends")
        .unwrap()
        .unwrap()
}

async fn killed_at_every_step(backend: Backend) {
    let Some(scratch) = Scratch::new(backend).await else {
        return;
    };
    let db = scratch.open().await;
    let mut before = 0;
    for (index, step) in STEPS.iter().enumerate() {
        // The first time, and in the middle.
        for times in [0, 3] {
            let name = format!("{index}-{times}");
            let victim = start("victim", scratch.url(), &format!("{step}/{times}"), &name);
            let killed = end_of(victim).await;
            assert_eq!(killed.signal(), Some(9), "`{step}` was never reached");
        }
        let survivor = start("survivor", scratch.url(), "", "");
        assert!(end_of(survivor).await.success(), "after `{step}`");
        let changes = settled(&db).await;
        assert!(changes >= before, "`{step}` lost changes");
        before = changes;
    }
    assert!(
        before > STEPS.len(),
        "{before} changes are too few to tell anything"
    );
    db.close().await;
    scratch.remove().await;
}

async fn killed_at_any_moment(backend: Backend) {
    let Some(scratch) = Scratch::new(backend).await else {
        return;
    };
    let db = scratch.open().await;
    for round in 0..8_u64 {
        let mut victim = start("victim", scratch.url(), "", &round.to_string());
        // Some die during the start, most in the middle of their work.
        tokio::time::sleep(Duration::from_millis(30 + round * 90)).await;
        victim.kill().unwrap();
        assert_eq!(end_of(victim).await.signal(), Some(9));
    }
    let survivor = start("survivor", scratch.url(), "", "");
    assert!(end_of(survivor).await.success());
    assert!(settled(&db).await > 0);
    db.close().await;
    scratch.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite_no_step_loses_or_doubles_an_effect() {
    killed_at_every_step(Backend::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_no_step_loses_or_doubles_an_effect() {
    killed_at_every_step(Backend::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite_no_moment_loses_or_doubles_an_effect() {
    killed_at_any_moment(Backend::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_no_moment_loses_or_doubles_an_effect() {
    killed_at_any_moment(Backend::Postgres).await;
}
