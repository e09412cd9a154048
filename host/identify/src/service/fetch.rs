//! Job that asks providers for metadata of many items, for a person who ordered it, or of one item, for a rule of
//! automation.
//!
//! Each item is asked about outside of any transaction, and its answer is stored in one: an interruption leaves it as it
//! was. Progress is stored after each item, so that a server that was killed goes on with the next one. The last item before
//! that may be asked about once more, which does no harm.
//!
//! Bounds: [`TOGETHER`] orders at once; an item that others change meanwhile is asked about [`TRIES`] times; silent
//! providers are waited for as [`Patience`] says.

use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use qm_jobs::{Done, JobContext, JobError, JobHandler, JobType};
use qm_kernel::Permission;
use qm_media::LibraryError;
use qm_media::repo;
use qm_media::service::jobs::{self, Standing, in_service, stopped};
use serde_json::json;

use super::Identification;
use super::metadata::asked;

/// Type of the jobs.
pub const TYPE: &str = "media.metadata_fetch";
/// Permission of those who order it.
pub const NEEDED: Permission = Permission::MediaManagerEditMetadata;
const TOGETHER: usize = 2;
const TRIES: usize = 3;

pub fn job_type(room: &Arc<Identification>) -> JobType {
    let handler = Arc::new(Fetching(Arc::downgrade(room)));
    JobType {
        // No disk is used, and providers have their own rate limits: a long order does not block a short one.
        at_once: Some(TOGETHER),
        at_once_of_one: None,
        ..jobs::job_type(TYPE, "jobs.type.media.metadata_fetch", handler)
    }
}

struct Fetching(Weak<Identification>);

#[async_trait]
impl JobHandler for Fetching {
    async fn run(&self, job: &JobContext) -> Result<Done, JobError> {
        let room = in_service(&self.0)?;
        let Some(id) = job.input()["itemId"].as_str() else {
            return room.fetch_ordered(job).await;
        };
        // For a rule: there is no user whose rights could be checked.
        let metadata = tokio::select! {
            () = job.cancelled() => return Err(stopped()),
            stored = room.fetch_for_a_rule(id) => stored?,
        };
        Ok(Done::result(
            json!({ "itemId": id, "providerName": metadata.provider_name }),
        ))
    }
}

/// Waiting for silent providers: up to three times, each longer than the last. An answer starts the count anew.
pub(super) struct Patience {
    most: u32,
    waited: u32,
}

impl Default for Patience {
    fn default() -> Self {
        Self { most: 3, waited: 0 }
    }
}

impl Patience {
    /// No waiting at all.
    pub const fn none() -> Self {
        Self { most: 0, waited: 0 }
    }

    /// True if another wait is allowed.
    pub const fn is_left(&self) -> bool {
        self.waited < self.most
    }

    /// Waits for `unit`, 3 × `unit`, then 9 × `unit`. Returns `false` at once if no wait is left.
    pub async fn wait(&mut self, job: &JobContext, unit: Duration) -> Result<bool, JobError> {
        if !self.is_left() {
            return Ok(false);
        }
        let pause = unit * 3_u32.pow(self.waited);
        self.waited += 1;
        tokio::select! {
            () = job.cancelled() => Err(stopped()),
            () = tokio::time::sleep(pause) => Ok(true),
        }
    }

    pub fn answered(&mut self) {
        self.waited = 0;
    }
}

impl Identification {
    async fn fetch_ordered(&self, job: &JobContext) -> Result<Done, JobError> {
        let ids = jobs::ids(job);
        let mut standing: Standing = jobs::saved(job);
        let mut patience = Patience::default();
        for id in &ids[standing.done.min(ids.len())..] {
            let became = self.fetch_patiently(job, id, &mut patience).await?;
            standing.note(job, id, became).await?;
            jobs::save(job, &standing).await?;
            job.progress(jobs::progress(standing.done, ids.len())).await?;
        }
        Ok(Done::result(json!({
            "total": ids.len(), "completed": standing.completed, "failed": standing.failed,
            "failures": standing.failures,
        })))
    }

    /// Asks about one item, and waits for silent providers. After an error of the job, another attempt does it.
    async fn fetch_patiently(
        &self,
        job: &JobContext,
        id: &str,
        patience: &mut Patience,
    ) -> Result<Result<(), String>, JobError> {
        let mut tries = 0;
        loop {
            match self.fetch_one(job, id).await? {
                Ok(()) => {
                    patience.answered();
                    return Ok(Ok(()));
                }
                Err(LibraryError::Silent(_)) if patience.wait(job, self.pace.spares).await? => {}
                // Somebody said meanwhile what it is.
                Err(LibraryError::Changed) if tries < TRIES => tries += 1,
                Err(
                    error @ (LibraryError::NoSuchItem
                    | LibraryError::Locked
                    | LibraryError::Changed
                    | LibraryError::Silent(_)),
                ) => return Ok(Err(error.to_string())),
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn fetch_one(&self, job: &JobContext, id: &str) -> Result<Result<(), LibraryError>, JobError> {
        if job.is_cancelled() {
            return Err(stopped());
        }
        self.rights.check_order(job, &[NEEDED]).await?;
        let (item, question) = match asked(&mut self.db.begin_read().await?, id).await {
            Ok(asked) => asked,
            Err(error) => return Ok(Err(error)),
        };
        if item.locked {
            return Ok(Err(LibraryError::Locked));
        }
        let heard = tokio::select! {
            () = job.cancelled() => return Err(stopped()),
            heard = self.ask_chain(id, question) => heard,
        };
        let heard = match heard {
            Ok(heard) => heard,
            Err(error) => return Ok(Err(error)),
        };
        // Providers may take their time.
        self.rights.check_order(job, &[NEEDED]).await?;
        let mut tx = self.db.begin_write().await?;
        repo::metadata::hold(&mut tx, id).await?;
        let found = repo::lists::find(&mut tx, id).await?;
        if found.is_some_and(|(item, _)| item.locked) {
            return Ok(Err(LibraryError::Locked));
        }
        if let Err(error) = self.store_heard(&mut tx, id, heard).await {
            return Ok(Err(error));
        }
        tx.commit().await?;
        Ok(Ok(()))
    }
}
