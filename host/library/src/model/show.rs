//! Shows: folders right below a library's directory.

use qm_kernel::Timestamp;

/// A show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Show {
    pub id: String,
    pub library_id: String,
    pub place: String,
    pub media_type: String,
    pub title: String,
    pub year: Option<i64>,
    pub titledb_id: Option<String>,
    pub provider_a_id: Option<String>,
    pub canonical_key: String,
    pub episode_count: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Title and year of a folder's name: `Name (2019)`.
pub fn named(folder: &str) -> (String, Option<i64>) {
    let folder = without_ids(folder);
    let folder = folder.trim();
    if let Some((title, rest)) = folder.rsplit_once('(')
        && let Some(year) = rest.strip_suffix(')').and_then(year)
        && !title.trim().is_empty()
    {
        return (title.trim().to_owned(), Some(year));
    }
    (folder.to_owned(), None)
}

fn year(text: &str) -> Option<i64> {
    let is_year = text.len() == 4 && (text.starts_with("19") || text.starts_with("20"));
    text.parse()
        .ok()
        .filter(|_| is_year && text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// One text for all folders of a show.
pub fn canonical_key(folder: &str) -> String {
    let whole = normalise(&without_ids(folder));
    match whole.rsplit_once(' ') {
        Some((title, last)) if year(last).is_some() && !title.is_empty() => title.to_owned(),
        _ => whole,
    }
}

/// Small letters and digits, one space between words.
pub fn normalise(name: &str) -> String {
    let kept = name.to_lowercase();
    let kept = kept.chars().filter(|c| !matches!(c, '\'' | '’' | '`'));
    let spaced: String = kept
        .map(|c| {
            if c.is_ascii_lowercase() || c.is_ascii_digit() {
                c
            } else {
                ' '
            }
        })
        .collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Without tags that name the id of a provider: `{tmdb-603}`, `[imdbid=tt1]`.
fn without_ids(folder: &str) -> String {
    const PROVIDERS: [&str; 4] = ["tmdb", "imdb", "tvdb", "tvmaze"];
    let mut kept = String::new();
    let mut rest = folder;
    while let Some(start) = rest.find(['{', '[']) {
        let close = if rest[start..].starts_with('{') { '}' } else { ']' };
        let Some(end) = rest[start..].find(close).map(|end| start + end) else {
            break;
        };
        let tag = rest[start + 1..end].to_ascii_lowercase();
        let is_id = PROVIDERS.iter().any(|provider| {
            let rest = tag.strip_prefix(provider);
            let rest = rest.map(|rest| rest.strip_prefix("id").unwrap_or(rest));
            rest.is_some_and(|rest| rest.starts_with(['-', '=', ':']))
        });
        if is_id {
            kept.push_str(&rest[..start]);
        } else {
            kept.push_str(&rest[..=end]);
        }
        rest = &rest[end + 1..];
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_name_shows() {
        for (folder, title, year, key) in [
            ("The Wire (2002)", "The Wire", Some(2002), "the wire"),
            ("The.Wire.2002", "The.Wire.2002", None, "the wire"),
            ("the wire {tvdb-79126}", "the wire", None, "the wire"),
            (
                "Bob's Burgers [imdbid=tt1561755]",
                "Bob's Burgers",
                None,
                "bobs burgers",
            ),
            ("1923", "1923", None, "1923"),
            ("(2019)", "(2019)", None, "2019"),
            ("Group [1080p]", "Group [1080p]", None, "group 1080p"),
            ("Open {tmdb-1", "Open {tmdb-1", None, "open tmdb 1"),
        ] {
            assert_eq!(named(folder), (title.to_owned(), year), "{folder}");
            assert_eq!(canonical_key(folder), key, "{folder}");
        }
    }
}
