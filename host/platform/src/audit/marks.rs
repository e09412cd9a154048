//! Where one audit row in [`STEP`] stands, so that neither the number of rows nor a page deep among them is found by
//! walking over a million.
//!
//! Rows are only ever added, with the instant of their writing; so a row's place counted from the oldest one is for
//! good, once no transaction that was under way at that instant can still be open. A row is taken for settled after
//! [`SETTLED_MS`]; no transaction of this service lasts as long. When the clock is found to have gone back, what was
//! known is forgotten.
//!
//! Bounds: [`FILTERS`] actions beside the list of all; a mark a [`STEP`] rows, some hundred bytes each.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use qm_db::{DbError, Tx};
use qm_kernel::Timestamp;

use super::repo::{count, next};

/// Rows between two marks: what a page walks over at most, and a count counts.
pub(crate) const STEP: u64 = 2000;
const SETTLED_MS: i64 = 5 * 60 * 1000;
const FILTERS: usize = 64;
/// Rows after the last mark that call for another one.
const ENOUGH: i64 = STEP as i64 + 1;

/// A row's place in the order of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) created_at: i64,
    pub(super) id: String,
}

impl Mark {
    /// Before every row.
    pub(super) const fn start() -> Self {
        Self {
            created_at: i64::MIN,
            id: String::new(),
        }
    }
}

/// The marks of one list, and how many rows it has in the transaction that looked.
#[derive(Clone, Debug)]
pub(super) struct Survey {
    marks: Arc<[Mark]>,
    pub(super) total: u64,
}

impl Survey {
    /// The mark at or before the row that `place` rows are older than, and how many rows lie between.
    pub(super) fn nearest(&self, place: u64) -> (Mark, u64) {
        let passed = (place / STEP).min(self.marks.len() as u64);
        let mark = passed
            .checked_sub(1)
            .and_then(|at| self.marks.get(at as usize))
            .cloned()
            .unwrap_or_else(Mark::start);
        (mark, place - passed * STEP)
    }
}

/// The marks of every list that was asked for. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Marks(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    /// When it was last looked at.
    at: Option<Timestamp>,
    /// `None`: the list of all.
    by_action: HashMap<Option<String>, Arc<[Mark]>>,
}

impl Marks {
    /// Goes on from the last mark known, with a new one wherever another [`STEP`] rows have settled.
    pub(super) async fn survey(
        &self,
        tx: &mut Tx,
        action: Option<&str>,
        now: Timestamp,
    ) -> Result<Survey, DbError> {
        let known = self.known(action, now);
        let mut last = known.last().cloned().unwrap_or_else(Mark::start);
        let mut rest = count(tx, action, &last, ENOUGH).await?;
        let mut fresh = Vec::new();
        while rest == ENOUGH as u64 {
            let Some(mark) = next(tx, action, &last, now.ms() - SETTLED_MS).await? else {
                rest = count(tx, action, &last, i64::MAX).await?;
                break;
            };
            last = mark.clone();
            fresh.push(mark);
            rest = count(tx, action, &last, ENOUGH).await?;
        }
        let marks = if fresh.is_empty() {
            known
        } else {
            let marks: Arc<[Mark]> = known.iter().cloned().chain(fresh).collect();
            self.keep(action, &marks);
            marks
        };
        let total = marks.len() as u64 * STEP + rest;
        Ok(Survey { marks, total })
    }

    fn known(&self, action: Option<&str>, now: Timestamp) -> Arc<[Mark]> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.at.is_some_and(|at| now < at) {
            known.by_action.clear();
        }
        known.at = Some(now);
        let key = action.map(str::to_owned);
        known.by_action.get(&key).cloned().unwrap_or_default()
    }

    fn keep(&self, action: Option<&str>, marks: &Arc<[Mark]>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = action.map(str::to_owned);
        let full = known.by_action.len() > FILTERS && !known.by_action.contains_key(&key);
        // Another request may have come further meanwhile; a list too many is surveyed anew each time.
        let further = known
            .by_action
            .get(&key)
            .is_some_and(|known| known.len() >= marks.len());
        if !full && !further {
            known.by_action.insert(key, marks.clone());
        }
    }
}
