//! The short reading of a release name, for matching against many of them.

use crate::clip;
use crate::episode;
use crate::model::QuickView;
use crate::vocabulary::{PROPER, REPACK, YEAR, quick};

/// Reads what matching needs.
pub fn quick(name: &str) -> QuickView {
    // An underscore joins words where a dot or a dash parts them; here it parts them too.
    let text = clip(name).replace('_', " ");
    let episode = episode::find(&text);
    QuickView {
        resolution: quick::RESOLUTIONS.first(&text).map(|(name, _)| name),
        source: quick::SOURCES.first(&text).map(|(name, _)| name),
        codec: quick::CODECS.first(&text).map(|(name, _)| name),
        season: episode.as_ref().map(|episode| episode.season),
        episode: episode.as_ref().map(|episode| episode.first),
        episode_end: episode.and_then(|episode| episode.last),
        year: YEAR.find(&text).and_then(|year| year.as_str().parse().ok()),
        languages: quick::LANGUAGES.names(&text),
        repack: REPACK.is_match(&text),
        proper: PROPER.is_match(&text),
        bad_quality: quick::BAD_QUALITY.names(&text),
    }
}
