//! Which of several titles is meant.

use crate::name::{normalise, similarity};
use crate::score::{score, sequel};

/// The least score of a film that is taken.
const LEAST: f64 = 0.7;

/// A title that may be the one that is meant.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'c> {
    /// Of two with one id the first counts.
    pub id: &'c str,
    pub title: &'c str,
    pub original: Option<&'c str>,
    pub year: Option<i64>,
}

/// What a search comes to; candidates by their places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Picked {
    One(usize),
    None,
    /// Several that are equally good.
    Ambiguous(Vec<usize>),
}

/// The film that a title and a year mean, when exactly one is best and good enough. One of another year (by more than one), and
/// another part of a series, is none.
pub fn film(title: &str, year: Option<i64>, candidates: &[Candidate<'_>]) -> Picked {
    let wanted = normalise(title);
    let mut best: Vec<(f64, f64, usize)> = Vec::new();
    for (at, candidate) in candidates.iter().enumerate() {
        let name = normalise(candidate.title);
        let original = candidate.original.map(normalise);
        let years = (year, candidate.year);
        let is_far = matches!(years, (Some(one), Some(other)) if one.abs_diff(other) > 1);
        if is_far || sequel(&wanted, &name) {
            continue;
        }
        let names = std::iter::once(&*name).chain(original.as_deref());
        let rank = (score(&wanted, names, years, true), similarity(&wanted, &name));
        // What is listed twice is one title.
        let is_known = best
            .iter()
            .any(|(_, _, other)| candidates[*other].id == candidate.id);
        if rank.0 < LEAST || is_known {
            continue;
        }
        match best.first() {
            Some((of_best, like, _)) if (*of_best, *like) > rank => {}
            Some((of_best, like, _)) if same((*of_best, *like), rank) => best.push((rank.0, rank.1, at)),
            _ => best = vec![(rank.0, rank.1, at)],
        }
    }
    match best.as_slice() {
        [] => Picked::None,
        [(_, _, at)] => Picked::One(*at),
        several => Picked::Ambiguous(several.iter().map(|(_, _, at)| *at).collect()),
    }
}

fn same(one: (f64, f64), other: (f64, f64)) -> bool {
    (one.0 - other.0).abs() < 1e-9 && (one.1 - other.1).abs() < 1e-9
}
