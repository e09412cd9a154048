//! Choice of the matching hit of a search.

use qm_ports::metadata::{ExternalId, Lookup, TitleDetails, TitleHit, TitleSuggestion};
use qm_titles::{Candidate, Picked as Place, Qualified, Wanted, normalise, score};

/// Largest number of suggested titles.
const SUGGESTED: usize = 5;
/// Least similarity of a suggestion.
const LIKE: f64 = 0.5;

/// Result of the choice.
#[derive(Debug, PartialEq)]
pub enum Picked<'h> {
    One(&'h TitleHit),
    None,
    /// Several equally good hits, those with more votes first.
    Ambiguous(Vec<&'h TitleHit>),
}

/// The matching film or show among hits, see [`qm_titles::film`] and [`qm_titles::show`].
pub fn meant<'h>(lookup: &Lookup, hits: &'h [TitleHit]) -> Picked<'h> {
    let candidates: Vec<Candidate<'_>> = hits.iter().map(candidate).collect();
    match place(lookup, &candidates) {
        Place::One(at) => Picked::One(&hits[at]),
        Place::None => Picked::None,
        Place::Ambiguous(several) => Picked::Ambiguous(several.into_iter().map(|at| &hits[at]).collect()),
    }
}

/// The match among equal hits with known details: a title with other external ids, or without the requested
/// season, is excluded, and one with the requested id matches.
pub fn judged(lookup: &Lookup, equals: &[&TitleHit], told: &[TitleDetails]) -> Option<String> {
    let known = told.iter().filter(|title| !contradicts(&lookup.ids, &title.ids));
    let mut left: Vec<&TitleDetails> = known.filter(|title| has_season(lookup, title)).collect();
    if let Some(same) = left
        .iter()
        .find(|title| lookup.ids.iter().any(|id| title.ids.contains(id)))
    {
        return Some(same.id.clone());
    }
    left.retain(|title| equals.iter().any(|hit| hit.id == title.id));
    let candidates: Vec<Candidate<'_>> = left
        .iter()
        .map(|title| {
            let hit = equals.iter().find(|hit| hit.id == title.id);
            Candidate {
                countries: &title.countries,
                end_year: title
                    .last_aired
                    .as_deref()
                    .filter(|_| has_ended(title))
                    .and_then(year),
                votes: i64::from(title.votes.or(hit.and_then(|hit| hit.votes)).unwrap_or(0)),
                ..hit.map(|hit| candidate(hit)).unwrap_or_default()
            }
        })
        .collect();
    match place(lookup, &candidates) {
        Place::One(at) => Some(left[at].id.clone()),
        Place::None | Place::Ambiguous(_) => None,
    }
}

/// True if a title has another id at a source with a known id.
pub fn contradicts(known: &[ExternalId], told: &[ExternalId]) -> bool {
    let differs = |id: &ExternalId| {
        let mut others = known.iter().filter(|known| known.source == id.source);
        others.any(|known| known.id != id.id)
    };
    told.iter().any(differs)
}

/// True if a title is of the requested year, or its season is: a release names the year of its season.
pub fn is_of_year(lookup: &Lookup, title: &TitleDetails) -> bool {
    let wanted = wanted_year(lookup).or_else(|| Qualified::split(&lookup.title).year);
    let started = title.released.as_deref().and_then(year);
    let (Some(wanted), Some(started)) = (wanted, started) else {
        return true;
    };
    let is_near = |year: i64| year.abs_diff(wanted) <= 1;
    let season = title
        .seasons
        .iter()
        .find(|season| Some(season.number) == lookup.season);
    let aired = season.and_then(|season| season.aired.as_deref().and_then(year));
    is_near(started) || aired.is_some_and(is_near)
}

/// Suggested titles when none matches, the most similar first.
pub fn suggested(provider: &str, lookup: &Lookup, hits: &[TitleHit]) -> Vec<TitleSuggestion> {
    let named = Qualified::split(&lookup.title);
    let wanted = normalise(if lookup.kind.is_show() {
        &named.title
    } else {
        &lookup.title
    });
    let mut found: Vec<TitleSuggestion> = Vec::new();
    for hit in hits {
        let names = std::iter::once(&hit.title).chain(&hit.original_title);
        let names: Vec<String> = names
            .map(|name| normalise(&Qualified::split(name).title))
            .collect();
        let released = hit.released.as_deref().and_then(year);
        let years = (wanted_year(lookup).or(named.year), released);
        let score = score(&wanted, names.iter().map(String::as_str), years, true);
        if score < LIKE || found.iter().any(|known| known.id == hit.id) {
            continue;
        }
        found.push(TitleSuggestion {
            provider: provider.to_owned(),
            id: hit.id.clone(),
            title: hit.title.clone(),
            year: released.and_then(|year| u32::try_from(year).ok()),
            score: (score * 100.0).round() as i64,
        });
    }
    found.sort_by_key(|one| std::cmp::Reverse(one.score));
    found.truncate(SUGGESTED);
    found
}

fn place(lookup: &Lookup, candidates: &[Candidate<'_>]) -> Place {
    let wanted = Wanted {
        title: &lookup.title,
        year: wanted_year(lookup),
        season: lookup.season.map(i64::from),
    };
    if lookup.kind.is_show() {
        qm_titles::show(&wanted, candidates)
    } else {
        qm_titles::film(&wanted, candidates)
    }
}

fn wanted_year(lookup: &Lookup) -> Option<i64> {
    lookup.year.map(i64::from)
}

fn candidate(hit: &TitleHit) -> Candidate<'_> {
    Candidate {
        id: &hit.id,
        title: &hit.title,
        original: hit.original_title.as_deref(),
        year: hit.released.as_deref().and_then(year),
        votes: i64::from(hit.votes.unwrap_or(0)),
        ..Candidate::default()
    }
}

fn has_ended(title: &TitleDetails) -> bool {
    use qm_ports::metadata::Standing;
    matches!(title.standing, Standing::Ended | Standing::Canceled)
}

/// True if it has the season, or its seasons are unknown.
fn has_season(lookup: &Lookup, title: &TitleDetails) -> bool {
    let (Some(season), true) = (lookup.season, lookup.kind.is_show()) else {
        return true;
    };
    let is_listed = title.seasons.iter().any(|known| known.number == season);
    let is_counted = title.season_count.is_none_or(|count| season <= count);
    is_listed || (title.seasons.is_empty() && is_counted)
}

fn year(day: &str) -> Option<i64> {
    day.get(..4)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use qm_ports::metadata::{LookupKind, SeasonDetails, TitleKind};

    use super::*;
    use crate::model::answer::tests::title;

    fn hit(id: &str, title: &str, original: &str, released: &str) -> TitleHit {
        let said = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        TitleHit {
            id: id.to_owned(),
            kind: TitleKind::Movie,
            title: title.to_owned(),
            original_title: said(original),
            released: said(released),
            overview: None,
            original_language: None,
            poster: None,
            backdrop: None,
            rating: None,
            votes: None,
            popularity: None,
        }
    }

    fn lookup(kind: LookupKind, title: &str, year: Option<u32>) -> Lookup {
        Lookup {
            kind,
            title: title.to_owned(),
            year,
            season: None,
            episode: None,
            ids: Vec::new(),
        }
    }

    /// Requested title and year; id, title, original title and date of each hit; expected ids.
    type Row<'a> = (
        &'a str,
        Option<u32>,
        &'a [(&'a str, &'a str, &'a str, &'a str)],
        &'a [&'a str],
    );

    const FILMS: &[Row<'_>] = &[
        (
            "Heat",
            Some(1995),
            &[("1", "Heat", "", "1995-12-15"), ("2", "Heat", "", "1986-01-01")],
            &["1"],
        ),
        (
            "Heat",
            Some(1995),
            &[("1", "Heat", "", "1996-01-01"), ("2", "Heat", "", "1995-01-01")],
            &["2"],
        ),
        (
            "Heat",
            None,
            &[("1", "Heat", "", "1995-12-15"), ("2", "Heat", "", "1986-01-01")],
            &["1", "2"],
        ),
        (
            "Heat",
            None,
            &[("1", "Heat", "", ""), ("1", "Heat", "", "")],
            &["1"],
        ),
        ("Heat", Some(1995), &[("1", "Heat 2", "", "1995-01-01")], &[]),
        (
            "Heat 2",
            Some(1995),
            &[
                ("1", "Heat", "", "1995-01-01"),
                ("2", "Heat II", "", "1995-01-01"),
            ],
            &["2"],
        ),
        ("Heat", Some(1995), &[("1", "Heat", "", "1993-01-01")], &[]),
        (
            "Heat",
            Some(1995),
            &[("1", "Completely other", "", "1995-01-01")],
            &[],
        ),
        (
            "Amelie",
            Some(2001),
            &[("1", "Am\u{e9}lie", "", "2001-04-25")],
            &["1"],
        ),
        // A present title ranks before a former one.
        (
            "Orchard",
            Some(1999),
            &[
                ("1", "Garden", "Orchard", "1999-01-01"),
                ("2", "Orchard", "", "1999-01-01"),
            ],
            &["2"],
        ),
        (
            "Garden",
            Some(1999),
            &[("1", "Orchard", "Garden", "1999-01-01")],
            &["1"],
        ),
        (
            "Orchard",
            Some(1999),
            &[("1", "Orchard", "", "odd"), ("2", "Orchard", "", "1999-01-01")],
            &["2"],
        ),
        ("", None, &[("1", "Heat", "", "")], &[]),
        ("Heat", None, &[], &[]),
    ];

    #[test]
    fn films() {
        for (title, year, hits, expected) in FILMS {
            let hits: Vec<TitleHit> = hits
                .iter()
                .map(|(id, title, original, released)| hit(id, title, original, released))
                .collect();
            let picked = meant(&lookup(LookupKind::Movie, title, *year), &hits);
            let ids: Vec<&str> = match &picked {
                Picked::One(hit) => vec![&*hit.id],
                Picked::None => Vec::new(),
                Picked::Ambiguous(hits) => {
                    assert!(hits.len() > 1);
                    hits.iter().map(|hit| &*hit.id).collect()
                }
            };
            assert_eq!(&ids, expected, "{title} {year:?}");
            assert_eq!(matches!(picked, Picked::Ambiguous(_)), expected.len() > 1);
        }
    }
    #[test]
    fn what_is_only_like_a_title_is_suggested() {
        let hits = [
            hit("1", "The Red Horse", "", "2012-01-01"),
            hit("2", "Elsewhere", "", "2012-01-01"),
        ];
        for kind in [LookupKind::Movie, LookupKind::Tv] {
            let wanted = lookup(kind, "The Red House", Some(2012));
            assert_eq!(meant(&wanted, &hits), Picked::None);
            let suggested = suggested("provider_a", &wanted, &hits);
            let told: Vec<_> = suggested.iter().map(|one| (&*one.id, one.year)).collect();
            assert_eq!(told, [("1", Some(2012))]);
            assert!((80..100).contains(&suggested[0].score), "{suggested:?}");
        }
    }

    #[test]
    fn equals_are_told_apart_by_what_is_known_of_them() {
        let hits = [
            hit("1", "Tide", "", "2003-01-01"),
            hit("2", "Tide", "", "2003-06-01"),
        ];
        let equals: Vec<&TitleHit> = hits.iter().collect();
        let id = |id: &str| ExternalId {
            source: "titledb".to_owned(),
            id: id.to_owned(),
        };
        let seasons = |numbers: std::ops::Range<u32>| {
            let season = |number| SeasonDetails {
                number,
                ..SeasonDetails::default()
            };
            numbers.map(season).collect::<Vec<_>>()
        };
        let told = [
            TitleDetails {
                seasons: seasons(1..3),
                countries: vec!["US".into()],
                ids: vec![id("tt1")],
                ..title(TitleKind::Show, "1", "Tide")
            },
            TitleDetails {
                seasons: seasons(1..9),
                countries: vec!["GB".into()],
                ids: vec![id("tt2")],
                ..title(TitleKind::Show, "2", "Tide")
            },
        ];
        let of = |title: &str| lookup(LookupKind::Tv, title, None);
        assert_eq!(judged(&of("Tide"), &equals, &told), None);
        let season = Lookup {
            season: Some(5),
            episode: Some(1),
            ..of("Tide")
        };
        assert_eq!(judged(&season, &equals, &told).as_deref(), Some("2"));
        assert_eq!(judged(&of("Tide (US)"), &equals, &told).as_deref(), Some("1"));
        assert_eq!(judged(&of("Tide (NZ)"), &equals, &told), None);
        let known = Lookup {
            ids: vec![id("tt2")],
            ..of("Tide")
        };
        assert_eq!(judged(&known, &equals, &told).as_deref(), Some("2"));
        let other = Lookup {
            ids: vec![id("tt3")],
            ..of("Tide")
        };
        assert_eq!(judged(&other, &equals, &told), None);
    }
}
