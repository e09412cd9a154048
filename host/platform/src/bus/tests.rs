use std::time::Duration;

use qm_test_base::{Hands, frozen};
use serde_json::{Value, json};

use super::*;

qm_kernel::events! {
    struct Completed: "torrent.completed" about "torrent" {
        torrent_name: String,
        hash: String,
    }

    struct Failed: "torrent.failed" about "torrent", once in 3600 {}
}

const SPECS: &[EventSpec] = &[
    EventSpec::for_event::<Completed>(),
    EventSpec::for_event::<Failed>(),
];

struct Fixture {
    bus: Bus,
    clock: Arc<Hands>,
    ctx: Ctx,
}

fn fixture() -> Fixture {
    let (clock, ctx) = frozen();
    let bus = Bus::new(ctx.clone());
    bus.register(SPECS);
    Fixture { bus, clock, ctx }
}

impl Fixture {
    fn event(&self, key: &'static str, resource: Option<&str>, payload: Value) -> DomainEvent {
        DomainEvent {
            id: self.ctx.id(),
            event_key: key.into(),
            occurred_at: self.ctx.now(),
            actor_user_id: None,
            subject_user_id: None,
            resource_type: resource.map(|_| "torrent".into()),
            resource_id: resource.map(str::to_owned),
            payload,
            correlation_id: None,
            causation_id: None,
        }
    }

    fn failed(&self, hash: &str) {
        self.bus
            .publish(self.event("torrent.failed", Some(hash), json!({})));
    }
}

fn drain(subscription: &mut Subscription) -> Vec<String> {
    std::iter::from_fn(|| subscription.events.try_recv().ok())
        .map(|event| event.id.clone())
        .collect()
}

#[test]
fn every_subscriber_gets_every_event_in_order() {
    let f = fixture();
    let (mut one, mut two) = (f.bus.subscribe("one"), f.bus.subscribe("two"));
    let events: Vec<_> = (0..3)
        .map(|_| {
            f.event(
                "torrent.completed",
                None,
                json!({"torrentName": "a", "hash": "b"}),
            )
        })
        .collect();
    let ids: Vec<_> = events.iter().map(|event| event.id.clone()).collect();
    for event in events {
        f.bus.publish(event);
    }
    assert_eq!(drain(&mut one), ids);
    assert_eq!(drain(&mut two), ids);
}

#[test]
fn unknown_keys_and_missing_fields_are_refused() {
    let f = fixture();
    for (key, payload) in [
        ("torrent.unheard_of", json!({})),
        ("torrent.completed", json!({})),
        ("torrent.completed", json!({ "torrentName": "a" })),
        ("torrent.completed", json!({ "torrentName": "a", "hash": null })),
        ("torrent.completed", json!("text")),
        ("torrent.completed", json!(null)),
    ] {
        assert_eq!(f.bus.plan(&f.event(key, None, payload)), None, "{key}");
    }
    assert_eq!(
        f.bus.counts(),
        BusCounts {
            refused: 6,
            ..BusCounts::default()
        }
    );
    let payload = json!({ "torrentName": "a", "hash": "b", "more": 1 });
    let taken = f.bus.plan(&f.event("torrent.completed", None, payload));
    assert_eq!(taken, Some(Plan::default()));
}

#[test]
fn the_plan_of_an_event_comes_from_its_kind_and_from_who_wants_it() {
    let f = fixture();
    let event = f.event("torrent.failed", Some("a"), json!({}));
    let live = Plan {
        window_secs: 3600,
        stored: false,
    };
    assert_eq!(
        f.bus.plan(&event),
        Some(Plan::default()),
        "nobody would notice its window"
    );
    let _heard = f.bus.subscribe("test");
    assert_eq!(f.bus.plan(&event), Some(live));
    let mut woken = f.bus.stored();
    let (own, of_others) = (
        f.bus.stored_of(&["torrent.failed"]),
        f.bus.stored_of(&["torrent.completed"]),
    );
    f.bus.publish(event.clone());
    assert!(!woken.has_changed().unwrap(), "nobody waits for it");
    f.bus.keep(["torrent.failed".to_owned()]);
    assert_eq!(f.bus.plan(&event), Some(Plan { stored: true, ..live }));
    f.bus.publish(f.event("torrent.failed", Some("b"), json!({})));
    assert!(woken.has_changed().unwrap());
    assert!(own.has_changed().unwrap() && !of_others.has_changed().unwrap());
    woken.mark_unchanged();
    f.bus.repeated(&event);
    assert_eq!((f.bus.counts().published, f.bus.counts().repeated), (2, 1));
    assert!(!woken.has_changed().unwrap());
}

#[test]
fn an_id_is_delivered_once_in_six_hours() {
    let f = fixture();
    let mut heard = f.bus.subscribe("test");
    let event = f.event(
        "torrent.completed",
        None,
        json!({ "torrentName": "a", "hash": "b" }),
    );
    f.bus.publish(event.clone());
    f.clock.advance(Duration::from_secs(6 * 3600 - 1));
    f.bus.publish(event.clone());
    assert_eq!(drain(&mut heard).len(), 1);
    f.clock.advance(Duration::from_secs(1));
    f.bus.publish(event);
    assert_eq!(drain(&mut heard).len(), 1);
}

#[test]
fn ten_thousand_ids_are_remembered_the_oldest_forgotten_first() {
    let f = fixture();
    let first = f.event(
        "torrent.completed",
        None,
        json!({ "torrentName": "a", "hash": "b" }),
    );
    f.bus.publish(first.clone());
    for _ in 1..REMEMBERED {
        f.bus
            .publish(f.event("torrent.completed", None, first.payload.clone()));
    }
    let mut heard = f.bus.subscribe("test");
    let second = f.event("torrent.completed", None, first.payload.clone());
    f.bus.publish(second.clone());
    f.bus.publish(first.clone());
    f.bus.publish(second.clone());
    assert_eq!(
        drain(&mut heard),
        [second.id, first.id],
        "the first was forgotten, the second is known"
    );
    assert_eq!(f.bus.state().ids.known.len(), REMEMBERED);
}

#[test]
fn a_stuck_subscriber_loses_its_own_events_only() {
    let f = fixture();
    let stuck = f.bus.subscribe("stuck");
    let mut quick = f.bus.subscribe("quick");
    let mut received = 0;
    for _ in 0..QUEUE + 10 {
        f.bus.publish(f.event(
            "torrent.completed",
            None,
            json!({ "torrentName": "a", "hash": "b" }),
        ));
        received += drain(&mut quick).len();
    }
    assert_eq!(received, QUEUE + 10);
    assert_eq!(f.bus.counts().lost, 10);
    drop(stuck);
    f.failed("a");
    assert_eq!(f.bus.state().subscribers.len(), 1, "who left is forgotten");
}

#[tokio::test]
async fn a_failing_handler_gets_the_next_event() {
    let f = fixture();
    let subscription = f.bus.subscribe("test");
    for hash in ["panic", "fail", "fine"] {
        f.failed(hash);
    }
    let Fixture { bus, .. } = f;
    drop(bus);
    let mut handled = Vec::new();
    subscription
        .for_each(|event| {
            let hash = event.resource_id.clone().unwrap_or_default();
            handled.push(hash.clone());
            async move {
                match hash.as_str() {
                    "panic" => panic!("a bug of the handler"),
                    "fail" => Err("no"),
                    _ => Ok(()),
                }
            }
        })
        .await;
    assert_eq!(handled, ["panic", "fail", "fine"]);
}
