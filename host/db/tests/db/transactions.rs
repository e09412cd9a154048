//! Tests that a commit is permanent, a drop leaves no trace, and events are published only after the commit.

use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use qm_db::{Db, DbError, db_test, exec, sql, value};
use qm_kernel::Timestamp;
use qm_kernel::event::{DomainEvent, EventSink};

sql! {
    ADD = "INSERT INTO settings (key, value, updated_at) VALUES ($1, $2, 0)";
    COUNT = "SELECT COUNT(*) FROM settings";
    INCREMENT = "UPDATE settings SET updated_at = updated_at + 1 WHERE key = $1";
    READ = "SELECT updated_at FROM settings WHERE key = $1";
}

/// Records the events, and the number of settings visible to another transaction at each.
#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl EventSink for Heard {
    fn publish(&self, event: DomainEvent) {
        self.0.lock().unwrap().push(event.id);
    }
}

fn event(id: &str) -> DomainEvent {
    DomainEvent {
        id: id.to_owned(),
        event_key: "test.happened".into(),
        occurred_at: Timestamp::from_ms(0),
        actor_user_id: None,
        subject_user_id: None,
        resource_type: None,
        resource_id: None,
        payload: serde_json::json!({}),
        correlation_id: None,
        causation_id: None,
    }
}

/// Drops the future if it has not ended after this number of polls.
async fn gone_after<T>(polls: usize, work: impl Future<Output = T>) {
    let mut work = std::pin::pin!(work);
    let mut left = polls;
    std::future::poll_fn(|context| {
        left -= 1;
        match work.as_mut().poll(context) {
            Poll::Pending if left > 0 => Poll::Pending,
            _ => Poll::Ready(()),
        }
    })
    .await;
}

async fn count(db: &Db) -> i64 {
    value!(&mut db.begin_read().await.unwrap(), i64, COUNT)
        .await
        .unwrap()
}

db_test! {
    async fn a_commit_keeps_rows_and_then_publishes_in_order(db: Db) {
        let heard = Arc::new(Heard::default());
        let db = db.telling(heard.clone());
        let mut tx = db.begin_write().await.unwrap();
        exec!(&mut tx, ADD, "a", "1").await.unwrap().exactly(1).unwrap();
        tx.publish(event("1"));
        tx.publish(event("2"));
        assert!(heard.0.lock().unwrap().is_empty());
        assert_eq!(count(&db).await, 0, "nobody else sees it before the commit");
        tx.commit().await.unwrap();
        assert_eq!(*heard.0.lock().unwrap(), ["1", "2"]);
        assert_eq!(count(&db).await, 1);
    }

    async fn a_dropped_transaction_leaves_nothing(db: Db) {
        {
            let mut tx = db.begin_write().await.unwrap();
            exec!(&mut tx, ADD, "a", "1").await.unwrap().exactly(1).unwrap();
            tx.publish(event("1"));
        }
        assert_eq!(count(&db).await, 0);
        let mut tx = db.begin_write().await.unwrap();
        exec!(&mut tx, ADD, "a", "1").await.unwrap().exactly(1).unwrap();
        tx.commit().await.unwrap();
        assert_eq!(count(&db).await, 1, "the writer is free again");
    }

    async fn what_is_to_follow_a_commit_follows_no_other_end(db: Db) {
        let calls = Arc::new(Mutex::new(Vec::new()));
        for (number, commits) in [(1, true), (2, false), (3, true)] {
            let mut tx = db.begin_write().await.unwrap();
            let heard = calls.clone();
            tx.after_commit(move || heard.lock().unwrap().push(number));
            assert!(!calls.lock().unwrap().contains(&number), "not before");
            if commits {
                tx.commit().await.unwrap();
            }
        }
        let mut tx = db.begin_write().await.unwrap();
        let heard = calls.clone();
        tx.after_commit(move || heard.lock().unwrap().push(4));
        exec!(&mut tx, ADD, "a", "1").await.unwrap().exactly(1).unwrap();
        assert!(exec!(&mut tx, ADD, "a", "1").await.is_err());
        assert!(tx.commit().await.is_err());
        assert_eq!(*calls.lock().unwrap(), [1, 3]);
    }

    async fn a_cancelled_request_leaves_nothing(db: Db) {
        let writer = db.clone();
        let task = tokio::spawn(async move {
            let mut tx = writer.begin_write().await.unwrap();
            exec!(&mut tx, ADD, "a", "1").await.unwrap().exactly(1).unwrap();
            std::future::pending::<()>().await;
        });
        tokio::time::sleep(Duration::from_millis(50)).await;
        task.abort();
        let _ = task.await;
        let tx = tokio::time::timeout(Duration::from_mins(1), db.begin_write()).await.expect("the writer is free again");
        drop(tx.unwrap());
        assert_eq!(count(&db).await, 0);
    }

    async fn after_a_failed_statement_nothing_is_committed_or_published(db: Db) {
        let heard = Arc::new(Heard::default());
        let db = db.telling(heard.clone());
        let mut tx = db.begin_write().await.unwrap();
        exec!(&mut tx, ADD, "a", "1").await.unwrap().exactly(1).unwrap();
        assert!(exec!(&mut tx, ADD, "a", "2").await.unwrap_err().is_unique_violation());
        tx.publish(event("1"));
        assert!(matches!(tx.commit().await, Err(DbError::Aborted)));
        assert!(heard.0.lock().unwrap().is_empty());
        assert_eq!(count(&db).await, 0);
    }

    async fn a_read_transaction_cannot_write_and_sees_one_state(db: Db) {
        let mut read = db.begin_read().await.unwrap();
        assert_eq!(value!(&mut read, i64, COUNT).await.unwrap(), 0);
        let mut tx = db.begin_write().await.unwrap();
        exec!(&mut tx, ADD, "a", "1").await.unwrap().exactly(1).unwrap();
        tx.commit().await.unwrap();
        assert_eq!(value!(&mut read, i64, COUNT).await.unwrap(), 0);
        assert!(exec!(&mut read, ADD, "b", "1").await.is_err());
        drop(read);
        assert_eq!(count(&db).await, 1);
    }

    async fn writers_at_once_lose_no_update(db: Db) {
        let mut tx = db.begin_write().await.unwrap();
        exec!(&mut tx, ADD, "n", "1").await.unwrap().exactly(1).unwrap();
        tx.commit().await.unwrap();
        let writers: Vec<_> = (0..8).map(|_| {
            let db = db.clone();
            tokio::spawn(async move {
                for _ in 0..10 {
                    let mut tx = db.begin_write().await.unwrap();
                    exec!(&mut tx, INCREMENT, "n").await.unwrap().exactly(1).unwrap();
                    tx.commit().await.unwrap();
                }
            })
        }).collect();
        for writer in writers {
            writer.await.unwrap();
        }
        assert_eq!(value!(&mut db.begin_read().await.unwrap(), i64, READ, "n").await.unwrap(), 80);
    }

    async fn a_long_read_does_not_stop_a_writer(db: Db) {
        let mut read = db.begin_read().await.unwrap();
        assert_eq!(value!(&mut read, i64, COUNT).await.unwrap(), 0);
        let mut tx = tokio::time::timeout(Duration::from_mins(1), db.begin_write()).await.unwrap().unwrap();
        exec!(&mut tx, ADD, "a", "1").await.unwrap().exactly(1).unwrap();
        tokio::time::timeout(Duration::from_mins(1), tx.commit()).await.unwrap().unwrap();
        drop(read);
    }

    async fn who_goes_away_while_a_transaction_begins_leaves_none_behind(db: Db) {
        for polls in (1..8).cycle().take(140) {
            gone_after(polls, db.begin_read()).await;
            gone_after(polls, db.begin_write()).await;
        }
        for number in 0..20 {
            let mut tx = db.begin_write().await.unwrap();
            exec!(&mut tx, ADD, format!("{number}"), "1").await.unwrap().exactly(1).unwrap();
            tx.commit().await.unwrap();
            assert_eq!(count(&db).await, number + 1);
        }
    }
}
