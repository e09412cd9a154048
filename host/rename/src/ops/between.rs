//! Steps that a crash left between: what became of them, as the disk shows it. What was begun is finished or taken back.

use std::path::Path;

use qm_confined::{FsError, Intent, Kind, Meta, Roots};
use qm_file_operations::{self as ops, Control};
use qm_rename_plan::Action;

use crate::model::run::{Fact, Step};

/// Fate of a step that was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Became {
    /// It is done; the file at its destination.
    Done(Option<Fact>),
    /// Nothing has happened, or what had was taken back.
    Nothing,
    /// Somebody has to look, and this is why. Nothing was removed.
    Unclear(String),
}

/// Finds what became of a step, and finishes a move of which both files are left. A disk that is not there is an error, unless
/// it `is_old`: then nobody waits for it any more.
pub fn settle(roots: &Roots, step: &Step, is_old: bool, control: &Control) -> Result<Became, FsError> {
    let source = find(roots, &step.source)?;
    let Some(to) = &step.destination else {
        return Ok(source.map_or(Became::Done(None), |_| Became::Nothing));
    };
    sweep(roots, to, control);
    let there = find(roots, to)?;
    let Some(there) = there else {
        return Ok(match source {
            Some(_) => Became::Nothing,
            None if !(is_old || has_folder(roots, &step.source) && has_folder(roots, to)) => {
                return Err(FsError::NotFound(to.to_string_lossy().into_owned()));
            }
            None => Became::Unclear("it is neither at its old place nor at its new one".to_owned()),
        });
    };
    let placed = Fact::from_meta(&there);
    let done = Ok(Became::Done(Some(placed)));
    match (step.action, source) {
        (Action::Rename | Action::Move, None) if placed.is_file(&step.fact) => done,
        (Action::Rename | Action::Move, None) => Ok(Became::Unclear(
            "another file is at its new place, and it is gone from the old one".to_owned(),
        )),
        // A file system that folds case: both spellings are one file, and only its directory knows which.
        (Action::Rename | Action::Move, Some(source)) if source.identity == there.identity => {
            Ok(if is_spelled(roots, to)? {
                Became::Done(Some(placed))
            } else {
                Became::Nothing
            })
        }
        (Action::Rename | Action::Move, Some(_)) => match drop_copy(roots, &step.source, to, control) {
            Ok(()) => done,
            Err(_) => Ok(Became::Unclear(
                "it is at its old place, and another file is at the new one: compare them".to_owned(),
            )),
        },
        (Action::Hardlink | Action::Copy, _) if placed.is_file(&step.fact) => done,
        (Action::Symlink, _) if there.kind == Kind::Link => done,
        _ => Ok(Became::Nothing),
    }
}

/// Finds what became of a step that was being undone: true if it is undone.
pub fn settle_undo(roots: &Roots, step: &Step, control: &Control) -> Result<bool, FsError> {
    let Some(to) = &step.destination else {
        return Ok(false);
    };
    sweep(roots, &step.source, control);
    let (source, there) = (find(roots, &step.source)?, find(roots, to)?);
    Ok(match (source, there) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(source), Some(there)) if source.identity == there.identity => {
            // Two names of one file, or one name that is spelled in two ways.
            matches!(step.action, Action::Rename | Action::Move) && is_spelled(roots, &step.source)?
        }
        (Some(_), Some(_)) => {
            matches!(step.action, Action::Rename | Action::Move)
                && drop_copy(roots, to, &step.source, control).is_ok()
        }
    })
}

/// Removes a file after its copy was compared with it byte by byte.
pub fn drop_copy(roots: &Roots, file: &Path, copy: &Path, control: &Control) -> Result<(), FsError> {
    let copy = roots.item(copy, Intent::Change)?;
    ops::remove_copied(&roots.item(file, Intent::Change)?, &copy, control)
}

/// State of what is at a path; none: nothing is there.
pub fn find(roots: &Roots, path: &Path) -> Result<Option<Meta>, FsError> {
    match roots.item(path, Intent::Change) {
        Ok(item) => item.meta().map(Some),
        Err(FsError::NotFound(_) | FsError::NotADirectory(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn has_folder(roots: &Roots, path: &Path) -> bool {
    let folder = path.parent().map(|folder| roots.item(folder, Intent::Read));
    matches!(folder, Some(Ok(_)))
}

/// True if an entry of a directory is spelled so, by its bytes.
fn is_spelled(roots: &Roots, path: &Path) -> Result<bool, FsError> {
    let item = roots.item(path, Intent::Change)?;
    let failed = |errno| FsError::os(errno, path.display());
    let name = item.entry()?;
    for entry in item.parent.entries().map_err(failed)? {
        if entry.map_err(failed)?.file_name().to_bytes() == name.as_bytes() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes temporaries that a killed server left beside a path. Whatever stays is left to the next time.
fn sweep(roots: &Roots, path: &Path, control: &Control) {
    let Some(above) = path.parent() else { return };
    if let Ok(directory) = roots.directory(above)
        && directory.exists()
        && let Err(error) = ops::sweep(roots, &directory.place(), false, control)
    {
        tracing::debug!(%error, "a folder was not searched for temporaries");
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    struct Site {
        _home: tempfile::TempDir,
        root: PathBuf,
        roots: Roots,
    }

    impl Site {
        fn new() -> Self {
            let home = tempfile::tempdir().unwrap();
            let root = home.path().canonicalize().unwrap();
            for folder in ["from", "to"] {
                fs::create_dir(root.join(folder)).unwrap();
            }
            Self {
                roots: Roots::open(&[root.to_str().unwrap()]),
                root,
                _home: home,
            }
        }

        fn write(&self, place: &str, content: &str) -> Fact {
            let path = self.root.join(place);
            fs::write(&path, content).unwrap();
            Fact::from_meta(&find(&self.roots, &path).unwrap().unwrap())
        }

        fn step(&self, action: Action, fact: Fact) -> Step {
            Step {
                action,
                source: self.root.join("from/a"),
                destination: Some(self.root.join("to/b")),
                fact,
            }
        }

        fn settle(&self, step: &Step, is_old: bool) -> Result<Became, FsError> {
            settle(&self.roots, step, is_old, &Control::quiet(<_>::default()))
        }

        fn there(&self) -> (bool, bool) {
            (self.root.join("from/a").exists(), self.root.join("to/b").exists())
        }
    }

    #[test]
    fn a_move_to_another_device_is_finished_or_left_as_it_is() {
        let site = Site::new();
        let fact = site.write("from/a", "film");
        let step = site.step(Action::Move, fact);
        assert_eq!(site.settle(&step, false).unwrap(), Became::Nothing);
        // The copy was put into place, and the original is still there.
        fs::copy(site.root.join("from/a"), site.root.join("to/b")).unwrap();
        let modified = fs::metadata(site.root.join("from/a"))
            .unwrap()
            .modified()
            .unwrap();
        let copy = fs::File::options()
            .write(true)
            .open(site.root.join("to/b"))
            .unwrap();
        copy.set_modified(modified).unwrap();
        assert!(matches!(
            site.settle(&step, false).unwrap(),
            Became::Done(Some(_))
        ));
        assert_eq!(site.there(), (false, true));
        let _ = site.write("from/a", "other");
        assert!(matches!(site.settle(&step, false).unwrap(), Became::Unclear(_)));
        assert_eq!(site.there(), (true, true), "nothing is removed in doubt");
    }

    #[test]
    fn what_is_gone_from_both_places_is_told_once_the_disks_are_there() {
        let site = Site::new();
        let step = site.step(Action::Move, Fact::default());
        assert!(matches!(site.settle(&step, false).unwrap(), Became::Unclear(_)));
        fs::remove_dir(site.root.join("to")).unwrap();
        assert!(site.settle(&step, false).is_err(), "its disk may come back");
        assert!(matches!(site.settle(&step, true).unwrap(), Became::Unclear(_)));
    }

    #[test]
    fn what_a_killed_copy_left_is_swept() {
        let site = Site::new();
        let step = site.step(Action::Copy, site.write("from/a", "film"));
        let left = format!("to/{}1", qm_confined::TEMP_PREFIX);
        fs::write(site.root.join(left), "fi").unwrap();
        assert_eq!(site.settle(&step, false).unwrap(), Became::Nothing);
        assert_eq!(fs::read_dir(site.root.join("to")).unwrap().count(), 0);
    }

    #[test]
    fn copies_and_links_are_done_when_they_are_there() {
        let site = Site::new();
        let fact = site.write("from/a", "film");
        let link = site.step(Action::Hardlink, fact);
        assert_eq!(site.settle(&link, false).unwrap(), Became::Nothing);
        fs::hard_link(site.root.join("from/a"), site.root.join("to/b")).unwrap();
        assert_eq!(site.settle(&link, false).unwrap(), Became::Done(Some(fact)));
        fs::remove_file(site.root.join("to/b")).unwrap();
        let _ = site.write("to/b", "somebody else's, and longer");
        assert_eq!(site.settle(&link, false).unwrap(), Became::Nothing);
        assert_eq!(site.there(), (true, true));
        let gone = Step {
            destination: None,
            ..site.step(Action::Delete, fact)
        };
        assert_eq!(site.settle(&gone, false).unwrap(), Became::Nothing);
        fs::remove_file(site.root.join("from/a")).unwrap();
        assert_eq!(site.settle(&gone, false).unwrap(), Became::Done(None));
    }
}
