//! Machine code of compiled plugins on disk, mapped instead of compiled again.
//!
//! A forged file would be machine code we run, so the directory must be a real one, ours, and nobody else's to enter
//! (0700); otherwise there is no cache. The name of a file binds the component's SHA-256 and everything the code
//! depends on (wasmtime's version, the target, the settings). Files are written under a temporary name, synced and
//! renamed. Any doubt is a miss, and a miss costs a compilation. Beside the code of those that compiled stands the reason
//! for those that did not, so that no start pays for them again.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use wasmtime::Engine;
use wasmtime::component::Component;

use crate::core::load::reason;

const ENDING: &str = "cwasm";
const REFUSED: &str = "refused";
const TEMPORARY: &str = "part";
/// The most of a reason that is read back.
const REASON: u64 = 4 << 10;
/// Tells the temporary files of one process apart.
static COUNT: AtomicU64 = AtomicU64::new(0);

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
        self.named(dir, sha256, ENDING)
    }

    fn named(&self, dir: &Dir, sha256: &str, ending: &str) -> PathBuf {
        dir.path
            .join(format!("{sha256}-{:016x}.{ending}", self.compatibility))
    }

    /// A file nobody else can write, for the code of one component to be written to.
    pub(crate) fn room(&self) -> io::Result<Room> {
        let folder = match &self.dir {
            Some(dir) => dir.path.clone(),
            None => std::env::temp_dir(),
        };
        let (process, count) = (std::process::id(), COUNT.fetch_add(1, Relaxed));
        let path = folder.join(format!("quartermaster-{process}-{count}.{TEMPORARY}"));
        let _ = fs::remove_file(&path);
        let file = create(&path)?;
        Ok(Room { path, file })
    }

    /// The component whose code was written to `room`; the code is kept where there is a place for it.
    pub(crate) fn take(&self, engine: &Engine, sha256: &str, mut room: Room) -> Result<Component, String> {
        let failed = |error: io::Error| format!("its compiled form was lost: {error}");
        let Some(dir) = &self.dir else {
            let mut code = Vec::new();
            room.file.read_to_end(&mut code).map_err(failed)?;
            #[expect(
                unsafe_code,
                reason = "the code was made for us, and there is no place to map it from"
            )]
            // SAFETY: the file was made by `room`, new and for our own user alone, and it is read by the handle of that
            // moment; our compiler wrote it.
            return unsafe { Component::deserialize(engine, &code) }.map_err(|error| reason(&error));
        };
        fs::rename(&room.path, self.file(dir, sha256)).map_err(failed)?;
        self.load(engine, sha256)
            .ok_or_else(|| "its compiled form cannot be used".to_owned())
    }

    /// Why the component with this hash did not compile, when that is known.
    pub(crate) fn refused(&self, sha256: &str) -> Option<String> {
        let dir = self.dir.as_ref()?;
        let mut text = String::new();
        let file = File::open(self.named(dir, sha256, REFUSED)).ok()?;
        file.take(REASON).read_to_string(&mut text).ok()?;
        Some(text).filter(|text| !text.is_empty())
    }

    /// Remembers why it did not.
    pub(crate) fn refuse(&self, sha256: &str, reason: &str) {
        let Some(dir) = &self.dir else { return };
        let path = self.named(dir, sha256, REFUSED);
        if let Err(error) = write(&path, reason.as_bytes()) {
            tracing::warn!(file = %path.display(), %error, "what did not compile is not remembered");
        }
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
        // SAFETY: the file was written by our compiler (`room`, `take`), of this very version and with these very
        // settings (its name says so), into a directory that only our own user may enter or write (`vet`), and it is a
        // plain file that nobody else may write. Nobody truncates it while it is mapped: files are only ever created
        // under another name and renamed, or unlinked.
        let mapped = unsafe { Component::deserialize_file(engine, &path) };
        mapped
            .inspect_err(|error| tracing::debug!(%error, "a compiled plugin was not taken from the cache"))
            .ok()
    }

    /// Removes what an earlier process was about to write when it ended: for a directory that one process has alone.
    pub(crate) fn sweep_unfinished(&self) {
        let Some(dir) = &self.dir else { return };
        sweep(&dir.path, |path| {
            path.extension().is_some_and(|ending| ending == TEMPORARY)
        });
    }

    /// Removes all but the `count` newest: for a cache that no directory of plugins tells what is used, and that several
    /// processes share.
    pub(crate) fn keep_newest(&self, count: usize) {
        let Some(dir) = &self.dir else { return };
        let entries = fs::read_dir(&dir.path).into_iter().flatten().flatten();
        let mut times: Vec<_> = entries
            .filter_map(|entry| entry.metadata().ok()?.modified().ok())
            .collect();
        times.sort_unstable_by(|a, b| b.cmp(a));
        let Some(&oldest_kept) = times.get(..count).and_then(<[_]>::last) else {
            return;
        };
        sweep(&dir.path, |path| {
            let modified = fs::metadata(path).and_then(|meta| meta.modified());
            modified.is_ok_and(|modified| modified < oldest_kept)
        });
    }

    /// Removes what no installed file needs. Code that is mapped at the moment stays mapped.
    pub(crate) fn prune(&self, used: &HashSet<String>) {
        let Some(dir) = &self.dir else { return };
        let kept = |sha256: &String| [ENDING, REFUSED].map(|ending| self.named(dir, sha256, ending));
        let keep: HashSet<PathBuf> = used.iter().flat_map(kept).collect();
        sweep(&dir.path, |path| {
            let ours = path
                .extension()
                .is_some_and(|ending| ending == ENDING || ending == REFUSED);
            ours && !keep.contains(path)
        });
    }
}

/// Removes the files of `dir` that are `stale`. One that is gone already or not to be removed is left to the next time.
fn sweep(dir: &Path, stale: impl Fn(&Path) -> bool) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if stale(&path) {
            let _ = fs::remove_file(path);
        }
    }
}

/// Where the code of one component is written; removed again unless it was taken.
pub(crate) struct Room {
    path: PathBuf,
    file: File,
}

impl Room {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // Renamed when it was taken.
        let _ = fs::remove_file(&self.path);
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
        .read(true)
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

    fn save(cache: &CodeCache, engine: &Engine) {
        let room = cache.room().unwrap();
        let code = engine.precompile_component(&wat::parse_str("(component)").unwrap());
        fs::write(room.path(), code.unwrap()).unwrap();
        cache.take(engine, SHA, room).unwrap();
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
        save(&cache, &engine);
        assert!(cache.load(&engine, SHA).is_some());
        cache.prune(&HashSet::from([SHA.to_owned()]));
        assert!(cache.load(&engine, SHA).is_some());
        cache.prune(&HashSet::new());
        assert!(cache.load(&engine, SHA).is_none());
        assert_eq!(fs::read_dir(home.path().join("a/b")).unwrap().count(), 0);
    }

    #[test]
    fn what_is_unfinished_goes_only_where_one_process_is_alone() {
        let (home, engine) = (tempfile::tempdir().unwrap(), engine());
        let dir = home.path().join("cache");
        let cache = CodeCache::open(&dir, &engine);
        let room = cache.room().unwrap();
        let beside = CodeCache::open(&dir, &engine);
        beside.keep_newest(1);
        assert!(room.path().exists(), "another process still writes it");
        beside.sweep_unfinished();
        assert!(!room.path().exists());
    }

    #[test]
    fn the_newest_are_kept() {
        let (home, engine) = (tempfile::tempdir().unwrap(), engine());
        let dir = home.path().join("cache");
        let cache = CodeCache::open(&dir, &engine);
        for (age, name) in ["newest", "newer", "old", "older"].iter().enumerate() {
            let file = File::create(dir.join(name)).unwrap();
            let written = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000 - 60 * age as u64);
            file.set_modified(written).unwrap();
        }
        cache.keep_newest(5);
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 4);
        cache.keep_newest(2);
        let mut left: Vec<_> = fs::read_dir(&dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["newer", "newest"]);
    }

    #[test]
    fn what_did_not_compile_is_remembered_until_its_file_goes() {
        let (home, engine) = (tempfile::tempdir().unwrap(), engine());
        let cache = CodeCache::open(&home.path().join("cache"), &engine);
        assert_eq!(cache.refused(SHA), None);
        cache.refuse(SHA, "it takes too long");
        let again = CodeCache::open(&home.path().join("cache"), &engine);
        assert_eq!(again.refused(SHA).as_deref(), Some("it takes too long"));
        again.prune(&HashSet::from([SHA.to_owned()]));
        assert!(again.refused(SHA).is_some());
        again.prune(&HashSet::new());
        assert_eq!(again.refused(SHA), None);
    }

    #[test]
    fn any_doubt_is_a_miss() {
        let (home, engine) = (tempfile::tempdir().unwrap(), engine());
        let cache = CodeCache::open(&home.path().join("cache"), &engine);
        save(&cache, &engine);
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
        save(&cache, &engine);
        assert!(cache.load(&engine, SHA).is_none());
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    }

    #[test]
    fn without_a_place_code_is_used_and_not_kept() {
        let engine = engine();
        let cache = CodeCache::none();
        save(&cache, &engine);
        assert!(cache.load(&engine, SHA).is_none());
    }
}
