//! Answers from the counts. What was counted since the last write, five minutes at most, is not in them.
//!
//! Bounds: [`MOST_POINTS`] steps an answer; one request at a time sums over all torrents, over [`MOST_ROWS`](crate::model::MOST_ROWS) rows at
//! most.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use qm_db::Tx;
use qm_kernel::Timestamp;

use super::TransferHistory;
use crate::error::HistoryError;
use crate::model::answers::{Choice, CountRow, History, Point, Question, Top, TopQuestion};
use crate::model::{MOST_POINTS, Step, Tally};
use crate::repo;

/// Sum of several engines at one step.
#[derive(Default)]
struct Sum {
    tally: Tally,
    active: f64,
    peak_active: u64,
}

impl TransferHistory {
    /// Counts of an engine, of all, or of a torrent, step by step.
    pub async fn read_history(&self, question: Question) -> Result<History, HistoryError> {
        let now = self.ground.ctx.now().ms();
        let step = question.step;
        let mut tx = self.ground.db.begin_read().await?;
        let zone = self.ground.settings.find_zone(&mut tx).await?;
        let to = question.to.map_or(now, Timestamp::ms);
        let from = question.from.map_or(to - step.usual_range(), Timestamp::ms);
        judge_range(from, to)?;
        let count = (to - from) / step.length();
        if count > MOST_POINTS {
            return Err(HistoryError::TooManyPoints { count, step });
        }
        let begin = step.find_start(from, &zone);
        let engine_id = self.choose(&mut tx, &question.engines).await?;
        let rows = match &question.hash {
            Some(hash) => {
                self.rows_of_torrent(&mut tx, hash, engine_id.as_deref(), step, (begin, to))
                    .await?
            }
            None => rows_of_engines(&mut tx, engine_id.as_deref(), step, (begin, to)).await?,
        };
        drop(tx);
        let points = points(rows, step, now, &zone, question.hash.is_none());
        let mut moved = Tally::default();
        for point in &points {
            moved.add(point.tally);
        }
        Ok(History {
            engine_id,
            step,
            from: Timestamp::from_ms(begin),
            to: Timestamp::from_ms(to),
            points,
            moved: moved.moved,
        })
    }

    /// Torrents that sent most, or received most, in a range; those that are gone too.
    pub async fn read_top(&self, question: TopQuestion) -> Result<Top, HistoryError> {
        let now = self.ground.ctx.now().ms();
        let to = question.to.map_or(now, Timestamp::ms);
        let from = question.from.map_or(to - Step::Day.length(), Timestamp::ms);
        judge_range(from, to)?;
        // Waited for without a transaction: a reader is not held meanwhile. It is never closed.
        let _turn = self.summing.acquire().await;
        let mut tx = self.ground.db.begin_read().await?;
        let zone = self.ground.settings.find_zone(&mut tx).await?;
        let engine_id = self.choose(&mut tx, &question.engines).await?;
        let step = find_step(&mut tx, (from, to), now, &zone).await?;
        let begin = step.find_start(from, &zone);
        let torrents = repo::top(
            &mut tx,
            question.by_upload,
            engine_id.as_deref(),
            step,
            (begin, to),
            question.limit,
        );
        Ok(Top {
            torrents: torrents.await?,
            engine_id,
            step,
            from: Timestamp::from_ms(begin),
            to: Timestamp::from_ms(to),
        })
    }

    /// Id of the engine that a request means; none for all.
    async fn choose(&self, tx: &mut Tx, choice: &Choice) -> Result<Option<String>, HistoryError> {
        match choice {
            Choice::All => Ok(None),
            Choice::One(Some(id)) => {
                // One that is disabled keeps its history.
                // No stored text holds a NUL.
                let is_known = self.sights.is_loaded(id)
                    || (!id.contains('\0') && repo::seen_at(tx, id).await?.is_some());
                if is_known {
                    Ok(Some(id.clone()))
                } else {
                    Err(HistoryError::NoSuchEngine)
                }
            }
            Choice::One(None) => match self.sights.default_engine() {
                Some(id) => Ok(Some(id)),
                None => Err(HistoryError::NoEngine),
            },
        }
    }

    async fn rows_of_torrent(
        &self,
        tx: &mut Tx,
        hash: &str,
        engine_id: Option<&str>,
        step: Step,
        range: (i64, i64),
    ) -> Result<Vec<CountRow>, HistoryError> {
        let numbers = repo::named(tx, hash, engine_id).await?;
        if numbers.is_empty() && !self.is_listed(hash, engine_id) {
            return Err(HistoryError::NoSuchTorrent);
        }
        let mut rows = Vec::new();
        for number in numbers {
            rows.extend(repo::of_torrent(tx, number, step, range).await?);
        }
        Ok(rows)
    }

    /// True for a torrent that an engine lists and that was not stored yet.
    fn is_listed(&self, hash: &str, engine_id: Option<&str>) -> bool {
        let lists = self.sights.sights();
        lists
            .iter()
            .filter(|sight| engine_id.is_none_or(|id| id == sight.list.engine_id()))
            .any(|sight| sight.list.find(hash).is_some())
    }
}

async fn rows_of_engines(
    tx: &mut Tx,
    engine_id: Option<&str>,
    step: Step,
    range: (i64, i64),
) -> Result<Vec<CountRow>, HistoryError> {
    let Some(id) = engine_id else {
        let mut rows = Vec::new();
        for id in repo::engines(tx).await? {
            rows.extend(repo::of_engine(tx, &id, step, range).await?);
        }
        return Ok(rows);
    };
    Ok(repo::of_engine(tx, id, step, range).await?)
}

/// Refuses a range that does not begin before its end.
fn judge_range(from: i64, to: i64) -> Result<(), HistoryError> {
    if from >= to {
        let (from, to) = (Timestamp::from_ms(from), Timestamp::from_ms(to));
        return Err(HistoryError::EmptyRange(from, to));
    }
    Ok(())
}

/// Step that answers a question about torrents best: a longer one where counts of the finer one had to go, for there were too many.
async fn find_step(
    tx: &mut Tx,
    (from, to): (i64, i64),
    now: i64,
    zone: &TimeZone,
) -> Result<Step, HistoryError> {
    let mut step = Step::best_for(from, to, now);
    while let Some(longer) = step.longer() {
        let begin = step.find_start(from, zone);
        let kept = repo::first_since(tx, step, begin).await?.unwrap_or(to);
        let moved = repo::first_since(tx, longer, from).await?.unwrap_or(to);
        if moved >= longer.find_start(kept, zone) {
            break;
        }
        step = longer;
    }
    Ok(step)
}

/// Sums of the rows of one step each.
fn points(rows: Vec<CountRow>, step: Step, now: i64, zone: &TimeZone, of_engines: bool) -> Vec<Point> {
    let mut sums = BTreeMap::<i64, Sum>::new();
    for row in rows {
        let (sum, tally, watch) = (sums.entry(row.start_at).or_default(), row.tally, row.watch);
        // Peaks of several engines need not have been at one time: their sum is the most that it can have been.
        let peaks = (
            sum.tally.peak_download.saturating_add(tally.peak_download),
            sum.tally.peak_upload.saturating_add(tally.peak_upload),
        );
        let covered = sum.tally.covered_ms.max(tally.covered_ms);
        sum.tally.add(tally);
        (sum.tally.peak_download, sum.tally.peak_upload) = peaks;
        sum.tally.covered_ms = covered;
        if watch.samples > 0 {
            sum.active += watch.active as f64 / watch.samples as f64;
        }
        sum.peak_active = sum.peak_active.saturating_add(watch.peak_active);
    }
    let point = |(start, sum): (i64, Sum)| {
        let end = step.find_next(start, zone);
        let passed = (now.min(end) - start).max(1).unsigned_abs();
        let time = passed.max(sum.tally.covered_ms);
        let average = |bytes: u64| (u128::from(bytes) * 1000 / u128::from(time)) as u64;
        let (down, up) = (
            average(sum.tally.moved.downloaded),
            average(sum.tally.moved.uploaded),
        );
        let mut tally = sum.tally;
        // A client tells rates now and then: a short peak is missed.
        tally.peak_download = tally.peak_download.max(down);
        tally.peak_upload = tally.peak_upload.max(up);
        Point {
            start,
            end,
            tally,
            average_download: down,
            average_upload: up,
            active: of_engines.then_some(sum.active),
            peak_active: of_engines.then_some(sum.peak_active),
        }
    };
    sums.into_iter().map(point).collect()
}
