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

use qm_db::{DbError, Tx, opt, sql, value};
use qm_kernel::Timestamp;

/// Rows between two marks: what a page walks over at most, and a count counts.
pub(crate) const STEP: u64 = 2000;
const SETTLED_MS: i64 = 5 * 60 * 1000;
const FILTERS: usize = 64;
/// Rows after the last mark that call for another one.
const ENOUGH: i64 = STEP as i64 + 1;

sql! {
    /// In order and with a limit: what PostgreSQL finds by the index rather than by reading the table.
    pub(super) COUNT = "SELECT COUNT(*) FROM (SELECT id FROM audit_logs WHERE (created_at, id) > ($1, $2) \
        ORDER BY created_at, id LIMIT $3) counted";
    /// The action as a range of one: told that it is one value, PostgreSQL may walk the index of all rows by time and
    /// look for the rare ones among them.
    pub(super) COUNT_ACTION = "SELECT COUNT(*) FROM (SELECT id FROM audit_logs \
        WHERE (action, created_at, id) > ($4, $1, $2) AND action <= $4 ORDER BY action, created_at, id LIMIT $3) counted";
    pub(super) NEXT = "SELECT created_at, id FROM audit_logs WHERE (created_at, id) > ($1, $2) AND created_at < $3 \
        ORDER BY created_at, id LIMIT 1 OFFSET $4";
    pub(super) NEXT_ACTION = "SELECT created_at, id FROM audit_logs \
        WHERE (action, created_at, id) > ($5, $1, $2) AND action <= $5 AND created_at < $3 \
        ORDER BY action, created_at, id LIMIT 1 OFFSET $4";
}

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

/// Rows after `after`, as far as `most`.
async fn count(tx: &mut Tx, action: Option<&str>, after: &Mark, most: i64) -> Result<u64, DbError> {
    let rows = match action {
        None => value!(tx, i64, COUNT, after.created_at, &after.id, most).await?,
        Some(action) => value!(tx, i64, COUNT_ACTION, after.created_at, &after.id, most, action).await?,
    };
    Ok(rows.unsigned_abs())
}

/// The row [`STEP`] rows after `after`, if it has settled.
async fn next(
    tx: &mut Tx,
    action: Option<&str>,
    after: &Mark,
    settled: i64,
) -> Result<Option<Mark>, DbError> {
    let skipped = STEP as i64 - 1;
    let found = match action {
        None => {
            opt!(
                tx,
                (i64, String),
                NEXT,
                after.created_at,
                &after.id,
                settled,
                skipped
            )
            .await?
        }
        Some(action) => {
            opt!(
                tx,
                (i64, String),
                NEXT_ACTION,
                after.created_at,
                &after.id,
                settled,
                skipped,
                action
            )
            .await?
        }
    };
    Ok(found.map(|(created_at, id)| Mark { created_at, id }))
}
