//! Steps: five minutes and hours of UTC, days of a time zone.
//!
//! A day begins with its first instant in the zone, which is not midnight where the clocks are put forward at midnight. It has 23 or
//! 25 hours where they are changed.

use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

const FIVE_MINUTES: i64 = 5 * 60 * 1000;
const HOUR: i64 = 60 * 60 * 1000;
const DAY: i64 = 24 * HOUR;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    FiveMinutes,
    Hour,
    Day,
}

impl Step {
    pub const ALL: [Step; 3] = [Step::FiveMinutes, Step::Hour, Step::Day];
    pub const NAMES: &[&str] = &["5m", "hour", "day"];

    pub const fn as_str(self) -> &'static str {
        match self {
            Step::FiveMinutes => "5m",
            Step::Hour => "hour",
            Step::Day => "day",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.as_str() == name)
    }

    /// Value of the column `step`.
    pub const fn minutes(self) -> i64 {
        match self {
            Step::FiveMinutes => 5,
            Step::Hour => 60,
            Step::Day => 1440,
        }
    }

    /// Length in milliseconds; of a day, the usual one.
    pub const fn length(self) -> i64 {
        match self {
            Step::FiveMinutes => FIVE_MINUTES,
            Step::Hour => HOUR,
            Step::Day => DAY,
        }
    }

    /// Time for which counts are kept.
    pub const fn retention(self) -> Duration {
        match self {
            Step::FiveMinutes => Duration::from_hours(2 * 24),
            Step::Hour => Duration::from_hours(60 * 24),
            Step::Day => Duration::from_hours(5 * 366 * 24),
        }
    }

    /// Time that an answer covers when the request does not say.
    pub const fn usual_range(self) -> i64 {
        match self {
            Step::FiveMinutes => DAY,
            Step::Hour => 7 * DAY,
            Step::Day => 90 * DAY,
        }
    }

    /// Step whose counts answer a question about the range best: fine enough for its ends, and still kept.
    pub fn best_for(from: i64, to: i64, now: i64) -> Self {
        let fits = |step: Step, longest: i64| {
            let kept = i64::try_from(step.retention().as_millis()).unwrap_or(i64::MAX);
            to.saturating_sub(from) <= longest && from >= now.saturating_sub(kept)
        };
        if fits(Step::FiveMinutes, DAY / 4) {
            Step::FiveMinutes
        } else if fits(Step::Hour, 8 * DAY) {
            Step::Hour
        } else {
            Step::Day
        }
    }

    /// The next longer step, which holds what is older.
    pub const fn longer(self) -> Option<Self> {
        match self {
            Step::FiveMinutes => Some(Step::Hour),
            Step::Hour => Some(Step::Day),
            Step::Day => None,
        }
    }

    /// Begin of the step that holds an instant, in Unix milliseconds.
    pub fn find_start(self, at: i64, zone: &TimeZone) -> i64 {
        match self {
            Step::FiveMinutes | Step::Hour => at.div_euclid(self.length()) * self.length(),
            Step::Day => find_day(at, zone).map_or(at.div_euclid(DAY) * DAY, |day| as_ms(&day)),
        }
    }

    /// Begin of the step after the one that holds an instant.
    pub fn find_next(self, at: i64, zone: &TimeZone) -> i64 {
        let start = self.find_start(at, zone);
        match self {
            Step::FiveMinutes | Step::Hour => start + self.length(),
            Step::Day => {
                let next = find_day(at, zone).and_then(|day| day.tomorrow().ok()?.start_of_day().ok());
                let next = next.map_or(start + DAY, |day| as_ms(&day));
                // No zone may make time stand still.
                next.max(start + HOUR)
            }
        }
    }
}

fn find_day(at: i64, zone: &TimeZone) -> Option<Zoned> {
    let instant = Timestamp::from_millisecond(at).ok()?;
    instant.to_zoned(zone.clone()).start_of_day().ok()
}

fn as_ms(day: &Zoned) -> i64 {
    day.timestamp().as_millisecond()
}

/// Most parts of a gap.
const MOST_PARTS: usize = 60;

/// A part of an interval that lies in one day: the five minutes that it is counted in, and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Begin of the five minutes that hold its end.
    pub start: i64,
    pub length: i64,
}

/// Cuts an interval at the ends of days, the first part first. Of a very long one the first part takes the rest. Never empty.
pub fn cut_at_days(from: i64, to: i64, zone: &TimeZone) -> Vec<Part> {
    let from = from.min(to);
    let mut parts = Vec::new();
    let mut end = to;
    loop {
        // The instant that ends an interval is not in it.
        let last = (end - 1).max(from);
        let day = Step::Day.find_start(last, zone);
        let begin = if parts.len() + 1 == MOST_PARTS {
            from
        } else {
            day.max(from)
        };
        parts.push(Part {
            start: Step::FiveMinutes.find_start(last, zone),
            length: end - begin,
        });
        if begin <= from {
            break;
        }
        end = begin;
    }
    parts.reverse();
    parts
}

/// Shares an amount out by the lengths of parts; the shares add up to it.
pub fn share_out(amount: u64, parts: &[Part]) -> Vec<u64> {
    let whole: i128 = parts.iter().map(|part| i128::from(part.length)).sum();
    let mut passed = 0i128;
    let mut given = 0u64;
    let share = |part: &Part| {
        passed += i128::from(part.length);
        let until = if whole > 0 {
            (i128::from(amount) * passed / whole) as u64
        } else {
            amount
        };
        let share = until - given;
        given = until;
        share
    };
    parts.iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use qm_kernel::timezone;

    use super::*;

    fn ms(text: &str) -> i64 {
        let at: Timestamp = text.parse().unwrap();
        at.as_millisecond()
    }

    #[test]
    fn days_are_those_of_the_zone_also_when_the_clocks_change() {
        for (zone, at, start, next) in [
            (
                "UTC",
                "2031-01-05T23:59:59Z",
                "2031-01-05T00:00:00Z",
                "2031-01-06T00:00:00Z",
            ),
            // 23 hours and 25 hours.
            (
                "Europe/Berlin",
                "2031-03-30T12:00:00Z",
                "2031-03-29T23:00:00Z",
                "2031-03-30T22:00:00Z",
            ),
            (
                "Europe/Berlin",
                "2031-10-26T12:00:00Z",
                "2031-10-25T22:00:00Z",
                "2031-10-26T23:00:00Z",
            ),
            (
                "Asia/Kolkata",
                "2031-06-01T18:29:59Z",
                "2031-05-31T18:30:00Z",
                "2031-06-01T18:30:00Z",
            ),
            // This day has no midnight.
            (
                "America/Sao_Paulo",
                "2018-11-04T12:00:00Z",
                "2018-11-04T03:00:00Z",
                "2018-11-05T02:00:00Z",
            ),
        ] {
            let named = timezone::zone(Some(zone));
            assert_eq!(Step::Day.find_start(ms(at), &named), ms(start), "{zone} {at}");
            assert_eq!(Step::Day.find_next(ms(at), &named), ms(next), "{zone} {at}");
        }
    }

    #[test]
    fn a_gap_is_cut_at_the_ends_of_days() {
        let zone = timezone::zone(Some("Europe/Berlin"));
        let parts = cut_at_days(ms("2031-03-29T22:00:00Z"), ms("2031-03-30T22:10:00Z"), &zone);
        let told: Vec<(i64, i64)> = parts
            .iter()
            .map(|part| (part.start, part.length / 60_000))
            .collect();
        assert_eq!(
            told,
            [
                (ms("2031-03-29T22:55:00Z"), 60),
                (ms("2031-03-30T21:55:00Z"), 23 * 60),
                (ms("2031-03-30T22:05:00Z"), 10),
            ]
        );
        assert_eq!(share_out(1450, &parts), [60, 1380, 10]);
        assert_eq!(share_out(7, &parts), [0, 6, 1]);
        // An interval without length is in one place.
        assert_eq!(cut_at_days(5, 5, &zone), [Part { start: 0, length: 0 }]);
        assert_eq!(share_out(7, &cut_at_days(5, 5, &zone)), [7]);
    }

    #[test]
    fn a_question_is_answered_by_the_step_that_fits() {
        let now = 1_000 * DAY;
        for (from, to, step) in [
            (now - HOUR, now, Step::FiveMinutes),
            (now - DAY, now, Step::Hour),
            (now - 5 * DAY, now - 5 * DAY + HOUR, Step::Hour),
            (now - 30 * DAY, now, Step::Day),
            (now - 90 * DAY, now - 90 * DAY + HOUR, Step::Day),
        ] {
            assert_eq!(Step::best_for(from, to, now), step, "{from} to {to}");
        }
    }

    proptest! {
        #[test]
        fn parts_cover_the_interval_and_shares_add_up(
            from in 0i64..4_000_000_000_000,
            length in 0i64..(200 * DAY),
            amount in any::<u64>(),
            zone in prop::sample::select(vec!["UTC", "Europe/Berlin", "Asia/Kathmandu", "America/Sao_Paulo", "Pacific/Apia"]),
        ) {
            let zone = timezone::zone(Some(zone));
            let parts = cut_at_days(from, from + length, &zone);
            prop_assert!(parts.len() <= MOST_PARTS);
            prop_assert_eq!(parts.iter().map(|part| part.length).sum::<i64>(), length);
            prop_assert!(parts.is_sorted_by(|a, b| a.start < b.start));
            let shares = share_out(amount, &parts);
            let whole = shares.iter().fold(0u128, |sum, share| sum + u128::from(*share));
            prop_assert_eq!(whole, u128::from(amount));
        }

        #[test]
        fn steps_are_one_after_another(
            at in 0i64..4_000_000_000_000,
            zone in prop::sample::select(vec!["UTC", "Europe/Berlin", "Asia/Kathmandu", "America/Sao_Paulo", "Pacific/Apia"]),
        ) {
            let zone = timezone::zone(Some(zone));
            for step in Step::ALL {
                let (start, next) = (step.find_start(at, &zone), step.find_next(at, &zone));
                prop_assert!(start <= at && at < next);
                prop_assert_eq!(step.find_start(start, &zone), start);
                prop_assert_eq!(step.find_start(next, &zone), next);
                prop_assert_eq!(step.find_start(next - 1, &zone), start);
            }
        }
    }
}
