//! What a release name says.

use serde::Serialize;

/// A release name, read. Absent is `None` or empty; texts of a fixed vocabulary are `&'static str`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Release {
    /// In the name's own spelling, separators turned into spaces.
    pub title: Option<String>,
    pub season: Option<u32>,
    /// `None` with a season: a whole season in one release.
    pub episode: Option<u32>,
    /// The last episode, when the release holds several in a row.
    pub episode_end: Option<u32>,
    /// Counted over all seasons.
    pub absolute_episode: Option<u32>,
    pub part: Option<u32>,
    /// `YYYY-MM-DD`
    pub air_date: Option<String>,
    pub year: Option<u32>,
    /// `2160p`, `1080p`, `1080i`, `720p` or `480p`.
    pub resolution: Option<&'static str>,
    /// `WEB-DL`, `WEBRip`, `BluRay`, `Remux`, `HDTV`, `DVD`, `HDRip` or `WEB`.
    pub source: Option<&'static str>,
    /// `x265`, `x264`, `AV1` or `XviD`.
    pub codec: Option<&'static str>,
    pub audio: Vec<&'static str>,
    pub hdr: Vec<&'static str>,
    /// Upper case.
    pub languages: Vec<&'static str>,
    pub release_group: Option<String>,
    pub proper: bool,
    pub repack: bool,
    pub content_type: ContentType,
    /// Which part of the name each field was read from.
    pub explanations: Vec<Explanation>,
    pub warnings: Vec<&'static str>,
    /// 0 to 100.
    pub confidence: u8,
}

/// What kind of thing is released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ContentType {
    TvEpisode,
    Daily,
    AnimeEpisode,
    Movie,
    #[default]
    Unknown,
}

/// Why a field has its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The field's name as it is serialised.
    pub field: &'static str,
    pub value: String,
    /// One short sentence for a person.
    pub reason: String,
}

/// The few facts that matching against many names needs; absent keys are not serialised.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QuickView {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub codec: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub season: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub episode: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub episode_end: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub year: Option<u32>,
    pub languages: Vec<&'static str>,
    pub repack: bool,
    pub proper: bool,
    /// Words that tell of a poor copy, lower case.
    pub bad_quality: Vec<&'static str>,
}
