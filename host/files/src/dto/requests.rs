//! Requests of the routes. A path is text, relative to the root in effect; one that is not UTF-8 is named by its
//! percent-encoded bytes instead, as answers show them.

use qm_kernel::Permission;
use qm_web::{Fields, FromBody, FromQuery};
use utoipa::ToSchema;

use qm_confined::{FsError, MAX_PATH_BYTES, RelPath};

/// A path as it came: by its text or by its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WirePath {
    Text(String),
    /// Percent-encoded; wins where both are given.
    Raw(String),
}

/// A path that somebody sent, cut where none is as long.
pub fn shorten(path: &str) -> String {
    path.chars().take(MAX_PATH_BYTES).collect()
}

impl WirePath {
    pub fn rel(&self) -> Result<RelPath, FsError> {
        match self {
            WirePath::Text(text) => RelPath::from_text(text),
            WirePath::Raw(raw) => RelPath::from_raw(raw),
        }
    }

    /// Path as it came, for answers that repeat the request.
    pub fn as_given(&self) -> &str {
        match self {
            WirePath::Text(text) | WirePath::Raw(text) => text,
        }
    }

    /// Path as it came, for audit rows and messages: cut if it is longer than any real path.
    pub fn shown(&self) -> String {
        shorten(self.as_given())
    }

    pub(super) fn required(f: &mut Fields<'_>, text: &'static str, raw: &'static str) -> Self {
        f.either(text, raw);
        match f.string(raw).optional() {
            Some(bytes) => {
                f.string(text).optional();
                WirePath::Raw(bytes)
            }
            None => WirePath::Text(f.string(text).required().get()),
        }
    }

    fn optional(f: &mut Fields<'_>, text: &'static str, raw: &'static str) -> Option<Self> {
        let raw = f.string(raw).optional().map(WirePath::Raw);
        let text = f.string(text).optional().map(WirePath::Text);
        raw.or(text)
    }

    fn or_root(f: &mut Fields<'_>, text: &'static str, raw: &'static str) -> Self {
        WirePath::optional(f, text, raw).unwrap_or_else(|| WirePath::Text("/".to_owned()))
    }

    /// At least one, the texts before the bytes.
    pub(super) fn several(f: &mut Fields<'_>, texts: &'static str, raws: &'static str) -> Vec<Self> {
        f.either(texts, raws);
        let raws = f.strings(raws).optional().unwrap_or_default();
        let texts = if raws.is_empty() {
            f.strings(texts).required().min_items(1).get()
        } else {
            f.strings(texts).optional().unwrap_or_default()
        };
        let texts = texts.into_iter().map(WirePath::Text);
        texts.chain(raws.into_iter().map(WirePath::Raw)).collect()
    }
}

/// `path` or `pathRaw`; absent is the root.
#[derive(FromQuery)]
pub struct PathQuery {
    #[field(with = WirePath::or_root("pathRaw"))]
    pub path: WirePath,
}

/// Which part of a directory to list.
#[derive(FromQuery)]
pub struct ListQuery {
    #[field(with = WirePath::or_root("pathRaw"))]
    pub path: WirePath,
    /// Entries to pass over.
    pub offset: Option<u64>,
    /// Entries to answer at most; absent is all of them.
    pub limit: Option<u64>,
}

/// A file to preview, and the encoding to read it in.
#[derive(FromQuery)]
pub struct PreviewQuery {
    #[field(with = WirePath::or_root("pathRaw"))]
    pub path: WirePath,
    /// One that is not known counts as absent.
    pub encoding: Option<String>,
}

/// A file to stream, and the leave to do so.
#[derive(FromQuery)]
pub struct StreamQuery {
    #[field(with = WirePath::or_root("pathRaw"))]
    pub path: WirePath,
    #[field(default)]
    pub ticket: String,
}

/// An absolute path to look at.
#[derive(FromQuery)]
pub struct InspectQuery {
    #[field(default)]
    pub path: String,
}

/// One path.
#[derive(Debug, ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
pub struct PathBody {
    /// Relative to the root in effect; `pathRaw` names it by its percent-encoded bytes instead.
    #[field(with = WirePath::required("pathRaw"))]
    #[schema(value_type = String)]
    pub path: WirePath,
}

/// An absolute path.
#[derive(Debug, ToSchema, FromBody)]
pub struct AbsoluteBody {
    pub path: String,
}

/// A new folder.
#[derive(Debug, ToSchema, FromBody)]
pub struct CreateFolder {
    /// The folder it is made in. Relative to the root in effect; `pathRaw` names it by its percent-encoded bytes instead.
    #[field(with = WirePath::required("pathRaw"))]
    #[schema(value_type = String)]
    pub path: WirePath,
    /// 1 to 255 characters, no slash.
    pub name: String,
}

/// A new name in the same directory.
#[derive(Debug, ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
pub struct Rename {
    /// Relative to the root in effect; `pathRaw` names it by its percent-encoded bytes instead.
    #[field(with = WirePath::required("pathRaw"))]
    #[schema(value_type = String)]
    pub path: WirePath,
    /// 1 to 255 characters, no slash.
    pub new_name: String,
    /// Replaces a file of that name, or an empty folder.
    #[field(default)]
    pub overwrite: bool,
}

/// An item to move or copy into a directory; it keeps its name.
#[derive(Debug, ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
pub struct Transfer {
    /// Relative to the root in effect; `sourceRaw` names it by its percent-encoded bytes instead.
    #[field(with = WirePath::required("sourceRaw"))]
    #[schema(value_type = String)]
    pub source: WirePath,
    /// A directory; missing ones are made. Relative to the root in effect; `destinationRaw` names it by its
    /// percent-encoded bytes instead.
    #[field(with = WirePath::required("destinationRaw"))]
    #[schema(value_type = String)]
    pub destination: WirePath,
    /// Replaces what has the name there: a move removes it, a copy merges into it file by file.
    #[field(default)]
    pub overwrite: bool,
    /// Compares a BLAKE3 hash of what was copied before a source is removed.
    #[field(default)]
    pub verify: bool,
    /// Answers at once with an `operationId`; the result comes over the realtime channel.
    #[field(default)]
    pub background: bool,
}

/// Action for the torrents whose data is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum TorrentAction {
    #[default]
    Keep,
    /// Removed from its engine; the data is left alone.
    Stop,
    /// Removed from its engine with its data.
    StopAndDelete,
}

impl TorrentAction {
    const NAMES: &'static [&'static str] = &["keep", "stop", "stop_and_delete"];
    const ALL: [TorrentAction; 3] = [
        TorrentAction::Keep,
        TorrentAction::Stop,
        TorrentAction::StopAndDelete,
    ];

    /// The permission that it needs beside that to delete files.
    pub const fn permission(self) -> Option<Permission> {
        match self {
            TorrentAction::Keep => None,
            TorrentAction::Stop => Some(Permission::TorrentsDelete),
            TorrentAction::StopAndDelete => Some(Permission::TorrentsDeleteData),
        }
    }

    /// Actions that need a permission: (name, permission).
    pub fn permissions() -> impl Iterator<Item = (&'static str, Permission)> {
        let all = TorrentAction::ALL.into_iter();
        all.filter_map(|action| Some((TorrentAction::NAMES[action as usize], action.permission()?)))
    }

    fn from_name(name: &str) -> Option<Self> {
        let mut all = TorrentAction::ALL.into_iter();
        all.find(|action| TorrentAction::NAMES[*action as usize] == name)
    }
}

/// An item to delete.
#[derive(Debug, ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
pub struct Delete {
    /// Relative to the root in effect; `pathRaw` names it by its percent-encoded bytes instead.
    #[field(with = WirePath::required("pathRaw"))]
    #[schema(value_type = String)]
    pub path: WirePath,
    /// Irreversibly, instead of into the trash.
    #[field(default)]
    pub permanent: bool,
    #[field(words(TorrentAction::NAMES, TorrentAction::from_name), default)]
    pub torrent_action: TorrentAction,
    /// With `stop_and_delete`: data that torrents elsewhere use too is kept; otherwise nothing is deleted then.
    #[field(default)]
    pub keep_shared: bool,
    /// Answers at once with an `operationId`.
    #[field(default)]
    pub background: bool,
}

/// Several items.
#[derive(Debug, ToSchema, FromBody)]
pub struct PathsBody {
    /// `pathsRaw` holds those that are named by their percent-encoded bytes.
    #[field(with = WirePath::several("pathsRaw"))]
    #[schema(value_type = Vec<String>)]
    pub paths: Vec<WirePath>,
}

/// Operation for several items at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum BulkOperation {
    Move,
    Copy,
    Delete,
    /// A delete by another name.
    Cleanup,
}

impl BulkOperation {
    const NAMES: &'static [&'static str] = &["move", "copy", "delete", "cleanup"];
    const ALL: [BulkOperation; 4] = [
        BulkOperation::Move,
        BulkOperation::Copy,
        BulkOperation::Delete,
        BulkOperation::Cleanup,
    ];

    /// The permission that it needs beside that to change many items at once.
    pub const fn permission(self) -> Permission {
        match self {
            BulkOperation::Move => Permission::FilesMove,
            BulkOperation::Copy => Permission::FilesCopy,
            BulkOperation::Delete | BulkOperation::Cleanup => Permission::FilesDelete,
        }
    }

    /// Each with its permission, by name.
    pub fn permissions() -> impl Iterator<Item = (&'static str, Permission)> {
        let all = BulkOperation::ALL.into_iter();
        all.map(|operation| (operation.as_str(), operation.permission()))
    }

    pub const fn as_str(self) -> &'static str {
        BulkOperation::NAMES[self as usize]
    }

    fn read(f: &mut Fields<'_>, name: &'static str, names: &[&str]) -> Self {
        match f.string(name).required().one_of(names).get().as_str() {
            "move" => BulkOperation::Move,
            "copy" => BulkOperation::Copy,
            "cleanup" => BulkOperation::Cleanup,
            _ => BulkOperation::Delete,
        }
    }
}

/// One operation on several items.
#[derive(Debug, ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
pub struct Bulk {
    /// For move and copy: a directory.
    #[field(with = WirePath::optional("destinationRaw"))]
    #[schema(value_type = Option<String>)]
    pub destination: Option<WirePath>,
    #[field(with = BulkOperation::read(BulkOperation::NAMES))]
    pub operation: BulkOperation,
    /// `pathsRaw` holds those that are named by their percent-encoded bytes.
    #[field(with = WirePath::several("pathsRaw"))]
    #[schema(value_type = Vec<String>)]
    pub paths: Vec<WirePath>,
    #[field(default)]
    pub overwrite: bool,
    #[field(default)]
    pub permanent: bool,
    #[field(words(TorrentAction::NAMES, TorrentAction::from_name), default)]
    pub torrent_action: TorrentAction,
    /// With `stop_and_delete`: data that torrents elsewhere use too is kept; otherwise nothing is deleted then.
    #[field(default)]
    pub keep_shared: bool,
}

/// Transfer of items: a move or a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum TransferKind {
    Move,
    Copy,
}

impl TransferKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            TransferKind::Move => "move",
            TransferKind::Copy => "copy",
        }
    }

    pub(super) fn read(f: &mut Fields<'_>, name: &'static str) -> Self {
        match BulkOperation::read(f, name, &["move", "copy"]) {
            BulkOperation::Copy => TransferKind::Copy,
            BulkOperation::Move | BulkOperation::Delete | BulkOperation::Cleanup => TransferKind::Move,
        }
    }
}

/// An item of the trash to put back.
#[derive(Debug, ToSchema, FromBody)]
pub struct Restore {
    pub id: String,
    /// Removes what is at its place, irreversibly.
    #[field(default)]
    pub overwrite: bool,
}

/// An item of the trash.
#[derive(Debug, ToSchema, FromBody)]
pub struct IdBody {
    pub id: String,
}
