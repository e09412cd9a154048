//! Job of a created torrent: hashes, stores the file, and hands it to an engine.
//!
//! A server that was killed hashes again from the start; a file that is stored already is only handed over.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use qm_confined::FsError;
use qm_db::DbError;
use qm_jobs::{Capabilities, Done, JobContext, JobError, JobHandler, JobType, Progress};
use qm_kernel::{ErrorKind, Permission, Timestamp};
use qm_lanes::{LaneError, on_behalf};
use qm_metainfo::create::Created;
use qm_platform::{ActingError, AuditEntry};
use qm_ports::intake::IntakeError;
use qm_ports::seed::{SeedTorrent, SeedWish};
use qm_torrent_maker::{MakeError, make_torrent};
use serde_json::{Value, json};

use super::places::Opened;
use super::{AT_ONCE, CreatedTorrents, MODULE, NEEDED};
use crate::error::CreatedError;
use crate::model::{Choices, CreatedTorrent, Facts, SeedState, Seeding, State};
use crate::repo;

/// Job type.
pub const TYPE: &str = "torrents.create";
/// Attempts of one torrent: the server may be restarted this often meanwhile.
const ATTEMPTS: u32 = 25;
/// Attempts to hand one torrent to its engine, which may settle after a start or be off for some seconds: half a minute in
/// all, for jobs wait longer before each attempt.
pub const SEED_ATTEMPTS: u64 = 6;
/// Interval between two looks at the progress.
const REPORTS: Duration = Duration::from_millis(500);
/// Interval between two reports of the same percentage.
const SAME_REPORTS: Duration = Duration::from_secs(10);
/// Interval between two looks at the rights of a user for whom files are read, which may take hours.
const RIGHTS: Duration = Duration::from_mins(1);
/// Pause before a lane that was full is asked again.
const FULL: Duration = Duration::from_secs(2);

pub fn job_type(created: &Arc<CreatedTorrents>) -> JobType {
    JobType {
        key: TYPE,
        module: MODULE,
        workspace: None,
        label_key: "jobs.type.torrents.create",
        description_key: None,
        required_permission: Some(Permission::TorrentsAdd),
        // No retry by hand: the choices are forgotten when the job ends.
        capabilities: Capabilities {
            cancellable: true,
            ..Capabilities::default()
        },
        max_attempts: ATTEMPTS,
        timeout: None,
        at_once: Some(AT_ONCE),
        // A second job would hold a place while it waits for its turn in the lane, which is one per user.
        at_once_of_one: Some(1),
        handler: Arc::new(Creating(Arc::downgrade(created))),
    }
}

struct Creating(Weak<CreatedTorrents>);

/// Reason for which a job does not go on.
enum Stop {
    /// It was cancelled, or the server stops.
    Interrupted,
    /// The torrent was deleted, or ended by another run.
    Gone,
    /// Another attempt may succeed.
    Later(JobError),
    /// No torrent can be made: a code and a sentence.
    Refused(String, String),
}

impl From<JobError> for Stop {
    fn from(error: JobError) -> Self {
        Stop::Later(error)
    }
}

impl From<DbError> for Stop {
    fn from(error: DbError) -> Self {
        Stop::Later(error.into())
    }
}

impl From<CreatedError> for Stop {
    fn from(error: CreatedError) -> Self {
        let (kind, code, text) = (error.kind(), error.code(), error.to_string());
        if kind == ErrorKind::Unavailable {
            Stop::Later(JobError::new(code, text))
        } else {
            Stop::Refused(code.to_owned(), text)
        }
    }
}

impl From<MakeError> for Stop {
    fn from(error: MakeError) -> Self {
        match error {
            MakeError::Cancelled | MakeError::Lane(LaneError::Stopped) => Stop::Interrupted,
            // A disk that failed while it was read would be read again from the start, up to the last attempt.
            MakeError::Disk(error @ FsError::Disk(_)) => {
                Stop::Refused(error.code().to_owned(), error.to_string())
            }
            MakeError::Disk(error) => CreatedError::Path(error).into(),
            MakeError::Lane(error) => CreatedError::Lane(error).into(),
            other => Stop::Refused("not_created".to_owned(), other.to_string()),
        }
    }
}

#[async_trait]
impl JobHandler for Creating {
    async fn run(&self, job: &JobContext) -> Result<Done, JobError> {
        let gone = || JobError::new("stopping", "the server stops");
        let app = self.0.upgrade().ok_or_else(gone)?;
        let id = job.input()["createdId"].as_str().unwrap_or_default();
        let mut tx = app.ground.db.begin_read().await?;
        let created = repo::find(&mut tx, id).await?;
        let choices = repo::read_choices(&mut tx, id).await?;
        drop(tx);
        let (Some(created), Some(choices)) = (created, choices) else {
            return Ok(Done::nothing());
        };
        let run = Run {
            app: &app,
            job,
            choices: &choices,
        };
        match run.run_all(created).await {
            Ok(result) => Ok(Done::result(result)),
            Err(Stop::Gone) => Ok(Done::nothing()),
            Err(Stop::Interrupted) => Err(JobError::new("interrupted", "It was stopped before it was done")),
            Err(Stop::Later(error)) => Err(error),
            Err(Stop::Refused(code, text)) => {
                let closed = app.close_early(id, Some(text.clone())).await;
                closed.map_err(|error| JobError::new(error.code(), error.to_string()))?;
                Err(JobError::new(code, text).permanent())
            }
        }
    }
}

struct Run<'a> {
    app: &'a CreatedTorrents,
    job: &'a JobContext,
    choices: &'a Choices,
}

impl Run<'_> {
    async fn run_all(&self, mut created: CreatedTorrent) -> Result<Value, Stop> {
        if created.state != State::Seeding {
            created = self.make(created).await?;
        }
        if created.state == State::Seeding {
            created = self.seed(created).await?;
        }
        let seeding = created.seeding.as_ref();
        let facts = created.facts.unwrap_or_default();
        // Without info-hashes: results of jobs are masked, and those look like secrets.
        Ok(json!({
            "createdId": created.id, "size": facts.size, "seeding": seeding.map(|seeding| seeding.state.as_str()),
        }))
    }

    /// Checks that the user still may what they asked for.
    async fn check_user(&self, created: &CreatedTorrent) -> Result<(), Stop> {
        let mut tx = self.app.ground.db.begin_read().await?;
        let powers = self.app.ground.acting.powers(&mut tx, &created.user_id).await;
        let checked = powers.and_then(|held| ActingError::check(&[], held, NEEDED));
        checked.map_err(|error| CreatedError::Acting(error).into())
    }

    /// Reads the content, and stores the file.
    async fn make(&self, created: CreatedTorrent) -> Result<CreatedTorrent, Stop> {
        let db = &self.app.ground.db;
        let mut tx = db.begin_write().await?;
        if !repo::begin(&mut tx, &created.id).await? {
            return Err(Stop::Gone);
        }
        tx.commit().await?;
        let (made, directory) = self.hash(&created).await?;
        let facts = Facts {
            hash_v1: made.metainfo.v1,
            hash_v2: made.metainfo.v2,
            size: made.metainfo.size,
            piece_size: made.piece_size,
            pieces: made.pieces,
        };
        let seeding = created.seeding.clone().map(|seeding| match directory {
            Ok(directory) => Seeding {
                directory: Some(directory),
                ..seeding
            },
            Err(error) => Seeding {
                error: Some(error.to_string()),
                ..seeding
            },
        });
        let mut tx = db.begin_write().await?;
        self.job.save_in(&mut tx, &json!({ "made": true })).await?;
        let file = (&made.file[..], &facts);
        let id = &created.id;
        if !repo::store_file(&mut tx, id, file, seeding.as_ref()).await? {
            return Err(Stop::Gone);
        }
        let state = if seeding.is_some() {
            State::Seeding
        } else {
            let now = self.app.ground.ctx.now();
            repo::close(&mut tx, id, State::Completed, None, None, now).await?;
            State::Completed
        };
        tx.commit().await?;
        Ok(CreatedTorrent {
            state,
            facts: Some(facts),
            seeding,
            ..created
        })
    }

    /// Hashes the content in the maker's lane; also answers the directory that holds it, as an engine is told of it.
    async fn hash(&self, created: &CreatedTorrent) -> Result<(Created, Result<String, CreatedError>), Stop> {
        let app = self.app;
        let now = app.ground.ctx.now();
        let options = self.choices.to_options(created.format, created.is_private, now);
        loop {
            self.check_user(created).await?;
            let told = Arc::new(Told::default());
            let who = || created.user_id.as_str().into();
            let opening = on_behalf(who(), app.open_again(&created.root, &created.path));
            let Some(Opened { item, directory }) = self.watch(created, opening, &told).await?? else {
                let text = format!(
                    "The root of the files is no longer {}: create the torrent again",
                    created.root
                );
                return Err(Stop::Refused("conflict.root_changed".to_owned(), text));
            };
            let teller = told.clone();
            let making = make_torrent(item, options.clone(), move |progress| {
                teller.total.store(progress.total, Ordering::Relaxed);
                teller.done.store(progress.done, Ordering::Relaxed);
            });
            match self.watch(created, on_behalf(who(), making), &told).await? {
                Ok(made) => return Ok((made, directory)),
                // Another torrent of the user is being made.
                Err(MakeError::Lane(LaneError::Full(_))) => {}
                Err(error) => return Err(error.into()),
            }
            self.job.heartbeat().await?;
            let pause = tokio::time::sleep(FULL);
            tokio::select! {
                () = self.job.cancelled() => return Err(Stop::Interrupted),
                () = pause => {}
            }
        }
    }

    /// Waits for work in a lane, reports its progress, and ends it when its user may not have it done any more.
    async fn watch<T>(
        &self,
        created: &CreatedTorrent,
        work: impl Future<Output = T>,
        told: &Told,
    ) -> Result<T, Stop> {
        let mut work = pin!(work);
        let ctx = &self.app.ground.ctx;
        let (mut checked, mut reports) = (ctx.now(), Reports::default());
        loop {
            let pause = tokio::time::sleep(REPORTS);
            tokio::select! {
                biased;
                () = self.job.cancelled() => return Err(Stop::Interrupted),
                done = &mut work => return Ok(done),
                () = pause => {}
            }
            let now = ctx.now();
            if now.since(checked) >= RIGHTS {
                self.check_user(created).await?;
                checked = now;
            }
            match told.percent().filter(|percent| reports.is_due(*percent, now)) {
                Some(percent) => self.job.progress(told.to_progress(percent)).await?,
                None => self.job.heartbeat().await?,
            }
        }
    }

    /// Counts an attempt to hand the file over, also over restarts of the server.
    async fn count_attempt(&self) -> Result<u64, JobError> {
        let checkpoint = self.job.checkpoint();
        let before = checkpoint.and_then(|checkpoint| checkpoint["seedAttempts"].as_u64());
        let attempts = before.unwrap_or_default() + 1;
        self.job
            .save(&json!({ "made": true, "seedAttempts": attempts }))
            .await?;
        Ok(attempts)
    }

    /// Hands the file to its engine. A failure is noted, and the torrent is kept; an engine that is not there now is asked again
    /// some times.
    async fn seed(&self, created: CreatedTorrent) -> Result<CreatedTorrent, Stop> {
        let Some(seeding) = created.seeding.clone() else {
            return Err(Stop::Gone);
        };
        self.check_user(&created).await?;
        let db = &self.app.ground.db;
        let mut tx = db.begin_read().await?;
        let file = repo::read_file(&mut tx, &created.id).await?.ok_or(Stop::Gone)?;
        drop(tx);
        let seeding = match seeding.directory.clone() {
            Some(save_path) => {
                let torrent = SeedTorrent {
                    file: file.into(),
                    save_path,
                    wish: SeedWish {
                        engine_id: seeding.engine_id.clone(),
                        category: self.choices.category.clone(),
                        tags: self.choices.tags.clone(),
                        start_paused: self.choices.start_paused,
                    },
                };
                let adding = self.app.seeds.seed_torrent(torrent);
                let added = tokio::select! {
                    biased;
                    // What the engine has taken is written down, cancelled or not.
                    added = adding => added,
                    () = self.job.cancelled() => return Err(Stop::Interrupted),
                };
                match added {
                    Ok(taken) => Seeding {
                        state: SeedState::Added,
                        hash: Some(taken.hash),
                        existed: taken.existed,
                        ..seeding
                    },
                    Err(IntakeError::Engine(text)) if self.count_attempt().await? < SEED_ATTEMPTS => {
                        return Err(Stop::Later(JobError::new("unavailable.engine", text)));
                    }
                    Err(error) => seeding.failed(error.to_string()),
                }
            }
            None => {
                let why = seeding.error.clone();
                seeding.failed(why.unwrap_or_else(|| "The place of the content is not known".to_owned()))
            }
        };
        let mut tx = db.begin_write().await?;
        self.job.save_in(&mut tx, &json!({ "made": true })).await?;
        let (at, id) = (self.app.ground.ctx.now(), &created.id);
        let is_there = repo::close(&mut tx, id, State::Completed, None, Some(&seeding), at).await?;
        if let (SeedState::Added, Some(hash)) = (seeding.state, &seeding.hash) {
            let entry = AuditEntry {
                user_id: Some(created.user_id.clone()),
                action: "torrents.created.seed",
                object_type: Some("torrent"),
                object_id: Some(hash.clone()),
                metadata: Some(json!({ "engineId": seeding.engine_id, "name": created.name })),
                ..AuditEntry::default()
            };
            self.app.ground.audit.record(&mut tx, entry).await?;
        }
        tx.commit().await?;
        if !is_there {
            return Err(Stop::Gone);
        }
        if let Some(error) = &seeding.error {
            self.job
                .warning(&format!("The torrent was made, but not added: {error}"))
                .await?;
        }
        Ok(CreatedTorrent {
            state: State::Completed,
            seeding: Some(seeding),
            ..created
        })
    }
}

/// Progress as the maker told it last, in bytes.
#[derive(Default)]
struct Told {
    done: AtomicU64,
    total: AtomicU64,
}

impl Told {
    /// Whole percents, once the maker knows how much there is. The end of the job tells 100.
    fn percent(&self) -> Option<u64> {
        let total = self.total.load(Ordering::Relaxed);
        let done = u128::from(self.done.load(Ordering::Relaxed));
        let percent = (done * 100).checked_div(u128::from(total))?;
        Some(u64::try_from(percent).map_or(99, |percent| percent.min(99)))
    }

    fn to_progress(&self, percent: u64) -> Progress {
        let (done, total) = (
            self.done.load(Ordering::Relaxed),
            self.total.load(Ordering::Relaxed),
        );
        Progress {
            percent: Some(percent as f64),
            unit: Some("bytes"),
            ..Progress::from_counts(done, total)
        }
    }
}

/// The last report of progress, each of which is stored as a row.
#[derive(Default)]
struct Reports(Option<(u64, Timestamp)>);

impl Reports {
    /// Counts a report if it tells enough that is new.
    fn is_due(&mut self, percent: u64, now: Timestamp) -> bool {
        let is_due = self
            .0
            .is_none_or(|(told, at)| told != percent || now.since(at) >= SAME_REPORTS);
        if is_due {
            self.0 = Some((percent, now));
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_reported_when_a_percent_is_done_or_some_seconds_passed() {
        let told = Told::default();
        assert_eq!(told.percent(), None);
        let mut reports = Reports::default();
        told.total.store(1000, Ordering::Relaxed);
        let mut reported = Vec::new();
        for (second, done) in [0, 4, 9, 10, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 1000]
            .into_iter()
            .enumerate()
        {
            told.done.store(done, Ordering::Relaxed);
            let percent = told.percent().expect("a percentage");
            if reports.is_due(percent, Timestamp::from_ms(second as i64 * 1000)) {
                reported.push((second, percent));
            }
        }
        assert_eq!(reported, [(0, 0), (3, 1), (13, 1), (14, 99)]);
    }

    #[test]
    fn only_what_may_pass_is_done_again() {
        let refused = |error: MakeError| match error.into() {
            Stop::Refused(code, text) => Some((code, text)),
            Stop::Later(_) | Stop::Interrupted | Stop::Gone => None,
        };
        let (code, text) = refused(FsError::Disk("/film".to_owned()).into()).expect("a refusal");
        assert!(
            code == "unavailable.disk" && text.contains("/film"),
            "{code} {text}"
        );
        assert!(refused(MakeError::Changed("/film".to_owned())).is_some());
        assert_eq!(refused(FsError::Busy.into()), None);
        assert_eq!(refused(LaneError::Full("lane").into()), None);
        assert_eq!(refused(MakeError::Cancelled), None);
    }
}
