//! Tests that acknowledged commits survive a kill, and that a full disk is noticed. The killed process is
//! this test program, started again with a task and a database in its environment.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use qm_db::{Backend, Db, DbError, all, exec, sql, testing};

sql! {
    ADD = "INSERT INTO settings (key, value, updated_at) VALUES ($1, $2, 0)";
    KEYS = "SELECT key FROM settings";
}

const URL: &str = "QM_CRASH_TEST_DATABASE";

/// Starts the ignored test `task` of this program in a process of its own; `setup` is shell run before it.
fn start(task: &str, url: &str, setup: &str, output: Stdio) -> Child {
    Command::new("sh")
        .args([
            "-c",
            &format!("{setup} exec \"$0\" --ignored --exact crash::{task} --nocapture --test-threads=1"),
        ])
        .arg(std::env::current_exe().unwrap())
        .env(URL, url)
        .stdout(output)
        .spawn()
        .unwrap()
}

async fn add(db: &Db, key: &str, value: &str) -> Result<(), DbError> {
    let mut tx = db.begin_write().await?;
    exec!(&mut tx, ADD, key, value).await?.exactly(1)?;
    tx.commit().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the process that is killed"]
async fn writer() {
    let Ok(url) = std::env::var(URL) else { return };
    let db = Db::open(&url).await.unwrap();
    for n in 0.. {
        add(&db, &format!("key {n}"), "true").await.unwrap();
        println!("\nacknowledged key {n}");
    }
}

async fn killed_writer_keeps_its_word(backend: Backend) {
    let Some(scratch) = testing::Scratch::new(backend).await else {
        return;
    };
    scratch.open().await.close().await;
    let mut writer = start("writer", scratch.url(), "", Stdio::piped());
    let mut acknowledged = Vec::new();
    let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    for line in lines.by_ref() {
        if let Some(key) = line.unwrap().strip_prefix("acknowledged ") {
            acknowledged.push(key.to_owned());
        }
        if acknowledged.len() == 200 {
            writer.kill().unwrap();
            break;
        }
    }
    // Output between the last read line and the end counts too.
    acknowledged.extend(lines.filter_map(|line| Some(line.ok()?.strip_prefix("acknowledged ")?.to_owned())));
    writer.wait().unwrap();
    let db = scratch.open().await;
    let stored: Vec<(String,)> = all!(&mut db.begin_read().await.unwrap(), (String,), KEYS)
        .await
        .unwrap();
    assert!(acknowledged.len() >= 200);
    for key in acknowledged {
        assert!(
            stored.iter().any(|(stored,)| *stored == key),
            "`{key}` was acknowledged and is lost"
        );
    }
    add(&db, "after", "true").await.unwrap();
    db.close().await;
    scratch.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_sqlite_acknowledged_survives_a_kill() {
    killed_writer_keeps_its_word(Backend::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_postgres_acknowledged_survives_a_kill() {
    killed_writer_keeps_its_word(Backend::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the process whose disk is full"]
async fn writer_without_space() {
    let Ok(url) = std::env::var(URL) else { return };
    let db = Db::open(&url).await.unwrap();
    let (mut written, large) = (0, "x".repeat(20_000));
    let error = loop {
        match add(&db, &format!("key {written}"), &large).await {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, DbError::Storage(_)), "{error:?}");
    assert!(!db.ping().await, "readiness shows that nothing can be written");
    let stored: Vec<(String,)> = all!(&mut db.begin_read().await.unwrap(), (String,), KEYS)
        .await
        .unwrap();
    assert_eq!(
        stored.len(),
        written,
        "every acknowledged row, and no other, is there"
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the process that starts on a full disk"]
async fn starter_without_space() {
    let Ok(url) = std::env::var(URL) else { return };
    let started = async { Db::open(&url).await?.migrate().await };
    let error = started.await.unwrap_err();
    assert!(
        matches!(error, DbError::Open(_) | DbError::Migration { .. }),
        "{error:?}"
    );
    assert!(!error.to_string().contains('\n'));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_at_the_start_is_one_line_and_leaves_a_usable_file() {
    let Some(scratch) = testing::Scratch::new(Backend::Sqlite).await else {
        return;
    };
    for blocks in [0, 8, 40] {
        let setup = format!("trap '' XFSZ; ulimit -f {blocks};");
        let mut starter = start("starter_without_space", scratch.url(), &setup, Stdio::null());
        assert!(
            tokio::task::spawn_blocking(move || starter.wait())
                .await
                .unwrap()
                .unwrap()
                .success(),
            "{blocks}"
        );
    }
    let db = scratch.open().await;
    add(&db, "after", "true").await.unwrap();
    db.close().await;
    scratch.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_turns_ping_false_and_loses_nothing() {
    let Some(scratch) = testing::Scratch::new(Backend::Sqlite).await else {
        return;
    };
    scratch.open().await.close().await;
    // No file may pass 400 KiB; writing past it is an error instead of a signal.
    let mut writer = start(
        "writer_without_space",
        scratch.url(),
        "trap '' XFSZ; ulimit -f 800;",
        Stdio::null(),
    );
    let ended = tokio::time::timeout(
        Duration::from_mins(1),
        tokio::task::spawn_blocking(move || writer.wait()),
    )
    .await;
    assert!(ended.unwrap().unwrap().unwrap().success());
    let db = scratch.open().await;
    assert!(db.ping().await);
    add(&db, "after", "true").await.unwrap();
    db.close().await;
    scratch.remove().await;
}
