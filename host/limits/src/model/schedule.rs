//! Time table of the week, in the zone of the operator. Pure.
//!
//! Entries speak of clocks on the wall: an hour that a change of clocks skips does not come, one that comes twice counts twice.
//! Between the entries the normal limits are in force.

use jiff::ToSpan as _;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use qm_kernel::Timestamp;
use qm_ports::engine::RateMode;
use serde::{Deserialize, Serialize};

use super::speed::mode_word;

/// Entries of a time table.
pub const MAX_ENTRIES: usize = 50;
pub const MINUTES_OF_DAY: u16 = 24 * 60;
const MINUTES_OF_WEEK: u16 = 7 * MINUTES_OF_DAY;
/// Days searched for the next change; a week and a day, because a change of clocks may skip an entry.
const SEARCHED: i8 = 15;

/// Days of the week, Monday first.
pub const DAYS: &[&str] = &["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// One entry. Stored as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Days on which it begins, from 0 = Monday.
    pub days: Vec<u8>,
    /// Minute of the day.
    pub from: u16,
    /// Minute of the day, 1440 at most; not after `from` means on the next day.
    pub to: u16,
    /// True for the alternative limits.
    pub alternative: bool,
}

impl Entry {
    pub const fn mode(&self) -> RateMode {
        if self.alternative {
            RateMode::Alternative
        } else {
            RateMode::Normal
        }
    }

    /// Length in minutes.
    const fn length(&self) -> u16 {
        if self.to > self.from {
            self.to - self.from
        } else {
            self.to + MINUTES_OF_DAY - self.from
        }
    }

    /// Minutes of the week in which it begins.
    fn starts(&self) -> impl Iterator<Item = u16> {
        self.days
            .iter()
            .map(|day| u16::from(*day) * MINUTES_OF_DAY + self.from)
    }

    fn covers(&self, minute: u16) -> bool {
        self.starts()
            .any(|start| (minute + MINUTES_OF_WEEK - start) % MINUTES_OF_WEEK < self.length())
    }

    fn overlaps(&self, other: &Entry) -> bool {
        self.starts().any(|start| other.covers(start)) || other.starts().any(|start| self.covers(start))
    }

    /// Text for people, e.g. `mon,tue 22:00-06:00 alternative`.
    pub fn describe(&self) -> String {
        let days: Vec<&str> = self
            .days
            .iter()
            .filter_map(|day| DAYS.get(usize::from(*day)).copied())
            .collect();
        let (from, to) = (clock_text(self.from), clock_text(self.to));
        format!("{} {from}-{to} {}", days.join(","), mode_word(self.mode()))
    }
}

/// Minute of the day as `HH:MM`.
pub fn clock_text(minute: u16) -> String {
    format!("{:02}:{:02}", minute / 60, minute % 60)
}

/// Minute of the day of `HH:MM`, up to `24:00`.
pub fn read_clock(text: &str) -> Option<u16> {
    let (hours, minutes) = text.split_once(':')?;
    let number = |digits: &str| {
        let is_short = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_short.then(|| digits.parse::<u16>().ok()).flatten()
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let minute = hours * 60 + minutes;
    (minutes < 60 && minute <= MINUTES_OF_DAY).then_some(minute)
}

/// A time table whose entries do not overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule(Vec<Entry>);

/// Two entries that meet, by their places from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlap {
    pub first: (usize, String),
    pub second: (usize, String),
}

impl Schedule {
    pub fn new(entries: Vec<Entry>) -> Result<Self, Overlap> {
        for (number, entry) in entries.iter().enumerate() {
            let before = entries[..number].iter().position(|before| before.overlaps(entry));
            if let Some(first) = before {
                return Err(Overlap {
                    first: (first, entries[first].describe()),
                    second: (number, entry.describe()),
                });
            }
        }
        Ok(Self(entries))
    }

    pub fn entries(&self) -> &[Entry] {
        &self.0
    }

    /// The mode at an instant.
    pub fn mode_at(&self, at: Timestamp, zone: &TimeZone) -> RateMode {
        let Some(local) = local_time(at, zone) else {
            return RateMode::Normal;
        };
        self.mode_by_wall(local)
    }

    fn mode_by_wall(&self, local: DateTime) -> RateMode {
        let day = local.weekday().to_monday_zero_offset().unsigned_abs();
        let (hour, minute) = (local.hour().unsigned_abs(), local.minute().unsigned_abs());
        let minute = u16::from(day) * MINUTES_OF_DAY + u16::from(hour) * 60 + u16::from(minute);
        let entry = self.0.iter().find(|entry| entry.covers(minute));
        entry.map_or(RateMode::Normal, Entry::mode)
    }

    /// The next instant after `at` from which another mode holds; none when that does not come.
    pub fn next_change(&self, at: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let now = self.mode_at(at, zone);
        let mut candidates = self.boundaries(at, zone);
        candidates.retain(|candidate| *candidate > at);
        candidates.sort_unstable();
        candidates
            .into_iter()
            .find(|candidate| self.mode_at(*candidate, zone) != now)
    }

    /// Instants around which the mode may change: ends of entries on the coming days, and changes of clocks.
    fn boundaries(&self, at: Timestamp, zone: &TimeZone) -> Vec<Timestamp> {
        let mut found = Vec::new();
        let (Some(local), Ok(instant)) = (local_time(at, zone), jiff::Timestamp::from_millisecond(at.ms()))
        else {
            return found;
        };
        let mut minutes: Vec<u16> = self.0.iter().flat_map(|entry| [entry.from, entry.to]).collect();
        minutes.sort_unstable();
        minutes.dedup();
        if minutes.is_empty() {
            return found;
        }
        let take = |instant: jiff::Timestamp| Timestamp::from_ms(instant.as_millisecond());
        for day in -1..SEARCHED {
            let Ok(midnight) = local.date().checked_add(day.days()) else {
                continue;
            };
            for minute in &minutes {
                let wall = midnight.at(0, 0, 0, 0).checked_add(i64::from(*minute).minutes());
                let Ok(wall) = wall else { continue };
                // A time that comes twice is a boundary twice.
                let both = zone.to_ambiguous_timestamp(wall);
                found.extend(both.earlier().into_iter().map(take));
                found.extend(zone.to_ambiguous_timestamp(wall).later().into_iter().map(take));
            }
        }
        let shifts = zone.following(instant).map(|shift| shift.timestamp());
        found.extend(shifts.take(2).map(take));
        found
    }
}

fn local_time(at: Timestamp, zone: &TimeZone) -> Option<DateTime> {
    let instant = jiff::Timestamp::from_millisecond(at.ms()).ok()?;
    Some(instant.to_zoned(zone.clone()).datetime())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use qm_kernel::timezone::zone;

    use super::*;

    fn entry(days: &[u8], from: &str, to: &str) -> Entry {
        Entry {
            days: days.to_vec(),
            from: read_clock(from).expect("a time"),
            to: read_clock(to).expect("a time"),
            alternative: true,
        }
    }

    fn time(text: &str) -> Timestamp {
        serde_json::from_value(text.into()).expect("a time")
    }

    #[test]
    fn times_are_read_as_they_are_written() {
        for (text, minute) in [("00:00", 0), ("06:30", 390), ("23:59", 1439), ("24:00", 1440)] {
            assert_eq!(read_clock(text), Some(minute));
            assert_eq!(clock_text(minute), text);
        }
        for text in [
            "", "6:30", "06:60", "24:01", "25:00", "06:3", "+6:30", "06-30", "06:30:00",
        ] {
            assert_eq!(read_clock(text), None, "{text}");
        }
    }

    #[test]
    fn entries_that_overlap_are_named() {
        for (first, second, meet) in [
            (entry(&[0], "08:00", "10:00"), entry(&[0], "09:59", "11:00"), true),
            (
                entry(&[0], "08:00", "10:00"),
                entry(&[0], "10:00", "11:00"),
                false,
            ),
            (
                entry(&[0], "08:00", "10:00"),
                entry(&[1], "08:00", "10:00"),
                false,
            ),
            // Sunday night reaches into Monday.
            (entry(&[6], "22:00", "06:00"), entry(&[0], "05:59", "07:00"), true),
            (
                entry(&[6], "22:00", "06:00"),
                entry(&[0], "06:00", "07:00"),
                false,
            ),
            (
                entry(&[0, 2, 4], "00:00", "24:00"),
                entry(&[4], "12:00", "13:00"),
                true,
            ),
            (entry(&[3], "12:00", "12:00"), entry(&[4], "11:00", "13:00"), true),
        ] {
            let met = Schedule::new(vec![first.clone(), second.clone()]);
            assert_eq!(met.is_err(), meet, "{} / {}", first.describe(), second.describe());
        }
        let night = entry(&[6], "22:00", "06:00");
        let error = Schedule::new(vec![entry(&[2], "01:00", "02:00"), night.clone(), night]).unwrap_err();
        assert_eq!((error.first.0, error.second.0), (1, 2));
        assert_eq!(error.first.1, "sun 22:00-06:00 alternative");
        let every = entry(&[0, 1, 2, 3, 4, 5, 6], "22:00", "22:00");
        assert!(
            Schedule::new(vec![every]).is_ok(),
            "an entry does not meet itself"
        );
    }

    #[test]
    fn nights_cross_midnight_and_the_end_of_the_week() {
        let berlin = zone(Some("Europe/Berlin"));
        let table = Schedule::new(vec![entry(&[4, 6], "22:00", "06:00")]).unwrap();
        for (at, alternative) in [
            // 2026-11-27 is a Friday.
            ("2026-11-27T20:59:59.000Z", false),
            ("2026-11-27T21:00:00.000Z", true),
            ("2026-11-28T04:59:59.000Z", true),
            ("2026-11-28T05:00:00.000Z", false),
            ("2026-11-28T22:00:00.000Z", false),
            ("2026-11-29T21:00:00.000Z", true),
            ("2026-11-30T04:59:00.000Z", true),
            ("2026-11-30T05:00:00.000Z", false),
        ] {
            let is = table.mode_at(time(at), &berlin) == RateMode::Alternative;
            assert_eq!(is, alternative, "{at}");
        }
        let next = |at: &str| table.next_change(time(at), &berlin);
        assert_eq!(
            next("2026-11-27T12:00:00.000Z"),
            Some(time("2026-11-27T21:00:00.000Z"))
        );
        assert_eq!(
            next("2026-11-27T21:00:00.000Z"),
            Some(time("2026-11-28T05:00:00.000Z"))
        );
        assert_eq!(
            next("2026-11-30T05:00:00.000Z"),
            Some(time("2026-12-04T21:00:00.000Z"))
        );
        let always = Schedule::new(vec![entry(&[0, 1, 2, 3, 4, 5, 6], "00:00", "24:00")]).unwrap();
        assert_eq!(
            always.mode_at(time("2026-11-27T12:00:00.000Z"), &berlin),
            RateMode::Alternative
        );
        assert_eq!(
            always.next_change(time("2026-11-27T12:00:00.000Z"), &berlin),
            None
        );
        assert_eq!(
            Schedule::default().next_change(time("2026-11-27T12:00:00.000Z"), &berlin),
            None
        );
    }

    #[test]
    fn changes_of_clocks_are_those_of_the_wall() {
        let berlin = zone(Some("Europe/Berlin"));
        let table = Schedule::new(vec![entry(&[6], "02:00", "03:00")]).unwrap();
        // 2027-03-28: from 02:00 to 03:00 in one step; the entry does not come.
        let before = time("2027-03-28T00:00:00.000Z");
        assert_eq!(
            table.next_change(before, &berlin),
            Some(time("2027-04-04T00:00:00.000Z"))
        );
        // 2026-10-25: 02:00 to 03:00 comes twice, without a gap.
        let before = time("2026-10-24T12:00:00.000Z");
        let begins = time("2026-10-25T00:00:00.000Z");
        assert_eq!(table.next_change(before, &berlin), Some(begins));
        assert_eq!(
            table.next_change(begins, &berlin),
            Some(time("2026-10-25T02:00:00.000Z"))
        );
        // Half of the hour comes twice, with a gap.
        let half = Schedule::new(vec![entry(&[6], "02:00", "02:30")]).unwrap();
        let mut at = begins;
        for next in [
            "2026-10-25T00:30:00.000Z",
            "2026-10-25T01:00:00.000Z",
            "2026-10-25T01:30:00.000Z",
        ] {
            at = half.next_change(at, &berlin).expect("a change");
            assert_eq!(at, time(next));
        }
    }

    fn any_entry() -> impl Strategy<Value = Entry> {
        let days = prop::collection::btree_set(0..7u8, 1..4);
        (days, 0..24u16, 1..=24u16, any::<bool>()).prop_map(|(days, from, to, alternative)| Entry {
            days: days.into_iter().collect(),
            from: from * 60,
            to: to * 60,
            alternative,
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Until the change that is told the mode is the same, and it is another one from then on.
        #[test]
        fn the_next_change_is_the_next_one(
            entries in prop::collection::vec(any_entry(), 1..4),
            hour in 0..(24 * 400i64),
            name in prop::sample::select(vec!["Europe/Berlin", "America/New_York", "Asia/Kolkata", "UTC"]),
        ) {
            let Ok(table) = Schedule::new(entries) else { return Ok(()) };
            let zone = zone(Some(name));
            let at = Timestamp::from_secs(1_790_000_000 + hour * 3600);
            let mode = table.mode_at(at, &zone);
            let next = table.next_change(at, &zone);
            let end = next.map_or(at.ms() + 8 * 86_400_000, Timestamp::ms);
            let mut minute = at.ms();
            while minute < end {
                prop_assert_eq!(table.mode_at(Timestamp::from_ms(minute), &zone), mode);
                minute += 900_000;
            }
            if let Some(next) = next {
                prop_assert_ne!(table.mode_at(next, &zone), mode);
            }
        }
    }
}
