//! Sandbox for a program that may read only one file, and the files that it needs to run. It has no network either.
//!
//! The kernel enforces it (Landlock). A separate thread is restricted and starts the program, which inherits that; the
//! thread ends with its work. Without Landlock in the kernel nothing is started.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

/// Directories of programs, libraries and locales. Everybody may read them.
const PROGRAMS: &[&str] = &[
    "/bin",
    "/gnu/store",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/usr/bin",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libx32",
    "/usr/local/bin",
    "/usr/local/lib",
    "/usr/share/locale",
];
/// Files that programs read when they start.
const FILES: &[&str] = &[
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/dev/null",
    "/dev/urandom",
    "/dev/zero",
];

/// Reason why no program was started.
#[derive(Debug, thiserror::Error)]
pub enum JailError {
    #[error(
        "the kernel has no Landlock to confine it by (Linux 5.13 or later, with `landlock` among its `lsm`)"
    )]
    NoLandlock,
    #[error("it cannot be confined: {0}")]
    Landlock(#[from] RulesetError),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Runs `start` on a thread that can read only what programs need, `program` and `file`; the programs that it starts inherit
/// that.
pub async fn start_in<T: Send + 'static>(
    program: &OsStr,
    file: OwnedFd,
    start: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, JailError> {
    let (told, hears) = tokio::sync::oneshot::channel();
    let own = find(program);
    let shut_in = move || {
        let started = confine(own.as_deref(), &file).and_then(|()| Ok(start()?));
        // Nobody waits any more: what was started ends with this.
        let _ = told.send(started);
    };
    std::thread::Builder::new()
        .name("probe".to_owned())
        .spawn(shut_in)?;
    hears
        .await
        .unwrap_or_else(|_| Err(std::io::Error::other("the thread that starts it ended").into()))
}

/// Path of a program's file.
fn find(program: &OsStr) -> Option<PathBuf> {
    let named = Path::new(program);
    if named.is_absolute() {
        return Some(named.to_owned());
    }
    let path = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&path).map(|place| place.join(named));
    places.find(|place| place.is_file())
}

/// Restricts this thread, for ever.
fn confine(program: Option<&Path>, file: &OwnedFd) -> Result<(), JailError> {
    let newest = ABI::V6;
    let rules = Ruleset::default()
        // Without this much there is no jail; what newer kernels add is taken where there is one.
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))
        .map_err(|_| JailError::NoLandlock)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(newest))?
        .handle_access(AccessNet::from_all(newest))?
        .scope(Scope::from_all(newest))?
        .create()
        .map_err(|_| JailError::NoLandlock)?;
    let runs = AccessFs::Execute | AccessFs::ReadFile;
    let mut rules = rules;
    for place in PROGRAMS {
        rules = allow(rules, Path::new(place), runs | AccessFs::ReadDir)?;
    }
    for place in FILES {
        rules = allow(rules, Path::new(place), AccessFs::ReadFile.into())?;
    }
    if let Some(program) = program {
        rules = allow(rules, program, runs)?;
    }
    let rules = rules.add_rule(PathBeneath::new(file.as_fd(), AccessFs::ReadFile))?;
    match rules.restrict_self()?.ruleset {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
        RulesetStatus::NotEnforced => Err(JailError::NoLandlock),
    }
}

/// Allows access to the paths that exist.
fn allow(
    rules: RulesetCreated,
    place: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, JailError> {
    match PathFd::new(place) {
        Ok(place) => Ok(rules.add_rule(PathBeneath::new(place, access))?),
        Err(_) => Ok(rules),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::ErrorKind;
    use std::net::TcpStream;

    use super::*;

    #[tokio::test]
    async fn inside_one_file_is_seen_and_nothing_else() {
        let home = tempfile::tempdir().unwrap();
        let (given, other) = (home.path().join("given"), home.path().join("other"));
        for path in [&given, &other] {
            std::fs::write(path, "of the file").unwrap();
        }
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let file = OwnedFd::from(File::open(&given).unwrap());
        let (read, outside) = (given.clone(), home.path().to_owned());
        let seen = start_in(OsStr::new("true"), file, move || {
            let denied = |path: &Path| File::open(path).map_err(|error| error.kind()).map(drop);
            Ok((
                std::fs::read_to_string(&read)?,
                denied(&other),
                denied(Path::new("/etc/passwd")),
                std::fs::read_dir(&outside)
                    .map_err(|error| error.kind())
                    .map(drop),
                File::create(outside.join("new"))
                    .map_err(|error| error.kind())
                    .map(drop),
                std::process::Command::new("true")
                    .status()
                    .is_ok_and(|status| status.success()),
                TcpStream::connect(address)
                    .map_err(|error| error.kind())
                    .map(drop),
            ))
        });
        let (read, other, passwd, listed, created, ran, connected) = seen.await.unwrap();
        let refused = Err(ErrorKind::PermissionDenied);
        assert_eq!((read.as_str(), ran), ("of the file", true));
        assert_eq!(
            (other, passwd, listed, created),
            (refused, refused, refused, refused)
        );
        // Kernels before 6.7 cannot refuse that; the program has no proxy to reach anybody by.
        assert!(connected == refused || connected == Ok(()), "{connected:?}");
        // The test's own thread is free.
        assert!(File::open(&given).is_ok() && File::open("/etc/passwd").is_ok());
    }
}
