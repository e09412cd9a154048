//! Instants: unix milliseconds inside and in the database, ISO 8601 UTC with milliseconds on the wire.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An instant as unix milliseconds. Written to JSON as `2031-04-02T09:15:00.000Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    pub const fn from_ms(ms: i64) -> Self {
        Self(ms)
    }

    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(1000))
    }

    pub const fn ms(self) -> i64 {
        self.0
    }

    pub const fn secs(self) -> i64 {
        self.0.div_euclid(1000)
    }

    pub fn plus(self, duration: Duration) -> Self {
        Self(
            self.0
                .saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)),
        )
    }

    pub fn minus(self, duration: Duration) -> Self {
        Self(
            self.0
                .saturating_sub(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)),
        )
    }

    /// Duration since `earlier`; zero when `earlier` is later.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0).max(0) as u64)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An instant outside the calendar's range (from an invalid client) shows as its nearest end.
        let clamped = jiff::Timestamp::from_millisecond(self.0).unwrap_or(if self.0 < 0 {
            jiff::Timestamp::UNIX_EPOCH
        } else {
            jiff::Timestamp::MAX
        });
        write!(f, "{clamped:.3}")
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        let instant: jiff::Timestamp = text.parse().map_err(serde::de::Error::custom)?;
        Ok(Self(instant.as_millisecond()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_form_has_milliseconds_and_a_z() {
        let instant = Timestamp::from_ms(1_932_628_500_000);
        assert_eq!(
            serde_json::to_string(&instant).ok().as_deref(),
            Some("\"2031-03-30T09:15:00.000Z\"")
        );
        assert_eq!(
            serde_json::from_str::<Timestamp>("\"2031-03-30T09:15:00.000Z\"").ok(),
            Some(instant)
        );
    }

    #[test]
    fn instants_outside_the_calendar_do_not_panic() {
        assert!(!Timestamp::from_ms(i64::MAX).to_string().is_empty());
        assert!(!Timestamp::from_ms(i64::MIN).to_string().is_empty());
    }
}
