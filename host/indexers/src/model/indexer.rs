//! Configured indexers.

use qm_kernel::Timestamp;
use qm_ports::indexer::{Caps, Query};
use url::Url;

use super::health::Health;
use super::import::Origin;

/// Largest number of indexers.
pub const MAX_INDEXERS: u64 = 500;
pub const MAX_NAME: usize = 120;
pub const MAX_URL: usize = 2048;
pub const MAX_KEY: usize = 512;
pub const MAX_CATEGORIES: usize = 64;
pub const MAX_PRIORITY: i64 = 100;
pub const TIMEOUT_MS: std::ops::RangeInclusive<i64> = 1000..=120_000;
/// Allowed requests per minute and indexer.
pub const PACE: std::ops::RangeInclusive<i64> = 1..=600;

pub const DEFAULT_IMPLEMENTATION: &str = "torznab";
pub const DEFAULT_CATEGORIES: [u32; 3] = [5000, 5030, 5040];
pub const DEFAULT_PRIORITY: i64 = 25;
pub const DEFAULT_TIMEOUT_MS: i64 = 15_000;
pub const DEFAULT_PACE: i64 = 30;
pub const PROTOCOLS: &[&str] = &["torrent", "usenet"];

/// Result of the last test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    Ok,
    Error,
    #[default]
    Unknown,
}

impl Status {
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Error => "error",
            Status::Unknown => "unknown",
        }
    }

    /// Parses the stored word; an unknown word counts as never tested.
    pub fn named(word: &str) -> Self {
        match word {
            "ok" => Status::Ok,
            "error" => Status::Error,
            _ => Status::Unknown,
        }
    }
}

/// A configured indexer; its secrets are encrypted.
#[derive(Clone, Debug, PartialEq)]
pub struct Indexer {
    pub id: String,
    pub name: String,
    /// Id of the protocol.
    pub implementation: String,
    /// `torrent` or `usenet`.
    pub protocol: String,
    pub base_url: String,
    /// Encrypted.
    pub api_key: Option<String>,
    /// Encrypted JSON object: protocol-specific configuration beside URL and key.
    pub config: Option<String>,
    pub is_enabled: bool,
    /// The lower, the earlier.
    pub priority: i64,
    pub categories: Vec<u32>,
    /// Releases that are known to have fewer are left out of searches across indexers.
    pub min_seeders: Option<u32>,
    pub timeout_ms: u32,
    /// Requests that it gets in a minute.
    pub requests_per_minute: u32,
    /// Capabilities from the last successful test.
    pub capabilities: Option<Caps>,
    pub status: Status,
    pub status_message: Option<String>,
    pub last_tested_at: Option<Timestamp>,
    pub health: Health,
    /// Source of an imported indexer; `None`: created by a user.
    pub origin: Option<Origin>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Indexer {
    /// True if it accepts season and episode of the query as numbers; assumed for one that was never tested.
    pub fn searches_tv(&self, query: &Query) -> bool {
        self.capabilities
            .as_ref()
            .is_none_or(|caps| takes_numbers(caps, query))
    }

    /// True for a link to the indexer's own origin.
    pub fn owns(&self, link: &Url) -> bool {
        Url::parse(&self.base_url).is_ok_and(|base| base.origin() == link.origin())
    }

    /// Error sentence for a failed request.
    pub fn complaint(&self, reason: impl std::fmt::Display) -> String {
        format!("Indexer \"{}\" request failed: {reason}", self.name)
    }
}

/// True if its TV search accepts every parameter of the query. An empty list of parameters accepts all.
fn takes_numbers(caps: &Caps, query: &Query) -> bool {
    let listed = &caps.supported_params;
    let takes = |name: &str| listed.is_empty() || listed.iter().any(|param| param.eq_ignore_ascii_case(name));
    caps.tv_search
        && (query.term.trim().is_empty() || takes("q"))
        && (query.season.is_none() || takes("season"))
        && (query.episode.is_none() || takes("ep"))
}

/// True for a valid base URL: http or https, with a host and without credentials.
pub fn is_base_url(text: &str) -> bool {
    Url::parse(text.trim()).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.host_str().is_some_and(|host| !host.is_empty())
            && url.username().is_empty()
            && url.password().is_none()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn television_is_searched_by_the_parameters_that_are_taken() {
        let query = |season, episode| Query {
            term: "Harbor Nine".to_owned(),
            season,
            episode,
            ..Query::default()
        };
        let caps = |params: &[&str]| Caps {
            tv_search: true,
            supported_params: params.iter().map(|param| (*param).to_owned()).collect(),
            ..Caps::default()
        };
        for (params, season, episode, expected) in [
            (&["q", "season", "ep"][..], Some(1), Some(2), true),
            (&["Q", "Season", "EP"], Some(1), Some(2), true),
            (&[], Some(1), Some(2), true),
            (&["q"], None, None, true),
            (&["q"], Some(1), None, false),
            (&["q", "season"], Some(1), Some(2), false),
            (&["tvdbid", "season", "ep"], Some(1), Some(2), false),
        ] {
            assert_eq!(
                takes_numbers(&caps(params), &query(season, episode)),
                expected,
                "{params:?}"
            );
        }
    }

    #[test]
    fn urls_of_indexers() {
        for good in [
            "http://prowlarr:9696/1/api",
            "https://indexer.test",
            " http://10.0.0.2:9117/api/v2?x=1 ",
        ] {
            assert!(is_base_url(good), "{good}");
        }
        for bad in [
            "",
            "indexer.test",
            "ftp://indexer.test",
            "http://",
            "http://u:p@indexer.test",
            "magnet:?xt=x",
        ] {
            assert!(!is_base_url(bad), "{bad}");
        }
    }
}
