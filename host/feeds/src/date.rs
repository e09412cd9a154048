//! Dates of feeds.

use jiff::civil;
use jiff::tz::Offset;

/// Unix milliseconds of a date as feeds write it (RFC 2822 or RFC 3339, with the usual liberties); none where it is no date.
/// A time without a zone, or with one that nobody knows, counts as UTC.
pub fn unix_ms(text: &str) -> Option<i64> {
    let text = text.trim();
    if text.len() > 64 || !text.is_ascii() {
        return None;
    }
    let (date, zone) = iso(text).or_else(|| mail(text))?;
    let moment = Offset::from_seconds(zone * 60).ok()?.to_timestamp(date).ok()?;
    Some(moment.as_millisecond()).filter(|at| *at >= 0)
}

/// `2024-05-01T10:00:00.5+02:00`
fn iso(text: &str) -> Option<(civil::DateTime, i32)> {
    let (date, rest) = text.split_at_checked(10)?;
    let mut parts = date.split(['-', '/']);
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if year.len() != 4 || parts.next().is_some() {
        return None;
    }
    let rest = rest.trim_start_matches(['T', 't', ' ']);
    let end = rest.find(|c: char| !(c.is_ascii_digit() || matches!(c, ':' | '.' | ',')));
    let (time, zone) = rest.split_at(end.unwrap_or(rest.len()));
    let date = date_time(number(year)?, number(month)?, number(day)?, clock(time)?)?;
    Some((date, offset(zone.trim())?))
}

/// `Wed, 01 May 2024 10:00:00 +0200`
fn mail(text: &str) -> Option<(civil::DateTime, i32)> {
    let text = text.split_once(',').map_or(text, |(_, rest)| rest);
    let mut words = text.split([' ', '-', '\t']).filter(|word| !word.is_empty());
    let mut first = words.next()?;
    // The name of the day, without its comma.
    if !first.as_bytes()[0].is_ascii_digit() {
        first = words.next()?;
    }
    let day = number(first)?;
    let month = month(words.next()?)?;
    let year = match number(words.next()?)? {
        year @ 0..=49 => year + 2000,
        year @ 50..=99 => year + 1900,
        year => year,
    };
    let time = clock(words.next().unwrap_or(""))?;
    // A zone west of Greenwich lost its sign to the split; it is looked for in the text.
    let zone = text.rsplit(' ').next().unwrap_or("");
    let zone = if zone.contains(':') && !zone.starts_with(['+', '-']) || words.next().is_none() {
        ""
    } else {
        zone
    };
    Some((date_time(year, month, day, time)?, offset(zone)?))
}

fn number(text: &str) -> Option<i32> {
    let is_number = !text.is_empty() && text.len() <= 6 && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// Hour, minute and second; none of them is midnight.
fn clock(text: &str) -> Option<(i32, i32, i32)> {
    if text.is_empty() {
        return Some((0, 0, 0));
    }
    let text = text.split(['.', ',']).next()?;
    let mut parts = text.split(':');
    let (hour, minute) = (number(parts.next()?)?, number(parts.next()?)?);
    let second = parts.next().map_or(Some(0), number)?;
    parts.next().is_none().then_some((hour, minute, second))
}

fn month(name: &str) -> Option<i32> {
    const MONTHS: &str = "janfebmaraprmayjunjulaugsepoctnovdec";
    let name = name.get(..3)?.to_ascii_lowercase();
    let at = MONTHS.find(&name)?;
    (at % 3 == 0).then_some(at as i32 / 3 + 1)
}

fn date_time(year: i32, month: i32, day: i32, time: (i32, i32, i32)) -> Option<civil::DateTime> {
    let small = |number: i32| i8::try_from(number).ok();
    // A leap second is the one before it.
    let second = small(if time.2 == 60 { 59 } else { time.2 })?;
    let date = civil::Date::new(i16::try_from(year).ok()?, small(month)?, small(day)?).ok()?;
    let time = civil::Time::new(small(time.0)?, small(time.1)?, second, 0).ok()?;
    Some(date.to_datetime(time))
}

/// Minutes east of Greenwich.
fn offset(zone: &str) -> Option<i32> {
    let sign = match zone.bytes().next() {
        None => return Some(0),
        Some(b'+') => 1,
        Some(b'-') => -1,
        Some(_) => {
            return Some(match zone.to_ascii_uppercase().as_str() {
                "EST" | "CDT" => -300,
                "EDT" => -240,
                "CST" | "MDT" => -360,
                "MST" | "PDT" => -420,
                "PST" => -480,
                "CET" | "BST" => 60,
                "CEST" | "EET" => 120,
                "EEST" | "MSK" => 180,
                _ => 0,
            });
        }
    };
    let digits: String = zone[1..].chars().filter(char::is_ascii_digit).collect();
    let (hours, minutes) = match digits.len() {
        1 | 2 => (number(&digits)?, 0),
        4 => (number(&digits[..2])?, number(&digits[2..])?),
        _ => return None,
    };
    Some(sign * (hours * 60 + minutes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_feeds_are_read() {
        const MAY: i64 = 1_714_550_400_000;
        for text in [
            "Wed, 01 May 2024 08:00:00 +0000",
            "Wed, 01 May 2024 08:00:00 -0000",
            "Wed, 01 May 2024 10:00:00 +0200",
            "Wed, 01 May 2024 03:30:00 -0430",
            "Wed 01 May 2024 08:00:00 GMT",
            "1 May 2024 08:00 GMT",
            "01-May-2024 08:00:00",
            "Mon, 1 May 24 04:00:00 EDT",
            "Wednesday, 1 May 2024 08:00:00",
            "2024-05-01T08:00:00Z",
            "2024-05-01T10:00:00.250+02:00",
            "2024-05-01 08:00:00",
            "2024/05/01 08:00:00",
            " 2024-05-01T03:30:00-04:30 ",
        ] {
            assert_eq!(unix_ms(text), Some(MAY), "{text}");
        }
        assert_eq!(unix_ms("2024-02-29"), Some(1_709_164_800_000));
        assert_eq!(unix_ms("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            ",",
            "yesterday",
            "2024-13-01T00:00:00Z",
            "2023-02-29T00:00:00Z",
            "32 May 2024 00:00:00 GMT",
            "Wed, 01 Foo 2024 00:00:00 GMT",
            "2024-05-01T25:00:00Z",
            "2024-05-01T10:00:61Z",
            "2024-05-01T10:00:00+2:0:0",
            "2024-05-01T10:00:00+99:00",
            "1 \u{4e94}\u{6708} 2024",
            "999999999 May 2024 00:00:00",
            "0001-01-01T00:00:00Z",
        ] {
            assert_eq!(unix_ms(text), None, "{text}");
        }
    }
}
