//! Rules by which torrents are parked. A value that makes no sense is the nearest one that does.

use std::time::Duration;

use serde_json::{Map, Value, json};

/// Most seeders that a rule may ask for.
const MOST_SEEDERS: u32 = 1_000_000;
/// Ten years, in minutes.
const MOST_MINUTES: u32 = 10 * 366 * 24 * 60;
/// Most torrents that one sweep starts on an engine, which run all at once.
const MOST_PROBES: u32 = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    pub enabled: bool,
    /// A torrent with fewer known seeders has none, if nobody is connected.
    pub min_seeders: u32,
    /// Age in minutes from which a torrent without seeders is parked.
    pub dead_after: u32,
    /// Age in minutes from which a torrent that loads nothing is parked; 0: none is.
    pub stalled_after: u32,
    /// Torrents that one sweep starts on an engine.
    pub probe_batch: u32,
    /// Minutes from one probe to the next; doubled each time.
    pub probe_interval: u32,
    pub max_probe_interval: u32,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            enabled: false,
            min_seeders: 1,
            dead_after: 30,
            stalled_after: 180,
            probe_batch: 20,
            probe_interval: 60,
            max_probe_interval: 1440,
        }
    }
}

/// Rules to change; what is none stays.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RulesChange {
    pub enabled: Option<bool>,
    pub min_seeders: Option<f64>,
    pub dead_after: Option<f64>,
    pub stalled_after: Option<f64>,
    pub probe_batch: Option<f64>,
    pub probe_interval: Option<f64>,
    pub max_probe_interval: Option<f64>,
}

impl RulesChange {
    /// The changed rules: numbers are cut off to whole ones and brought between their bounds.
    pub fn apply(self, known: Rules) -> Rules {
        let number = |given: Option<f64>, known: u32, least: u32, most: u32| {
            given.map_or(known, whole).clamp(least, most)
        };
        let probe_interval = number(self.probe_interval, known.probe_interval, 1, MOST_MINUTES);
        Rules {
            enabled: self.enabled.unwrap_or(known.enabled),
            min_seeders: number(self.min_seeders, known.min_seeders, 0, MOST_SEEDERS),
            dead_after: number(self.dead_after, known.dead_after, 1, MOST_MINUTES),
            stalled_after: number(self.stalled_after, known.stalled_after, 0, MOST_MINUTES),
            probe_batch: number(self.probe_batch, known.probe_batch, 1, MOST_PROBES),
            probe_interval,
            max_probe_interval: number(
                self.max_probe_interval,
                known.max_probe_interval,
                probe_interval,
                MOST_MINUTES,
            ),
        }
    }
}

/// The whole part of a number; the nearest there is for one that is too small or too large.
fn whole(given: f64) -> u32 {
    // The conversion cuts off, and stays within the bounds of the type; what is no number is 0.
    given as u32
}

impl Rules {
    /// Rules from a stored setting. Somebody may have written it by hand: what is missing or makes no sense is as without it.
    pub fn from_object(stored: &Map<String, Value>) -> Self {
        let number = |name: &str| stored.get(name).and_then(Value::as_f64);
        let change = RulesChange {
            enabled: stored.get("enabled").and_then(Value::as_bool),
            min_seeders: number("minSeeders"),
            dead_after: number("deadAfterMinutes"),
            stalled_after: number("stalledAfterMinutes"),
            probe_batch: number("probeBatchSize"),
            probe_interval: number("probeIntervalMinutes"),
            max_probe_interval: number("maxProbeIntervalMinutes"),
        };
        change.apply(Self::default())
    }

    pub fn to_object(self) -> Map<String, Value> {
        let members = json!({
            "enabled": self.enabled,
            "minSeeders": self.min_seeders,
            "deadAfterMinutes": self.dead_after,
            "stalledAfterMinutes": self.stalled_after,
            "probeBatchSize": self.probe_batch,
            "probeIntervalMinutes": self.probe_interval,
            "maxProbeIntervalMinutes": self.max_probe_interval,
        });
        match members {
            Value::Object(members) => members,
            _ => Map::new(),
        }
    }

    pub fn dead_age(&self) -> Duration {
        minutes(self.dead_after)
    }

    /// None: the rule is off.
    pub fn stalled_age(&self) -> Option<Duration> {
        (self.stalled_after > 0).then(|| minutes(self.stalled_after))
    }

    /// Time from the last of so many probes to the next.
    pub fn pause_after(&self, probes: u32) -> Duration {
        let doubled = probes.saturating_sub(1).min(31);
        let pause = u64::from(self.probe_interval) << doubled;
        Duration::from_secs(pause.min(u64::from(self.max_probe_interval)) * 60)
    }
}

fn minutes(count: u32) -> Duration {
    Duration::from_secs(u64::from(count) * 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_rules_are_read_as_they_were_written() {
        let rules = Rules {
            enabled: true,
            probe_batch: 7,
            ..Rules::default()
        };
        assert_eq!(Rules::from_object(&rules.to_object()), rules);
        assert_eq!(Rules::from_object(&Map::new()), Rules::default());
        let Value::Object(odd) = json!({
            "enabled": "yes", "minSeeders": -3, "deadAfterMinutes": 0, "probeBatchSize": 1e300, "maxProbeIntervalMinutes": [1],
        }) else {
            unreachable!("an object")
        };
        let read = Rules::from_object(&odd);
        let known = Rules {
            min_seeders: 0,
            dead_after: 1,
            probe_batch: MOST_PROBES,
            ..Rules::default()
        };
        assert_eq!(read, known);
    }

    #[test]
    fn values_are_cut_off_and_brought_into_their_bounds() {
        let given = |value: f64| RulesChange {
            enabled: Some(true),
            min_seeders: Some(value),
            dead_after: Some(value),
            stalled_after: Some(value),
            probe_batch: Some(value),
            probe_interval: Some(value),
            max_probe_interval: Some(value),
        };
        let shown = |rules: Rules| {
            [
                rules.min_seeders,
                rules.dead_after,
                rules.stalled_after,
                rules.probe_batch,
                rules.probe_interval,
                rules.max_probe_interval,
            ]
        };
        let of = |value| shown(given(value).apply(Rules::default()));
        assert_eq!(of(2.9), [2; 6]);
        assert_eq!(of(-0.5), [0, 1, 0, 1, 1, 1]);
        assert_eq!(of(f64::MIN), [0, 1, 0, 1, 1, 1]);
        assert_eq!(
            of(f64::MAX),
            [
                MOST_SEEDERS,
                MOST_MINUTES,
                MOST_MINUTES,
                MOST_PROBES,
                MOST_MINUTES,
                MOST_MINUTES
            ]
        );
        let longer = RulesChange {
            probe_interval: Some(5000.0),
            ..RulesChange::default()
        };
        let rules = longer.apply(Rules::default());
        assert_eq!((rules.probe_interval, rules.max_probe_interval), (5000, 5000));
        assert_eq!(RulesChange::default().apply(rules), rules);
    }

    #[test]
    fn pauses_between_probes_double_up_to_the_longest() {
        let rules = Rules::default();
        let pauses = [0, 1, 2, 3, 5, 6, 40, u32::MAX].map(|probes| rules.pause_after(probes).as_secs() / 60);
        assert_eq!(pauses, [60, 60, 120, 240, 960, 1440, 1440, 1440]);
    }
}
