//! A walk of a show's folder, through handles that follow no link.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use qm_confined::{ConfinedPath, FsError, Intent, Kind, Meta, Roots};
use qm_file_operations::{Control, Found, Visit, find_told, visit};
use qm_media_names::name::is_skipped;
use qm_ports::trash::FileState;

use crate::error::MergeError;
use crate::model::{Contents, FileKind, FolderFile, MOST_FILES};

/// Device and inode of a folder; `None`: there is none at that path.
pub fn identify_folder(roots: &Roots, path: &str) -> Result<Option<(u64, u64)>, FsError> {
    let Some(item) = find_told(roots, Path::new(path))? else {
        return Ok(None);
    };
    let meta = item.meta()?;
    Ok(meta.is_dir().then(|| identity_of(&meta)))
}

/// Walks a folder. Names that begin with a dot, and `@eaDir`, are left out. Blocks.
///
/// # Errors
/// When it is outside of the roots, is no folder, or holds more than `most` files or [`MOST_FILES`] directories.
pub fn walk(roots: &Roots, path: &str, most: usize, control: &Control) -> Result<Contents, MergeError> {
    let item = find_told(roots, Path::new(path))?.ok_or_else(|| FsError::NotFound(path.to_owned()))?;
    let meta = item.meta()?;
    if !meta.is_dir() {
        return Err(FsError::NotADirectory(path.to_owned()).into());
    }
    let mut walked = Walked {
        contents: Contents {
            path: path.to_owned(),
            identity: identity_of(&meta),
            ..Contents::default()
        },
        below: item.rel().components().len(),
        directories: vec![PathBuf::new()],
        most,
        is_full: false,
    };
    let done = visit(&item, control, &mut |seen| walked.take(seen));
    if walked.is_full {
        return Err(MergeError::TooManyFiles);
    }
    done?;
    let Walked {
        mut contents,
        directories,
        ..
    } = walked;
    for below in directories {
        if !is_readable(roots, &item, &below) {
            contents
                .unread
                .push(Path::new(path).join(below).to_string_lossy().into_owned());
        }
    }
    contents.files.sort_by(|one, other| one.below.cmp(&other.below));
    contents.odd.sort();
    contents.unread.sort();
    Ok(contents)
}

fn identity_of(meta: &Meta) -> (u64, u64) {
    (meta.identity.device, meta.identity.inode)
}

/// False for a directory that the walk has left out because it could not be read.
fn is_readable(roots: &Roots, top: &ConfinedPath, below: &Path) -> bool {
    let path = if below.as_os_str().is_empty() {
        top.absolute()
    } else {
        top.absolute().join(below)
    };
    let opened = roots.item(&path, Intent::Read).and_then(|item| item.open_dir());
    opened.is_ok_and(|directory| directory.entries().is_ok())
}

/// Finds of a walk so far.
struct Walked {
    contents: Contents,
    /// Number of names above the contents of the folder.
    below: usize,
    /// Directories below the folder, and itself.
    directories: Vec<PathBuf>,
    /// Most files.
    most: usize,
    is_full: bool,
}

impl Walked {
    fn take(&mut self, seen: Visit<'_>) -> Result<ControlFlow<()>, FsError> {
        match seen {
            Visit::Enter(found) => {
                if is_skipped(found.name().as_bytes()) {
                    return Ok(ControlFlow::Break(()));
                }
                self.directories.push(self.path_of(&found));
                if self.directories.len() > MOST_FILES {
                    return self.refuse();
                }
            }
            Visit::Item(found) => {
                if is_skipped(found.name().as_bytes()) {
                    return Ok(ControlFlow::Continue(()));
                }
                // What vanished meanwhile is not there.
                if let Ok(meta) = found.meta() {
                    self.add(&self.path_of(&found), &meta);
                }
                if self.contents.count_all() > self.most {
                    return self.refuse();
                }
            }
            Visit::Leave(_) => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Ends the walk.
    fn refuse(&mut self) -> Result<ControlFlow<()>, FsError> {
        self.is_full = true;
        Err(FsError::Busy)
    }

    /// Path below the folder, by its bytes.
    fn path_of(&self, found: &Found<'_>) -> PathBuf {
        let rel = found.rel();
        let names = rel.components().iter().skip(self.below);
        names.fold(PathBuf::new(), |path, name| path.join(name.as_os()))
    }

    fn add(&mut self, below: &Path, meta: &Meta) {
        let below = below.to_string_lossy().into_owned();
        let path = format!("{}/{below}", self.contents.path);
        let kind = FileKind::from_name(below.rsplit('/').next().unwrap_or(&below));
        if meta.kind != Kind::File {
            if matches!(kind, FileKind::Video | FileKind::Subtitle) {
                self.contents.odd.push(path);
            }
            return;
        }
        self.contents.files.push(FolderFile {
            path,
            below,
            kind,
            state: FileState {
                device: meta.identity.device,
                inode: meta.identity.inode,
                size: meta.size,
                modified: meta.times.modified,
            },
            links: meta.links,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tokio_util::sync::CancellationToken;

    use super::*;

    #[test]
    fn a_folder_with_more_files_than_are_left_for_it_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let show = root.join("show");
        fs::create_dir(&show).unwrap();
        for name in ["a.mkv", "b.srt", ".hidden"] {
            fs::write(show.join(name), "x").unwrap();
        }
        let (roots, show) = (Roots::open(&[root.to_str().unwrap()]), show.to_str().unwrap());
        let control = Control::quiet(CancellationToken::new());
        assert_eq!(walk(&roots, show, 2, &control).unwrap().files.len(), 2);
        let refused = walk(&roots, show, 1, &control);
        assert!(matches!(refused, Err(MergeError::TooManyFiles)), "{refused:?}");
    }
}
