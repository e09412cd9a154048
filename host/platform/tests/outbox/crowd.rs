//! A hundred concurrent writers, one of them slow, on two servers: every event reaches both consumers once,
//! in the order of each writer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use qm_db::{Db, DbError, Tx, db_test, exec, sql};
use qm_kernel::Ctx;
use qm_kernel::event::{Cause, DomainEvent, Event, EventSpec};
use qm_platform::Background;
use qm_platform::outbox::{ConsumeError, Consumer, StoredEvent};
use qm_platform::testing::Wired;

use crate::world::BRISK;

const KINDS: &[EventSpec] = &[EventSpec::for_event::<Wrote>()];
const WRITERS: i64 = 100;
const COMMITS: i64 = 10;

qm_kernel::events! {
    struct Wrote: "test.wrote" about "writer" {
        writer: i64,
        number: i64,
    }
}

sql! {
    /// Fails the second time.
    EFFECT = "INSERT INTO settings (key, value, updated_at) VALUES ($1, '1', 1)";
    COUNT = "SELECT COUNT(*) FROM settings WHERE key LIKE $1";
}

/// Records the writer of each event, once per event.
struct Clerk {
    name: &'static str,
    /// Events of each writer, and the last position, over both servers.
    heard: Arc<Mutex<(HashMap<i64, Vec<i64>>, i64)>>,
}

#[async_trait]
impl Consumer for Clerk {
    fn name(&self) -> &'static str {
        self.name
    }

    fn keys(&self) -> &'static [&'static str] {
        &[Wrote::KEY]
    }

    async fn handle(&self, tx: &mut Tx, event: &StoredEvent) -> Result<(), ConsumeError> {
        let wrote = event.event.read::<Wrote>().expect("its key")?;
        exec!(
            tx,
            EFFECT,
            format!("{}/{}/{}", self.name, wrote.writer, wrote.number)
        )
        .await?
        .exactly(1)?;
        let mut heard = self.heard.lock().unwrap();
        heard.0.entry(wrote.writer).or_default().push(wrote.number);
        if event.position <= heard.1 {
            return Err(ConsumeError::Failed(format!(
                "{} comes after {}",
                event.position, heard.1
            )));
        }
        heard.1 = event.position;
        Ok(())
    }
}

async fn server(db: &Db, clerks: &[Arc<Clerk>]) -> (Db, Background) {
    let Wired {
        db,
        outbox,
        background,
        ..
    } = Wired::new(db, &Ctx::system(), KINDS, BRISK).await;
    let clerks = clerks
        .iter()
        .map(|clerk| Arc::clone(clerk) as Arc<dyn Consumer>)
        .collect();
    outbox.start(clerks, &background).await.unwrap();
    (db, background)
}

async fn write(db: &Db, writer: i64, numbers: [i64; 2], pause: Duration) {
    let ctx = Ctx::system();
    // With so many writers a database asks some to retry: SQLite has only one writer.
    let mut tx = loop {
        match db.begin_write().await {
            Err(DbError::Busy(_)) => {}
            begun => break begun.unwrap(),
        }
    };
    for number in numbers {
        let wrote = Wrote { writer, number };
        tx.publish(DomainEvent::new(&ctx, Cause::NONE, writer.to_string(), &wrote));
        exec!(&mut tx, EFFECT, format!("change/{writer}/{number}"))
            .await
            .unwrap()
            .exactly(1)
            .unwrap();
        tokio::time::sleep(pause).await;
    }
    tx.commit().await.unwrap();
}

async fn count(db: &Db, like: &str) -> i64 {
    let mut tx = db.begin_read().await.unwrap();
    qm_db::value!(&mut tx, i64, COUNT, like).await.unwrap()
}

db_test! {
    async fn every_event_of_a_crowd_is_handled_once_and_in_its_order(db: Db) {
        let clerks = ["left", "right"].map(|name| Arc::new(Clerk { name, heard: Arc::default() }));
        let servers = [server(&db, &clerks).await, server(&db, &clerks).await];
        let slow = servers[0].0.clone();
        let mut writers = vec![tokio::spawn(async move {
            write(&slow, -1, [0, 1], Duration::from_millis(500)).await;
        })];
        for writer in 0..WRITERS {
            let db = servers[writer as usize % 2].0.clone();
            writers.push(tokio::spawn(async move {
                for commit in 0..COMMITS {
                    write(&db, writer, [commit * 2, commit * 2 + 1], Duration::ZERO).await;
                }
            }));
        }
        for writer in writers {
            writer.await.unwrap();
        }
        let all = (WRITERS * COMMITS + 1) * 2;
        assert_eq!(count(&db, "change/%").await, all);
        let both = async {
            while count(&db, "left/%").await + count(&db, "right/%").await < all * 2 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_mins(4), both).await.expect("every event is handled");
        for (_, background) in &servers {
            background.shutdown().await;
        }
        for clerk in &clerks {
            let heard = clerk.heard.lock().unwrap();
            assert_eq!(heard.0.len() as i64, WRITERS + 1);
            for (writer, numbers) in &heard.0 {
                let expected = if *writer < 0 { 2 } else { COMMITS * 2 };
                assert_eq!(*numbers, (0..expected).collect::<Vec<_>>(), "{}: writer {writer}", clerk.name);
            }
        }
    }
}
