//! Time zones by their IANA names. The database is part of the program: every machine knows the same names, one
//! without any zones installed too.

use std::sync::LazyLock;

pub use jiff::tz::TimeZone;
use jiff::tz::TimeZoneDatabase;

static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// A text that is no time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownZone;

/// Parses a user's choice: `Ok(None)` follows the device (empty, or `auto` in any case), `Ok(Some)` is a zone
/// in canonical spelling, `Err` an unknown name.
pub fn choose(text: &str) -> Result<Option<String>, UnknownZone> {
    let name = text.trim();
    if name.is_empty() || name.eq_ignore_ascii_case("auto") {
        return Ok(None);
    }
    if is_bare_offset(name) {
        return Err(UnknownZone);
    }
    let zone = ZONES.get(name).map_err(|_| UnknownZone)?;
    zone.iana_name()
        .map(|name| Some(name.to_owned()))
        .ok_or(UnknownZone)
}

/// The zone of that name; this machine's zone if none was chosen, or the name is unknown.
pub fn zone(name: Option<&str>) -> TimeZone {
    let named = name.and_then(|name| ZONES.get(name).ok());
    named.unwrap_or_else(TimeZone::system)
}

/// True when `text` is the name of a zone, in any case.
pub fn is_zone(text: &str) -> bool {
    matches!(choose(text), Ok(Some(_)))
}

/// `+02:00`, `GMT-5`, `UTC+1`: the database knows some of these under old names, but they are no places.
fn is_bare_offset(name: &str) -> bool {
    let rest = ["GMT", "UTC"]
        .iter()
        .find_map(|prefix| {
            name.get(..prefix.len())
                .filter(|start| start.eq_ignore_ascii_case(prefix))
                .map(|_| &name[prefix.len()..])
        })
        .unwrap_or(name);
    rest.starts_with(['+', '-'])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn zones_are_known_and_spelt_as_the_database_does() {
        for name in [
            "Europe/Berlin",
            "America/Argentina/Buenos_Aires",
            "Asia/Kolkata",
            "Etc/GMT+5",
            "UTC",
            "GMT",
            "EST5EDT",
        ] {
            assert_eq!(choose(name), Ok(Some(name.to_owned())));
        }
        assert_eq!(choose(" europe/berlin "), Ok(Some("Europe/Berlin".to_owned())));
    }

    #[test]
    fn the_device_decides_when_nothing_is_named() {
        for text in ["", "  ", "auto", "AUTO", "Auto"] {
            assert_eq!(choose(text), Ok(None), "{text:?}");
        }
    }

    #[test]
    fn a_zone_without_a_name_is_that_of_the_machine() {
        assert_eq!(zone(Some("Asia/Kolkata")).iana_name(), Some("Asia/Kolkata"));
        assert_eq!(zone(None), TimeZone::system());
        assert_eq!(zone(Some("Mars/Olympus")), TimeZone::system());
    }

    #[test]
    fn offsets_and_nonsense_are_refused() {
        for text in [
            "-04:00",
            "+02:00",
            "-4",
            "GMT+2",
            "gmt-0",
            "UTC-5",
            "utc+1",
            "Mars/Olympus",
            "Europe",
            "../etc/passwd",
            "Europe/Berlin\0",
            "posix/Europe/Berlin",
            "é",
        ] {
            assert_eq!(choose(text), Err(UnknownZone), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn hostile_texts_never_panic(text in ".*") {
            let _ = choose(&text);
        }
    }
}
