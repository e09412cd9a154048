//! Probing of the files of the libraries, a few at a time. Until then only their names give properties.
//!
//! Results are stored only if the file is still the one that was opened. A file that could not be probed is tried three
//! times, unless each try would fail the same way, and once more when somebody starts a scan of its library. A file whose
//! disk is not there waits, and loses no attempt.
//!
//! Bounds: 200 files every five minutes, four at a time; a round that finds nothing to do writes nothing.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use qm_db::Db;
use qm_kernel::{Ctx, as_error};
use qm_lanes::{IgnorePoison, LaneError};
use qm_media::LibraryError;
use qm_media::lanes::{COMPUTE, LOOKS};
use qm_media::model::library::MediaLibrary;
use qm_media::ops::guard::{guarded, place_of};
use qm_media::ops::reach::Reach;
use qm_media::repo;
use qm_media_names::place;
use qm_platform::Beats;
use tokio_util::sync::CancellationToken;

use crate::lanes::PROBES;
use crate::model::streams::{self, Streams, Unclear};
use crate::ops::probe::{Expected, HANDED, ProbeError, Prober, fingerprint, open};
use crate::repo::probes;
use crate::repo::probes::Due;

const INTERVAL: Duration = Duration::from_mins(5);
/// Most files of one round.
const AT_ONCE: usize = 200;
/// Most files on missing disks in one round.
const MOST_AWAY: usize = 2000;
/// Files that are probed at the same time.
const WORKERS: usize = 4;
/// Most failed attempts for one file.
const ATTEMPTS: i64 = 3;

/// Dependencies of the probing.
pub struct ProbingDeps {
    pub db: Db,
    pub ctx: Ctx,
    /// `FILE_MANAGER_ROOTS`
    pub file_roots: Vec<String>,
    /// Directories and files of the service, which are in no library.
    pub own: Vec<PathBuf>,
    pub prober: Prober,
}

/// Probing of the files of libraries.
pub struct Probing {
    db: Db,
    ctx: Ctx,
    file_roots: Vec<String>,
    own: Vec<PathBuf>,
    prober: Prober,
    /// Reason for which no file is probed, for people.
    problem: Mutex<Option<String>>,
}

impl Probing {
    /// Name and interval of the loop.
    pub const LOOP: (&'static str, Duration) = ("media.probe_backfill", INTERVAL);

    pub fn new(deps: ProbingDeps) -> Arc<Self> {
        Arc::new(Self {
            db: deps.db,
            ctx: deps.ctx,
            file_roots: deps.file_roots,
            own: deps.own,
            prober: deps.prober,
            problem: Mutex::default(),
        })
    }

    fn set_problem(&self, why: Option<String>) {
        *self.problem.lock().ignore_poison() = why;
    }

    /// Problem that prevents probing, for people.
    pub fn problem(&self) -> Option<String> {
        self.problem.lock().ignore_poison().clone()
    }

    /// Probes files until it is told to stop. Of several servers on a database only the active one has loops.
    pub async fn run_loop(self: Arc<Self>, stop: CancellationToken) {
        let mut beats = Beats::every(INTERVAL);
        while stop.run_until_cancelled(beats.next()).await.is_some() {
            if let Some(Err(error)) = stop.run_until_cancelled(self.probe_some()).await {
                tracing::warn!(
                    error = as_error(&error),
                    "files of libraries could not be looked into"
                );
            }
        }
    }

    /// Probes due files, up to the bound of a round; returns their number.
    pub async fn probe_some(&self) -> Result<usize, LibraryError> {
        let (mut probed, mut away) = (0, 0);
        while probed < AT_ONCE && away < MOST_AWAY {
            let due = self.due(AT_ONCE - probed).await?;
            if due.is_empty() {
                break;
            }
            let all = repo::libraries::all(&mut self.db.begin_read().await?).await?;
            let libraries: HashMap<String, MediaLibrary> = all
                .into_iter()
                .filter(|library| library.is_enabled)
                .map(|library| (library.id.clone(), library))
                .collect();
            let there = self.there(&due, &libraries).await?;
            let (due, gone): (Vec<Due>, Vec<Due>) =
                due.into_iter().partition(|file| there.contains(&file.library_id));
            away += gone.len();
            self.put_off(&gone).await?;
            probed += due.len();
            if !self.probe_all(due, &libraries).await? {
                break;
            }
        }
        Ok(probed)
    }

    /// Makes files of a library that could not be probed due again.
    pub async fn probe_again(&self, library_id: &str) -> Result<(), LibraryError> {
        loop {
            let mut tx = self.db.begin_write().await?;
            let reset = probes::retry(&mut tx, library_id, AT_ONCE as i64).await?;
            tx.commit().await?;
            if reset < AT_ONCE as u64 {
                return Ok(());
            }
        }
    }

    /// Files that are due, those with the fewest attempts first.
    async fn due(&self, most: usize) -> Result<Vec<Due>, LibraryError> {
        let (now, mut due) = (self.ctx.now(), Vec::new());
        let mut tx = self.db.begin_read().await?;
        for attempts in 0..ATTEMPTS {
            let more = (most - due.len()) as i64;
            if more > 0 {
                due.extend(probes::due(&mut tx, attempts, now, more).await?);
            }
        }
        let more = (most - due.len()) as i64;
        if more > 0 {
            due.extend(probes::untracked(&mut tx, now, more).await?);
        }
        Ok(due)
    }

    /// Those libraries of what is due whose directories are there.
    async fn there(
        &self,
        due: &[Due],
        libraries: &HashMap<String, MediaLibrary>,
    ) -> Result<HashSet<String>, LibraryError> {
        let ids: HashSet<&String> = due.iter().map(|file| &file.library_id).collect();
        let paths: Vec<(String, String)> = ids
            .into_iter()
            .filter_map(|id| {
                libraries
                    .get(id)
                    .map(|library| (id.clone(), library.path.clone()))
            })
            .collect();
        let (roots, own) = (self.file_roots.clone(), self.own.clone());
        let looking = LOOKS.run(move |_| {
            let is_there = |path: &str| {
                // The roots may have changed since the library was made.
                let is_same = guarded(path, &roots, &own).is_ok_and(|guarded| guarded == path);
                is_same && Reach::open(Path::new(path)).is_ok()
            };
            let there = paths.into_iter().filter(|(_, path)| is_there(path));
            there.map(|(id, _)| id).collect()
        });
        Ok(looking.await?)
    }

    async fn put_off(&self, files: &[Due]) -> Result<(), LibraryError> {
        if files.is_empty() {
            return Ok(());
        }
        let after = self.ctx.now().plus(self.prober.again);
        let mut tx = self.db.begin_write().await?;
        for file in files {
            probes::put_off(&mut tx, file, after).await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// Looks into files and writes down what was found; whether the program can be started.
    async fn probe_all(
        &self,
        due: Vec<Due>,
        libraries: &HashMap<String, MediaLibrary>,
    ) -> Result<bool, LibraryError> {
        let roots: Vec<String> = self.file_roots.clone();
        let resolving = LOOKS.run(move |_| {
            let roots = roots.iter().map(|root| place_of(Path::new(root)));
            Arc::new(roots.collect::<Vec<PathBuf>>())
        });
        let roots = resolving.await?;
        let looks = due.into_iter().map(|file| {
            let (path, roots) = (
                libraries
                    .get(&file.library_id)
                    .map(|library| library.path.clone()),
                roots.clone(),
            );
            async move {
                let found = self.probe(path.unwrap_or_default(), &file, roots).await;
                (file, found)
            }
        });
        let mut looks = stream::iter(looks).buffer_unordered(WORKERS);
        while let Some((file, found)) = looks.next().await {
            if let Err(ProbeError::NoTool(why)) = found {
                self.set_problem(Some(why));
                return Ok(false);
            }
            self.set_problem(None);
            self.write_probe(&file, found).await?;
        }
        Ok(true)
    }

    async fn probe(
        &self,
        library: String,
        file: &Due,
        roots: Arc<Vec<PathBuf>>,
    ) -> Result<(Streams, Option<String>), ProbeError> {
        let expected = Expected {
            path: place::decode(&file.place),
            size: file.size,
            mtime: file.mtime,
        };
        let opening = PROBES.run(move |_| {
            let opened = open(Path::new(&library), &expected, &roots)?;
            let fingerprint = fingerprint(&opened, expected.size).ok();
            Ok((opened, fingerprint))
        });
        let failed = |error: LaneError| ProbeError::Passing(error.to_string());
        let opening: Result<_, ProbeError> = opening.await.map_err(failed)?;
        let (opened, fingerprint) = opening?;
        let answer = self.prober.ask(opened).await?;
        let size = file.size;
        let reading = COMPUTE.run(move |_| streams::read_of(&answer, HANDED, size));
        let read = reading.await.map_err(failed)?.map_err(|why| match why {
            Unclear::Unopened => ProbeError::Passing(why.to_string()),
            Unclear::Resized => ProbeError::Changed,
            Unclear::Unreadable | Unclear::NoVideo | Unclear::Others => ProbeError::Lasting(why.to_string()),
        });
        Ok((read?, fingerprint))
    }

    async fn write_probe(
        &self,
        file: &Due,
        found: Result<(Streams, Option<String>), ProbeError>,
    ) -> Result<(), LibraryError> {
        let now = self.ctx.now();
        let after = now.plus(self.prober.again);
        let is_last = file.probe_attempts + 1 >= ATTEMPTS;
        let mut tx = self.db.begin_write().await?;
        match found {
            Ok((streams, fingerprint)) => {
                probes::found(&mut tx, file, &streams, fingerprint.as_deref(), now).await?;
            }
            Err(ProbeError::Passing(_)) if !is_last => {
                probes::failed(&mut tx, file, None, after).await?;
            }
            Err(ProbeError::Passing(why) | ProbeError::Lasting(why)) => {
                probes::failed(&mut tx, file, Some(&why), after).await?;
                // One that was probed before keeps what is known of it.
                probes::set_trackless(&mut tx, file).await?;
            }
            Err(ProbeError::Changed | ProbeError::NoTool(_)) => {
                probes::put_off(&mut tx, file, after).await?;
            }
        }
        tx.commit().await?;
        Ok(())
    }
}
