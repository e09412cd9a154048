//! Which hit of a search is meant.

use qm_ports::metadata::TitleHit;
use qm_titles::{Candidate, Picked as Place};

/// What a search comes to.
#[derive(Debug, PartialEq)]
pub enum Picked<'h> {
    One(&'h TitleHit),
    None,
    /// Several that are equally good.
    Ambiguous(Vec<&'h TitleHit>),
}

/// The film that a title and a year mean, see [`qm_titles::film`].
pub fn film<'h>(title: &str, year: Option<u32>, hits: &'h [TitleHit]) -> Picked<'h> {
    let candidates: Vec<Candidate<'_>> = hits
        .iter()
        .map(|hit| Candidate {
            id: &hit.id,
            title: &hit.title,
            original: hit.original_title.as_deref(),
            year: year_of(hit),
        })
        .collect();
    match qm_titles::film(title, year.map(i64::from), &candidates) {
        Place::One(at) => Picked::One(&hits[at]),
        Place::None => Picked::None,
        Place::Ambiguous(several) => Picked::Ambiguous(several.into_iter().map(|at| &hits[at]).collect()),
    }
}

fn year_of(hit: &TitleHit) -> Option<i64> {
    hit.released.as_deref()?.get(..4)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use qm_ports::metadata::TitleKind;

    use super::*;

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

    /// Title and year looked for; id, title, original title and day of each hit; ids of what is picked.
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
        // The one that is called so today comes before the one that was called so once.
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
            let picked = film(title, *year, &hits);
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
}
