//! Job of an import: downloads if requested, loads, and reports progress.
//!
//! A killed or stopped server leaves the import running; the job continues after the next start.

use std::path::Path;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use qm_db::DbError;
use qm_jobs::{Capabilities, Done, JobContext, JobError, JobHandler, JobType, Progress, Standing};
use qm_kernel::Permission;
use qm_lanes::IgnorePoison;
use qm_platform::{AuditEntry, AuditResult};
use serde_json::{Value, json};

use super::load::{LoadError, Watch, load, present};
use super::{Titledb, download};
use crate::model::import::Import;
use crate::model::plan::Loaded;
use crate::repo;

/// Job type.
pub const TYPE: &str = "titledb.import";
/// Attempts of one import: the server may be restarted this often meanwhile.
const ATTEMPTS: u32 = 25;
/// Shortest interval between two stop checks, and between two progress reports.
const LOOK: Duration = Duration::from_millis(500);

/// Task of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    Import,
    /// Download, and then import.
    Update,
}

impl Task {
    pub const fn word(self) -> &'static str {
        match self {
            Task::Import => "import",
            Task::Update => "update",
        }
    }
}

pub fn job_type(titledb: &Arc<Titledb>) -> JobType {
    JobType {
        key: TYPE,
        module: "media_manager",
        workspace: Some("media"),
        label_key: "jobs.type.titledb.import",
        description_key: None,
        required_permission: Some(Permission::MediaManagerTitledbImportDataset),
        capabilities: Capabilities {
            cancellable: true,
            retryable: true,
            ..Capabilities::default()
        },
        max_attempts: ATTEMPTS,
        timeout: None,
        at_once: Some(1),
        at_once_of_one: None,
        handler: Arc::new(Importing(Arc::downgrade(titledb))),
    }
}

struct Importing(Weak<Titledb>);

#[async_trait]
impl JobHandler for Importing {
    async fn run(&self, job: &JobContext) -> Result<Done, JobError> {
        let gone = || JobError::new("stopping", "the server stops");
        let titledb = self.0.upgrade().ok_or_else(gone)?;
        let id = job.input()["importId"].as_str().unwrap_or_default();
        let import = repo::imports::find(&mut titledb.db.begin_read().await?, id).await?;
        // Ended meanwhile, or repeated by a user after its end.
        let Some(import) = import.filter(|import| import.completed_at.is_none() && is_active(import)) else {
            return Ok(Done::nothing());
        };
        let run = Run {
            titledb: &titledb,
            job,
            import: &import,
            looked: Mutex::new(None),
        };
        match run.all().await {
            Ok(loaded) => run.completed(&loaded).await,
            Err(LoadError::Stopped) => run.stopped().await,
            Err(error) => run.failed(&error).await,
        }
    }
}

fn is_active(import: &Import) -> bool {
    use crate::model::import::Status;
    matches!(import.status, Status::Pending | Status::Running)
}

struct Run<'a> {
    titledb: &'a Titledb,
    job: &'a JobContext,
    import: &'a Import,
    /// Time of the last stop check.
    looked: Mutex<Option<Instant>>,
}

impl Run<'_> {
    async fn all(&self) -> Result<Loaded, LoadError> {
        if self.must_stop().await? {
            return Err(LoadError::Stopped);
        }
        let options = self.titledb.options_for_work().await?;
        let directory = Path::new(&self.import.source_path);
        let is_update = self.job.input()["task"] == "update";
        if is_update && self.job.checkpoint().is_none() {
            download::download(self.titledb, directory, &options, self).await?;
            let saved = self.job.save(&json!({ "downloaded": true })).await;
            saved.map_err(|_| LoadError::Stopped)?;
        }
        let plan = options.plan();
        let dated = present(directory, &plan).await?;
        let date = dated.iter().map(|file| file.modified).max();
        let titledb = self.titledb;
        let mut tx = titledb.db.begin_write().await?;
        let strategy = plan.strategy.as_str();
        let begun = repo::imports::begin(&mut tx, &self.import.id, strategy, date, titledb.ctx.now()).await?;
        tx.commit().await?;
        if !begun {
            return Err(LoadError::Stopped);
        }
        load(&titledb.store, directory, &plan, self).await
    }

    /// True when a user asked the import to stop, or the job must end.
    pub async fn must_stop(&self) -> Result<bool, DbError> {
        if self.job.is_cancelled() {
            return Ok(true);
        }
        let mut tx = self.titledb.db.begin_read().await?;
        let now = repo::imports::find(&mut tx, &self.import.id).await?;
        Ok(now.is_none_or(|import| import.stop_requested || !is_active(&import)))
    }

    /// True when the next check is due.
    fn is_due(&self) -> bool {
        let mut looked = self.looked.lock().ignore_poison();
        if looked.is_some_and(|at| at.elapsed() < LOOK) {
            return false;
        }
        *looked = Some(Instant::now());
        true
    }

    async fn completed(&self, loaded: &Loaded) -> Result<Done, JobError> {
        let (titledb, id) = (self.titledb, &*self.import.id);
        let now = titledb.ctx.now();
        let mut tx = titledb.db.begin_write().await?;
        repo::imports::advance(&mut tx, id, &loaded.done, &loaded.stats, now).await?;
        repo::imports::complete(&mut tx, id, now).await?;
        let metadata =
            json!({ "recordsImported": loaded.stats.rows_imported, "errors": loaded.stats.errors });
        let entry = self.entry(
            "media.titledb.dataset.import.completed",
            AuditResult::Success,
            metadata.clone(),
        );
        titledb.audit.record(&mut tx, entry).await?;
        tx.commit().await?;
        if loaded.stats.errors > 0 {
            let examples = loaded.stats.examples.join("; ");
            let text = format!(
                "{} rows make no sense and were left out: {examples}",
                loaded.stats.errors
            );
            self.job.warning(&text).await?;
        }
        self.say("titledb.dataset.import.completed", "completed", loaded, None);
        Ok(Done::result(metadata))
    }

    /// Result of a stop: by a user, or by the server, after whose restart the import continues.
    async fn stopped(&self) -> Result<Done, JobError> {
        let (titledb, id) = (self.titledb, &*self.import.id);
        let mut tx = titledb.db.begin_write().await?;
        let import = repo::imports::find(&mut tx, id).await?;
        let standing = titledb.jobs.standing(&mut tx, self.job.id()).await?;
        let asked = import.as_ref().is_none_or(|import| import.stop_requested);
        if !asked && standing != Some(Standing::Cancelled) {
            return Err(JobError::new("interrupted", super::import::INTERRUPTED));
        }
        if repo::imports::cancel(&mut tx, id, titledb.ctx.now()).await? {
            let entry = self.entry(
                "media.titledb.dataset.import.cancelled",
                AuditResult::Success,
                Value::Null,
            );
            titledb.audit.record(&mut tx, entry).await?;
        }
        tx.commit().await?;
        let records = import.map_or(0, |import| import.records_imported);
        titledb.tell(
            "titledb.dataset.import.cancelled",
            &json!({ "id": id, "status": "cancelled", "recordsImported": records, "at": titledb.ctx.now() }),
        );
        Ok(Done::result(json!({ "cancelled": true })))
    }

    async fn failed(&self, error: &LoadError) -> Result<Done, JobError> {
        // Temporary errors are retried by the job, and the import continues where it was.
        if let LoadError::Database(database) = error
            && database.kind() == qm_kernel::ErrorKind::Unavailable
            && self.job.attempt() < i64::from(ATTEMPTS)
        {
            return Err(JobError::new("database", database.to_string()));
        }
        let (titledb, id) = (self.titledb, &*self.import.id);
        let text = error.to_string();
        let mut tx = titledb.db.begin_write().await?;
        repo::imports::fail(&mut tx, id, &text, titledb.ctx.now()).await?;
        let metadata = json!({ "error": text });
        let entry = self.entry(
            "media.titledb.dataset.import.failed",
            AuditResult::Failure,
            metadata,
        );
        titledb.audit.record(&mut tx, entry).await?;
        tx.commit().await?;
        self.say(
            "titledb.dataset.import.failed",
            "failed",
            &Loaded::default(),
            Some(&text),
        );
        Err(JobError::new("import_failed", text).permanent())
    }

    fn entry(&self, action: &'static str, result: AuditResult, metadata: Value) -> AuditEntry<'static> {
        AuditEntry {
            user_id: self.job.created_by().map(str::to_owned),
            action,
            object_type: Some("titledb_dataset_import"),
            object_id: Some(self.import.id.clone()),
            result,
            metadata: Some(metadata).filter(|metadata| !metadata.is_null()),
            ..AuditEntry::default()
        }
    }

    fn say(&self, event: &'static str, status: &str, loaded: &Loaded, error: Option<&str>) {
        let mut message = json!({
            "id": self.import.id, "status": status, "recordsImported": loaded.stats.rows_imported,
            "filesImported": loaded.done, "at": self.titledb.ctx.now(),
        });
        if let Some(error) = error {
            message["error"] = error.into();
        }
        self.titledb.tell(event, &message);
    }

    /// Reports the progress of a download; an error ends it.
    pub async fn downloading(&self, percent: f64, file: &str) -> Result<(), LoadError> {
        if !self.is_due() {
            return Ok(());
        }
        if self.must_stop().await? {
            return Err(LoadError::Stopped);
        }
        self.titledb.tell(
            "titledb.dataset.download.progress",
            &json!({ "progress": percent.round(), "message": file, "at": self.titledb.ctx.now() }),
        );
        let progress = Progress::percent(percent / 4.0).phase("downloading");
        self.job.progress(progress).await.map_err(|_| LoadError::Stopped)
    }
}

/// A running import, as a download sees it.
pub type Running<'a> = &'a (dyn Downloading + 'a);

/// Receives the progress of a download, and can end it.
#[async_trait]
pub trait Downloading: Send + Sync {
    async fn downloading(&self, percent: f64, file: &str) -> Result<(), LoadError>;
}

#[async_trait]
impl Downloading for Run<'_> {
    async fn downloading(&self, percent: f64, file: &str) -> Result<(), LoadError> {
        Run::downloading(self, percent, file).await
    }
}

#[async_trait]
impl Watch for Run<'_> {
    async fn step(&self, percent: f64, phase: &str, loaded: &Loaded) -> Result<(), LoadError> {
        if self.job.is_cancelled() {
            return Err(LoadError::Stopped);
        }
        if !self.is_due() {
            return Ok(());
        }
        if self.must_stop().await? {
            return Err(LoadError::Stopped);
        }
        let titledb = self.titledb;
        let mut tx = titledb.db.begin_write().await?;
        let now = titledb.ctx.now();
        repo::imports::advance(&mut tx, &self.import.id, &loaded.done, &loaded.stats, now).await?;
        tx.commit().await?;
        titledb.tell(
            "titledb.dataset.import.progress",
            &json!({
                "id": self.import.id, "status": "running", "progress": percent.round(), "message": phase,
                "recordsImported": loaded.stats.rows_imported, "filesImported": loaded.done, "at": now,
            }),
        );
        let progress = Progress {
            current: Some(loaded.stats.rows_imported),
            unit: Some("rows"),
            ..Progress::percent(percent).phase(phase)
        };
        // The lease was lost: another worker continues the import.
        self.job.progress(progress).await.map_err(|_| LoadError::Stopped)
    }
}
