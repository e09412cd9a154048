//! Plans as they are answered.

use qm_kernel::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::model::{Action, StoredPlan};

/// A file that a plan puts into the trash.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DuplicateAction)]
pub struct ActionView {
    pub item_id: String,
    /// `trash`.
    pub action_type: &'static str,
    pub source_path: String,
    pub file_size: u64,
    /// Names that the file has.
    pub link_count: u64,
    /// 0 for a file that has other names which stay.
    pub frees_bytes: u64,
}

impl From<&Action> for ActionView {
    fn from(action: &Action) -> Self {
        Self {
            item_id: action.item_id.clone(),
            action_type: "trash",
            source_path: action.path.clone(),
            file_size: action.state.size,
            link_count: action.links,
            frees_bytes: action.frees,
        }
    }
}

/// A plan to keep one member of a group.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DuplicateKeepPlan)]
pub struct KeepPlanView {
    pub resolution_id: String,
    pub group_id: String,
    pub group_version: i64,
    pub keep_item_id: String,
    pub keep_path: String,
    pub actions: Vec<ActionView>,
    /// Always empty: files beside videos are not touched.
    pub orphaned_subtitles: Vec<String>,
    pub expected_savings_bytes: u64,
    /// Reasons that keep the plan from being carried out.
    pub blockers: Vec<String>,
    /// Things to know before: torrents, hard links, locked items.
    pub warnings: Vec<String>,
}

impl From<StoredPlan> for KeepPlanView {
    fn from(stored: StoredPlan) -> Self {
        let plan = stored.plan;
        Self {
            resolution_id: stored.id,
            group_id: stored.group_id,
            group_version: stored.group_version,
            actions: plan.actions.iter().map(ActionView::from).collect(),
            keep_item_id: plan.item_id,
            keep_path: plan.path,
            orphaned_subtitles: Vec::new(),
            expected_savings_bytes: plan.expected_savings,
            blockers: plan.blockers,
            warnings: plan.warnings,
        }
    }
}

/// A plan to delete one member of a group.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DuplicateDeletePlan)]
pub struct DeletePlanView {
    pub resolution_id: String,
    pub group_id: String,
    pub group_version: i64,
    pub delete_item_id: String,
    pub delete_path: String,
    /// Files that stay.
    pub survivor_paths: Vec<String>,
    pub actions: Vec<ActionView>,
    /// Always empty: files beside videos are not touched.
    pub orphaned_subtitles: Vec<String>,
    pub expected_savings_bytes: u64,
    pub blockers: Vec<String>,
    pub warnings: Vec<String>,
}

impl From<StoredPlan> for DeletePlanView {
    fn from(stored: StoredPlan) -> Self {
        let plan = stored.plan;
        Self {
            resolution_id: stored.id,
            group_id: stored.group_id,
            group_version: stored.group_version,
            actions: plan.actions.iter().map(ActionView::from).collect(),
            delete_item_id: plan.item_id,
            delete_path: plan.path,
            survivor_paths: plan.kept.into_iter().map(|file| file.path).collect(),
            orphaned_subtitles: Vec::new(),
            expected_savings_bytes: plan.expected_savings,
            blockers: plan.blockers,
            warnings: plan.warnings,
        }
    }
}

/// The result of a plan.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DuplicatesResolved)]
pub struct ResolvedView {
    pub resolution_id: String,
    /// `completed`, `partial` or `failed`.
    pub status: &'static str,
    pub trashed: usize,
    pub skipped: usize,
    pub failed: usize,
    pub reclaimed_bytes: u64,
    /// Always false: files go into the trash.
    pub permanent: bool,
}

/// The preview of one of many groups.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DuplicatePreviewed)]
pub struct PreviewedView {
    pub group_id: String,
    pub ok: bool,
    /// Why there is no plan that could be carried out; left out otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Left out where there is no plan; so are the next ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trash_count: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_savings_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orphaned_subtitles: Option<Vec<String>>,
}

/// Previews of many groups.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DuplicatePreviews)]
pub struct BulkPreview {
    pub succeeded: usize,
    pub failed: usize,
    pub total_savings_bytes: u64,
    pub total_files: usize,
    pub results: Vec<PreviewedView>,
}

impl BulkPreview {
    /// Id of the group, and its plan or the reason why there is none.
    pub fn new(previews: impl Iterator<Item = (String, Result<StoredPlan, String>)>) -> Self {
        let results: Vec<PreviewedView> = previews
            .map(|(group_id, plan)| match plan {
                Ok(stored) => PreviewedView {
                    group_id,
                    ok: true,
                    message: None,
                    resolution_id: Some(stored.id),
                    trash_count: Some(stored.plan.actions.len()),
                    expected_savings_bytes: Some(stored.plan.expected_savings),
                    orphaned_subtitles: Some(Vec::new()),
                },
                Err(message) => PreviewedView {
                    group_id,
                    ok: false,
                    message: Some(message),
                    resolution_id: None,
                    trash_count: None,
                    expected_savings_bytes: None,
                    orphaned_subtitles: None,
                },
            })
            .collect();
        let succeeded = results.iter().filter(|result| result.ok).count();
        Self {
            succeeded,
            failed: results.len() - succeeded,
            total_savings_bytes: results
                .iter()
                .filter_map(|result| result.expected_savings_bytes)
                .sum(),
            total_files: results.iter().filter_map(|result| result.trash_count).sum(),
            results,
        }
    }
}

/// The result of one of many plans.
#[derive(Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DuplicateResult)]
pub struct ResultView {
    pub resolution_id: String,
    /// True if it is completed.
    pub ok: bool,
    pub status: &'static str,
    /// Why it was refused; left out otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Left out where it was refused; so are the next ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trashed: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reclaimed_bytes: Option<u64>,
}

/// Results of many plans.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DuplicateResults)]
pub struct BulkResolved {
    pub succeeded: usize,
    pub failed: usize,
    pub reclaimed_bytes: u64,
    pub results: Vec<ResultView>,
}

impl From<Vec<ResultView>> for BulkResolved {
    fn from(results: Vec<ResultView>) -> Self {
        let succeeded = results.iter().filter(|result| result.ok).count();
        Self {
            succeeded,
            failed: results.len() - succeeded,
            reclaimed_bytes: results.iter().filter_map(|result| result.reclaimed_bytes).sum(),
            results,
        }
    }
}

/// A group that needs no choice.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DuplicateClearGroup)]
pub struct ClearGroup {
    pub id: String,
    pub title: String,
    pub reason: String,
    pub confidence: i64,
    pub file_count: i64,
    pub recommended_item_id: Option<String>,
    pub potential_savings_bytes: i64,
    pub version: i64,
}

/// Open groups that need no choice, those with the largest savings first.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DuplicateClearGroups)]
pub struct ClearView {
    pub groups: Vec<ClearGroup>,
    /// Number of groups that are listed; the next ones are of these groups too.
    pub total_groups: usize,
    pub total_files: i64,
    pub total_savings_bytes: i64,
    /// Most groups that are listed.
    pub cap: usize,
}

impl From<Vec<ClearGroup>> for ClearView {
    fn from(groups: Vec<ClearGroup>) -> Self {
        Self {
            total_groups: groups.len(),
            total_files: groups.iter().map(|group| group.file_count).sum(),
            total_savings_bytes: groups.iter().map(|group| group.potential_savings_bytes).sum(),
            cap: 100,
            groups,
        }
    }
}

/// A file that was looked at to repair its name.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DuplicateSuffixDetail)]
pub struct RepairDetail {
    pub item_id: String,
    pub from: String,
    /// Null: it keeps its name.
    pub to: Option<String>,
    /// Why it keeps its name; left out otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The result of a repair of names.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DuplicateSuffixes)]
pub struct RepairView {
    /// Items whose paths contain `[dup`.
    pub scanned: usize,
    /// Files that got their names back, or would get them.
    pub restored: usize,
    pub skipped: usize,
    /// At most 1,000.
    pub details: Vec<RepairDetail>,
}

/// A file that a plan put into the trash. `POST /api/files/trash/restore` puts it back.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DuplicateInTrash)]
pub struct RestorableView {
    pub action_id: String,
    pub resolution_id: String,
    /// `trash`.
    pub action_type: &'static str,
    pub original_path: String,
    #[schema(value_type = String, format = DateTime)]
    pub removed_at: Timestamp,
    pub trash_item_id: String,
    pub name: String,
    pub size: u64,
    #[schema(value_type = String, format = DateTime)]
    pub deleted_at: Timestamp,
    /// Null: it stays.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    /// Always true.
    pub restorable: bool,
}
