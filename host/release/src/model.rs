//! Result of parsing a release name.

use std::borrow::Cow;

use serde::Serialize;

/// A parsed release name. Absent values are `None` or empty; values of a fixed vocabulary are `&'static str`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Release {
    /// Title in the name's own spelling, with separators turned into spaces.
    pub title: Option<String>,
    /// Country behind the title of a series, which distinguishes series of the same name: `US`, `UK`, `AU`,
    /// `NZ`, `CA`, `IE`, `ZA`. Only where it is written as a tag: in brackets, or in capitals between dots.
    pub country: Option<&'static str>,
    /// The first season, when the release holds several.
    pub season: Option<u32>,
    /// First episode. `None` with a season and without `episodes`: a whole season in one release.
    pub episode: Option<u32>,
    /// Last episode, when the release holds several in a row.
    pub episode_end: Option<u32>,
    /// Episode number counted over all seasons.
    pub absolute_episode: Option<u32>,
    /// Every episode that is named or lies in a named range, counted within the season. Anime that counts
    /// within a season it names (`S2 - 05`) has its number here and in `absolute_episode`.
    pub episodes: Vec<u32>,
    /// Every episode counted over all seasons, also beside one counted within its season.
    pub absolute_episodes: Vec<u32>,
    pub seasons: Vec<u32>,
    pub part: Option<u32>,
    /// `YYYY-MM-DD`
    pub air_date: Option<String>,
    pub year: Option<u32>,
    /// `2160p`, `1080p`, `1080i`, `720p`, `480p`, or one that is rarer: `1440p`, `720i`, `576p`, `540p`, `360p`.
    pub resolution: Option<&'static str>,
    /// `WEB-DL`, `WEBRip`, `BluRay`, `Remux`, `HDTV` (all broadcasts), `DVD`, `HDRip` or `WEB`; of unofficial
    /// copies `CAM`, `Telesync`, `Telecine`, `Screener`, `R5` or `VHS`.
    pub source: Option<&'static str>,
    /// `x265`, `x264`, `AV1` or `XviD`, or a rarer one: `DivX`, `VC-1`, `VP9`, `VVC`, `MPEG-2`, `MPEG-4`,
    /// `WMV`.
    pub codec: Option<&'static str>,
    pub audio: Vec<&'static str>,
    pub hdr: Vec<&'static str>,
    /// Language names in upper case.
    pub languages: Vec<&'static str>,
    pub release_group: Option<String>,
    /// `Director's Cut`, `Extended`, `IMAX`; several are joined by commas.
    pub edition: Option<String>,
    /// Version of the release: 2 for `v2`.
    pub version: Option<u32>,
    /// Abbreviation of the streaming service: `AMZN`, `NF`.
    pub streaming_service: Option<&'static str>,
    /// Bits per colour channel: 8, 10 or 12.
    pub bit_depth: Option<u32>,
    /// `5.1`
    pub channels: Option<&'static str>,
    pub proper: bool,
    pub repack: bool,
    /// True for neither an episode nor the whole season: a disc, extras, an episode between two.
    #[serde(skip)]
    pub is_piece: bool,
    pub content_type: ContentType,
    /// The part of the name from which each field was read.
    pub explanations: Vec<Explanation>,
    pub warnings: Vec<&'static str>,
    /// 0 to 100.
    pub confidence: u8,
    /// Usual resolution and source when the name leaves them out; kept apart from the stated values.
    pub assumed: Assumed,
}

impl Release {
    /// [`Release::named`] without a season inside the title (`Title S2`), where that season is known.
    pub fn named_without_season(&self) -> Option<Cow<'_, str>> {
        let title = self.named()?;
        let Some(season) = self.season else {
            return Some(title);
        };
        let mark = format!("S{season}");
        let padded = format!("S{season:02}");
        let mut words: Vec<&str> = title.split(' ').collect();
        let is_mark = |word: &&str| word.eq_ignore_ascii_case(&mark) || word.eq_ignore_ascii_case(&padded);
        match words.iter().rposition(is_mark) {
            Some(place) if words.len() > 1 => {
                words.remove(place);
                Some(Cow::Owned(words.join(" ")))
            }
            _ => Some(title),
        }
    }

    /// Title with its country: distinguishes this series or film from others.
    pub fn named(&self) -> Option<Cow<'_, str>> {
        let title = self.title.as_deref()?;
        Some(match self.country {
            Some(country) => Cow::Owned(format!("{title} {country}")),
            None => Cow::Borrowed(title),
        })
    }
}

/// Usual values of releases of this kind, where the name is silent. They do not count for `confidence`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Assumed {
    /// `None` where the name states it, or nothing can be assumed.
    pub resolution: Option<&'static str>,
    pub source: Option<&'static str>,
}

/// One decision of the parser: a part of the name, its meaning, and the rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// The text as it is written in the name.
    pub token: String,
    /// Name of the serialised field, or `title`, `ignored`.
    pub taken_for: &'static str,
    pub rule: &'static str,
}

/// Kind of the released content.
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

/// Reason for the value of a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// Name of the serialised field.
    pub field: &'static str,
    pub value: String,
    /// One short sentence for users.
    pub reason: String,
}

/// The few fields needed for matching many names; absent ones are not serialised.
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
    /// Words that mark a poor copy, in lower case.
    pub bad_quality: Vec<&'static str>,
}
