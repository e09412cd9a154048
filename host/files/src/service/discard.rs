//! The trash, and names of files, for areas that find files by other ways than a person who browses: [`FileTrash`].
//!
//! Paths are absolute and may be anywhere below the hard roots. A file goes only if it is still the one that was looked at.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use qm_confined::{Component, ConfinedPath, FsError, Intent, Kind, Meta, Roots};
use qm_file_operations::{self as ops, Control, Lane};
use qm_kernel::{Caller, ErrorKind, Requester};
use qm_ports::trash::{FileState, FileTrash, InTrash, Looked, Sight, TrashError};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::delete::Manner;
use super::operations::{Operation, Outcome, Subject};
use super::tell::Fact;
use super::{Files, lane_of};
use crate::error::FilesError;
use crate::repo;

impl From<FilesError> for TrashError {
    fn from(error: FilesError) -> Self {
        match error {
            FilesError::NoSuchItem | FilesError::Fs(FsError::NotFound(_)) => Self::Missing,
            FilesError::Fs(FsError::Changed(_)) => Self::Changed,
            FilesError::Fs(FsError::Exists | FsError::DestinationExists) => Self::Taken,
            other => Self::Failed {
                kind: match &other {
                    FilesError::Fs(error) => error.kind(),
                    FilesError::TooManyOperations => ErrorKind::Unavailable,
                    _ => ErrorKind::Internal,
                },
                message: other.public(),
            },
        }
    }
}

fn state_of(meta: &Meta) -> FileState {
    FileState {
        device: meta.identity.device,
        inode: meta.identity.inode,
        size: meta.size,
        modified: meta.times.modified,
    }
}

/// Looks at one path; with a file, the path by which the file system knows it.
fn look(roots: &Roots, path: &str) -> (Sight, Option<PathBuf>) {
    let found = match ops::find_told(roots, Path::new(path)) {
        Ok(None) | Err(FsError::NotFound(_)) => return (Sight::Missing, None),
        Err(error) => return (Sight::Refused(error.to_string()), None),
        Ok(Some(item)) => item.meta().map(|meta| (item.absolute(), meta)),
    };
    match found {
        Err(FsError::NotFound(_)) => (Sight::Missing, None),
        Err(error) => (Sight::Refused(error.to_string()), None),
        Ok((_, meta)) if meta.kind != Kind::File => (Sight::Refused("it is no file".to_owned()), None),
        Ok((absolute, meta)) => (
            Sight::File {
                state: state_of(&meta),
                links: meta.links,
                real: absolute.to_string_lossy().into_owned(),
            },
            Some(absolute),
        ),
    }
}

/// The item at a path, if it is a file in this state.
fn find(roots: &Roots, path: &str, state: FileState) -> Result<ConfinedPath, FilesError> {
    let item = ops::find_told(roots, Path::new(path))?.ok_or(FilesError::NoSuchItem)?;
    let meta = item.meta()?;
    if meta.kind != Kind::File || state_of(&meta) != state {
        return Err(FsError::Changed(path.to_owned()).into());
    }
    Ok(item)
}

/// The folder at a path, if it is still this one.
fn find_folder(roots: &Roots, path: &str, identity: (u64, u64)) -> Result<ConfinedPath, FilesError> {
    let item = ops::find_told(roots, Path::new(path))?.ok_or(FilesError::NoSuchItem)?;
    let meta = item.meta()?;
    if !meta.is_dir() || (meta.identity.device, meta.identity.inode) != identity {
        return Err(FsError::Changed(path.to_owned()).into());
    }
    Ok(item)
}

/// Name that a file gets at its new path: its own bytes where people see no difference.
fn name_at(item: &ConfinedPath, to: &Path) -> Result<Component, FsError> {
    let wanted = to.file_name().ok_or(FsError::InvalidPath)?;
    let own = item.entry()?;
    if wanted.to_str().is_some_and(|wanted| own.text() == wanted) {
        return Ok(own.clone());
    }
    Component::file(wanted.to_str().ok_or(FsError::InvalidPath)?)
}

/// Removes what a move has copied, if it is equal to its original, which could not be removed.
fn drop_copy(item: &ConfinedPath, roots: &Roots, to: &Path) {
    // No more to be stopped.
    let control = Control::quiet(CancellationToken::new());
    let dropped = match ops::find_told(roots, to) {
        Ok(Some(copy)) => ops::remove_copied(&copy, item, &control),
        Ok(None) => Ok(()),
        Err(error) => Err(error),
    };
    if let Err(error) = dropped {
        tracing::warn!(path = %to.display(), %error, "a copy stays beside its original, which could not be removed");
    }
}

impl Files {
    /// Puts an item into the trash; answers its record there.
    async fn discard(
        &self,
        caller: &Requester,
        item: ConfinedPath,
        operation: Operation,
    ) -> Result<String, FilesError> {
        let manner = Manner {
            reason: Some("duplicate"),
            ..Manner::default()
        };
        let result = self.delete_resolved(caller, item, manner, &operation).await;
        operation.end(&Outcome::from_result(&result, |deleted| Outcome {
            bytes: Some(deleted.bytes),
            ..Outcome::default()
        }));
        let record = result?.record.unwrap_or_default();
        self.trash_changed("added", &record);
        Ok(record)
    }

    async fn carry_file(
        &self,
        path: &str,
        state: FileState,
        to: &str,
        control: Control,
    ) -> Result<ops::Transferred, FilesError> {
        let (roots, asked, wanted) = (self.roots.clone(), path.to_owned(), PathBuf::from(to));
        let preparing = self.workers.run(Lane::Quick, move || {
            let item = find(&roots, &asked, state)?;
            let above = wanted.parent().ok_or(FsError::InvalidPath)?;
            let destination = roots.directory(above)?;
            let name = name_at(&item, &wanted)?;
            let is_quick = ops::is_one_file_system(&item.meta()?, &destination)?;
            Ok::<_, FilesError>((item, destination, name, is_quick))
        });
        let (item, destination, name, is_quick) = preparing.await?;
        let (roots, wanted) = (self.roots.clone(), PathBuf::from(to));
        let work = move || {
            let how = ops::Transfer {
                name: Some(name),
                verify: true,
                overwrite: false,
            };
            let moved = ops::move_to(&item, &destination, &how, &control);
            if let Err(FsError::SourceKept { .. }) = &moved {
                drop_copy(&item, &roots, &wanted);
            }
            moved.map_err(FilesError::from)
        };
        self.workers.run(lane_of(!is_quick), work).await
    }
}

/// Gives a file a new stem, and then the files beside it that are named after it.
fn rename_all(
    roots: &Roots,
    path: &str,
    stem: &str,
    control: &Control,
) -> Result<Vec<ops::Renamed>, FilesError> {
    let item = ops::find_told(roots, Path::new(path))?.ok_or(FilesError::NoSuchItem)?;
    let absolute = item.absolute();
    let old = absolute.file_stem().and_then(|stem| stem.to_str());
    let (Some(above), Some(old)) = (absolute.parent(), old) else {
        return Err(FsError::InvalidPath.into());
    };
    let new_name = |rest: &str| Component::file(&format!("{stem}{rest}"));
    let rest = absolute.extension().and_then(|extension| extension.to_str());
    let rest = rest.map_or_else(String::new, |extension| format!(".{extension}"));
    let mut renamed = vec![ops::rename(&item, &new_name(&rest)?, false)?];
    let directory = roots.item(above, Intent::Read)?;
    for entry in ops::list(&directory, ops::Page::default(), control)?.items {
        let name = entry.name.text();
        let Some(rest) = name.strip_prefix(old) else {
            continue;
        };
        if entry.kind != Kind::File || !rest.starts_with(['.', '-']) {
            continue;
        }
        let beside = roots.item(&above.join(entry.name.as_os()), Intent::Change)?;
        match ops::rename(&beside, &new_name(rest)?, false) {
            Ok(done) => renamed.push(done),
            // It keeps its name, and the file has its own.
            Err(FsError::Exists | FsError::DestinationExists | FsError::NotFound(_)) => {}
            Err(error) => {
                let path = beside.absolute();
                tracing::warn!(?path, %error, "a file beside a renamed one kept its name");
            }
        }
    }
    Ok(renamed)
}

#[async_trait]
impl FileTrash for Files {
    async fn look(&self, paths: Vec<String>) -> Result<Vec<Looked>, TrashError> {
        let roots = self.roots.clone();
        let seen = self.workers.run(Lane::Look, move || {
            let seen: Vec<_> = paths.iter().map(|path| look(&roots, path)).collect();
            Ok::<_, FilesError>(seen)
        });
        let seen = seen.await?;
        let places: Vec<PathBuf> = seen.iter().filter_map(|(_, path)| path.clone()).collect();
        let mut torrents = self.torrents_of_each(&places).into_iter();
        let looked = seen.into_iter().map(|(sight, path)| Looked {
            torrents: path.and_then(|_| torrents.next()).unwrap_or_default(),
            sight,
        });
        Ok(looked.collect())
    }

    async fn put(&self, path: &str, state: FileState, caller: Caller<'_>) -> Result<String, TrashError> {
        let caller = caller.to_requester();
        let roots = self.roots.clone();
        let asked = path.to_owned();
        let item = self
            .workers
            .run(Lane::Quick, move || find(&roots, &asked, state))
            .await?;
        let subject = Subject {
            operation: "delete",
            source: Some(path.to_owned()),
            destination: None,
        };
        // Whoever hangs up stops no plan in its middle.
        let operation = self
            .operations
            .begin_apart(None, Some(&caller), subject)
            .await
            .map_err(TrashError::from)?;
        Ok(self.discard(&caller, item, operation).await?)
    }

    async fn move_file(
        &self,
        path: &str,
        state: FileState,
        to: &str,
        caller: Caller<'_>,
    ) -> Result<(), TrashError> {
        let caller = caller.to_requester();
        let subject = Subject {
            operation: "move",
            source: Some(path.to_owned()),
            destination: Some(to.to_owned()),
        };
        // Whoever hangs up stops no plan in its middle.
        let operation = self
            .operations
            .begin_apart(None, Some(&caller), subject)
            .await
            .map_err(TrashError::from)?;
        let moved = self.carry_file(path, state, to, operation.control()).await;
        operation.end(&Outcome::from_result(&moved, |done| Outcome {
            item_count: Some(done.usage.items + 1),
            bytes: Some(done.usage.bytes),
            ..Outcome::default()
        }));
        let done = match moved {
            Ok(done) => done,
            Err(error) => {
                let fact = Fact::failed("file.moved", path, Some(to), &error);
                self.audit_alone(&caller, fact, None).await;
                return Err(error.into());
            }
        };
        let event = self.moved(Some(&caller), &done.from, &done.to);
        let metadata = json!({ "source": path, "destination": to, "reason": "merge of show folders" });
        let fact = Fact::file("file.moved", path, metadata);
        self.audit_alone(&caller, fact, Some(event)).await;
        Ok(())
    }

    async fn put_folder(
        &self,
        path: &str,
        identity: (u64, u64),
        caller: Caller<'_>,
    ) -> Result<String, TrashError> {
        let caller = caller.to_requester();
        let (roots, asked) = (self.roots.clone(), path.to_owned());
        let item = self
            .workers
            .run(Lane::Quick, move || find_folder(&roots, &asked, identity))
            .await?;
        let subject = Subject {
            operation: "delete",
            source: Some(path.to_owned()),
            destination: None,
        };
        let operation = self
            .operations
            .begin_apart(None, Some(&caller), subject)
            .await
            .map_err(TrashError::from)?;
        Ok(self.discard(&caller, item, operation).await?)
    }

    async fn rename(
        &self,
        path: &str,
        stem: &str,
        caller: Caller<'_>,
    ) -> Result<Vec<(String, String)>, TrashError> {
        let caller = caller.to_requester();
        let roots = self.roots.clone();
        let (asked, wanted) = (path.to_owned(), stem.to_owned());
        let control = Control::quiet(self.stopping.clone());
        let renaming = self
            .workers
            .run(Lane::Quick, move || rename_all(&roots, &asked, &wanted, &control));
        let mut told = Vec::new();
        for renamed in renaming.await? {
            let event = self.moved(Some(&caller), &renamed.from, &renamed.to);
            let shown = |path: &Path| path.to_string_lossy().into_owned();
            let (from, to) = (shown(&renamed.from), shown(&renamed.to));
            let metadata = json!({ "source": from, "destination": to, "reason": "duplicate suffix" });
            let fact = Fact::file("file.renamed", from.clone(), metadata);
            self.audit_alone(&caller, fact, Some(event)).await;
            told.push((from, to));
        }
        Ok(told)
    }

    async fn list(&self, ids: &[String]) -> Result<Vec<InTrash>, TrashError> {
        let mut tx = self.db.begin_read().await.map_err(FilesError::from)?;
        let retention = self.retention(&mut tx).await?;
        let now = self.ctx.now();
        let mut found = Vec::new();
        for id in ids {
            let record = repo::trash::find(&mut tx, id).await.map_err(FilesError::from)?;
            let Some(record) = record else { continue };
            let expires_at = retention.expiry(record.deleted_at);
            if expires_at.is_none_or(|at| at > now) {
                found.push(InTrash {
                    id: record.id,
                    name: record.name,
                    size: record.size,
                    deleted_at: record.deleted_at,
                    expires_at,
                });
            }
        }
        Ok(found)
    }
}
