//! Metadata from providers for items that nobody ordered it for: those found by a scan, and those of a download.
//!
//! Providers are asked about matched, unlocked items that have metadata only from their names or from the data set of
//! titles. Each is asked about outside of any transaction. The answer is stored in one, if the item is unchanged: an
//! interruption leaves the item as it was, and the next attempt finds it again. An item that no provider knows is asked
//! about again after [`UNKNOWN`], one for which providers were silent after [`SILENT`], each at once when it has become
//! another one. If no provider has a key, nothing is asked.
//!
//! Bounds: `Pace::describes` items and [`LONGEST`] with a scan or a download; a job of its own does the rest, one at a time
//! and one a library. It ends after [`SILENCES`] items in a row without an answer.

use std::collections::HashSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use qm_db::Tx;
use qm_jobs::{Done, JobContext, JobError, JobHandler, JobType, NewJob, Progress, Source};
use qm_media::LibraryError;
use qm_media::model::external::TITLEDB;
use qm_media::model::item::Item;
use qm_media::model::library::MediaLibrary;
use qm_media::model::metadata::LOCAL;
use qm_media::repo;
use qm_media::service::jobs::{self, Stop, in_service};
use qm_ports::metadata::LookupKind;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::Instant;

use super::Identification;
use super::fetch::Patience;
use super::metadata::{Heard, asked, reasons};
use crate::repo::enrich;

/// Type of the jobs that ask about the rest after a scan.
pub const TYPE: &str = "media.library_enrich";
/// Items that one query reads.
const AT_ONCE: i64 = 64;
/// Longest time that a scan asks providers.
const LONGEST: Duration = Duration::from_mins(2);
/// Items in a row without an answer after which asking ends.
const SILENCES: u64 = 3;
const UNKNOWN: Duration = Duration::from_hours(7 * 24);
const SILENT: Duration = Duration::from_hours(1);
/// Range of the scan's progress in which providers are asked, in percent.
const SHARE: (f64, f64) = (80.0, 99.0);

/// Result for one item.
pub enum One {
    Told,
    /// No provider knows it.
    Unknown,
    /// Nothing had to be asked, or it became another one meanwhile.
    Passed,
    /// Reason why no provider answered.
    Silent(String),
}

/// Limit on items and time.
pub struct Bound {
    items: usize,
    until: Instant,
}

impl Bound {
    pub fn is_reached(&self, done: usize) -> bool {
        done >= self.items || Instant::now() >= self.until
    }
}

/// Count of items for which no provider answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Silence {
    row: u64,
    items: u64,
    why: String,
}

impl Silence {
    /// Counts the result of an item; true if more items may be asked about.
    pub fn goes_on(&mut self, became: &One) -> bool {
        match became {
            One::Silent(why) => {
                (self.row, self.items) = (self.row + 1, self.items + 1);
                self.why.clone_from(why);
            }
            One::Told | One::Unknown => self.row = 0,
            One::Passed => {}
        }
        self.row < SILENCES
    }

    /// Warns people in the job's log about the silent providers.
    pub async fn warn(&self, job: &JobContext) -> Result<(), JobError> {
        let told = match self.items {
            0 => return Ok(()),
            1 => "1 item, which is as it was".to_owned(),
            items => format!("{items} items, which are as they were"),
        };
        let ended = if self.row >= SILENCES {
            "; nothing more was asked"
        } else {
            ""
        };
        let told = format!(
            "Providers of metadata did not answer about {told}{ended}: {}",
            self.why
        );
        job.warning(&told).await
    }
}

/// Result of asking about several items.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Described {
    /// Items that providers described.
    pub told: u64,
    /// Number of these that were not identified in this run.
    #[serde(skip)]
    pub others: u64,
    pub unknown: u64,
    silence: Silence,
    /// True if items are left because of a limit.
    #[serde(skip)]
    pub is_bounded: bool,
}

pub fn job_type(room: &Arc<Identification>) -> JobType {
    let handler = Arc::new(Enriching(Arc::downgrade(room)));
    jobs::job_type(TYPE, "jobs.type.media.library_enrich", handler)
}

struct Enriching(Weak<Identification>);

#[async_trait]
impl JobHandler for Enriching {
    async fn run(&self, job: &JobContext) -> Result<Done, JobError> {
        let room = in_service(&self.0)?;
        let id = job.input()["libraryId"].as_str().unwrap_or_default();
        let mut described: Described = jobs::saved(job);
        described.silence = Silence::default();
        if room.has_teller(job).await? {
            let mut going = Going {
                room: &room,
                job,
                bound: None,
                patience: Patience::default(),
                identified: &HashSet::new(),
            };
            going.describe(id, &mut described, (0.0, 99.0)).await?;
        }
        Ok(Done::result(json!({
            "libraryId": id, "metadataFetched": described.told, "unknown": described.unknown,
            "unanswered": described.silence.items,
        })))
    }
}

/// Run of questions about the items of a library, one after another.
struct Going<'a> {
    room: &'a Identification,
    job: &'a JobContext,
    /// Limit of the run; `None` for a job of its own, which stores its progress.
    bound: Option<Bound>,
    patience: Patience,
    /// Items that were identified in this run.
    identified: &'a HashSet<String>,
}

impl Going<'_> {
    async fn describe(
        &mut self,
        library_id: &str,
        described: &mut Described,
        share: (f64, f64),
    ) -> Result<(), Stop> {
        let (room, job) = (self.room, self.job);
        let now = room.ctx.now();
        let total = enrich::count(&mut room.db.begin_read().await?, library_id, now).await?;
        let (mut after, mut done) = (String::new(), 0);
        'all: loop {
            let mut tx = room.db.begin_read().await?;
            let ids = enrich::lacking(&mut tx, library_id, now, &after, AT_ONCE).await?;
            drop(tx);
            let Some(last) = ids.last() else { break };
            after.clone_from(last);
            for id in &ids {
                if self.bound.as_ref().is_some_and(|bound| bound.is_reached(done)) {
                    described.is_bounded = true;
                    break 'all;
                }
                let became = self.describe_item(id, described).await?;
                done += 1;
                let part = (share.1 - share.0) * done as f64 / total.max(1) as f64;
                let progress = Progress {
                    current: Some(done as u64),
                    total: Some(total),
                    unit: Some("items"),
                    ..Progress::percent((share.0 + part).min(share.1))
                };
                job.progress(progress.phase("enrich")).await?;
                if !described.silence.goes_on(&became) {
                    break 'all;
                }
            }
            if self.bound.is_none() {
                jobs::save(job, &*described).await?;
            }
        }
        Ok(described.silence.warn(job).await?)
    }

    async fn describe_item(&mut self, id: &str, described: &mut Described) -> Result<One, Stop> {
        loop {
            if self.job.is_cancelled() {
                return Err(Stop::Stopped);
            }
            let (became, tx) = self.room.describe(self.job, id).await?;
            if matches!(became, One::Silent(_)) && self.patience.is_left() {
                // Other writers are not held up meanwhile.
                drop(tx);
                self.patience.wait(self.job, self.room.pace.spares).await?;
                continue;
            }
            if let Some(tx) = tx {
                tx.commit().await?;
            }
            match became {
                One::Told => {
                    described.told += 1;
                    described.others += u64::from(!self.identified.contains(id));
                }
                One::Unknown => described.unknown += 1,
                One::Passed | One::Silent(_) => return Ok(became),
            }
            self.patience.answered();
            return Ok(became);
        }
    }
}

impl Identification {
    /// Asks providers about items without metadata, within the limits of a scan. Returns the number of described items,
    /// without those identified in this run. A job of its own does the rest.
    pub(super) async fn describe_found(
        &self,
        of: &MediaLibrary,
        job: &JobContext,
        identified: &HashSet<String>,
    ) -> Result<u64, Stop> {
        if !self.has_teller(job).await? {
            return Ok(0);
        }
        let mut described = Described::default();
        let mut going = Going {
            room: self,
            job,
            bound: Some(self.bound()),
            patience: Patience::none(),
            identified,
        };
        going.describe(&of.id, &mut described, SHARE).await?;
        if described.is_bounded {
            self.enqueue_rest(of, job).await?;
        }
        Ok(described.others)
    }

    pub fn bound(&self) -> Bound {
        Bound {
            items: self.pace.describes,
            until: Instant::now() + LONGEST,
        }
    }

    /// Starts a job for the rest of a library. There is one a library: a second request meanwhile returns the same job.
    pub async fn enqueue_rest(&self, of: &MediaLibrary, job: &JobContext) -> Result<(), JobError> {
        let rest = NewJob {
            name: Some(of.name.clone()),
            source: Source::Scheduled,
            resource: Some(("media_library".to_owned(), of.id.clone())),
            library_id: Some(of.id.clone()),
            created_by: job.created_by().map(str::to_owned),
            idempotency_key: Some(format!("{TYPE}:{}", of.id)),
            ..NewJob::new(TYPE, json!({ "libraryId": of.id }))
        };
        let submitted = self.jobs.submit(rest).await;
        submitted.map_err(LibraryError::from)?;
        Ok(())
    }

    /// True if any provider of films or series can be asked.
    pub async fn has_teller(&self, job: &JobContext) -> Result<bool, JobError> {
        for kind in [LookupKind::Movie, LookupKind::Tv] {
            match self.metadata.chain(kind).await {
                Ok(chain) if chain.is_empty() => {}
                Ok(_) => return Ok(true),
                Err(error) => {
                    job.warning(&format!("No provider of metadata was asked: {error}"))
                        .await?;
                    return Ok(false);
                }
            }
        }
        Ok(false)
    }

    /// Asks about one item, and stores the answer in a transaction that the caller commits; no transaction means that
    /// nothing is stored.
    pub async fn describe(&self, job: &JobContext, id: &str) -> Result<(One, Option<Tx>), Stop> {
        let mut tx = self.db.begin_read().await?;
        let (item, question) = match asked(&mut tx, id).await {
            Ok(found) => found,
            Err(error) => return passed(error),
        };
        if !is_lacking(&mut tx, &item).await? {
            return Ok((One::Passed, None));
        }
        drop(tx);
        let heard = tokio::select! {
            () = job.cancelled() => return Err(Stop::Stopped),
            heard = self.ask_chain(id, question) => heard,
        };
        match heard {
            Ok(heard) => self.store_lacking(id, heard).await,
            Err(LibraryError::Unsettled(error)) => Ok((One::Silent(error.to_string()), None)),
            Err(error) => passed(error),
        }
    }

    async fn store_lacking(&self, id: &str, heard: Heard) -> Result<(One, Option<Tx>), Stop> {
        let mut tx = self.db.begin_write().await?;
        repo::metadata::hold(&mut tx, id).await?;
        let item = match asked(&mut tx, id).await {
            Ok((item, question)) if heard.is_about(&question) => item,
            Ok(_) => return Ok((One::Passed, None)),
            Err(error) => return passed(error),
        };
        if !is_lacking(&mut tx, &item).await? {
            return Ok((One::Passed, None));
        }
        if heard.told.metadata.is_some() {
            return match self.store_heard(&mut tx, id, heard).await {
                Ok(_) => {
                    enrich::forget_questions(&mut tx, id).await?;
                    Ok((One::Told, Some(tx)))
                }
                Err(error) => passed(error),
            };
        }
        let silent = &heard.told.silent;
        let (became, pause) = if silent.is_empty() {
            (One::Unknown, UNKNOWN)
        } else {
            (One::Silent(reasons(silent)), SILENT)
        };
        let again_at = self.ctx.now().plus(pause);
        enrich::tried(&mut tx, id, item.updated_at, again_at).await?;
        Ok((became, Some(tx)))
    }
}

/// True if providers should be asked about an item.
async fn is_lacking(tx: &mut Tx, item: &Item) -> Result<bool, Stop> {
    if item.locked || item.match_status == "unmatched" {
        return Ok(false);
    }
    let stored = repo::metadata::find(tx, &item.id).await?;
    let by = stored.as_ref().map(|stored| stored.provider_name.as_deref());
    Ok(matches!(by, None | Some(Some(LOCAL | TITLEDB))))
}

/// Result for an error: an item that is gone, or changed meanwhile, is skipped.
fn passed(error: LibraryError) -> Result<(One, Option<Tx>), Stop> {
    match error {
        LibraryError::NoSuchItem | LibraryError::Changed => Ok((One::Passed, None)),
        LibraryError::Database(error) => Err(Stop::Database(error)),
        error => Err(Stop::Job(error.into())),
    }
}
