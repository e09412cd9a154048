//! Tables `media_rename_runs` and `media_rename_operations`: the journal.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use qm_confined::RelPath;
use qm_db::{DbError, FromRow, Tx, bulk, sql};
use qm_kernel::Timestamp;
use qm_rename_plan::Action;

use crate::model::run::{Fact, Operation, Phase, Run, Status, Step};

/// Runs that are forgotten at once.
const FORGOTTEN: i64 = 2;

macro_rules! columns {
    () => {
        "id, run_id, position, source, source_raw, destination, action, kind, mode, status, message, torrent_hash, size, mtime, \
         device, inode, placed_size, placed_mtime, placed_inode, made, undone_at, created_at"
    };
}
pub(super) use columns;

sql! {
    TURN = "UPDATE media_rename_turn SET turn = turn + 1 WHERE id = 1";
    OPEN = "SELECT id, library_path, mode, created_by, seen_at FROM media_rename_runs WHERE phase <> 'over' ORDER BY id";
    FIND = "SELECT id, library_path, mode, created_by, seen_at FROM media_rename_runs WHERE id = $1";
    ADD = "INSERT INTO media_rename_runs (id, library_path, mode, phase, created_by, created_at, seen_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $6)";
    BEGIN = "UPDATE media_rename_runs SET phase = $2, created_by = $3, seen_at = $4 WHERE id = $1 AND phase = 'over'";
    END = "UPDATE media_rename_runs SET phase = 'over' WHERE id = $1";
    SEEN = "UPDATE media_rename_runs SET seen_at = $2 WHERE id = $1 AND phase <> 'over'";
    FORGET = "DELETE FROM media_rename_runs WHERE id IN (SELECT id FROM media_rename_runs WHERE created_at < $1 \
        AND phase = 'over' ORDER BY created_at LIMIT $2)";
    SETTLE = "UPDATE media_rename_operations SET status = $2, message = $3, placed_size = $4, placed_mtime = $5, \
        placed_inode = $6 WHERE id = $1 AND status = 'begun'";
    DROP = "DELETE FROM media_rename_operations WHERE id = $1 AND status = 'begun'";
    BEGUN = concat!("SELECT ", columns!(), " FROM media_rename_operations WHERE run_id = $1 AND status = 'begun' \
        ORDER BY position DESC LIMIT $2");
    UNDOING = concat!("SELECT ", columns!(), " FROM media_rename_operations WHERE run_id = $1 AND undoing ORDER BY position LIMIT $2");
    TO_UNDO = concat!("SELECT ", columns!(), " FROM media_rename_operations WHERE run_id = $1 AND status = 'success' \
        AND undone_at IS NULL AND position < $2 ORDER BY position DESC LIMIT $3");
    MARK = "UPDATE media_rename_operations SET undoing = $2 WHERE id = $1";
    UNDONE = "UPDATE media_rename_operations SET undoing = $2, undone_at = $3 WHERE id = $1";
}

bulk! {
    ADD_OPERATIONS = "INSERT INTO media_rename_operations (id, run_id, position, source, source_raw, destination, action, kind, \
        mode, status, message, torrent_hash, size, mtime, device, inode, made, undoing, created_at) VALUES", 19, "";
}

#[derive(FromRow)]
struct RunRow {
    id: String,
    library_path: String,
    mode: String,
    created_by: String,
    seen_at: i64,
}

impl From<RunRow> for Run {
    fn from(row: RunRow) -> Self {
        Self {
            id: row.id,
            library: row.library_path,
            mode: row.mode,
            created_by: row.created_by,
            seen_at: Timestamp::from_ms(row.seen_at),
        }
    }
}

#[derive(FromRow)]
pub(super) struct OperationRow {
    id: String,
    run_id: String,
    position: i64,
    source: String,
    source_raw: Option<String>,
    destination: Option<String>,
    action: String,
    kind: String,
    mode: String,
    status: String,
    message: Option<String>,
    torrent_hash: Option<String>,
    size: i64,
    mtime: i64,
    device: i64,
    inode: i64,
    placed_size: Option<i64>,
    placed_mtime: Option<i64>,
    placed_inode: Option<i64>,
    made: i64,
    undone_at: Option<i64>,
    created_at: i64,
}

impl From<OperationRow> for Operation {
    fn from(row: OperationRow) -> Self {
        let placed =
            row.placed_size
                .zip(row.placed_mtime)
                .zip(row.placed_inode)
                .map(|((size, mtime), inode)| Fact {
                    size,
                    mtime,
                    device: 0,
                    inode,
                });
        Self {
            step: Step {
                action: action_of(&row.action),
                source: source_of(&row.source, row.source_raw.as_deref()),
                destination: row.destination.map(PathBuf::from),
                fact: Fact {
                    size: row.size,
                    mtime: row.mtime,
                    device: row.device,
                    inode: row.inode,
                },
            },
            id: row.id,
            run_id: row.run_id,
            position: row.position,
            kind: row.kind,
            mode: row.mode,
            status: row.status,
            message: row.message,
            torrent_hash: row.torrent_hash,
            placed,
            made: u32::try_from(row.made).unwrap_or_default(),
            undone_at: row.undone_at.map(Timestamp::from_ms),
            created_at: Timestamp::from_ms(row.created_at),
        }
    }
}

fn action_of(word: &str) -> Action {
    let all = [
        Action::Rename,
        Action::Move,
        Action::Copy,
        Action::Hardlink,
        Action::Symlink,
        Action::Delete,
    ];
    // The table holds no others.
    all.into_iter()
        .find(|action| action.as_str() == word)
        .unwrap_or(Action::Skip)
}

/// Path with its own bytes.
fn source_of(text: &str, raw: Option<&str>) -> PathBuf {
    match raw.map(RelPath::from_raw) {
        Some(Ok(path)) => path
            .components()
            .iter()
            .fold(PathBuf::from("/"), |path, name| path.join(name.as_os())),
        _ => PathBuf::from(text),
    }
}

/// Percent-encoded form of a path that is no text.
fn raw_of(path: &std::path::Path) -> Option<String> {
    if path.to_str().is_some() {
        return None;
    }
    let names = path.iter().filter_map(|name: &OsStr| {
        (name.as_bytes() != b"/")
            .then(|| qm_confined::Component::new(name))
            .flatten()
    });
    Some(RelPath::from_components(names.collect()).encoded())
}

/// Waits until no other run is beginning.
pub async fn take_turn(tx: &mut Tx) -> Result<(), DbError> {
    qm_db::exec!(tx, TURN).await?.exactly(1)
}

/// Runs that are not over.
pub async fn open(tx: &mut Tx) -> Result<Vec<Run>, DbError> {
    Ok(qm_db::all!(tx, RunRow, OPEN)
        .await?
        .into_iter()
        .map(Run::from)
        .collect())
}

pub async fn find(tx: &mut Tx, id: &str) -> Result<Option<Run>, DbError> {
    if id.contains('\0') {
        return Ok(None);
    }
    Ok(qm_db::opt!(tx, RunRow, FIND, id).await?.map(Run::from))
}

/// Adds a run that begins.
pub async fn add(tx: &mut Tx, run: &Run) -> Result<(), DbError> {
    let phase = Phase::Applying.as_str();
    let at = run.seen_at.ms();
    qm_db::exec!(
        tx,
        ADD,
        &run.id,
        &run.library,
        &run.mode,
        phase,
        &run.created_by,
        at
    )
    .await?
    .exactly(1)
}

/// Begins the undo of a run; false if it is not over.
pub async fn begin_undo(tx: &mut Tx, run: &Run) -> Result<bool, DbError> {
    let phase = Phase::Undoing.as_str();
    let begun = qm_db::exec!(tx, BEGIN, &run.id, phase, &run.created_by, run.seen_at.ms()).await?;
    Ok(begun.rows() == 1)
}

pub async fn end(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, END, id).await?;
    Ok(())
}

/// Notes that a run is at work.
pub async fn seen(tx: &mut Tx, id: &str, at: Timestamp) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, SEEN, id, at.ms()).await?;
    Ok(())
}

/// Deletes some runs that began before a moment.
pub async fn forget(tx: &mut Tx, before: Timestamp) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, FORGET, before.ms(), FORGOTTEN).await?;
    Ok(())
}

pub async fn add_operations(tx: &mut Tx, rows: &[Operation]) -> Result<(), DbError> {
    let added = qm_db::batch!(
        tx,
        ADD_OPERATIONS,
        rows,
        |row| &row.id,
        &row.run_id,
        row.position,
        row.source(),
        raw_of(&row.step.source),
        row.destination(),
        row.step.action.as_str(),
        &row.kind,
        &row.mode,
        &row.status,
        row.message.as_deref(),
        row.torrent_hash.as_deref(),
        row.step.fact.size,
        row.step.fact.mtime,
        row.step.fact.device,
        row.step.fact.inode,
        i64::from(row.made),
        false,
        row.created_at.ms()
    );
    added.await?.exactly(rows.len() as u64)
}

/// Stores the end of a step.
pub async fn settle(
    tx: &mut Tx,
    id: &str,
    status: Status,
    message: Option<&str>,
    placed: Option<Fact>,
) -> Result<(), DbError> {
    let (size, mtime, inode) = (
        placed.map(|placed| placed.size),
        placed.map(|placed| placed.mtime),
        placed.map(|placed| placed.inode),
    );
    let settled = qm_db::exec!(tx, SETTLE, id, status.as_str(), message, size, mtime, inode);
    settled.await?.exactly(1)
}

/// Deletes the row of a step that was never begun.
pub async fn withdraw(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    qm_db::exec!(tx, DROP, id).await?.exactly(1)
}

/// Steps that were begun and have no end, the last one first.
pub async fn begun(tx: &mut Tx, run_id: &str, most: i64) -> Result<Vec<Operation>, DbError> {
    let rows = qm_db::all!(tx, OperationRow, BEGUN, run_id, most).await?;
    Ok(rows.into_iter().map(Operation::from).collect())
}

/// Steps whose undo was begun and has no end.
pub async fn undoing(tx: &mut Tx, run_id: &str, most: i64) -> Result<Vec<Operation>, DbError> {
    let rows = qm_db::all!(tx, OperationRow, UNDOING, run_id, most).await?;
    Ok(rows.into_iter().map(Operation::from).collect())
}

/// Steps before a position that are done and not undone, the last one first.
pub async fn to_undo(tx: &mut Tx, run_id: &str, before: i64, most: i64) -> Result<Vec<Operation>, DbError> {
    let rows = qm_db::all!(tx, OperationRow, TO_UNDO, run_id, before, most).await?;
    Ok(rows.into_iter().map(Operation::from).collect())
}

/// Marks a step as being undone, or no longer.
pub async fn mark(tx: &mut Tx, id: &str, is_undoing: bool) -> Result<(), DbError> {
    qm_db::exec!(tx, MARK, id, is_undoing).await?.exactly(1)
}

/// Stores that a step is undone.
pub async fn undone(tx: &mut Tx, id: &str, at: Timestamp) -> Result<(), DbError> {
    qm_db::exec!(tx, UNDONE, id, false, at.ms()).await?.exactly(1)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn paths_that_are_no_text_keep_their_bytes() {
        let odd = Path::new(OsStr::from_bytes(b"/dl/caf\xe9/a b.mkv"));
        let raw = raw_of(odd).unwrap();
        assert_eq!(source_of("/dl/caf\u{fffd}/a b.mkv", Some(&raw)), odd);
        assert_eq!(raw_of(Path::new("/dl/a.mkv")), None);
        assert_eq!(source_of("/dl/a.mkv", None), Path::new("/dl/a.mkv"));
    }
}
