//! Score of a title for a search.

use super::file::Sort;

/// A search.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Normalised name.
    pub name: String,
    pub year: Option<i64>,
    pub sort: Option<Sort>,
}

/// Score from 0 to 1 in hundredths: best similarity of `names` (normalised), the year, and the type.
pub fn confidence<'a>(
    wanted: &Wanted,
    names: impl Iterator<Item = &'a str>,
    year: Option<i64>,
    sort: Sort,
) -> f64 {
    qm_titles::score(
        &wanted.name,
        names,
        (wanted.year, year),
        wanted.sort == Some(sort),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_year_and_a_type_speak_for_a_title() {
        let wanted = |year, sort| Wanted {
            name: "heat".to_owned(),
            year,
            sort,
        };
        let score =
            |wanted: Wanted, year| confidence(&wanted, ["cold", "heat"].into_iter(), year, Sort::Movie);
        for (wanted, year, expected) in [
            (wanted(None, None), None, 0.8),
            (wanted(Some(1995), None), Some(1995), 0.95),
            (wanted(Some(1996), None), Some(1995), 0.85),
            (wanted(Some(2006), None), Some(1995), 0.7),
            (wanted(Some(2006), None), None, 0.8),
            (wanted(Some(1995), Some(Sort::Movie)), Some(1995), 1.0),
            (wanted(Some(1995), Some(Sort::Tv)), Some(1995), 0.95),
        ] {
            assert!(
                (score(wanted.clone(), year) - expected).abs() < 1e-9,
                "{wanted:?} {year:?}"
            );
        }
    }
}
