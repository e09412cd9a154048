//! Files and folders that are of no use once the films in a folder have moved.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use qm_confined::{FsError, Intent, Kind, Roots};
use qm_file_operations::{self as ops, Control, Visit, visit};
use qm_media_names::naming::season::season;

use crate::model::Cleanup;
use crate::model::run::Fact;

/// Depth to which folders are searched and removed.
const MAX_DEPTH: usize = 3;
/// Most files of one folder that go.
const MAX_FILES: usize = 1_000;

/// True for a folder named by a release, and not by a season.
pub fn is_release_folder(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if season(&name).is_some_and(|found| !is_dotted(&name) || found.number == 0) {
        return false;
    }
    let read = qm_release::parse(&name);
    read.resolution.is_some()
        || read.source.is_some()
        || read.codec.is_some()
        || read.release_group.is_some()
        || read.season.is_some()
}

/// True for a name with the marks of a release, which may name a season besides.
fn is_dotted(name: &str) -> bool {
    let read = qm_release::parse(name);
    read.resolution.is_some() || read.source.is_some() || read.codec.is_some()
}

/// Files in a folder that go, by the wishes of their owner: torrents, and what patterns name.
pub fn find_leftovers(
    roots: &Roots,
    folder: &Path,
    wishes: &Cleanup,
    control: &Control,
) -> Result<Vec<(PathBuf, Fact)>, FsError> {
    let patterns = wishes.to_plan();
    let mut found = Vec::new();
    look_through(roots, folder, control, |path, visited| {
        let Visit::Item(item) = visited else { return };
        let name = item.name().text();
        let is_torrent = wishes.remove_leftover_torrent && name.to_lowercase().ends_with(".torrent");
        if item.kind == Kind::File
            && (is_torrent || patterns.is_leftover(&name))
            && found.len() < MAX_FILES
            && let Ok(meta) = item.meta()
        {
            found.push((path, Fact::from_meta(&meta)));
        }
    })?;
    Ok(found)
}

/// Removes empty folders, the deepest first, and then the folder itself.
pub fn prune(roots: &Roots, folder: &Path, control: &Control) -> Result<(), FsError> {
    let mut folders = vec![folder.to_owned()];
    look_through(roots, folder, control, |path, visited| {
        if let Visit::Enter(_) = visited {
            folders.push(path);
        }
    })?;
    folders.sort_by_key(|path| std::cmp::Reverse(path.components().count()));
    for folder in folders {
        // One that holds something, or is protected, stays.
        let _ = roots
            .item(&folder, Intent::Change)
            .and_then(|folder| ops::remove_empty(&folder));
    }
    Ok(())
}

/// Walks a folder to its depth.
fn look_through(
    roots: &Roots,
    folder: &Path,
    control: &Control,
    mut tell: impl FnMut(PathBuf, &Visit<'_>),
) -> Result<(), FsError> {
    let item = roots.item(folder, Intent::Read)?;
    let below = item.rel().components().len();
    visit(&item, control, &mut |visited| {
        let (Visit::Enter(found) | Visit::Item(found) | Visit::Leave(found)) = &visited;
        let rel = found.rel();
        let names = &rel.components()[below..];
        let path = names
            .iter()
            .fold(folder.to_owned(), |path, name| path.join(name.as_os()));
        tell(path, &visited);
        let is_deep = matches!(visited, Visit::Enter(_)) && names.len() >= MAX_DEPTH;
        Ok(if is_deep {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_releases_are_told_from_seasons_and_shows() {
        for name in [
            "Show.S01.1080p.WEB-DL.x264-GRP",
            "Film.2010.1080p.BluRay",
            "Film.x265-GRP",
        ] {
            assert!(is_release_folder(Path::new(&format!("/dl/{name}"))), "{name}");
        }
        for name in ["Season 1", "S01", "Specials", "The Wire (2002)", "films"] {
            assert!(!is_release_folder(Path::new(&format!("/dl/{name}"))), "{name}");
        }
    }

    #[test]
    fn only_what_was_wished_goes() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let roots = Roots::open(&[home.to_str().unwrap()]);
        let folder = home.join("F.1080p");
        for path in [
            "a.torrent",
            "b.txt",
            "keep.nfo",
            "deep/c.txt",
            "v.mkv",
            "1/2/3/4/d.txt",
        ] {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        std::fs::create_dir_all(folder.join("e/m/p")).unwrap();
        let wishes = Cleanup {
            enabled: true,
            delete_globs: vec!["*.txt".to_owned(), "*.mkv".to_owned()],
            remove_leftover_torrent: true,
            ..Cleanup::default()
        };
        let control = Control::quiet(<_>::default());
        let found = find_leftovers(&roots, &folder, &wishes, &control).unwrap();
        let mut names: Vec<String> = found
            .iter()
            .map(|(path, _)| path.strip_prefix(&folder).unwrap().display().to_string())
            .collect();
        names.sort();
        assert_eq!(names, ["a.torrent", "b.txt", "deep/c.txt"]);
        prune(&roots, &folder, &control).unwrap();
        assert!(!folder.join("e").exists() && folder.join("deep").exists() && folder.exists());
    }
}
