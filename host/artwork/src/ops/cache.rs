//! Cache of pictures as they are served, in the server's data directory. What is in it can be made anew at any time.
//!
//! Bounds: [`Cache::BYTES`] and [`Cache::FILES`]; beyond that those that were asked for longest ago go, down to three quarters.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use qm_confined::{Component, Dir, FsError, Meta, Roots, TEMP_PREFIX};
use qm_lanes::IgnorePoison as _;

/// Folder in the data directory.
const FOLDER: &str = "cache/artwork";

/// Cached files, by their names.
pub struct Cache {
    roots: Roots,
    directory: PathBuf,
    bytes: u64,
    /// None until it is first used.
    index: Mutex<Option<Index>>,
}

#[derive(Default)]
struct Index {
    /// Size, and number of the last use.
    files: HashMap<String, (u64, u64)>,
    bytes: u64,
    uses: u64,
}

impl Cache {
    /// Most bytes.
    pub const BYTES: u64 = 512 << 20;
    /// Most files.
    pub const FILES: usize = 20_000;

    /// A cache in this data directory, of at most so many bytes.
    pub fn new(data_dir: &Path, bytes: u64) -> Self {
        let data_dir = qm_confined::resolve(data_dir).unwrap_or_else(|_| data_dir.to_owned());
        Self {
            roots: Roots::open(&[data_dir.to_string_lossy()]),
            directory: data_dir.join(FOLDER),
            bytes,
            index: Mutex::new(None),
        }
    }

    /// The file of this name.
    pub fn get(&self, key: &str) -> Option<(File, u64)> {
        let dir = self.open().ok()?;
        let found = dir.read(&Component::new(key.as_ref())?).ok();
        if let Some(index) = self.index(&dir).as_mut() {
            match &found {
                Some((_, meta)) => index.note(key, meta.size),
                None => index.forget(key),
            }
        }
        found.map(|(file, meta)| (file, meta.size))
    }

    /// Stores a file, and returns it as it can be read.
    pub fn put(&self, key: &str, bytes: &[u8]) -> Result<(File, u64), FsError> {
        let dir = self.open()?;
        let os = |errno| FsError::os(errno, FOLDER);
        let name = Component::new(key.as_ref()).ok_or(FsError::InvalidPath)?;
        // Two may make the same one.
        let number = self.index(&dir).as_mut().map_or(0, Index::count);
        let temporary = Component::trusted(format!("{TEMP_PREFIX}{key}-{number}"));
        let mut file = dir.create_file(&temporary).map_err(os)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_data());
        let put = written.map_err(|error| FsError::io(error, FOLDER));
        let put = put.and_then(|()| dir.rename(&temporary, &dir, &name).map_err(os));
        if put.is_err() {
            let _ = dir.remove_file(&temporary);
        }
        put?;
        if let Some(index) = self.index(&dir).as_mut() {
            index.note(key, bytes.len() as u64);
            for old in index.surplus(self.bytes, key) {
                if let Some(name) = Component::new(old.as_ref()) {
                    let _ = dir.remove_file(&name);
                }
            }
        }
        Ok((file, bytes.len() as u64))
    }

    fn open(&self) -> Result<Dir, FsError> {
        let created = self.roots.directory(&self.directory)?.create()?;
        created
            .dir()
            .try_clone()
            .map_err(|errno| FsError::os(errno, FOLDER))
    }

    /// The index; what an earlier process left is read first.
    fn index(&self, dir: &Dir) -> MutexGuard<'_, Option<Index>> {
        let mut index = self.index.lock().ignore_poison();
        if index.is_none() {
            *index = Some(Index::read(dir));
        }
        index
    }
}

impl Index {
    fn read(dir: &Dir) -> Self {
        let mut files: Vec<(i64, String, u64)> = Vec::new();
        for entry in dir.entries().into_iter().flatten().flatten() {
            let Some(name) = std::str::from_utf8(entry.file_name().to_bytes()).ok() else {
                continue;
            };
            let Some(part) = Component::new(name.as_ref()) else {
                continue;
            };
            if part.is_temporary() {
                let _ = dir.remove_file(&part);
            } else if let Ok(stat) = dir.stat(&part) {
                let meta = Meta::from_stat(&stat);
                files.push((meta.modified.ms(), name.to_owned(), meta.size));
            }
        }
        files.sort_unstable();
        let mut index = Self::default();
        for (_, name, size) in files {
            index.note(&name, size);
        }
        index
    }

    fn count(&mut self) -> u64 {
        self.uses += 1;
        self.uses
    }

    fn note(&mut self, key: &str, size: u64) {
        let used = self.count();
        self.forget(key);
        self.bytes += size;
        self.files.insert(key.to_owned(), (size, used));
    }

    fn forget(&mut self, key: &str) {
        if let Some((size, _)) = self.files.remove(key) {
            self.bytes -= size;
        }
    }

    /// Takes files out until there is room again, but not the newest one, and returns their names.
    fn surplus(&mut self, most: u64, newest: &str) -> Vec<String> {
        if self.bytes <= most && self.files.len() <= Cache::FILES {
            return Vec::new();
        }
        let mut by_use: Vec<(u64, String)> = self
            .files
            .iter()
            .map(|(name, (_, used))| (*used, name.clone()))
            .collect();
        by_use.sort_unstable();
        let mut gone = Vec::new();
        for (_, name) in by_use {
            if self.bytes <= most / 4 * 3 && self.files.len() <= Cache::FILES / 4 * 3 {
                break;
            }
            if name != newest {
                self.forget(&name);
                gone.push(name);
            }
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_bounded_and_what_was_left_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let names = || {
            let mut names: Vec<String> = std::fs::read_dir(folder.path().join(FOLDER))
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        };
        let cache = Cache::new(folder.path(), 100);
        assert!(cache.get("a").is_none());
        for name in ["a", "b", "c", "d"] {
            cache.put(name, &[7; 25]).unwrap();
        }
        assert_eq!(cache.get("a").map(|(_, size)| size), Some(25));
        // Of 125 bytes at most 75 stay: those used last.
        cache.put("e", &[7; 25]).unwrap();
        assert_eq!(names(), ["a", "d", "e"]);
        // One larger than the bound stays alone.
        cache.put("f", &[7; 200]).unwrap();
        assert_eq!(names(), ["f"]);
        let left = folder.path().join(FOLDER).join(format!("{TEMP_PREFIX}x-1"));
        std::fs::write(&left, "x").unwrap();
        let cache = Cache::new(folder.path(), 100);
        cache.put("g", &[7; 25]).unwrap();
        assert_eq!(
            names(),
            ["g"],
            "what an earlier process left counts, and its temporaries go"
        );
    }
}
