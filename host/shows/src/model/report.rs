//! Status report of a show.

use std::time::Duration;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use qm_kernel::Timestamp;
use qm_ports::shows::{AiringStatus, Recommendation, ShowDetails, ShowSnapshot};
use serde::{Deserialize, Serialize};

use super::title::normalized;

/// Days without an episode after which a renewed show is on hiatus.
const HIATUS_DAYS: i32 = 183;
/// Largest number of characters of a provider's text.
const MAX_WORDS: usize = 300;
const MAX_OVERVIEW: usize = 4000;
const MAX_URL: usize = 2000;

/// Provider name when no provider knows the show.
pub const NOBODY: &str = "none";
/// The service's own library, which only proves that a show exists.
const LIBRARY: &str = "local";

/// No provider could confirm the status.
pub const UNCONFIRMED: &str = "status_unconfirmed";
/// No provider is configured.
pub const NO_PROVIDER: &str = "no_provider_configured";
const LOCAL_ONLY: &str = "local_only";

/// The status of a show, as the interface shows it and the database keeps it. Dates are `YYYY-MM-DD`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShowStatus {
    pub title: String,
    pub normalized_title: String,
    pub provider: String,
    pub provider_show_id: Option<String>,
    /// In the provider's words.
    pub original_status: Option<String>,
    pub normalized_status: AiringStatus,
    pub recommendation: Recommendation,
    /// 0 to 1, with two decimals.
    pub confidence: f64,
    pub first_air_date: Option<String>,
    pub last_air_date: Option<String>,
    pub next_episode_air_date: Option<String>,
    pub last_episode_title: Option<String>,
    pub next_episode_title: Option<String>,
    pub total_seasons: Option<u32>,
    pub total_episodes: Option<u32>,
    pub overview: Option<String>,
    pub poster_url: Option<String>,
    pub warnings: Vec<String>,
}

impl ShowStatus {
    /// Report from a provider's details. `trust` is the provider's confidence; `asked` is used when it
    /// returns no title.
    pub fn known(
        (provider, id): (&str, &str),
        trust: f64,
        asked: &str,
        details: ShowDetails,
        now: Timestamp,
    ) -> Self {
        let status = status(&details, now);
        let is_unknown = status == AiringStatus::Unknown;
        let trust = if is_unknown { trust / 2.0 } else { trust };
        let mut warnings = Vec::new();
        if is_unknown {
            warnings.push(UNCONFIRMED.to_owned());
        }
        if provider == LIBRARY {
            warnings.push(LOCAL_ONLY.to_owned());
        }
        let title = match details.title.trim() {
            "" => asked.to_owned(),
            title => clip(title, MAX_WORDS),
        };
        let words = |text: Option<String>| text.map(|text| clip(&text, MAX_WORDS));
        let date = |text: Option<String>| text.filter(|text| day(text).is_some());
        Self {
            normalized_title: normalized(&title),
            title,
            provider: provider.to_owned(),
            provider_show_id: Some(id.to_owned()),
            original_status: words(details.status),
            normalized_status: status,
            recommendation: status.recommendation(),
            confidence: (trust * 100.0).round() / 100.0,
            first_air_date: date(details.first_air_date),
            last_air_date: date(details.last_air_date),
            next_episode_air_date: date(details.next_episode_air_date),
            last_episode_title: words(details.last_episode_title),
            next_episode_title: words(details.next_episode_title),
            total_seasons: details.total_seasons,
            total_episodes: details.total_episodes,
            overview: details.overview.map(|text| clip(&text, MAX_OVERVIEW)),
            poster_url: details.poster_url.filter(|url| url.len() <= MAX_URL),
            warnings,
        }
    }

    /// Report of an unknown show, with the reason.
    pub fn unknown(title: &str, warning: &str) -> Self {
        Self {
            title: title.to_owned(),
            normalized_title: normalized(title),
            provider: NOBODY.to_owned(),
            provider_show_id: None,
            original_status: None,
            normalized_status: AiringStatus::Unknown,
            recommendation: Recommendation::Unknown,
            confidence: 0.0,
            first_air_date: None,
            last_air_date: None,
            next_episode_air_date: None,
            last_episode_title: None,
            next_episode_title: None,
            total_seasons: None,
            total_episodes: None,
            overview: None,
            poster_url: None,
            warnings: vec![warning.to_owned()],
        }
    }

    /// The part that rules store.
    pub fn snapshot(&self, provider: &str, id: &str, checked_at: Timestamp) -> ShowSnapshot {
        ShowSnapshot {
            provider: provider.to_owned(),
            provider_show_id: id.to_owned(),
            title: Some(self.title.clone()).filter(|title| !title.is_empty()),
            status: self.normalized_status,
            recommendation: self.recommendation,
            first_air_date: self.first_air_date.clone(),
            last_air_date: self.last_air_date.clone(),
            next_episode_air_date: self.next_episode_air_date.clone(),
            warnings: self.warnings.clone(),
            checked_at,
        }
    }
}

/// Validity of a report, by status.
pub const fn holds_for(status: AiringStatus) -> Duration {
    match status {
        AiringStatus::Continuing | AiringStatus::Returning | AiringStatus::Planned => {
            Duration::from_hours(24)
        }
        AiringStatus::OnHiatus => Duration::from_hours(7 * 24),
        AiringStatus::Ended | AiringStatus::Canceled => Duration::from_hours(30 * 24),
        AiringStatus::Unknown => Duration::from_hours(3 * 24),
    }
}

fn status(details: &ShowDetails, now: Timestamp) -> AiringStatus {
    let text = details
        .status
        .as_deref()
        .unwrap_or_default()
        .trim()
        .to_lowercase();
    match text.as_str() {
        "returning series" | "returning" | "continuing" => {
            if is_waiting(details, now) {
                AiringStatus::OnHiatus
            } else {
                AiringStatus::Returning
            }
        }
        "ended" => AiringStatus::Ended,
        "canceled" | "cancelled" => AiringStatus::Canceled,
        "in production" | "planned" | "pilot" => AiringStatus::Planned,
        _ if details.end_year.is_some() => AiringStatus::Ended,
        _ if details.is_running_series => AiringStatus::Continuing,
        _ => AiringStatus::Unknown,
    }
}

/// True when no episode is announced and the last one was long ago.
fn is_waiting(details: &ShowDetails, now: Timestamp) -> bool {
    if details.next_episode_air_date.as_deref().and_then(day).is_some() {
        return false;
    }
    let (Some(last), Some(today)) = (details.last_air_date.as_deref().and_then(day), today(now)) else {
        return false;
    };
    (today - last).get_days() > HIATUS_DAYS
}

fn today(now: Timestamp) -> Option<Date> {
    let instant = jiff::Timestamp::from_millisecond(now.ms()).ok()?;
    Some(instant.to_zoned(TimeZone::UTC).date())
}

/// A date of ten characters, in the form of providers.
fn day(text: &str) -> Option<Date> {
    (text.len() == 10).then(|| text.parse().ok()).flatten()
}

fn clip(text: &str, most: usize) -> String {
    text.trim().chars().take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2031-03-30.
    const NOW: Timestamp = Timestamp::from_ms(1_932_628_500_000);

    fn details(status: &str, last: &str, next: &str) -> ShowDetails {
        let said = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        ShowDetails {
            title: "Harbor Nine".to_owned(),
            status: said(status),
            last_air_date: said(last),
            next_episode_air_date: said(next),
            ..ShowDetails::default()
        }
    }

    #[test]
    fn the_table_of_statuses() {
        use AiringStatus::{Canceled, Ended, OnHiatus, Planned, Returning, Unknown};
        for (text, last, next, expected) in [
            ("Returning Series", "2031-03-01", "", Returning),
            ("returning", "", "", Returning),
            ("CONTINUING", "2020-01-01", "2031-09-01", Returning),
            // 183 days ago, 184, and an invalid date.
            ("Returning Series", "2030-09-28", "", Returning),
            ("Returning Series", "2030-09-27", "", OnHiatus),
            ("Returning Series", "2030-09-27", "soon", OnHiatus),
            ("Returning Series", "some day", "", Returning),
            ("Ended", "2031-03-01", "", Ended),
            ("Canceled", "", "", Canceled),
            (" cancelled ", "", "", Canceled),
            ("In Production", "", "", Planned),
            ("Planned", "", "", Planned),
            ("Pilot", "", "", Planned),
            ("rumoured", "", "", Unknown),
            ("", "", "", Unknown),
        ] {
            assert_eq!(
                status(&details(text, last, next), NOW),
                expected,
                "{text} {last} {next}"
            );
        }
        let with = |end_year, is_running_series| ShowDetails {
            end_year,
            is_running_series,
            ..details("", "", "")
        };
        assert_eq!(status(&with(Some(2020), true), NOW), Ended);
        assert_eq!(status(&with(None, true), NOW), AiringStatus::Continuing);
        assert_eq!(status(&with(None, false), NOW), Unknown);
    }

    #[test]
    fn the_table_of_recommendations_and_of_days() {
        use AiringStatus::{Canceled, Continuing, Ended, OnHiatus, Planned, Returning, Unknown};
        for (status, recommendation, days) in [
            (Continuing, Recommendation::Recommended, 1),
            (Returning, Recommendation::Recommended, 1),
            (Planned, Recommendation::Recommended, 1),
            (OnHiatus, Recommendation::Caution, 7),
            (Ended, Recommendation::NotRecommended, 30),
            (Canceled, Recommendation::NotRecommended, 30),
            (Unknown, Recommendation::Unknown, 3),
        ] {
            assert_eq!(status.recommendation(), recommendation);
            assert_eq!(holds_for(status), Duration::from_hours(24 * days), "{status:?}");
        }
    }

    #[test]
    fn trust_and_warnings() {
        for (provider, trust, status, expected, warnings) in [
            ("provider_a", 0.95, "Ended", 0.95, &[][..]),
            ("provider_a", 0.95, "", 0.48, &["status_unconfirmed"]),
            ("titledb", 0.6, "", 0.3, &["status_unconfirmed"]),
            ("local", 0.3, "", 0.15, &["status_unconfirmed", "local_only"]),
        ] {
            let told = ShowStatus::known((provider, "1"), trust, "", details(status, "", ""), NOW);
            assert!(
                (told.confidence - expected).abs() < 1e-9,
                "{provider}: {}",
                told.confidence
            );
            assert_eq!(told.warnings, warnings);
        }
    }

    #[test]
    fn what_a_provider_says_is_bounded() {
        let mut long = details("Ended", "2031-13-01", "tomorrow");
        long.title = "x".repeat(9000);
        long.overview = Some("y".repeat(9000));
        long.poster_url = Some("z".repeat(9000));
        let told = ShowStatus::known(("provider_a", "1"), 0.95, "asked", long, NOW);
        assert_eq!(
            (told.title.len(), told.overview.map(|text| text.len())),
            (300, Some(4000))
        );
        assert_eq!(
            (told.poster_url, told.last_air_date, told.next_episode_air_date),
            (None, None, None)
        );
        let nameless = ShowDetails::default();
        let told = ShowStatus::known(("provider_a", "1"), 0.95, "asked", nameless, NOW);
        assert_eq!(told.title, "asked");
    }
}
