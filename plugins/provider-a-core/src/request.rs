//! Requests to TMDB: paths and queries, and the place of the key.

use provider_model::json::is_id;
use provider_model::{Fault, Kind, with_query};

/// Default base URL of the API; the operator may set another.
pub const BASE: &str = "https://api.themoviedb.org/3";
/// The most of a title that is searched for. Characters.
const MAX_TITLE: usize = 300;
/// The last page that TMDB has.
const MAX_PAGE: u32 = 500;
const MAX_KEY: usize = 1024;
/// Path and query below the base, without the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub path: String,
    pub params: Vec<(&'static str, String)>,
}

impl Request {
    fn new(path: String) -> Self {
        Self {
            path,
            params: Vec::new(),
        }
    }

    fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.params.push((name, value.into()));
        self
    }

    fn in_language(self, language: Option<&str>) -> Self {
        match language.and_then(tag) {
            Some(language) => self.with("language", language),
            None => self,
        }
    }

    /// The URL below `base`, with the key of version 3 where there is one: such a URL is never told to anybody.
    pub fn url(&self, base: &str, key: Option<&str>) -> String {
        let key = key.map(|key| ("api_key", key));
        let params = self.params.iter().map(|(name, value)| (*name, value.as_str()));
        with_query(format!("{base}{}", self.path), key.into_iter().chain(params))
    }
}

/// The base URL as requests take it.
pub fn base(entered: Option<&str>) -> Result<String, Fault> {
    provider_model::base(entered, BASE)
}

/// The key as it was entered. It holds what keys hold, so that the host finds it again wherever it is repeated.
pub fn key(entered: Option<&str>) -> Result<String, Fault> {
    let key = entered.map(str::trim).filter(|key| !key.is_empty());
    let key = key.ok_or_else(|| Fault::InvalidConfig("`apiKey` is missing".to_owned()))?;
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if key.len() > MAX_KEY || !key.bytes().all(sound) {
        return Err(Fault::InvalidConfig(
            "`apiKey` is neither a key nor a token of TMDB: those hold letters, digits, `-`, `_` and `.`"
                .to_owned(),
        ));
    }
    Ok(key.to_owned())
}

/// True when the key is a token (of version 4), which goes into a header.
pub fn is_token(key: &str) -> bool {
    key.len() > 64 || key.split('.').count() == 3
}

/// A language as TMDB writes it: `pt-BR`, `de`.
fn tag(language: &str) -> Option<String> {
    let mut parts = language.trim().split(['-', '_']);
    let letters = |text: &str, lengths: std::ops::RangeInclusive<usize>| {
        lengths.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphabetic())
    };
    let main = parts.next().filter(|part| letters(part, 2..=3))?;
    // A script (`zh-Hans-CN`) is nothing that TMDB knows.
    let region = parts.find(|part| letters(part, 2..=2));
    let main = main.to_ascii_lowercase();
    Some(match region {
        Some(region) => format!("{main}-{}", region.to_ascii_uppercase()),
        None => main,
    })
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Movie => "movie",
        Kind::Show => "tv",
    }
}

fn own(id: &str) -> Result<&str, Fault> {
    if is_id(id) {
        return Ok(id);
    }
    let told: String = id.chars().filter(|c| !c.is_control()).take(40).collect();
    Err(Fault::NotFound(format!(
        "TMDB has no id `{told}`: its ids are numbers"
    )))
}

/// The cheapest question that proves a key.
pub fn verify() -> Request {
    Request::new("/authentication".to_owned())
}

pub fn search(
    kind: Kind,
    title: &str,
    year: Option<u32>,
    language: Option<&str>,
    page: u32,
) -> Result<Request, Fault> {
    let title: String = title.trim().chars().take(MAX_TITLE).collect();
    if title.is_empty() {
        return Err(Fault::Unsupported(
            "TMDB is searched by a title, and none was given".to_owned(),
        ));
    }
    let mut request = Request::new(format!("/search/{}", word(kind)))
        .with("query", title)
        .with("include_adult", "false")
        .in_language(language);
    if let Some(year) = year {
        let name = match kind {
            Kind::Movie => "year",
            Kind::Show => "first_air_date_year",
        };
        request = request.with(name, year.to_string());
    }
    if page > 1 {
        request = request.with("page", page.min(MAX_PAGE).to_string());
    }
    Ok(request)
}

/// Lists that come with a title in the same answer.
pub fn lists(kind: Kind) -> &'static str {
    match kind {
        Kind::Movie => "credits,external_ids,keywords,release_dates",
        Kind::Show => "credits,external_ids,keywords,content_ratings",
    }
}

pub fn details(kind: Kind, id: &str, language: Option<&str>) -> Result<Request, Fault> {
    let request = Request::new(format!("/{}/{}", word(kind), own(id)?));
    Ok(request
        .with("append_to_response", lists(kind))
        .in_language(language))
}

pub fn episodes_of(show: &str, season: u32, language: Option<&str>) -> Result<Request, Fault> {
    let request = Request::new(format!("/tv/{}/season/{season}", own(show)?));
    Ok(request.in_language(language))
}

/// Images in the language, without text, and in English.
pub fn artwork(kind: Kind, id: &str, language: Option<&str>) -> Result<Request, Fault> {
    let main = language.and_then(tag);
    let main = main.as_deref().and_then(|tag| tag.split('-').next());
    let mut languages: Vec<&str> = main.into_iter().collect();
    languages.extend(["en", "null"].iter().filter(|word| Some(**word) != main));
    let request = Request::new(format!("/{}/{}/images", word(kind), own(id)?));
    Ok(request.with("include_image_language", languages.join(",")))
}

/// Titles by an id elsewhere: `titledb` (IMDb) or `provider_b` (TheTVDB).
pub fn find(source: &str, id: &str, language: Option<&str>) -> Result<Request, Fault> {
    let id = id.trim();
    let imdb = |id: &str| {
        id.strip_prefix("tt")
            .is_some_and(|rest| (5..=10).contains(&rest.len()) && rest.bytes().all(|b| b.is_ascii_digit()))
    };
    let (name, sound) = match source {
        "titledb" => ("imdb_id", imdb(id)),
        "provider_b" => ("tvdb_id", is_id(id)),
        _ => {
            return Err(Fault::Unsupported(
                "TMDB finds titles by ids of `titledb` and `provider_b` alone".to_owned(),
            ));
        }
    };
    if !sound {
        return Err(Fault::NotFound(format!(
            "what was given is no id of the source `{source}`"
        )));
    }
    let request = Request::new(format!("/find/{id}"));
    Ok(request.with("external_source", name).in_language(language))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(request: Result<Request, Fault>) -> String {
        request.unwrap().url("http://h/3", None)
    }

    #[test]
    fn what_is_asked() {
        for (request, expected) in [
            (
                search(Kind::Show, " Harbor & Nine ", Some(2023), Some("pt_br"), 1),
                "/search/tv?query=Harbor%20%26%20Nine&include_adult=false&language=pt-BR&first_air_date_year=2023",
            ),
            (
                search(Kind::Movie, "\u{c4}", Some(1999), None, 3),
                "/search/movie?query=%C3%84&include_adult=false&year=1999&page=3",
            ),
            (
                search(Kind::Movie, "x", None, Some("?"), 70_000),
                "/search/movie?query=x&include_adult=false&page=500",
            ),
            (
                details(Kind::Show, "81123", Some("zh-Hans-CN")),
                "/tv/81123?append_to_response=credits,external_ids,keywords,content_ratings&language=zh-CN",
            ),
            (
                details(Kind::Movie, "603", None),
                "/movie/603?append_to_response=credits,external_ids,keywords,release_dates",
            ),
            (
                episodes_of("81123", 0, Some("de")),
                "/tv/81123/season/0?language=de",
            ),
            (
                artwork(Kind::Show, "1", Some("de-AT")),
                "/tv/1/images?include_image_language=de,en,null",
            ),
            (
                artwork(Kind::Movie, "1", None),
                "/movie/1/images?include_image_language=en,null",
            ),
            (
                artwork(Kind::Movie, "1", Some("en-US")),
                "/movie/1/images?include_image_language=en,null",
            ),
            (
                find("titledb", "tt0944947", None),
                "/find/tt0944947?external_source=imdb_id",
            ),
            (
                find("provider_b", "121361", Some("en")),
                "/find/121361?external_source=tvdb_id&language=en",
            ),
            (Ok(verify()), "/authentication"),
        ] {
            assert_eq!(url(request), format!("http://h/3{expected}"));
        }
    }

    #[test]
    fn what_makes_no_sense_is_not_asked() {
        assert!(matches!(
            search(Kind::Show, "  ", None, None, 1),
            Err(Fault::Unsupported(_))
        ));
        for id in ["", "0", "1/../2", "tt1", "12345678901", "1?x"] {
            assert!(
                matches!(details(Kind::Movie, id, None), Err(Fault::NotFound(_))),
                "{id}"
            );
            assert!(
                matches!(episodes_of(id, 1, None), Err(Fault::NotFound(_))),
                "{id}"
            );
            assert!(
                matches!(artwork(Kind::Show, id, None), Err(Fault::NotFound(_))),
                "{id}"
            );
        }
        for (source, id) in [
            ("titledb", "nm0000001"),
            ("titledb", "tt1/2345"),
            ("provider_b", "x"),
        ] {
            assert!(
                matches!(find(source, id, None), Err(Fault::NotFound(_))),
                "{source} {id}"
            );
        }
        assert!(matches!(find("tvmaze", "1", None), Err(Fault::Unsupported(_))));
    }

    #[test]
    fn keys_and_tokens() {
        let key_3 = "0123456789abcdef0123456789abcdef";
        let token = "eyJhbGciOiJIUzI1NiJ9.eyJhdWQiOiJ4In0.c2lnbmF0dXJl";
        assert_eq!(key(Some(&format!(" {key_3} "))).as_deref(), Ok(key_3));
        assert!(!is_token(key_3) && is_token(token));
        assert_eq!(
            verify().url("http://h", Some(key_3)),
            format!("http://h/authentication?api_key={key_3}")
        );
        for bad in [
            None,
            Some(""),
            Some("  "),
            Some("a b"),
            Some("a&b=c"),
            Some("\u{e4}"),
        ] {
            assert!(matches!(key(bad), Err(Fault::InvalidConfig(_))), "{bad:?}");
        }
        assert!(key(Some(&"x".repeat(MAX_KEY + 1))).is_err());
    }
}
