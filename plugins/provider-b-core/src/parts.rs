//! Lists of titles, episodes, and who made them.

use provider_model::json::{counted, is_id, list, number, real, text};
use provider_model::{Credit, Episode, Fault, Hit, Kind, Page};
use serde_json::Value;

use crate::answer::other;
use crate::images::picture;
use crate::request::{PAGE, bare};
use crate::words;

/// The most of a list of people.
const PEOPLE: usize = 500;

/// An id, as a number or as text with the prefix of its kind.
fn id(value: &Value, name: &str) -> Option<String> {
    match value.get(name)? {
        Value::Number(number) => number.as_u64().filter(|id| *id > 0).map(|id| id.to_string()),
        Value::String(text) => Some(bare(text)).filter(|id| is_id(id)).map(str::to_owned),
        _ => None,
    }
}

/// A page of a search.
pub fn page(document: &Value, kind: Kind, page: u32, language: Option<&str>) -> Result<Page, Fault> {
    let Some(all) = document.get("data").and_then(Value::as_array) else {
        return Err(other("a list of titles"));
    };
    let hits: Vec<Hit> = all
        .iter()
        .filter_map(|value| found_by_search(value, kind, language))
        .collect();
    let links = document.get("links").unwrap_or(&Value::Null);
    let total = number(links, "total_items");
    Ok(Page {
        page,
        pages: total.map_or(page.min(u32::from(!all.is_empty())), |total| total.div_ceil(PAGE)),
        total,
        hits,
    })
}

fn found_by_search(value: &Value, kind: Kind, language: Option<&str>) -> Option<Hit> {
    let said = text(value, "type").or_else(|| text(value, "primary_type"));
    let wanted = match kind {
        Kind::Movie => "movie",
        Kind::Show => "series",
    };
    // What people enter as a type is not kept to by every answer.
    if said.is_some_and(|said| said != wanted) {
        return None;
    }
    let own = text(value, "name");
    let title = translated(value.get("translations"), language).or_else(|| own.clone())?;
    let day = text(value, "first_air_time");
    Some(Hit {
        id: id(value, "tvdb_id").or_else(|| id(value, "id"))?,
        kind,
        title,
        original_title: own,
        released: day.or_else(|| year(value)),
        overview: translated(value.get("overviews"), language).or_else(|| text(value, "overview")),
        original_language: text(value, "primary_language").and_then(|word| words::tag(&word)),
        poster: picture(value, "image_url"),
        backdrop: None,
        rating: None,
        votes: None,
        popularity: None,
    })
}

/// The first day of a year, where the day is not said.
fn year(value: &Value) -> Option<String> {
    let year = text(value, "year").or_else(|| number(value, "year").map(|year| year.to_string()))?;
    let sound = year.len() == 4 && year.bytes().all(|byte| byte.is_ascii_digit());
    sound.then(|| format!("{year}-01-01"))
}

/// The text in a language, of a map by its word.
fn translated(map: Option<&Value>, language: Option<&str>) -> Option<String> {
    let wanted = language.and_then(words::language);
    text(map?, wanted.as_deref().unwrap_or(words::LANGUAGE))
}

/// Films and shows that have an id of another database.
pub fn found(document: &Value) -> Result<Vec<Hit>, Fault> {
    let Some(all) = document.get("data").and_then(Value::as_array) else {
        return Err(other("titles of an id"));
    };
    let hits = all.iter().filter_map(|value| {
        let of = |name: &str, kind| value.get(name).and_then(|value| record(value, kind));
        of("movie", Kind::Movie).or_else(|| of("series", Kind::Show))
    });
    Ok(hits.collect())
}

/// A title, when it has an id and a name.
pub fn record(value: &Value, kind: Kind) -> Option<Hit> {
    let release = value
        .get("first_release")
        .and_then(|release| text(release, "date"));
    Some(Hit {
        id: id(value, "id")?,
        kind,
        title: text(value, "name")?,
        original_title: text(value, "name"),
        released: text(value, "firstAired").or(release).or_else(|| year(value)),
        overview: text(value, "overview"),
        original_language: text(value, "originalLanguage").and_then(|word| words::tag(&word)),
        poster: picture(value, "image"),
        backdrop: None,
        rating: None,
        votes: None,
        popularity: real(value, "score").filter(|score| *score > 0.0),
    })
}

/// The episodes of one season, of a page.
pub fn episodes(document: &Value, season: u32) -> Result<Vec<Episode>, Fault> {
    let data = document.get("data").unwrap_or(&Value::Null);
    if !data.get("episodes").is_some_and(Value::is_array) {
        return Err(other("a season"));
    }
    let all = list(data, "episodes").iter().filter_map(episode);
    Ok(all.filter(|episode| episode.season == season).collect())
}

/// True when another page follows.
pub fn more(document: &Value) -> bool {
    document
        .get("links")
        .and_then(|links| text(links, "next"))
        .is_some()
}

fn episode(value: &Value) -> Option<Episode> {
    Some(Episode {
        id: id(value, "id"),
        season: number(value, "seasonNumber")?,
        number: number(value, "number")?,
        title: text(value, "name"),
        overview: text(value, "overview"),
        aired: text(value, "aired"),
        runtime: counted(value, "runtime"),
        rating: None,
        votes: None,
        still: picture(value, "image"),
        guests: Vec::new(),
        crew: Vec::new(),
    })
}

/// Cast, crew and creators of a title, each in TheTVDB's order.
pub fn people(data: &Value) -> (Vec<Credit>, Vec<Credit>, Vec<String>) {
    let mut all: Vec<&Value> = list(data, "characters").iter().collect();
    all.sort_by_key(|value| number(value, "sort").unwrap_or(u32::MAX));
    let (mut cast, mut crew, mut creators) = (Vec::new(), Vec::new(), Vec::new());
    for value in all {
        let Some(name) = text(value, "personName") else {
            continue;
        };
        let job = text(value, "peopleType").unwrap_or_else(|| "Actor".to_owned());
        match job.as_str() {
            "Actor" => cast.push(Credit {
                id: id(value, "peopleId"),
                name,
                role: text(value, "name"),
                picture: picture(value, "personImgURL"),
            }),
            "Guest Star" | "Host" | "Musical Guest" => {}
            "Creator" => creators.push(name),
            _ => crew.push(Credit {
                id: id(value, "peopleId"),
                name,
                role: Some(job),
                picture: picture(value, "personImgURL"),
            }),
        }
    }
    cast.truncate(PEOPLE);
    crew.truncate(PEOPLE);
    (cast, crew, creators)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_search() {
        let document = json!({ "data": [
            { "objectID": "series-81", "id": "series-81", "tvdb_id": "81", "name": "Hafen Neun", "type": "series", "year": "2023",
              "first_air_time": "2023-02-01", "primary_language": "deu", "image_url": "https://artworks.thetvdb.com/banners/p.jpg",
              "overview": "Ein Hafen.", "overviews": { "eng": "A port." }, "translations": { "eng": "Harbor Nine", "deu": "Hafen Neun" } },
            { "id": "series-82", "name": "Other", "year": "2020" },
            { "id": "movie-9", "name": "A film", "type": "movie" },
            { "id": "series-x", "name": "No id" }, { "id": "series-5" }, "odd",
        ], "links": { "total_items": 61, "page_size": 50 } });
        let found = page(&document, Kind::Show, 1, None).unwrap();
        assert_eq!((found.hits.len(), found.pages, found.total), (2, 2, Some(61)));
        let first = &found.hits[0];
        assert_eq!((&*first.id, &*first.title), ("81", "Harbor Nine"));
        assert_eq!(first.original_title.as_deref(), Some("Hafen Neun"));
        assert_eq!(first.overview.as_deref(), Some("A port."));
        assert_eq!(first.original_language.as_deref(), Some("de"));
        assert_eq!(found.hits[1].released.as_deref(), Some("2020-01-01"));
        let german = page(&document, Kind::Show, 1, Some("de-AT")).unwrap();
        assert_eq!(german.hits[0].title, "Hafen Neun");
        assert_eq!(
            german.hits[0].overview.as_deref(),
            Some("Ein Hafen."),
            "its own, where none is translated"
        );
        assert!(matches!(
            page(&json!({ "data": {} }), Kind::Show, 1, None),
            Err(Fault::Unparsable(_))
        ));
        let none = page(&json!({ "data": [] }), Kind::Show, 1, None).unwrap();
        assert_eq!((none.pages, none.total), (0, None));
    }

    #[test]
    fn titles_of_an_id() {
        let document = json!({ "data": [
            { "series": { "id": 81, "name": "Harbor Nine", "firstAired": "2023-02-01", "score": 900 } },
            { "movie": { "id": 603, "name": "Orchard", "year": "1999" } },
            { "episode": { "id": 7, "name": "Tide" } }, { "people": { "id": 1, "name": "Jo" } },
        ] });
        let found = found(&document).unwrap();
        let told: Vec<_> = found.iter().map(|hit| (hit.kind, &*hit.id)).collect();
        assert_eq!(told, [(Kind::Show, "81"), (Kind::Movie, "603")]);
        assert_eq!(found[1].released.as_deref(), Some("1999-01-01"));
    }

    #[test]
    fn a_season() {
        let document = json!({ "data": { "episodes": [
            { "id": 5, "seasonNumber": 1, "number": 2, "name": "Tide", "aired": "2023-02-08", "runtime": 51, "image": "/banners/e.jpg" },
            { "id": 6, "seasonNumber": 2, "number": 1 }, { "seasonNumber": 1 }, 7,
        ] }, "links": { "next": "https://h/x?page=1" } });
        let all = episodes(&document, 1).unwrap();
        assert_eq!(all.len(), 1);
        assert_eq!(
            (all[0].number, all[0].title.as_deref(), all[0].runtime),
            (2, Some("Tide"), Some(51))
        );
        assert!(more(&document));
        assert!(!more(&json!({ "links": { "next": null } })));
        assert!(episodes(&json!({ "data": [] }), 1).is_err());
    }
}
