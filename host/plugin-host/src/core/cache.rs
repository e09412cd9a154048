//! Machine code of compiled plugins on disk, mapped instead of compiled again.
//!
//! A forged file would be machine code we run, so the directory must be a real one, ours, and nobody else's to enter
//! (0700); otherwise there is no cache. The name of a file binds the component's SHA-256 and everything the code
//! depends on (wasmtime's version, the target, the settings). Files are written under a temporary name, synced and
//! renamed. Any doubt is a miss, and a miss costs a compilation.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use wasmtime::Engine;
use wasmtime::component::Component;

const ENDING: &str = "cwasm";
const TEMPORARY: &str = "part";

/// The cache, or its absence.
pub(crate) struct CodeCache {
    dir: Option<Dir>,
    /// Stands for everything but the component that machine code depends on.
    compatibility: u64,
}

struct Dir {
    path: PathBuf,
    /// Our own user.
    owner: u32,
}

impl CodeCache {
    /// Makes the directory if it is missing. One that cannot be trusted is left alone, with a line in the log.
    pub(crate) fn open(path: &Path, engine: &Engine) -> Self {
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        let dir = match vet(path) {
            Ok(dir) => Some(dir),
            Err(error) => {
                tracing::warn!(
                    dir = %path.display(), %error,
                    "compiled plugins are not kept: the cache directory must be ours alone (mode 0700)"
                );
                None
            }
        };
        Self {
            dir,
            compatibility: hasher.finish(),
        }
    }

    /// No cache: everything is compiled.
    pub(crate) const fn none() -> Self {
        Self {
            dir: None,
            compatibility: 0,
        }
    }

    fn file(&self, dir: &Dir, sha256: &str) -> PathBuf {
        dir.path
            .join(format!("{sha256}-{:016x}.{ENDING}", self.compatibility))
    }

    /// The compiled form of the component with this hash.
    pub(crate) fn load(&self, engine: &Engine, sha256: &str) -> Option<Component> {
        let dir = self.dir.as_ref()?;
        let path = self.file(dir, sha256);
        let meta = fs::symlink_metadata(&path).ok()?;
        if !meta.is_file() || !is_private(&meta, dir.owner) {
            return None;
        }
        #[expect(unsafe_code, reason = "mapping machine code is what the cache is for")]
        // SAFETY: the file was written by `save`, out of `Component::serialize` of this very version and these very
        // settings (its name says so), into a directory that only our own user may enter or write (`vet`), and it is a
        // plain file that nobody else may write. Nobody truncates it while it is mapped: files are only ever created
        // under another name and renamed, or unlinked.
        let mapped = unsafe { Component::deserialize_file(engine, &path) };
        mapped
            .inspect_err(|error| tracing::debug!(%error, "a compiled plugin was not taken from the cache"))
            .ok()
    }

    /// Keeps the compiled form. Not being able to is no failure.
    pub(crate) fn save(&self, component: &Component, sha256: &str) {
        let Some(dir) = &self.dir else { return };
        let path = self.file(dir, sha256);
        let kept = component.serialize().map_err(|error| error.to_string());
        let kept = kept.and_then(|code| write(&path, &code).map_err(|error| error.to_string()));
        if let Err(error) = kept {
            tracing::warn!(file = %path.display(), %error, "a compiled plugin was not kept");
        }
    }

    /// Removes what no installed plugin uses. Code that is mapped at the moment stays mapped.
    pub(crate) fn prune(&self, used: &HashSet<String>) {
        let Some(dir) = &self.dir else { return };
        let keep: HashSet<PathBuf> = used.iter().map(|sha256| self.file(dir, sha256)).collect();
        for entry in fs::read_dir(&dir.path).into_iter().flatten().flatten() {
            let path = entry.path();
            let ours = path
                .extension()
                .is_some_and(|ending| ending == ENDING || ending == TEMPORARY);
            if ours && !keep.contains(&path) {
                // Gone already or not to be removed: either way the next start tries again.
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// Ours, and nothing of it for anybody else.
fn is_private(meta: &Metadata, owner: u32) -> bool {
    const OTHERS: u32 = 0o077;
    meta.uid() == owner && meta.mode() & OTHERS == 0
}

/// Makes `path` if need be and checks that it is ours alone.
fn vet(path: &Path) -> io::Result<Dir> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    // A file of our own tells who we are, and that we may write.
    let probe = path.join(format!("owner.{TEMPORARY}"));
    let _ = fs::remove_file(&probe);
    let owner = create(&probe)?.metadata()?.uid();
    fs::remove_file(&probe)?;
    let meta = fs::symlink_metadata(path)?;
    if !meta.is_dir() || !is_private(&meta, owner) {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "others may enter it, or it is not ours",
        ));
    }
    Ok(Dir {
        path: path.to_owned(),
        owner,
    })
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

fn write(path: &Path, code: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension(TEMPORARY);
    let _ = fs::remove_file(&temporary);
    let mut file = create(&temporary)?;
    file.write_all(code)?;
    file.sync_all()?;
    fs::rename(&temporary, path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const SHA: &str = "00";

    fn component(engine: &Engine) -> Component {
        Component::new(engine, wat::parse_str("(component)").unwrap()).unwrap()
    }

    fn engine() -> Engine {
        Engine::new(
            wasmtime::Config::new()
                .wasm_component_model(true)
                .concurrency_support(false),
        )
        .unwrap()
    }

    #[test]
    fn what_was_kept_is_found_until_it_is_pruned() {
        let (home, engine) = (tempfile::tempdir().unwrap(), engine());
        let cache = CodeCache::open(&home.path().join("a/b"), &engine);
        assert!(cache.load(&engine, SHA).is_none());
        cache.save(&component(&engine), SHA);
        assert!(cache.load(&engine, SHA).is_some());
        cache.prune(&HashSet::from([SHA.to_owned()]));
        assert!(cache.load(&engine, SHA).is_some());
        cache.prune(&HashSet::new());
        assert!(cache.load(&engine, SHA).is_none());
    }

    #[test]
    fn any_doubt_is_a_miss() {
        let (home, engine) = (tempfile::tempdir().unwrap(), engine());
        let cache = CodeCache::open(&home.path().join("cache"), &engine);
        cache.save(&component(&engine), SHA);
        let file = cache.file(cache.dir.as_ref().unwrap(), SHA);

        fs::set_permissions(&file, fs::Permissions::from_mode(0o620)).unwrap();
        assert!(cache.load(&engine, SHA).is_none(), "others may write it");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(cache.load(&engine, SHA).is_some());

        let elsewhere = home.path().join("elsewhere");
        fs::rename(&file, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
        assert!(cache.load(&engine, SHA).is_none(), "a link");

        fs::remove_file(&file).unwrap();
        write(&file, b"not machine code").unwrap();
        assert!(cache.load(&engine, SHA).is_none(), "damaged");
    }

    #[test]
    fn a_directory_others_may_enter_is_not_used() {
        let (home, engine) = (tempfile::tempdir().unwrap(), engine());
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o750)).unwrap();
        let cache = CodeCache::open(home.path(), &engine);
        cache.save(&component(&engine), SHA);
        assert!(cache.load(&engine, SHA).is_none());
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    }
}
