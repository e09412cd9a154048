//! Watching the plugins directory: a look every other second, one second after a look that found something new, and a
//! change counts once two looks agree on it.
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

use qm_kernel::{BEAT, next_beat};
use tokio::sync::mpsc;

use crate::core::catalog::Catalog;

/// Interval between two looks at a directory that stays as it is.
const EVERY: Duration = Duration::from_secs(2);
/// Interval to the look that is to confirm what another one found.
const SOON: Duration = Duration::from_secs(1);

/// Interval between two readings of the owners of ids: another server may have changed them.
const PINS_EVERY: Duration = BEAT.saturating_mul(5);

/// Marks that tell a file from its successor without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    size: u64,
    modified: (i64, i64),
    inode: u64,
}

impl Signature {
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
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
        if let Ok(signature) = Signature::read(&entry.path()) {
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

/// Follows what the looks find, and the owners of ids, until the catalogue is gone.
pub(crate) async fn watch(catalog: Weak<Catalog>) {
    let (tell, mut told) = mpsc::channel(1);
    let looked_at = catalog.clone();
    let looking = std::thread::Builder::new()
        .name("plugin-watch".to_owned())
        .spawn(move || look(&looked_at, &tell));
    if let Err(error) = looking {
        tracing::error!(%error, "the plugins directory is not watched: a change of it waits for a restart or a reload");
        return;
    }
    loop {
        let now = tokio::time::Instant::now().into_std();
        let change = tokio::select! {
            change = told.recv() => Some(change),
            () = tokio::time::sleep_until(next_beat(now, PINS_EVERY).into()) => None,
        };
        let Some(catalog) = catalog.upgrade() else { return };
        match change {
            Some(Some(change)) => {
                if !change.remove.is_empty() {
                    catalog.remove(change.remove).await;
                }
                catalog.intake().bring(change.load);
            }
            Some(None) => return,
            None => catalog.follow_pins().await,
        }
    }
}

/// Looks at the directory and tells of changes until nobody listens. On a thread of its own: a directory may be slow to
/// answer, and a thread that sleeps costs an idle server less than a timer of the runtime and a hand-over of the work.
fn look(catalog: &Weak<Catalog>, tell: &mpsc::Sender<Change>) {
    let mut before: Option<BTreeMap<String, Signature>> = None;
    let mut told = false;
    let mut pause = EVERY;
    loop {
        std::thread::sleep(pause);
        pause = EVERY;
        let Some(catalog) = catalog.upgrade().filter(|_| !tell.is_closed()) else {
            return;
        };
        let now = match scan(catalog.dir()) {
            Ok(now) => now,
            Err(error) => {
                // A directory that is away for a while (a mount) takes nothing with it.
                if !std::mem::replace(&mut told, true) {
                    tracing::warn!(dir = %catalog.dir().display(), %error, "the plugins directory cannot be read");
                }
                before = None;
                continue;
            }
        };
        told = false;
        if before.as_ref() != Some(&now) {
            pause = SOON;
        }
        if let Some(before) = &before {
            let change = compare(&catalog.signatures(), before, &now);
            // Not while this thread keeps the catalogue: whoever listens may be waiting for its end.
            drop(catalog);
            if change != Change::default() && tell.blocking_send(change).is_err() {
                return;
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
