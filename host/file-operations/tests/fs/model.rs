//! Any sequence of operations ends in the same tree as a model of it in memory.

use std::collections::BTreeMap;

use proptest::prelude::*;
use qm_confined::FsError;
use qm_file_operations::{self as ops, Transfer, TrashPlace};

use crate::{Scratch, name, quiet};

/// A path as its names.
type Names = Vec<&'static str>;

/// Entry at a path: a folder, or a file and its content.
#[derive(Clone, Debug, PartialEq)]
enum Node {
    Folder,
    File(u32),
}

type Tree = BTreeMap<Names, Node>;

#[derive(Clone, Debug)]
enum Step {
    Write(Names, u32),
    Create(Names, &'static str),
    Rename(Names, &'static str, bool),
    Move(Names, Names, bool),
    Copy(Names, Names, bool),
    Remove(Names),
    Trash(Names),
    Restore(usize, bool),
    Purge(usize),
}

#[derive(Default)]
struct Model {
    tree: Tree,
    /// Records: where it was, and what it held, by paths below it.
    trash: Vec<(Names, Tree)>,
}

fn is_below(path: &[&str], top: &[&str]) -> bool {
    path.starts_with(top)
}

impl Model {
    fn folder(&self, path: &[&'static str]) -> bool {
        path.is_empty() || self.tree.get(path) == Some(&Node::Folder)
    }

    /// The subtree at `path`, by paths below it.
    fn cut(&self, path: &[&'static str]) -> Tree {
        self.tree
            .iter()
            .filter(|(at, _)| is_below(at, path))
            .map(|(at, node)| (at[path.len()..].to_vec(), node.clone()))
            .collect()
    }

    fn remove(&mut self, path: &[&'static str]) {
        self.tree.retain(|at, _| !is_below(at, path));
    }

    fn graft(&mut self, path: &[&'static str], subtree: Tree) {
        for (below, node) in subtree {
            self.tree.insert([path, &below].concat(), node);
        }
    }

    /// The folder and all above it, created; false when a file is in the way.
    fn ensure(&mut self, path: &[&'static str]) -> bool {
        let passable = (1..=path.len()).all(|n| !matches!(self.tree.get(&path[..n]), Some(Node::File(_))));
        if passable {
            for n in 1..=path.len() {
                self.tree.entry(path[..n].to_vec()).or_insert(Node::Folder);
            }
        }
        passable
    }

    /// True when `from` and `to` are both folders or both files.
    fn same_kind(&self, from: &[&'static str], to: &[&'static str]) -> bool {
        matches!(self.tree[from], Node::Folder) == matches!(self.tree[to], Node::Folder)
    }

    /// Applies the step; true when it succeeds. The tree is changed only then.
    fn apply(&mut self, step: &Step) -> bool {
        match step {
            Step::Write(path, value) => {
                let writable = !path.is_empty() && !self.folder(path) && self.folder(&path[..path.len() - 1]);
                if writable {
                    self.tree.insert(path.clone(), Node::File(*value));
                }
                writable
            }
            Step::Create(parent, name) => {
                let path = [parent.as_slice(), &[name]].concat();
                let creatable = self.folder(parent) && !self.tree.contains_key(&path);
                if creatable {
                    self.tree.insert(path, Node::Folder);
                }
                creatable
            }
            Step::Rename(path, name, overwrite) => self.rename(path, name, *overwrite),
            Step::Move(path, to, overwrite) => self.transfer(path, to, *overwrite, true),
            Step::Copy(path, to, overwrite) => self.transfer(path, to, *overwrite, false),
            Step::Remove(path) => {
                let there = self.tree.contains_key(path);
                self.remove(path);
                there
            }
            Step::Trash(path) => {
                if !self.tree.contains_key(path) {
                    return false;
                }
                self.trash.push((path.clone(), self.cut(path)));
                self.remove(path);
                true
            }
            Step::Restore(index, overwrite) => self.restore(*index, *overwrite),
            Step::Purge(index) => {
                let there = *index < self.trash.len();
                if there {
                    self.trash.remove(*index);
                }
                there
            }
        }
    }

    fn rename(&mut self, path: &Names, name: &'static str, overwrite: bool) -> bool {
        if !self.tree.contains_key(path) {
            return false;
        }
        let to = [&path[..path.len() - 1], &[name]].concat();
        if to == *path {
            return true;
        }
        if self.tree.contains_key(&to) {
            let replaceable = self.same_kind(path, &to) && self.cut(&to).len() == 1;
            if !overwrite || !replaceable {
                return false;
            }
        }
        self.put(path, &to);
        true
    }

    fn put(&mut self, path: &Names, to: &Names) {
        let subtree = self.cut(path);
        self.remove(path);
        self.remove(to);
        self.graft(to, subtree);
    }

    fn transfer(&mut self, path: &Names, folder: &Names, overwrite: bool, by_move: bool) -> bool {
        let Some(node) = self.tree.get(path) else {
            return false;
        };
        let is_folder = *node == Node::Folder;
        let to = [folder.as_slice(), &[path[path.len() - 1]]].concat();
        let there = self.tree.contains_key(&to);
        let refused = (is_folder && is_below(folder, path))
            || (there && !overwrite)
            || to == *path
            || (there && is_below(path, &to))
            || (there && !by_move && !self.same_kind(path, &to));
        if refused {
            return false;
        }
        if !by_move && there && is_folder && self.clashes(path, &to) {
            return false;
        }
        if !self.ensure(folder) {
            return false;
        }
        if by_move {
            self.put(path, &to);
        } else {
            self.graft(&to, self.cut(path));
        }
        true
    }

    /// True when a merge would put a folder over a file or a file over a folder.
    fn clashes(&self, path: &[&'static str], to: &[&'static str]) -> bool {
        self.cut(path).iter().any(|(below, node)| {
            let there = self.tree.get(&[to, below].concat());
            there.is_some_and(|there| (*there == Node::Folder) != (*node == Node::Folder))
        })
    }

    fn restore(&mut self, index: usize, overwrite: bool) -> bool {
        let Some((original, subtree)) = self.trash.get(index).cloned() else {
            return false;
        };
        if self.tree.contains_key(&original) && !overwrite {
            return false;
        }
        if !self.ensure(&original[..original.len() - 1]) {
            return false;
        }
        self.remove(&original);
        self.graft(&original, subtree);
        self.trash.remove(index);
        true
    }
}

/// The same steps on the disk.
struct Disk {
    scratch: Scratch,
    trash: Vec<TrashPlace>,
    next: u32,
}

fn text(path: &[&str]) -> String {
    path.join("/")
}

impl Disk {
    fn apply(&mut self, step: &Step) -> Result<(), FsError> {
        let scratch = &self.scratch;
        let how = |overwrite| Transfer {
            overwrite,
            ..Transfer::default()
        };
        match step {
            Step::Write(path, value) => {
                std::fs::write(scratch.path(&text(path)), value.to_string()).map_err(|_| FsError::Outside)
            }
            Step::Create(parent, new) => ops::create_dir(&scratch.look(&text(parent))?, &name(new)).map(drop),
            Step::Rename(path, new, overwrite) => {
                ops::rename(&scratch.item(&text(path))?, &name(new), *overwrite).map(drop)
            }
            Step::Move(path, to, overwrite) => {
                let item = scratch.item(&text(path))?;
                ops::move_to(&item, &scratch.to(&text(to))?, &how(*overwrite), &quiet()).map(drop)
            }
            Step::Copy(path, to, overwrite) => {
                let item = scratch.item(&text(path))?;
                ops::copy(&item, &scratch.to(&text(to))?, &how(*overwrite), &quiet()).map(drop)
            }
            Step::Remove(path) => ops::remove(&scratch.item(&text(path))?, &quiet()).map(drop),
            Step::Trash(path) => {
                let item = scratch.item(&text(path))?;
                self.next += 1;
                let place = TrashPlace::for_item(&item, &self.next.to_string())?;
                ops::trash(&item, &place, &quiet())?;
                self.trash.push(place);
                Ok(())
            }
            Step::Restore(index, overwrite) => {
                let place = self.record(*index)?;
                let trashed = scratch.roots.trashed(&place.storage_root, &place.trash_path)?;
                ops::untrash(&trashed, &place.original, *overwrite, &quiet())?;
                self.trash.remove(*index);
                Ok(())
            }
            Step::Purge(index) => {
                let place = self.record(*index)?;
                let trashed = scratch.roots.trashed(&place.storage_root, &place.trash_path)?;
                ops::purge(&trashed, &quiet())?;
                self.trash.remove(*index);
                Ok(())
            }
        }
    }

    fn record(&self, index: usize) -> Result<&TrashPlace, FsError> {
        self.trash.get(index).ok_or(FsError::Outside)
    }

    /// The tree as the model writes it; what is ours must be the trash alone, holding exactly the recorded items.
    fn tree(&self) -> BTreeMap<String, Node> {
        let mut found = BTreeMap::new();
        let mut payloads = 0;
        for path in crate::tree(&self.scratch.root).into_keys() {
            if let Some(inside) = path.strip_prefix(".quartermaster-trash") {
                payloads += usize::from(inside.matches('/').count() == 1);
                continue;
            }
            let at = self.scratch.path(&path);
            let node = match std::fs::read_to_string(&at) {
                Ok(text) => Node::File(text.parse().unwrap()),
                Err(_) => Node::Folder,
            };
            found.insert(path, node);
        }
        assert_eq!(payloads, self.trash.len(), "payloads and records");
        found
    }
}

fn any_name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "c"])
}

fn any_folder() -> impl Strategy<Value = Names> {
    prop::collection::vec(any_name(), 0..3)
}

fn any_path() -> impl Strategy<Value = Names> {
    prop::collection::vec(any_name(), 1..4)
}

fn any_step() -> impl Strategy<Value = Step> {
    let overwrite = any::<bool>;
    prop_oneof![
        3 => (any_path(), 0..9_u32).prop_map(|(path, value)| Step::Write(path, value)),
        3 => (any_folder(), any_name()).prop_map(|(path, name)| Step::Create(path, name)),
        2 => (any_path(), any_name(), overwrite()).prop_map(|(path, name, over)| Step::Rename(path, name, over)),
        3 => (any_path(), any_folder(), overwrite()).prop_map(|(path, to, over)| Step::Move(path, to, over)),
        3 => (any_path(), any_folder(), overwrite()).prop_map(|(path, to, over)| Step::Copy(path, to, over)),
        1 => any_path().prop_map(Step::Remove),
        2 => any_path().prop_map(Step::Trash),
        2 => (0..3_usize, overwrite()).prop_map(|(index, over)| Step::Restore(index, over)),
        1 => (0..3_usize).prop_map(Step::Purge),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_ends_as_the_model_says(steps in prop::collection::vec(any_step(), 1..60)) {
        let mut model = Model::default();
        let mut disk = Disk { scratch: Scratch::in_memory(), trash: Vec::new(), next: 0 };
        for (n, step) in steps.iter().enumerate() {
            let expected = model.apply(step);
            let done = disk.apply(step);
            prop_assert_eq!(done.is_ok(), expected, "step {}: {:?}: {:?}", n, step, done);
            let wanted: BTreeMap<String, Node> =
                model.tree.iter().map(|(path, node)| (text(path), node.clone())).collect();
            prop_assert_eq!(disk.tree(), wanted, "after step {}: {:?}", n, step);
        }
    }
}
