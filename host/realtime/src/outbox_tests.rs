use super::*;

const TOPIC: TopicId = 7;

fn frame(text: &'static str) -> Bytes {
    Bytes::from_static(text.as_bytes())
}

async fn write(outbox: &Outbox) -> Vec<Bytes> {
    let mut batch = Vec::new();
    assert_eq!(outbox.next(&mut batch).await, Next::Write);
    batch
}

async fn render(outbox: &Outbox, seq: u64) {
    assert_eq!(outbox.next(&mut Vec::new()).await, Next::Render(TOPIC));
    assert!(outbox.rendered(TOPIC, seq));
}

#[tokio::test]
async fn deltas_follow_a_full_state_without_a_gap() {
    let outbox = Outbox::new();
    assert_eq!(
        outbox.delta(TOPIC, 1, frame("d1")),
        Offer::Ignored,
        "not subscribed"
    );
    outbox.full(TOPIC);
    assert_eq!(outbox.full(TOPIC), Offer::Ignored, "one full state is enough");
    assert_eq!(
        outbox.delta(TOPIC, 2, frame("d2")),
        Offer::Ignored,
        "it will be in the full state"
    );
    render(&outbox, 2).await;
    assert_eq!(
        outbox.delta(TOPIC, 2, frame("d2")),
        Offer::Ignored,
        "it was in the full state"
    );
    assert_eq!(outbox.delta(TOPIC, 3, frame("d3")), Offer::Queued);
    assert_eq!(write(&outbox).await, ["d3"]);
    assert_eq!(outbox.delta(TOPIC, 5, frame("d5")), Offer::Resync);
    assert_eq!(outbox.delta(TOPIC, 6, frame("d6")), Offer::Ignored);
    render(&outbox, 6).await;
    assert_eq!(outbox.delta(TOPIC, 7, frame("d7")), Offer::Queued);
}

#[tokio::test]
async fn deltas_that_arrive_during_rendering_are_sorted_out() {
    for (arriving, rendered, kept) in [
        (vec![4, 5, 6], 5, vec![6]),
        (vec![4], 5, vec![]),
        (vec![6, 7], 5, vec![6, 7]),
        (vec![], 5, vec![]),
    ] {
        let outbox = Outbox::new();
        outbox.full(TOPIC);
        assert_eq!(outbox.next(&mut Vec::new()).await, Next::Render(TOPIC));
        for seq in arriving {
            outbox.delta(TOPIC, seq, Bytes::from(seq.to_string()));
        }
        assert!(outbox.rendered(TOPIC, rendered));
        let next = kept.last().copied().unwrap_or(rendered) + 1;
        assert_eq!(
            outbox.delta(TOPIC, next, Bytes::from(next.to_string())),
            Offer::Queued
        );
        let expected: Vec<String> = kept
            .into_iter()
            .chain([next])
            .map(|seq: u64| seq.to_string())
            .collect();
        assert_eq!(write(&outbox).await, expected);
    }

    let outbox = Outbox::new();
    outbox.full(TOPIC);
    assert_eq!(outbox.next(&mut Vec::new()).await, Next::Render(TOPIC));
    outbox.delta(TOPIC, 8, frame("after a gap"));
    assert!(outbox.rendered(TOPIC, 5));
    render(&outbox, 8).await;
}

#[tokio::test]
async fn a_slow_reader_gets_one_full_state_and_keeps_its_events() {
    let outbox = Outbox::new();
    outbox.full(TOPIC);
    render(&outbox, 0).await;
    let big = Bytes::from(vec![b'x'; 1024 * 1024]);
    assert_eq!(outbox.event(frame("kept")), Offer::Queued);
    let resyncs = (1..=40)
        .filter(|seq| outbox.delta(TOPIC, *seq, big.clone()) == Offer::Resync)
        .count();
    assert_eq!(resyncs, 1);
    assert!(outbox.waiting().1 <= MAX_BYTES);
    assert_eq!(write(&outbox).await, ["kept"]);
    render(&outbox, 40).await;
    assert_eq!(outbox.waiting(), (0, 0));
}

#[tokio::test]
async fn many_small_deltas_are_bounded_too() {
    let outbox = Outbox::new();
    outbox.full(TOPIC);
    render(&outbox, 0).await;
    let offers: Vec<Offer> = (1..=100)
        .map(|seq| outbox.delta(TOPIC, seq, frame("d")))
        .collect();
    assert_eq!(
        offers.iter().filter(|offer| **offer == Offer::Queued).count(),
        MAX_DELTAS
    );
    assert_eq!(offers.iter().filter(|offer| **offer == Offer::Resync).count(), 1);
}

#[tokio::test]
async fn one_delta_over_the_limit_still_goes_out() {
    let outbox = Outbox::new();
    outbox.full(TOPIC);
    render(&outbox, 0).await;
    assert_eq!(
        outbox.delta(TOPIC, 1, Bytes::from(vec![0; MAX_BYTES + 1])),
        Offer::Queued
    );
}

#[tokio::test]
async fn the_oldest_events_go_when_too_many_wait() {
    let outbox = Outbox::new();
    let mut dropped = 0;
    for number in 0..MAX_EVENTS + 10 {
        if let Offer::Dropped(events) = outbox.event(Bytes::from(number.to_string())) {
            dropped += events;
        }
    }
    assert_eq!(dropped, 10);
    assert_eq!(write(&outbox).await[0], "10");
    let outbox = Outbox::new();
    for _ in 0..20 {
        outbox.event(Bytes::from(vec![b'x'; 1024 * 1024]));
    }
    assert!(outbox.waiting().1 <= MAX_BYTES);
}

#[tokio::test]
async fn what_a_protocol_says_is_never_dropped_but_bounded() {
    let outbox = Outbox::new();
    assert!((0..MAX_CONTROL).all(|_| outbox.control(frame("pong"))));
    assert!(!outbox.control(frame("pong")));
}

#[tokio::test]
async fn the_end_drops_state_and_events_but_says_the_last_words() {
    let outbox = Outbox::new();
    outbox.full(TOPIC);
    outbox.event(frame("event"));
    assert!(outbox.control(frame("41")));
    outbox.finish(frame("close"));
    assert_eq!(outbox.event(frame("late")), Offer::Ignored);
    assert_eq!(outbox.full(TOPIC), Offer::Ignored);
    assert_eq!(write(&outbox).await, ["41"]);
    assert_eq!(outbox.next(&mut Vec::new()).await, Next::Last(frame("close")));
}

#[tokio::test]
async fn a_topic_given_up_leaves_nothing_behind() {
    let outbox = Outbox::new();
    outbox.full(TOPIC);
    assert_eq!(outbox.next(&mut Vec::new()).await, Next::Render(TOPIC));
    outbox.forget(TOPIC);
    assert!(!outbox.rendered(TOPIC, 1), "the state must not be sent any more");
    assert_eq!(outbox.delta(TOPIC, 2, frame("d2")), Offer::Ignored);
    assert_eq!(outbox.waiting(), (0, 0));
}

#[tokio::test]
async fn order_is_kept_between_state_and_events() {
    let outbox = Outbox::new();
    outbox.event(frame("before"));
    outbox.full(TOPIC);
    outbox.event(frame("after"));
    assert_eq!(write(&outbox).await, ["before"]);
    render(&outbox, 1).await;
    assert_eq!(write(&outbox).await, ["after"]);
}
