//! Test of ending all lanes of a process, in a process of its own.

use std::time::Duration;

use qm_lanes::{Bounds, Lane, LaneError};

static HUNG: Lane = Lane::new("test.hung", Bounds::new(1, 8));
static LONG: Lane = Lane::new("test.long", Bounds::new(1, 8));

#[tokio::test]
async fn whoever_waits_is_sent_away_and_what_looks_at_its_sign_ends() {
    let hung = HUNG
        .start(|_| {
            loop {
                std::thread::park();
            }
        })
        .expect("a place");
    let queued = HUNG.start(|_| ()).expect("a place in the queue");
    let (began, begun) = std::sync::mpsc::channel();
    let (ended, end) = std::sync::mpsc::channel();
    let long = LONG
        .start(move |cancel| {
            began.send(()).expect("somebody looks");
            while !cancel.is_set() {
                std::thread::sleep(Duration::from_millis(1));
            }
            ended.send(()).expect("somebody looks");
        })
        .expect("a place");
    begun.recv_timeout(Duration::from_mins(1)).expect("it begins");
    qm_lanes::end();
    assert_eq!(hung.await, Err(LaneError::Stopped));
    assert_eq!(queued.await, Err(LaneError::Stopped));
    // Waiting callers are sent away, unless their work saw its signal first.
    assert!(matches!(long.await, Ok(()) | Err(LaneError::Stopped)));
    end.recv_timeout(Duration::from_mins(1)).expect("it ends");
    assert_eq!(LONG.run(|_| ()).await, Err(LaneError::Stopped));
    let counts = qm_lanes::counts();
    let names: Vec<&str> = counts.iter().map(|count| count.lane).collect();
    assert_eq!(names, ["test.hung", "test.long"]);
}
