//! Follow-up of a complete download, as one job: the libraries it lies in are scanned there, what was found is identified,
//! providers describe it, the library names it and adds to it what it is set up to add (`care`), media servers are asked to look
//! for it. Rules can run after each step.
//!
//! Each completion is a job of its own, stored with the position of the consumer of its event, so a second one during the
//! first is not lost. Progress is stored in the transaction of the work itself: a server that was killed goes on with the
//! rest, and no rule runs twice. A media server that was being asked when the server died is asked again: nobody knows if it
//! heard the first request, and a second look does no harm.
//!
//! Bounds: [`AT_ONCE`] items a transaction, [`TOGETHER`] downloads at once.

mod care;

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use qm_db::Tx;
use qm_identify::{One, Silence};
use qm_jobs::{Done, JobContext, JobError, JobHandler, JobType, NewJob, Progress, Source};
use qm_kernel::event::{Cause, DomainEvent};
use qm_media::LibraryError;
use qm_media::lanes::COMPUTE;
use qm_media::model::library::MediaLibrary;
use qm_media::repo;
use qm_media::repo::downloads::Arrived;
use qm_media::service::jobs::{self, Stop, in_service, stopped};
use qm_media_names::name::identify;
use qm_media_names::place;
use qm_platform::outbox::ConsumeError;
use qm_ports::action::TorrentRef;
use qm_ports::media_server::Extent;
use qm_scan::{Reason, below, refused};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Orders;
use crate::events::RefreshFailed;

/// Type of the jobs.
pub const TYPE: &str = "media.post_download";
const AT_ONCE: usize = 64;
const TOGETHER: usize = 2;

/// A torrent whose download is complete, as its event reports it. Fields that the event lacks are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Finished {
    torrent_name: String,
    hash: String,
    engine_id: String,
    save_path: String,
    content_path: String,
}

impl Finished {
    /// Path of its data.
    fn path(&self) -> String {
        if self.content_path.is_empty() {
            format!("{}/{}", self.save_path.trim_end_matches('/'), self.torrent_name)
        } else {
            self.content_path.clone()
        }
    }

    fn facts(&self) -> Map<String, Value> {
        let told = [
            ("hash", &self.hash),
            ("name", &self.torrent_name),
            ("engineId", &self.engine_id),
            ("savePath", &self.save_path),
            ("contentPath", &self.content_path),
        ];
        let told = told.into_iter();
        told.map(|(name, value)| (name.to_owned(), Value::from(value.as_str())))
            .collect()
    }
}

/// Next step in a library.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stage {
    #[default]
    Scan,
    Identify,
    Describe,
    /// Names.
    Name,
    /// Pictures and subtitles.
    Complete,
    /// Notes (NFO).
    Note,
}

impl Stage {
    /// Part of the work on a library that is done before the stage, and its phase.
    const fn progress(self) -> (f64, &'static str) {
        match self {
            Stage::Scan => (0.0, "scan"),
            Stage::Identify => (1.0 / 6.0, "identify"),
            Stage::Describe => (2.0 / 6.0, "metadata"),
            Stage::Name => (3.0 / 6.0, "organize"),
            Stage::Complete => (4.0 / 6.0, "artwork"),
            Stage::Note => (5.0 / 6.0, "nfo"),
        }
    }
}

/// Progress of a job, stored as its checkpoint.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct State {
    /// Facts about the torrent for rules, as they were when the job began.
    torrent: Map<String, Value>,
    /// Path of its data.
    path: String,
    /// Ids of the libraries it lies in; `None`: the job has not begun.
    libraries: Option<Vec<String>>,
    /// Number of libraries that are done.
    passed: usize,
    stage: Stage,
    /// Id of the last item for which the stage is done.
    after: String,
    added: u64,
    matched: u64,
    unmatched: u64,
    /// Number of items that providers described.
    described: u64,
    /// Ids of the identified items in the present library, from the stage of names on: the items may leave the download's place
    /// then. `None`: that stage has not begun.
    items: Option<Vec<String>>,
    /// Number of items whose files got names.
    named: u64,
    /// Number of notes that were written.
    notes: u64,
    /// Number of warnings about single items.
    warned: usize,
    /// True if it was said that there is nobody for whom a library works.
    is_nobody_told: bool,
    silence: Silence,
    /// Ids of the media servers that were asked.
    asked: Vec<String>,
    failed: u64,
}

pub fn job_type(room: &Arc<Orders>) -> JobType {
    let handler = Arc::new(Following(Arc::downgrade(room)));
    JobType {
        at_once: Some(TOGETHER),
        at_once_of_one: None,
        ..jobs::job_type(TYPE, "jobs.type.media.post_download", handler)
    }
}

struct Following(Weak<Orders>);

#[async_trait]
impl JobHandler for Following {
    async fn run(&self, job: &JobContext) -> Result<Done, JobError> {
        let room = in_service(&self.0)?;
        let state = jobs::saved(job);
        let mut download = Download { room, job, state };
        download.follow().await?;
        let state = download.state;
        Ok(Done::result(json!({
            "libraries": state.libraries, "added": state.added, "matched": state.matched,
            "unmatched": state.unmatched, "described": state.described, "named": state.named, "notes": state.notes,
            "serversAsked": state.asked.len(), "serversFailed": state.failed,
        })))
    }
}

impl Orders {
    /// Starts the job for a completion, if the download lies in a library. It is stored with the consumer's position.
    pub async fn follows(&self, tx: &mut Tx, payload: &Value) -> Result<(), ConsumeError> {
        let torrent = Finished::deserialize(payload)?;
        let path = torrent.path();
        let libraries = repo::libraries::all(tx).await?;
        let holding: Vec<&MediaLibrary> = holding(&libraries, &path).collect();
        let Some(first) = holding.first() else {
            return Ok(());
        };
        let input = serde_json::to_value(&torrent)?;
        let job = NewJob {
            name: Some(torrent.torrent_name.clone()).filter(|name| !name.is_empty()),
            source: Source::Event,
            resource: Some(("torrent".to_owned(), torrent.hash)),
            library_id: (holding.len() == 1).then(|| first.id.clone()),
            ..NewJob::new(TYPE, input)
        };
        let jobs = self.jobs.clone();
        let enqueued = jobs.enqueue(tx, job).await.map_err(refused)?;
        tx.after_commit(move || jobs.announce(&enqueued));
        Ok(())
    }
}

/// Enabled libraries that hold a path.
fn holding<'a>(libraries: &'a [MediaLibrary], path: &'a str) -> impl Iterator<Item = &'a MediaLibrary> {
    let is_in = move |library: &&MediaLibrary| library.is_enabled && below(library, path).is_some();
    libraries.iter().filter(is_in)
}

/// Follow-up of one download.
struct Download<'a> {
    room: Arc<Orders>,
    job: &'a JobContext,
    state: State,
}

impl Download<'_> {
    async fn follow(&mut self) -> Result<(), JobError> {
        let libraries = match self.state.libraries.clone() {
            Some(libraries) => libraries,
            None => self.begin().await?,
        };
        while let Some(id) = libraries.get(self.state.passed) {
            let part = 80.0 / libraries.len() as f64;
            let done = part * self.state.passed as f64;
            let (share, phase) = self.state.stage.progress();
            // A scan tells its own progress.
            if self.state.stage != Stage::Scan {
                self.tell(done + part * share, phase).await?;
            }
            match self.state.stage {
                Stage::Scan => self.scan(id).await?,
                Stage::Identify => self.identify(id).await?,
                Stage::Describe => self.describe(id).await?,
                Stage::Name => self.name_files(id).await?,
                Stage::Complete => self.complete(id).await?,
                Stage::Note => self.write_notes(id).await?,
            }
        }
        if libraries.is_empty() {
            return Ok(());
        }
        self.tell(80.0, "refresh").await?;
        self.refresh().await
    }

    async fn tell(&self, percent: f64, phase: &str) -> Result<(), JobError> {
        if self.job.is_cancelled() {
            return Err(stopped());
        }
        self.job.progress(Progress::percent(percent).phase(phase)).await
    }

    /// Reads the torrent and its present path: a client may have moved the data when the download was complete.
    async fn begin(&mut self) -> Result<Vec<String>, JobError> {
        let finished = Finished::deserialize(self.job.input());
        let finished = finished.map_err(|error| JobError::new("input", error.to_string()).permanent())?;
        let torrent = TorrentRef {
            engine_id: finished.engine_id.clone(),
            hash: finished.hash.clone(),
        };
        self.state.torrent = finished.facts();
        // An engine that is away tells nothing; what the event told will do.
        if let Ok(Some(listed)) = self.room.outside.hands.read(&torrent).await {
            self.state.torrent.extend(listed);
        }
        let text = |name: &str| {
            self.state
                .torrent
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let now = Finished {
            content_path: text("contentPath"),
            save_path: text("savePath"),
            ..finished
        };
        self.state.path = now.path();
        let all = repo::libraries::all(&mut self.room.db.begin_read().await?).await?;
        let ids: Vec<String> = holding(&all, &self.state.path)
            .map(|library| library.id.clone())
            .collect();
        self.state.libraries = Some(ids.clone());
        jobs::save(self.job, &self.state).await?;
        Ok(ids)
    }

    /// A library, with the place of the download in it; `None` if the library is gone, or no longer holds the download.
    async fn find_library(&self, id: &str) -> Result<Option<(MediaLibrary, String)>, JobError> {
        let found = repo::libraries::find(&mut self.room.db.begin_read().await?, id).await?;
        let found = found.filter(|library| library.is_enabled);
        Ok(found.and_then(|library| {
            let at = below(&library, &self.state.path)?;
            Some((library, at))
        }))
    }

    /// Scans the place of the download, and fires the rules of `media.detected` if items are there.
    async fn scan(&mut self, id: &str) -> Result<(), JobError> {
        let Some((library, at)) = self.find_library(id).await? else {
            return self.pass().await;
        };
        // The parent and the place itself: files inside a known folder may have been replaced.
        let places: Vec<String> = place::parent(&at).into_iter().chain([at.clone()]).collect();
        let scanned = self
            .room
            .scanner
            .scan_once(self.job, &library, Reason::Downloaded, Some(&places));
        match scanned.await {
            Ok(scanned) => self.state.added += scanned.summary.added,
            // The next turn looks the library up again.
            Err(Stop::Changed) => return Ok(()),
            Err(stop) => return Err(stop.into()),
        }
        let mut tx = self.room.db.begin_write().await?;
        if !repo::downloads::at_or_below(&mut tx, id, &at).await?.is_empty() {
            let told = self.facts_for(&library, None);
            self.room.triggers.fire(&mut tx, "media.detected", &told).await?;
        }
        (self.state.stage, self.state.after) = (Stage::Identify, String::new());
        self.store(tx).await
    }

    /// Identifies unmatched items, and fires the rules for matched and unmatched ones.
    async fn identify(&mut self, id: &str) -> Result<(), JobError> {
        let Some((library, at)) = self.find_library(id).await? else {
            return self.pass().await;
        };
        let mut tx = self.room.db.begin_read().await?;
        let ids = repo::downloads::at_or_below(&mut tx, id, &at).await?;
        drop(tx);
        let left: Vec<String> = ids.into_iter().filter(|id| *id > self.state.after).collect();
        for some in left.chunks(AT_ONCE) {
            if self.job.is_cancelled() {
                return Err(stopped());
            }
            self.identify_some(&library, some).await?;
        }
        // If the data set of titles cannot be asked now, or the server dies, the next scan asks it.
        self.room.identify.ask_titles(&library, self.job).await?;
        self.turn_to(Stage::Describe).await
    }

    /// Asks providers about identified items. Silent providers are reported in the job's log, and the next step follows.
    async fn describe(&mut self, id: &str) -> Result<(), JobError> {
        let Some((library, at)) = self.find_library(id).await? else {
            return self.pass().await;
        };
        if !self.room.identify.has_teller(self.job).await? {
            return self.turn_to(Stage::Name).await;
        }
        let mut tx = self.room.db.begin_read().await?;
        let ids = repo::downloads::at_or_below(&mut tx, id, &at).await?;
        drop(tx);
        let left = ids.into_iter().filter(|id| *id > self.state.after);
        let bound = self.room.identify.bound();
        for (done, item) in left.collect::<Vec<_>>().into_iter().enumerate() {
            if self.job.is_cancelled() {
                return Err(stopped());
            }
            if bound.is_reached(done) {
                self.room.identify.enqueue_rest(&library, self.job).await?;
                break;
            }
            let (became, tx) = self.room.identify.describe(self.job, &item).await?;
            self.state.after = item;
            self.state.described += u64::from(matches!(became, One::Told));
            let goes_on = self.state.silence.goes_on(&became);
            match tx {
                Some(tx) => self.store(tx).await?,
                None => self.job.heartbeat().await?,
            }
            if !goes_on {
                break;
            }
        }
        std::mem::take(&mut self.state.silence).warn(self.job).await?;
        self.turn_to(Stage::Name).await
    }

    async fn identify_some(&mut self, library: &MediaLibrary, ids: &[String]) -> Result<(), JobError> {
        let mut tx = self.room.db.begin_read().await?;
        let items = repo::downloads::find_arrived(&mut tx, ids).await?;
        let kind = library.kind;
        let ids_of: Vec<&str> = items.iter().map(|arrived| &*arrived.item.id).collect();
        let alone = repo::names::alone(&mut tx, kind, &ids_of).await?;
        drop(tx);
        let reading = COMPUTE.run(move |_| {
            let read = |arrived: &Arrived| {
                let is_alone = alone.contains(&arrived.item.id);
                identify(&place::shown(&arrived.item.place), kind, is_alone)
            };
            let found = items
                .iter()
                .filter(|arrived| !arrived.locked && !arrived.is_known());
            found
                .map(|arrived| (arrived.item.clone(), read(arrived)))
                .collect::<Vec<_>>()
        });
        let read = reading.await.map_err(LibraryError::from)?;
        let now = self.room.ctx.now();
        let mut tx = self.room.db.begin_write().await?;
        for (item, found) in &read {
            repo::names::identified(&mut tx, item, found, now).await?;
        }
        // As they are now, whoever said so.
        for arrived in repo::downloads::find_arrived(&mut tx, ids).await? {
            let is_known = arrived.is_known();
            self.state.matched += u64::from(is_known);
            self.state.unmatched += u64::from(!is_known);
            let trigger = if is_known {
                "media.matched"
            } else {
                "media.unmatched"
            };
            let told = self.facts_for(library, Some(&arrived));
            self.room.triggers.fire(&mut tx, trigger, &told).await?;
        }
        self.state.after = ids.last().cloned().unwrap_or_default();
        self.store(tx).await
    }

    /// Asks each enabled media server once to look for the download.
    async fn refresh(&mut self) -> Result<(), JobError> {
        let servers = match self.room.outside.servers.servers().await {
            Ok(servers) => servers,
            Err(error) => return Err(JobError::new("media_servers", error.to_string())),
        };
        for server in servers.into_iter().filter(|server| server.is_enabled) {
            if self.job.is_cancelled() {
                return Err(stopped());
            }
            if self.state.asked.contains(&server.id) {
                continue;
            }
            let asked = self.room.outside.servers.refresh(&server.id, Extent::default());
            let done = asked.await;
            let mut tx = self.room.db.begin_write().await?;
            self.state.asked.push(server.id.clone());
            let Err(error) = done else {
                self.store(tx).await?;
                continue;
            };
            self.state.failed += 1;
            let reason = error.to_string();
            let mut told = self.state.torrent.clone();
            told.insert("serverName".to_owned(), server.name.as_str().into());
            told.insert("reason".to_owned(), reason.as_str().into());
            self.room
                .triggers
                .fire(&mut tx, "media.server_refresh_failed", &told)
                .await?;
            let warning = format!("{} could not be refreshed: {reason}", server.name);
            let failed = RefreshFailed {
                server_name: server.name,
                reason,
            };
            tx.publish(DomainEvent::new(&self.room.ctx, Cause::NONE, server.id, &failed));
            self.store(tx).await?;
            self.job.warning(&warning).await?;
        }
        Ok(())
    }

    /// Goes on to the next library.
    async fn pass(&mut self) -> Result<(), JobError> {
        self.state.passed += 1;
        self.state.items = None;
        self.turn_to(Stage::default()).await
    }

    /// Goes on to a stage.
    async fn turn_to(&mut self, stage: Stage) -> Result<(), JobError> {
        (self.state.stage, self.state.after) = (stage, String::new());
        jobs::save(self.job, &self.state).await
    }

    /// Commits the work, together with the progress after it.
    async fn store(&self, mut tx: Tx) -> Result<(), JobError> {
        let state = serde_json::to_value(&self.state);
        let state = state.map_err(|error| JobError::new("checkpoint", error.to_string()))?;
        self.job.save_in(&mut tx, &state).await?;
        Ok(tx.commit().await?)
    }

    /// Facts for rules: those of the torrent, and the item with its path.
    fn facts_for(&self, library: &MediaLibrary, arrived: Option<&Arrived>) -> Map<String, Value> {
        let mut told = self.state.torrent.clone();
        told.insert("libraryId".to_owned(), library.id.as_str().into());
        told.insert("libraryName".to_owned(), library.name.as_str().into());
        if let Some(Arrived { item, .. }) = arrived {
            let path = place::absolute(&library.path, &item.place);
            let more = [
                ("itemId", json!(item.id)),
                ("title", json!(item.title)),
                ("mediaType", json!(item.media_type)),
                ("year", json!(item.year)),
                ("season", json!(item.season)),
                ("episode", json!(item.episode)),
                ("path", json!(path)),
            ];
            told.extend(more.map(|(name, value)| (name.to_owned(), value)));
        }
        told
    }
}
