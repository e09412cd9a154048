//! The time of day as conditions see it, beside the fields of a torrent or an event.

use jiff::tz::TimeZone;
use qm_conditions::{Record, Seen};
use qm_kernel::Timestamp;

/// Fields of the time: the hour from 0 to 23, and the day of the week from 1 (Monday) to 7, in the zone of the operator.
pub const TIMES: &[&str] = &["hour", "weekday"];

/// A record at a moment.
#[derive(Clone, Copy, Debug)]
pub struct Timed<'a, R> {
    pub record: &'a R,
    pub at: Timestamp,
    pub zone: &'a TimeZone,
}

impl<R: Record> Record for Timed<'_, R> {
    fn field(&self, name: &str) -> Seen<'_> {
        // Only a condition on the time pays for the calendar.
        if !TIMES.contains(&name) {
            return self.record.field(name);
        }
        let Ok(instant) = jiff::Timestamp::from_millisecond(self.at.ms()) else {
            return Seen::Null;
        };
        let local = instant.to_zoned(self.zone.clone());
        let number = if name == "hour" {
            local.hour()
        } else {
            local.weekday().to_monday_one_offset()
        };
        Seen::Number(number.into())
    }
}

#[cfg(test)]
mod tests {
    use qm_kernel::timezone::zone;
    use serde_json::{Map, Value};

    use super::*;

    #[test]
    fn hours_and_days_are_those_of_the_zone() {
        let record: Map<String, Value> = Map::new();
        // 2026-11-22 is a Sunday.
        let at: Timestamp = serde_json::from_value("2026-11-22T22:30:00.000Z".into()).expect("a time");
        for (name, hour, weekday) in [
            ("UTC", 22.0, 7.0),
            ("Europe/Berlin", 23.0, 7.0),
            ("Asia/Kolkata", 4.0, 1.0),
            ("America/New_York", 17.0, 7.0),
        ] {
            let zone = zone(Some(name));
            let timed = Timed {
                record: &record,
                at,
                zone: &zone,
            };
            assert_eq!(timed.field("hour"), Seen::Number(hour), "{name}");
            assert_eq!(timed.field("weekday"), Seen::Number(weekday), "{name}");
            assert_eq!(timed.field("Hour"), Seen::Missing);
        }
    }
}
