//! The trash for areas that find files by other ways than a person who browses: [`FileTrash`].
//!
//! Paths are absolute and may be anywhere below the hard roots. A file goes only if it is still the one that was looked at.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use qm_confined::{ConfinedPath, FsError, Kind, Meta, Roots};
use qm_file_operations::{self as ops, Lane};
use qm_kernel::{Caller, ErrorKind};
use qm_ports::trash::{FileState, FileTrash, InTrash, Looked, Sight, TrashError};

use super::Files;
use super::delete::Manner;
use super::operations::{Outcome, Subject};
use crate::error::FilesError;
use crate::repo;

impl From<FilesError> for TrashError {
    fn from(error: FilesError) -> Self {
        match error {
            FilesError::NoSuchItem | FilesError::Fs(FsError::NotFound(_)) => Self::Missing,
            FilesError::Fs(FsError::Changed(_)) => Self::Changed,
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

#[async_trait]
impl FileTrash for Files {
    async fn look(&self, paths: Vec<String>) -> Result<Vec<Looked>, TrashError> {
        let roots = self.roots.clone();
        let seen = self.workers.run(Lane::Look, move || {
            let seen: Vec<_> = paths.iter().map(|path| look(&roots, path)).collect();
            Ok::<_, FilesError>(seen)
        });
        let looked = seen.await?.into_iter().map(|(sight, path)| Looked {
            torrents: path.map_or_else(Vec::new, |path| self.torrents_at(&path)),
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
        let manner = Manner {
            reason: Some("duplicate"),
            ..Manner::default()
        };
        let result = self.delete_resolved(&caller, item, manner, &operation).await;
        operation.end(&Outcome::from_result(&result, |deleted| Outcome {
            bytes: Some(deleted.bytes),
            ..Outcome::default()
        }));
        let record = result?.record.unwrap_or_default();
        self.trash_changed("added", &record);
        Ok(record)
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
