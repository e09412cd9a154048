//! Tests of the service on both databases, with a clock that the test sets.

mod actions;
mod damage;
mod fuzz;
mod hosted;
mod idle;
mod leases;
mod runs;
mod two_workers;
mod upkeep;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use qm_db::{Db, sql};
use qm_kernel::{ClientInfo, PageQuery, Permission, PermissionSet, Principal, Requester, Role, Timestamp};
use qm_platform::Background;
use qm_test_base::{Hands, START_MS};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::Jobs;
use super::context::{JobContext, Progress};
use super::types::{Done, JobError, JobHandler, JobType};
use crate::model::event::JobEvent;
use crate::model::job::{Capabilities, Item, Job, NewJob};
use crate::model::pace::Pace;
use crate::model::view::Wanted;
use crate::repo;
use crate::repo::moves::Claimed;
use crate::testing;

/// Type of most jobs here; its handler follows the script in the input.
pub const WORK: &str = "test.work";

sql! {
    ADD_USER = "INSERT INTO users (id, username, email, password_hash, created_at, updated_at) \
        VALUES ($1, $1, $1, '', 0, 0)";
}

/// State that the handlers of one worker share with the test.
#[derive(Default)]
pub struct Stage {
    /// Line written by each run, in order.
    said: Mutex<Vec<String>>,
    /// Releases the handlers that wait for it.
    pub go: Notify,
}

impl Stage {
    pub fn spoken_lines(&self) -> Vec<String> {
        self.said.lock().unwrap().clone()
    }

    pub fn say(&self, text: impl Into<String>) {
        self.said.lock().unwrap().push(text.into());
    }
}

/// Follows the list `do` of its input, one word per attempt; the last word is repeated for later attempts.
struct Script(Arc<Stage>);

#[async_trait]
impl JobHandler for Script {
    async fn run(&self, job: &JobContext) -> Result<Done, JobError> {
        let words: Vec<&str> = job.input()["do"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let attempt = usize::try_from(job.attempt()).unwrap() - 1;
        let word = words.get(attempt).or(words.last()).copied().unwrap_or("complete");
        let name = job.input()["name"].as_str().unwrap_or("job");
        self.0.say(format!("{name}:{word}"));
        match word {
            "complete" => Ok(Done::result(json!({ "name": name, "token": "hidden" }))),
            "warn" => {
                job.warning("disk at 91 %, password=hunter2").await?;
                Ok(Done::nothing())
            }
            "fail" => Err(JobError::new("broken", "it broke, token=abc")),
            "fail for good" => Err(JobError::new("broken", "it broke").permanent()),
            "panic" => panic!("as it was told"),
            "hang" => std::future::pending().await,
            "wait" => {
                self.0.go.notified().await;
                Ok(Done::nothing())
            }
            "obey" => {
                job.cancelled().await;
                Err(JobError::new("stopped", "it was told to stop"))
            }
            "pause" if job.checkpoint().is_some() => {
                self.0.say(format!("{name}:from {}", job.checkpoint().unwrap()));
                Ok(Done::nothing())
            }
            "pause" => {
                job.paused().await;
                job.save(&json!({ "at": 7 })).await?;
                Ok(Done::Paused)
            }
            "progress" => {
                for percent in [5.0, 10.0, 100.0] {
                    job.progress(Progress::percent(percent)).await?;
                }
                job.progress(Progress::from_counts(1, 4).phase("late")).await?;
                Ok(Done::nothing())
            }
            "child" => {
                let child = NewJob::new(WORK, json!({ "name": "child" }));
                job.spawn(child).await?;
                Ok(Done::nothing())
            }
            other => panic!("nobody knows how to `{other}`"),
        }
    }
}

/// One worker on a database.
pub struct House {
    pub jobs: Jobs,
    pub db: Db,
    pub clock: Arc<Hands>,
    pub stage: Arc<Stage>,
    pub background: Background,
}

pub fn pace() -> Pace {
    Pace {
        places: Some(4),
        unstored_limit: Duration::ZERO,
        batch_delay: Duration::ZERO,
        ..Pace::default()
    }
}

pub fn all_capabilities() -> Capabilities {
    Capabilities {
        cancellable: true,
        pausable: true,
        resumable: true,
        retryable: true,
    }
}

pub fn type_of(key: &'static str, handler: Arc<dyn JobHandler>) -> JobType {
    JobType {
        key,
        module: "torrents",
        workspace: None,
        label_key: "jobs.test",
        description_key: None,
        required_permission: None,
        capabilities: all_capabilities(),
        max_attempts: 1,
        timeout: None,
        at_once: None,
        at_once_of_one: None,
        handler,
    }
}

impl House {
    pub async fn new(db: &Db) -> Self {
        let mut tx = db.begin_write().await.unwrap();
        for user in ["u", "v"] {
            let _ = qm_db::exec!(&mut tx, ADD_USER, user).await.unwrap();
        }
        tx.commit().await.unwrap();
        Self::over(db, Hands::starting_at(START_MS), Arc::default(), pace())
    }

    /// Another worker on the same database, with the same clock.
    pub fn beside(&self) -> Self {
        Self::over(&self.db, self.clock.clone(), self.stage.clone(), pace())
    }

    pub fn at_pace(&self, pace: Pace) -> Self {
        Self::over(&self.db, self.clock.clone(), self.stage.clone(), pace)
    }

    fn over(db: &Db, clock: Arc<Hands>, stage: Arc<Stage>, pace: Pace) -> Self {
        let (jobs, background) = testing::worker_of(db, pace, clock.ctx());
        jobs.register(type_of(WORK, Arc::new(Script(stage.clone()))));
        Self {
            jobs,
            db: db.clone(),
            clock,
            stage,
            background,
        }
    }

    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// Queues a job that does `word`; returns its id.
    pub async fn submit(&self, word: &str) -> String {
        self.jobs.submit(work(&[word])).await.unwrap()
    }

    /// Claims as many jobs as there is room for, and begins none.
    pub async fn claim(&self) -> Vec<Claimed> {
        let ids = self.jobs.look_for_work().await.unwrap().ids;
        self.jobs.claim(&ids).await.unwrap()
    }

    /// Runs due jobs until none is running any more.
    pub async fn run_all(&self) {
        loop {
            self.jobs.dispatch().await.unwrap();
            self.settled().await;
            if self.jobs.0.running_jobs.len() == 0 && self.jobs.look_for_anything().await.is_empty() {
                return;
            }
        }
    }

    /// Waits until no job is running.
    pub async fn settled(&self) {
        let jobs = &self.jobs.0;
        until("every job to end", || {
            jobs.running_jobs.len() == 0 && jobs.runs.is_empty()
        })
        .await;
    }

    /// Waits until a handler has written this line.
    pub async fn heard(&self, text: &str) {
        until(text, || self.stage.spoken_lines().iter().any(|said| said == text)).await;
    }

    pub async fn job(&self, id: &str) -> Job {
        let mut tx = self.db.begin_read().await.unwrap();
        repo::jobs::find(&mut tx, id).await.unwrap().expect("the job")
    }

    pub async fn status(&self, id: &str) -> String {
        self.job(id).await.status.as_str().to_owned()
    }

    pub async fn events(&self, id: &str) -> Vec<JobEvent> {
        let mut tx = self.db.begin_read().await.unwrap();
        let (events, total) = repo::events::page(&mut tx, id, None, 1000, 0).await.unwrap();
        assert_eq!(events.len() as u64, total);
        for (index, event) in events.iter().enumerate() {
            assert_eq!(event.sequence, index as i64 + 1, "numbered without gaps");
        }
        events
    }

    /// Event types of a job, in order.
    pub async fn event_types(&self, id: &str) -> Vec<String> {
        let events = self.events(id).await;
        events.into_iter().map(|event| event.event_type).collect()
    }

    /// Every job, the oldest first.
    pub async fn all(&self) -> Vec<Job> {
        let mut tx = self.db.begin_read().await.unwrap();
        let mut jobs = Vec::new();
        for item in self.items().await {
            jobs.extend(repo::jobs::find(&mut tx, &item.id).await.unwrap());
        }
        jobs
    }

    /// Every job as a row of a list.
    pub async fn items(&self) -> Vec<Item> {
        let wanted = Wanted {
            ascending: true,
            ..Wanted::default()
        };
        let page = PageQuery {
            page: 1,
            page_size: 100_000,
        };
        let admin = caller(Role::SuperAdmin, "u").principal;
        self.jobs.list(&admin, &wanted, page).await.unwrap().0
    }
}

impl Jobs {
    /// Ids of the jobs that could begin now.
    async fn look_for_anything(&self) -> Vec<String> {
        self.look_for_work().await.unwrap().ids
    }
}

pub fn work(words: &[&str]) -> NewJob {
    NewJob::new(WORK, json!({ "do": words }))
}

pub fn caller(role: Role, user: &str) -> Requester {
    caller_with(role, user, role.permissions().collect())
}

pub fn caller_with(role: Role, user: &str, permissions: PermissionSet) -> Requester {
    Requester {
        principal: Principal {
            user_id: user.into(),
            username: user.into(),
            roles: vec![role],
            permissions,
            expires_at: Timestamp::from_ms(i64::MAX),
        },
        client: ClientInfo {
            ip: [127, 0, 0, 1].into(),
            forwarded: "127.0.0.1".into(),
            user_agent: None,
            request_id: "r".into(),
        },
    }
}

/// A caller who holds only these permissions.
pub fn holder(user: &str, permissions: &[Permission]) -> Requester {
    caller_with(Role::ReadOnly, user, permissions.iter().copied().collect())
}

/// Waits for a condition, with a deadline.
pub async fn until(what: &str, holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), waiting)
        .await
        .unwrap_or_else(|_| panic!("waited in vain for {what}"));
}
