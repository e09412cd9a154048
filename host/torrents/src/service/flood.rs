//! The cost of an engine that lists ever-new torrents, measured and not judged. Run by hand: `cargo test -p qm-torrents
//! --lib -- --ignored --nocapture flood::measured::sqlite`, with `FLOOD_SECONDS` (40) and `FLOOD_TORRENTS` (20,000 a
//! tick).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use prometheus::proto::MetricFamily;
use qm_db::{Db, db_test, sql};
use qm_ports::engine::Torrent;
use qm_test_base::FakeEngine;
use qm_test_base::engine::numbered;
use tokio_util::sync::CancellationToken;

use super::Torrents;
use crate::testing::House;

sql! {
    ROWS = "SELECT COUNT(*) FROM torrent_snapshots WHERE engine_id = $1";
}

fn setting(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.map_or(default, |text| text.parse().expect(name))
}

/// Resident memory in MiB.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    (pages * 4096) >> 20
}

/// Seconds of each tick of the engine called `healthy` while this lived.
struct Ticks {
    house: prometheus::Registry,
    before: (u64, f64),
    seconds: Vec<f64>,
}

impl Ticks {
    fn look(&mut self) {
        let families = self.house.gather();
        let family = families
            .iter()
            .find(|family| family.name() == "quartermaster_sync_duration_seconds");
        let healthy = family.into_iter().flat_map(MetricFamily::get_metric);
        let healthy =
            healthy.filter(|metric| metric.get_label().iter().any(|label| label.value() == "healthy"));
        for metric in healthy {
            let histogram = metric.get_histogram();
            let now = (histogram.get_sample_count(), histogram.get_sample_sum());
            let count = now.0 - self.before.0;
            for _ in 0..count {
                self.seconds.push((now.1 - self.before.1) / count as f64);
            }
            self.before = now;
        }
    }

    async fn during(&mut self, what: &str, time: Duration) {
        self.look();
        self.seconds.clear();
        let begun = Instant::now();
        while begun.elapsed() < time {
            tokio::time::sleep(Duration::from_millis(50)).await;
            self.look();
        }
        self.seconds.sort_by(f64::total_cmp);
        let ms = |share: f64| {
            let at = (self.seconds.len() as f64 * share) as usize;
            self.seconds
                .get(at.min(self.seconds.len().saturating_sub(1)))
                .map_or(f64::NAN, |s| s * 1000.0)
        };
        println!(
            "{what}: {} ticks of the healthy engine, p50 {:.0} ms, p99 {:.0} ms; {} MiB resident",
            self.seconds.len(),
            ms(0.5),
            ms(0.99),
            resident()
        );
    }
}

/// Has something to store in each tick.
async fn stir(client: Arc<FakeEngine>) {
    for turn in 0u64.. {
        for n in 0..5 {
            let name = format!("renamed {turn}");
            client.put(Torrent { name, ..numbered(n) });
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

async fn rows(db: &Db, engine: &str) -> i64 {
    let mut tx = db.begin_read().await.unwrap();
    qm_db::value!(&mut tx, i64, ROWS, engine).await.unwrap()
}

fn shown(torrents: &Torrents, engine: &str) -> usize {
    let engine = torrents.resolve(Some(engine)).unwrap();
    engine.snapshot().map_or(0, |snapshot| snapshot.len())
}

db_test! {
    #[ignore = "measures; takes minutes"]
    async fn measured(db: Db) {
        let time = Duration::from_secs(setting("FLOOD_SECONDS", 40));
        let house = House::new(&db, &["fake"]).await;
        let healthy = house.kinds.engine("a");
        (0..1000).for_each(|n| healthy.put(numbered(n)));
        house.engine("healthy", "a").await;
        let stirring = tokio::spawn(stir(healthy));
        let upkeep = tokio::spawn(house.torrents.engines.clone().upkeep_loop(CancellationToken::new()));
        let mut ticks = Ticks { house: house.ground.metrics.clone(), before: (0, 0.0), seconds: Vec::new() };
        ticks.during("quiet", Duration::from_secs(20)).await;
        house.kinds.engine("b").flood.store(setting("FLOOD_TORRENTS", 20_000) as usize, Ordering::SeqCst);
        let flooding = house.engine("flood", "b").await;
        ticks.during("beside a flood", time).await;
        println!("{} torrents shown, {} rows, of {} told", shown(&house.torrents, &flooding), rows(&db, &flooding).await,
            house.kinds.engine("b").flooded.load(Ordering::SeqCst));
        let begun = Instant::now();
        house.torrents.engines.delete_engine(house.caller(), &flooding).await.unwrap();
        println!("deleting it took {:.2} s", begun.elapsed().as_secs_f64());
        ticks.during("after the delete", Duration::from_secs(20)).await;
        while rows(&db, &flooding).await > 0 {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        println!("its rows were gone {:.1} s after the request", begun.elapsed().as_secs_f64());
        stirring.abort();
        upkeep.abort();
        house.torrents.shutdown().await;
    }
}
