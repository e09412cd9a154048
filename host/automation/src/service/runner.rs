//! Runner: executes waiting runs in order, and never two runs of one rule or one torrent at once.
//!
//! Therefore the actions of a rule happen in the order of the decisions, and the rules of a torrent by priority. A
//! run that waits for another one delays later ones of the same rule and torrent, nothing else. Bounds:
//! [`PLACES`] runs at once, [`OF_ONE_AUTHOR`] for the rules of one user; [`LOOKED_AT`] waiting ones are examined; a stop waits [`STOP`] for running ones.
//! Interrupted runs are settled by the next start.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use qm_db::DbError;
use qm_kernel::as_error;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Automation;
use crate::model::run::Waiting;
use crate::repo;

/// Number of runs at once.
pub(super) const PLACES: usize = 8;
/// Number of runs at once of rules that one user wrote: an action over a whole library takes long, and others go on beside it.
const OF_ONE_AUTHOR: usize = PLACES / 2;
/// Waiting runs examined for one that may begin.
const LOOKED_AT: usize = 1000;
/// Interval between two looks while nothing wakes the runner; runs are decided in this process, which wakes
/// it.
const INTERVAL: Duration = Duration::from_mins(1);
/// Pause after a database error.
const PAUSE: Duration = Duration::from_secs(1);
/// Time that a stop gives to running actions.
const STOP: Duration = Duration::from_secs(5);

/// Running runs.
#[derive(Default)]
struct Hands {
    tasks: JoinSet<Waiting>,
    ids: HashSet<String>,
    rules: HashSet<String>,
    hashes: HashSet<String>,
    /// Number of running runs by author.
    authors: HashMap<Option<String>, usize>,
}

impl Hands {
    fn take(&mut self, run: &Waiting) {
        self.ids.insert(run.id.clone());
        self.rules.insert(run.rule_id.clone());
        self.hashes.extend(run.hash.clone());
        *self.authors.entry(run.author.clone()).or_default() += 1;
    }

    fn release(&mut self, run: &Waiting) {
        self.ids.remove(&run.id);
        self.rules.remove(&run.rule_id);
        if let Some(hash) = &run.hash {
            self.hashes.remove(hash);
        }
        if let Some(running) = self.authors.get_mut(&run.author) {
            *running -= 1;
        }
        self.authors.retain(|_, running| *running > 0);
    }
}

impl Automation {
    pub const RUNNER: (&'static str, Duration) = ("automation.runs", INTERVAL);

    /// Executes waiting runs until stopped.
    pub async fn runner_loop(self: Arc<Self>, stop: CancellationToken) {
        while let Err(error) = self.settle(&stop).await {
            tracing::error!(
                error = as_error(&error),
                "runs of rules that were cut off cannot be read"
            );
            if stop
                .run_until_cancelled(tokio::time::sleep(PAUSE))
                .await
                .is_none()
            {
                return;
            }
        }
        if stop.is_cancelled() {
            return;
        }
        let mut hands = Hands::default();
        loop {
            let next = match self.begin(&mut hands, &stop).await {
                Ok(()) => INTERVAL,
                Err(error) => {
                    tracing::warn!(error = as_error(&error), "waiting runs of rules cannot be read");
                    PAUSE
                }
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(ended) = hands.tasks.join_next() => match ended {
                    Ok(run) => {
                        hands.release(&run);
                        self.room.notify_one();
                    }
                    // The runs it left are found like those of a crash, when this loop begins again.
                    Err(error) => std::panic::resume_unwind(error.into_panic()),
                },
                () = self.work.notified() => {}
                () = tokio::time::sleep(next) => {}
            }
        }
        let ending = async { while hands.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(STOP, ending).await.is_err() {
            tracing::warn!(
                runs = hands.tasks.len(),
                "actions of rules were cut off: the server stops"
            );
        }
    }

    /// Waits until the start is complete, and settles interrupted runs.
    async fn settle(&self, stop: &CancellationToken) -> Result<(), DbError> {
        self.until_ready(stop).await?;
        if stop.is_cancelled() {
            return Ok(());
        }
        self.recover().await
    }

    /// Begins the runs that may begin.
    async fn begin(self: &Arc<Self>, hands: &mut Hands, stop: &CancellationToken) -> Result<(), DbError> {
        if hands.tasks.len() >= PLACES || !self.db.mandate().holds() {
            return Ok(());
        }
        let mut tx = self.db.begin_read().await?;
        let waiting = repo::runs::waiting(&mut tx, LOOKED_AT).await?;
        drop(tx);
        if waiting.is_empty() && hands.tasks.is_empty() {
            self.memory().note_idle();
        }
        // A blocked run delays later ones of its rule and torrent.
        let (mut rules, mut hashes) = (hands.rules.clone(), hands.hashes.clone());
        for run in waiting {
            if hands.tasks.len() >= PLACES {
                break;
            }
            if hands.ids.contains(&run.id) {
                continue;
            }
            let of_author = hands.authors.get(&run.author).copied().unwrap_or_default();
            let is_held = of_author >= OF_ONE_AUTHOR
                || rules.contains(&run.rule_id)
                || run.hash.as_ref().is_some_and(|hash| hashes.contains(hash));
            rules.insert(run.rule_id.clone());
            hashes.extend(run.hash.clone());
            if !is_held {
                hands.take(&run);
                let (automation, stop) = (self.clone(), stop.clone());
                hands.tasks.spawn(async move {
                    automation.execute(&run, &stop).await;
                    run
                });
            }
        }
        Ok(())
    }

    /// Executes everything that is waiting.
    #[cfg(test)]
    pub async fn run_all(self: &Arc<Self>) {
        let (mut hands, stop) = (Hands::default(), CancellationToken::new());
        loop {
            self.begin(&mut hands, &stop).await.expect("the database");
            let Some(ended) = hands.tasks.join_next().await else {
                return;
            };
            hands.release(&ended.expect("a run that ends"));
        }
    }
}
