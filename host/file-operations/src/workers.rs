//! Threads for file system work: never the async threads, and in lanes of its own, so that a hung mount stops the file
//! manager alone.
//!
//! Looks have lanes of their own: however many there are, and however long, no change waits for one.
//!
//! Bounds: [`QUICK`] short calls and [`LONG`] long operations that change something, [`LOOKS`] short looks and [`WALKS`]
//! walks at once, of these [`WALKS_OF_ONE`] for one user, and of the others three quarters; [`WAITING`] that wait for a
//! place in each, half of them for one user. What finds none in 20 s is answered with [`FsError::Busy`]. A caller that goes
//! away does not free the place: the work does, when it ends.

use std::sync::Arc;

use qm_kernel::Mandate;
use qm_lanes::{Bounds, LaneError};

use qm_confined::FsError;

/// Short calls of changes at once: renames, new folders, the checks before them.
pub const QUICK: usize = 16;
/// Long operations at once: copies, moves across devices, removals of trees.
pub const LONG: usize = 4;
/// Short looks at once: listings, stats, previews, pieces of streams.
pub const LOOKS: usize = 16;
/// Long looks at once: whatever walks a tree or reads much to tell about it.
pub const WALKS: usize = 4;
/// Walks at once of one user. A walk may take minutes and is not interrupted for others, so no user ever has all places.
pub const WALKS_OF_ONE: usize = 2;
/// Calls that may wait for a place in one lane.
pub const WAITING: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane<'a> {
    Quick,
    Long,
    Look,
    /// Walk for the user of this id.
    Walk(&'a str),
}

/// Cheap to clone; all clones share the places.
#[derive(Clone)]
pub struct Workers {
    lanes: Arc<Lanes>,
    /// Without it nothing is changed.
    mandate: Mandate,
}

struct Lanes {
    quick: qm_lanes::Lane,
    long: qm_lanes::Lane,
    looks: qm_lanes::Lane,
    walks: qm_lanes::Lane,
}

impl Default for Workers {
    fn default() -> Self {
        let lane = |name, places| qm_lanes::Lane::new(name, Bounds::new(places, WAITING));
        let walks = Bounds::new(WALKS, WAITING).of_one(WALKS_OF_ONE, WAITING / 2);
        Self {
            lanes: Arc::new(Lanes {
                quick: lane("files.quick", QUICK),
                long: lane("files.long", LONG),
                looks: lane("files.looks", LOOKS),
                walks: qm_lanes::Lane::new("files.walks", walks),
            }),
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
        let mandate = matches!(lane, Lane::Quick | Lane::Long).then(|| self.mandate.clone());
        let work = move |_| {
            // As late as can be: however long it waited for its place, or the whole process was stopped.
            if mandate.is_some_and(|mandate| !mandate.holds()) {
                return Err(FsError::Standby.into());
            }
            work()
        };
        let lanes = &self.lanes;
        let done = match lane {
            Lane::Quick => lanes.quick.run(work).await,
            Lane::Long => lanes.long.run(work).await,
            Lane::Look => lanes.looks.run(work).await,
            Lane::Walk(user) => lanes.walks.run_for(Some(user.into()), work).await,
        };
        done.unwrap_or_else(|error| Err(refusal(error).into()))
    }
}

fn refusal(error: LaneError) -> FsError {
    match error {
        LaneError::Full(_) | LaneError::Stopped => FsError::Busy,
        LaneError::Panicked(_) => FsError::Io {
            path: "the worker".into(),
            source: std::io::Error::other(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::{Sender, channel};
    use std::time::Duration;

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
    }

    #[tokio::test]
    async fn one_user_never_has_all_the_places_for_looks() {
        let workers = Workers::default();
        let (greedy, other): (Arc<AtomicUsize>, _) = (Arc::default(), Arc::new(AtomicUsize::new(0)));
        let look = |user: &str, began: &Arc<AtomicUsize>| {
            let (workers, began) = (workers.clone(), began.clone());
            let (end, ended) = channel::<()>();
            let looking = async move {
                let work = move || {
                    began.fetch_add(1, Ordering::SeqCst);
                    let _ = ended.recv();
                    Ok::<_, FsError>(())
                };
                workers.run(Lane::Look, work).await
            };
            (end, tokio::spawn(qm_lanes::on_behalf(user.into(), looking)))
        };
        let share = LOOKS * 3 / 4;
        let mut flood: Vec<_> = (0..share).map(|_| look("greedy", &greedy)).collect();
        until(&greedy, share).await;
        flood.extend((0..WAITING).map(|_| look("greedy", &greedy)));
        let (end, looking) = look("other", &other);
        until(&other, 1).await;
        drop(end);
        looking.await.expect("no panic").expect("it had a place");
        assert_eq!(greedy.load(Ordering::SeqCst), share);
        let mut refused = 0;
        for (end, looking) in flood {
            drop(end);
            match looking.await.expect("no panic") {
                Err(FsError::Busy) => refused += 1,
                done => done.expect("it had a place"),
            }
        }
        assert_eq!(refused, WAITING / 2);
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
