//! Marks: the position of every [`STEP`]th audit row, so that neither the count nor a deep page walks over a
//! million rows.
//!
//! Rows are only ever added, with the time of their writing; so a row's position counted from the oldest one
//! is final once no transaction from that time can still be open. A row counts as settled after
//! [`SETTLED_MS`]; no transaction of this service lasts as long. When the clock has gone back, the known
//! marks are discarded.
//!
//! Bounds: [`FILTERS`] actions beside the list of all; one mark per [`STEP`] rows, some hundred bytes each.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use qm_db::{DbError, Tx};
use qm_kernel::Timestamp;
use qm_lanes::IgnorePoison;

use super::repo::{count, next};

/// Rows between two marks: the most that a page or a count walks over.
pub(crate) const STEP: u64 = 2000;
const SETTLED_MS: i64 = 5 * 60 * 1000;
const FILTERS: usize = 64;
/// Number of rows after the last mark from which another mark is made.
const ENOUGH: i64 = STEP as i64 + 1;

/// Position of a row in the order of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) created_at: i64,
    pub(super) id: String,
}

impl Mark {
    /// Mark before every row.
    pub(super) const fn start() -> Self {
        Self {
            created_at: i64::MIN,
            id: String::new(),
        }
    }
}

/// Marks of one list, and its number of rows in the transaction that looked.
#[derive(Clone, Debug)]
pub(super) struct Survey {
    marks: Arc<[Mark]>,
    pub(super) total: u64,
}

impl Survey {
    /// The last mark at or before the given position, and the number of rows between.
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

/// Marks of every list that was requested. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Marks(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    /// Time of the last update.
    at: Option<Timestamp>,
    /// `None`: the list of all actions.
    by_action: HashMap<Option<String>, Arc<[Mark]>>,
}

impl Marks {
    /// Continues from the last known mark, with a new one for every further [`STEP`] settled rows.
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
        let mut known = self.0.lock().ignore_poison();
        if known.at.is_some_and(|at| now < at) {
            known.by_action.clear();
        }
        known.at = Some(now);
        let key = action.map(str::to_owned);
        known.by_action.get(&key).cloned().unwrap_or_default()
    }

    fn keep(&self, action: Option<&str>, marks: &Arc<[Mark]>) {
        let mut known = self.0.lock().ignore_poison();
        let key = action.map(str::to_owned);
        let full = known.by_action.len() > FILTERS && !known.by_action.contains_key(&key);
        // Another request may have come further meanwhile; a list beyond the limit is surveyed anew each
        // time.
        let further = known
            .by_action
            .get(&key)
            .is_some_and(|known| known.len() >= marks.len());
        if !full && !further {
            known.by_action.insert(key, marks.clone());
        }
    }
}
