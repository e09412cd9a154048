//! Choice of a title among candidates: only one with the same name is taken, never a merely similar one.

use crate::name::canonical;
use crate::qualified::{Qualified, countries_in, named_for};

/// Factor of votes by which the first of two equal candidates must exceed the second to be taken.
const TIMES: i64 = 10;
/// Years by which two dates of one release may differ: a festival, another country.
const NEAR: u64 = 1;
/// Years for each season: season `n` may begin up to `n` times as many years after the first.
const YEARS_OF_SEASON: i64 = 3;

/// Title that is looked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'w> {
    /// Title; that of a show may have a country and a year behind it: `Title (US)`, `Title (2005)`.
    pub title: &'w str,
    pub year: Option<i64>,
    /// Season of the show, if known: the year may be that of the season.
    pub season: Option<i64>,
}

/// A candidate for the wanted title.
#[derive(Clone, Copy, Debug, Default)]
pub struct Candidate<'c> {
    /// Id of the candidate. Of two candidates with the same id, the first counts.
    pub id: &'c str,
    pub title: &'c str,
    pub original: Option<&'c str>,
    /// Names in other countries and languages, however they are written.
    pub others: &'c [String],
    pub year: Option<i64>,
    /// Last year of a show, if it has ended.
    pub end_year: Option<i64>,
    /// Countries of origin as ISO codes, in capitals; empty: not known.
    pub countries: &'c [String],
    pub votes: i64,
}

/// Outcome of a choice; candidates by their positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Picked {
    One(usize),
    None,
    /// Several candidates fit equally well, those with more votes first.
    Ambiguous(Vec<usize>),
}

/// A candidate of the same name: its fit, its votes, its position.
type Same<R> = (R, i64, usize);

/// Film that a title and a year mean: its title, or another name of it, is the same, and the year differs by at most one. Of
/// several, the one of the exact year wins, then the one whose own title it is, then the one with ten times the votes of any
/// other.
pub fn film(wanted: &Wanted<'_>, candidates: &[Candidate<'_>]) -> Picked {
    let name = canonical(wanted.title);
    let mut same: Vec<Same<(bool, u8)>> = Vec::new();
    for (at, one) in candidates.iter().enumerate() {
        let is_far =
            matches!((wanted.year, one.year), (Some(one), Some(other)) if one.abs_diff(other) > NEAR);
        let called = called(
            one,
            |own| canonical(own) == name,
            |other| canonical(other) == name,
        );
        let Some(called) = called.filter(|_| !name.is_empty() && !is_far) else {
            continue;
        };
        if is_listed(&same, candidates, one.id) {
            continue;
        }
        let is_of_year = wanted.year.is_some() && one.year == wanted.year;
        same.push(((is_of_year, called), one.votes, at));
    }
    decided(same, true)
}

/// Show that a title and a year mean: chosen like a film, but the country behind the title decides first. If a country is
/// named and no candidate is known to be of it, votes do not decide.
pub fn show(wanted: &Wanted<'_>, candidates: &[Candidate<'_>]) -> Picked {
    let named = Qualified::split(wanted.title);
    let (name, whole) = (canonical(&named.title), canonical(wanted.title));
    let year = wanted.year.or(named.year);
    let mut same: Vec<Same<(u8, u8, u8)>> = Vec::new();
    for (at, one) in candidates.iter().enumerate() {
        let own = Qualified::split(one.title);
        let is_same = |other: &str| {
            let other = canonical(other);
            other == name || other == whole
        };
        let of_country = named
            .country
            .as_deref()
            .map(|country| named_for(&named.title, country));
        let is_other = |other: &str| {
            is_same(other)
                || of_country
                    .as_ref()
                    .is_some_and(|names| names.contains(&canonical(other)))
        };
        let is_own = |title: &str| is_same(title) || canonical(&Qualified::split(title).title) == name;
        let Some(called) = called(one, is_own, is_other).filter(|_| !name.is_empty()) else {
            continue;
        };
        if is_listed(&same, candidates, one.id) {
            continue;
        }
        let Some(of_year) = airs(year, wanted.season, one.year.or(own.year), one.end_year) else {
            continue;
        };
        let Some(of_country) = belongs(&named, &own, one) else {
            continue;
        };
        same.push(((of_country, of_year, called), one.votes, at));
    }
    let is_proven = same.iter().any(|((of_country, ..), ..)| *of_country > 1);
    decided(same, named.country.is_none() || is_proven)
}

/// Kind of name that matches: 2 its own title, 1 the original one, 0 another; `None`: no name matches.
fn called(one: &Candidate<'_>, is_own: impl Fn(&str) -> bool, is_other: impl Fn(&str) -> bool) -> Option<u8> {
    if is_own(one.title) {
        Some(2)
    } else if one.original.is_some_and(is_own) {
        Some(1)
    } else {
        one.others.iter().any(|other| is_other(other)).then_some(0)
    }
}

fn is_listed<R>(same: &[Same<R>], candidates: &[Candidate<'_>], id: &str) -> bool {
    same.iter().any(|(.., known)| candidates[*known].id == id)
}

/// Fit of a show to a year: 3 the exact year, 2 one year beside it or not known, 1 the year of a later season; `None`: it is
/// another show.
fn airs(year: Option<i64>, season: Option<i64>, start: Option<i64>, end: Option<i64>) -> Option<u8> {
    let (Some(year), Some(start)) = (year, start) else {
        return Some(2);
    };
    let season = season.filter(|season| *season > 1);
    let is_later = season.is_some_and(|season| {
        year > start
            && end.is_none_or(|end| year <= end.saturating_add(1))
            && year.saturating_sub(start) <= season.saturating_mul(YEARS_OF_SEASON)
    });
    match year.abs_diff(start) {
        0 => Some(3),
        1..=NEAR => Some(2),
        _ if is_later => Some(1),
        _ => None,
    }
}

/// Fit of a show to the named country: 2 it is of that country, 1 nothing is known; `None`: it is of another one.
fn belongs(named: &Qualified, own: &Qualified, one: &Candidate<'_>) -> Option<u8> {
    let Some(country) = &named.country else {
        return Some(1);
    };
    let mut known: Vec<String> = one.countries.to_vec();
    known.extend(own.country.clone());
    let names = std::iter::once(one.title).chain(one.original);
    let names = names.chain(one.others.iter().map(String::as_str));
    known.extend(countries_in(&named.title, names));
    if known.iter().any(|known| known == country) {
        return Some(2);
    }
    known.is_empty().then_some(1)
}

fn decided<R: Ord + Copy>(mut same: Vec<Same<R>>, by_votes: bool) -> Picked {
    let best = same.iter().map(|(rank, ..)| *rank).max();
    same.retain(|(rank, ..)| Some(*rank) == best);
    same.sort_by_key(|(_, votes, at)| (std::cmp::Reverse(*votes), *at));
    match same.as_slice() {
        [] => Picked::None,
        [(.., at)] => Picked::One(*at),
        [(_, most, at), (_, next, _), ..] if by_votes && *most >= (*next).max(1).saturating_mul(TIMES) => {
            Picked::One(*at)
        }
        several => Picked::Ambiguous(several.iter().map(|(.., at)| *at).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Id, title, original title, year, votes.
    type Row<'a> = (&'a str, &'a str, &'a str, i64, i64);

    fn candidates<'a>(rows: &[Row<'a>]) -> Vec<Candidate<'a>> {
        let said = |text: &'a str| (!text.is_empty()).then_some(text);
        let candidate = |(id, title, original, year, votes): &Row<'a>| Candidate {
            id,
            title,
            original: said(original),
            year: (*year > 0).then_some(*year),
            votes: *votes,
            ..Candidate::default()
        };
        rows.iter().map(candidate).collect()
    }

    fn ids<'a>(picked: &Picked, of: &[Candidate<'a>]) -> Vec<&'a str> {
        match picked {
            Picked::One(at) => vec![of[*at].id],
            Picked::None => Vec::new(),
            Picked::Ambiguous(several) => {
                assert!(several.len() > 1);
                several.iter().map(|at| of[*at].id).collect()
            }
        }
    }

    #[test]
    fn a_film_is_one_of_the_same_name() {
        let rows: &[(&str, Option<i64>, &[Row<'_>], &[&str])] = &[
            (
                "Heat",
                Some(1995),
                &[("1", "Heat", "", 1995, 5), ("2", "Heat", "", 1986, 900)],
                &["1"],
            ),
            (
                "Heat",
                Some(1995),
                &[("1", "Heat", "", 1996, 0), ("2", "Heat", "", 1995, 0)],
                &["2"],
            ),
            (
                "Heat",
                None,
                &[("1", "Heat", "", 1995, 99), ("2", "Heat", "", 1986, 10)],
                &["1", "2"],
            ),
            (
                "Heat",
                None,
                &[("1", "Heat", "", 1995, 9), ("2", "Heat", "", 1986, 100)],
                &["2"],
            ),
            (
                "Heat",
                None,
                &[("1", "Heat", "", 0, 0), ("1", "Heat", "", 0, 0)],
                &["1"],
            ),
            ("Heat", Some(1995), &[("1", "Heat 2", "", 1995, 0)], &[]),
            (
                "Heat 2",
                Some(1995),
                &[("1", "Heat", "", 1995, 0), ("2", "Heat II", "", 1995, 0)],
                &["2"],
            ),
            ("Heat", Some(1995), &[("1", "Heat", "", 1993, 0)], &[]),
            ("Amelie", Some(2001), &[("1", "Am\u{e9}lie", "", 2001, 0)], &["1"]),
            // A title that differs by a letter is another film, however similar it is and whatever its year.
            (
                "The Red House",
                Some(2012),
                &[("1", "The Red Horse", "", 2012, 9_000)],
                &[],
            ),
            ("Orchard", Some(1999), &[("1", "Orchards", "", 1999, 9_000)], &[]),
            // A film with this own title comes before one with this other name.
            (
                "Garden",
                Some(1999),
                &[("1", "Orchard", "Garden", 1999, 0)],
                &["1"],
            ),
            (
                "Orchard",
                Some(1999),
                &[("1", "Orchard", "", 0, 0), ("2", "Orchard", "", 1999, 0)],
                &["2"],
            ),
            ("", None, &[("1", "Heat", "", 0, 0)], &[]),
            ("!!!", None, &[("1", "???", "", 0, 0)], &[]),
            ("Heat", None, &[], &[]),
        ];
        for (title, year, rows, expected) in rows {
            let of = candidates(rows);
            let wanted = Wanted {
                title,
                year: *year,
                season: None,
            };
            assert_eq!(&ids(&film(&wanted, &of), &of), expected, "{title} {year:?}");
        }
        let others = ["das rote haus".to_owned()];
        let of = [Candidate {
            id: "1",
            title: "The Red House",
            others: &others,
            year: Some(2012),
            ..Candidate::default()
        }];
        let wanted = Wanted {
            title: "Das Rote Haus",
            year: Some(2012),
            season: None,
        };
        assert_eq!(film(&wanted, &of), Picked::One(0), "by another name");
    }

    #[test]
    fn a_show_is_told_apart_by_its_country_and_its_years() {
        let office: &[Row<'_>] = &[
            ("uk", "The Desk", "", 2001, 900),
            ("us", "The Desk (US)", "", 2005, 9_000),
        ];
        let rows: &[(&str, Option<i64>, Option<i64>, &[Row<'_>], &[&str])] = &[
            ("The Desk (US)", None, None, office, &["us"]),
            ("The Desk US", None, None, office, &["us"]),
            ("The Desk (UK)", None, None, office, &["uk"]),
            ("The Desk", Some(2001), None, office, &["uk"]),
            ("The Desk (2005)", None, None, office, &["us"]),
            ("The Desk", Some(2015), None, office, &[]),
            (
                "The Desk",
                Some(2004),
                None,
                &[("1", "The Desks", "", 2004, 9)],
                &[],
            ),
            (
                "Tide (2003)",
                None,
                None,
                &[("1", "Tide (2003)", "", 2003, 0), ("2", "Tide", "", 1978, 0)],
                &["1"],
            ),
            // The year of a release is that of its season.
            ("Tide", Some(2009), Some(4), &[("1", "Tide", "", 2004, 0)], &["1"]),
            ("Tide", Some(2009), Some(1), &[("1", "Tide", "", 2004, 0)], &[]),
            ("Tide", Some(2019), Some(2), &[("1", "Tide", "", 2004, 0)], &[]),
            // Nobody knows whose they are: votes do not tell.
            (
                "Tide (NZ)",
                None,
                None,
                &[("1", "Tide", "", 2004, 9_000), ("2", "Tide", "", 1990, 1)],
                &["1", "2"],
            ),
            (
                "Tide",
                None,
                None,
                &[("1", "Tide", "", 2004, 9_000), ("2", "Tide", "", 1990, 1)],
                &["1"],
            ),
            ("Тайна", None, None, &[("1", "ТАЙНА", "", 2004, 0)], &["1"]),
        ];
        for (title, year, season, rows, expected) in rows {
            let of = candidates(rows);
            let wanted = Wanted {
                title,
                year: *year,
                season: *season,
            };
            assert_eq!(
                &ids(&show(&wanted, &of), &of),
                expected,
                "{title} {year:?} {season:?}"
            );
        }
        assert!(
            matches!(
                show(
                    &Wanted {
                        title: "The Desk",
                        ..Wanted::default()
                    },
                    &candidates(office)
                ),
                Picked::One(1)
            ),
            "ten times the votes"
        );
    }

    #[test]
    fn names_and_countries_of_others_tell_whose_a_show_is() {
        let (of_uk, of_us) = (
            ["the desk uk".to_owned()],
            ["us office".to_owned(), "the desk u s".to_owned()],
        );
        let countries = ["GB".to_owned()];
        let desk = |id, others| Candidate {
            id,
            title: "The Desk",
            others,
            ..Candidate::default()
        };
        let wanted = Wanted {
            title: "The Desk (US)",
            ..Wanted::default()
        };
        let of = [desk("uk", &of_uk[..]), desk("us", &of_us)];
        assert_eq!(show(&wanted, &of), Picked::One(1));
        assert_eq!(
            show(&wanted, &of[..1]),
            Picked::None,
            "it is known to be another one's"
        );
        let told = [
            Candidate {
                countries: &countries,
                ..desk("1", &[])
            },
            desk("2", &[]),
        ];
        assert_eq!(show(&wanted, &told), Picked::One(1));
    }
}
