//! Download of the files through the URL guard: only newer files, and broken downloads are resumed.
//!
//! During a download a file has a `.part` beside it, and a `.tag` with the server's version (ETag): a part of
//! another version is discarded. A failed download leaves the old file; it is an error only if no file could
//! be downloaded. Bounds: `maxFileBytes` per file, half an hour, a minute of silence.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

use qm_lanes::LaneError;
use qm_net::{GuardedError, HttpRequest, HttpResponse, Progress};
use qm_platform::{AuditEntry, AuditResult};
use serde_json::json;

use super::Titledb;
use super::load::LoadError;
use super::work::Running;
use crate::lanes::DOWNLOADS;
use crate::model::file::Source;
use crate::model::options::Options;
use crate::ops::open::{Written, look, make, open, open_to_write, remove, rename};
use crate::ops::read::FileFault;

const TOTAL: Duration = Duration::from_mins(30);
const SILENCE: Duration = Duration::from_mins(1);
const PIECE: usize = 256 << 10;
/// Endings of the partial file, and of the file with its version.
const PART: &str = ".part";
const TAG: &str = ".tag";
const LONGEST_TAG: u64 = 4096;

/// Reason why a file was not downloaded.
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
    #[error(transparent)]
    Lane(#[from] LaneError),
}

/// Result of a download.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Came {
    New,
    /// The server has no newer version.
    Same,
}

/// Downloads every file that the plan of the settings needs.
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
    fn name(&self, ending: &str) -> String {
        format!("{}{ending}", self.source.file)
    }

    /// Removes an auxiliary file.
    async fn remove(&self, ending: &str) -> Result<(), Fault> {
        let (directory, name) = (self.directory.to_owned(), self.name(ending));
        on_disk(move || remove(&directory, &name)).await
    }

    async fn get(&self, running: Running<'_>, percent: f64) -> Result<Came, Fault> {
        let begun = self.begun().await?;
        let mut headers = Vec::new();
        if begun.size > 0 && !begun.tag.is_empty() {
            headers.push(("range".to_owned(), format!("bytes={}-", begun.size).into_bytes()));
            headers.push(("if-range".to_owned(), begun.tag.into_bytes()));
        } else if let Some(modified) = begun.modified {
            let modified = httpdate::fmt_http_date(modified);
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
            206 if begun.size > 0 => begun.size,
            // The partial file does not match the server's: the next try begins anew.
            416 => {
                self.remove(PART).await?;
                return Err(Fault::Status(416));
            }
            status => return Err(Fault::Status(status)),
        };
        let modified = header(&answer, "last-modified").and_then(|at| httpdate::parse_http_date(&at).ok());
        let name = header(&answer, "etag")
            .filter(|tag| !tag.starts_with("W/"))
            .or_else(|| header(&answer, "last-modified"));
        let name = name.unwrap_or_default();
        let opening = self.opening(TAG, Written::Anew);
        on_disk(move || opening()?.write_all(name.as_bytes())).await?;
        let file = self.write(&mut answer, from, running, percent).await?;
        self.keep(file, modified).await?;
        Ok(Came::New)
    }

    /// State of the partial file. Creates the directory.
    async fn begun(&self) -> Result<Begun, Fault> {
        let (directory, file) = (self.directory.to_owned(), self.source.file);
        on_disk(move || {
            make(&directory)?;
            let known = |ending: &str| look(&directory, &format!("{file}{ending}"));
            let mut tag = String::new();
            if let Ok(kept) = open(&directory, &format!("{file}{TAG}")) {
                // An invalid or overlong tag counts as none.
                let read = kept.take(LONGEST_TAG).read_to_string(&mut tag);
                read.map_or_else(|_| tag.clear(), drop);
            }
            Ok(Begun {
                size: known(PART).map_or(0, |part| part.size),
                modified: known("").map(|there| there.modified),
                tag,
            })
        })
        .await
    }

    /// Opens an auxiliary file.
    fn opening(&self, ending: &str, written: Written) -> impl FnOnce() -> io::Result<File> + Send + use<> {
        let directory = self.directory.to_owned();
        let name = self.name(ending);
        move || open_to_write(&directory, &name, written)
    }

    async fn write(
        &self,
        answer: &mut HttpResponse,
        from: u64,
        running: Running<'_>,
        percent: f64,
    ) -> Result<File, Fault> {
        let written = if from == 0 { Written::Anew } else { Written::Behind };
        let mut file = on_disk(self.opening(PART, written)).await?;
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
                self.remove(PART).await?;
                return Err(Fault::TooLarge(self.limit));
            }
            file = on_disk(move || {
                file.write_all(&piece)?;
                Ok(file)
            })
            .await?;
            let told = running.downloading(percent, self.source.file).await;
            told.map_err(|_| Fault::Stopped)?;
        }
        on_disk(move || {
            file.sync_all()?;
            Ok(file)
        })
        .await
    }

    /// Renames the complete file, and sets the date that the server sent: the next request asks for a newer
    /// one.
    async fn keep(&self, file: File, modified: Option<SystemTime>) -> Result<(), Fault> {
        let (part, tag, whole) = (self.name(PART), self.name(TAG), self.name(""));
        let directory = self.directory.to_owned();
        on_disk(move || {
            if let Some(modified) = modified {
                file.set_modified(modified)?;
            }
            rename(&directory, &part, &whole)?;
            // It would be wrong for the next version.
            let _ = remove(&directory, &tag);
            Ok(())
        })
        .await
    }
}

/// State of a file and its partial download.
struct Begun {
    /// Bytes of the partial file.
    size: u64,
    /// Version (ETag) of the partial file.
    tag: String,
    /// Modification time of the complete file.
    modified: Option<SystemTime>,
}

/// Runs file work on a blocking thread, because the disk may hang.
async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, Fault> {
    Ok(DOWNLOADS.run_for(None, move |_| work()).await??)
}

fn header(answer: &HttpResponse, name: &str) -> Option<String> {
    let value = answer.headers().get(name)?;
    value.to_str().ok().map(str::to_owned)
}
