//! Schedule of detections.

use std::time::Duration;

use qm_kernel::Timestamp;
use serde_json::{Map, Value, json};

/// Hours between two detections.
pub const HOURS: [i64; 4] = [6, 12, 24, 168];
const DEFAULT_HOURS: i64 = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    pub is_enabled: bool,
    pub interval_hours: i64,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            is_enabled: false,
            interval_hours: DEFAULT_HOURS,
        }
    }
}

impl Schedule {
    /// Stored schedule; members of another type count as their defaults.
    pub fn from_object(stored: &Map<String, Value>) -> Self {
        let hours = stored.get("intervalHours").and_then(Value::as_i64);
        Self {
            is_enabled: stored.get("enabled").and_then(Value::as_bool).unwrap_or(false),
            interval_hours: Self::fit(hours.unwrap_or(DEFAULT_HOURS)),
        }
    }

    pub fn to_object(self) -> Map<String, Value> {
        match json!({ "enabled": self.is_enabled, "intervalHours": self.interval_hours }) {
            Value::Object(members) => members,
            _ => Map::new(),
        }
    }

    /// Interval as it is kept: one outside of the list is the default.
    pub fn fit(hours: i64) -> i64 {
        if HOURS.contains(&hours) {
            hours
        } else {
            DEFAULT_HOURS
        }
    }

    /// Time of the next detection; `None`: there is none, or the first one is due at once.
    pub fn next(self, last: Option<Timestamp>) -> Option<Timestamp> {
        let interval = Duration::from_hours(self.interval_hours.unsigned_abs());
        last.filter(|_| self.is_enabled).map(|last| last.plus(interval))
    }

    pub fn is_due(self, last: Option<Timestamp>, now: Timestamp) -> bool {
        self.is_enabled && self.next(last).is_none_or(|next| next <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_due_when_its_interval_has_passed() {
        let at = |hours: i64| Timestamp::from_secs(hours * 3600);
        let off = Schedule::default();
        assert!(!off.is_due(None, at(0)));
        assert_eq!(off.next(Some(at(0))), None);
        let on = Schedule {
            is_enabled: true,
            interval_hours: 6,
        };
        assert!(on.is_due(None, at(0)), "it never ran");
        assert!(!on.is_due(Some(at(1)), at(6)));
        assert!(on.is_due(Some(at(1)), at(7)));
        assert_eq!(on.next(Some(at(1))), Some(at(7)));
        assert_eq!(Schedule::from_object(&on.to_object()), on);
        for (hours, kept) in [(6, 6), (168, 168), (5, 24), (-1, 24), (0, 24)] {
            assert_eq!(Schedule::fit(hours), kept);
        }
        let odd = json!({ "enabled": "yes", "intervalHours": "6" });
        assert_eq!(
            Schedule::from_object(odd.as_object().unwrap()),
            Schedule::default()
        );
    }
}
