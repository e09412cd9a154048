//! Tests of detecting changes.

use std::fs::File;
use std::time::Duration;

use qm_db::testing::Scratch;
use qm_db::{Backend, Db, exec, sql};

sql! {
    ADD = "INSERT INTO settings (key, value, updated_at) VALUES ($1, '1', 0)";
}

async fn add(db: &Db, key: &str) {
    let mut tx = db.begin_write().await.unwrap();
    exec!(&mut tx, ADD, key).await.unwrap().exactly(1).unwrap();
    tx.commit().await.unwrap();
}

/// Sets the modification time back by a minute.
fn let_a_minute_pass(scratch: &Scratch) {
    let file = scratch.url().strip_prefix("sqlite:").unwrap();
    let log = File::options().write(true).open(format!("{file}-wal")).unwrap();
    let written = log.metadata().unwrap().modified().unwrap();
    log.set_modified(written - Duration::from_mins(1)).unwrap();
}

#[tokio::test]
async fn a_look_is_worth_it_when_anybody_wrote() {
    let scratch = Scratch::new(Backend::Sqlite).await.unwrap();
    let db = scratch.open().await;
    let command = Db::open(scratch.url()).await.unwrap();
    add(&db, "before").await;
    let mut changes = db.changes();
    assert!(changes.any(), "the first look");
    assert!(changes.any(), "what was written a moment ago may not be seen yet");
    let_a_minute_pass(&scratch);
    assert!(changes.any());
    assert!(!changes.any());
    drop(db.begin_read().await.unwrap());
    assert!(!changes.any(), "reading changes nothing");

    add(&command, "of another process").await;
    assert!(changes.any());
    let_a_minute_pass(&scratch);
    assert!(changes.any());
    assert!(!changes.any());

    // As on a disk with coarse modification times.
    add(&db, "of this process").await;
    let_a_minute_pass(&scratch);
    assert!(changes.any());
    assert!(!changes.any());

    changes.forget();
    assert!(changes.any());
    assert!(!changes.any());
    command.close().await;
    db.close().await;
    scratch.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgresql_is_always_asked() {
    let Some(scratch) = Scratch::new(Backend::Postgres).await else {
        return;
    };
    let db = scratch.open().await;
    let mut changes = db.changes();
    assert!(changes.any() && changes.any());
    db.close().await;
    scratch.remove().await;
}
