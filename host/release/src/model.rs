//! What a release name says.

use std::borrow::Cow;

use serde::Serialize;

/// A release name, read. Absent is `None` or empty; texts of a fixed vocabulary are `&'static str`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Release {
    /// In the name's own spelling, separators turned into spaces.
    pub title: Option<String>,
    /// The country behind the title of a series, which tells it apart from others of that name: `US`, `UK`, `AU`, `NZ`, `CA`,
    /// `IE`, `ZA`. Only where it is written as a tag: in brackets, or in capitals between dots.
    pub country: Option<&'static str>,
    /// The first, when the release holds several.
    pub season: Option<u32>,
    /// `None` with a season and without `episodes`: a whole season in one release.
    pub episode: Option<u32>,
    /// The last episode, when the release holds several in a row.
    pub episode_end: Option<u32>,
    /// Counted over all seasons.
    pub absolute_episode: Option<u32>,
    /// Every episode that is named or lies in a span that is, counted within the season. Anime that counts within a
    /// season it names (`S2 - 05`) has its number here and in `absolute_episode`.
    pub episodes: Vec<u32>,
    /// Every episode counted over all seasons, also beside one that is counted within its season.
    pub absolute_episodes: Vec<u32>,
    pub seasons: Vec<u32>,
    pub part: Option<u32>,
    /// `YYYY-MM-DD`
    pub air_date: Option<String>,
    pub year: Option<u32>,
    /// `2160p`, `1080p`, `1080i`, `720p`, `480p`, or one that is rarer: `1440p`, `720i`, `576p`, `540p`, `360p`.
    pub resolution: Option<&'static str>,
    /// `WEB-DL`, `WEBRip`, `BluRay`, `Remux`, `HDTV` (all broadcasts), `DVD`, `HDRip` or `WEB`; of copies that nobody
    /// sold `CAM`, `Telesync`, `Telecine`, `Screener`, `R5` or `VHS`.
    pub source: Option<&'static str>,
    /// `x265`, `x264`, `AV1` or `XviD`, or one that is rarer: `DivX`, `VC-1`, `VP9`, `VVC`, `MPEG-2`, `MPEG-4`, `WMV`.
    pub codec: Option<&'static str>,
    pub audio: Vec<&'static str>,
    pub hdr: Vec<&'static str>,
    /// Upper case.
    pub languages: Vec<&'static str>,
    pub release_group: Option<String>,
    /// `Director's Cut`, `Extended`, `IMAX`; several are joined by commas.
    pub edition: Option<String>,
    /// Of the release: 2 for `v2`.
    pub version: Option<u32>,
    /// The service it was taken from, as releases abbreviate it: `AMZN`, `NF`.
    pub streaming_service: Option<&'static str>,
    /// Bits of a colour: 8, 10 or 12.
    pub bit_depth: Option<u32>,
    /// `5.1`
    pub channels: Option<&'static str>,
    pub proper: bool,
    pub repack: bool,
    /// Neither an episode nor all of the season that is named: a disc, extras, an episode between two.
    #[serde(skip)]
    pub is_piece: bool,
    pub content_type: ContentType,
    /// Which part of the name each field was read from.
    pub explanations: Vec<Explanation>,
    pub warnings: Vec<&'static str>,
    /// 0 to 100.
    pub confidence: u8,
    /// What is usual for a name that leaves the resolution or the source out; told apart from what the name says.
    pub assumed: Assumed,
}

impl Release {
    /// [`Release::named`] without a season that the title keeps (`Title S2`), where that season is known.
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

    /// The title with its country: what tells this series, or film, apart from others.
    pub fn named(&self) -> Option<Cow<'_, str>> {
        let title = self.title.as_deref()?;
        Some(match self.country {
            Some(country) => Cow::Owned(format!("{title} {country}")),
            None => Cow::Borrowed(title),
        })
    }
}

/// What a name does not say and releases of its kind usually are. Nothing here counts for `confidence`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Assumed {
    /// `None` where the name tells it, or nothing can be assumed.
    pub resolution: Option<&'static str>,
    pub source: Option<&'static str>,
}

/// One decision of the reader: a part of the name, what it was taken for, and by which rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// As it is written in the name.
    pub token: String,
    /// A field's name as it is serialised, or `title`, `ignored`.
    pub taken_for: &'static str,
    pub rule: &'static str,
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
