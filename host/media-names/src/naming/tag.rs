//! Ids that people write into the names of files and folders: `{tmdb-1}`, `[imdbid=tt1234567]`, `(tvdb-1)`, `tt1234567`.

use std::sync::LazyLock;

use qm_titles::is_titledb_id;
use regex::Regex;

/// Ids of one name, each as its provider writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ids {
    pub titledb: Option<String>,
    pub provider_a: Option<String>,
    pub provider_b: Option<String>,
}

impl Ids {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Ids of this name; missing ones are taken from the other name.
    pub fn or(self, other: Self) -> Self {
        Self {
            titledb: self.titledb.or(other.titledb),
            provider_a: self.provider_a.or(other.provider_a),
            provider_b: self.provider_b.or(other.provider_b),
        }
    }

    /// Takes the value of a provider, if it may be an id of it; the first one counts.
    pub fn take(&mut self, provider: &str, value: &str) {
        let value = value.trim().to_ascii_lowercase();
        let is_number = (1..=10).contains(&value.len()) && value.bytes().all(|digit| digit.is_ascii_digit());
        let slot = match provider {
            "imdb" => &mut self.titledb,
            "tmdb" | "themoviedb" => &mut self.provider_a,
            "tvdb" | "thetvdb" => &mut self.provider_b,
            _ => return,
        };
        let value = match provider {
            "imdb" if is_number => format!("tt{value}"),
            _ => value,
        };
        let fits = if provider == "imdb" {
            is_titledb_id(&value)
        } else {
            is_number
        };
        if fits && slot.is_none() {
            *slot = Some(value);
        }
    }
}

/// Pattern of a tag: brackets with a provider and a value; an id of the data set in brackets, or as a word of its own.
static TAG: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let providers =
        "imdb|tmdb|themoviedb|tvdb|thetvdb|tvmaze|anidb|anilist|trakt|tvrage|mal|kitsu|wikidata|letterboxd";
    let value = r"[^\[\]{}()]{0,80}";
    Regex::new(&format!(
        r"(?i)[\[{{(]\s*(?:({providers})(?:[ _-]?id)?\s*[-=: ]\s*({value})|(tt[0-9]{{5,10}}))\s*[\]}})]|\b({providers})id[-=](\w{{1,20}})\b|\b(tt[0-9]{{7,10}})\b"
    ))
    .ok()
});

/// Name without its tags, and the ids in them.
pub fn split(name: &str) -> (String, Ids) {
    let mut ids = Ids::default();
    let Some(tag) = TAG.as_ref() else {
        return (name.to_owned(), ids);
    };
    let (mut kept, mut end) = (String::with_capacity(name.len()), 0);
    for found in tag.captures_iter(name) {
        let Some(whole) = found.get(0) else { continue };
        let text = |at: usize| found.get(at).map(|text| text.as_str());
        let before = &name[end..whole.start()];
        if let (Some(provider), Some(value)) = (text(1).or(text(4)), text(2).or(text(5))) {
            ids.take(&provider.to_ascii_lowercase(), value);
        } else if let Some(id) = text(3).or(text(6)) {
            ids.take("imdb", id);
        }
        kept.push_str(before);
        end = whole.end();
        // One separator stays between what stands on both sides.
        if kept.ends_with([' ', '.', '_', '-']) && name[end..].starts_with([' ', '.', '_']) {
            end += 1;
        }
    }
    kept.push_str(&name[end..]);
    (kept.trim().to_owned(), ids)
}
