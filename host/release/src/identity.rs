//! Identity of a release: a key that all releases of the same episode, movie or pack share.

use std::fmt::Write as _;

use qm_titles::folded;

use crate::model::{ContentType, Release};

/// Key of the episode, movie or pack, whatever the quality; `None` when the name does not identify it.
/// Several episodes or seasons have their own key, other than those of their parts.
pub fn identity(release: &Release) -> Option<String> {
    let title = folded(&release.named_without_season()?);
    if title.is_empty() {
        return None;
    }
    match release.content_type {
        ContentType::TvEpisode => {
            let season = release.season?;
            Some(format!("ep:{title}:{season}:{}", runs(&release.episodes)))
        }
        // `S2 - 05` is counted within the season that it names.
        ContentType::AnimeEpisode => Some(match release.season.filter(|_| !release.episodes.is_empty()) {
            Some(season) => format!("ep:{title}:{season}:{}", runs(&release.episodes)),
            None => format!("anime:{title}:{}", runs(&release.absolute_episodes)),
        }),
        ContentType::Daily => Some(format!("daily:{title}:{}", release.air_date.as_deref()?)),
        ContentType::Movie => Some(format!("movie:{title}:{}", release.year?)),
        ContentType::Unknown => pack(&title, release),
    }
}

/// Key of whole seasons, or of one numbered part of a season.
fn pack(title: &str, release: &Release) -> Option<String> {
    if release.is_piece || release.seasons.is_empty() {
        return None;
    }
    let mut pack = format!("pack:{title}:{}", runs(&release.seasons));
    if let Some(part) = release.part {
        let _ = write!(pack, ":{part}");
    }
    Some(pack)
}

/// `1-3+7` for one to three and seven; the numbers are in order.
fn runs(numbers: &[u32]) -> String {
    let mut text = String::new();
    let mut at = 0;
    while let Some(first) = numbers.get(at) {
        let mut last = *first;
        at += 1;
        while let Some(next) = numbers.get(at).filter(|next| **next <= last + 1) {
            last = *next;
            at += 1;
        }
        let plus = if text.is_empty() { "" } else { "+" };
        let _ = if last > *first {
            write!(text, "{plus}{first}-{last}")
        } else {
            write!(text, "{plus}{first}")
        };
    }
    text
}
