//! Where file system work runs: never on the async threads, and never on more blocking threads than its share, so that a
//! hung mount stops the file manager alone.
//!
//! Looks have lanes of their own: however many there are, and however long, no change waits for one.
//!
//! Bounds: [`QUICK`] short calls and [`LONG`] long operations that change something, [`LOOKS`] short looks and [`WALKS`]
//! walks at once; a call that finds no place for [`PATIENCE`] is answered with [`FsError::Busy`]. A caller that goes away
//! does not free the place: the work does, when it ends.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::confined::FsError;

/// Short calls of changes at once: renames, new folders, the checks before them.
pub const QUICK: usize = 16;
/// Long operations at once: copies, moves across devices, removals of trees.
pub const LONG: usize = 4;
/// Short looks at once: listings, stats, previews, pieces of streams.
pub const LOOKS: usize = 16;
/// Long looks at once: whatever walks a tree or reads much to tell about it.
pub const WALKS: usize = 4;
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    Quick,
    Long,
    Look,
    Walk,
}

/// Cheap to clone; all clones share the places.
#[derive(Clone)]
pub struct Workers {
    quick: Arc<Semaphore>,
    long: Arc<Semaphore>,
    looks: Arc<Semaphore>,
    walks: Arc<Semaphore>,
}

impl Default for Workers {
    fn default() -> Self {
        Self {
            quick: Arc::new(Semaphore::new(QUICK)),
            long: Arc::new(Semaphore::new(LONG)),
            looks: Arc::new(Semaphore::new(LOOKS)),
            walks: Arc::new(Semaphore::new(WALKS)),
        }
    }
}

impl Workers {
    /// Runs `work` on a thread where it may block.
    pub async fn run<T, E>(
        &self,
        lane: Lane,
        work: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<FsError> + Send + 'static,
    {
        let places = match lane {
            Lane::Quick => &self.quick,
            Lane::Long => &self.long,
            Lane::Look => &self.looks,
            Lane::Walk => &self.walks,
        };
        let place = tokio::time::timeout(PATIENCE, places.clone().acquire_owned())
            .await
            .ok()
            .and_then(Result::ok)
            .ok_or(FsError::Busy)?;
        let span = tracing::Span::current();
        let running = tokio::task::spawn_blocking(move || {
            let result = span.in_scope(work);
            drop(place);
            result
        });
        match running.await {
            Ok(result) => result,
            Err(failed) => Err(FsError::Io {
                path: "the worker".into(),
                source: std::io::Error::other(failed),
            }
            .into()),
        }
    }
}
