//! Keys of an item: what it could have in common with others.

use qm_media_names::show::canonical_key;
use serde::{Deserialize, Serialize};

use crate::Facts;

/// Reason for which items are in one group; the first one counts most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    ExternalId,
    ShowSeasonEpisode,
    TitleYear,
    SimilarFilename,
}

impl Reason {
    pub const WORDS: [&str; 4] = [
        "external_id",
        "show_season_episode",
        "title_year",
        "similar_filename",
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ExternalId => Self::WORDS[0],
            Self::ShowSeasonEpisode => Self::WORDS[1],
            Self::TitleYear => Self::WORDS[2],
            Self::SimilarFilename => Self::WORDS[3],
        }
    }
}

/// Keys of an item, each with its reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys(pub Vec<(Reason, String)>);

impl Keys {
    /// Keys of an item.
    ///
    /// An item of a series without numbers has none but those of its ids: its title is the title of the whole series. A film
    /// whose title has no letter and no digit is compared by the title as it is written.
    pub fn from_facts(item: &Facts) -> Self {
        let mut keys = Vec::new();
        let title = plain(&item.title);
        let year = item.year.map_or_else(|| "na".to_owned(), |year| year.to_string());
        let by_title = format!("ty:{title}:{year}");
        let marker = marker(item);
        let scopes = scopes(item, &by_title);
        for (provider, id) in &item.external_ids {
            if item.is_film() {
                keys.push((Reason::ExternalId, format!("external_id:{provider}:{id}:{year}")));
                continue;
            }
            for scope in &scopes {
                let key = format!("external_id:{provider}:{id}:{scope}{marker}");
                keys.push((Reason::ExternalId, key));
            }
        }
        if let Some((season, episode)) = item.numbers().filter(|_| !item.is_film()) {
            for scope in &scopes {
                let key = format!("sse:{scope}:s{season}:e{episode}");
                keys.push((Reason::ShowSeasonEpisode, key));
            }
        } else if item.is_film() {
            keys.push((Reason::TitleYear, by_title));
        } else if !marker.is_empty() || !item.is_of_series() {
            for scope in &scopes {
                keys.push((Reason::SimilarFilename, format!("fn:{scope}{marker}")));
            }
        }
        Self(keys)
    }
}

/// Keys of the show, or of the work, that an item belongs to.
fn scopes(item: &Facts, by_title: &str) -> Vec<String> {
    let by_id = item
        .series_titledb_id
        .as_deref()
        .map(|id| format!("sid:{id}:{}", canonical_key(&item.title)));
    by_id.into_iter().chain([by_title.to_owned()]).collect()
}

/// Title in small letters, without apostrophes, one space for everything that is no letter and no digit.
pub fn plain(title: &str) -> String {
    let mut found = String::with_capacity(title.len());
    for letter in title.chars().flat_map(char::to_lowercase) {
        if matches!(letter, '\'' | '`' | '’') {
            continue;
        }
        if letter.is_alphanumeric() {
            found.push(letter);
        } else if !found.is_empty() && !found.ends_with(' ') {
            found.push(' ');
        }
    }
    let found = found.trim_end();
    if found.is_empty() {
        title.trim().to_lowercase()
    } else {
        found.to_owned()
    }
}

/// `:s1:e2`, by the numbers of the item or else by its title; empty without numbers.
fn marker(item: &Facts) -> String {
    match item.numbers().or_else(|| numbers_in(&item.title)) {
        Some((season, episode)) => format!(":s{season}:e{episode}"),
        None => String::new(),
    }
}

/// Numbers of the first `SxxEyy` in a text.
fn numbers_in(text: &str) -> Option<(i64, i64)> {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        (1..=4).contains(&count).then_some(count)
    };
    let number = |from: usize, count: usize| text.get(from..from + count)?.parse::<i64>().ok();
    (0..bytes.len()).find_map(|at| {
        let is_start = at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
        if !is_start || !bytes[at].eq_ignore_ascii_case(&b's') {
            return None;
        }
        let season = digits(at + 1)?;
        let then = at + 1 + season;
        if !bytes.get(then)?.eq_ignore_ascii_case(&b'e') {
            return None;
        }
        let episode = digits(then + 1)?;
        Some((number(at + 1, season)?, number(then + 1, episode)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(media_type: &str, title: &str) -> Facts {
        Facts {
            media_type: media_type.to_owned(),
            title: title.to_owned(),
            ..Facts::default()
        }
    }

    fn keys(item: &Facts) -> Vec<String> {
        let keys = Keys::from_facts(item).0.into_iter();
        keys.map(|(reason, key)| format!("{} {key}", reason.as_str()))
            .collect()
    }

    #[test]
    fn films_have_keys_of_their_ids_and_their_titles() {
        let film = Facts {
            year: Some(1999),
            external_ids: vec![
                ("titledb".into(), "tt1".into()),
                ("provider_a".into(), "603".into()),
            ],
            ..item("movie", "The  Matrix: Re-loaded!")
        };
        assert_eq!(
            keys(&film),
            [
                "external_id external_id:titledb:tt1:1999",
                "external_id external_id:provider_a:603:1999",
                "title_year ty:the matrix re loaded:1999",
            ]
        );
        assert_eq!(
            keys(&item("", "Ocean's ’Eleven`")),
            ["title_year ty:oceans eleven:na"]
        );
        assert_eq!(keys(&item("movie", "!!!")), ["title_year ty:!!!:na"]);
        assert_eq!(keys(&item("movie", "東京物語")), ["title_year ty:東京物語:na"]);
    }

    #[test]
    fn episodes_have_keys_of_their_numbers() {
        let mut episode = Facts {
            season: Some(1),
            episode: Some(2),
            series_titledb_id: Some("tt9".into()),
            external_ids: vec![("titledb".into(), "tt5".into())],
            ..item("tv", "The Wire")
        };
        assert_eq!(
            keys(&episode),
            [
                "external_id external_id:titledb:tt5:sid:tt9:the wire:s1:e2",
                "external_id external_id:titledb:tt5:ty:the wire:na:s1:e2",
                "show_season_episode sse:sid:tt9:the wire:s1:e2",
                "show_season_episode sse:ty:the wire:na:s1:e2",
            ]
        );
        episode.series_titledb_id = None;
        episode.external_ids.clear();
        episode.episode = None;
        assert_eq!(
            keys(&episode),
            Vec::<String>::new(),
            "a series is no duplicate of itself"
        );
        episode.title = "The Wire s01E05".into();
        assert_eq!(
            keys(&episode),
            ["similar_filename fn:ty:the wire s01e05:na:s1:e5"]
        );
        assert_eq!(
            keys(&item("documentary", "Rivers")),
            ["similar_filename fn:ty:rivers:na"]
        );
    }

    #[test]
    fn numbers_are_read_from_titles() {
        for (text, numbers) in [
            ("x S01E02 y", Some((1, 2))),
            ("s2019e0010", Some((2019, 10))),
            ("aces1e5", None),
            ("S01", None),
            ("S01E", None),
            ("S12345E1", None),
            ("é S1E2", Some((1, 2))),
        ] {
            assert_eq!(numbers_in(text), numbers, "{text}");
        }
    }
}
