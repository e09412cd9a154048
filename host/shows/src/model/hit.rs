//! Lookup of a show, and choice among a provider's hits.

use qm_ports::shows::ShowHit;

use super::title::{normalized, similarity};

/// A lookup request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub title: String,
    pub year: Option<u32>,
    /// Only this provider; `None`: the first that has the show.
    pub provider: Option<String>,
}

/// Least similarity of a title.
const LEAST: f64 = 0.6;

/// The show with exactly this title (of several the one of the year, else the first), or else the most
/// similar one, with the same preference among equals.
pub fn choose<'a>(hits: &'a [ShowHit], title: &str, year: Option<u32>) -> Option<&'a ShowHit> {
    let wanted = normalized(title);
    let of_year = |hit: &ShowHit| year.is_some() && hit.year == year;
    let mut exact = hits
        .iter()
        .filter(|hit| !wanted.is_empty() && normalized(&hit.title) == wanted);
    if let Some(first) = exact.clone().next() {
        return Some(exact.find(|hit| of_year(hit)).unwrap_or(first));
    }
    let mut best: Option<(f64, &ShowHit)> = None;
    for hit in hits {
        let score = similarity(&wanted, &normalized(&hit.title));
        let better = best.is_none_or(|(top, chosen)| {
            score > top || ((score - top).abs() < f64::EPSILON && of_year(hit) && !of_year(chosen))
        });
        if score >= LEAST && better {
            best = Some((score, hit));
        }
    }
    best.map(|(_, hit)| hit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(rows: &[(&str, &str, u32)]) -> Vec<ShowHit> {
        let hit = |&(id, title, year): &(&str, &str, u32)| ShowHit {
            id: id.to_owned(),
            title: title.to_owned(),
            year: (year > 0).then_some(year),
        };
        rows.iter().map(hit).collect()
    }

    #[test]
    fn the_show_that_is_meant() {
        let harbors = [
            ("1", "Harbor", 2001),
            ("2", "Harbor Nine", 2010),
            ("3", "HARBOR-NINE", 2023),
        ];
        let likes = [
            ("1", "Harbor Mine", 2010),
            ("2", "Harbor Dine", 2023),
            ("3", "Harbor Five", 2023),
        ];
        for (rows, title, year, expected) in [
            (&harbors[..], "harbor nine", None, Some("2")),
            (&harbors, "Harbor: Nine", Some(2023), Some("3")),
            (&harbors, "Harbor Nine", Some(1999), Some("2")),
            (&likes, "Harbor Nine", None, Some("1")),
            (&likes, "Harbor Nine", Some(2023), Some("2")),
            (&likes, "Quiet Web", None, None),
            // Exactly the least similarity, and a little less.
            (&[("1", "abcxx", 0)], "abcde", None, Some("1")),
            (&[("1", "abxxx", 0)], "abcde", None, None),
            (&[("1", "!!", 0)], "??", None, None),
            (&[], "Harbor Nine", None, None),
        ] {
            let hits = hits(rows);
            let chosen = choose(&hits, title, year).map(|hit| hit.id.as_str());
            assert_eq!(chosen, expected, "{title} {year:?} of {rows:?}");
        }
    }
}
