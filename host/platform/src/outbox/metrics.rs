//! Metrics of event consumers: lag, handled events, and events set aside.

use prometheus::{IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry};

/// Metrics of the outbox, by consumer. Clones are handles to the same ones.
#[derive(Clone)]
pub struct OutboxMetrics {
    behind: IntGaugeVec,
    handled: IntCounterVec,
    failed: IntCounterVec,
    aside: IntGaugeVec,
    stored: IntGauge,
}

impl OutboxMetrics {
    pub fn new(registry: &Registry) -> Result<Self, prometheus::Error> {
        let by_consumer = &["consumer"];
        let behind = IntGaugeVec::new(
            Opts::new(
                "quartermaster_consumer_events_behind",
                "Stored events that a consumer has not passed yet, as of its last look; events of others wake it seldom.",
            ),
            by_consumer,
        )?;
        let handled = IntCounterVec::new(
            Opts::new(
                "quartermaster_consumer_events_handled_total",
                "Events that a consumer handled.",
            ),
            by_consumer,
        )?;
        let failed = IntCounterVec::new(
            Opts::new(
                "quartermaster_consumer_attempts_failed_total",
                "Attempts of a consumer at an event that failed.",
            ),
            by_consumer,
        )?;
        let aside = IntGaugeVec::new(
            Opts::new(
                "quartermaster_consumer_events_set_aside",
                "Events that a consumer failed at too often, as far as they are kept.",
            ),
            by_consumer,
        )?;
        let stored = IntGauge::new(
            "quartermaster_outbox_events",
            "Events stored for consumers, as of the last pruning.",
        )?;
        for family in [&behind, &aside] {
            registry.register(Box::new(family.clone()))?;
        }
        for family in [&handled, &failed] {
            registry.register(Box::new(family.clone()))?;
        }
        registry.register(Box::new(stored.clone()))?;
        Ok(Self {
            behind,
            handled,
            failed,
            aside,
            stored,
        })
    }

    pub(super) fn behind(&self, consumer: &str, events: i64) {
        self.behind.with_label_values(&[consumer]).set(events);
    }

    pub(super) fn handled(&self, consumer: &str, events: usize) {
        self.handled.with_label_values(&[consumer]).inc_by(events as u64);
    }

    pub(super) fn failed(&self, consumer: &str) {
        self.failed.with_label_values(&[consumer]).inc();
    }

    pub(super) fn aside(&self, consumer: &str, events: i64) {
        self.aside.with_label_values(&[consumer]).set(events);
    }

    pub(super) fn stored(&self, events: i64) {
        self.stored.set(events);
    }
}
