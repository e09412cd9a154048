//! Tables `transfer_engines`, `transfer_torrents`, `engine_transfers` and `torrent_transfers`.

use std::collections::{BTreeMap, HashMap};

use qm_db::{DbError, FromRow, Statement, Tx, sql};
use qm_kernel::Timestamp;

use crate::model::answers::{CountRow, TopTorrent};
use crate::model::{Counters, Step, Tally, Watch};

/// Columns of a tally.
macro_rules! counts {
    () => {
        "start_at, downloaded, uploaded, covered_ms, peak_download, peak_upload"
    };
}

/// The larger one of a column's value and of that of a new row.
macro_rules! larger {
    ($table:literal, $column:literal) => {
        concat!(
            $column,
            " = CASE WHEN excluded.",
            $column,
            " > ",
            $table,
            ".",
            $column,
            " THEN excluded.",
            $column,
            " ELSE ",
            $table,
            ".",
            $column,
            " END"
        )
    };
}

/// The sum of a column's value and of that of a new row.
macro_rules! sum {
    ($table:literal, $column:literal) => {
        concat!($column, " = ", $table, ".", $column, " + excluded.", $column)
    };
}

sql! {
    SEEN_AT = "SELECT seen_at FROM transfer_engines WHERE engine_id = $1";
    ENGINES = "SELECT engine_id FROM transfer_engines ORDER BY engine_id";
    ADD_ENGINE = "INSERT INTO transfer_engines (engine_id, seen_at) VALUES ($1, $2)";
    SET_SEEN = "UPDATE transfer_engines SET seen_at = $2 WHERE engine_id = $1";
    TORRENTS = "SELECT number, hash, downloaded, uploaded FROM transfer_torrents \
        WHERE engine_id = $1 AND gone_at IS NULL AND number > $2 ORDER BY number LIMIT $3";
    LAST_NUMBER = "SELECT CAST(COALESCE(MAX(number), 0) AS BIGINT) FROM transfer_torrents";
    NAMED = "SELECT number FROM transfer_torrents WHERE hash = $1 AND (CAST($2 AS TEXT) IS NULL OR engine_id = $2) \
        ORDER BY number";

    OF_ENGINE = concat!("SELECT ", counts!(), ", samples, active, peak_active FROM engine_transfers \
        WHERE engine_id = $1 AND step = $2 AND start_at >= $3 AND start_at < $4 ORDER BY start_at");
    OF_TORRENT = concat!("SELECT ", counts!(), ", CAST(0 AS BIGINT) AS samples, CAST(0 AS BIGINT) AS active, \
        CAST(0 AS BIGINT) AS peak_active FROM torrent_transfers \
        WHERE torrent = $1 AND step = $2 AND start_at >= $3 AND start_at < $4 ORDER BY start_at");
    TOP_UP = "SELECT t.engine_id, t.hash, t.name, t.gone_at, s.downloaded, s.uploaded FROM (SELECT torrent, \
        CAST(SUM(downloaded) AS BIGINT) AS downloaded, CAST(SUM(uploaded) AS BIGINT) AS uploaded FROM torrent_transfers \
        WHERE step = $1 AND start_at >= $2 AND start_at < $3 GROUP BY torrent) s \
        JOIN transfer_torrents t ON t.number = s.torrent \
        WHERE (CAST($4 AS TEXT) IS NULL OR t.engine_id = $4) AND s.uploaded > 0 \
        ORDER BY s.uploaded DESC, s.downloaded DESC, t.number LIMIT $5";
    TOP_DOWN = "SELECT t.engine_id, t.hash, t.name, t.gone_at, s.downloaded, s.uploaded FROM (SELECT torrent, \
        CAST(SUM(downloaded) AS BIGINT) AS downloaded, CAST(SUM(uploaded) AS BIGINT) AS uploaded FROM torrent_transfers \
        WHERE step = $1 AND start_at >= $2 AND start_at < $3 GROUP BY torrent) s \
        JOIN transfer_torrents t ON t.number = s.torrent \
        WHERE (CAST($4 AS TEXT) IS NULL OR t.engine_id = $4) AND s.downloaded > 0 \
        ORDER BY s.downloaded DESC, s.uploaded DESC, t.number LIMIT $5";

    PRUNE_ENGINES = "DELETE FROM engine_transfers WHERE step = $1 AND start_at < $2";
    PRUNE_TORRENTS = "DELETE FROM torrent_transfers WHERE (torrent, step, start_at) IN (SELECT torrent, step, start_at \
        FROM torrent_transfers WHERE step = $1 AND start_at < $2 ORDER BY start_at LIMIT $3)";
    EXCESS = "SELECT start_at FROM torrent_transfers WHERE step = $1 ORDER BY start_at DESC LIMIT 1 OFFSET $2";
    LEFT_OVER = "SELECT t.number, CASE WHEN e.engine_id IS NULL THEN 1 ELSE 0 END FROM transfer_torrents t \
        LEFT JOIN transfer_engines e ON e.engine_id = t.engine_id \
        WHERE t.number > $1 AND (e.engine_id IS NULL OR (t.gone_at IS NOT NULL \
        AND NOT EXISTS (SELECT 1 FROM torrent_transfers c WHERE c.torrent = t.number))) ORDER BY t.number LIMIT $2";
    FIRST_SINCE = "SELECT MIN(start_at) FROM torrent_transfers WHERE step = $1 AND start_at >= $2";
    FORGET_COUNTS = "DELETE FROM torrent_transfers WHERE torrent = $1";
    FORGET_TORRENT = "DELETE FROM transfer_torrents WHERE number = $1 \
        AND NOT EXISTS (SELECT 1 FROM torrent_transfers WHERE torrent = $1)";
}

qm_db::bulk! {
    NUMBERS = "SELECT t.hash, t.number FROM (VALUES", 2,
        ") w CROSS JOIN transfer_torrents t WHERE t.hash = w.column1 AND t.engine_id = w.column2";
    PUT_TORRENTS = "INSERT INTO transfer_torrents (number, engine_id, hash, name, downloaded, uploaded, gone_at) VALUES", 7,
        "ON CONFLICT (number) DO UPDATE SET \
        name = CASE WHEN excluded.name = '' THEN transfer_torrents.name ELSE excluded.name END, \
        downloaded = excluded.downloaded, uploaded = excluded.uploaded, gone_at = excluded.gone_at";
    COUNT_TORRENTS = "INSERT INTO torrent_transfers (torrent, step, start_at, downloaded, uploaded, covered_ms, \
        peak_download, peak_upload) VALUES", 8,
        concat!("ON CONFLICT (torrent, step, start_at) DO UPDATE SET ",
            sum!("torrent_transfers", "downloaded"), ", ", sum!("torrent_transfers", "uploaded"), ", ",
            sum!("torrent_transfers", "covered_ms"), ", ", larger!("torrent_transfers", "peak_download"), ", ",
            larger!("torrent_transfers", "peak_upload"));
    COUNT_ENGINE = "INSERT INTO engine_transfers (engine_id, step, start_at, downloaded, uploaded, covered_ms, \
        peak_download, peak_upload, samples, active, peak_active) VALUES", 11,
        concat!("ON CONFLICT (engine_id, step, start_at) DO UPDATE SET ",
            sum!("engine_transfers", "downloaded"), ", ", sum!("engine_transfers", "uploaded"), ", ",
            sum!("engine_transfers", "covered_ms"), ", ", larger!("engine_transfers", "peak_download"), ", ",
            larger!("engine_transfers", "peak_upload"), ", ", sum!("engine_transfers", "samples"), ", ",
            sum!("engine_transfers", "active"), ", ", larger!("engine_transfers", "peak_active"));
}

/// A torrent that is counted.
#[derive(Debug, FromRow)]
pub struct Counted {
    pub number: i64,
    pub hash: String,
    downloaded: i64,
    uploaded: i64,
}

impl Counted {
    pub fn counters(&self) -> Counters {
        Counters {
            downloaded: self.downloaded.unsigned_abs(),
            uploaded: self.uploaded.unsigned_abs(),
        }
    }
}

/// Row of the counts of a step.
#[derive(FromRow)]
struct Row {
    start_at: i64,
    downloaded: i64,
    uploaded: i64,
    covered_ms: i64,
    peak_download: i64,
    peak_upload: i64,
    samples: i64,
    active: i64,
    peak_active: i64,
}

impl From<Row> for CountRow {
    fn from(row: Row) -> Self {
        Self {
            start_at: row.start_at,
            tally: Tally {
                moved: Counters {
                    downloaded: row.downloaded.unsigned_abs(),
                    uploaded: row.uploaded.unsigned_abs(),
                },
                covered_ms: row.covered_ms.unsigned_abs(),
                peak_download: row.peak_download.unsigned_abs(),
                peak_upload: row.peak_upload.unsigned_abs(),
            },
            watch: Watch {
                samples: row.samples.unsigned_abs(),
                active: row.active.unsigned_abs(),
                peak_active: row.peak_active.unsigned_abs(),
            },
        }
    }
}

/// Row of a torrent with what it moved in a range.
#[derive(FromRow)]
struct TopRow {
    engine_id: String,
    hash: String,
    name: String,
    gone_at: Option<i64>,
    downloaded: i64,
    uploaded: i64,
}

impl From<TopRow> for TopTorrent {
    fn from(row: TopRow) -> Self {
        Self {
            engine_id: row.engine_id,
            hash: row.hash,
            name: row.name,
            gone_at: row.gone_at.map(Timestamp::from_ms),
            moved: Counters {
                downloaded: row.downloaded.unsigned_abs(),
                uploaded: row.uploaded.unsigned_abs(),
            },
        }
    }
}

/// A torrent whose counters are to be stored.
pub struct Mark<'a> {
    pub number: i64,
    pub hash: &'a str,
    pub name: &'a str,
    pub counters: Counters,
    pub gone_at: Option<i64>,
}

/// Instant up to which an engine was counted; none for one that never was.
pub async fn seen_at(tx: &mut Tx, engine_id: &str) -> Result<Option<i64>, DbError> {
    let row = qm_db::opt!(tx, (i64,), SEEN_AT, engine_id).await?;
    Ok(row.map(|(at,)| at))
}

/// Ids of the engines that are counted.
pub async fn engines(tx: &mut Tx) -> Result<Vec<String>, DbError> {
    let rows = qm_db::all!(tx, (String,), ENGINES).await?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}

pub async fn add_engine(tx: &mut Tx, engine_id: &str, at: i64) -> Result<(), DbError> {
    qm_db::exec!(tx, ADD_ENGINE, engine_id, at).await?.exactly(1)
}

/// Notes up to when an engine was counted; false if it is no more.
pub async fn set_seen(tx: &mut Tx, engine_id: &str, at: i64) -> Result<bool, DbError> {
    Ok(qm_db::exec!(tx, SET_SEEN, engine_id, at).await?.rows() > 0)
}

/// A page of the torrents that an engine had when it was counted last, after one.
pub async fn torrents(tx: &mut Tx, engine_id: &str, after: i64, most: i64) -> Result<Vec<Counted>, DbError> {
    qm_db::all!(tx, Counted, TORRENTS, engine_id, after, most).await
}

pub async fn last_number(tx: &mut Tx) -> Result<i64, DbError> {
    qm_db::value!(tx, i64, LAST_NUMBER).await
}

/// Numbers of those of these torrents that were counted at some time.
pub async fn numbers(tx: &mut Tx, engine_id: &str, hashes: &[&str]) -> Result<HashMap<String, i64>, DbError> {
    let rows = qm_db::each!(tx, (String, i64), NUMBERS, hashes, |hash| *hash, engine_id).await?;
    Ok(rows.into_iter().collect())
}

/// Numbers of a torrent, of one engine or of all.
pub async fn named(tx: &mut Tx, hash: &str, engine_id: Option<&str>) -> Result<Vec<i64>, DbError> {
    let rows = qm_db::all!(tx, (i64,), NAMED, hash, engine_id).await?;
    Ok(rows.into_iter().map(|(number,)| number).collect())
}

pub async fn put_torrents(tx: &mut Tx, engine_id: &str, marks: &[Mark<'_>]) -> Result<(), DbError> {
    let put = qm_db::batch!(
        tx,
        PUT_TORRENTS,
        marks,
        |mark| mark.number,
        engine_id,
        mark.hash,
        mark.name,
        signed(mark.counters.downloaded),
        signed(mark.counters.uploaded),
        mark.gone_at
    );
    put.await?.exactly(marks.len() as u64)
}

/// Adds tallies to those of the same torrents and steps.
pub async fn count_torrents(tx: &mut Tx, counts: &BTreeMap<(i64, i64, i64), Tally>) -> Result<(), DbError> {
    let rows: Vec<(&(i64, i64, i64), &Tally)> = counts.iter().collect();
    let counted = qm_db::batch!(
        tx,
        COUNT_TORRENTS,
        rows,
        |(key, tally)| key.0,
        key.1,
        key.2,
        signed(tally.moved.downloaded),
        signed(tally.moved.uploaded),
        signed(tally.covered_ms),
        signed(tally.peak_download),
        signed(tally.peak_upload)
    );
    counted.await?.exactly(rows.len() as u64)
}

/// Adds tallies to those of the same steps of an engine.
pub async fn count_engine(
    tx: &mut Tx,
    engine_id: &str,
    counts: &BTreeMap<(i64, i64), (Tally, Watch)>,
) -> Result<(), DbError> {
    let rows: Vec<(&(i64, i64), &(Tally, Watch))> = counts.iter().collect();
    let counted = qm_db::batch!(
        tx,
        COUNT_ENGINE,
        rows,
        |(key, (tally, watch))| engine_id,
        key.0,
        key.1,
        signed(tally.moved.downloaded),
        signed(tally.moved.uploaded),
        signed(tally.covered_ms),
        signed(tally.peak_download),
        signed(tally.peak_upload),
        signed(watch.samples),
        signed(watch.active),
        signed(watch.peak_active)
    );
    counted.await?.exactly(rows.len() as u64)
}

/// Counts of an engine from `from` until before `to`, in their order.
pub async fn of_engine(
    tx: &mut Tx,
    engine_id: &str,
    step: Step,
    (from, to): (i64, i64),
) -> Result<Vec<CountRow>, DbError> {
    let rows = qm_db::all!(tx, Row, OF_ENGINE, engine_id, step.minutes(), from, to).await?;
    Ok(rows.into_iter().map(CountRow::from).collect())
}

/// Counts of a torrent, as those of an engine.
pub async fn of_torrent(
    tx: &mut Tx,
    number: i64,
    step: Step,
    (from, to): (i64, i64),
) -> Result<Vec<CountRow>, DbError> {
    let rows = qm_db::all!(tx, Row, OF_TORRENT, number, step.minutes(), from, to).await?;
    Ok(rows.into_iter().map(CountRow::from).collect())
}

/// Torrents that sent most, or received most, in a range.
pub async fn top(
    tx: &mut Tx,
    by_upload: bool,
    engine_id: Option<&str>,
    step: Step,
    (from, to): (i64, i64),
    most: usize,
) -> Result<Vec<TopTorrent>, DbError> {
    let (step, most) = (step.minutes(), most as i64);
    let statement: Statement = if by_upload { TOP_UP } else { TOP_DOWN };
    let rows = qm_db::all!(tx, TopRow, statement, step, from, to, engine_id, most).await?;
    Ok(rows.into_iter().map(TopTorrent::from).collect())
}

/// Begin of the first counts of torrents at an instant or after it.
pub async fn first_since(tx: &mut Tx, step: Step, since: i64) -> Result<Option<i64>, DbError> {
    qm_db::value!(tx, Option<i64>, FIRST_SINCE, step.minutes(), since).await
}

/// Deletes counts of engines that began before an instant.
pub async fn prune_engines(tx: &mut Tx, step: Step, before: i64) -> Result<u64, DbError> {
    Ok(qm_db::exec!(tx, PRUNE_ENGINES, step.minutes(), before)
        .await?
        .rows())
}

/// Deletes the oldest counts of torrents that began before an instant, so many at most.
pub async fn prune_torrents(tx: &mut Tx, step: Step, before: i64, most: i64) -> Result<u64, DbError> {
    let done = qm_db::exec!(tx, PRUNE_TORRENTS, step.minutes(), before, most);
    Ok(done.await?.rows())
}

/// Begin of the newest counts of a step that there is no room for.
pub async fn find_excess(tx: &mut Tx, step: Step, room: i64) -> Result<Option<i64>, DbError> {
    let row = qm_db::opt!(tx, (i64,), EXCESS, step.minutes(), room).await?;
    Ok(row.map(|(at,)| at))
}

/// A page of the torrents that are gone and have no counts, or whose engine is gone: that is told of each.
pub async fn left_over(tx: &mut Tx, after: i64, most: i64) -> Result<Vec<(i64, bool)>, DbError> {
    let rows = qm_db::all!(tx, (i64, i32), LEFT_OVER, after, most).await?;
    Ok(rows
        .into_iter()
        .map(|(number, alone)| (number, alone != 0))
        .collect())
}

/// Forgets a torrent if it has no counts; `with_counts` deletes those first.
pub async fn forget_torrent(tx: &mut Tx, number: i64, with_counts: bool) -> Result<(), DbError> {
    if with_counts {
        let _ = qm_db::exec!(tx, FORGET_COUNTS, number).await?;
    }
    let _ = qm_db::exec!(tx, FORGET_TORRENT, number).await?;
    Ok(())
}

/// A count as a BIGINT holds it.
fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
