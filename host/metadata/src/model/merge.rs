//! Merging several answers field by field.

use std::collections::BTreeMap;

use qm_ports::metadata::Metadata;

use super::chain::UNIVERSAL;

/// A field with its merge function.
struct Field {
    name: &'static str,
    is_empty: fn(&Metadata) -> bool,
    take: fn(&mut Metadata, &Metadata),
}

macro_rules! field {
    ($word:literal, $field:ident, $is_empty:ident) => {
        Field {
            name: $word,
            is_empty: |of| of.$field.$is_empty(),
            take: |to, from| to.$field.clone_from(&from.$field),
        }
    };
}

const FIELDS: [Field; 15] = [
    field!("title", title, is_none),
    field!("originalTitle", original_title, is_none),
    field!("overview", overview, is_none),
    field!("releaseDate", release_date, is_none),
    field!("year", year, is_none),
    field!("runtime", runtime, is_none),
    field!("genres", genres, is_empty),
    field!("studios", studios, is_empty),
    field!("cast", cast, is_empty),
    field!("crew", crew, is_empty),
    field!("directors", directors, is_empty),
    field!("writers", writers, is_empty),
    field!("rating", rating, is_none),
    field!("certification", certification, is_none),
    field!("tags", tags, is_empty),
];

/// Names of all fields.
pub fn fields() -> Vec<&'static str> {
    FIELDS.iter().map(|field| field.name).collect()
}

/// Takes each field from its preferred provider, or else from the first answer that has it; ids come from
/// all, the first of each source. `None` without answers.
pub fn merged(answers: &[Metadata], preferred: &BTreeMap<String, String>) -> Option<Metadata> {
    if answers.is_empty() {
        return None;
    }
    let mut all = Metadata {
        provider: UNIVERSAL.to_owned(),
        ..Metadata::default()
    };
    for field in &FIELDS {
        let preferred = preferred.get(field.name);
        let first = answers
            .iter()
            .filter(|answer| Some(&answer.provider) == preferred);
        let from = first.chain(answers).find(|answer| !(field.is_empty)(answer));
        if let Some(from) = from {
            (field.take)(&mut all, from);
            all.field_sources
                .insert(field.name.to_owned(), from.provider.clone());
        }
    }
    for id in answers.iter().flat_map(|answer| &answer.ids) {
        if all.ids.iter().all(|other| other.source != id.source) {
            all.ids.push(id.clone());
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use qm_ports::metadata::{ExternalId, Person};

    use super::*;

    fn answer(provider: &str, fill: impl FnOnce(&mut Metadata)) -> Metadata {
        let mut answer = Metadata {
            provider: provider.to_owned(),
            ..Metadata::default()
        };
        fill(&mut answer);
        answer
    }

    fn id(source: &str, id: &str) -> ExternalId {
        ExternalId {
            source: source.to_owned(),
            id: id.to_owned(),
        }
    }

    #[test]
    fn every_field_comes_from_whom_it_is_wanted_from_or_the_first_who_has_it() {
        let a = answer("a", |a| {
            a.title = Some("A".to_owned());
            a.year = Some(1999);
            a.genres = vec!["Drama".to_owned()];
            a.ids = vec![id("a", "1"), id("titledb", "tt1")];
        });
        let b = answer("b", |b| {
            b.title = Some("B".to_owned());
            b.overview = Some("About B".to_owned());
            b.cast = vec![Person {
                name: "Jo".to_owned(),
                role: None,
            }];
            b.ids = vec![id("titledb", "tt2"), id("b", "2")];
        });
        for (preferred, title, year) in [
            (&[][..], "a", "a"),
            (&[("title", "b"), ("year", "b")], "b", "a"),
            (&[("title", "gone")], "a", "a"),
            (&[("no such field", "b")], "a", "a"),
        ] {
            let wanted = preferred
                .iter()
                .map(|(field, provider)| ((*field).to_owned(), (*provider).to_owned()));
            let all = merged(&[a.clone(), b.clone()], &wanted.collect()).unwrap();
            assert_eq!(all.provider, UNIVERSAL);
            assert_eq!(
                all.title.as_deref().map(str::to_lowercase).as_deref(),
                Some(title),
                "{preferred:?}"
            );
            let sources: Vec<_> = all
                .field_sources
                .iter()
                .map(|(field, from)| (&**field, &**from))
                .collect();
            assert_eq!(
                sources,
                [
                    ("cast", "b"),
                    ("genres", "a"),
                    ("overview", "b"),
                    ("title", title),
                    ("year", year)
                ],
                "{preferred:?}"
            );
            assert_eq!(all.ids, [id("a", "1"), id("titledb", "tt1"), id("b", "2")]);
        }
        assert_eq!(merged(&[], &BTreeMap::new()), None);
    }

    #[test]
    fn every_field_is_moved() {
        let text = || Some("x".to_owned());
        let list = || vec!["x".to_owned()];
        let people = || {
            vec![Person {
                name: "Jo".to_owned(),
                role: None,
            }]
        };
        let full = Metadata {
            provider: "a".to_owned(),
            title: text(),
            original_title: text(),
            overview: text(),
            release_date: text(),
            year: Some(1),
            runtime: Some(1),
            genres: list(),
            studios: list(),
            cast: people(),
            crew: people(),
            directors: list(),
            writers: list(),
            rating: Some(1.0),
            certification: text(),
            tags: list(),
            ids: vec![id("a", "1")],
            field_sources: BTreeMap::new(),
        };
        let mut all = merged(&[answer("b", |_| {}), full.clone()], &BTreeMap::new()).unwrap();
        assert_eq!(all.field_sources.len(), FIELDS.len());
        (all.provider, all.field_sources) = ("a".to_owned(), BTreeMap::new());
        assert_eq!(all, full);
    }
}
