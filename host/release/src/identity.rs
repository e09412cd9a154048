//! What two releases of the same thing have in common.

use crate::model::{ContentType, Release};

/// One text for all releases of the same episode or movie, whatever their quality; `None` when the name does not say
/// which one it is.
pub fn identity(release: &Release) -> Option<String> {
    let title = folded(&release.named()?);
    if title.is_empty() {
        return None;
    }
    match release.content_type {
        ContentType::TvEpisode => {
            let (season, episode) = (release.season?, release.episode?);
            Some(format!("ep:{title}:{season}:{episode}"))
        }
        ContentType::AnimeEpisode => Some(format!("anime:{title}:{}", release.absolute_episode?)),
        ContentType::Daily => Some(format!("daily:{title}:{}", release.air_date.as_deref()?)),
        ContentType::Movie => Some(format!("movie:{title}:{}", release.year?)),
        ContentType::Unknown => None,
    }
}

/// Lower case, everything but letters and digits one space.
fn folded(title: &str) -> String {
    let lower = title.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ")
}
