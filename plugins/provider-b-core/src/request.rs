//! Requests to TheTVDB: paths and queries.

use provider_model::json::is_id;
use provider_model::{Fault, Kind, with_query};

use crate::words;

/// Default base URL of the API; the operator may set another.
pub const BASE: &str = "https://api4.thetvdb.com/v4";
/// Titles of a page of a search.
pub const PAGE: u32 = 50;
/// The most pages of a season's episodes, each of 500.
pub const MAX_PAGES: u32 = 10;
/// The most of a title that is searched for. Characters.
const MAX_TITLE: usize = 300;
/// The last page of a search: it goes to 5,000.
const LAST_PAGE: u32 = 100;

/// Path and query below the base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    path: String,
    params: Vec<(&'static str, String)>,
}

/// Marks the path of the login.
pub struct Login;

impl Login {
    pub fn url(&self, base: &str) -> String {
        format!("{base}/login")
    }
}

/// The login, which proves a key too.
pub fn login() -> Login {
    Login
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

    pub fn url(&self, base: &str) -> String {
        let params = self.params.iter().map(|(name, value)| (*name, value.as_str()));
        with_query(format!("{base}{}", self.path), params)
    }
}

/// The base URL as requests take it.
pub fn base(entered: Option<&str>) -> Result<String, Fault> {
    provider_model::base(entered, BASE)
}

/// An id without the prefix that searches give it.
fn own(id: &str) -> Result<&str, Fault> {
    let bare = bare(id);
    if is_id(bare) {
        return Ok(bare);
    }
    let told: String = id.chars().filter(|c| !c.is_control()).take(40).collect();
    Err(Fault::NotFound(format!(
        "TheTVDB has no id `{told}`: its ids are numbers"
    )))
}

pub fn bare(id: &str) -> &str {
    let id = id.trim();
    id.strip_prefix("series-")
        .or_else(|| id.strip_prefix("movie-"))
        .unwrap_or(id)
}

pub fn search(kind: Kind, title: &str, year: Option<u32>, page: u32) -> Result<Request, Fault> {
    let title: String = title.trim().chars().take(MAX_TITLE).collect();
    if title.is_empty() {
        return Err(Fault::Unsupported(
            "TheTVDB is searched by a title, and none was given".to_owned(),
        ));
    }
    let word = match kind {
        Kind::Movie => "movie",
        Kind::Show => "series",
    };
    let mut request = Request::new("/search".to_owned())
        .with("query", title)
        .with("type", word);
    if let Some(year) = year {
        request = request.with("year", year.to_string());
    }
    request = request.with("limit", PAGE.to_string());
    if page > 1 {
        let offset = (page.min(LAST_PAGE) - 1) * PAGE;
        request = request.with("offset", offset.to_string());
    }
    Ok(request)
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Movie => "movies",
        Kind::Show => "series",
    }
}

pub fn details(kind: Kind, id: &str) -> Result<Request, Fault> {
    let request = Request::new(format!("/{}/{}/extended", word(kind), own(id)?));
    Ok(request.with("meta", "translations"))
}

/// A page, from 0, of the episodes of a season in the order they were aired, with texts in the language.
pub fn episodes_of(show: &str, season: u32, language: Option<&str>, page: u32) -> Result<Request, Fault> {
    let language = language.and_then(words::language);
    let language = language.as_deref().unwrap_or(words::LANGUAGE);
    let request = Request::new(format!("/series/{}/episodes/default/{language}", own(show)?));
    Ok(request
        .with("season", season.to_string())
        .with("page", page.to_string()))
}

/// Films have no list of images of their own.
pub fn artwork(kind: Kind, id: &str) -> Result<Request, Fault> {
    Ok(match kind {
        Kind::Movie => Request::new(format!("/movies/{}/extended", own(id)?)),
        Kind::Show => Request::new(format!("/series/{}/artworks", own(id)?)),
    })
}

/// Titles by an id of `titledb` (IMDb). An id of TMDB is none that is told apart from those of others here.
pub fn find(source: &str, id: &str) -> Result<Request, Fault> {
    let id = id.trim();
    if source != "titledb" {
        return Err(Fault::Unsupported(
            "TheTVDB finds titles by ids of `titledb` alone".to_owned(),
        ));
    }
    let sound = id
        .strip_prefix("tt")
        .is_some_and(|rest| (5..=10).contains(&rest.len()) && rest.bytes().all(|byte| byte.is_ascii_digit()));
    if !sound {
        return Err(Fault::NotFound(
            "what was given is no id of the source `titledb`".to_owned(),
        ));
    }
    Ok(Request::new(format!("/search/remoteid/{id}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(request: Result<Request, Fault>) -> String {
        request.unwrap().url("http://h")
    }

    #[test]
    fn urls() {
        assert_eq!(login().url("http://h"), "http://h/login");
        for (request, expected) in [
            (
                search(Kind::Show, " Harbor & Nine ", Some(2023), 1),
                "http://h/search?query=Harbor%20%26%20Nine&type=series&year=2023&limit=50",
            ),
            (
                search(Kind::Movie, "X", None, 3),
                "http://h/search?query=X&type=movie&limit=50&offset=100",
            ),
            (
                search(Kind::Movie, "X", None, u32::MAX),
                "http://h/search?query=X&type=movie&limit=50&offset=4950",
            ),
            (
                details(Kind::Movie, "movie-603"),
                "http://h/movies/603/extended?meta=translations",
            ),
            (
                details(Kind::Show, "81"),
                "http://h/series/81/extended?meta=translations",
            ),
            (
                episodes_of("series-81", 0, Some("de-AT"), 0),
                "http://h/series/81/episodes/default/deu?season=0&page=0",
            ),
            (
                episodes_of("81", 2, Some("??"), 1),
                "http://h/series/81/episodes/default/eng?season=2&page=1",
            ),
            (artwork(Kind::Show, "81"), "http://h/series/81/artworks"),
            (artwork(Kind::Movie, "603"), "http://h/movies/603/extended"),
            (
                find("titledb", " tt7654321 "),
                "http://h/search/remoteid/tt7654321",
            ),
        ] {
            assert_eq!(url(request), expected);
        }
        let long = url(search(Kind::Show, &"x".repeat(1000), None, 1));
        assert!(long.len() < 400);
    }

    #[test]
    fn what_is_no_question() {
        for bad in ["", "0", "a", "1/2", "../1", "series-", "-1", "12345678901", "1?x"] {
            assert!(
                matches!(details(Kind::Show, bad), Err(Fault::NotFound(_))),
                "{bad}"
            );
        }
        assert!(matches!(
            search(Kind::Movie, " ", None, 1),
            Err(Fault::Unsupported(_))
        ));
        for (source, id) in [("provider_a", "1"), ("x", "tt7654321")] {
            assert!(matches!(find(source, id), Err(Fault::Unsupported(_))));
        }
        for id in ["", "7654321", "tt1", "tt12345a", "tt7654321/x", "nm0000001"] {
            assert!(matches!(find("titledb", id), Err(Fault::NotFound(_))), "{id}");
        }
    }
}
