//! Watching of libraries: changes on the disk are scanned soon, and only the directories in which they happened.
//!
//! Each library has a task, which ends with its token. Changes during a scan wait for the next one, so that a library has at
//! most one scan of its watcher. If watching fails, all watches of the library are closed, people see the reason, and it is
//! tried again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use qm_jobs::Ending;
use qm_kernel::as_error;
use qm_lanes::IgnorePoison;
use qm_media::LibraryError;
use qm_media::lanes::WATCHES;
use qm_media::model::library::MediaLibrary;
use qm_media::model::view::WatchState;
use qm_media_names::place;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Scanner;
use super::scan::{Reason, ScanRequest};
use crate::ops::watch::{Notes, Unwatched, Watches, channel};

/// Interval between looks for libraries to watch. A change made on this server is looked at at once.
const LOOK: Duration = Duration::from_mins(1);
/// Pause before failed watching is tried again.
const AGAIN: Duration = Duration::from_mins(5);
/// Pause before a failed scan is asked for again; it doubles each time, up to the longest.
const PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_mins(5);
/// Most watched directories of one library.
const MOST_DIRECTORIES: usize = 30_000;
/// Most directories of one scan; for more, the directory above all of them is scanned.
const MOST_PLACES: usize = 25;

/// State of the watches on all libraries.
#[derive(Default)]
pub(super) struct Watching {
    states: Mutex<BTreeMap<String, WatchState>>,
    /// Signal that libraries changed.
    pub changed: Notify,
}

impl Watching {
    fn states(&self) -> MutexGuard<'_, BTreeMap<String, WatchState>> {
        self.states.lock().ignore_poison()
    }

    fn set(&self, id: &str, state: WatchState) {
        self.states().insert(id.to_owned(), state);
    }
}

/// A watched library. Its task ends when this is dropped.
struct Watched {
    path: String,
    stop: DropGuard,
    task: JoinHandle<()>,
}

impl Scanner {
    /// Name and interval of the loop.
    pub const WATCHES: (&'static str, Duration) = ("media.library_watches", LOOK);

    /// Watches the libraries that want it, until it is told to stop. Of several servers on a database only the active one has
    /// loops.
    pub async fn watch_loop(self: Arc<Self>, stop: CancellationToken) {
        let mut watched: HashMap<String, Watched> = HashMap::new();
        loop {
            match self.list().await {
                Ok(libraries) => self.follow(libraries, &mut watched, &stop).await,
                Err(error) => {
                    tracing::warn!(
                        error = as_error(&error),
                        "which libraries are to be watched could not be read"
                    );
                }
            }
            tokio::select! {
                () = stop.cancelled() => break,
                () = self.watching.changed.notified() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
        }
        let ids: Vec<String> = watched.keys().cloned().collect();
        for id in ids {
            self.end(&id, &mut watched).await;
        }
    }

    /// States of the watches on the libraries that were watched since the server started, the oldest library first.
    pub async fn watch_status(&self) -> Result<Vec<(MediaLibrary, WatchState)>, LibraryError> {
        let libraries = self.list().await?;
        let states = self.watching.states();
        let found = libraries.into_iter().filter_map(|library| {
            let state = states.get(&library.id)?.clone();
            Some((library, state))
        });
        Ok(found.collect())
    }

    /// True if this server watches a library.
    pub(super) fn is_watched(&self, id: &str) -> bool {
        let states = self.watching.states();
        states.get(id).is_some_and(|state| state.count.is_some())
    }

    /// Ends the task of a library before another one begins, so that only one reports on it.
    async fn end(&self, id: &str, watched: &mut HashMap<String, Watched>) {
        if let Some(library) = watched.remove(id) {
            drop(library.stop);
            let _ = library.task.await;
            // A deleted library has no state.
            if let Some(state) = self.watching.states().get_mut(id) {
                *state = WatchState::default();
            }
        }
    }

    async fn follow(
        self: &Arc<Self>,
        libraries: Vec<MediaLibrary>,
        watched: &mut HashMap<String, Watched>,
        stop: &CancellationToken,
    ) {
        let ids: BTreeSet<String> = libraries.iter().map(|library| library.id.clone()).collect();
        let wanted: HashMap<String, MediaLibrary> = libraries
            .into_iter()
            .filter(|library| library.is_enabled && library.watch_enabled)
            .map(|library| (library.id.clone(), library))
            .collect();
        let ends = |(id, now): &(&String, &mut Watched)| {
            let stays = wanted.get(*id).is_some_and(|library| library.path == now.path);
            !stays || now.task.is_finished()
        };
        let ended: Vec<String> = watched
            .iter_mut()
            .filter(ends)
            .map(|(id, _)| id.clone())
            .collect();
        for id in ended {
            self.end(&id, watched).await;
        }
        self.watching.states().retain(|id, _| ids.contains(id));
        for (id, library) in wanted {
            if watched.contains_key(&id) {
                continue;
            }
            let token = stop.child_token();
            let (path, until) = (library.path.clone(), token.clone());
            let task = tokio::spawn(self.clone().watch(library, until));
            let stop = token.drop_guard();
            watched.insert(id, Watched { path, stop, task });
        }
    }

    /// Watches a library; after a failure, again.
    async fn watch(self: Arc<Self>, library: MediaLibrary, stop: CancellationToken) {
        while let Some(why) = stop.run_until_cancelled(self.watch_once(&library)).await {
            if why == Unwatched::Overflow {
                tracing::info!(library = library.name, "all of it is scanned: {why}");
                continue;
            }
            tracing::warn!(library = library.name, "a library is not watched: {why}");
            let state = WatchState {
                count: None,
                degraded: Some(why.to_string()),
            };
            self.watching.set(&library.id, state);
            if stop
                .run_until_cancelled(tokio::time::sleep(AGAIN))
                .await
                .is_none()
            {
                break;
            }
        }
    }

    /// Watches a library until that fails.
    async fn watch_once(&self, library: &MediaLibrary) -> Unwatched {
        let root = PathBuf::from(&library.path);
        let notes = Arc::new(Notes::default());
        let told = match channel(&root) {
            Ok(told) => told,
            Err(why) => return why,
        };
        tokio::select! {
            why = notes.listen(told.clone()) => why,
            why = self.look_after(library, root, told, notes.clone()) => why,
        }
    }

    /// Sets watches, and scans the directories that they report.
    async fn look_after(
        &self,
        library: &MediaLibrary,
        root: PathBuf,
        told: Arc<OwnedFd>,
        notes: Arc<Notes>,
    ) -> Unwatched {
        let (own, heard) = (self.own.clone(), (told, notes.clone()));
        let opened = off_thread(move |stopped| Watches::open(root, &own, MOST_DIRECTORIES, heard, stopped));
        let mut watches = match opened.await {
            Ok(watches) => watches,
            Err(why) => return why,
        };
        self.set_watched(library, &watches);
        // Changes from the time without watches.
        self.scan_noticed(library, &[String::new()]).await;
        loop {
            notes.told.notified().await;
            tokio::time::sleep(self.pace.gathers).await;
            let noted = notes.take();
            if let Some(why) = noted.lost {
                return why;
            }
            if !noted.turned.is_empty() {
                let renewed = off_thread(move |stopped| {
                    watches.renew(&noted.turned, stopped)?;
                    Ok(watches)
                });
                watches = match renewed.await {
                    Ok(watches) => watches,
                    Err(why) => return why,
                };
                self.set_watched(library, &watches);
            }
            let places = gathered(&noted.changed);
            if !places.is_empty() {
                self.scan_noticed(library, &places).await;
            }
        }
    }

    fn set_watched(&self, library: &MediaLibrary, watches: &Watches) {
        let state = WatchState {
            count: Some(watches.count()),
            degraded: None,
        };
        self.watching.set(&library.id, state);
    }

    /// Scans directories of a library, and waits for the end. A failed scan is asked for again, as nothing else looks there
    /// before the library's next scan.
    async fn scan_noticed(&self, library: &MediaLibrary, places: &[String]) {
        for failures in 0.. {
            match self.scan_places(library, places).await {
                Ok(Ending::Completed | Ending::Cancelled) => return,
                Ok(Ending::Failed(why)) => {
                    tracing::warn!(library = library.name, "what changed was not scanned: {why}");
                }
                Err(error) => {
                    tracing::warn!(
                        error = as_error(&error),
                        library = library.name,
                        "a scan of what changed could not be asked for"
                    );
                }
            }
            tokio::time::sleep(pause(failures)).await;
        }
    }

    async fn scan_places(&self, library: &MediaLibrary, places: &[String]) -> Result<Ending, LibraryError> {
        let asked = ScanRequest {
            library_id: &library.id,
            name: Some(&library.name),
            reason: Reason::Noticed,
            created_by: None,
            places: Some(places),
        };
        let id = self.jobs.submit(asked.into_job()).await?;
        Ok(self.jobs.ended(&id).await?)
    }
}

/// Pause after a number of failures before the last one: it doubles with each, up to [`LONGEST_PAUSE`].
fn pause(failures: u32) -> Duration {
    PAUSE.saturating_mul(1 << failures.min(10)).min(LONGEST_PAUSE)
}

/// Runs work on watches outside of the async threads. If the caller gives up, the work is told to stop.
async fn off_thread(
    work: impl FnOnce(&dyn Fn() -> bool) -> Result<Watches, Unwatched> + Send + 'static,
) -> Result<Watches, Unwatched> {
    let done = WATCHES.run(move |cancel| work(&|| cancel.is_set())).await;
    done.unwrap_or_else(|error| Err(Unwatched::Failed(error.to_string())))
}

/// Places to scan: none below another one, and where there are many, the one above all of them.
fn gathered(changed: &BTreeSet<Vec<u8>>) -> Vec<String> {
    let mut places: Vec<String> = Vec::new();
    let mut texts: Vec<String> = changed.iter().map(|path| place::encode(path)).collect();
    texts.sort_by_key(|text| place::decode(text).len());
    for text in texts {
        if !places.iter().any(|above| place::is_within(&text, above)) {
            places.push(text);
        }
        if places.len() > MOST_PLACES {
            return vec![common(changed)];
        }
    }
    places
}

/// Deepest directory that is above all of these, or one of them.
fn common(paths: &BTreeSet<Vec<u8>>) -> String {
    let mut paths = paths
        .iter()
        .map(|path| path.split(|byte| *byte == b'/').collect::<Vec<_>>());
    let first = paths.next().unwrap_or_default();
    let length = paths.fold(first.len(), |length, path| {
        let same = first.iter().zip(&path).take_while(|(a, b)| a == b).count();
        length.min(same)
    });
    place::encode(&first[..length].join(&b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_is_asked_for_less_and_less() {
        let pauses: Vec<u64> = [0, 1, 5, 6, 100]
            .into_iter()
            .map(|n| pause(n).as_secs())
            .collect();
        assert_eq!(pauses, [5, 10, 160, 300, 300]);
    }

    #[test]
    fn what_changed_is_gathered() {
        let set = |list: &[&str]| {
            list.iter()
                .map(|path| path.as_bytes().to_vec())
                .collect::<BTreeSet<_>>()
        };
        assert_eq!(gathered(&set(&["a/b", "a", "ab", "a/c/d"])), ["a", "ab"]);
        assert_eq!(gathered(&set(&["", "a"])), [""]);
        assert_eq!(gathered(&set(&[])), [""; 0]);
        let many: Vec<String> = (0..=MOST_PLACES).map(|number| format!("x/y/{number}")).collect();
        let mut many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(gathered(&set(&many)), ["x/y"]);
        many.push("z");
        assert_eq!(gathered(&set(&many)), [""]);
    }
}
