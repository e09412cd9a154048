//! Tests of the events of a commit: stored in commit order without gaps, dropped within the window of their
//! kind, or refused.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use qm_db::{Db, DbError, all, db_test, exec, sql, value};
use qm_kernel::Timestamp;
use qm_kernel::event::{DomainEvent, EventSink, Plan};
use tokio::time::{sleep, timeout};

sql! {
    ROWS = "SELECT position, id FROM outbox ORDER BY position";
    POSITIONS = "SELECT position FROM outbox WHERE position > $1 ORDER BY position";
    ADD = "INSERT INTO settings (key, value, updated_at) VALUES ($1, '1', 0)";
    SETTINGS = "SELECT COUNT(*) FROM settings";
    TAKE = "UPDATE outbox_counter SET last = last + 1 WHERE one = 1 RETURNING last";
    ADD_BY_HAND = "INSERT INTO outbox (position, id, event_key, event) VALUES ($1, 'by hand', 'test.kept', '{}')";
}

/// Plans by the key; records ids.
#[derive(Default)]
struct Heard {
    told: Mutex<Vec<String>>,
    repeated: Mutex<Vec<String>>,
}

impl EventSink for Heard {
    fn plan(&self, event: &DomainEvent) -> Option<Plan> {
        let (window_secs, stored) = match &*event.event_key {
            "test.kept" => (0, true),
            "test.windowed" => (300, true),
            "test.heard" => (0, false),
            _ => return None,
        };
        Some(Plan { window_secs, stored })
    }

    fn publish(&self, event: DomainEvent) {
        self.told.lock().unwrap().push(event.id);
    }

    fn repeated(&self, event: &DomainEvent) {
        self.repeated.lock().unwrap().push(event.id.clone());
    }
}

impl Heard {
    fn take(&self) -> (Vec<String>, Vec<String>) {
        (
            std::mem::take(&mut *self.told.lock().unwrap()),
            std::mem::take(&mut *self.repeated.lock().unwrap()),
        )
    }
}

fn event(key: &'static str, id: &str) -> DomainEvent {
    DomainEvent {
        id: id.to_owned(),
        event_key: key.into(),
        occurred_at: Timestamp::from_ms(1_000_000),
        actor_user_id: None,
        subject_user_id: None,
        resource_type: Some("thing".into()),
        resource_id: Some("a".to_owned()),
        payload: serde_json::json!({}),
        correlation_id: None,
        causation_id: None,
    }
}

async fn commit(db: &Db, events: impl IntoIterator<Item = DomainEvent>) -> Result<(), DbError> {
    let mut tx = db.begin_write().await?;
    events.into_iter().for_each(|event| tx.publish(event));
    tx.commit().await
}

async fn rows(db: &Db) -> Vec<(i64, String)> {
    all!(&mut db.begin_read().await.unwrap(), (i64, String), ROWS)
        .await
        .unwrap()
}

fn texts<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).to_vec()
}

db_test! {
    async fn what_is_to_be_stored_is_and_what_is_refused_reaches_nobody(db: Db) {
        let heard = Arc::new(Heard::default());
        let db = db.telling(heard.clone());
        let events = [event("test.kept", "1"), event("test.unknown", "2"), event("test.heard", "3"), event("test.kept", "4")];
        commit(&db, events).await.unwrap();
        assert_eq!(heard.take(), (texts(["1", "3", "4"]), vec![]));
        assert_eq!(rows(&db).await, [(1, "1".to_owned()), (2, "4".to_owned())]);
        db.tell(event("test.kept", "5")).await;
        db.tell(event("test.heard", "6")).await;
        db.tell(event("test.unknown", "7")).await;
        assert_eq!(heard.take(), (texts(["5", "6"]), vec![]));
        assert_eq!(rows(&db).await.len(), 3);
    }

    async fn a_transaction_that_ends_otherwise_stores_nothing_and_takes_no_position(db: Db) {
        let heard = Arc::new(Heard::default());
        let db = db.telling(heard.clone());
        let mut tx = db.begin_write().await.unwrap();
        tx.publish(event("test.windowed", "1"));
        drop(tx);
        let mut tx = db.begin_write().await.unwrap();
        tx.publish(event("test.windowed", "2"));
        exec!(&mut tx, ADD, "twice").await.unwrap().exactly(1).unwrap();
        assert!(exec!(&mut tx, ADD, "twice").await.is_err());
        assert!(matches!(tx.commit().await, Err(DbError::Aborted)));
        assert_eq!((rows(&db).await, heard.take()), (vec![], (vec![], vec![])));
        commit(&db, [event("test.windowed", "3")]).await.unwrap();
        assert_eq!(rows(&db).await, [(1, "3".to_owned())], "no window was opened either");
    }

    async fn where_nobody_listens_everything_is_stored_for_others(db: Db) {
        commit(&db, [event("test.whatever", "1")]).await.unwrap();
        db.tell(event("test.whatever", "2")).await;
        assert_eq!(rows(&db).await.len(), 2);
    }

    async fn a_transaction_that_only_reads_cannot_publish(db: Db) {
        let mut tx = db.begin_read().await.unwrap();
        tx.publish(event("test.whatever", "1"));
        assert!(tx.commit().await.is_err());
        assert!(rows(&db).await.is_empty());
    }

    async fn a_window_drops_the_same_occurrence_only(db: Db) {
        let heard = Arc::new(Heard::default());
        let db = db.telling(heard.clone());
        let at = |id: &str, about: &str, secs: i64| DomainEvent {
            resource_id: Some(about.to_owned()),
            occurred_at: Timestamp::from_secs(secs),
            ..event("test.windowed", id)
        };
        commit(&db, [at("1", "a", 0), at("2", "b", 0), at("3", "a", 0)]).await.unwrap();
        assert_eq!(heard.take(), (texts(["1", "2"]), texts(["3"])));
        commit(&db, [at("4", "a", 299)]).await.unwrap();
        assert_eq!(heard.take(), (vec![], texts(["4"])));
        commit(&db, [at("5", "a", 300)]).await.unwrap();
        assert_eq!(heard.take(), (texts(["5"]), vec![]), "a repetition does not prolong the window");
        // Without a resource it is about its user.
        let of = |id: &str, user: &str| DomainEvent {
            resource_id: None,
            subject_user_id: Some(user.to_owned()),
            ..event("test.windowed", id)
        };
        commit(&db, [of("6", "one"), of("7", "two"), of("8", "one\0")]).await.unwrap();
        db.tell(of("9", "one")).await;
        assert_eq!(heard.take(), (texts(["6", "7", "8"]), texts(["9"])));
        let stored: Vec<String> = rows(&db).await.into_iter().map(|(_, id)| id).collect();
        assert_eq!(stored, ["1", "2", "5", "6", "7", "8"], "what is dropped is not stored");
    }

    async fn many_at_once_stand_in_the_order_they_were_published(db: Db) {
        let heard = Arc::new(Heard::default());
        let db = db.telling(heard.clone());
        commit(&db, (1..=1000).map(|n| event("test.kept", &n.to_string()))).await.unwrap();
        let rows = rows(&db).await;
        assert_eq!(rows.len(), 1000);
        for (index, (position, id)) in rows.iter().enumerate() {
            assert_eq!((*position, id), (index as i64 + 1, &(index + 1).to_string()));
        }
    }

    /// A concurrent reader, like a consumer, must never see a position before a lower one.
    async fn a_hundred_writers_and_a_slow_one_leave_no_gap_behind_a_reader(db: Db) {
        const WRITERS: usize = 100;
        const COMMITS: usize = 8;
        let heard = Arc::new(Heard::default());
        let db = db.telling(heard.clone());
        let write = async |db: Db, name: String, pause: Duration| {
            let mut tx = db.begin_write().await.unwrap();
            exec!(&mut tx, ADD, &name).await.unwrap().exactly(1).unwrap();
            tx.publish(event("test.kept", &format!("{name}/first")));
            sleep(pause).await;
            tx.publish(event("test.kept", &format!("{name}/second")));
            tx.commit().await.unwrap();
        };
        // Its transaction is open during all the others; on SQLite they wait for it.
        let slow = tokio::spawn(write(db.clone(), "slow".into(), Duration::from_millis(1500)));
        let mut writers = vec![slow];
        for writer in 0..WRITERS {
            let db = db.clone();
            writers.push(tokio::spawn(async move {
                for number in 0..COMMITS {
                    write(db.clone(), format!("{writer}/{number}"), Duration::ZERO).await;
                }
            }));
        }
        let (mut seen, wanted) = (0, ((WRITERS * COMMITS + 1) * 2) as i64);
        let reading = async {
            while seen < wanted {
                let mut tx = db.begin_read().await.unwrap();
                for (position,) in all!(&mut tx, (i64,), POSITIONS, seen).await.unwrap() {
                    assert_eq!(position, seen + 1, "a position was passed that was not visible yet");
                    seen = position;
                }
                drop(tx);
                sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(Duration::from_mins(1), reading).await.expect("every event becomes visible");
        for writer in writers {
            writer.await.unwrap();
        }
        let settings = value!(&mut db.begin_read().await.unwrap(), i64, SETTINGS).await.unwrap();
        assert_eq!(settings, (WRITERS * COMMITS + 1) as i64);
        // In the order of each writer.
        let mut last: HashMap<String, (usize, usize)> = HashMap::new();
        for (_, id) in rows(&db).await {
            let (name, half) = id.rsplit_once('/').unwrap();
            let (writer, number) = name.split_once('/').unwrap_or((name, "0"));
            let place = (number.parse().unwrap(), usize::from(half == "second"));
            let before = last.insert(writer.to_owned(), place);
            assert!(before.is_none_or(|before| before < place), "{writer}: {before:?} before {place:?}");
        }
        assert_eq!(last.len(), WRITERS + 1);
    }

    /// The worst case: positions are assigned, rows added, and the commit is delayed.
    async fn a_commit_that_is_long_in_coming_is_waited_for(db: Db) {
        let heard = Arc::new(Heard::default());
        let db = db.telling(heard.clone());
        let mut slow = db.begin_write().await.unwrap();
        let taken = value!(&mut slow, i64, TAKE).await.unwrap();
        exec!(&mut slow, ADD_BY_HAND, taken).await.unwrap().exactly(1).unwrap();
        let writer = db.clone();
        let next = tokio::spawn(async move { commit(&writer, [event("test.kept", "next")]).await });
        sleep(Duration::from_millis(300)).await;
        assert!(rows(&db).await.is_empty(), "the second is not there before the first");
        assert!(!next.is_finished());
        slow.commit().await.unwrap();
        next.await.unwrap().unwrap();
        assert_eq!(rows(&db).await, [(1, "by hand".to_owned()), (2, "next".to_owned())]);
    }

    /// A server that is stopped during its commit must not block the others for long.
    async fn whoever_stops_in_a_commit_is_not_waited_for_without_end(db: Db) {
        if db.backend() == qm_db::Backend::Sqlite {
            // One server a file, and it is the only one to wait.
            return;
        }
        let mut stopped = db.begin_write().await.unwrap();
        value!(&mut stopped, i64, TAKE).await.unwrap();
        let writer = db.clone();
        let next = tokio::spawn(async move { commit(&writer, [event("test.kept", "next")]).await });
        timeout(Duration::from_mins(1), next).await.expect("it is let go").unwrap().unwrap();
        assert_eq!(rows(&db).await, [(1, "next".to_owned())]);
        assert!(stopped.commit().await.is_err());
    }
}
