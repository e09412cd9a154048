//! Requests and responses of runs: apply, undo, history, the naming of a library.

use qm_kernel::{PageQuery, Timestamp};
use qm_web::{FromBody, FromQuery};
use serde::Serialize;
use utoipa::ToSchema;

use super::PlanView;
use crate::model::request::{Applied, Going, Organized};
use crate::model::run::{Operation, Problem, Undoable, Undone};

const MAX_ID: usize = 100;
const MAX_PAGE: u64 = 200;

/// A file that was not renamed, and why.
#[derive(Serialize, ToSchema)]
#[schema(as = RenameProblem)]
pub struct ProblemView {
    pub source: String,
    pub destination: Option<String>,
    /// `skipped` or `failed`.
    pub status: &'static str,
    pub message: String,
}

impl From<Problem> for ProblemView {
    fn from(problem: Problem) -> Self {
        Self {
            source: problem.source,
            destination: problem.destination,
            status: problem.status.as_str(),
            message: problem.message,
        }
    }
}

/// Result of a rename.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RenameResult)]
pub struct AppliedView {
    pub applied: u64,
    /// Files that stay, also those that have their name already.
    pub skipped: u64,
    pub failed: u64,
    /// Files that got a number, because another one has the name.
    pub duplicates: u64,
    pub deleted: u64,
    /// Torrents whose files have moved, and that were removed; their data stays.
    pub torrents_removed: u64,
    /// Torrents whose files have moved, and that are still there.
    pub torrents_orphaned: u64,
    /// Null: nothing was to be done.
    pub run_id: Option<String>,
    /// True if somebody cancelled the job before the last file.
    pub cancelled: bool,
    /// Files that were not renamed, at most 500; those that stay by the plan are not among them.
    pub problems: Vec<ProblemView>,
    pub plan: PlanView,
}

impl From<Applied> for AppliedView {
    fn from(applied: Applied) -> Self {
        let outcome = applied.outcome;
        Self {
            applied: outcome.applied,
            skipped: outcome.skipped,
            failed: outcome.failed,
            duplicates: outcome.duplicates,
            deleted: outcome.deleted,
            torrents_removed: outcome.torrents_removed,
            torrents_orphaned: outcome.torrents_orphaned,
            run_id: applied.run_id,
            cancelled: outcome.is_cancelled,
            problems: outcome.problems.into_iter().map(ProblemView::from).collect(),
            plan: PlanView::new(&applied.prepared.planned, None),
        }
    }
}

/// A run that can be undone.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = UndoableRename)]
pub struct UndoableView {
    pub run_id: String,
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// Files that it named and that were not brought back.
    pub operations: i64,
    /// `rename_in_place`, `rename_move`, `copy`, `hardlink` or `symlink`.
    pub mode: String,
}

impl From<Undoable> for UndoableView {
    fn from(run: Undoable) -> Self {
        Self {
            run_id: run.run_id,
            at: run.at,
            operations: run.operations,
            mode: run.mode,
        }
    }
}

/// A step of a run.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RenameRunOperation)]
pub struct RunOperationView {
    pub id: String,
    pub source: String,
    pub destination: Option<String>,
    /// `rename`, `move`, `copy`, `hardlink`, `symlink` or `delete`.
    pub action: &'static str,
    pub kind: String,
    /// `success`, `failed` or `skipped`.
    pub status: String,
    pub message: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub undone_at: Option<Timestamp>,
}

impl From<Operation> for RunOperationView {
    fn from(row: Operation) -> Self {
        Self {
            source: row.source(),
            destination: row.destination(),
            action: row.step.action.as_str(),
            id: row.id,
            kind: row.kind,
            status: row.status,
            message: row.message,
            undone_at: row.undone_at,
        }
    }
}

/// Steps of a run, the oldest first.
#[derive(Serialize, ToSchema)]
#[schema(as = RenameRunOperations)]
pub struct RunOperationsView {
    /// 0 for an unknown run.
    pub total: u64,
    /// True if there are more than are shown.
    pub truncated: bool,
    /// At most 500.
    pub operations: Vec<RunOperationView>,
}

impl RunOperationsView {
    pub fn new((rows, total): (Vec<Operation>, u64)) -> Self {
        Self {
            total,
            truncated: total > rows.len() as u64,
            operations: rows.into_iter().map(RunOperationView::from).collect(),
        }
    }
}

/// Request to undo a run.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = RenameUndo)]
#[fields(open)]
pub struct UndoInput {
    /// Id of the run, as a rename answered it. Required.
    #[field(trim, max = MAX_ID, default)]
    pub run_id: String,
}

/// A file that an undo left where it is.
#[derive(Serialize, ToSchema)]
#[schema(as = RenameUndoSkipped)]
pub struct UndoSkippedView {
    pub source: String,
    /// `not_reversible` (a deletion), `moved_since` (it is not at its new place any more) or `original_path_occupied`.
    pub reason: &'static str,
}

/// Result of an undo.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RenameUndone)]
pub struct UndoView {
    pub run_id: String,
    pub undone: u64,
    /// At most 500.
    pub skipped: Vec<UndoSkippedView>,
    pub failed: u64,
}

impl UndoView {
    pub fn new(run_id: String, undone: Undone) -> Self {
        let skipped = undone
            .skipped
            .into_iter()
            .map(|(source, reason)| UndoSkippedView { source, reason });
        Self {
            run_id,
            undone: undone.files,
            skipped: skipped.collect(),
            failed: undone.failed,
        }
    }
}

/// Page and filter of the history.
#[derive(FromQuery)]
pub struct HistoryQuery {
    #[field(page = MAX_PAGE)]
    pub page: PageQuery,
    /// Item of a library whose files, and folders, the steps are about.
    #[field(given)]
    pub item_id: Option<String>,
}

/// A step of a rename.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaRenameOperation)]
pub struct HistoryItem {
    pub id: String,
    pub source: String,
    pub destination: Option<String>,
    /// `rename`, `move`, `copy`, `hardlink`, `symlink` or `delete`.
    pub action: &'static str,
    /// `tv`, `anime`, `movie`, `music`, `audiobook` or `general`.
    pub kind: String,
    pub mode: String,
    /// `success`, `failed` or `skipped`.
    pub status: String,
    pub message: Option<String>,
    pub torrent_hash: Option<String>,
    pub run_id: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub undone_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

impl From<Operation> for HistoryItem {
    fn from(row: Operation) -> Self {
        Self {
            source: row.source(),
            destination: row.destination(),
            action: row.step.action.as_str(),
            id: row.id,
            kind: row.kind,
            mode: row.mode,
            status: row.status,
            message: row.message,
            torrent_hash: row.torrent_hash,
            run_id: Some(row.run_id),
            undone_at: row.undone_at,
            created_at: row.created_at,
        }
    }
}

/// A page of the history, the newest step first.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaRenameHistory)]
pub struct HistoryPage {
    pub items: Vec<HistoryItem>,
    pub total: u64,
    pub page: u64,
    pub page_size: u64,
}

impl HistoryPage {
    pub fn new((rows, total): (Vec<Operation>, u64), page: PageQuery) -> Self {
        Self {
            items: rows.into_iter().map(HistoryItem::from).collect(),
            total,
            page: page.page,
            page_size: page.page_size,
        }
    }
}

/// Manner in which a library is named.
#[derive(FromQuery)]
pub struct OrganizeQuery {
    /// `true` or `1`: nothing is changed.
    #[field(given)]
    pub dry_run: Option<String>,
}

/// A file of an item that goes to another place.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OrganizeMove)]
pub struct GoingView {
    pub item_id: String,
    pub from: String,
    pub to: Option<String>,
}

impl From<Going> for GoingView {
    fn from(going: Going) -> Self {
        Self {
            item_id: going.item_id,
            from: going.from,
            to: going.to,
        }
    }
}

/// A file of an item that is deleted.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OrganizeDelete)]
pub struct GoneView {
    pub item_id: String,
    pub path: String,
}

/// Result of the naming of a library.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OrganizeResult)]
pub struct OrganizedView {
    pub library_id: String,
    pub mode: String,
    /// True if the library names its files by itself, and does that by moving them. Otherwise nothing is done.
    pub eligible: bool,
    pub dry_run: bool,
    pub moves: Vec<GoingView>,
    pub deletes: Vec<GoneView>,
    /// Files that would come to another show, or lie in none: they stay.
    pub needs_review: Vec<GoingView>,
    pub applied: u64,
    pub deleted: u64,
    pub skipped: u64,
    pub failed: u64,
    /// Null: nothing was done.
    pub run_id: Option<String>,
}

impl From<Organized> for OrganizedView {
    fn from(organized: Organized) -> Self {
        let deletes = organized.deletes.into_iter().map(|going| GoneView {
            item_id: going.item_id,
            path: going.from,
        });
        let outcome = organized.outcome;
        Self {
            library_id: organized.library_id,
            mode: organized.mode,
            eligible: organized.is_eligible,
            dry_run: organized.is_dry,
            moves: organized.moves.into_iter().map(GoingView::from).collect(),
            deletes: deletes.collect(),
            needs_review: organized.needs_review.into_iter().map(GoingView::from).collect(),
            applied: outcome.applied,
            deleted: outcome.deleted,
            skipped: outcome.skipped,
            failed: outcome.failed,
            run_id: organized.run_id,
        }
    }
}
