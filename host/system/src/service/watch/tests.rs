//! Tests of both loops with fake readings.

use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use prometheus::Registry;
use qm_db::Backend;
use qm_db::testing::Scratch;
use qm_kernel::Timestamp;
use qm_platform::{Bus, Subscription};
use qm_ports::EngineProbe;
use serde_json::{Value, json};

use super::*;
use crate::service::health::disks::Space;

const PATIENCE: Duration = Duration::from_mins(1);
const TICK: Duration = Duration::from_millis(5);

/// Fake disks and engines; every check is counted.
#[derive(Default)]
struct World {
    free: AtomicU64,
    disk_looks: AtomicU64,
    engine: Mutex<Option<&'static str>>,
    engine_looks: AtomicU64,
}

#[async_trait]
impl EngineProbes for World {
    async fn probe_all(&self, _patience: Duration) -> Vec<EngineProbe> {
        let error = *self.engine.lock().unwrap();
        self.engine_looks.fetch_add(1, Ordering::SeqCst);
        assert_ne!(error, Some("panic"), "a look that panics");
        vec![EngineProbe {
            engine_id: "e".to_owned(),
            name: "Box".to_owned(),
            kind: "scgi_client".to_owned(),
            online: error.is_none(),
            latency_ms: None,
            version: None,
            error: error.map(str::to_owned),
            checked_at: Timestamp::from_ms(0),
        }]
    }
}

impl World {
    /// Waits for two checks that begin after now: the first may have begun before.
    async fn seen(&self, looks: &AtomicU64) {
        let enough = looks.load(Ordering::SeqCst) + 2;
        let seen = async {
            while looks.load(Ordering::SeqCst) < enough {
                tokio::time::sleep(TICK).await;
            }
        };
        tokio::time::timeout(PATIENCE, seen)
            .await
            .expect("the loops look");
    }

    async fn space(&self, free: u64) {
        self.free.store(free, Ordering::SeqCst);
        self.seen(&self.disk_looks).await;
    }

    async fn engine(&self, error: Option<&'static str>) {
        *self.engine.lock().unwrap() = error;
        self.seen(&self.engine_looks).await;
    }
}

async fn next(heard: &mut Subscription) -> (String, Option<String>, Value) {
    let event = tokio::time::timeout(PATIENCE, heard.recv())
        .await
        .expect("it is told")
        .unwrap();
    (
        event.event_key.to_string(),
        event.resource_id.clone(),
        event.payload.clone(),
    )
}

#[tokio::test]
async fn what_gets_worse_or_better_is_told_once_and_a_panic_ends_nothing() {
    let ctx = Ctx::system();
    let scratch = Scratch::new(Backend::Sqlite).await.expect("it needs no server");
    let bus = Bus::new(ctx.clone());
    bus.register(EVENTS);
    let mut heard = bus.subscribe("test");
    let world = Arc::new(World::default());
    world.free.store(50, Ordering::SeqCst);
    let background = Background::new(&Registry::new()).unwrap();
    let read = world.clone();
    let disks = Disks::reading_with(
        &["/data".to_owned()],
        Arc::new(move |_| {
            let free = read.free.load(Ordering::SeqCst);
            read.disk_looks.fetch_add(1, Ordering::SeqCst);
            Some(Space { total: 100, free })
        }),
    );
    let watches = Watches {
        disks,
        engines: world.clone(),
        db: scratch.open().await.telling(Arc::new(bus.clone())),
        ctx,
    };
    watches.start_every(&background, TICK, TICK);

    world.seen(&world.disk_looks).await;
    let disk = |key: &str, free: u64| {
        (
            key.to_owned(),
            Some("/data".to_owned()),
            json!({ "path": "/data", "freePercent": free }),
        )
    };
    let low = |level: &str, free: u64, threshold: u64| {
        let payload = json!({
            "path": "/data", "level": level, "freePercent": free, "freeBytes": free, "totalBytes": 100,
            "thresholdPercent": threshold,
        });
        ("storage.low".to_owned(), Some("/data".to_owned()), payload)
    };
    world.space(10).await;
    assert_eq!(next(&mut heard).await, disk("system.storage_warning", 10));
    assert_eq!(next(&mut heard).await, low("low", 10, 15));
    world.space(3).await;
    assert_eq!(next(&mut heard).await, disk("system.storage_critical", 3));
    assert_eq!(next(&mut heard).await, low("critical", 3, 5));
    world.space(12).await;
    world.space(40).await;
    assert_eq!(next(&mut heard).await, disk("system.storage_recovered", 40));
    // Repeated within the window of its kind: dropped, but for rules.
    world.space(10).await;
    assert_eq!(next(&mut heard).await, low("low", 10, 15));

    let engine = |key: &str, payload: Value| (key.to_owned(), Some("e".to_owned()), payload);
    world.seen(&world.engine_looks).await;
    world.engine(Some("Box cannot be reached")).await;
    let payload = json!({ "providerName": "Box", "kind": "scgi_client", "reason": "Box cannot be reached" });
    assert_eq!(next(&mut heard).await, engine("provider.offline", payload));
    world.engine(Some("panic")).await;
    world.engine(None).await;
    let payload = json!({ "providerName": "Box", "kind": "scgi_client" });
    assert_eq!(next(&mut heard).await, engine("provider.recovered", payload));

    background.shutdown().await;
    // A check in progress ends by itself, on its own thread.
    tokio::time::sleep(TICK * 10).await;
    let looks = (
        world.disk_looks.load(Ordering::SeqCst),
        world.engine_looks.load(Ordering::SeqCst),
    );
    tokio::time::sleep(TICK * 10).await;
    let later = (
        world.disk_looks.load(Ordering::SeqCst),
        world.engine_looks.load(Ordering::SeqCst),
    );
    assert_eq!(looks, later, "a stopped server looks no more");
    assert_eq!(bus.counts().refused, 0);
    assert_eq!(bus.counts().repeated, 1);
}
