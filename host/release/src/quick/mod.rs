//! The short reading of a release name, for matching against many of them.

mod episode;
mod words;

use crate::clip;
use crate::model::QuickView;
use words::{BAD_QUALITY, CODECS, LANGUAGES, PROPER, REPACK, RESOLUTIONS, SOURCES, YEAR};

/// Reads what matching needs.
pub fn quick(name: &str) -> QuickView {
    // An underscore joins words where a dot or a dash parts them; here it parts them too.
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
