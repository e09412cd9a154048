//! Looking: listings, properties, absolute paths.

use std::io::Read;
use std::time::UNIX_EPOCH;

use qm_kernel::{Requester, Timestamp};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::tell::Fact;
use super::{Files, Looker};
use crate::dto::answers::{EntryView, InspectionView, Listing, Properties};
use crate::dto::requests::{ListQuery, PathQuery};
use crate::error::FilesError;
use qm_confined::{
    Component, ConfinedPath, FsError, Intent, Kind, MAX_PATH_BYTES, Meta, PathInspection, RelPath,
};
use qm_file_contents::extension;
use qm_file_operations::{self as ops, Control, Entry, Lane, Page, shown_name};

/// Largest file whose hash properties tell, in bytes.
const HASHED: u64 = 64 * 1024 * 1024;
/// Largest file that is hashed in no time, in bytes.
const SHORT: u64 = 1024 * 1024;

impl Files {
    pub async fn list(&self, query: ListQuery, looker: &Looker) -> Result<Listing, FilesError> {
        let rel = query.path.rel()?;
        let paged = query.offset.is_some() || query.limit.is_some();
        let places = |count: Option<u64>| count.map(|count| usize::try_from(count).unwrap_or(usize::MAX));
        let page = Page {
            offset: places(query.offset).unwrap_or(0),
            limit: places(query.limit),
        };
        self.look(Lane::Look, looker, move |base, control| {
            let dir = base.resolve(&rel, Intent::Read)?;
            let listed = ops::list(&dir, page, control)?;
            Ok(Listing {
                path: rel.text(),
                path_raw: rel.raw(),
                roots: base.paths(),
                total: (paged || listed.total > listed.items.len()).then_some(listed.total as u64),
                items: listed.items.into_iter().map(|entry| view(&rel, entry)).collect(),
            })
        })
        .await
    }

    pub async fn properties(&self, query: PathQuery, looker: &Looker) -> Result<Properties, FilesError> {
        let rel = query.path.rel()?;
        let (item, meta) = self
            .look(Lane::Look, looker, move |base, _| {
                let item = base.resolve(&rel, Intent::Read)?;
                let meta = item.meta()?;
                Ok((item, meta))
            })
            .await?;
        let is_short = meta.kind != Kind::Directory && (meta.size <= SHORT || meta.size > HASHED);
        let lane = if is_short {
            Lane::Look
        } else {
            Lane::Walk(looker.user())
        };
        let control = looker.control();
        self.workers
            .run(lane, move || properties(&item, &meta, &control))
            .await
    }

    /// Looks at an absolute path; outside the hard roots nothing is there.
    pub async fn inspect(&self, path: String) -> Result<InspectionView, FilesError> {
        if path.trim().is_empty() {
            return Err(FilesError::NoPath);
        }
        let roots = self.roots.clone();
        let inspection = self.workers.run(Lane::Look, move || roots.inspect(&path)).await?;
        Ok(inspection.into())
    }

    /// Makes a directory, given by its absolute path, and those above it that are missing.
    pub async fn ensure_dir(&self, caller: &Requester, path: String) -> Result<InspectionView, FilesError> {
        if path.trim().is_empty() {
            return Err(FilesError::NoPath);
        }
        // Not worth an audit row, which would hold all of it.
        if path.len() > MAX_PATH_BYTES {
            return Err(FsError::NameTooLong(format!("a path of {} bytes", path.len())).into());
        }
        let (roots, wanted) = (self.roots.clone(), path.clone());
        let made = self
            .workers
            .run(Lane::Quick, move || roots.ensure_dir(&wanted))
            .await
            .map_err(FilesError::from);
        let metadata = match &made {
            Ok(_) => json!({}),
            Err(error) => json!({ "error": error.public() }),
        };
        let fact = Fact::file("files.ensure_dir", path, metadata).failure_if(made.is_err());
        self.audit_alone(caller, fact, None).await;
        Ok(made?.into())
    }
}

impl From<PathInspection> for InspectionView {
    fn from(seen: PathInspection) -> Self {
        Self {
            path: seen.path,
            within_hard_roots: seen.within_hard_roots,
            is_system_dir: seen.is_system_dir,
            exists: seen.exists,
            is_directory: seen.is_directory,
            writable: seen.writable,
        }
    }
}

fn view(dir: &RelPath, entry: Entry) -> EntryView {
    let rel = dir.join(&entry.name);
    EntryView {
        name: entry.name.text(),
        name_raw: entry.name.raw(),
        path: rel.text(),
        path_raw: rel.raw(),
        is_directory: entry.kind == Kind::Directory,
        size: entry.size,
        modified_at: entry.modified,
    }
}

fn properties(item: &ConfinedPath, meta: &Meta, control: &Control) -> Result<Properties, FilesError> {
    let rel = item.rel();
    let is_directory = meta.is_dir();
    let (size, item_count) = if is_directory {
        let usage = ops::measure(item, control)?;
        (usage.bytes, Some(usage.items))
    } else {
        (meta.size, None)
    };
    let name = shown_name(item);
    Ok(Properties {
        name_raw: item.name().and_then(Component::raw),
        path: rel.text(),
        path_raw: rel.raw(),
        absolute_path: item.absolute().to_string_lossy().into_owned(),
        is_directory,
        size,
        item_count,
        extension: extension(&name).filter(|_| !is_directory),
        created_at: created(item, meta),
        modified_at: Some(meta.modified),
        hash: match meta.kind {
            Kind::File if meta.size <= HASHED => Some(sha256(item, control)?),
            Kind::File | Kind::Directory | Kind::Link | Kind::Special => None,
        },
        media: None,
        name,
    })
}

/// Time of creation, if the file system keeps it.
fn created(item: &ConfinedPath, meta: &Meta) -> Option<Timestamp> {
    let metadata = match meta.kind {
        Kind::File => item.open_file().ok()?.0.metadata().ok()?,
        Kind::Directory => std::fs::File::from(item.open_dir().ok()?.readable().ok()?)
            .metadata()
            .ok()?,
        Kind::Link | Kind::Special => return None,
    };
    let since_epoch = metadata.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(Timestamp::from_ms(i64::try_from(since_epoch.as_millis()).ok()?))
}

/// The hash of a file's content, hexadecimal.
pub(super) fn sha256(item: &ConfinedPath, control: &Control) -> Result<String, FilesError> {
    let (mut file, _) = item.open_file()?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 128 * 1024];
    loop {
        control.check()?;
        let read = file
            .read(&mut buffer)
            .map_err(|error| FsError::io(error, item.rel()))?;
        if read == 0 {
            return Ok(hex::encode(hash.finalize()));
        }
        hash.update(&buffer[..read]);
    }
}
