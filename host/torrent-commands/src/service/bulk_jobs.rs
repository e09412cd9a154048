//! Bulks as hosted jobs: listed, with their progress, and cancellable like any other job.
//!
//! The results of single torrents are kept in memory, for they are long and soon of no use; the job itself keeps the counts and the most
//! frequent reasons. The user is judged again while the job runs, for a token may outlive its claims.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use qm_jobs::{Done, Hosted, JobError, JobType, NewJob, Progress, Visibility};
use qm_kernel::{Caller, Permission, Requester};
use qm_lanes::IgnorePoison;
use qm_platform::ActingError;
use serde_json::{Value, json};

use super::TorrentCommands;
use super::bulk::{Control, Plan};
use crate::error::CommandsError;
use crate::model::act::Order;
use crate::model::results::{Outcome, Standing};

/// Job type.
const TYPE: &str = "torrents.bulk";
/// Bulk jobs of this process at once.
pub const RUNNING: usize = 8;
/// Bulk jobs of one user at once.
pub const RUNNING_OF_ONE: usize = 2;
/// Ended bulk jobs whose results are kept.
pub const KEPT: usize = 10;
/// Interval between two looks at the rights of a user.
const RIGHTS: Duration = Duration::from_secs(5);
/// Reasons of failures that a job keeps.
const REASONS: usize = 10;

pub fn job_type() -> JobType {
    let view = Some(Permission::TorrentsView);
    JobType::hosted(TYPE, "torrents", "jobs.type.torrents.bulk", view)
}

/// The bulk jobs of this process that run or ended last, the newest last.
#[derive(Default)]
pub struct BulkJobs {
    all: Mutex<VecDeque<Arc<Bulk>>>,
    /// Held by the one that begins, until it stands among the others: several requests at once would find the same room.
    door: tokio::sync::Mutex<()>,
}

/// A bulk job.
struct Bulk {
    id: String,
    user_id: Arc<str>,
    action: &'static str,
    total: usize,
    control: Control,
    /// None while it runs.
    ended: Mutex<Option<Outcome>>,
}

impl BulkJobs {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Bulk>>> {
        self.all.lock().ignore_poison()
    }

    pub fn cancel_all(&self) {
        for bulk in self.lock().iter() {
            bulk.control.cancel.cancel();
        }
    }

    /// Refuses another bulk of a user.
    fn check_room(&self, user_id: &str) -> Result<(), CommandsError> {
        let all = self.lock();
        let running = || all.iter().filter(|bulk| !bulk.has_ended());
        let of_one = running().filter(|bulk| *bulk.user_id == *user_id).count();
        if of_one >= RUNNING_OF_ONE {
            return Err(CommandsError::TooManyOfYours(of_one));
        }
        if running().count() >= RUNNING {
            return Err(CommandsError::TooManyBulks);
        }
        Ok(())
    }

    fn add(&self, bulk: Arc<Bulk>) {
        let mut all = self.lock();
        all.push_back(bulk);
        let ended = all.iter().filter(|bulk| bulk.has_ended()).count();
        let mut too_many = ended.saturating_sub(KEPT);
        all.retain(|bulk| {
            let goes = too_many > 0 && bulk.has_ended();
            too_many -= usize::from(goes);
            !goes
        });
    }
}

impl Bulk {
    fn ended(&self) -> MutexGuard<'_, Option<Outcome>> {
        self.ended.lock().ignore_poison()
    }

    fn has_ended(&self) -> bool {
        self.ended().is_some()
    }
}

impl TorrentCommands {
    /// Begins a bulk as a job and answers its id.
    pub(super) async fn begin_bulk(
        self: &Arc<Self>,
        caller: Caller<'_>,
        order: Order,
        plan: Plan,
    ) -> Result<String, CommandsError> {
        let _turn = self.bulks.door.lock().await;
        self.bulks.check_room(caller.user_id())?;
        let (action, total) = (order.kind.name, plan.len());
        let summary = json!({ "action": action, "torrents": total });
        let job = NewJob {
            input_summary: Some(summary),
            created_by: Some(caller.user_id().to_owned()),
            visibility: Visibility::Own,
            ..NewJob::new(TYPE, Value::Null)
        };
        let hosted = self.jobs.begin_hosted(job).await?;
        let control = Control {
            cancel: hosted.cancellation(),
            ..Control::default()
        };
        let bulk = Arc::new(Bulk {
            id: hosted.id().to_owned(),
            user_id: caller.principal.user_id.clone(),
            action,
            total,
            control: control.clone(),
            ended: Mutex::new(None),
        });
        let done = control.done.clone();
        hosted.follow_progress(move || Progress {
            unit: Some("torrents"),
            ..Progress::from_counts(done.load(Ordering::Relaxed) as u64, total as u64)
        });
        self.bulks.add(bulk.clone());
        let (id, who, app) = (bulk.id.clone(), caller.to_requester(), self.clone());
        self.tasks.spawn(async move {
            // Also when a bulk panics, it counts as running no longer.
            let unended = Unended(bulk);
            app.carry_bulk(&who, &order, &plan, hosted, unended).await;
        });
        Ok(id)
    }

    async fn carry_bulk(
        &self,
        who: &Requester,
        order: &Order,
        plan: &Plan,
        hosted: Hosted,
        unended: Unended,
    ) {
        let control = unended.0.control.clone();
        let outcome = tokio::select! {
            outcome = self.run_allowed(who, order, plan, &control) => outcome,
            () = self.watch_rights(who, order, &control) => Outcome::default(),
        };
        let result = json!({
            "action": order.kind.name,
            "succeeded": outcome.succeeded(),
            "failed": outcome.failed,
            "reasons": outcome.reasons(REASONS).into_iter().map(|(text, count)| json!({ "error": &*text, "count": count })).collect::<Vec<_>>(),
        });
        let total = outcome.results.len();
        let warning = (outcome.failed > 0)
            .then(|| format!("{} of {total} torrents were left as they were", outcome.failed));
        *unended.0.ended() = Some(outcome);
        let is_revoked = control.is_revoked.load(Ordering::SeqCst);
        hosted.end(
            warning,
            if is_revoked {
                let lacking = CommandsError::MissingPermission(order.kind.permission.key());
                Err(JobError::new(lacking.code(), lacking.to_string()).permanent())
            } else {
                Ok(Done::result(result))
            },
        );
    }

    /// Runs a bulk once its user was judged.
    async fn run_allowed(&self, who: &Requester, order: &Order, plan: &Plan, control: &Control) -> Outcome {
        if !self.may_still(who, order).await {
            control.is_revoked.store(true, Ordering::SeqCst);
        }
        self.run(who.caller(), order, plan, control).await
    }

    /// Judges the user from time to time; never returns.
    async fn watch_rights(&self, who: &Requester, order: &Order, control: &Control) {
        loop {
            tokio::time::sleep(RIGHTS).await;
            if !self.may_still(who, order).await {
                control.is_revoked.store(true, Ordering::SeqCst);
                std::future::pending::<()>().await;
            }
        }
    }

    /// True while the user holds the permission, as far as the database says; while it says nothing, what was so stays so.
    async fn may_still(&self, who: &Requester, order: &Order) -> bool {
        let powers = async {
            let mut tx = self.ground.db.begin_read().await?;
            self.ground.acting.powers(&mut tx, &who.principal.user_id).await
        };
        match powers.await {
            Ok(powers) => powers.contains(order.kind.permission),
            Err(ActingError::Database(error)) => {
                tracing::debug!(%error, "the rights of the user of a bulk cannot be looked at");
                true
            }
            Err(_) => false,
        }
    }

    /// A bulk job of the caller, with the results from `first` on, `most` at most.
    pub fn find_bulk(
        &self,
        caller: Caller<'_>,
        id: &str,
        first: usize,
        most: usize,
    ) -> Result<Standing, CommandsError> {
        let bulk = {
            let all = self.bulks.lock();
            let mine = all
                .iter()
                .find(|bulk| bulk.id == id && *bulk.user_id == *caller.user_id());
            mine.cloned().ok_or(CommandsError::NoSuchBulk)?
        };
        let ended = bulk.ended();
        let outcome = ended.as_ref();
        let results = outcome.map_or(&[][..], |outcome| &outcome.results);
        Ok(Standing {
            action: bulk.action,
            total: bulk.total,
            done: bulk.control.done.load(Ordering::Relaxed).min(bulk.total),
            has_ended: outcome.is_some(),
            succeeded: outcome.map_or(0, Outcome::succeeded),
            failed: outcome.map_or(0, |outcome| outcome.failed),
            results: results.iter().skip(first).take(most).cloned().collect(),
            results_total: results.len(),
        })
    }
}

/// Marks a bulk as ended when it is dropped.
struct Unended(Arc<Bulk>);

impl Drop for Unended {
    fn drop(&mut self) {
        let mut ended = self.0.ended();
        if ended.is_none() {
            *ended = Some(Outcome::default());
        }
    }
}
