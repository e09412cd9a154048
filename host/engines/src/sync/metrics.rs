//! Counters of the sync loops, by engine.
//!
//! Bounds: the series of an engine under one name; they go with its loop, and when it gets another name.

use std::sync::Arc;
use std::time::Duration;

use prometheus::core::Collector;
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts, Registry};

const LABELS: &[&str] = &["engine_id", "engine"];

/// Seconds: from a small list over a socket to a first list of many thousand torrents.
const BUCKETS: &[f64] = &[0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 15.0, 60.0];

/// The counters of all loops. Cheap to clone.
#[derive(Clone)]
pub struct SyncMetrics {
    ticks: IntCounterVec,
    failures: IntCounterVec,
    duration: HistogramVec,
    torrents: IntGaugeVec,
}

impl SyncMetrics {
    pub fn new(registry: &Registry) -> Result<Self, prometheus::Error> {
        let ticks = Opts::new("quartermaster_sync_ticks_total", "Reads of an engine's list.");
        let failures = Opts::new(
            "quartermaster_sync_failures_total",
            "Reads of an engine's list that failed.",
        );
        let duration = HistogramOpts::new(
            "quartermaster_sync_duration_seconds",
            "Time from asking an engine for its list until what changed was stored and shown.",
        );
        let torrents = Opts::new("quartermaster_torrents", "Torrents an engine lists.");
        Ok(Self {
            ticks: registered(registry, IntCounterVec::new(ticks, LABELS)?)?,
            failures: registered(registry, IntCounterVec::new(failures, LABELS)?)?,
            duration: registered(
                registry,
                HistogramVec::new(duration.buckets(BUCKETS.to_vec()), LABELS)?,
            )?,
            torrents: registered(registry, IntGaugeVec::new(torrents, LABELS)?)?,
        })
    }

    /// For the loop of one engine.
    pub fn for_engine(&self, engine_id: &Arc<str>) -> EngineMetrics {
        EngineMetrics {
            all: self.clone(),
            engine_id: engine_id.clone(),
            name: None,
        }
    }
}

fn registered<C: Collector + Clone + 'static>(
    registry: &Registry,
    collector: C,
) -> Result<C, prometheus::Error> {
    registry.register(Box::new(collector.clone()))?;
    Ok(collector)
}

/// The counters of one loop; its series go with it.
pub struct EngineMetrics {
    all: SyncMetrics,
    engine_id: Arc<str>,
    /// The engine's name at the last read.
    name: Option<Arc<String>>,
}

impl EngineMetrics {
    /// Notes a read of the engine called `name` that ended with `torrents` in its list.
    pub fn note(&mut self, name: Arc<String>, took: Duration, failed: bool, torrents: usize) {
        if self.name.as_ref().is_some_and(|before| *before != name) {
            self.forget();
        }
        let labels = [&*self.engine_id, name.as_str()];
        self.all.ticks.with_label_values(&labels).inc();
        self.all
            .failures
            .with_label_values(&labels)
            .inc_by(u64::from(failed));
        self.all
            .duration
            .with_label_values(&labels)
            .observe(took.as_secs_f64());
        self.all
            .torrents
            .with_label_values(&labels)
            .set(i64::try_from(torrents).unwrap_or(i64::MAX));
        self.name = Some(name);
    }

    fn forget(&mut self) {
        let Some(name) = self.name.take() else {
            return;
        };
        let labels = [&*self.engine_id, name.as_str()];
        // Each of them is there: they are only ever made together.
        let _ = self.all.ticks.remove_label_values(&labels);
        let _ = self.all.failures.remove_label_values(&labels);
        let _ = self.all.duration.remove_label_values(&labels);
        let _ = self.all.torrents.remove_label_values(&labels);
    }
}

impl Drop for EngineMetrics {
    fn drop(&mut self) {
        self.forget();
    }
}

#[cfg(test)]
mod tests {
    use prometheus::TextEncoder;

    use super::*;

    #[test]
    fn an_engine_is_counted_under_the_name_it_has_now() {
        let registry = Registry::new();
        let metrics = SyncMetrics::new(&registry).unwrap();
        let shown = || TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
        let mut engine = metrics.for_engine(&"e".into());
        assert_eq!(shown(), "");
        engine.note(Arc::new("old".into()), Duration::from_millis(7), false, 3);
        engine.note(Arc::new("new".into()), Duration::from_millis(7), true, 4);
        engine.note(Arc::new("new".into()), Duration::from_secs(90), false, 5);
        let text = shown();
        assert!(!text.contains("old"), "{text}");
        for line in [
            "quartermaster_sync_ticks_total{engine=\"new\",engine_id=\"e\"} 2",
            "quartermaster_sync_failures_total{engine=\"new\",engine_id=\"e\"} 1",
            "quartermaster_torrents{engine=\"new\",engine_id=\"e\"} 5",
            "quartermaster_sync_duration_seconds_count{engine=\"new\",engine_id=\"e\"} 2",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        drop(engine);
        assert_eq!(shown(), "");
    }
}
