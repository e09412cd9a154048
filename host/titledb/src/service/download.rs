//! Getting the files: by the URL guard, only what is newer than what is there, going on where a download was cut off.
//!
//! Beside a file lies a `.part` while it comes, and a `.tag` that says which version of it the server called it: what has
//! another tag is begun anew. A file that fails leaves the one that was there; that none came is an error.
//! Bounds: a file of `maxFileBytes`, half an hour, a minute of silence.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use qm_net::{GuardedError, HttpRequest, HttpResponse, Progress};
use qm_platform::{AuditEntry, AuditResult};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;

use super::Titledb;
use super::load::LoadError;
use super::work::Running;
use crate::model::file::Source;
use crate::model::options::Options;
use crate::ops::read::FileFault;

const TOTAL: Duration = Duration::from_mins(30);
const SILENCE: Duration = Duration::from_mins(1);
const PIECE: usize = 256 << 10;

/// Why a file did not come.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error(transparent)]
    Guard(#[from] GuardedError),
    #[error("{0}")]
    Broken(#[from] qm_net::DialError),
    #[error("the server answered {0}")]
    Status(u16),
    #[error("it is larger than {0} bytes (maxFileBytes)")]
    TooLarge(u64),
    #[error("it took longer than half an hour")]
    Late,
    #[error("it cannot be written: {0}")]
    Io(#[from] std::io::Error),
    #[error("it was stopped")]
    Stopped,
}

/// How a file came.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Came {
    New,
    /// The server has no newer one.
    Same,
}

/// Gets every file that the plan of the settings takes.
pub async fn download(
    titledb: &Titledb,
    directory: &Path,
    options: &Options,
    running: Running<'_>,
) -> Result<(), LoadError> {
    let started = json!({ "message": "The data set is downloaded", "at": titledb.ctx.now() });
    titledb.tell("titledb.dataset.download.started", &started);
    note(titledb, "media.titledb.dataset.download.started", None).await;
    let plan = options.plan();
    let sources: Vec<&'static Source> = plan.sources().collect();
    let (mut came, mut faults) = (0, Vec::new());
    for (place, source) in sources.iter().enumerate() {
        let percent = place as f64 * 100.0 / sources.len() as f64;
        let one = One {
            titledb,
            source,
            directory,
            limit: options.max_file_bytes.unsigned_abs(),
            url: format!(
                "{}/{}",
                options.dataset_base_url.trim_end_matches('/'),
                source.file
            ),
        };
        let got = tokio::time::timeout(TOTAL, one.get(running, percent)).await;
        match got.unwrap_or(Err(Fault::Late)) {
            Ok(_) => came += 1,
            Err(Fault::Stopped) => return Err(LoadError::Stopped),
            Err(fault) => {
                tracing::warn!(file = source.file, %fault, "a file of the data set did not come");
                faults.push(format!("{}: {fault}", source.file));
            }
        }
    }
    if came == 0 {
        let error = faults.join("; ");
        let failed = json!({ "error": error, "at": titledb.ctx.now() });
        titledb.tell("titledb.dataset.download.failed", &failed);
        note(titledb, "media.titledb.dataset.download.failed", Some(&error)).await;
        return Err(LoadError::File(FileFault::Download(error)));
    }
    let message = if faults.is_empty() {
        "All files came".to_owned()
    } else {
        format!("Some files did not come: {}", faults.join("; "))
    };
    let completed = json!({ "message": message, "progress": 100, "at": titledb.ctx.now() });
    titledb.tell("titledb.dataset.download.completed", &completed);
    note(titledb, "media.titledb.dataset.download.completed", None).await;
    Ok(())
}

async fn note(titledb: &Titledb, action: &'static str, error: Option<&str>) {
    let entry = AuditEntry {
        action,
        object_type: Some("titledb_dataset"),
        result: if error.is_some() {
            AuditResult::Failure
        } else {
            AuditResult::Success
        },
        metadata: error.map(|error| json!({ "error": error })),
        ..AuditEntry::default()
    };
    titledb.audit.record_alone(&titledb.db, entry).await;
}

struct One<'a> {
    titledb: &'a Titledb,
    source: &'static Source,
    directory: &'a Path,
    limit: u64,
    url: String,
}

impl One<'_> {
    fn path(&self, ending: &str) -> PathBuf {
        self.directory.join(format!("{}{ending}", self.source.file))
    }

    async fn get(&self, running: Running<'_>, percent: f64) -> Result<Came, Fault> {
        tokio::fs::create_dir_all(self.directory).await?;
        let (part, tag) = (self.path(".part"), self.path(".tag"));
        let begun = tokio::fs::metadata(&part).await.map_or(0, |found| found.len());
        let known = tokio::fs::read_to_string(&tag).await.unwrap_or_default();
        let mut headers = Vec::new();
        if begun > 0 && !known.is_empty() {
            headers.push(("range".to_owned(), format!("bytes={begun}-").into_bytes()));
            headers.push(("if-range".to_owned(), known.into_bytes()));
        } else if let Ok(there) = tokio::fs::metadata(self.path("")).await {
            let modified = httpdate::fmt_http_date(there.modified()?);
            headers.push(("if-modified-since".to_owned(), modified.into_bytes()));
        }
        let request = HttpRequest {
            method: "GET".to_owned(),
            url: self.url.clone(),
            headers,
            body: Default::default(),
            idle: SILENCE,
            max_body: usize::try_from(self.limit).unwrap_or(usize::MAX),
        };
        let mut answer = self
            .titledb
            .net
            .dialer()
            .send_guarded(request, Progress::default())
            .await?;
        let from = match answer.status() {
            304 => return Ok(Came::Same),
            200 => 0,
            206 if begun > 0 => begun,
            // What lies there does not fit what the server has: the next try begins anew.
            416 => {
                tokio::fs::remove_file(&part).await?;
                return Err(Fault::Status(416));
            }
            status => return Err(Fault::Status(status)),
        };
        let modified = header(&answer, "last-modified").and_then(|at| httpdate::parse_http_date(&at).ok());
        let name = header(&answer, "etag")
            .filter(|tag| !tag.starts_with("W/"))
            .or_else(|| header(&answer, "last-modified"));
        tokio::fs::write(&tag, name.unwrap_or_default()).await?;
        self.write(&mut answer, &part, from, running, percent).await?;
        self.keep(&part, &tag, modified).await?;
        Ok(Came::New)
    }

    async fn write(
        &self,
        answer: &mut HttpResponse,
        part: &Path,
        from: u64,
        running: Running<'_>,
        percent: f64,
    ) -> Result<(), Fault> {
        let mut options = tokio::fs::OpenOptions::new();
        options.create(true).write(true);
        let mut file = if from == 0 {
            options.truncate(true).open(part).await?
        } else {
            options.append(true).open(part).await?
        };
        let mut size = from;
        loop {
            let piece = answer.read(PIECE).await.map_err(|error| match error {
                qm_net::DialError::TooLarge => Fault::TooLarge(self.limit),
                other => Fault::Broken(other),
            })?;
            if piece.is_empty() {
                break;
            }
            size += piece.len() as u64;
            if size > self.limit {
                drop(file);
                tokio::fs::remove_file(part).await?;
                return Err(Fault::TooLarge(self.limit));
            }
            file.write_all(&piece).await?;
            let told = running.downloading(percent, self.source.file).await;
            told.map_err(|_| Fault::Stopped)?;
        }
        file.flush().await?;
        Ok(file.sync_all().await?)
    }

    /// Gives a whole file its name, and the date that the server says: the next request asks for what is newer.
    async fn keep(&self, part: &Path, tag: &Path, modified: Option<SystemTime>) -> Result<(), Fault> {
        if let Some(modified) = modified {
            let file = std::fs::File::options().append(true).open(part)?;
            file.set_modified(modified)?;
        }
        tokio::fs::rename(part, self.path("")).await?;
        // Of the next version it would say nothing.
        let _ = tokio::fs::remove_file(tag).await;
        Ok(())
    }
}

fn header(answer: &HttpResponse, name: &str) -> Option<String> {
    let value = answer.headers().get(name)?;
    value.to_str().ok().map(str::to_owned)
}
