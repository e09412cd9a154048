//! Shows and whether they still air: providers that know shows, the questions that rules ask, and the news that rules
//! get.
//!
//! [`ShowProvider`] is one source of shows. [`ShowStatuses`] is asked by an area with rules before it stores one. By
//! [`ShowRules`] such an area hears that a show has ended, or airs again.

use async_trait::async_trait;
use qm_kernel::Timestamp;
use serde::{Deserialize, Serialize};

/// Seconds that a provider is given for one answer.
pub const PATIENCE_SECS: u64 = 8;

/// A show that a provider has for a title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShowHit {
    /// The provider's own.
    pub id: String,
    pub title: String,
    /// The year of the first episode.
    pub year: Option<u32>,
}

/// A provider's knowledge of a show. Dates are `YYYY-MM-DD`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShowDetails {
    pub title: String,
    /// In the provider's words, e.g. `Returning Series`.
    pub status: Option<String>,
    /// The year of the last episode, where the provider says that no more will follow.
    pub end_year: Option<u32>,
    /// A series of which more episodes may follow, as far as its kind tells: no mini-series.
    pub is_running_series: bool,
    pub first_air_date: Option<String>,
    pub last_air_date: Option<String>,
    pub next_episode_air_date: Option<String>,
    pub last_episode_title: Option<String>,
    pub next_episode_title: Option<String>,
    pub total_seasons: Option<u32>,
    pub total_episodes: Option<u32>,
    pub overview: Option<String>,
    pub poster_url: Option<String>,
}

/// Why a provider did not answer: one sentence, without a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ShowError(pub String);

/// A source of shows. Calls never panic and never block a thread; who calls waits [`PATIENCE_SECS`] at most.
#[async_trait]
pub trait ShowProvider: Send + Sync {
    /// `provider_a`, `titledb` or `local`.
    fn id(&self) -> &'static str;

    /// The confidence that its answers deserve, 0 to 1.
    fn confidence(&self) -> f64;

    /// True if it has what it needs: a key, or a data set. One that has not is passed over.
    async fn is_ready(&self) -> bool;

    /// Shows of this title or one like it, the best first. `year` only orders and narrows.
    async fn search(&self, title: &str, year: Option<u32>) -> Result<Vec<ShowHit>, ShowError>;

    /// `None`: there is no show with this id.
    async fn details(&self, id: &str) -> Result<Option<ShowDetails>, ShowError>;
}

/// The status of a show: are more episodes to come?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AiringStatus {
    /// Nobody says that it ended.
    Continuing,
    /// It was renewed.
    Returning,
    /// It was renewed, and has not aired for half a year.
    OnHiatus,
    Ended,
    Canceled,
    /// It has not begun.
    Planned,
    Unknown,
}

impl AiringStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Continuing => "continuing",
            Self::Returning => "returning",
            Self::OnHiatus => "on_hiatus",
            Self::Ended => "ended",
            Self::Canceled => "canceled",
            Self::Planned => "planned",
            Self::Unknown => "unknown",
        }
    }

    /// No more episodes will come.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Ended | Self::Canceled)
    }

    /// The advice on a rule that waits for new episodes of such a show.
    pub const fn recommendation(self) -> Recommendation {
        match self {
            Self::Continuing | Self::Returning | Self::Planned => Recommendation::Recommended,
            Self::OnHiatus => Recommendation::Caution,
            Self::Ended | Self::Canceled => Recommendation::NotRecommended,
            Self::Unknown => Recommendation::Unknown,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recommendation {
    Recommended,
    Caution,
    NotRecommended,
    Unknown,
}

impl Recommendation {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Recommended => "recommended",
            Self::Caution => "caution",
            Self::NotRecommended => "not_recommended",
            Self::Unknown => "unknown",
        }
    }
}

/// The state of its show that a rule keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShowSnapshot {
    pub provider: String,
    /// The provider's own.
    pub provider_show_id: String,
    /// `None` where nobody could say.
    pub title: Option<String>,
    pub status: AiringStatus,
    pub recommendation: Recommendation,
    /// Dates are `YYYY-MM-DD`.
    pub first_air_date: Option<String>,
    pub last_air_date: Option<String>,
    pub next_episode_air_date: Option<String>,
    /// Words, e.g. `status_unconfirmed`.
    pub warnings: Vec<String>,
    pub checked_at: Timestamp,
}

/// The decision on storing a rule about a show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// More episodes may come, or nobody knows.
    Open,
    /// No more will come, and whoever stores the rule wants it all the same. That takes `rss.show_status.override`.
    Overridden,
    /// No more will come. The answer is [`ShowSnapshot::warning`].
    Closed,
}

impl ShowSnapshot {
    /// Decides on a rule. `allow_inactive`: its author wants to watch the show although the show is over.
    pub fn gate(&self, allow_inactive: bool) -> Gate {
        match (self.status.is_over(), allow_inactive) {
            (false, _) => Gate::Open,
            (true, true) => Gate::Overridden,
            (true, false) => Gate::Closed,
        }
    }

    /// One sentence on a show that is over, and what to do about it.
    pub fn warning(&self) -> String {
        let title = self.title.as_deref().unwrap_or(&self.provider_show_id);
        format!(
            "\"{title}\" appears to be {}. Confirm that it is to be watched all the same: send allowInactiveShowMonitoring as true.",
            self.status.as_str()
        )
    }
}

/// True if rules of this media type are about shows, so that a show's status concerns them.
pub fn is_about_shows(media_type: &str) -> bool {
    matches!(media_type, "tv" | "anime" | "episode" | "series")
}

/// Knows the status of shows.
#[async_trait]
pub trait ShowStatuses: Send + Sync {
    /// The show as it was read not long ago, or else as its provider tells it now. One that nobody can tell of is
    /// [`AiringStatus::Unknown`], with the warning `status_unconfirmed`. Ends within [`PATIENCE_SECS`] and a little.
    async fn snapshot(&self, provider: &str, provider_show_id: &str) -> ShowSnapshot;

    /// Asks the provider now, and tells rules and everybody else when the status is another one. `None`: there is no such
    /// provider, or it has no such show.
    async fn refresh(
        &self,
        provider: &str,
        provider_show_id: &str,
    ) -> Result<Option<ShowSnapshot>, ShowError>;
}

/// The rules that watch shows, as whoever knows about shows sees them.
#[async_trait]
pub trait ShowRules: Send + Sync {
    /// Stores status, recommendation, `checked_at`, `last_air_date` and `next_episode_air_date` with all rules of this
    /// provider and id, and says how many these are. Never disables one. Called again with the same, it changes nothing.
    async fn show_changed(&self, show: &ShowSnapshot) -> Result<u64, ShowError>;

    /// Provider and id of every show that a rule is about.
    async fn watched(&self) -> Result<Vec<(String, String)>, ShowError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_over_is_held_up() {
        for (status, refused) in [
            (AiringStatus::Continuing, false),
            (AiringStatus::Returning, false),
            (AiringStatus::OnHiatus, false),
            (AiringStatus::Planned, false),
            (AiringStatus::Unknown, false),
            (AiringStatus::Ended, true),
            (AiringStatus::Canceled, true),
        ] {
            let show = ShowSnapshot {
                provider: "provider_a".to_owned(),
                provider_show_id: "81123".to_owned(),
                title: Some("Harbor Nine".to_owned()),
                status,
                recommendation: status.recommendation(),
                first_air_date: None,
                last_air_date: None,
                next_episode_air_date: None,
                warnings: Vec::new(),
                checked_at: Timestamp::from_ms(0),
            };
            let expected = if refused {
                [Gate::Closed, Gate::Overridden]
            } else {
                [Gate::Open, Gate::Open]
            };
            assert_eq!([show.gate(false), show.gate(true)], expected, "{status:?}");
            let begins = format!("\"Harbor Nine\" appears to be {}. Confirm ", status.as_str());
            assert!(show.warning().starts_with(&begins));
        }
        assert!(is_about_shows("anime") && !is_about_shows("movie"));
    }
}
