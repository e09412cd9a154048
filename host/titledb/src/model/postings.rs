//! Posting lists: the names that contain each run of letters, in blocks of names.
//!
//! A name is stored as its rank. A list holds the differences between successive ranks, seven bits per byte.

use std::collections::HashMap;

use super::trigrams::{Question, Run};

/// Names per block. Tests use several blocks.
pub const BLOCK: i64 = if cfg!(test) { 1 << 12 } else { 1 << 18 };

/// Block of a name.
pub const fn block(rank: i64) -> i64 {
    rank / BLOCK
}

/// Posting lists of one block.
#[derive(Default)]
pub struct Lists(HashMap<Run, List>);

#[derive(Default)]
struct List {
    last: i64,
    names: u64,
    bytes: Vec<u8>,
}

impl Lists {
    /// Adds a name, with a higher rank than all before.
    pub fn add(&mut self, rank: i64, runs: &[Run]) {
        let rank = rank % BLOCK;
        for run in runs {
            let list = self.0.entry(*run).or_default();
            // The first difference is the rank itself, which may be 0.
            let mut step = (rank - list.last).unsigned_abs();
            while step >= 0x80 {
                list.bytes.push(step as u8 | 0x80);
                step >>= 7;
            }
            list.bytes.push(step as u8);
            list.last = rank;
            list.names += 1;
        }
    }

    /// In the order of the runs: run, number of names, encoded list.
    pub fn done(self) -> Vec<(Run, u64, Vec<u8>)> {
        let lists = self.0.into_iter();
        let mut lists: Vec<_> = lists.map(|(run, list)| (run, list.names, list.bytes)).collect();
        lists.sort_unstable_by_key(|(run, ..)| *run);
        lists
    }
}

/// Decodes the ranks within a block. Invalid bytes end it.
fn read(bytes: &[u8]) -> Vec<u32> {
    let mut ranks = Vec::with_capacity(bytes.len());
    let (mut last, mut step, mut shift) = (0_u32, 0_u32, 0);
    for byte in bytes {
        step |= u32::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            last = last.saturating_add(step);
            ranks.push(last);
            (step, shift) = (0, 0);
        } else {
            shift += 7;
            if shift > 28 {
                break;
            }
        }
    }
    ranks
}

/// Intersection of two sorted lists.
fn both(one: &[u32], other: &[u32]) -> Vec<u32> {
    let (short, long) = if one.len() < other.len() {
        (one, other)
    } else {
        (other, one)
    };
    let mut found = Vec::new();
    if long.len() / 16 > short.len() {
        let mut rest = long;
        for rank in short {
            rest = &rest[rest.partition_point(|other| other < rank)..];
            if rest.first() == Some(rank) {
                found.push(*rank);
            }
        }
        return found;
    }
    let mut rest = long.iter().copied().peekable();
    for rank in short {
        while rest.next_if(|other| other < rank).is_some() {}
        if rest.peek() == Some(rank) {
            found.push(*rank);
        }
    }
    found
}

/// Ranks of the names in a block that match a query, in order. A run without a list occurs in none of them.
pub fn answer(question: &Question, block: i64, lists: &HashMap<Run, Vec<u8>>) -> Vec<i64> {
    let known: HashMap<Run, Vec<u32>> = question
        .runs()
        .into_iter()
        .filter_map(|run| Some((run, read(lists.get(&run)?))))
        .collect();
    let list = |run: Run| known.get(&run).map_or(&[][..], Vec::as_slice);
    let mut found: Vec<u32> = Vec::new();
    for part in &question.parts {
        let mut all: Option<Vec<u32>> = None;
        for run in part {
            let left = match all {
                Some(all) => both(&all, list(*run)),
                None => list(*run).to_vec(),
            };
            let is_over = left.is_empty();
            all = Some(left);
            if is_over {
                break;
            }
        }
        found.extend(all.unwrap_or_default());
    }
    found.sort_unstable();
    found = found
        .chunk_by(|one, other| one == other)
        .filter(|same| same.len() >= question.needed)
        .map(|same| same[0])
        .collect();
    if !question.years.is_empty() && !found.is_empty() {
        let mut years: Vec<u32> = question
            .years
            .iter()
            .flat_map(|run| list(*run))
            .copied()
            .collect();
        years.sort_unstable();
        years.dedup();
        found = both(&found, &years);
    }
    if let Some(sort) = question.sort.filter(|_| !found.is_empty()) {
        found = both(&found, list(sort));
    }
    let first = block * BLOCK;
    found.into_iter().map(|rank| first + i64::from(rank)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Dice;

    #[test]
    fn lists_are_read_as_they_are_written() {
        let mut lists = Lists::default();
        let ranks = [0, 1, 127, 128, 300, BLOCK - 1];
        for rank in ranks {
            lists.add(3 * BLOCK + rank, &[7]);
        }
        let [(7, 6, bytes)] = &lists.done()[..] else {
            panic!("one list");
        };
        let expected: Vec<u32> = ranks.iter().map(|rank| *rank as u32).collect();
        assert_eq!(read(bytes), expected);
        assert_eq!(read(&[0xff; 9]), Vec::<u32>::new());
        assert_eq!(read(&[5, 0x80]), [5]);
    }

    /// Random lists and queries, compared with checking every name.
    #[test]
    fn answers_are_those_of_looking_at_all() {
        let mut dice = Dice::new(3);
        for number in 0..60 {
            let names: Vec<Vec<Run>> = (0..400)
                .map(|_| {
                    let mut runs: Vec<Run> = (0..8)
                        .map(|_| {
                            let most = 1 + dice.below(40);
                            dice.below(most) as Run
                        })
                        .collect();
                    runs.sort_unstable();
                    runs.dedup();
                    runs
                })
                .collect();
            let mut lists = Lists::default();
            for (rank, runs) in names.iter().enumerate() {
                lists.add(BLOCK + rank as i64, runs);
            }
            let lists: HashMap<Run, Vec<u8>> = lists
                .done()
                .into_iter()
                .map(|(run, _, bytes)| (run, bytes))
                .collect();
            let mut some = |most: u64, least: u64| -> Vec<Run> {
                let count = least + dice.below(most);
                (0..count).map(|_| dice.below(42) as Run).collect()
            };
            let question = Question {
                parts: vec![some(3, 1), some(2, 1), some(1, 1)],
                needed: 1 + number % 2,
                years: some(3, 0),
                sort: some(2, 0).first().copied(),
            };
            let has = |runs: &[Run], run: &Run| runs.contains(run);
            let expected: Vec<i64> = (0..names.len())
                .filter(|rank| {
                    let runs = &names[*rank];
                    let parts = question.parts.iter();
                    parts.filter(|part| part.iter().all(|run| has(runs, run))).count() >= question.needed
                        && (question.years.is_empty() || question.years.iter().any(|run| has(runs, run)))
                        && question.sort.is_none_or(|run| has(runs, &run))
                })
                .map(|rank| BLOCK + rank as i64)
                .collect();
            assert_eq!(answer(&question, 1, &lists), expected, "{question:?}");
        }
    }
}
