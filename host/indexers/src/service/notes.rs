//! Results of requests, stored before the callers get their answers, several in one transaction where they
//! end at the same time.
//!
//! The first caller writes at once; callers that come during the write wait, and one of them writes for all.
//! A search of many indexers costs few commits that way, and the next request sees the stored pauses.
//!
//! Bounds: one note per finished request that waits.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use qm_db::{Db, DbError};
use qm_kernel::Timestamp;
use qm_lanes::IgnorePoison;
use tokio::sync::Mutex as Turn;

use crate::model::health::Health;
use crate::repo;

/// Result of one request to an indexer.
#[derive(Clone, Debug)]
pub struct Note {
    /// Id of the indexer.
    pub id: String,
    pub at: Timestamp,
    pub outcome: Outcome,
}

#[derive(Clone, Debug)]
pub enum Outcome {
    Answered {
        took: Duration,
        grabbed: bool,
    },
    Failed {
        error: String,
    },
    /// It asked for a pause, with its length in seconds if it gave one.
    Throttled {
        error: String,
        seconds: Option<u32>,
    },
}

impl Note {
    fn apply(&self, health: &mut Health) {
        match &self.outcome {
            Outcome::Answered { took, grabbed } => health.went_well(self.at, *took, *grabbed),
            Outcome::Failed { error } => health.failed(self.at, error, None),
            Outcome::Throttled { error, seconds } => health.failed(self.at, error, Some(*seconds)),
        }
    }
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Note>,
    /// Number of notes written or given up since the start.
    done: u64,
}

/// Notes that are not written yet.
#[derive(Default)]
pub struct Notes {
    queue: Mutex<Queue>,
    /// Held by the writer.
    turn: Turn<()>,
    #[cfg(test)]
    batches: std::sync::atomic::AtomicU64,
}

impl Notes {
    /// Returns when the note is written; an error goes to the caller that wrote for the others. A cancelled
    /// caller leaves its note to the next writer.
    pub async fn store(&self, db: &Db, note: Note) -> Result<(), DbError> {
        let own = {
            let mut queue = self.queue();
            queue.waiting.push(note);
            queue.done + queue.waiting.len() as u64
        };
        let _turn = self.turn.lock().await;
        let batch = {
            let queue = self.queue();
            if queue.done >= own {
                return Ok(());
            }
            queue.waiting.clone()
        };
        let written = write(db, &batch).await;
        let mut queue = self.queue();
        queue.waiting.drain(..batch.len());
        queue.done += batch.len() as u64;
        #[cfg(test)]
        self.batches.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        written
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().ignore_poison()
    }
}

async fn write(db: &Db, batch: &[Note]) -> Result<(), DbError> {
    // Sorted by id: two servers that write the same rows write them in the same order.
    let mut by_indexer = BTreeMap::<&str, Vec<&Note>>::new();
    for note in batch {
        by_indexer.entry(&note.id).or_default().push(note);
    }
    let mut tx = db.begin_write().await?;
    for (id, notes) in by_indexer {
        // Based on the present row, because others may have asked meanwhile. A deleted indexer is skipped.
        let Some(mut stored) = repo::indexers::find(&mut tx, id).await? else {
            continue;
        };
        for note in notes {
            note.apply(&mut stored.health);
        }
        repo::indexers::note(&mut tx, id, &stored.health).await?;
    }
    tx.commit().await
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use qm_db::{Db, db_test};
    use qm_kernel::Role;
    use qm_ports::indexer::{IndexerError, Wanted};
    use qm_test_base::{client, principal};

    use crate::model::change::Change;
    use crate::testing::House;
    use qm_kernel::Caller;

    db_test! {
        async fn what_ends_at_the_same_time_is_one_transaction(db: Db) {
            let house = House::new(&db);
            let (principal, client) = (principal(Role::Administrator), client());
            let caller = Caller { principal: &principal, client: &client };
            for number in 0..12 {
                let change = Change {
                    name: Some(format!("i{number}")),
                    base_url: Some(format!("http://i{number}")),
                    ..Change::default()
                };
                house.app.create(caller, change).await.unwrap();
            }
            house.protocols.fail("i3", Some(IndexerError::Captcha("it wants to see a person".into())));
            // The lock is held while all of them answer.
            let turn = house.app.notes.turn.lock().await;
            let app = house.app.clone();
            let search = tokio::spawn(async move { app.search_all(&Wanted::default()).await });
            while house.app.notes.queue().waiting.len() < 12 {
                tokio::task::yield_now().await;
            }
            drop(turn);
            assert_eq!(search.await.unwrap().unwrap().failed, 1);
            assert_eq!(house.app.notes.batches.load(Ordering::Relaxed), 1);
            for shown in house.app.list().await.unwrap() {
                let health = &shown.indexer.health;
                assert_eq!((health.queries, health.failures), (1, u32::from(shown.indexer.name == "i3")));
            }
        }
    }
}
