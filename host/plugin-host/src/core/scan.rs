//! Watching the plugins directory: a look every second, and a change counts once two looks agree on it.
//!
//! Looking beats being told here: it sees what happens on network and container mounts, which notifications do not, a
//! file that is being copied is waited for by comparing two looks, and it needs no further dependency. A look at a
//! directory of some dozen files costs microseconds.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Weak;
use std::time::Duration;

use crate::core::catalog::Catalog;

/// Interval between two looks at the directory.
pub(crate) const EVERY: Duration = Duration::from_secs(1);

/// Every how many looks the owners of ids are read again: another server may have changed them.
const PINS: u64 = 5;

/// What tells a file from its successor without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    size: u64,
    modified: (i64, i64),
    inode: u64,
}

impl Signature {
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let meta = std::fs::metadata(path)?;
        Ok(Self {
            size: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            inode: meta.ino(),
        })
    }
}

/// The `*.wasm` files of `dir` by name. Names that are no text are skipped.
pub(crate) fn scan(dir: &Path) -> io::Result<BTreeMap<String, Signature>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let wasm = Path::new(&name)
            .extension()
            .is_some_and(|ending| ending == "wasm");
        if !wasm || name.starts_with('.') {
            continue;
        }
        // A file that went away between the two calls is simply not there.
        if let Ok(signature) = Signature::of(&entry.path()) {
            found.insert(name, signature);
        }
    }
    Ok(found)
}

/// A change that two looks agree on.
#[derive(Debug, Default, PartialEq, Eq)]
struct Change {
    load: Vec<(String, Signature)>,
    remove: Vec<String>,
}

fn compare(
    known: &BTreeMap<String, Signature>,
    before: &BTreeMap<String, Signature>,
    now: &BTreeMap<String, Signature>,
) -> Change {
    let settled = |(name, signature): &(&String, &Signature)| before.get(*name) == Some(*signature);
    let news = |(name, signature): &(&String, &Signature)| known.get(*name) != Some(*signature);
    let load = now
        .iter()
        .filter(settled)
        .filter(news)
        .map(|(name, signature)| (name.clone(), *signature))
        .collect();
    let gone = |name: &&String| !before.contains_key(*name) && !now.contains_key(*name);
    Change {
        load,
        remove: known.keys().filter(gone).cloned().collect(),
    }
}

/// Watches until the catalogue is gone.
pub(crate) async fn watch(catalog: Weak<Catalog>) {
    let mut before: Option<BTreeMap<String, Signature>> = None;
    let mut told = false;
    for look in 1_u64.. {
        tokio::time::sleep(EVERY).await;
        let Some(catalog) = catalog.upgrade() else { return };
        if look % PINS == 0 {
            catalog.follow_pins().await;
        }
        let dir = catalog.dir().to_owned();
        let looked = tokio::task::spawn_blocking(move || scan(&dir)).await;
        let now = match looked {
            Ok(Ok(now)) => now,
            Ok(Err(error)) => {
                // A directory that is away for a while (a mount) takes nothing with it.
                if !std::mem::replace(&mut told, true) {
                    tracing::warn!(dir = %catalog.dir().display(), %error, "the plugins directory cannot be read");
                }
                before = None;
                continue;
            }
            Err(_) => return,
        };
        told = false;
        if let Some(before) = &before {
            let change = compare(&catalog.signatures(), before, &now);
            if !change.remove.is_empty() {
                catalog.remove(change.remove).await;
            }
            if !change.load.is_empty() {
                catalog.intake().bring(change.load);
            }
        }
        before = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(files: &[(&str, u64)]) -> BTreeMap<String, Signature> {
        let signature = |size| Signature {
            size,
            modified: (0, 0),
            inode: 1,
        };
        files
            .iter()
            .map(|&(name, size)| (name.to_owned(), signature(size)))
            .collect()
    }

    #[test]
    fn a_change_counts_once_two_looks_agree() {
        let known = look(&[("a", 1), ("b", 1), ("c", 1)]);
        let growing = compare(
            &known,
            &look(&[("a", 1), ("b", 2), ("c", 1)]),
            &look(&[("a", 1), ("b", 3), ("d", 1)]),
        );
        assert_eq!(growing, Change::default(), "b grows, c went and d came only now");
        let settled = compare(
            &known,
            &look(&[("a", 1), ("b", 3), ("d", 1)]),
            &look(&[("a", 1), ("b", 3), ("d", 1)]),
        );
        let names: Vec<_> = settled.load.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((names, settled.remove), (vec!["b", "d"], vec!["c".to_owned()]));
    }

    #[test]
    fn only_wasm_files_are_looked_at() {
        let home = tempfile::tempdir().unwrap();
        for name in ["b.wasm", "a.wasm", ".hidden.wasm", "c.wasm.part", "README.md"] {
            std::fs::write(home.path().join(name), "").unwrap();
        }
        let found: Vec<_> = scan(home.path()).unwrap().into_keys().collect();
        assert_eq!(found, ["a.wasm", "b.wasm"]);
    }
}
