//! Outbox on both databases: events stored and consumed per second, and latency from commit to consumer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use qm_db::testing::Scratch;
use qm_db::{Backend, Db, Tx, exec, sql};
use qm_kernel::Ctx;
use qm_kernel::event::{Cause, DomainEvent, Event, EventSpec};
use qm_platform::outbox::{ConsumeError, Consumer, Patience, StoredEvent};
use qm_platform::testing::Wired;

use crate::report::Report;

const KINDS: &[EventSpec] = &[EventSpec::for_event::<Measured>()];
const WRITERS: u64 = 16;
/// Events of a first poll in which every torrent has completed.
const MANY: u64 = 10_000;
/// Torrents per transaction of a tick.
const A_COMMIT: u64 = 500;
const SINGLES: u64 = 500;

qm_kernel::events! {
    /// As large as `torrent.completed`.
    struct Measured: "bench.measured" about "torrent" {
        number: u64,
        torrent_name: String,
        hash: String,
        save_path: String,
        content_path: String,
    }
}

sql! {
    EFFECT = "INSERT INTO settings (key, value, updated_at) VALUES ($1, '1', 0)";
}

/// Writes one row per event, like a real consumer, and records the arrival times.
#[derive(Default)]
struct Stopwatch {
    handled: AtomicU64,
    arrivals: Mutex<Vec<(u64, Instant)>>,
}

#[async_trait]
impl Consumer for Stopwatch {
    fn name(&self) -> &'static str {
        "bench.stopwatch"
    }

    fn keys(&self) -> &'static [&'static str] {
        &[Measured::KEY]
    }

    async fn handle(&self, tx: &mut Tx, event: &StoredEvent) -> Result<(), ConsumeError> {
        let arrived = Instant::now();
        let measured = event.event.read::<Measured>().expect("its key")?;
        exec!(tx, EFFECT, &event.event.id).await?.exactly(1)?;
        self.arrivals
            .lock()
            .expect("no panic")
            .push((measured.number, arrived));
        self.handled.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

pub async fn measure(report: &mut Report) {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        match Scratch::new(backend).await {
            Some(scratch) => {
                let db = scratch.open().await;
                measure_backend(report, backend, &db).await;
                db.close().await;
                scratch.remove().await;
            }
            None => report.add(
                format!("events, {backend:?}"),
                "no such server on this machine",
                "",
            ),
        }
    }
}

async fn measure_backend(report: &mut Report, backend: Backend, db: &Db) {
    let ctx = Ctx::system();
    let Wired {
        db,
        outbox,
        background,
        ..
    } = Wired::new(db, &ctx, KINDS, Patience::STANDARD).await;
    // Without a consumer they are published and not stored: the cost of publishing alone.
    let told = per_second(MANY, many(&db, &ctx)).await;
    let watch = Arc::new(Stopwatch::default());
    outbox
        .start(vec![watch.clone()], &background)
        .await
        .expect("a consumer");

    let latency = latency(&db, &ctx, &watch).await;
    report.add(
        format!("events, {backend:?}: from the call of commit to the consumer, {SINGLES} one by one"),
        format!("p50 {:.1} ms, p99 {:.1} ms", latency.0, latency.1),
        "p99 50 ms",
    );
    let begun = Instant::now();
    let stored = per_second(MANY, many(&db, &ctx)).await;
    consumed(&watch, SINGLES + MANY).await;
    let through = MANY as f64 / begun.elapsed().as_secs_f64();
    report.add(
        format!("events, {backend:?}: {MANY} published, {A_COMMIT} a commit"),
        format!("{stored:.0}/s stored, {told:.0}/s where nobody waits for them"),
        "",
    );
    report.add(
        format!("events, {backend:?}: the same through to the consumer, which writes a row each"),
        format!("{through:.0}/s"),
        "",
    );
    let begun = Instant::now();
    let committed = per_second(WRITERS * SINGLES, crowd(&db, &ctx)).await;
    consumed(&watch, SINGLES + MANY + WRITERS * SINGLES).await;
    let through = (WRITERS * SINGLES) as f64 / begun.elapsed().as_secs_f64();
    report.add(
        format!("events, {backend:?}: {WRITERS} writers, one event a commit"),
        format!("{committed:.0}/s committed, {through:.0}/s through to the consumer"),
        "",
    );
    background.shutdown().await;
}

async fn per_second(events: u64, work: impl Future<Output = ()>) -> f64 {
    let begun = Instant::now();
    work.await;
    events as f64 / begun.elapsed().as_secs_f64()
}

fn event(ctx: &Ctx, number: u64) -> DomainEvent {
    let measured = Measured {
        number,
        torrent_name: "Orchard.Lane.S02E07.1080p.WEB-DL.x264-KESTREL".into(),
        hash: format!("{number:040x}"),
        save_path: "/downloads/series".into(),
        content_path: "/downloads/series/Orchard.Lane.S02E07.1080p.WEB-DL.x264-KESTREL".into(),
    };
    DomainEvent::new(ctx, Cause::NONE, &*measured.hash, &measured)
}

/// A first poll in which every torrent has completed.
async fn many(db: &Db, ctx: &Ctx) {
    for _ in 0..MANY / A_COMMIT {
        let mut tx = db.begin_write().await.expect("a write");
        for number in 0..A_COMMIT {
            tx.publish(event(ctx, number));
        }
        tx.commit().await.expect("a commit");
    }
}

async fn crowd(db: &Db, ctx: &Ctx) {
    let writers = (0..WRITERS).map(|_| {
        let (db, ctx) = (db.clone(), ctx.clone());
        tokio::spawn(async move {
            for number in 0..SINGLES {
                let mut tx = db.begin_write().await.expect("a write");
                tx.publish(event(&ctx, number));
                tx.commit().await.expect("a commit");
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    for writer in writers {
        writer.await.expect("no panic");
    }
}

/// Latency in milliseconds: median and 99th percentile.
async fn latency(db: &Db, ctx: &Ctx, watch: &Stopwatch) -> (f64, f64) {
    let mut begun = Vec::new();
    for number in 0..SINGLES {
        let mut tx = db.begin_write().await.expect("a write");
        tx.publish(event(ctx, number));
        begun.push(Instant::now());
        tx.commit().await.expect("a commit");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    consumed(watch, SINGLES).await;
    let arrivals = watch.arrivals.lock().expect("no panic");
    let took =
        |(number, arrived): &(u64, Instant)| (*arrived - begun[*number as usize]).as_secs_f64() * 1000.0;
    let mut took: Vec<f64> = arrivals.iter().map(took).collect();
    took.sort_by(f64::total_cmp);
    (took[took.len() / 2], took[took.len() * 99 / 100])
}

async fn consumed(watch: &Stopwatch, events: u64) {
    while watch.handled.load(Ordering::SeqCst) < events {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
