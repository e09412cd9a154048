//! Feeds, and their polling times.

use std::time::Duration;

use qm_kernel::Timestamp;
use url::Url;

/// Default seconds between two requests of a feed.
pub const DEFAULT_INTERVAL: i64 = 900;
pub const MIN_INTERVAL: i64 = 60;
pub const MAX_INTERVAL: i64 = 604_800;
/// Longest pause in seconds after a failure, unless the site asked for another.
const MAX_PAUSE: i64 = 900;
/// Largest number of characters of a name.
pub const MAX_NAME: usize = 200;
/// Largest number of characters of an address.
pub const MAX_URL: usize = 2048;
/// Largest number of feeds.
pub const MAX_FEEDS: u64 = 1000;

/// A feed that is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feed {
    pub id: String,
    pub name: String,
    pub url: String,
    /// Seconds between two requests.
    pub refresh_interval: i64,
    pub is_enabled: bool,
    pub last_fetched_at: Option<Timestamp>,
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    /// Earliest time of the next request; `None`: at once.
    pub next_fetch_at: Option<Timestamp>,
    /// Consecutive failures.
    pub failures: i64,
    pub last_error: Option<String>,
    pub warnings: Vec<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Feed {
    /// A new enabled feed without an id that was never fetched.
    pub fn new(name: String, url: String, refresh_interval: i64, now: Timestamp) -> Self {
        Self {
            id: String::new(),
            name,
            url,
            refresh_interval,
            is_enabled: true,
            last_fetched_at: None,
            etag: None,
            last_modified: None,
            next_fetch_at: None,
            failures: 0,
            last_error: None,
            warnings: Vec::new(),
            created_at: now,
            updated_at: now,
        }
    }

    /// The site of the feed; all feeds of a site share one request at a time.
    pub fn host(&self) -> String {
        host_of(&self.url)
    }

    /// Applies a change. A new address discards everything learned from the old one.
    pub fn apply(&mut self, change: FeedChange) {
        if let Some(name) = change.name {
            self.name = name;
        }
        if let Some(url) = change.url
            && url != self.url
        {
            self.url = url;
            (self.etag, self.last_modified) = (None, None);
            self.begin_anew();
        }
        if let Some(interval) = change.refresh_interval
            && interval != self.refresh_interval
        {
            self.refresh_interval = interval;
            self.next_fetch_at = self
                .last_fetched_at
                .filter(|_| self.failures == 0)
                .map(|at| at.plus(seconds(interval)));
        }
        if let Some(is_enabled) = change.is_enabled {
            if is_enabled && !self.is_enabled {
                self.begin_anew();
            }
            self.is_enabled = is_enabled;
        }
    }

    fn begin_anew(&mut self) {
        self.next_fetch_at = None;
        self.failures = 0;
        self.last_error = None;
    }

    /// Time of the next request after a success. `chance` spreads feeds with the same interval, by up to a
    /// tenth of it and at most a minute.
    pub fn after_success(&self, now: Timestamp, chance: u32) -> Timestamp {
        let spread = (self.refresh_interval * 100).min(60_000);
        let jitter = i64::from(chance) * spread / i64::from(u32::MAX);
        now.plus(seconds(self.refresh_interval))
            .plus(Duration::from_millis(jitter.unsigned_abs()))
    }

    /// Time of the next request after a failure; `asked` is the pause in seconds that the site asked for.
    pub fn after_failure(&self, now: Timestamp, asked: Option<u32>) -> Timestamp {
        let usual = self.refresh_interval.min(MAX_PAUSE);
        now.plus(seconds(usual.max(asked.map_or(0, i64::from))))
    }
}

pub fn seconds(seconds: i64) -> Duration {
    Duration::from_secs(seconds.unsigned_abs())
}

/// Host and port of an address; an invalid address is its own host.
pub fn host_of(url: &str) -> String {
    Url::parse(url)
        .ok()
        .and_then(|url| {
            let host = url.host_str()?.to_ascii_lowercase();
            Some(format!("{host}:{}", url.port_or_known_default()?))
        })
        .unwrap_or_default()
}

/// True for an http or https address with a host.
pub fn is_address(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some())
}

/// Changes of a feed; `None` leaves a field as it is.
#[derive(Clone, Debug, Default)]
pub struct FeedChange {
    pub name: Option<String>,
    pub url: Option<String>,
    pub refresh_interval: Option<i64>,
    pub is_enabled: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn feed(interval: i64) -> Feed {
        Feed {
            id: "f".into(),
            etag: Some("e".into()),
            ..Feed::new(
                "Main".into(),
                "https://feeds.test/rss?passkey=1".into(),
                interval,
                Timestamp::from_ms(0),
            )
        }
    }

    #[test]
    fn a_success_waits_for_the_interval_and_a_little() {
        let now = Timestamp::from_secs(1000);
        for (interval, chance, expected) in [
            (900, 0, 1_900_000),
            (900, u32::MAX, 1_960_000),
            (60, u32::MAX, 1_066_000),
            (604_800, u32::MAX, 605_860_000),
        ] {
            assert_eq!(
                feed(interval).after_success(now, chance).ms(),
                expected,
                "{interval}"
            );
        }
    }

    #[test]
    fn a_failure_waits_for_a_quarter_of_an_hour_at_most_or_as_long_as_the_site_asks() {
        let now = Timestamp::from_secs(1000);
        for (interval, asked, expected) in [
            (60, None, 1060),
            (86_400, None, 1900),
            (60, Some(7200), 8200),
            (900, Some(5), 1900),
        ] {
            assert_eq!(
                feed(interval).after_failure(now, asked).secs(),
                expected,
                "{interval} {asked:?}"
            );
        }
    }

    #[test]
    fn another_address_begins_anew_and_the_same_one_does_not() {
        let mut changed = feed(900);
        changed.failures = 3;
        changed.next_fetch_at = Some(Timestamp::from_secs(9));
        let same = changed.clone();
        changed.apply(FeedChange {
            url: Some(same.url.clone()),
            ..FeedChange::default()
        });
        assert_eq!(changed, same);
        changed.apply(FeedChange {
            url: Some("https://other.test/".into()),
            ..FeedChange::default()
        });
        assert_eq!(
            (changed.etag, changed.failures, changed.next_fetch_at),
            (None, 0, None)
        );
    }

    #[test]
    fn feeds_of_one_site_share_its_host() {
        assert_eq!(host_of("https://Feeds.test/a?x=1"), "feeds.test:443");
        assert_eq!(host_of("http://feeds.test:8080/a"), "feeds.test:8080");
        assert_eq!(host_of("nonsense"), "");
        for (url, good) in [
            ("https://feeds.test/rss", true),
            ("http://aggregator:9117/x", true),
            ("ftp://feeds.test/", false),
            ("feeds.test/rss", false),
            ("", false),
        ] {
            assert_eq!(is_address(url), good, "{url}");
        }
    }
}
