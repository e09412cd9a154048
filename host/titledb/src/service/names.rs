//! Search for names by their posting lists.
//!
//! Blocks are searched in order, a few at first: most answers are in the first ones. The candidates of the
//! lists are checked name by name until there are enough. Bounds: [`LOOKED`] names are checked per answer.

use qm_db::{DbError, Tx};
use qm_titles::similarity;

use crate::lanes::COMPUTE;
use crate::model::plan::Loaded;
use crate::model::postings;
use crate::model::trigrams::{self, Counts, Narrow, Question};
use crate::repo::search::Hit;
use crate::repo::{postings as lists, search};

/// Names per statement, at first and later.
const FIRST: usize = 150;
const AT_ONCE: usize = 500;
/// Largest number of checked names, for equal and containing names, and for similar ones, most of which fail
/// the check.
const LOOKED: usize = 10_000;
const LOOKED_ALIKE: usize = 1_500;
/// Blocks searched at first; then three times as many each.
const BLOCKS: i64 = 2;
/// Least similarity of a similar name.
const ALIKE: f64 = 0.6;

/// Kind of match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Same,
    /// The name contains the text; fewer than three letters must be a whole word.
    Holding,
    /// The name is similar.
    Alike,
}

/// A search in a store.
pub struct Names<'a> {
    name: &'a str,
    narrow: Narrow,
    counts: Counts,
    blocks: i64,
}

impl<'a> Names<'a> {
    /// `name` is normalised and not empty.
    pub async fn new(
        tx: &mut Tx,
        loaded: &Loaded,
        name: &'a str,
        narrow: Narrow,
    ) -> Result<Names<'a>, DbError> {
        let names = loaded.names.unwrap_or(0);
        let counts = Counts {
            names: names.unsigned_abs(),
            runs: lists::counts(tx, &trigrams::all_runs(name, narrow)).await?,
        };
        Ok(Self {
            name,
            narrow,
            counts,
            blocks: postings::block(names) + 1,
        })
    }

    /// Up to `most` matching names, those of titles with the most votes first.
    pub async fn find(&self, tx: &mut Tx, way: Way, most: usize) -> Result<Vec<Hit>, DbError> {
        let question = match way {
            Way::Same => trigrams::exactly(self.name, self.narrow, &self.counts),
            Way::Holding => trigrams::holding(self.name, self.narrow, &self.counts),
            Way::Alike => match trigrams::like(self.name, self.narrow, &self.counts) {
                Some(question) => question,
                None => return Ok(Vec::new()),
            },
        };
        let mut left = if way == Way::Alike { LOOKED_ALIKE } else { LOOKED };
        let (mut found, mut from, mut blocks) = (Vec::new(), 0, BLOCKS);
        while from < self.blocks && found.len() < most && left > 0 {
            let to = (from + blocks).min(self.blocks);
            let ranks = ranks(tx, &question, (from, to)).await?;
            self.look(tx, way, &ranks[..ranks.len().min(left)], most, &mut found)
                .await?;
            left = left.saturating_sub(ranks.len());
            (from, blocks) = (to, blocks * 3);
        }
        found.truncate(most);
        Ok(found)
    }

    /// Checks names until there are enough matches.
    async fn look(
        &self,
        tx: &mut Tx,
        way: Way,
        mut ranks: &[i64],
        most: usize,
        found: &mut Vec<Hit>,
    ) -> Result<(), DbError> {
        let padded = format!(" {} ", self.name);
        let is_short = self.name.chars().count() < 3;
        let answers = |hit: &Hit| match way {
            Way::Same => hit.name == self.name,
            Way::Holding if is_short => format!(" {} ", hit.name).contains(&padded),
            Way::Holding => hit.name.contains(self.name),
            Way::Alike => similarity(self.name, &hit.name) >= ALIKE,
        };
        let mut at_once = FIRST;
        while !ranks.is_empty() && found.len() < most {
            let (some, rest) = ranks.split_at(at_once.min(ranks.len()));
            let hits = search::names(tx, some).await?.into_iter();
            found.extend(hits.filter(|hit| self.narrow.takes(hit.year, hit.sort) && answers(hit)));
            (ranks, at_once) = (rest, AT_ONCE);
        }
        Ok(())
    }
}

/// Ranks of the names in some blocks that match a query.
async fn ranks(tx: &mut Tx, question: &Question, blocks: (i64, i64)) -> Result<Vec<i64>, DbError> {
    let lists = lists::lists(tx, &question.runs(), blocks).await?;
    let question = question.clone();
    let answering = COMPUTE.run(move |_| {
        let mut blocks: Vec<_> = lists.into_iter().collect();
        blocks.sort_unstable_by_key(|(block, _)| *block);
        let ranks = blocks
            .iter()
            .flat_map(|(block, lists)| postings::answer(&question, *block, lists));
        ranks.collect()
    });
    Ok(answering.await?)
}
