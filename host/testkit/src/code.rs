//! Machine code of components, shared by the tests: each server has a data directory of its own, and hundreds of them would
//! each compile the same few components for seconds. What it takes to compile is tested where a test names the compiler
//! ([`crate::server::Builder::compiler`]) and in the plugin host.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use qm_server::PLUGIN_CACHE;

use crate::plugins;

/// Ending of a file of machine code. Its name says of what component, compiled how.
const CODE: &str = "cwasm";
/// Age at which code is compiled anew, so that what nobody uses any more goes.
const OLD: Duration = Duration::from_hours(72);

/// Gives the server that is about to start on `data_dir` the code that there is.
pub(crate) fn lend(data_dir: &Path) {
    pass_on(store(), &data_dir.join(PLUGIN_CACHE));
}

/// Keeps what the server on `data_dir` has compiled.
pub(crate) fn keep(data_dir: &Path) {
    pass_on(&data_dir.join(PLUGIN_CACHE), store());
}

/// A directory beside the built plugins, without code that is old.
fn store() -> &'static Path {
    static STORE: OnceLock<PathBuf> = OnceLock::new();
    STORE.get_or_init(|| {
        let store = plugins::beside("code");
        for (path, _) in code_in(&store) {
            let modified = fs::metadata(&path).and_then(|data| data.modified());
            if modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > OLD)) {
                let _ = fs::remove_file(path);
            }
        }
        store
    })
}

/// Path and name of each file of machine code.
fn code_in(directory: &Path) -> Vec<(PathBuf, std::ffi::OsString)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .map(|entry| (entry.path(), entry.file_name()))
        .filter(|(path, _)| path.extension().is_some_and(|ending| ending == CODE))
        .collect()
}

/// Whoever lacks code compiles it: a file that cannot be passed on is no failure.
fn pass_on(from: &Path, to: &Path) {
    let files = code_in(from);
    if files.is_empty() || DirBuilder::new().recursive(true).mode(0o700).create(to).is_err() {
        return;
    }
    for (path, name) in files {
        let target = to.join(name);
        if !target.exists() && fs::hard_link(&path, &target).is_err() {
            let _ = copy(&path, &target);
        }
    }
}

/// For directories on two file systems: whole or not there.
fn copy(path: &Path, target: &Path) -> io::Result<()> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let partial = target.with_extension(format!("{}-{count}", std::process::id()));
    fs::copy(path, &partial)?;
    fs::rename(&partial, target)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn code_is_passed_on_and_nothing_else() {
        let home = tempfile::tempdir().unwrap();
        let (from, to) = (home.path().join("from"), home.path().join("a/to"));
        pass_on(&from, &to);
        assert!(!to.exists(), "nothing to pass on");
        fs::create_dir(&from).unwrap();
        fs::write(from.join("one.cwasm"), "code").unwrap();
        fs::write(from.join("two.refused"), "a reason").unwrap();
        fs::write(from.join("three.part"), "half").unwrap();
        pass_on(&from, &to);
        let names: Vec<_> = fs::read_dir(&to)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["one.cwasm"]);
        assert_eq!(
            fs::metadata(&to).unwrap().mode() & 0o777,
            0o700,
            "else a server does not trust it"
        );
        pass_on(&from, &to);

        copy(&from.join("one.cwasm"), &to.join("far.cwasm")).unwrap();
        assert_eq!(fs::read_to_string(to.join("far.cwasm")).unwrap(), "code");
        assert_eq!(fs::read_dir(&to).unwrap().count(), 2);
    }
}
