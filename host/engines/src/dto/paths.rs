//! Mappings of paths on the wire, and what a check of them saw.

use qm_kernel::Timestamp;
use qm_web::{Fields, FromBody};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::model::mappings::{MOST, PathMapping};

/// A directory as the torrent client and as this server see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = PathMapping)]
pub struct PathMappingView {
    /// The directory as the client sees it: absolute, like `/downloads`, or `C:\Downloads` of a client on Windows.
    #[schema(example = "/downloads")]
    pub remote: String,
    /// The same directory as this server sees it, inside the allowed storage roots.
    #[schema(example = "/mnt/seedbox/downloads")]
    pub local: String,
}

impl From<PathMapping> for PathMappingView {
    fn from(mapping: PathMapping) -> Self {
        let PathMapping { remote, local } = mapping;
        Self { remote, local }
    }
}

/// `pathMappings` of a body. What they mean together is judged by the service.
pub fn path_mappings(f: &mut Fields<'_>, name: &'static str) -> Option<Vec<PathMapping>> {
    let Value::Array(items) = f.any(name).optional()? else {
        f.broken(format!("{name} must be an array"));
        return None;
    };
    if items.len() > MOST {
        f.broken(format!("{name} must contain no more than {MOST} elements"));
        return None;
    }
    let mut mappings = Vec::with_capacity(items.len());
    for (number, item) in items.into_iter().enumerate() {
        match serde_json::from_value::<Given>(item) {
            Ok(Given { remote, local }) => mappings.push(PathMapping { remote, local }),
            Err(_) => f.broken(format!(
                "{name}.{number} must be an object with the strings remote and local, and nothing else"
            )),
        }
    }
    Some(mappings)
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    remote: String,
    local: String,
}

/// A check of paths. Without a body, the mappings that the engine has are checked.
#[derive(Debug, Default, ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
pub struct CheckPaths {
    /// Mappings to try out instead of those that are stored. They are not stored.
    #[field(with = path_mappings)]
    #[schema(value_type = Option<Vec<PathMappingView>>)]
    pub path_mappings: Option<Vec<PathMapping>>,
}

/// Outcome of the check of one directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum PathVerdict {
    /// The server found the data of torrents there that the client has there.
    Good,
    /// Nothing speaks against it, but there was no data by which it could be proven.
    Unproven,
    /// Something is wrong; `message` says what, and the way out.
    Wrong,
}

/// A directory as this server sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SeenDirectory {
    pub exists: bool,
    pub is_directory: bool,
    /// The server's user may list it.
    pub readable: bool,
    /// The server's user may put files there.
    pub writable: bool,
    /// Bytes free as the server sees them; null where that is not known.
    pub free_bytes: Option<u64>,
    /// Reason why it could not be looked at; null if it could.
    pub error: Option<String>,
}

/// Torrents of which data was looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SampleView {
    /// Torrents of the client below the directory that have some data.
    pub torrents: usize,
    /// Torrents of these that were looked for; at most 10.
    pub looked_for: usize,
    /// Torrents of these whose file or folder is there.
    pub found: usize,
    /// A few that were not found.
    pub missing: Vec<MissingView>,
}

/// A torrent whose data was not found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct MissingView {
    pub hash: String,
    pub name: String,
    /// Path of its file or folder as the client tells it.
    pub remote: String,
    /// The path at which the server looked.
    pub local: String,
}

/// Check of one mapping.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MappingCheckView {
    pub remote: String,
    pub local: String,
    pub verdict: PathVerdict,
    /// A sentence that says what was found, and where something is wrong the way out.
    pub message: String,
    pub server: SeenDirectory,
    pub sample: SampleView,
}

/// Check of the directory to which the client saves what is added without a path.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefaultPathView {
    /// As the client tells it.
    pub remote: String,
    /// As the server sees it.
    pub local: String,
    pub verdict: PathVerdict,
    pub message: String,
    pub server: SeenDirectory,
    /// Bytes free as the client sees them; null where it does not tell.
    pub client_free_bytes: Option<u64>,
}

/// Check of torrents whose paths no mapping covers: for them the paths of client and server are the same.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnmappedCheckView {
    pub verdict: PathVerdict,
    pub message: String,
    pub sample: SampleView,
    /// Save paths that most of these torrents have, as the client tells them; at most 5.
    pub save_paths: Vec<String>,
}

/// Both sides of the paths of an engine.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PathsCheck)]
pub struct PathsCheckView {
    pub engine_id: String,
    /// The worst of all verdicts.
    pub verdict: PathVerdict,
    /// Error of the client when it was asked for its default save path; null when it answered.
    pub error: Option<String>,
    /// In the order of the mappings.
    pub mappings: Vec<MappingCheckView>,
    /// Null where the client does not tell it.
    pub default_save_path: Option<DefaultPathView>,
    pub unmapped: UnmappedCheckView,
    #[schema(value_type = String, format = DateTime)]
    pub checked_at: Timestamp,
}
