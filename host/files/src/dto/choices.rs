//! Requests of the routes that look before they change anything: conflicts and cleanups.

use std::collections::HashSet;

use qm_web::{Fields, FromBody};
use serde_json::Value;
use utoipa::ToSchema;

use super::requests::{TransferKind, WirePath};
use crate::model::cleanup::Category;
use crate::model::conflict::Resolution;

/// More are looked at in several requests.
pub const MAX_SOURCES: usize = 1000;

/// Files and folders that are to go into a directory.
#[derive(Debug, ToSchema, FromBody)]
pub struct FindConflicts {
    #[field(with = TransferKind::read)]
    pub operation: TransferKind,
    /// At most 1,000 different ones; `sourcesRaw` holds those that are named by their percent-encoded bytes.
    #[field(with = sources)]
    #[schema(value_type = Vec<String>)]
    pub sources: Vec<WirePath>,
    /// A directory that exists. Relative to the root in effect; `destinationRaw` names it by its percent-encoded bytes
    /// instead.
    #[field(with = WirePath::required("destinationRaw"))]
    #[schema(value_type = String)]
    pub destination: WirePath,
}

fn sources(f: &mut Fields<'_>, name: &'static str) -> Vec<WirePath> {
    let mut sources = WirePath::several(f, name, "sourcesRaw");
    let mut seen = HashSet::new();
    sources.retain(|source| seen.insert(source.clone()));
    if sources.len() > MAX_SOURCES {
        f.broken(format!(
            "{name} must contain no more than {MAX_SOURCES} different elements"
        ));
    }
    sources
}

/// Resolution chosen for one file.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct ResolveItem {
    /// Relative to the root in effect; `sourceRaw` names it by its percent-encoded bytes instead.
    #[schema(value_type = String)]
    pub source: WirePath,
    /// `replace`, `keep_both`, `delete_source` or `skip`.
    #[schema(value_type = String)]
    pub resolution: Resolution,
    /// For `replace`: the file of the destination that goes.
    #[schema(value_type = Option<String>)]
    pub target_path: Option<WirePath>,
}

/// Resolutions for the conflicts of a move or a copy.
#[derive(Debug, ToSchema, FromBody)]
pub struct ResolveConflicts {
    #[field(with = TransferKind::read)]
    pub operation: TransferKind,
    /// A directory that exists. Relative to the root in effect; `destinationRaw` names it by its percent-encoded bytes
    /// instead.
    #[field(with = WirePath::required("destinationRaw"))]
    #[schema(value_type = String)]
    pub destination: WirePath,
    #[field(with = items)]
    #[schema(min_items = 1)]
    pub items: Vec<ResolveItem>,
    /// Deletes files irreversibly instead of moving them into the trash.
    #[field(default)]
    pub permanent: bool,
}

const ITEM_KEYS: &[&str] = &["source", "sourceRaw", "resolution", "targetPath", "targetPathRaw"];

impl ResolveItem {
    /// The error names the first rule that is broken.
    fn read(index: usize, value: &Value) -> Result<Self, String> {
        let Value::Object(item) = value else {
            return Err(format!("items.{index} must be an object"));
        };
        if let Some(name) = item.keys().find(|name| !ITEM_KEYS.contains(&name.as_str())) {
            return Err(format!("items.{index}.property {name} should not exist"));
        }
        let text = |name: &str| match item.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(Value::Number(number)) => Ok(Some(number.to_string())),
            Some(_) => Err(format!("items.{index}.{name} must be a string")),
        };
        let path = |raw: &str, name: &str| match text(raw)? {
            Some(bytes) => Ok(Some(WirePath::Raw(bytes))),
            None => Ok::<_, String>(text(name)?.map(WirePath::Text)),
        };
        let resolution = text("resolution")?.and_then(|name| Resolution::from_name(&name));
        Ok(Self {
            source: path("sourceRaw", "source")?
                .ok_or_else(|| format!("items.{index}.source must be a string"))?,
            resolution: resolution.ok_or_else(|| {
                let names = Resolution::NAMES.join(", ");
                format!("items.{index}.resolution must be one of the following values: {names}")
            })?,
            target_path: path("targetPathRaw", "targetPath")?,
        })
    }
}

fn items(f: &mut Fields<'_>, name: &'static str) -> Vec<ResolveItem> {
    let value = f.any(name).required().get();
    let Value::Array(values) = value else {
        f.broken(format!("{name} must be an array"));
        return Vec::new();
    };
    if values.is_empty() {
        f.broken(format!("{name} must contain at least 1 elements"));
    }
    let mut items = Vec::with_capacity(values.len());
    for (index, value) in values.iter().enumerate() {
        match ResolveItem::read(index, value) {
            Ok(item) => items.push(item),
            Err(message) => {
                f.broken(message);
                break;
            }
        }
    }
    items
}

/// A folder to look for things that may go.
#[derive(Debug, ToSchema, FromBody)]
pub struct CleanupScan {
    /// Relative to the root in effect; `pathRaw` names it by its percent-encoded bytes instead.
    #[field(with = WirePath::required("pathRaw"))]
    #[schema(value_type = String)]
    pub path: WirePath,
    /// Absent: all of them.
    #[field(strings, each_one_of = Category::NAMES, and_then = categories)]
    #[schema(value_type = Option<Vec<String>>)]
    pub categories: Option<Vec<Category>>,
}

fn categories(names: Vec<String>) -> Option<Vec<Category>> {
    let known = names.iter().filter_map(|name| Category::from_name(name));
    (!names.is_empty()).then(|| known.collect())
}

/// Items of a folder to clean up.
#[derive(Debug, ToSchema, FromBody)]
pub struct CleanupRun {
    /// Relative to the root in effect; `pathRaw` names it by its percent-encoded bytes instead.
    #[field(with = WirePath::required("pathRaw"))]
    #[schema(value_type = String)]
    pub path: WirePath,
    /// `pathsRaw` holds those that are named by their percent-encoded bytes.
    #[field(with = WirePath::several("pathsRaw"))]
    #[schema(value_type = Vec<String>)]
    pub paths: Vec<WirePath>,
    #[field(default)]
    pub permanent: bool,
}
