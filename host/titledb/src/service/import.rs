//! Starting and stopping imports, and removing the imported data.

use std::path::{Path, PathBuf};

use qm_db::Tx;
use qm_jobs::{Enqueued, NewJob, Source, Standing};
use qm_kernel::{Caller, Permission};
use qm_platform::{Actor, AuditEntry, AuditResult, judge_alone};
use serde_json::{Value, json};

use super::Titledb;
use super::work::{TYPE, Task};
use crate::error::TitledbError;
use crate::lanes::VALIDATIONS;
use crate::model::import::Import;
use crate::model::report::{Cleared, Report};
use crate::ops::read;
use crate::repo;

const NEEDED: &[Permission] = &[Permission::MediaManagerTitledbImportDataset];
pub const INTERRUPTED: &str = "Interrupted by a server restart.";

impl Titledb {
    /// Examines the files of a directory without importing them. A blank path means the directory of the
    /// settings; if they have none, the service's own, which is stored then.
    pub async fn validate(&self, caller: Caller<'_>, path: Option<&str>) -> Result<Report, TitledbError> {
        // The check reads a disk and may write a setting.
        judge_alone(&*self.acting, &self.db, caller.principal, NEEDED).await?;
        let path = path.map(str::trim).filter(|path| !path.is_empty());
        let directory = match path {
            Some(path) => self.guarded(path).await?,
            None => {
                let directory = self.directory().await?;
                self.remember_directory(caller, NEEDED, &directory).await?;
                directory
            }
        };
        self.note(
            caller,
            "media.titledb.dataset.validate.started",
            "titledb_dataset",
            &directory,
            true,
        )
        .await;
        self.tell(
            "titledb.dataset.validate.started",
            &json!({ "message": "The files of the data set are looked at", "at": self.ctx.now() }),
        );
        let looked_at = directory.clone();
        let examining = VALIDATIONS.run(move |cancel| read::examine(&looked_at, &cancel));
        let examined = match examining.await {
            Ok(examined) => examined,
            Err(error) => {
                let action = "media.titledb.dataset.validate.completed";
                self.note(caller, action, "titledb_dataset", &directory, false)
                    .await;
                return Err(error.into());
            }
        };
        let report = Report {
            directory,
            files: examined,
        };
        let valid = report.is_valid();
        self.note(
            caller,
            "media.titledb.dataset.validate.completed",
            "titledb_dataset",
            &report.directory,
            valid,
        )
        .await;
        self.tell(
            "titledb.dataset.validate.completed",
            &json!({
                "message": if valid { "The data set can be imported" } else { "The data set cannot be imported" },
                "status": if valid { "valid" } else { "invalid" },
                "at": self.ctx.now(),
            }),
        );
        Ok(report)
    }

    async fn note(
        &self,
        caller: Caller<'_>,
        action: &'static str,
        object: &'static str,
        directory: &Path,
        went_well: bool,
    ) {
        let entry = AuditEntry {
            user_id: Some(caller.principal.user_id.to_string()),
            action,
            object_type: Some(object),
            result: if went_well {
                AuditResult::Success
            } else {
                AuditResult::Failure
            },
            client: Some(caller.client),
            metadata: Some(json!({ "datasetPath": directory })),
            ..AuditEntry::default()
        };
        self.audit.record_alone(&self.db, entry).await;
    }

    /// The directory of the settings, or the service's own.
    pub async fn directory(&self) -> Result<PathBuf, TitledbError> {
        let stored = self.options().await?.dataset_path;
        match stored {
            Some(path) => self.guarded(&path).await,
            None => self.own_directory().await,
        }
    }

    /// Starts an import. If one is active, that one is returned and nothing starts.
    pub async fn import(&self, caller: Caller<'_>, path: &str) -> Result<Import, TitledbError> {
        judge_alone(&*self.acting, &self.db, caller.principal, NEEDED).await?;
        let directory = self.guarded(path).await?;
        let (import, _) = self.ask(Some(caller), &directory, Task::Import).await?;
        Ok(import)
    }

    /// Downloads and imports newer files; `false` when an import is active.
    pub async fn update(&self, caller: Option<Caller<'_>>) -> Result<(bool, Option<PathBuf>), TitledbError> {
        let directory = self.directory().await?;
        let (_, fresh) = self.ask(caller, &directory, Task::Update).await?;
        Ok((fresh, fresh.then_some(directory)))
    }

    async fn ask(
        &self,
        caller: Option<Caller<'_>>,
        directory: &Path,
        task: Task,
    ) -> Result<(Import, bool), TitledbError> {
        self.settle().await?;
        let mut tx = self.db.begin_write().await?;
        let actor = match caller {
            Some(caller) => Some(self.acting.judge(&mut tx, caller.principal, NEEDED).await?),
            None => None,
        };
        let id = self.ctx.id();
        let path = directory.to_string_lossy();
        if !repo::imports::insert(&mut tx, &id, &path, self.ctx.now()).await? {
            let active = repo::imports::active(&mut tx).await?;
            return Ok((active.ok_or(TitledbError::Active)?, false));
        }
        let enqueued = self.enqueue(&mut tx, &id, task, actor.as_ref()).await?;
        let metadata = json!({ "datasetPath": path, "download": task == Task::Update });
        let entry = AuditEntry {
            user_id: actor.as_ref().map(|actor| actor.user_id().to_owned()),
            action: "media.titledb.dataset.import.started",
            object_type: Some("titledb_dataset_import"),
            object_id: Some(id.clone()),
            client: caller.map(|caller| caller.client),
            metadata: Some(metadata),
            ..AuditEntry::default()
        };
        self.audit.record(&mut tx, entry).await?;
        let import = repo::imports::find(&mut tx, &id).await?;
        tx.commit().await?;
        self.jobs.announce(&enqueued);
        Ok((import.ok_or(TitledbError::NotRunning)?, true))
    }

    async fn enqueue(
        &self,
        tx: &mut Tx,
        id: &str,
        task: Task,
        actor: Option<&Actor>,
    ) -> Result<Enqueued, TitledbError> {
        let job = NewJob {
            resource: Some(("titledb_dataset_import".to_owned(), id.to_owned())),
            created_by: actor.map(|actor| actor.user_id().to_owned()),
            source: if actor.is_some() {
                Source::Manual
            } else {
                Source::Scheduled
            },
            idempotency_key: Some(format!("{TYPE}:{id}")),
            ..NewJob::new(TYPE, json!({ "importId": id, "task": task.word() }))
        };
        let enqueued = self.jobs.enqueue(tx, job).await?;
        repo::imports::set_job(tx, id, enqueued.id()).await?;
        Ok(enqueued)
    }

    /// Asks the active import to stop, which it does after its present batch.
    pub async fn stop(&self, caller: Caller<'_>) -> Result<Import, TitledbError> {
        self.settle().await?;
        let mut tx = self.db.begin_write().await?;
        let actor = self.acting.judge(&mut tx, caller.principal, NEEDED).await?;
        let active = repo::imports::active(&mut tx).await?;
        let active = active.ok_or(TitledbError::NotRunning)?;
        repo::imports::ask_to_stop(&mut tx, &active.id, self.ctx.now()).await?;
        let entry = AuditEntry {
            object_type: Some("titledb_dataset_import"),
            object_id: Some(active.id.clone()),
            ..actor.entry("media.titledb.dataset.import.stop_requested", caller.client)
        };
        self.audit.record(&mut tx, entry).await?;
        let stopped = repo::imports::find(&mut tx, &active.id).await?;
        tx.commit().await?;
        stopped.ok_or(TitledbError::NotRunning)
    }

    /// Removes the imported data, also of an unfinished import. The history stays.
    pub async fn reset(&self, caller: Caller<'_>, reimport: bool) -> Result<Cleared, TitledbError> {
        self.settle().await?;
        let directory = self.directory().await?;
        let titles = self.store.live().await?.map_or(0, |live| live.loaded.titles);
        let mut tx = self.db.begin_write().await?;
        let actor = self.acting.judge(&mut tx, caller.principal, NEEDED).await?;
        if repo::imports::active(&mut tx).await?.is_some() {
            return Err(TitledbError::Active);
        }
        let entry = AuditEntry {
            object_type: Some("titledb_dataset"),
            metadata: Some(json!({ "clearedTitles": titles, "reimport": reimport })),
            ..actor.entry("media.titledb.dataset.reset", caller.client)
        };
        self.audit.record(&mut tx, entry).await?;
        tx.commit().await?;
        self.store.clear().await?;
        self.store.discard_next().await?;
        let reimport = if reimport {
            let (_, fresh) = self.ask(Some(caller), &directory, Task::Import).await?;
            Some((fresh, fresh.then_some(directory)))
        } else {
            None
        };
        Ok(Cleared { titles, reimport })
    }

    /// The newest imports, the newest first; 50 at most.
    pub async fn imports(&self) -> Result<Vec<Import>, TitledbError> {
        self.settle().await?;
        Ok(repo::imports::newest(&mut self.db.begin_read().await?).await?)
    }

    /// Closes imports whose job ended or was cancelled without a report.
    pub async fn settle(&self) -> Result<(), TitledbError> {
        let mut tx = self.db.begin_read().await?;
        let Some(active) = repo::imports::active(&mut tx).await? else {
            return Ok(());
        };
        let standing = match &active.job_id {
            Some(job) => self.jobs.standing(&mut tx, job).await?,
            None => None,
        };
        drop(tx);
        if standing == Some(Standing::Active) {
            return Ok(());
        }
        let now = self.ctx.now();
        let mut tx = self.db.begin_write().await?;
        let changed = if standing == Some(Standing::Cancelled) {
            repo::imports::cancel(&mut tx, &active.id, now).await?
        } else {
            repo::imports::fail(&mut tx, &active.id, INTERRUPTED, now).await?
        };
        tx.commit().await?;
        if changed {
            let (event, status, error) = if standing == Some(Standing::Cancelled) {
                ("titledb.dataset.import.cancelled", "cancelled", Value::Null)
            } else {
                (
                    "titledb.dataset.import.failed",
                    "failed",
                    Value::from(INTERRUPTED),
                )
            };
            self.tell(
                event,
                &json!({
                    "id": active.id, "status": status, "recordsImported": active.records_imported, "error": error,
                    "at": now,
                }),
            );
        }
        Ok(())
    }
}
