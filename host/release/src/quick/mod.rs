//! Quick view of a release name, for matching many of them.

mod episode;
mod words;

use crate::clip;
use crate::model::QuickView;
use words::{BAD_QUALITY, CODECS, LANGUAGES, PROPER, REPACK, RESOLUTIONS, SOURCES, YEAR};

/// Reads the fields that matching needs.
pub fn quick(name: &str) -> QuickView {
    // A regular expression treats an underscore as part of a word; here it separates words like a dot.
    let text = clip(name).replace('_', " ");
    let episode = episode::find(&text);
    QuickView {
        resolution: RESOLUTIONS.first(&text).map(|(name, _)| name),
        source: SOURCES.first(&text).map(|(name, _)| name),
        codec: CODECS.first(&text).map(|(name, _)| name),
        season: episode.as_ref().map(|episode| episode.season),
        episode: episode.as_ref().map(|episode| episode.first),
        episode_end: episode.and_then(|episode| episode.last),
        year: YEAR.find(&text).and_then(|year| year.as_str().parse().ok()),
        languages: LANGUAGES.names(&text),
        repack: REPACK.is_match(&text),
        proper: PROPER.is_match(&text),
        bad_quality: BAD_QUALITY.names(&text),
    }
}
