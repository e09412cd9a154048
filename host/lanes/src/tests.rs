use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use tokio::task::JoinHandle;

use super::*;

/// Time limit that even a busy machine keeps.
const SOON: Duration = Duration::from_mins(1);

fn leaked(bounds: Bounds) -> &'static Lane {
    Box::leak(Box::new(Lane::new("test", bounds)))
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(SOON, waiting).await.expect(what);
}

/// Work that hangs until it is released.
fn hang(
    lane: &'static Lane,
    who: Option<&str>,
    began: &Arc<AtomicUsize>,
) -> (Sender<()>, JoinHandle<Result<(), LaneError>>) {
    let (end, ended) = channel::<()>();
    let (who, began) = (who.map(Arc::from), began.clone());
    let work = move |_| {
        began.fetch_add(1, Ordering::SeqCst);
        let _ = ended.recv();
    };
    (end, tokio::spawn(lane.run_for(who, work)))
}

fn count(began: &Arc<AtomicUsize>) -> usize {
    began.load(Ordering::SeqCst)
}

#[tokio::test]
async fn a_lane_does_what_it_is_given_and_no_more_than_its_places_at_once() {
    let lane = leaked(Bounds::new(2, 64));
    assert_eq!(lane.run(|_| 1 + 1).await, Ok(2));
    let began = Arc::default();
    let mut hanging: Vec<_> = (0..5).map(|_| hang(lane, None, &began)).collect();
    until("two begin", || count(&began) == 2).await;
    until("three wait", || lane.count().waiting == 3).await;
    assert_eq!((lane.count().running, lane.places().threads), (2, 2));
    for (done, (end, ended)) in hanging.drain(..).enumerate() {
        until("the next begins", || count(&began) >= (done + 1).min(5)).await;
        drop(end);
        ended.await.expect("no panic").expect("it was done");
    }
    assert_eq!((count(&began), lane.count().refused), (5, 0));
}

#[tokio::test]
async fn a_full_queue_refuses_at_once() {
    let lane = leaked(Bounds::new(1, 2).of_one(1, 2));
    let began = Arc::default();
    let (end, ended) = hang(lane, Some("a"), &began);
    until("the first begins", || count(&began) == 1).await;
    let waiting: Vec<_> = (0..2).map(|_| hang(lane, Some("a"), &began)).collect();
    until("two wait", || lane.count().waiting == 2).await;
    for who in ["a", "b"] {
        let refused = lane.run_for(Some(who.into()), |_| ()).await;
        assert_eq!(refused, Err(LaneError::Full("test")), "{who}");
    }
    assert_eq!(lane.count().refused, 2);
    // The service itself is not refused because of many users.
    let own = tokio::spawn(lane.run_for(None, |_| ()));
    until("it waits", || lane.count().waiting == 3).await;
    drop((end, waiting));
    ended.await.expect("no panic").expect("it was done");
    own.await.expect("no panic").expect("it was done");
}

#[tokio::test]
async fn what_finds_no_place_is_refused_when_patience_ends() {
    let mut bounds = Bounds::new(1, 8);
    bounds.patience = Duration::from_millis(30);
    let lane = leaked(bounds);
    let began = Arc::default();
    let (end, ended) = hang(lane, Some("a"), &began);
    until("the first begins", || count(&began) == 1).await;
    let late = lane.run_for(Some("b".into()), |_| ()).await;
    assert_eq!(late, Err(LaneError::Full("test")));
    assert_eq!((lane.count().waiting, lane.count().refused), (0, 1));
    // Running work is awaited without a limit.
    tokio::time::sleep(Duration::from_millis(60)).await;
    assert!(!ended.is_finished());
    drop(end);
    ended.await.expect("no panic").expect("it was done");
}

#[tokio::test]
async fn nobody_has_all_places_nor_the_whole_queue() {
    let lane = leaked(Bounds::new(4, 8));
    let (greedy, other) = (Arc::default(), Arc::default());
    let mut flood: Vec<_> = (0..3).map(|_| hang(lane, Some("greedy"), &greedy)).collect();
    until("the share is taken", || count(&greedy) == 3).await;
    flood.extend((0..17).map(|_| hang(lane, Some("greedy"), &greedy)));
    until("the rest waits, or is refused", || {
        lane.count().waiting == 4 && lane.count().refused == 13
    })
    .await;
    let (end, ended) = hang(lane, Some("other"), &other);
    until("the other one begins", || count(&other) == 1).await;
    drop(end);
    ended.await.expect("no panic").expect("it had a place");
    assert_eq!(count(&greedy), 3);
    drop(flood);
    until("all is done", || lane.count().running + lane.count().waiting == 0).await;
    assert_eq!(lane.places().known(), 0, "those who are done are forgotten");
}

#[tokio::test]
async fn who_has_least_at_work_comes_first() {
    let lane = leaked(Bounds::new(2, 64).of_one(2, 64));
    let (greedy, other) = (Arc::default(), Arc::default());
    let mut flood: Vec<_> = (0..6).map(|_| hang(lane, Some("greedy"), &greedy)).collect();
    until("both places are taken", || {
        count(&greedy) == 2 && lane.count().waiting == 4
    })
    .await;
    let (end, ended) = hang(lane, Some("other"), &other);
    until("it waits", || lane.count().waiting == 5).await;
    drop(flood.remove(0));
    until("the one that came last begins", || count(&other) == 1).await;
    assert_eq!(count(&greedy), 2);
    drop((end, flood));
    ended.await.expect("no panic").expect("it had a place");
}

#[tokio::test]
async fn a_caller_that_goes_away_cancels_its_work() {
    let lane = leaked(Bounds::new(1, 8));
    let (saw, seen) = channel();
    let running = tokio::spawn(lane.run(move |cancel| {
        while !cancel.is_set() {
            std::thread::sleep(Duration::from_millis(1));
        }
        saw.send(()).expect("somebody looks");
    }));
    until("it runs", || lane.count().running == 1).await;
    let began = Arc::default();
    let (_end, waiting) = hang(lane, None, &began);
    until("it waits", || lane.count().waiting == 1).await;
    waiting.abort();
    until("what had not begun is gone", || lane.count().waiting == 0).await;
    running.abort();
    until("what had begun ends", || seen.try_recv().is_ok()).await;
    until("the place is free", || lane.count().running == 0).await;
    assert_eq!(count(&began), 0, "it never began");
    // Explicit cancellation too.
    let work = lane.start(|cancel| while !cancel.is_set() {}).expect("a place");
    work.cancel().set();
    assert_eq!(work.await, Ok(()));
}

#[tokio::test]
async fn a_lane_that_hangs_holds_up_no_other_one_and_not_the_runtime() {
    let began: Arc<AtomicUsize> = Arc::default();
    let hung = leaked(Bounds::new(8, 8));
    let counted = began.clone();
    // A separate runtime, with one thread for other blocking work.
    let outcome = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let answer = runtime.block_on(async {
            let hanging: Vec<_> = (0..8).map(|_| hang(hung, None, &counted)).collect();
            until("all hang", || count(&counted) == 8).await;
            let other = leaked(Bounds::new(1, 1)).run(|_| 3).await;
            let pool = tokio::fs::metadata("/").await.is_ok();
            // They are never released.
            std::mem::forget(hanging);
            (other, pool)
        });
        drop(runtime);
        answer
    });
    until("the runtime has ended", || outcome.is_finished()).await;
    assert_eq!(outcome.join().expect("no panic"), (Ok(3), true));
}

#[tokio::test]
async fn a_panic_is_a_value() {
    let lane = leaked(Bounds::new(1, 1));
    let failed = lane.run(|_| panic!("so {}", "bad")).await;
    assert_eq!(failed, Err::<(), _>(LaneError::Panicked("so bad".to_owned())));
    struct Bad;
    impl Drop for Bad {
        fn drop(&mut self) {
            panic!("nobody took it");
        }
    }
    // Its result is not taken, and panics when dropped: by the lane, for it ends after the caller has gone.
    let (go, gone) = std::sync::mpsc::channel::<()>();
    let work = lane
        .start(move |_| {
            let _ = gone.recv();
            Bad
        })
        .expect("a place");
    drop(work);
    drop(go);
    until("the place is free", || lane.count().running == 0).await;
    assert_eq!(lane.run(|_| 4).await, Ok(4), "the lane goes on");
}

#[tokio::test]
async fn work_is_for_whoever_the_task_works_for() {
    assert_eq!(for_whom(), None);
    let lane = leaked(Bounds::new(2, 8));
    let began = Arc::default();
    let (end, ended) = hang(lane, Some("u"), &began);
    until("it begins", || count(&began) == 1).await;
    on_behalf("u".into(), async {
        assert_eq!(for_whom().as_deref(), Some("u"));
        let work = lane.start(|_| ()).expect("a place in the queue");
        // A user may have one of two places.
        assert_eq!((lane.count().running, lane.count().waiting), (1, 1));
        drop(end);
        assert_eq!(work.await, Ok(()));
    })
    .await;
    ended.await.expect("no panic").expect("it was done");
}

#[tokio::test]
async fn work_finds_the_runtime_it_was_begun_from() {
    let lane = leaked(Bounds::new(1, 4));
    let (done, written) = tokio::sync::oneshot::channel();
    let work = move |_| {
        let runtime = tokio::runtime::Handle::try_current().expect("a runtime");
        runtime.spawn(async move { done.send(1) });
        written.blocking_recv()
    };
    assert_eq!(lane.run(work).await, Ok(Ok(1)));
}
