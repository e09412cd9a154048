//! Rows of engines that were deleted, removed a few hundred at a time.
//!
//! Each step goes on where the one before ended, by hash, so that its cost depends on neither the rows that are left nor those
//! that are gone (an index may still hold the latter). Two servers on one database take turns: whoever makes a step holds the
//! engine's row.
//! Bounds: [`ROWS`] rows a step, but for the last one of a table, which takes what was written meanwhile too.

use qm_db::{DbError, Statement, Tx, sql};
use qm_kernel::Timestamp;

/// Rows of one step.
pub const ROWS: i64 = 500;

sql! {
    LIST = "SELECT id FROM torrent_engines WHERE deleted_at IS NOT NULL ORDER BY deleted_at, id";
    CLAIM = "UPDATE torrent_engines SET updated_at = $2 WHERE id = $1 AND deleted_at IS NOT NULL";
    LAST_SNAPSHOT = "SELECT hash FROM torrent_snapshots WHERE engine_id = $1 AND hash > $2 ORDER BY hash LIMIT 1 OFFSET $3";
    SNAPSHOTS = "DELETE FROM torrent_snapshots WHERE engine_id = $1 AND hash > $2 AND hash <= $3";
    ALL_SNAPSHOTS = "DELETE FROM torrent_snapshots WHERE engine_id = $1";
    LAST_ARCHIVED = "SELECT hash FROM torrent_archive WHERE engine_id = $1 AND hash > $2 ORDER BY hash LIMIT 1 OFFSET $3";
    ARCHIVED = "DELETE FROM torrent_archive WHERE engine_id = $1 AND hash > $2 AND hash <= $3";
    ALL_ARCHIVED = "DELETE FROM torrent_archive WHERE engine_id = $1";
    LAST_INTAKE = "SELECT hash FROM torrent_intake WHERE engine_id = $1 AND hash > $2 ORDER BY hash LIMIT 1 OFFSET $3";
    INTAKES = "DELETE FROM torrent_intake WHERE engine_id = $1 AND hash > $2 AND hash <= $3";
    ALL_INTAKES = "DELETE FROM torrent_intake WHERE engine_id = $1";
    /// Its ledger goes with it.
    ENGINE = "DELETE FROM torrent_engines WHERE id = $1 AND deleted_at IS NOT NULL";
}

/// The statements of one table: the last hash of a step, its rows, all rows.
struct Table {
    last: Statement,
    some: Statement,
    all: Statement,
}

const TABLES: [Table; 3] = [
    Table {
        last: LAST_SNAPSHOT,
        some: SNAPSHOTS,
        all: ALL_SNAPSHOTS,
    },
    Table {
        last: LAST_ARCHIVED,
        some: ARCHIVED,
        all: ALL_ARCHIVED,
    },
    Table {
        last: LAST_INTAKE,
        some: INTAKES,
        all: ALL_INTAKES,
    },
];

/// The progress of removing one engine's rows. It is lost with the process; another one begins anew, with fewer rows.
#[derive(Debug)]
pub struct Progress {
    engine_id: String,
    /// Index in [`TABLES`]; past the last one only the engine itself is left.
    table: usize,
    /// The last hash of the table that was removed.
    after: String,
}

/// The result of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// This many rows were removed, and there may be more.
    More(u64),
    /// Nothing of the engine is left.
    Done,
}

impl Progress {
    pub fn begin(engine_id: String) -> Self {
        Self {
            engine_id,
            table: 0,
            after: String::new(),
        }
    }

    pub fn engine_id(&self) -> &str {
        &self.engine_id
    }

    /// Removes the next rows. The caller commits before the next step.
    pub async fn step(&mut self, tx: &mut Tx, now: Timestamp) -> Result<Step, DbError> {
        let id = &*self.engine_id;
        if qm_db::exec!(tx, CLAIM, id, now.ms()).await?.rows() == 0 {
            return Ok(Step::Done);
        }
        let Some(table) = TABLES.get(self.table) else {
            qm_db::exec!(tx, ENGINE, id).await?.rows();
            return Ok(Step::Done);
        };
        let last = qm_db::opt!(tx, (String,), table.last, id, &self.after, ROWS - 1).await?;
        let gone = if let Some((last,)) = last {
            let gone = qm_db::exec!(tx, table.some, id, &self.after, &last).await?;
            self.after = last;
            gone
        } else {
            self.table += 1;
            self.after = String::new();
            qm_db::exec!(tx, table.all, id).await?
        };
        Ok(Step::More(gone.rows()))
    }
}

/// The engines whose rows are to be removed, the one deleted first at the front.
pub async fn list(tx: &mut Tx) -> Result<Vec<String>, DbError> {
    let ids = qm_db::all!(tx, (String,), LIST).await?;
    Ok(ids.into_iter().map(|(id,)| id).collect())
}
