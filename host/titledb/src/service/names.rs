//! Names of titles that answer, by the lists of runs they have.
//!
//! Blocks are asked in their order, more of them at a time: most answers are in the first ones. What the lists find is looked
//! at, name by name, until there is enough.
//! Bounds: [`LOOKED`] names are looked at for one answer.

use qm_db::{DbError, Tx};
use qm_titles::similarity;

use crate::lanes::COMPUTE;
use crate::model::grams::{self, Counts, Narrow, Question};
use crate::model::plan::Loaded;
use crate::model::postings;
use crate::repo::search::Hit;
use crate::repo::{postings as lists, search};

/// Names of one statement, at first and later.
const FIRST: usize = 150;
const AT_ONCE: usize = 500;
/// Names that are looked at for those that hold a name or are it, and for those that are like it, of which most are not.
const LOOKED: usize = 10_000;
const LOOKED_ALIKE: usize = 1_500;
/// Blocks that are asked at first; then three times as many.
const BLOCKS: i64 = 2;
/// Least likeness of a name that is like another.
const ALIKE: f64 = 0.6;

/// Which names answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Same,
    /// They hold it; of fewer than three letters, as a word.
    Holding,
    /// They are written otherwise.
    Alike,
}

/// A name that is looked for in a store.
pub struct Names<'a> {
    name: &'a str,
    narrow: Narrow,
    counts: Counts,
    blocks: i64,
}

impl<'a> Names<'a> {
    /// `name`: normalised, not empty.
    pub async fn new(
        tx: &mut Tx,
        loaded: &Loaded,
        name: &'a str,
        narrow: Narrow,
    ) -> Result<Names<'a>, DbError> {
        let names = loaded.names.unwrap_or(0);
        let counts = Counts {
            names: names.unsigned_abs(),
            runs: lists::counts(tx, &grams::all_runs(name, narrow)).await?,
        };
        Ok(Self {
            name,
            narrow,
            counts,
            blocks: postings::block(names) + 1,
        })
    }

    /// Up to `most` names, those of the titles with the most votes first.
    pub async fn find(&self, tx: &mut Tx, way: Way, most: usize) -> Result<Vec<Hit>, DbError> {
        let question = match way {
            Way::Same => grams::exactly(self.name, self.narrow, &self.counts),
            Way::Holding => grams::holding(self.name, self.narrow, &self.counts),
            Way::Alike => match grams::like(self.name, self.narrow, &self.counts) {
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

    /// Looks at names until enough of them answer.
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

/// The places of the names of some blocks that have the runs of a question.
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
