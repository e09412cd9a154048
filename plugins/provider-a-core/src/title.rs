//! All about one title.

use serde_json::Value;

use crate::images::{Shape, picture};
use crate::parts::{credits, episode, hit};
use provider_model::json::{counted, id, list, names, number, text};
use provider_model::{Fault, Kind, Season, Standing, Title};

/// The country whose certification counts where none was named.
const COUNTRY: &str = "US";
/// The kind of release (in cinemas) whose certification comes first.
const THEATRICAL: u32 = 3;

/// Reads the answer to a question for details with [`lists`](crate::lists) in it.
pub fn details(document: &Value, kind: Kind, country: Option<&str>) -> Result<Title, Fault> {
    let hit = hit(document, kind)
        .ok_or_else(|| Fault::Unparsable("TMDB answered other JSON where a title was expected".to_owned()))?;
    let country = country.unwrap_or(COUNTRY);
    let status = text(document, "status");
    let (cast, crew) = credits(document);
    let part = |name: &str| document.get(name).and_then(|value| episode(value, None));
    let last_episode = part("last_episode_to_air");
    let runtime = match kind {
        Kind::Movie => counted(document, "runtime"),
        Kind::Show => {
            let usual = list(document, "episode_run_time").first();
            let usual = usual
                .and_then(Value::as_u64)
                .and_then(|minutes| u32::try_from(minutes).ok());
            let last = || last_episode.as_ref().and_then(|episode| episode.runtime);
            usual.filter(|minutes| *minutes > 0).or_else(last)
        }
    };
    Ok(Title {
        tagline: text(document, "tagline"),
        last_aired: text(document, "last_air_date"),
        standing: standing(status.as_deref()),
        status,
        countries: countries(document),
        genres: names(document, "genres"),
        tags: tags(document),
        runtime,
        certification: match kind {
            Kind::Movie => certification_of_film(document, country),
            Kind::Show => certification_of_show(document, country),
        },
        studios: names(document, "production_companies"),
        networks: names(document, "networks"),
        cast,
        crew,
        creators: names(document, "created_by"),
        seasons: list(document, "seasons").iter().filter_map(season).collect(),
        season_count: number(document, "number_of_seasons"),
        episode_count: number(document, "number_of_episodes"),
        last_episode,
        next_episode: part("next_episode_to_air"),
        page: match kind {
            Kind::Movie => format!("https://www.themoviedb.org/movie/{}", hit.id),
            Kind::Show => format!("https://www.themoviedb.org/tv/{}", hit.id),
        },
        ids: ids(document, &hit.id),
        hit,
    })
}

/// TMDB's words for where a title stands.
fn standing(status: Option<&str>) -> Standing {
    match status.unwrap_or_default().to_ascii_lowercase().as_str() {
        "returning series" | "returning" | "continuing" => Standing::Returning,
        "ended" => Standing::Ended,
        "canceled" | "cancelled" => Standing::Canceled,
        "in production" | "post production" | "planned" | "pilot" | "rumored" => Standing::Planned,
        "released" => Standing::Released,
        _ => Standing::Unknown,
    }
}

fn season(value: &Value) -> Option<Season> {
    Some(Season {
        number: number(value, "season_number")?,
        title: text(value, "name"),
        overview: text(value, "overview"),
        aired: text(value, "air_date"),
        episodes: number(value, "episode_count"),
        poster: picture(value, "poster_path", Shape::Poster),
    })
}

/// Countries of origin; for films without any, the countries of production.
fn countries(document: &Value) -> Vec<String> {
    let origin: Vec<String> = list(document, "origin_country")
        .iter()
        .filter_map(|country| country.as_str().map(str::to_owned))
        .collect();
    if !origin.is_empty() {
        return origin;
    }
    list(document, "production_countries")
        .iter()
        .filter_map(|country| text(country, "iso_3166_1"))
        .collect()
}

/// Keywords: of films and shows they stand in members of different names.
fn tags(document: &Value) -> Vec<String> {
    let keywords = document.get("keywords").unwrap_or(&Value::Null);
    let mut tags = names(keywords, "keywords");
    tags.extend(names(keywords, "results"));
    tags
}

/// Entries of one country in the list `name` of the document.
fn of_country<'v>(document: &'v Value, name: &str, country: &str) -> impl Iterator<Item = &'v Value> {
    let all = document.get(name).map_or(&[][..], |value| list(value, "results"));
    let country = country.to_ascii_uppercase();
    all.iter()
        .filter(move |value| value.get("iso_3166_1").and_then(Value::as_str) == Some(country.as_str()))
}

fn certification_of_show(document: &Value, country: &str) -> Option<String> {
    of_country(document, "content_ratings", country).find_map(|value| text(value, "rating"))
}

fn certification_of_film(document: &Value, country: &str) -> Option<String> {
    let releases =
        || of_country(document, "release_dates", country).flat_map(|value| list(value, "release_dates"));
    let in_cinemas = releases().filter(|release| number(release, "type") == Some(THEATRICAL));
    in_cinemas
        .chain(releases())
        .find_map(|release| text(release, "certification"))
}

/// Ids of the title in other databases, by neutral names, and its own.
fn ids(document: &Value, own: &str) -> Vec<(&'static str, String)> {
    let elsewhere = document.get("external_ids").unwrap_or(&Value::Null);
    let imdb = text(elsewhere, "imdb_id").or_else(|| text(document, "imdb_id"));
    let mut all = vec![("provider_a", own.to_owned())];
    all.extend(imdb.filter(|id| id.starts_with("tt")).map(|id| ("titledb", id)));
    all.extend(id(elsewhere, "tvdb_id").map(|id| ("provider_b", id)));
    all.extend(text(elsewhere, "wikidata_id").map(|id| ("wikidata", id)));
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_show() {
        let document = json!({
            "id": 81123, "name": "Harbor Nine", "original_name": "Harbor Nine", "status": "Returning Series", "tagline": "",
            "first_air_date": "2023-02-01", "last_air_date": "2026-04-01", "number_of_seasons": 3, "number_of_episodes": 24,
            "episode_run_time": [], "origin_country": ["GB"], "genres": [{ "id": 18, "name": "Drama" }, { "id": 1 }],
            "networks": [{ "name": "Channel Nine" }], "production_companies": [{ "name": "Quay" }],
            "created_by": [{ "name": "Al Moor" }], "homepage": "https://x.test",
            "last_episode_to_air": { "id": 5, "name": "Tide", "season_number": 3, "episode_number": 8, "air_date": "2026-04-01", "runtime": 51 },
            "next_episode_to_air": null,
            "seasons": [{ "season_number": 0, "name": "Specials", "episode_count": 2 }, { "name": "odd" }],
            "credits": { "cast": [{ "id": 1, "name": "Jo Reed", "character": "Captain" }], "crew": [{ "name": "Al", "job": "Producer" }] },
            "external_ids": { "imdb_id": "tt7654321", "tvdb_id": 361_753, "wikidata_id": "Q5", "facebook_id": "x" },
            "keywords": { "results": [{ "name": "port" }] },
            "content_ratings": { "results": [{ "iso_3166_1": "US", "rating": "TV-14" }, { "iso_3166_1": "DE", "rating": "12" }] },
        });
        let title = details(&document, Kind::Show, None).unwrap();
        assert_eq!(title.standing, Standing::Returning);
        assert_eq!(title.status.as_deref(), Some("Returning Series"));
        assert_eq!((title.season_count, title.episode_count), (Some(3), Some(24)));
        assert_eq!(
            title.runtime,
            Some(51),
            "the last episode's, where the show says nothing"
        );
        assert_eq!(title.last_episode.unwrap().title.as_deref(), Some("Tide"));
        assert_eq!(title.next_episode, None);
        assert_eq!(
            (title.genres, title.tags),
            (vec!["Drama".to_owned()], vec!["port".to_owned()])
        );
        assert_eq!(
            (title.countries, title.networks),
            (vec!["GB".to_owned()], vec!["Channel Nine".to_owned()])
        );
        assert_eq!(title.seasons.len(), 1);
        assert_eq!(title.certification.as_deref(), Some("TV-14"));
        assert_eq!(title.page, "https://www.themoviedb.org/tv/81123");
        assert_eq!(title.cast[0].role.as_deref(), Some("Captain"));
        let ids: Vec<_> = title
            .ids
            .iter()
            .map(|(source, id)| (*source, id.as_str()))
            .collect();
        assert_eq!(
            ids,
            [
                ("provider_a", "81123"),
                ("titledb", "tt7654321"),
                ("provider_b", "361753"),
                ("wikidata", "Q5"),
            ]
        );
        let german = details(&document, Kind::Show, Some("de")).unwrap();
        assert_eq!(german.certification.as_deref(), Some("12"));
        let elsewhere = details(&document, Kind::Show, Some("FR")).unwrap();
        assert_eq!(
            elsewhere.certification, None,
            "another country's is none of this one"
        );
    }

    #[test]
    fn a_film() {
        let document = json!({
            "id": 603, "title": "Orchard", "release_date": "1999-03-31", "runtime": 136, "status": "Released", "imdb_id": "tt0133093",
            "production_countries": [{ "iso_3166_1": "US" }], "keywords": { "keywords": [{ "name": "apple" }] },
            "release_dates": { "results": [{ "iso_3166_1": "US", "release_dates": [
                { "type": 1, "certification": "NR" }, { "type": 3, "certification": "" }, { "type": 3, "certification": "R" } ] }] },
            "external_ids": { "imdb_id": null, "tvdb_id": null },
        });
        let title = details(&document, Kind::Movie, Some("US")).unwrap();
        assert_eq!((title.runtime, title.standing), (Some(136), Standing::Released));
        assert_eq!(title.certification.as_deref(), Some("R"));
        assert_eq!(title.countries, ["US"]);
        assert_eq!(title.tags, ["apple"]);
        assert_eq!(title.ids[1], ("titledb", "tt0133093".to_owned()));
        assert!(title.seasons.is_empty() && title.season_count.is_none());
    }

    #[test]
    fn the_least_there_may_be() {
        let least = details(&json!({ "id": 1, "name": "X" }), Kind::Show, None).unwrap();
        assert_eq!((least.standing, least.status), (Standing::Unknown, None));
        assert_eq!(least.ids, [("provider_a", "1".to_owned())]);
        for other in [
            json!({}),
            json!({ "id": 1 }),
            json!({ "id": 1, "title": "a film" }),
            json!({ "id": -1, "name": "x" }),
        ] {
            assert!(
                matches!(details(&other, Kind::Show, None), Err(Fault::Unparsable(_))),
                "{other}"
            );
        }
    }

    #[test]
    fn every_word_for_a_status() {
        for (word, expected) in [
            ("Returning Series", Standing::Returning),
            ("ENDED", Standing::Ended),
            ("Canceled", Standing::Canceled),
            ("Cancelled", Standing::Canceled),
            ("In Production", Standing::Planned),
            ("Post Production", Standing::Planned),
            ("Planned", Standing::Planned),
            ("Pilot", Standing::Planned),
            ("Rumored", Standing::Planned),
            ("Released", Standing::Released),
            ("On a boat", Standing::Unknown),
        ] {
            assert_eq!(standing(Some(word)), expected, "{word}");
        }
        assert_eq!(standing(None), Standing::Unknown);
    }

    /// Any JSON, in the members that are read.
    fn odd() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "\\PC{0,12}".prop_map(Value::from),
        ];
        let names = prop::sample::select(vec![
            "id",
            "name",
            "title",
            "results",
            "credits",
            "cast",
            "crew",
            "seasons",
            "season_number",
            "episodes",
            "episode_number",
            "episode_run_time",
            "external_ids",
            "tvdb_id",
            "imdb_id",
            "content_ratings",
            "release_dates",
            "iso_3166_1",
            "rating",
            "poster_path",
            "last_episode_to_air",
            "runtime",
            "posters",
            "file_path",
            "vote_average",
            "vote_count",
            "page",
        ]);
        leaf.prop_recursive(4, 60, 8, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec((names.clone(), inner), 0..8).prop_map(|members| {
                    Value::Object(
                        members
                            .into_iter()
                            .map(|(name, value)| (name.to_owned(), value))
                            .collect(),
                    )
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_document_is_too_odd(document in odd()) {
            for kind in [Kind::Movie, Kind::Show] {
                let _ = details(&document, kind, Some("de"));
                let _ = crate::page(&document, kind);
            }
            let _ = crate::found(&document);
            let _ = crate::episodes(&document, 1);
            let _ = crate::images(&document, Some("de"));
        }
    }
}
