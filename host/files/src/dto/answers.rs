//! Answers of the routes. Paths are relative to the root in effect unless a field says that it is absolute; a path or
//! name that is not UTF-8 comes with its percent-encoded bytes.

use qm_kernel::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// A directory.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = FileListing)]
pub struct Listing {
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_raw: Option<String>,
    /// Absolute: the roots in effect.
    pub roots: Vec<String>,
    /// Directories first, then by name.
    pub items: Vec<EntryView>,
    /// With `limit` or `offset`: entries there are in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
}

/// An entry of a directory.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntryView {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name_raw: Option<String>,
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_raw: Option<String>,
    pub is_directory: bool,
    /// Bytes; of a directory its own, not what is in it.
    pub size: u64,
    /// `null`: a link that leads nowhere.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub modified_at: Option<Timestamp>,
}

/// The root in effect.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RootInfo {
    /// Absolute.
    pub root: String,
    /// The Default Root Path as it is stored.
    pub configured: Option<String>,
    /// Absolute: `FILE_MANAGER_ROOTS`.
    pub hard_roots: Vec<String>,
    pub exists: bool,
    pub readable: bool,
    pub writable: bool,
}

/// Properties of an absolute path.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InspectionView {
    /// Absolute and normalised.
    pub path: String,
    pub within_hard_roots: bool,
    pub is_system_dir: bool,
    /// False outside the roots, whatever is there.
    pub exists: bool,
    pub is_directory: bool,
    pub writable: bool,
}

/// All about one item.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Properties {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name_raw: Option<String>,
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_raw: Option<String>,
    pub absolute_path: String,
    pub is_directory: bool,
    /// Bytes, with everything in it.
    pub size: u64,
    /// Count of files and folders in a directory, at any depth; absent for a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_count: Option<u64>,
    /// Without its dot, lower case.
    pub extension: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub created_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub modified_at: Option<Timestamp>,
    /// SHA-256 of a file of at most 64 MiB.
    pub hash: Option<String>,
    /// Nothing is known of media here.
    #[schema(value_type = Option<Object>)]
    pub media: Option<()>,
}

/// Preview of a file.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Preview {
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_raw: Option<String>,
    pub name: String,
    pub size: u64,
    /// `image`, `video`, `audio`, `subtitle`, `nfo`, `text`, `pdf`, `archive` or `binary`.
    pub kind: &'static str,
    pub mime: &'static str,
    /// To be shown from `/api/files/stream`.
    pub streamable: bool,
    /// Its text, at most the first MiB.
    pub content: Option<String>,
    pub encoding: Option<&'static str>,
    pub detected_encoding: Option<&'static str>,
    pub truncated: bool,
    /// Why there is no content.
    pub reason: Option<&'static str>,
}

/// Leave to stream one file for four hours.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TicketView {
    pub token: String,
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_raw: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
}

/// Result of one operation.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpResult {
    /// `create_folder`, `rename`, `move`, `copy` or `delete`.
    pub operation: &'static str,
    /// Always true: a failure is an error.
    pub ok: bool,
    /// Where the item is now, or was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_raw: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// With `background`: the operation goes on under this id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation_id: Option<String>,
}

/// Result of an operation on several items.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BatchResult {
    pub operation: &'static str,
    pub total: usize,
    pub succeeded: usize,
    pub failed: usize,
    pub results: Vec<BatchItem>,
}

impl BatchResult {
    pub fn new(operation: &'static str, results: Vec<BatchItem>) -> Self {
        let succeeded = results.iter().filter(|item| item.ok).count();
        Self {
            operation,
            total: results.len(),
            succeeded,
            failed: results.len() - succeeded,
            results,
        }
    }
}

/// Result for one item.
#[derive(Debug, Serialize, ToSchema)]
pub struct BatchItem {
    /// As it was asked for.
    pub path: String,
    pub ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// An item of the trash.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrashItem {
    pub id: String,
    pub name: String,
    /// Relative to the root it was deleted from.
    pub original_path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_path_raw: Option<String>,
    pub is_directory: bool,
    pub size: u64,
    #[schema(value_type = String, format = DateTime)]
    pub deleted_at: Timestamp,
    /// A user's id.
    pub deleted_by: Option<String>,
    /// `null`: it stays until somebody removes it.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
}

/// Where a restored item is.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Restored {
    /// Relative to the root it was deleted from.
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_raw: Option<String>,
}

/// It is done.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = FileDone)]
pub struct Done {
    pub ok: bool,
}

impl Done {
    pub const YES: Done = Done { ok: true };
}

/// Count and bytes of items that were removed for good.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct Removed {
    pub removed: u64,
    pub bytes: u64,
}

/// A long operation that is running.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperationView {
    pub id: String,
    /// `create_folder`, `rename`, `move`, `copy`, `delete`, `bulk`, `cleanup`, `restore` or `trash_empty`.
    pub operation: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// The user who asked for it; null when a rule did, or they are deleted.
    pub user_id: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
    /// It has been told to stop and has not stopped yet.
    pub cancelling: bool,
    pub done_items: u64,
    pub done_bytes: u64,
    /// `null`: not known.
    pub total_items: Option<u64>,
    pub total_bytes: Option<u64>,
}
