//! Cron schedules and their due times: minute, hour, day of the month, month, day of the week. Pure.
//!
//! A field is `*`, a number, a range `a-b`, a list of those with commas, each with a step `/n` if need be; Sunday is 0 or 7.
//! Where both days are restricted, either will do. A time that a change of clocks skips is due right after it; one that
//! comes twice is due the first time.

use std::fmt;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Span, ToSpan as _};
use qm_kernel::Timestamp;

/// Number of days searched for the next due time: a 29th of February is at most eight years away.
const FAR: usize = 8 * 366;

/// A parsed cron schedule.
#[derive(Clone, PartialEq, Eq)]
pub struct Cron {
    text: String,
    minutes: u64,
    hours: u64,
    days: Field,
    months: u64,
    weekdays: Field,
}

/// Allowed numbers of one field, as a bit set.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Field {
    set: u64,
    /// True when the field does not begin with `*`.
    restricted: bool,
}

impl Field {
    fn has(self, number: i8) -> bool {
        has(self.set, number)
    }
}

fn has(set: u64, number: i8) -> bool {
    u32::try_from(number).is_ok_and(|number| set & (1 << number) != 0)
}

/// Reason why a text is not a valid cron schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    #[error("`{0}` is no schedule: give minute, hour, day, month and day of the week, e.g. `30 4 * * 1-5`")]
    Fields(String),
    #[error("`{part}` is no {field}: give numbers from {min} to {max}, `a-b`, `*` or `*/n`")]
    Part {
        part: String,
        field: &'static str,
        min: u32,
        max: u32,
    },
    #[error("`{0}` is never due: there is no such day")]
    Never(String),
}

impl Cron {
    pub fn parse(text: &str) -> Result<Self, CronError> {
        let parts: Vec<&str> = text.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = parts[..] else {
            return Err(CronError::Fields(text.to_owned()));
        };
        let mut weekdays = field(weekday, "day of the week", 0, 7)?;
        if has(weekdays.set, 7) {
            weekdays.set |= 1;
        }
        let cron = Self {
            text: parts.join(" "),
            minutes: field(minute, "minute", 0, 59)?.set,
            hours: field(hour, "hour", 0, 23)?.set,
            days: field(day, "day of the month", 1, 31)?,
            months: field(month, "month", 1, 12)?.set,
            weekdays,
        };
        match cron.next(Timestamp::from_ms(0), &TimeZone::UTC) {
            Some(_) => Ok(cron),
            None => Err(CronError::Never(text.to_owned())),
        }
    }

    /// The schedule as it was written, with single spaces.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The first due time after `after`.
    pub fn next(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let instant = jiff::Timestamp::from_millisecond(after.ms()).ok()?;
        let begin = instant.to_zoned(zone.clone()).datetime();
        let mut day = begin.date();
        // Of the first day only the rest counts, but an hour more: clocks may have been set back meanwhile.
        let mut from = begin
            .checked_sub(1.hour())
            .map_or(Time::midnight(), DateTime::time);
        if from > begin.time() {
            from = Time::midnight();
        }
        for _ in 0..FAR {
            if self.fits(day) {
                let due = self.times(from).find_map(|time| {
                    let at = day.to_datetime(time).to_zoned(zone.clone()).ok()?;
                    let at = Timestamp::from_ms(at.timestamp().as_millisecond());
                    (at > after).then_some(at)
                });
                if due.is_some() {
                    return due;
                }
            }
            day = day.checked_add(Span::new().days(1)).ok()?;
            from = Time::midnight();
        }
        None
    }

    fn fits(&self, day: Date) -> bool {
        let (by_day, by_weekday) = (
            self.days.has(day.day()),
            self.weekdays.has(day.weekday().to_sunday_zero_offset()),
        );
        let fits = if self.days.restricted && self.weekdays.restricted {
            by_day || by_weekday
        } else {
            by_day && by_weekday
        };
        fits && has(self.months, day.month())
    }

    /// The due times of one day, from `from` on.
    fn times(&self, from: Time) -> impl Iterator<Item = Time> {
        let hours = (from.hour()..24).filter(|hour| has(self.hours, *hour));
        hours.flat_map(|hour| {
            let minutes = (0..60).filter(|minute| has(self.minutes, *minute));
            minutes.filter_map(move |minute| Time::new(hour, minute, 0, 0).ok())
        })
    }
}

impl fmt::Debug for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cron({})", self.text)
    }
}

fn field(text: &str, name: &'static str, min: u32, max: u32) -> Result<Field, CronError> {
    let mut set = 0;
    for part in text.split(',') {
        set |= numbers(part, min, max).ok_or_else(|| CronError::Part {
            part: part.to_owned(),
            field: name,
            min,
            max,
        })?;
    }
    Ok(Field {
        set,
        restricted: !text.starts_with('*'),
    })
}

/// The numbers of one comma-separated part, as bits.
fn numbers(part: &str, min: u32, max: u32) -> Option<u64> {
    let (range, step) = match part.split_once('/') {
        Some((range, step)) => (range, number(step)?),
        None => (part, 1),
    };
    let (first, last) = match range.split_once('-') {
        _ if range == "*" => (min, max),
        Some((first, last)) => (number(first)?, number(last)?),
        // A step without an end goes on to the maximum.
        None if part.contains('/') => (number(range)?, max),
        None => (number(range)?, number(range)?),
    };
    if first < min || last > max || first > last || step == 0 {
        return None;
    }
    let step = usize::try_from(step).ok()?;
    Some(
        (first..=last)
            .step_by(step)
            .fold(0, |set, number| set | 1 << number),
    )
}

/// Parses a number of one to four ASCII digits.
fn number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timestamp(text: &str) -> Timestamp {
        serde_json::from_value(text.into()).unwrap()
    }

    #[test]
    fn times_are_found() {
        for (cron, after, expected) in [
            (
                "* * * * *",
                "2026-11-22T07:30:15.500Z",
                "2026-11-22T07:31:00.000Z",
            ),
            (
                "* * * * *",
                "2026-11-22T07:30:00.000Z",
                "2026-11-22T07:31:00.000Z",
            ),
            (
                "30 4 * * *",
                "2026-11-22T04:29:59.999Z",
                "2026-11-22T04:30:00.000Z",
            ),
            (
                "30 4 * * *",
                "2026-11-22T04:30:00.000Z",
                "2026-11-23T04:30:00.000Z",
            ),
            (
                "*/15 8-9 * * *",
                "2026-11-22T08:45:00.000Z",
                "2026-11-22T09:00:00.000Z",
            ),
            (
                "5/20 0 * * *",
                "2026-11-22T00:05:00.000Z",
                "2026-11-22T00:25:00.000Z",
            ),
            (
                "0 0 1 1 *",
                "2026-11-22T00:00:00.000Z",
                "2027-01-01T00:00:00.000Z",
            ),
            (
                "0 0 29 2 *",
                "2026-11-22T00:00:00.000Z",
                "2028-02-29T00:00:00.000Z",
            ),
            // 2026-11-22 is a Sunday.
            (
                "0 0 * * 0",
                "2026-11-21T00:00:00.000Z",
                "2026-11-22T00:00:00.000Z",
            ),
            (
                "0 0 * * 7",
                "2026-11-22T00:00:00.000Z",
                "2026-11-29T00:00:00.000Z",
            ),
            (
                "0 0 * * 1-5",
                "2026-11-21T00:00:00.000Z",
                "2026-11-23T00:00:00.000Z",
            ),
            // Where both days are restricted, either will do.
            (
                "0 0 24 * 5",
                "2026-11-22T00:00:00.000Z",
                "2026-11-24T00:00:00.000Z",
            ),
            (
                "0 0 24 * 5",
                "2026-11-24T00:00:00.000Z",
                "2026-11-27T00:00:00.000Z",
            ),
            (
                "0 0 */2 * 1",
                "2026-11-22T00:00:00.000Z",
                "2026-11-23T00:00:00.000Z",
            ),
            (
                "0,30 1,2 * 3,12 *",
                "2026-11-22T00:00:00.000Z",
                "2026-12-01T01:00:00.000Z",
            ),
        ] {
            let next = Cron::parse(cron).unwrap().next(timestamp(after), &TimeZone::UTC);
            assert_eq!(next, Some(timestamp(expected)), "{cron} after {after}");
        }
    }

    #[test]
    fn clocks_that_change_are_followed() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let next = |cron: &str, after: &str| Cron::parse(cron).unwrap().next(timestamp(after), &zone);
        // 02:30 does not exist on 2026-03-29: it is due right after the gap, once.
        let spring = next("30 2 * * *", "2026-03-28T12:00:00.000Z");
        assert_eq!(spring, Some(timestamp("2026-03-29T01:30:00.000Z")));
        let day_after = next("30 2 * * *", "2026-03-29T01:30:00.000Z");
        assert_eq!(day_after, Some(timestamp("2026-03-30T00:30:00.000Z")));
        // 02:30 comes twice on 2026-10-25.
        let autumn = next("30 2 * * *", "2026-10-24T12:00:00.000Z");
        assert_eq!(autumn, Some(timestamp("2026-10-25T00:30:00.000Z")));
        let once = next("30 2 * * *", "2026-10-25T00:30:00.000Z");
        assert_eq!(once, Some(timestamp("2026-10-26T01:30:00.000Z")));
    }

    #[test]
    fn what_is_no_schedule_is_refused_with_a_reason() {
        for (text, reason) in [
            ("", "give minute, hour"),
            ("* * * *", "give minute, hour"),
            ("* * * * * *", "give minute, hour"),
            ("60 * * * *", "`60` is no minute: give numbers from 0 to 59"),
            ("* 24 * * *", "`24` is no hour"),
            ("* * 0 * *", "`0` is no day of the month"),
            ("* * * 13 *", "`13` is no month"),
            ("* * * * 8", "`8` is no day of the week"),
            ("5-1 * * * *", "`5-1` is no minute"),
            ("*/0 * * * *", "`*/0` is no minute"),
            ("1,,2 * * * *", "`` is no minute"),
            ("+1 * * * *", "`+1` is no minute"),
            ("a * * * *", "`a` is no minute"),
            ("0 0 31 2 *", "never due"),
        ] {
            let error = Cron::parse(text).unwrap_err().to_string();
            assert!(error.contains(reason), "{text:?}: {error}");
        }
    }
}
