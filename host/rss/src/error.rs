//! Errors of this area and the answer that the caller gets for each.

use qm_db::DbError;
use qm_kernel::ErrorKind;
use qm_lanes::LaneError;
use qm_matching::DraftError;
use qm_platform::ActingError;
use qm_web::{ApiError, lane_code, lane_kind};

use crate::model::feed::MAX_FEEDS;
use crate::model::rule::MAX_RULES;

#[derive(Debug, thiserror::Error)]
pub enum RssError {
    #[error("Unknown RSS feed: {0}")]
    NoSuchFeed(String),
    /// Error with the wording of the export routes.
    #[error("Feed not found")]
    FeedNotFound,
    #[error("Unknown RSS rule: {0}")]
    NoSuchRule(String),
    /// Error with the wording of the routes below a rule.
    #[error("RSS rule not found")]
    RuleNotFound,
    /// The request body names a feed that does not exist.
    #[error("Unknown RSS feed: {0}")]
    UnknownFeed(String),
    #[error("RSS match candidate not found")]
    NoSuchCandidate,
    #[error("RSS history item not found")]
    NoSuchItem,
    #[error("Could not fetch feed: {0}")]
    Fetch(String),
    #[error("A rule named \"{0}\" already exists. Rule names must be unique.")]
    NameTaken(String),
    #[error(
        "That path is already used by the rule \"{0}\". Choose another one, or leave it empty for the engine's own."
    )]
    PathTaken(String),
    /// Refused save path, with the sentence of the torrents area: blank, outside the roots, or a system
    /// directory.
    #[error("{0}")]
    Path(String),
    #[error("Unknown storage profile: {0}. There are none before the media library is set up.")]
    NoSuchProfile(String),
    #[error(transparent)]
    Candidate(#[from] DraftError),
    #[error("orderedIds must be an array")]
    NoOrder,
    #[error("orderedIds must name each candidate of the rule once: {0}")]
    Order(String),
    #[error("Provide sample titles")]
    NoTitles,
    #[error("Provide candidateId or candidate")]
    NoCandidate,
    #[error("torrentName is required")]
    NoTorrentName,
    #[error("No candidates to apply")]
    NothingToApply,
    #[error("Not a valid Quartermaster RSS export")]
    NoBundle,
    #[error("This item has no download link")]
    NoLink,
    #[error("Download failed: {0}")]
    Download(String),
    /// The torrent still exists, and a reset would delete it with its data.
    #[error("Missing permission(s): torrents.delete_data")]
    MayNotDelete,
    #[error("The torrent could not be removed: {0}")]
    Removal(String),
    #[error("There are {0} feeds, and {MAX_FEEDS} are the most: delete one first")]
    TooManyFeeds(u64),
    #[error("There are {0} rules, and {MAX_RULES} are the most: delete one first")]
    TooManyRules(u64),
    /// The show has ended or was cancelled, so a rule on it is refused.
    #[error("{0}")]
    InactiveShow(String),
    #[error("Missing permission(s): rss.show_status.override")]
    MayNotOverride,
    /// The token still allows it, but the user has lost the permission.
    #[error(transparent)]
    Acting(#[from] ActingError),
    #[error(transparent)]
    Lane(#[from] LaneError),
    #[error(transparent)]
    Database(#[from] DbError),
}

impl RssError {
    pub const fn kind(&self) -> ErrorKind {
        match self {
            RssError::NoSuchFeed(_)
            | RssError::FeedNotFound
            | RssError::NoSuchRule(_)
            | RssError::NoSuchCandidate
            | RssError::NoSuchItem => ErrorKind::NotFound,
            RssError::RuleNotFound
            | RssError::UnknownFeed(_)
            | RssError::Fetch(_)
            | RssError::NameTaken(_)
            | RssError::PathTaken(_)
            | RssError::Path(_)
            | RssError::NoSuchProfile(_)
            | RssError::Candidate(_)
            | RssError::NoOrder
            | RssError::Order(_)
            | RssError::NoTitles
            | RssError::NoCandidate
            | RssError::NoTorrentName
            | RssError::NothingToApply
            | RssError::NoBundle
            | RssError::NoLink
            | RssError::Download(_)
            | RssError::InactiveShow(_) => ErrorKind::BadRequest,
            RssError::MayNotDelete | RssError::MayNotOverride => ErrorKind::Forbidden,
            RssError::Removal(_) => ErrorKind::Upstream,
            RssError::TooManyFeeds(_) | RssError::TooManyRules(_) => ErrorKind::Conflict,
            RssError::Acting(error) => error.kind(),
            RssError::Lane(error) => lane_kind(error),
            RssError::Database(error) => error.kind(),
        }
    }

    /// Stable machine-readable word in `code` of the answer; never changes.
    pub const fn code(&self) -> &'static str {
        match self {
            RssError::NoSuchFeed(_) | RssError::FeedNotFound => "not_found.rss_feed",
            RssError::NoSuchRule(_) => "not_found.rss_rule",
            RssError::NoSuchCandidate => "not_found.rss_candidate",
            RssError::NoSuchItem => "not_found.rss_item",
            RssError::RuleNotFound => "bad_request.rss_rule",
            RssError::UnknownFeed(_) => "bad_request.rss_feed",
            RssError::Fetch(_) => "bad_request.rss_fetch",
            RssError::NameTaken(_) => "bad_request.rule_name_taken",
            RssError::PathTaken(_) => "bad_request.rule_path_taken",
            RssError::Path(_) => "bad_request.path",
            RssError::NoSuchProfile(_) => "bad_request.storage_profile",
            RssError::Candidate(error) => match error {
                DraftError::NoName => "bad_request.candidate_name",
                DraftError::NoMatchType | DraftError::MatchType(_) => "bad_request.match_type",
                DraftError::Field(_) => "bad_request.candidate",
                DraftError::TooMany(_) => "bad_request.too_many_candidates",
            },
            RssError::NoOrder | RssError::Order(_) => "bad_request.candidate_order",
            RssError::NoTitles => "bad_request.titles",
            RssError::NoCandidate => "bad_request.no_candidate",
            RssError::NoTorrentName => "bad_request.torrent_name",
            RssError::NothingToApply => "bad_request.no_candidates",
            RssError::NoBundle => "bad_request.rss_export",
            RssError::NoLink => "bad_request.no_download_link",
            RssError::Download(_) => "bad_request.download_failed",
            RssError::MayNotDelete | RssError::MayNotOverride => "forbidden.permission",
            RssError::Removal(_) => "upstream.removal",
            RssError::TooManyFeeds(_) => "conflict.too_many_feeds",
            RssError::TooManyRules(_) => "conflict.too_many_rules",
            RssError::InactiveShow(_) => "bad_request.inactive_show",
            RssError::Acting(error) => error.code(),
            RssError::Lane(error) => lane_code(error),
            RssError::Database(error) => error.kind().code(),
        }
    }
}

impl From<RssError> for ApiError {
    fn from(error: RssError) -> Self {
        ApiError::new(error.kind(), error.to_string())
            .with_code(error.code())
            .with_source(error)
    }
}
