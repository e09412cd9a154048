//! Random actions on jobs in random order: the database never sees a move that was not agreed. A trigger
//! watches, so that the stored moves are judged, statement by statement, and not what the program believes.

use std::collections::BTreeSet;
use std::time::Duration;

use qm_db::private::Connection;
use qm_db::{Backend, Db, Tx, db_test};
use sqlx::Executor as _;

use super::*;
use crate::model::status::tests::{AGREED, is_agreed};
use crate::repo::moves::Lease;
use crate::service::actions::Verb;
use crate::service::settle::{Ended, Outcome};

const WATCH_SQLITE: &str = "CREATE TABLE moves (old TEXT NOT NULL, new TEXT NOT NULL); \
    CREATE TRIGGER watch_moves AFTER UPDATE OF status ON platform_jobs WHEN OLD.status <> NEW.status \
    BEGIN INSERT INTO moves VALUES (OLD.status, NEW.status); END;";
const WATCH_POSTGRES: &str = "CREATE TABLE moves (old TEXT NOT NULL, new TEXT NOT NULL); \
    CREATE FUNCTION note_move() RETURNS trigger LANGUAGE plpgsql AS \
    'BEGIN INSERT INTO moves VALUES (OLD.status, NEW.status); RETURN NEW; END'; \
    CREATE TRIGGER watch_moves AFTER UPDATE OF status ON platform_jobs FOR EACH ROW \
    WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION note_move();";
const SEEN: &str = "SELECT DISTINCT old, new FROM moves";

async fn watch(db: &Db) {
    let mut tx: Tx = db.begin_write().await.unwrap();
    match tx.connection() {
        Connection::Sqlite(connection) => drop((&mut **connection).execute(WATCH_SQLITE).await.unwrap()),
        Connection::Postgres(connection) => drop((&mut **connection).execute(WATCH_POSTGRES).await.unwrap()),
    }
    tx.commit().await.unwrap();
}

async fn seen(db: &Db) -> BTreeSet<(String, String)> {
    let mut tx = db.begin_read().await.unwrap();
    let rows: Vec<(String, String)> = match tx.connection() {
        Connection::Sqlite(connection) => sqlx::query_as(SEEN).fetch_all(&mut **connection).await.unwrap(),
        Connection::Postgres(connection) => sqlx::query_as(SEEN).fetch_all(&mut **connection).await.unwrap(),
    };
    rows.into_iter().collect()
}

/// Seeded random numbers, so that a failing test can be repeated.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) % bound as u64) as usize
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> Option<T> {
        (!of.is_empty()).then(|| of[self.below(of.len())].clone())
    }
}

/// Every action, by two workers and a user; lost leases are used again.
struct Player {
    houses: [House; 2],
    jobs: Vec<String>,
    /// Leases by worker; those that ended stay.
    leases: Vec<(usize, Lease)>,
    dice: Dice,
}

impl Player {
    async fn turn(&mut self) {
        let which = self.dice.below(2);
        match self.dice.below(13) {
            0 | 1 => self.submit(which).await,
            2 | 3 => self.claim(which).await,
            4..=6 => self.settle().await,
            7..=9 => self.act(which).await,
            10 => self.tell().await,
            11 => {
                let secs = [1, 2, 5, 40][self.dice.below(4)];
                self.houses[0].advance(Duration::from_secs(secs));
            }
            _ => self.houses[which].jobs.tend().await,
        }
    }

    async fn submit(&mut self, which: usize) {
        let new = NewJob {
            max_attempts: Some(1 + self.dice.below(3) as u32),
            idempotency_key: (self.dice.below(4) == 0).then(|| "shared".to_owned()),
            ..work(&["complete"])
        };
        let id = self.houses[which].jobs.submit(new).await.unwrap();
        if !self.jobs.contains(&id) {
            self.jobs.push(id);
        }
    }

    async fn claim(&mut self, which: usize) {
        for claimed in self.houses[which].claim().await {
            self.leases.push((which, claimed.lease));
        }
    }

    async fn settle(&mut self) {
        let Some((which, lease)) = self.dice.pick(&self.leases) else {
            return;
        };
        let outcome = match self.dice.below(6) {
            0 | 1 => Outcome::Done(Done::nothing()),
            2 => Outcome::Done(Done::Paused),
            3 => Outcome::Failed(JobError::new("broken", "it broke")),
            4 => Outcome::Failed(JobError::new("broken", "it broke").permanent()),
            _ => Outcome::Interrupted,
        };
        self.houses[which]
            .jobs
            .settle(Ended {
                lease,
                outcome,
                unstored: None,
            })
            .await;
    }

    async fn act(&mut self, which: usize) {
        let Some(id) = self.dice.pick(&self.jobs) else {
            return;
        };
        let verbs = [
            Verb::Cancel,
            Verb::Pause,
            Verb::Pause,
            Verb::Resume,
            Verb::Retry,
            Verb::Rerun,
        ];
        let verb = self.dice.pick(&verbs).unwrap();
        let admin = caller(Role::SuperAdmin, "u");
        let acted = self.houses[which].jobs.act(&admin, verb, &id).await.unwrap();
        if verb == Verb::Rerun {
            self.jobs.extend(acted.job_id);
        }
    }

    async fn tell(&mut self) {
        let Some((which, lease)) = self.dice.pick(&self.leases) else {
            return;
        };
        let jobs = &self.houses[which].jobs;
        let mut tx = jobs.0.db.begin_write().await.unwrap();
        let warnings = json!([{ "message": "careful" }]);
        let noted = repo::moves::note(&mut tx, &lease, Some(&warnings), jobs.0.ctx.now())
            .await
            .unwrap();
        if let Some(sequence) = noted {
            let event = crate::model::event::NewEvent::info(crate::model::event::EventType::Warning);
            repo::events::add_one(&mut tx, &jobs.0.ctx, &lease.job_id, sequence, event)
                .await
                .unwrap();
        }
        tx.commit().await.unwrap();
    }

    /// Asserts the invariants of every job.
    async fn check(&self) {
        let house = &self.houses[0];
        for job in house.all().await {
            assert_eq!(
                job.lease_owner.is_some(),
                job.status.is_held(),
                "{} is {}",
                job.id,
                job.status
            );
            // Numbered without gaps, which this asserts.
            house.events(&job.id).await;
        }
    }
}

/// Every move that the program can make; unmade states are left out.
fn possible() -> BTreeSet<(String, String)> {
    let unmade = ["scheduled", "waiting", "blocked", "skipped", "expired"];
    AGREED
        .iter()
        .flat_map(|(from, ends)| ends.split(", ").map(move |to| (*from, to)))
        .filter(|(from, to)| !unmade.contains(from) && !unmade.contains(to))
        .filter(|pair| *pair != ("paused", "running"))
        .map(|(from, to)| (from.to_owned(), to.to_owned()))
        .collect()
}

db_test! {
    async fn no_order_of_doing_things_leads_where_a_job_may_not_go(db: Db) {
        watch(&db).await;
        let first = House::new(&db).await;
        let least = if db.backend() == Backend::Sqlite { 30 } else { 8 };
        // Continues until every possible move was made, so that each was judged.
        for round in 0..200 {
            if round >= least && seen(&db).await == possible() {
                break;
            }
            let seed = u64::from_be_bytes(qm_kernel::Ctx::system().bytes());
            eprintln!("round {round}: seed {seed}");
            let mut player = Player {
                houses: [first.beside(), first.beside()],
                jobs: Vec::new(),
                leases: Vec::new(),
                dice: Dice(seed),
            };
            for _ in 0..120 {
                player.turn().await;
            }
            player.check().await;
            for (old, new) in seen(&db).await {
                assert!(is_agreed(&old, &new), "{old} became {new}");
            }
        }
        assert_eq!(seen(&db).await, possible());
    }
}
