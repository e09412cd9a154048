//! Where file system work runs: never on the async threads, and never on more blocking threads than its share, so that a
//! hung mount stops the file manager alone.
//!
//! Looks have lanes of their own: however many there are, and however long, no change waits for one.
//!
//! Bounds: [`QUICK`] short calls and [`LONG`] long operations that change something, [`LOOKS`] short looks and [`WALKS`]
//! walks at once, of these [`WALKS_OF_ONE`] for one user; a call that finds no place for [`PATIENCE`] is answered with
//! [`FsError::Busy`]. A caller that goes away does not free the place: the work does, when it ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use qm_kernel::Mandate;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use qm_confined::FsError;

/// Short calls of changes at once: renames, new folders, the checks before them.
pub const QUICK: usize = 16;
/// Long operations at once: copies, moves across devices, removals of trees.
pub const LONG: usize = 4;
/// Short looks at once: listings, stats, previews, pieces of streams.
pub const LOOKS: usize = 16;
/// Long looks at once: whatever walks a tree or reads much to tell about it.
pub const WALKS: usize = 4;
/// Walks at once of one user. A walk may take minutes and is not interrupted for others, so nobody ever has all places.
pub const WALKS_OF_ONE: usize = 2;
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane<'a> {
    Quick,
    Long,
    Look,
    /// For the user of this id.
    Walk(&'a str),
}

/// Cheap to clone; all clones share the places.
#[derive(Clone)]
pub struct Workers {
    quick: Arc<Semaphore>,
    long: Arc<Semaphore>,
    looks: Arc<Semaphore>,
    walks: Arc<Semaphore>,
    /// The places of each user who walks or waits to.
    walkers: Arc<Mutex<HashMap<String, Weak<Semaphore>>>>,
    /// Without it nothing is changed.
    mandate: Mandate,
}

/// A place, given back when dropped.
struct Place {
    _of_lane: OwnedSemaphorePermit,
    _of_user: Option<OwnedSemaphorePermit>,
}

impl Default for Workers {
    fn default() -> Self {
        Self {
            quick: Arc::new(Semaphore::new(QUICK)),
            long: Arc::new(Semaphore::new(LONG)),
            looks: Arc::new(Semaphore::new(LOOKS)),
            walks: Arc::new(Semaphore::new(WALKS)),
            walkers: Arc::default(),
            mandate: Mandate::for_ever(),
        }
    }
}

impl Workers {
    /// Workers that begin no change while `mandate` does not hold.
    pub fn under(mandate: Mandate) -> Self {
        Self {
            mandate,
            ..Self::default()
        }
    }

    /// Runs `work` on a thread where it may block.
    pub async fn run<T, E>(
        &self,
        lane: Lane<'_>,
        work: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<FsError> + Send + 'static,
    {
        let place = tokio::time::timeout(PATIENCE, self.place(lane))
            .await
            .ok()
            .flatten()
            .ok_or(FsError::Busy)?;
        let span = tracing::Span::current();
        let mandate = matches!(lane, Lane::Quick | Lane::Long).then(|| self.mandate.clone());
        let running = tokio::task::spawn_blocking(move || {
            // As late as can be: however long it waited for its place, or the whole process was stopped.
            if mandate.is_some_and(|mandate| !mandate.holds()) {
                return Err(FsError::Standby.into());
            }
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

    async fn place(&self, lane: Lane<'_>) -> Option<Place> {
        let (places, user) = match lane {
            Lane::Quick => (&self.quick, None),
            Lane::Long => (&self.long, None),
            Lane::Look => (&self.looks, None),
            Lane::Walk(user) => (&self.walks, Some(user)),
        };
        // The user's own first: whoever waits for that stands in nobody's way.
        let of_user = match user {
            Some(user) => Some(self.walker(user).acquire_owned().await.ok()?),
            None => None,
        };
        Some(Place {
            _of_lane: places.clone().acquire_owned().await.ok()?,
            _of_user: of_user,
        })
    }

    /// The places of one user.
    fn walker(&self, user: &str) -> Arc<Semaphore> {
        let mut walkers = self.walkers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(places) = walkers.get(user).and_then(Weak::upgrade) {
            return places;
        }
        walkers.retain(|_, places| places.strong_count() > 0);
        let places = Arc::new(Semaphore::new(WALKS_OF_ONE));
        walkers.insert(user.to_owned(), Arc::downgrade(&places));
        places
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::{Sender, channel};

    use tokio::task::JoinHandle;

    use super::*;

    /// Walks until it is let go of.
    fn walk(
        workers: &Workers,
        user: &str,
        began: &Arc<AtomicUsize>,
    ) -> (Sender<()>, JoinHandle<Result<(), FsError>>) {
        let (workers, user, began) = (workers.clone(), user.to_owned(), began.clone());
        let (end, ended) = channel::<()>();
        let walking = tokio::spawn(async move {
            let work = move || {
                began.fetch_add(1, Ordering::SeqCst);
                let _ = ended.recv();
                Ok(())
            };
            workers.run(Lane::Walk(&user), work).await
        });
        (end, walking)
    }

    async fn until(count: &AtomicUsize, expected: usize) {
        while count.load(Ordering::SeqCst) < expected {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[tokio::test]
    async fn one_user_never_has_all_the_places_for_walks() {
        let workers = Workers::default();
        let (greedy, other) = (Arc::default(), Arc::default());
        let mut greedily: Vec<_> = (0..10).map(|_| walk(&workers, "greedy", &greedy)).collect();
        until(&greedy, WALKS_OF_ONE).await;
        // However many of the first one's wait, and however long those that run take.
        let (end, walking) = walk(&workers, "other", &other);
        until(&other, 1).await;
        assert_eq!(greedy.load(Ordering::SeqCst), WALKS_OF_ONE);
        drop(end);
        walking.await.expect("no panic").expect("it had a place");
        // Each that ends lets the next one begin.
        for (number, (end, walking)) in greedily.drain(..).enumerate() {
            until(&greedy, (number + WALKS_OF_ONE).min(10)).await;
            drop(end);
            walking.await.expect("no panic").expect("it had a place");
        }
        assert_eq!(greedy.load(Ordering::SeqCst), 10);
        drop(workers.walker("a third"));
        assert!(
            workers.walkers.lock().unwrap().len() <= 2,
            "those who are done are forgotten"
        );
    }

    #[tokio::test]
    async fn without_a_mandate_nothing_is_changed_and_all_may_be_looked_at() {
        let mandate = Mandate::until(Mandate::clock() + Duration::from_mins(1));
        let workers = Workers::under(mandate.clone());
        let run = async |lane| workers.run(lane, || Ok::<_, FsError>(())).await;
        for lane in [Lane::Quick, Lane::Long, Lane::Look, Lane::Walk("somebody")] {
            assert!(run(lane).await.is_ok(), "{lane:?}");
        }
        mandate.take_away();
        for lane in [Lane::Quick, Lane::Long] {
            assert!(matches!(run(lane).await, Err(FsError::Standby)), "{lane:?}");
        }
        assert!(run(Lane::Look).await.is_ok() && run(Lane::Walk("somebody")).await.is_ok());
    }

    #[tokio::test]
    async fn all_together_have_the_places_of_the_lane() {
        let workers = Workers::default();
        let (began, late) = (Arc::default(), Arc::default());
        let walks: Vec<_> = (0..WALKS)
            .map(|user| walk(&workers, &user.to_string(), &began))
            .collect();
        until(&began, WALKS).await;
        let (end, walking) = walk(&workers, "late", &late);
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(late.load(Ordering::SeqCst), 0);
        drop(walks);
        until(&late, 1).await;
        drop(end);
        walking.await.expect("no panic").expect("it had a place");
    }
}
