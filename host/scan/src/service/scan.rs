//! Job of a scan: walk, compare, store, report.
//!
//! After a crash the stored part stays, and the job runs again and does the rest. Found items are identified after the scan,
//! outside of its lock (`qm_identify`). The end of the scan is stored, so a repeated job does not scan again.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use qm_db::DbError;
use qm_jobs::{Capabilities, Done, JobContext, JobError, JobHandler, JobType, NewJob, Progress, Source};
use qm_kernel::Permission;
use qm_lanes::LaneError;
use qm_media::lanes::WALKS;
use qm_media::model::library::{MediaLibrary, ScanSummary};
use qm_media::repo;
use qm_media::service::jobs::{self, ATTEMPTS, MODULE, Stop, in_service, stopped};
use qm_media_names::place;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Scanner;
use super::index::Index;
use super::shows::Folders;
use crate::model::doubt::{Known, suspects};
use crate::ops::walk::{Entries, SeenDirectory, Task, WalkError, walk};
use crate::repo::directories;

/// Type of the jobs.
pub const TYPE: &str = "media.library_scan";
/// Interval between reports of the walk's progress.
const LOOK: Duration = Duration::from_millis(500);
/// Progress at the end of a scan that enriching follows, in percent; in the range up to 70 files are put in order.
pub(super) const SCANNED: f64 = 55.0;
/// Progress at the end of a scan that nothing follows but the order of files.
pub(super) const SCANNED_ALONE: f64 = 80.0;
/// Most warnings of one scan about directories that could not be read.
const WARNINGS: usize = 20;

/// Longest wait of a scan for more changes, whatever the clock says.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Reason of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// By hand: every file is looked at and identified.
    Asked,
    /// The library is new, or its settings changed.
    Changed,
    /// The interval has passed; found items are identified.
    Periodic,
    /// The server has started.
    Startup,
    /// An automation rule asked for it; found items are identified.
    Rule,
    /// Something changed in the named directories; found items are identified.
    Noticed,
    /// A download is complete; the job of the download identifies and reports the found items.
    Downloaded,
}

impl Reason {
    pub const fn as_str(self) -> &'static str {
        match self {
            Reason::Asked => "asked",
            Reason::Changed => "changed",
            Reason::Periodic => "periodic",
            Reason::Startup => "startup",
            Reason::Rule => "rule",
            Reason::Noticed => "noticed",
            Reason::Downloaded => "downloaded",
        }
    }

    fn parse(word: &str) -> Self {
        match word {
            "asked" => Reason::Asked,
            "changed" => Reason::Changed,
            "startup" => Reason::Startup,
            "rule" => Reason::Rule,
            "noticed" => Reason::Noticed,
            "downloaded" => Reason::Downloaded,
            _ => Reason::Periodic,
        }
    }

    /// True if a scan relies on directories that did not change.
    const fn relies(self) -> bool {
        !matches!(self, Reason::Asked)
    }

    /// True if the files of the library are put in order after the scan, for whoever asked for it.
    pub(super) const fn organizes(self) -> bool {
        matches!(self, Reason::Asked | Reason::Changed)
    }

    /// True if items are identified after the scan: by their names, by the data set of titles, by providers.
    pub const fn enriches(self) -> bool {
        matches!(
            self,
            Reason::Asked | Reason::Periodic | Reason::Rule | Reason::Noticed
        )
    }
}

/// Request for a scan.
pub struct ScanRequest<'a> {
    pub library_id: &'a str,
    pub name: Option<&'a str>,
    pub reason: Reason,
    pub created_by: Option<&'a str>,
    /// Places of the directories to scan; `None`: the whole library.
    pub places: Option<&'a [String]>,
}

impl ScanRequest<'_> {
    /// Job of the request. A library has one such job at a time: a second request meanwhile returns the same job. Separate
    /// jobs are a scan by hand, as it looks at more; a scan of some directories, which may be others or already passed; and
    /// one after a change of the library, as a running scan may have read the old settings.
    pub fn into_job(self) -> NewJob {
        let kind = if self.reason.relies() { "quick" } else { "whole" };
        let key = format!("{TYPE}:{kind}:{}", self.library_id);
        let mut input = json!({ "libraryId": self.library_id, "reason": self.reason.as_str() });
        if let Some(places) = self.places {
            input["places"] = json!(places);
        }
        NewJob {
            name: self.name.map(str::to_owned),
            source: match self.reason {
                Reason::Asked | Reason::Changed => Source::Manual,
                Reason::Periodic | Reason::Startup | Reason::Noticed | Reason::Downloaded => {
                    Source::Scheduled
                }
                Reason::Rule => Source::Automation,
            },
            resource: Some(("media_library".to_owned(), self.library_id.to_owned())),
            library_id: Some(self.library_id.to_owned()),
            created_by: self.created_by.map(str::to_owned),
            idempotency_key: (self.places.is_none() && self.reason != Reason::Changed).then_some(key),
            ..NewJob::new(TYPE, input)
        }
    }
}

pub fn job_type(room: &Arc<Scanner>) -> JobType {
    JobType {
        key: TYPE,
        module: MODULE,
        workspace: Some("media"),
        label_key: "jobs.type.media.library_scan",
        description_key: None,
        required_permission: Some(Permission::MediaManagerView),
        capabilities: Capabilities {
            cancellable: true,
            ..Capabilities::default()
        },
        max_attempts: ATTEMPTS,
        timeout: None,
        // One at a time: several would slow the disks down, and two of one library would disturb each other.
        at_once: Some(1),
        at_once_of_one: None,
        handler: Arc::new(Scanning(Arc::downgrade(room))),
    }
}

struct Scanning(Weak<Scanner>);

#[async_trait]
impl JobHandler for Scanning {
    async fn run(&self, job: &JobContext) -> Result<Done, JobError> {
        let room = in_service(&self.0)?;
        let id = job.input()["libraryId"].as_str().unwrap_or_default().to_owned();
        let reason = Reason::parse(job.input()["reason"].as_str().unwrap_or_default());
        let places = job.input()["places"].as_array().map(|places| {
            let places = places.iter().filter_map(serde_json::Value::as_str);
            places.map(str::to_owned).collect::<Vec<_>>()
        });
        let until = job.input()["notBefore"].as_i64().unwrap_or(0) - room.ctx.now().ms();
        // Meanwhile more places may join this scan.
        let pause = Duration::from_millis(until.max(0).unsigned_abs()).min(LONGEST_PAUSE);
        tokio::select! {
            () = job.cancelled() => return Err(stopped()),
            () = tokio::time::sleep(pause) => {}
        }
        let state: State = jobs::saved(job);
        loop {
            // First, so that an item whose file was moved is not taken for a new one.
            room.follow_moves().await?;
            let found = repo::libraries::find(&mut room.db.begin_read().await?, &id).await?;
            let Some(found) = found else {
                return Err(JobError::new("not_found.media_library", "Library not found").permanent());
            };
            let scanned = match state.scanned {
                Some(summary) => Ok(Scanned {
                    summary,
                    is_followed: true,
                }),
                None => room.scan_once(job, &found, reason, places.as_deref()).await,
            };
            match scanned {
                Ok(Scanned { summary, is_followed }) => {
                    let organized = room.put_in_order(job, &found, reason, is_followed).await?;
                    // Scans of downloads can run meanwhile: providers may take their time.
                    let enriched = if is_followed {
                        room.identify.follow_scan(&found, job).await?
                    } else {
                        0
                    };
                    return Ok(told_of(&found, summary, organized, enriched));
                }
                // The library has another directory now, or is gone: start again.
                Err(Stop::Changed) => {}
                Err(stop) => return Err(stop.into()),
            }
        }
    }
}

impl Scanner {
    /// Scans a library as it is now, for a job. Scans wait for each other, whatever jobs they belong to.
    pub async fn scan_once(
        self: &Arc<Self>,
        job: &JobContext,
        of: &MediaLibrary,
        reason: Reason,
        places: Option<&[String]>,
    ) -> Result<Scanned, Stop> {
        let _turn = tokio::select! {
            () = job.cancelled() => return Err(Stop::Stopped),
            turn = self.scanning.lock() => turn,
        };
        let scan = Scan {
            room: self,
            job,
            of,
            reason,
            places,
        };
        scan.run().await
    }
}

/// Job result shown to users. Counters of features that do not exist yet are always 0.
fn told_of(library: &MediaLibrary, summary: ScanSummary, organized: u64, enriched: u64) -> Done {
    Done::result(json!({
        "libraryId": library.id, "scanned": summary.scanned, "added": summary.added, "updated": summary.updated,
        "removed": summary.removed, "artworkImported": 0, "metadataImported": 0, "shows": summary.shows,
        "duplicateShows": summary.duplicate_shows, "organized": organized, "enriched": enriched,
        "extras": summary.extras, "skipped": summary.extras + summary.passed_over,
    }))
}

/// Result of a scan.
pub struct Scanned {
    pub summary: ScanSummary,
    /// True if items must be identified now.
    is_followed: bool,
}

/// State of a job.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct State {
    /// Result of the scan, once it has ended and identification is left.
    scanned: Option<ScanSummary>,
}

struct Scan<'a> {
    room: &'a Arc<Scanner>,
    job: &'a JobContext,
    of: &'a MediaLibrary,
    reason: Reason,
    places: Option<&'a [String]>,
}

/// Findings of a scan, in order.
struct Found {
    known: Known,
    seen: Vec<SeenDirectory>,
    /// Places at or below which no item is changed or removed.
    kept: Vec<String>,
    /// Number of files that were seen.
    files: u64,
    /// True if the library's own directory is the one of the scan before, on the same file system: an empty one is then
    /// really empty.
    is_certain: bool,
}

impl Scan<'_> {
    /// True for the first scan of a library, which identifies its items whoever asked for it. After a download the job of
    /// the download does that.
    fn is_first(&self) -> bool {
        self.of.last_scan_at.is_none() && self.reason != Reason::Downloaded
    }

    async fn run(&self) -> Result<Scanned, Stop> {
        let Some(found) = self.look().await? else {
            // Nothing was seen: the time of the last scan stays as it was.
            return Ok(Scanned {
                summary: ScanSummary::default(),
                is_followed: false,
            });
        };
        let mut index = Index::new(self.room, self.job, self.of, &found.known);
        if self.reason == Reason::Downloaded {
            index = index.untold();
        }
        let enriches = self.reason.enriches() || self.is_first();
        if enriches {
            index = index.ending_at(SCANNED);
        }
        index
            .store(&found.seen, |place| is_kept(&found.kept, place))
            .await?;
        let may_remove = found.files > 0 || found.is_certain;
        if may_remove {
            index
                .prune(&found.seen, |place| is_kept(&found.kept, place))
                .await?;
        } else if found.known.values().any(|known| known.items > 0) {
            self.job
                .warning(
                    "Nothing was found; what is known of the library stays, for its disk may not be there",
                )
                .await?;
        }
        let mut summary = index.summary;
        summary.scanned = found.files;
        let folders = Folders::from_seen(&found.seen, |place| is_kept(&found.kept, place));
        let (shows, duplicate_shows) = self.room.refresh_shows(self.of, folders.as_ref()).await?;
        (summary.shows, summary.duplicate_shows) = (shows, duplicate_shows);
        let is_nothing_new = self.places.is_some() && summary.added == 0;
        let is_followed = enriches && !is_nothing_new;
        self.end(is_followed.then_some(summary)).await?;
        Ok(Scanned { summary, is_followed })
    }

    /// Walks the library; `None` if its directory is missing.
    async fn look(&self) -> Result<Option<Found>, Stop> {
        let room = self.room;
        let mut tx = room.db.begin_read().await?;
        let known = directories::known(&mut tx, &self.of.id).await?;
        let ignored = repo::ignored::places(&mut tx, &self.of.id).await?;
        drop(tx);
        let ms = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        let task = Task {
            root: self.of.path.clone().into(),
            roots: room.file_roots.clone(),
            own: room.own.clone(),
            now: room.ctx.now().ms(),
            settles: ms(room.pace.settles),
            relies: if self.reason.relies() {
                ms(room.pace.relies)
            } else {
                0
            },
            within: self
                .places
                .map(|places| places.iter().map(|place| place::decode(place)).collect()),
            ignored,
            kind: self.of.kind,
            known,
        };
        let total: i64 = task.known.values().map(|known| known.items).sum();
        let files = Arc::new(AtomicU64::new(0));
        let counted = files.clone();
        let failed = |error: LaneError| JobError::new("walk", error.to_string());
        let walking = WALKS.start(move |cancel| {
            let walked = walk(&task, &counted, &|| cancel.is_set());
            (task.known, walked)
        });
        // Dropping it cancels the walk.
        let mut walking = walking.map_err(failed)?;
        let (known, walked) = loop {
            tokio::select! {
                ended = &mut walking => break ended.map_err(failed)?,
                () = self.job.cancelled() => return Err(Stop::Stopped),
                () = tokio::time::sleep(LOOK) => {
                    let seen = files.load(Ordering::Relaxed);
                    let share = (seen as f64 / total.max(1) as f64).min(1.0);
                    let progress = Progress { current: Some(seen), unit: Some("files"), ..Progress::percent(5.0 * share) };
                    self.tell(progress.phase("scan")).await?;
                }
            }
        };
        let seen = match walked {
            Ok(seen) => seen,
            Err(WalkError::Stopped) => return Err(Stop::Stopped),
            Err(error) => {
                self.job.warning(&format!("Nothing was changed: {error}")).await?;
                return Ok(None);
            }
        };
        let kept = self.doubts(&known, &seen).await?;
        let files = seen.iter().filter(|directory| !is_kept(&kept, &directory.place));
        let files = files.map(|directory| match &directory.entries {
            Entries::Same => known
                .get(&directory.place)
                .map_or(0, |known| known.items.unsigned_abs()),
            Entries::Read(files) => files.len() as u64,
            Entries::Unread(_) => 0,
        });
        let is_certain = !is_kept(&kept, "")
            && seen.first().zip(known.get("")).is_some_and(|(now, before)| {
                now.place.is_empty() && (Some(now.device), Some(now.inode)) == (before.device, before.inode)
            });
        Ok(Some(Found {
            files: files.sum(),
            is_certain,
            known,
            seen,
            kept,
        }))
    }

    /// Places below which no item may be removed; each is reported in the job's log.
    async fn doubts(&self, known: &Known, seen: &[SeenDirectory]) -> Result<Vec<String>, Stop> {
        let by_place: HashMap<&str, &SeenDirectory> = seen
            .iter()
            .map(|directory| (&*directory.place, directory))
            .collect();
        let mut kept = Vec::new();
        let mut reasons = Vec::new();
        for directory in seen {
            if let Entries::Unread(reason) = &directory.entries {
                reasons.push(format!(
                    "`{}` could not be read: {reason}",
                    self.shown(&directory.place)
                ));
                kept.push(directory.place.clone());
            }
        }
        let now = |place: &str| by_place.get(place).map(|seen| (seen.device, seen.inode));
        for (place, is_there) in suspects(known, now) {
            if is_kept(&kept, &place) || (is_there && self.recognises(known, &by_place, &place).await?) {
                continue;
            }
            let items = known.iter().filter(|(below, _)| place::is_within(below, &place));
            if items.map(|(_, known)| known.items).sum::<i64>() == 0 {
                continue;
            }
            reasons.push(format!(
                "the file system at `{}` is not the one that was there; what is known of it stays",
                self.shown(&place)
            ));
            kept.push(place);
        }
        for reason in reasons.iter().take(WARNINGS) {
            self.job.warning(reason).await?;
        }
        if reasons.len() > WARNINGS {
            let more = format!(
                "{} more directories were left as they were",
                reasons.len() - WARNINGS
            );
            self.job.warning(&more).await?;
        }
        Ok(kept)
    }

    /// True if something that was known below a place is still there.
    async fn recognises(
        &self,
        known: &Known,
        seen: &HashMap<&str, &SeenDirectory>,
        place: &str,
    ) -> Result<bool, DbError> {
        let mut below = known
            .keys()
            .filter(|below| *below != place && place::is_within(below, place));
        if below.any(|below| seen.contains_key(&**below)) {
            return Ok(true);
        }
        let (Some(directory), Some(now)) = (known.get(place), seen.get(place)) else {
            return Ok(false);
        };
        let Entries::Read(files) = &now.entries else {
            return Ok(false);
        };
        let files: HashSet<&str> = files.iter().map(|file| &*file.place).collect();
        let mut tx = self.room.db.begin_read().await?;
        let stored = repo::items::of_directory(&mut tx, &directory.id).await?;
        Ok(stored.iter().any(|item| files.contains(&*item.place)))
    }

    fn shown(&self, place: &str) -> String {
        place::absolute(&self.of.path, place)
    }

    async fn tell(&self, progress: Progress) -> Result<(), Stop> {
        // An error means that the lease was lost: another worker goes on with the job.
        self.job.progress(progress).await.map_err(Stop::Job)
    }

    /// Ends the scan. `scanned`: its result, if the job goes on with identification.
    async fn end(&self, scanned: Option<ScanSummary>) -> Result<(), JobError> {
        if self.reason == Reason::Asked {
            self.room.probing.probe_again(&self.of.id).await?;
        }
        if self.places.is_some() && scanned.is_none() {
            return Ok(());
        }
        let mut tx = self.room.db.begin_write().await?;
        // Only scans of the whole library count for its interval.
        if self.places.is_none() {
            repo::libraries::scanned(&mut tx, &self.of.id, &self.of.path, self.room.ctx.now()).await?;
        }
        if scanned.is_some() {
            let state = serde_json::to_value(State { scanned });
            let state = state.map_err(|error| JobError::new("checkpoint", error.to_string()))?;
            self.job.save_in(&mut tx, &state).await?;
            // A scan that is asked for from now on must read the disk again.
            self.job.release_key_in(&mut tx).await?;
        }
        tx.commit().await?;
        Ok(())
    }
}

fn is_kept(kept: &[String], place: &str) -> bool {
    kept.iter().any(|above| place::is_within(place, above))
}

pub fn scan_asked(library: &MediaLibrary, reason: Reason, by: Option<&str>) -> NewJob {
    let asked = ScanRequest {
        library_id: &library.id,
        name: Some(&library.name),
        reason,
        created_by: by,
        places: None,
    };
    asked.into_job()
}
