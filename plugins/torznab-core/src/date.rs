//! Dates of feeds.

/// Unix milliseconds of a date as feeds write it (RFC 2822 or RFC 3339, with the usual liberties); none where it is no date.
pub fn unix_ms(text: &str) -> Option<i64> {
    let text = text.trim();
    if text.len() > 64 || !text.is_ascii() {
        return None;
    }
    iso(text).or_else(|| mail(text))
}

/// `2024-05-01T10:00:00.5+02:00`
fn iso(text: &str) -> Option<i64> {
    let (date, rest) = text.split_at_checked(10)?;
    let mut parts = date.split('-');
    let (year, month, day) = (
        number(parts.next()?)?,
        number(parts.next()?)?,
        number(parts.next()?)?,
    );
    if date.as_bytes().get(4) != Some(&b'-') || parts.next().is_some() {
        return None;
    }
    let rest = rest.trim_start_matches(['T', 't', ' ']);
    if rest.is_empty() {
        return moment(year, month, day, (0, 0, 0), 0);
    }
    let end = rest
        .find(|c: char| !(c.is_ascii_digit() || c == ':' || c == '.'))
        .unwrap_or(rest.len());
    let (time, zone) = rest.split_at(end);
    moment(year, month, day, clock(time)?, offset(zone.trim())?)
}

/// `Wed, 01 May 2024 10:00:00 +0200`
fn mail(text: &str) -> Option<i64> {
    let text = text.split_once(',').map_or(text, |(_, rest)| rest);
    let mut words = text.split_whitespace();
    let day = number(words.next()?)?;
    let month = month(words.next()?)?;
    let year = match number(words.next()?)? {
        year @ 0..=49 => year + 2000,
        year @ 50..=99 => year + 1900,
        year => year,
    };
    let time = words.next().map_or(Some((0, 0, 0)), clock)?;
    moment(year, month, day, time, offset(words.next().unwrap_or(""))?)
}

fn number(text: &str) -> Option<i64> {
    (text.bytes().all(|byte| byte.is_ascii_digit()) && text.len() <= 9)
        .then(|| text.parse().ok())
        .flatten()
}

fn clock(text: &str) -> Option<(i64, i64, i64)> {
    let whole = text.split('.').next()?;
    let mut parts = whole.split(':');
    let (hour, minute) = (number(parts.next()?)?, number(parts.next()?)?);
    let second = parts.next().map_or(Some(0), number)?;
    (hour < 24 && minute < 60 && second < 61 && parts.next().is_none()).then_some((hour, minute, second))
}

fn month(name: &str) -> Option<i64> {
    const MONTHS: &str = "janfebmaraprmayjunjulaugsepoctnovdec";
    let name = name.get(..3)?.to_ascii_lowercase();
    let at = MONTHS.find(&name)?;
    (at % 3 == 0).then_some(at as i64 / 3 + 1)
}

/// Minutes east of Greenwich.
fn offset(zone: &str) -> Option<i64> {
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
                "CEST" => 120,
                // What nobody knows the name of counts as Greenwich, as the mail's own rules have it.
                _ => 0,
            });
        }
    };
    let digits: String = zone[1..].chars().filter(char::is_ascii_digit).collect();
    let (hours, minutes) = match digits.len() {
        2 => (number(&digits)?, 0),
        4 => (number(&digits[..2])?, number(&digits[2..])?),
        _ => return None,
    };
    Some(sign * (hours * 60 + minutes))
}

fn moment(year: i64, month: i64, day: i64, time: (i64, i64, i64), offset: i64) -> Option<i64> {
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Days since 1970 of the proleptic Gregorian calendar, counted in years that begin in March.
    let shifted = if month > 2 { year } else { year - 1 };
    let era = shifted / 400;
    let of_era = shifted - era * 400;
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    let (hour, minute, second) = time;
    Some((days * 86_400 + hour * 3600 + (minute - offset) * 60 + second) * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_feeds_are_read() {
        const MAY: i64 = 1_714_550_400_000;
        for text in [
            "Wed, 01 May 2024 08:00:00 +0000",
            "Wed, 01 May 2024 10:00:00 +0200",
            "1 May 2024 08:00 GMT",
            "Wed, 1 May 24 04:00:00 EDT",
            "2024-05-01T08:00:00Z",
            "2024-05-01T10:00:00.250+02:00",
            "2024-05-01 08:00:00",
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
            "yesterday",
            "2024-13-01T00:00:00Z",
            "32 May 2024 00:00:00 GMT",
            "Wed, 01 Foo 2024 00:00:00 GMT",
            "2024-05-01T25:00:00Z",
            "2024-05-01T10:00:00+2",
            "1 \u{4e94}\u{6708} 2024",
            "99999999999999999999 May 2024 00:00:00",
        ] {
            assert_eq!(unix_ms(text), None, "{text}");
        }
    }
}
