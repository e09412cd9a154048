//! Job that reads the names of many items again, and asks the data set of titles about them.
//!
//! Some items a transaction, which also stores the progress: a server that was killed goes on behind them. The rights of the
//! person who ordered it are checked before each transaction. Rules of automation use it for one item.

use std::collections::HashSet;
use std::sync::{Arc, Weak};

use async_trait::async_trait;
use qm_jobs::{Done, JobContext, JobError, JobHandler, JobType, NewJob};
use qm_kernel::{Caller, Permission};
use qm_media::LibraryError;
use qm_media::lanes::COMPUTE;
use qm_media::model::titles::{Tally, Which};
use qm_media::repo;
use qm_media::service::jobs::{self, Stop, in_service, stopped};
use qm_media_names::name::identify;
use qm_media_names::place;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Identification;

/// Type of the jobs.
pub const TYPE: &str = "media.media_identification";
const NEEDED: Permission = Permission::MediaManagerMatch;
/// Most items of one transaction.
const AT_ONCE: i64 = 25;

pub fn job_type(room: &Arc<Identification>) -> JobType {
    let handler = Arc::new(Identifying(Arc::downgrade(room)));
    jobs::job_type(TYPE, "jobs.type.media.media_identification", handler)
}

#[derive(Default, Serialize, Deserialize)]
struct State {
    /// Id of the last item that is done.
    after: String,
    #[serde(flatten)]
    tally: Tally,
}

struct Identifying(Weak<Identification>);

#[async_trait]
impl JobHandler for Identifying {
    async fn run(&self, job: &JobContext) -> Result<Done, JobError> {
        let room = in_service(&self.0)?;
        let text = |name: &str| job.input()[name].as_str().map(str::to_owned);
        if let Some(id) = text("itemId") {
            // For a rule: there is no user whose rights could be checked.
            let status = room.read_one(&id).await?;
            return Ok(Done::result(json!({ "itemId": id, "matchStatus": status })));
        }
        let which = Which {
            library_id: text("libraryId"),
            match_status: text("matchStatus"),
        };
        let tally = room.read_again(job, &which).await?;
        room.ask_again(job, &which).await?;
        Ok(Done::result(
            json!({ "total": tally.total, "matched": tally.matched, "unmatched": tally.unmatched, "failed": tally.failed }),
        ))
    }
}

impl Identification {
    /// Starts a job that identifies items again, and waits for it. A second request of the same person meanwhile joins the
    /// same job.
    pub async fn reidentify(&self, caller: Caller<'_>, which: Which) -> Result<Tally, LibraryError> {
        let mut tx = self.db.begin_write().await?;
        let actor = self.rights.judge(&mut tx, caller, NEEDED).await?;
        if let Some(id) = &which.library_id
            && repo::libraries::find(&mut tx, id).await?.is_none()
        {
            return Err(LibraryError::NoSuchLibrary);
        }
        let input = json!({ "libraryId": which.library_id, "matchStatus": which.match_status });
        let mut entry = actor.entry("media.item.reidentify", caller.client);
        entry.object_type = Some("media_item");
        entry.metadata = Some(input.clone());
        self.audit.record(&mut tx, entry).await?;
        let job = NewJob {
            created_by: Some(actor.user_id().to_owned()),
            library_id: which.library_id,
            idempotency_key: Some(format!("{TYPE}:{}:{input}", actor.user_id())),
            ..NewJob::new(TYPE, input)
        };
        let job = self.jobs.enqueue(&mut tx, job).await?;
        tx.commit().await?;
        self.jobs.announce(&job);
        jobs::result_of(&self.jobs, job.id()).await
    }

    async fn read_again(&self, job: &JobContext, which: &Which) -> Result<Tally, JobError> {
        let mut state: State = jobs::saved(job);
        let mut tx = self.db.begin_read().await?;
        let (library, status) = (which.library_id.as_deref(), which.match_status.as_deref());
        let total = repo::names::count(&mut tx, library, status).await?;
        let libraries = repo::libraries::all(&mut tx).await?;
        drop(tx);
        loop {
            if job.is_cancelled() {
                return Err(stopped());
            }
            self.rights.check_order(job, &[NEEDED]).await?;
            let mut tx = self.db.begin_read().await?;
            let items = repo::names::wanted(&mut tx, library, status, &state.after, AT_ONCE).await?;
            let mut alone = HashSet::new();
            for of in &libraries {
                let own = items.iter().filter(|item| item.library_id == of.id);
                let ids: Vec<&str> = own.map(|item| &*item.id).collect();
                alone.extend(repo::names::alone(&mut tx, of.kind, &ids).await?);
            }
            drop(tx);
            let Some(last) = items.last() else {
                return Ok(state.tally);
            };
            state.after.clone_from(&last.id);
            let kinds: Vec<_> = items
                .iter()
                .map(|item| {
                    libraries
                        .iter()
                        .find(|of| of.id == item.library_id)
                        .map(|of| of.kind)
                })
                .collect();
            let reading = COMPUTE.run(move |_| {
                let all = items.into_iter().zip(kinds);
                // Items of a library created meanwhile are left to its scan.
                let known = all.filter_map(|(item, kind)| {
                    let found = identify(&place::shown(&item.place), kind?, alone.contains(&item.id));
                    Some((item, found))
                });
                known.collect::<Vec<_>>()
            });
            let found = reading
                .await
                .map_err(|error| JobError::new("names", error.to_string()))?;
            let now = self.ctx.now();
            let mut tx = self.db.begin_write().await?;
            for (item, found) in &found {
                state.tally.total += 1;
                let is_there =
                    !item.is_otherwise(found) || repo::names::identified(&mut tx, item, found, now).await?;
                match (is_there, found.is_matched()) {
                    (false, _) => state.tally.failed += 1,
                    (true, true) => state.tally.matched += 1,
                    (true, false) => state.tally.unmatched += 1,
                }
            }
            tx.commit().await?;
            jobs::save(job, &state).await?;
            let done = usize::try_from(state.tally.total).unwrap_or(usize::MAX);
            job.progress(jobs::progress(done, total)).await?;
        }
    }

    async fn ask_again(&self, job: &JobContext, which: &Which) -> Result<(), JobError> {
        let libraries = repo::libraries::all(&mut self.db.begin_read().await?).await?;
        let wanted = |id: &str| which.library_id.as_deref().is_none_or(|wanted| wanted == id);
        for library in libraries.iter().filter(|library| wanted(&library.id)) {
            self.rights.check_order(job, &[NEEDED]).await?;
            self.ask_titles(library, job).await.map_err(|stop| match stop {
                Stop::Stopped => stopped(),
                Stop::Job(error) => error,
                Stop::Database(error) => error.into(),
                Stop::Changed => JobError::new("changed", stop.to_string()),
            })?;
        }
        Ok(())
    }
}
