//! All about one title.

use provider_model::json::{counted, list, names, number, text};
use provider_model::{Credit, Fault, Kind, Season, Standing, Title};
use serde_json::Value;

use crate::answer::other;
use crate::images::picture;
use crate::parts::{people, record};
use crate::words;

/// Base URL of the pages of titles.
const PAGES: &str = "https://thetvdb.com";
/// The most of a list of companies.
const COMPANIES: usize = 50;

/// Reads the answer to a question for details, texts in the language.
pub fn details(
    document: &Value,
    kind: Kind,
    language: Option<&str>,
    country: Option<&str>,
) -> Result<Title, Fault> {
    let data = document.get("data").unwrap_or(&Value::Null);
    let mut hit = record(data, kind).ok_or_else(|| other("a title"))?;
    let wanted = language.and_then(words::language);
    let wanted = wanted.as_deref().unwrap_or(words::LANGUAGE);
    let translation = |list_name, name| translated(data, list_name, name, wanted);
    if let Some(title) = translation("nameTranslations", "name") {
        hit.title = title;
    }
    let original = hit.original_language.as_deref().and_then(words::language);
    hit.overview = translation("overviewTranslations", "overview")
        .or(hit.overview)
        .or_else(|| translated(data, "overviewTranslations", "overview", original.as_deref()?));
    hit.backdrop = crate::images(document, None)
        .into_iter()
        .find(|image| image.kind == provider_model::ImageKind::Backdrop)
        .map(|image| image.picture);
    let status = data.get("status").and_then(|status| text(status, "name"));
    let (cast, crew, creators) = people(data);
    let (studios, networks) = companies(data, kind);
    let seasons = seasons(data);
    Ok(Title {
        tagline: None,
        last_aired: text(data, "lastAired"),
        standing: standing(status.as_deref()),
        status,
        countries: countries(data),
        genres: names(data, "genres"),
        tags: tags(data),
        runtime: counted(data, "runtime").or_else(|| counted(data, "averageRuntime")),
        certification: certification(data, country),
        studios,
        networks,
        cast: billed(cast),
        crew,
        creators,
        season_count: (kind == Kind::Show && !seasons.is_empty())
            .then(|| seasons.iter().filter(|season| season.number > 0).count() as u32),
        seasons,
        episode_count: None,
        last_episode: None,
        next_episode: None,
        page: page(data, kind, &hit.id),
        ids: ids(data, &hit.id),
        hit,
    })
}

/// A text of a list of translations.
fn translated(data: &Value, list_name: &str, name: &str, language: &str) -> Option<String> {
    let translations = data.get("translations")?;
    list(translations, list_name)
        .iter()
        // Another name of it is one more translation there.
        .filter(|value| value.get("isAlias").and_then(Value::as_bool) != Some(true))
        .filter(|value| value.get("language").and_then(Value::as_str) == Some(language))
        .find_map(|value| text(value, name))
}

/// Each person of the cast once.
fn billed(cast: Vec<Credit>) -> Vec<Credit> {
    let mut seen = std::collections::HashSet::new();
    let first = |credit: &Credit| seen.insert((credit.name.clone(), credit.role.clone()));
    cast.into_iter().filter(first).collect()
}

/// TheTVDB's words for where a title stands.
fn standing(status: Option<&str>) -> Standing {
    match status.unwrap_or_default().to_ascii_lowercase().as_str() {
        "continuing" => Standing::Continuing,
        "ended" => Standing::Ended,
        "upcoming"
        | "announced"
        | "pre-production"
        | "filming / post-production"
        | "filming/post-production"
        | "completed" => Standing::Planned,
        "released" => Standing::Released,
        _ => Standing::Unknown,
    }
}

/// The seasons in the order they were aired; there are others, of DVDs say.
fn seasons(data: &Value) -> Vec<Season> {
    let official = |value: &&Value| {
        let kind = value.get("type").and_then(|kind| text(kind, "type"));
        kind.as_deref() == Some("official")
    };
    let season = |value: &Value| {
        Some(Season {
            number: number(value, "number")?,
            title: text(value, "name"),
            overview: None,
            aired: None,
            episodes: None,
            poster: picture(value, "image"),
        })
    };
    let all = list(data, "seasons").iter().filter(official);
    let mut all: Vec<Season> = all.filter_map(season).collect();
    all.sort_by_key(|season| season.number);
    all.dedup_by_key(|season| season.number);
    all
}

/// Studios and networks: of a show one list of companies with their kinds, of a film one list a kind.
fn companies(data: &Value, kind: Kind) -> (Vec<String>, Vec<String>) {
    let (mut studios, mut networks) = (Vec::new(), Vec::new());
    let mut add = |name: Option<String>, is_network: bool| {
        let all = if is_network { &mut networks } else { &mut studios };
        if let Some(name) = name
            && all.len() < COMPANIES
            && !all.contains(&name)
        {
            all.push(name);
        }
    };
    for name in ["originalNetwork", "latestNetwork"] {
        add(data.get(name).and_then(|network| text(network, "name")), true);
    }
    for name in names(data, "studios") {
        add(Some(name), false);
    }
    match kind {
        Kind::Show => {
            for company in list(data, "companies") {
                let of = company
                    .get("companyType")
                    .and_then(|kind| text(kind, "companyTypeName"))
                    .unwrap_or_default()
                    .to_ascii_lowercase();
                if of.contains("network") {
                    add(text(company, "name"), true);
                } else if of.contains("studio") || of.contains("production") {
                    add(text(company, "name"), false);
                }
            }
        }
        Kind::Movie => {
            let lists = data.get("companies").unwrap_or(&Value::Null);
            for (list_name, is_network) in [("network", true), ("studio", false), ("production", false)] {
                for name in names(lists, list_name) {
                    add(Some(name), is_network);
                }
            }
        }
    }
    (studios, networks)
}

fn countries(data: &Value) -> Vec<String> {
    if let Some(country) = text(data, "originalCountry").and_then(|word| words::country(&word)) {
        return vec![country];
    }
    let all = list(data, "production_countries").iter();
    all.filter_map(|value| text(value, "country"))
        .filter_map(|word| words::country(&word))
        .collect()
}

/// Names of tags: of shows in `tags`, of films in `tagOptions`.
fn tags(data: &Value) -> Vec<String> {
    let mut tags = names(data, "tags");
    for tag in names(data, "tagOptions") {
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    tags
}

/// Certification for the country; the first one when no country was named.
fn certification(data: &Value, country: Option<&str>) -> Option<String> {
    let wanted = country.map(str::to_ascii_uppercase);
    list(data, "contentRatings")
        .iter()
        .filter(|value| {
            wanted.is_none() || text(value, "country").and_then(|word| words::country(&word)) == wanted
        })
        .find_map(|value| text(value, "name"))
}

fn page(data: &Value, kind: Kind, id: &str) -> String {
    let slug = text(data, "slug").filter(|slug| {
        slug.len() <= 200
            && slug
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    });
    match (kind, slug) {
        (Kind::Movie, Some(slug)) => format!("{PAGES}/movies/{slug}"),
        (Kind::Show, Some(slug)) => format!("{PAGES}/series/{slug}"),
        (Kind::Movie, None) => format!("{PAGES}/dereferrer/movie/{id}"),
        (Kind::Show, None) => format!("{PAGES}/dereferrer/series/{id}"),
    }
}

/// Ids of the title in other databases, by neutral names, and its own.
fn ids(data: &Value, own: &str) -> Vec<(&'static str, String)> {
    let mut all = vec![("provider_b", own.to_owned())];
    for remote in list(data, "remoteIds") {
        let (Some(source), Some(id)) = (text(remote, "sourceName"), text(remote, "id")) else {
            continue;
        };
        let source = source.to_ascii_lowercase().replace([' ', '.', '_'], "");
        let number = provider_model::json::is_id(&id);
        let word = match &*source {
            source if source.contains("imdb") && id.starts_with("tt") => "titledb",
            source if (source.contains("themoviedb") || source.contains("tmdb")) && number => "provider_a",
            source if source.contains("tvmaze") && number => "tvmaze",
            source if source.contains("wikidata") => "wikidata",
            _ => continue,
        };
        if all.iter().all(|(other, _)| *other != word) {
            all.push((word, id));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_show() {
        let document = json!({ "status": "success", "data": {
            "id": 361_753, "name": "Hafen Neun", "slug": "harbor-nine", "image": "https://artworks.thetvdb.com/banners/p.jpg",
            "firstAired": "2023-02-01", "lastAired": "2026-04-01", "nextAired": "", "score": 1234,
            "status": { "id": 1, "name": "Continuing" }, "originalCountry": "gbr", "originalLanguage": "deu", "averageRuntime": 51,
            "overview": "Ein Hafen.", "year": "2023",
            "translations": {
                "nameTranslations": [{ "language": "eng", "name": "Nine", "isAlias": true }, { "language": "eng", "name": "Harbor Nine" }],
                "overviewTranslations": [{ "language": "eng", "overview": "A port." }] },
            "artworks": [{ "type": 3, "image": "/banners/b.jpg" }],
            "companies": [
                { "name": "Channel Nine", "companyType": { "companyTypeName": "Network" } },
                { "name": "Quay", "companyType": { "companyTypeName": "Production Company" } },
                { "name": "Effects", "companyType": { "companyTypeName": "Special Effects" } }],
            "originalNetwork": { "name": "Channel Nine" },
            "genres": [{ "id": 1, "name": "Drama" }, {}], "tags": [{ "name": "port", "tagName": "Setting" }],
            "contentRatings": [{ "name": "TV-14", "country": "usa" }, { "name": "12", "country": "deu" }],
            "remoteIds": [
                { "id": "nm1", "sourceName": "IMDB" }, { "id": "tt7654321", "sourceName": "IMDB" },
                { "id": "81123", "sourceName": "TheMovieDB.com" }, { "id": "12", "sourceName": "TV Maze" }, { "id": "x", "sourceName": "TMDB" }],
            "characters": [
                { "peopleType": "Actor", "personName": "Al Moor", "name": "Mate", "sort": 2, "peopleId": 7 },
                { "peopleType": "Actor", "personName": "Jo Reed", "name": "Captain", "sort": 1, "personImgURL": "/banners/person/1.jpg" },
                { "peopleType": "Actor", "personName": "Jo Reed", "name": "Captain", "sort": 3 },
                { "peopleType": "Guest Star", "personName": "X" },
                { "peopleType": "Director", "personName": "Di" }, { "peopleType": "Creator", "personName": "Cy" }, { "peopleType": "Writer" }],
            "seasons": [
                { "number": 1, "type": { "type": "official" }, "image": "/banners/s1.jpg" }, { "number": 0, "type": { "type": "official" } },
                { "number": 1, "type": { "type": "dvd" } }, { "type": { "type": "official" } }],
        } });
        let title = details(&document, Kind::Show, None, None).unwrap();
        assert_eq!(
            (&*title.hit.title, title.hit.original_title.as_deref()),
            ("Harbor Nine", Some("Hafen Neun"))
        );
        assert_eq!(title.hit.overview.as_deref(), Some("A port."));
        assert_eq!(
            (title.standing, title.status.as_deref()),
            (Standing::Continuing, Some("Continuing"))
        );
        assert_eq!(
            (title.networks, title.studios),
            (vec!["Channel Nine".to_owned()], vec!["Quay".to_owned()])
        );
        assert_eq!(title.certification.as_deref(), Some("TV-14"));
        assert_eq!(
            (title.countries, title.genres, title.tags),
            (
                vec!["GB".to_owned()],
                vec!["Drama".to_owned()],
                vec!["port".to_owned()]
            )
        );
        let cast: Vec<_> = title
            .cast
            .iter()
            .map(|credit| (&*credit.name, credit.role.as_deref()))
            .collect();
        assert_eq!(cast, [("Jo Reed", Some("Captain")), ("Al Moor", Some("Mate"))]);
        assert_eq!(
            (title.crew.len(), title.crew[0].role.as_deref()),
            (1, Some("Director"))
        );
        assert_eq!(title.creators, ["Cy"]);
        assert_eq!(
            (title.seasons.len(), title.season_count, title.runtime),
            (2, Some(1), Some(51))
        );
        assert_eq!(title.page, "https://thetvdb.com/series/harbor-nine");
        assert!(title.hit.backdrop.is_some());
        let ids: Vec<_> = title.ids.iter().map(|(source, id)| (*source, &**id)).collect();
        assert_eq!(
            ids,
            [
                ("provider_b", "361753"),
                ("titledb", "tt7654321"),
                ("provider_a", "81123"),
                ("tvmaze", "12")
            ]
        );
        let german = details(&document, Kind::Show, Some("de"), Some("DE")).unwrap();
        assert_eq!(
            (&*german.hit.title, german.certification.as_deref()),
            ("Hafen Neun", Some("12"))
        );
        assert_eq!(
            details(&document, Kind::Show, None, Some("FR"))
                .unwrap()
                .certification,
            None
        );
    }

    #[test]
    fn a_film() {
        let document = json!({ "data": {
            "id": 603, "name": "Orchard", "slug": "../x", "runtime": 136, "status": { "name": "Released" },
            "first_release": { "country": "usa", "date": "1999-03-31" }, "year": "1999",
            "companies": { "studio": null, "network": [], "production": [{ "name": "Quay" }] }, "studios": [{ "name": "Mill" }],
            "production_countries": [{ "country": "usa" }], "tagOptions": [{ "name": "apple" }],
            "remoteIds": [{ "id": "tt0133093", "sourceName": "IMDB" }],
        } });
        let title = details(&document, Kind::Movie, Some("en-US"), Some("US")).unwrap();
        assert_eq!((title.runtime, title.standing), (Some(136), Standing::Released));
        assert_eq!(title.hit.released.as_deref(), Some("1999-03-31"));
        assert_eq!(
            (title.studios, title.countries, title.tags),
            (
                vec!["Mill".to_owned(), "Quay".to_owned()],
                vec!["US".to_owned()],
                vec!["apple".to_owned()]
            )
        );
        assert_eq!(title.page, "https://thetvdb.com/dereferrer/movie/603");
        assert_eq!(title.season_count, None);
    }

    #[test]
    fn the_least_there_may_be() {
        let least = details(
            &json!({ "data": { "id": 1, "name": "X" } }),
            Kind::Show,
            None,
            None,
        )
        .unwrap();
        assert_eq!(
            (least.standing, least.ids),
            (Standing::Unknown, vec![("provider_b", "1".to_owned())])
        );
        for other in [
            json!({}),
            json!({ "data": [] }),
            json!({ "data": { "id": 1 } }),
            json!({ "data": { "id": -1, "name": "x" } }),
        ] {
            assert!(
                matches!(details(&other, Kind::Show, None, None), Err(Fault::Unparsable(_))),
                "{other}"
            );
        }
    }

    #[test]
    fn every_word_for_a_status() {
        for (word, expected) in [
            ("Continuing", Standing::Continuing),
            ("ENDED", Standing::Ended),
            ("Upcoming", Standing::Planned),
            ("Announced", Standing::Planned),
            ("Pre-Production", Standing::Planned),
            ("Filming / Post-Production", Standing::Planned),
            ("Completed", Standing::Planned),
            ("Released", Standing::Released),
            ("On a boat", Standing::Unknown),
        ] {
            assert_eq!(standing(Some(word)), expected, "{word}");
        }
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
            "data",
            "image",
            "type",
            "status",
            "translations",
            "nameTranslations",
            "language",
            "characters",
            "peopleType",
            "personName",
            "sort",
            "seasons",
            "number",
            "seasonNumber",
            "episodes",
            "companies",
            "companyType",
            "remoteIds",
            "sourceName",
            "contentRatings",
            "country",
            "artworks",
            "score",
            "links",
            "next",
            "year",
            "first_release",
            "date",
            "series",
            "movie",
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
            for document in [document.clone(), json!({ "data": document })] {
                for kind in [Kind::Movie, Kind::Show] {
                    let _ = details(&document, kind, Some("de"), Some("US"));
                    let _ = crate::page(&document, kind, 1, Some("de"));
                }
                let _ = crate::found(&document);
                let _ = crate::episodes(&document, 1);
                let _ = crate::images(&document, Some("de"));
                let _ = (crate::more(&document), crate::bearer(&document));
            }
        }
    }
}
