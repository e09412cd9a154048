//! Names of shows, read from the folders right below a library's directory.

use qm_release::parse;

use crate::naming::{composed, tag};

/// Title and year of a folder's name: `Name (2019)`.
pub fn named(folder: &str) -> (String, Option<i64>) {
    let folder = tag::split(&composed(folder)).0;
    let folder = folder.trim();
    if let Some((title, rest)) = folder.rsplit_once('(')
        && let Some(year) = rest.strip_suffix(')').and_then(year)
        && !title.trim().is_empty()
    {
        return (title.trim().to_owned(), Some(year));
    }
    (folder.to_owned(), None)
}

/// Titles of a folder or an item that a data set may know, the likeliest first; and the year in the name. A country stays
/// behind the title: it distinguishes series of one name.
pub fn attempts(folder: &str) -> (Vec<String>, Option<i64>) {
    let (raw, year) = named(folder);
    let cleaned = without_site(&raw).to_owned();
    let release = parse(&cleaned);
    let mut titles: Vec<String> = Vec::new();
    let mut add = |title: &str| {
        let title = title.trim();
        if !title.is_empty() && !titles.iter().any(|known| known == title) {
            titles.push(title.to_owned());
        }
    };
    let named = release.named();
    let all = [raw.as_str(), named.as_deref().unwrap_or_default(), &cleaned];
    let all = all.map(without_episode);
    all.into_iter().for_each(&mut add);
    // What is left without whose it is may be the name of many: the year decides.
    if let (Some(title), Some(_)) = (all.last().and_then(|title| without_brand(title)), year) {
        add(title);
    }
    (titles, year.or(release.year.map(i64::from)))
}

/// Title without the site of a release: `site.tld - Title`.
fn without_site(title: &str) -> &str {
    let Some((site, rest)) = title.split_once(" - ") else {
        return title;
    };
    let is_part = |part: &str| {
        let mut letters = part.bytes();
        !part.is_empty() && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == b'-')
    };
    let is_tld =
        |last: &str| (2..=6).contains(&last.len()) && last.bytes().all(|letter| letter.is_ascii_alphabetic());
    match site.trim().rsplit_once('.') {
        Some((name, last)) if is_tld(last) && name.split('.').all(is_part) => rest,
        _ => title,
    }
}

/// Title without the season or episode at its end: `Title S01E02`.
fn without_episode(title: &str) -> &str {
    let title = title.trim();
    let Some((rest, last)) = title.rsplit_once([' ', '.', '_']) else {
        return title;
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    let last = last.to_ascii_lowercase();
    let Some(numbers) = last.strip_prefix('s') else {
        return title;
    };
    let is_episode = match numbers.split_once('e') {
        Some((season, episode)) => is_number(season) && is_number(episode),
        None => is_number(numbers),
    };
    if is_episode { rest.trim() } else { title }
}

/// Title without an owner at its beginning: `Somebody's Title`.
fn without_brand(title: &str) -> Option<&str> {
    let (brand, rest) = title.split_once(' ')?;
    let is_brand = brand.ends_with("'s") || brand.ends_with("’s");
    (is_brand && !rest.trim().is_empty()).then(|| rest.trim())
}

fn year(text: &str) -> Option<i64> {
    let is_year = text.len() == 4 && (text.starts_with("19") || text.starts_with("20"));
    text.parse()
        .ok()
        .filter(|_| is_year && text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Key that is equal for all folders of a show.
pub fn canonical_key(folder: &str) -> String {
    let whole = normalise(&tag::split(folder).0);
    match whole.rsplit_once(' ') {
        Some((title, last)) if year(last).is_some() && !title.is_empty() => title.to_owned(),
        _ => whole,
    }
}

/// Normal form: small letters and digits of every script without their marks, one space between words.
pub fn normalise(name: &str) -> String {
    let kept: String = name.chars().filter(|c| !matches!(c, '\'' | '’' | '`')).collect();
    qm_titles::normalise(&kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_have_titles_to_look_for() {
        for (folder, first, among, year) in [
            ("The Wire (2002)", "The Wire", "The Wire", Some(2002)),
            ("The.Office.US.S01", "The.Office.US", "The Office US", None),
            ("The Office (US)", "The Office (US)", "The Office (US)", None),
            (
                "www.site.org - The Wire",
                "www.site.org - The Wire",
                "The Wire",
                None,
            ),
            (
                "Marvel's Daredevil (2015)",
                "Marvel's Daredevil",
                "Daredevil",
                Some(2015),
            ),
            ("Dune S01E02", "Dune", "Dune", None),
            ("Before - After", "Before - After", "Before - After", None),
            ("US", "US", "US", None),
        ] {
            let (titles, found) = attempts(folder);
            assert_eq!((titles[0].as_str(), found), (first, year), "{folder}: {titles:?}");
            assert!(titles.iter().any(|title| title == among), "{folder}: {titles:?}");
        }
        assert_eq!(attempts("").0, Vec::<String>::new());
        assert_eq!(
            attempts("Grey's Tide").0,
            ["Grey's Tide"],
            "whose it is may be a part of its name"
        );
    }

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
            ("Тайна 24", "Тайна 24", None, "таина 24"),
            ("Cafe\u{301} (2002)", "Café", Some(2002), "cafe"),
            ("(2019)", "(2019)", None, "2019"),
            ("Group [1080p]", "Group [1080p]", None, "group 1080p"),
            ("Open {tmdb-1", "Open {tmdb-1", None, "open tmdb 1"),
        ] {
            assert_eq!(named(folder), (title.to_owned(), year), "{folder}");
            assert_eq!(canonical_key(folder), key, "{folder}");
        }
    }
}
