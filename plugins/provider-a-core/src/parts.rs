//! Lists of titles, episodes, and who made them.

use serde_json::Value;

use crate::images::{Shape, picture};
use provider_model::json::{counted, id, list, number, real, text};
use provider_model::{Credit, Episode, Fault, Hit, Kind, Page};

/// The most of a list of people.
const PEOPLE: usize = 500;
/// The most of a list of people of one episode.
const PEOPLE_OF_EPISODE: usize = 100;

/// A page of a search.
pub fn page(document: &Value, kind: Kind) -> Result<Page, Fault> {
    if !document.get("results").is_some_and(Value::is_array) {
        return Err(Fault::Unparsable(
            "TMDB answered other JSON where a list of titles was expected".to_owned(),
        ));
    }
    let hits: Vec<Hit> = list(document, "results")
        .iter()
        .filter_map(|value| hit(value, kind))
        .collect();
    let page = number(document, "page").unwrap_or(1);
    Ok(Page {
        page,
        pages: number(document, "total_pages").unwrap_or_else(|| page.min(u32::from(!hits.is_empty()))),
        total: number(document, "total_results"),
        hits,
    })
}

/// Films and shows that have an id of another database.
pub fn found(document: &Value) -> Result<Vec<Hit>, Fault> {
    let lists = [("movie_results", Kind::Movie), ("tv_results", Kind::Show)];
    if lists.iter().all(|(name, _)| document.get(name).is_none()) {
        return Err(Fault::Unparsable(
            "TMDB answered other JSON where titles of an id were expected".to_owned(),
        ));
    }
    let hits = lists.into_iter().flat_map(|(name, kind)| {
        let all = list(document, name).iter();
        all.filter_map(move |value| hit(value, kind))
    });
    Ok(hits.collect())
}

/// A title, when it has an id and a name.
pub fn hit(value: &Value, kind: Kind) -> Option<Hit> {
    let (title, original, date) = match kind {
        Kind::Movie => ("title", "original_title", "release_date"),
        Kind::Show => ("name", "original_name", "first_air_date"),
    };
    let original_title = text(value, original);
    let (rating, votes) = rating(value);
    Some(Hit {
        id: id(value, "id")?,
        kind,
        title: text(value, title).or_else(|| original_title.clone())?,
        original_title,
        released: text(value, date),
        overview: text(value, "overview"),
        original_language: text(value, "original_language"),
        poster: picture(value, "poster_path", Shape::Poster),
        backdrop: picture(value, "backdrop_path", Shape::Backdrop),
        rating,
        votes,
        popularity: real(value, "popularity"),
    })
}

/// Rating and votes; without votes there is no rating.
pub fn rating(value: &Value) -> (Option<f64>, Option<u32>) {
    let votes = number(value, "vote_count");
    let rating = real(value, "vote_average").filter(|rating| *rating > 0.0 && votes != Some(0));
    (rating, votes)
}

/// The episodes of a season.
pub fn episodes(document: &Value, season: u32) -> Result<Vec<Episode>, Fault> {
    if !document.get("episodes").is_some_and(Value::is_array) {
        return Err(Fault::Unparsable(
            "TMDB answered other JSON where a season was expected".to_owned(),
        ));
    }
    let all = list(document, "episodes").iter();
    Ok(all.filter_map(|value| episode(value, Some(season))).collect())
}

/// An episode, when it has a number.
pub fn episode(value: &Value, season: Option<u32>) -> Option<Episode> {
    let (rating, votes) = rating(value);
    Some(Episode {
        id: id(value, "id"),
        season: number(value, "season_number").or(season)?,
        number: number(value, "episode_number")?,
        title: text(value, "name"),
        overview: text(value, "overview"),
        aired: text(value, "air_date"),
        runtime: counted(value, "runtime"),
        rating,
        votes,
        still: picture(value, "still_path", Shape::Still),
        guests: people(value, "guest_stars", "character", PEOPLE_OF_EPISODE),
        crew: people(value, "crew", "job", PEOPLE_OF_EPISODE),
    })
}

/// Cast and crew of a title.
pub fn credits(document: &Value) -> (Vec<Credit>, Vec<Credit>) {
    let credits = document.get("credits").unwrap_or(&Value::Null);
    (
        people(credits, "cast", "character", PEOPLE),
        people(credits, "crew", "job", PEOPLE),
    )
}

fn people(value: &Value, name: &str, role: &str, most: usize) -> Vec<Credit> {
    let person = |value: &Value| {
        Some(Credit {
            id: id(value, "id"),
            name: text(value, "name")?,
            role: text(value, role),
            picture: picture(value, "profile_path", Shape::Profile),
        })
    };
    list(value, name).iter().take(most).filter_map(person).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_page_of_shows() {
        let document = json!({
            "page": 2, "total_pages": 7, "total_results": 131,
            "results": [
                {
                    "id": 81123, "name": "Harbor Nine", "original_name": "Hafen Neun", "first_air_date": "2023-02-01",
                    "overview": " A port. ", "original_language": "de", "poster_path": "/p.jpg", "backdrop_path": null,
                    "vote_average": 7.9, "vote_count": 210, "popularity": 12.5, "genre_ids": [18], "adult": false,
                },
                { "id": 2, "name": "", "original_name": "Nur", "first_air_date": "", "vote_average": 0, "vote_count": 0 },
                { "id": 3 },
                { "name": "no id" },
                { "id": "4", "name": "text id", "vote_count": "many", "popularity": "x" },
                7,
            ],
        });
        let page = page(&document, Kind::Show).unwrap();
        assert_eq!((page.page, page.pages, page.total), (2, 7, Some(131)));
        let told: Vec<_> = page
            .hits
            .iter()
            .map(|hit| (hit.id.as_str(), hit.title.as_str()))
            .collect();
        assert_eq!(told, [("81123", "Harbor Nine"), ("2", "Nur"), ("4", "text id")]);
        let first = &page.hits[0];
        assert_eq!(first.original_title.as_deref(), Some("Hafen Neun"));
        assert_eq!(first.released.as_deref(), Some("2023-02-01"));
        assert_eq!(first.overview.as_deref(), Some("A port."));
        assert_eq!((first.rating, first.votes), (Some(7.9), Some(210)));
        assert!(first.poster.is_some() && first.backdrop.is_none());
        let second = &page.hits[1];
        assert_eq!((second.rating, &second.released), (None, &None));
    }

    #[test]
    fn other_json_is_no_page() {
        for document in [json!({}), json!({ "results": {} }), json!({ "results": null })] {
            assert!(
                matches!(page(&document, Kind::Movie), Err(Fault::Unparsable(_))),
                "{document}"
            );
        }
        let empty = page(&json!({ "results": [] }), Kind::Movie).unwrap();
        assert_eq!((empty.hits.len(), empty.pages), (0, 0));
        assert!(matches!(found(&json!({})), Err(Fault::Unparsable(_))));
        assert!(matches!(
            episodes(&json!({ "id": 1 }), 1),
            Err(Fault::Unparsable(_))
        ));
    }

    #[test]
    fn films_and_shows_of_an_id() {
        let document = json!({
            "movie_results": [{ "id": 603, "title": "Orchard", "release_date": "1999-03-31" }],
            "person_results": [{ "id": 9, "name": "Jo" }],
            "tv_results": [{ "id": 5, "name": "Tide" }],
        });
        let told: Vec<_> = found(&document)
            .unwrap()
            .into_iter()
            .map(|hit| (hit.kind, hit.title))
            .collect();
        assert_eq!(
            told,
            [
                (Kind::Movie, "Orchard".to_owned()),
                (Kind::Show, "Tide".to_owned())
            ]
        );
    }

    #[test]
    fn episodes_of_a_season() {
        let document = json!({ "season_number": 1, "episodes": [
            {
                "id": 11, "season_number": 1, "episode_number": 1, "name": "Tide", "overview": "", "air_date": "2023-02-01",
                "runtime": 48, "still_path": "/s.jpg", "vote_average": 8, "vote_count": 3,
                "guest_stars": [{ "id": 7, "name": "Jo Reed", "character": "Pilot", "profile_path": "/j.jpg" }, { "id": 8 }],
                "crew": [{ "id": 9, "name": "Al Moor", "job": "Director" }],
            },
            { "episode_number": 2, "runtime": 0 },
            { "name": "without a number" },
        ]});
        let all = episodes(&document, 1).unwrap();
        assert_eq!(all.len(), 2);
        assert_eq!((all[0].runtime, all[0].rating), (Some(48), Some(8.0)));
        assert_eq!(all[0].guests.len(), 1);
        assert_eq!(all[0].guests[0].role.as_deref(), Some("Pilot"));
        assert_eq!(all[0].crew[0].role.as_deref(), Some("Director"));
        assert_eq!(
            all[1],
            Episode {
                season: 1,
                number: 2,
                ..Episode::default()
            }
        );
    }
}
