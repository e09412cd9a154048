use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

use qm_confined::{ConfinedPath, Intent, OwnKind, OwnPlace, Roots};
use qm_lanes::Cancel;
use qm_metainfo::create::{CreateError, Created, Format, Hasher, Options, Plan, PlannedFile};
use qm_metainfo::{Contents, Metainfo};

use crate::lanes::HASHING;
use crate::list::Limits;
use crate::make::make_here;
use crate::{BLOCK_BYTES, MakeError, Progress, make_torrent};

/// Deadline of what another thread does at once.
const DEADLINE: Duration = Duration::from_mins(2);

/// A root with a folder `pack` in it.
struct Place {
    _home: tempfile::TempDir,
    root: PathBuf,
}

impl Place {
    fn new() -> Self {
        let home = tempfile::tempdir().expect("a directory");
        let root = home.path().canonicalize().expect("a path");
        fs::create_dir(root.join("pack")).expect("a folder");
        Self { _home: home, root }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.root.join(below)
    }

    fn write(&self, below: &str, bytes: &[u8]) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, bytes).expect("a file");
    }

    fn item(&self, below: &str) -> ConfinedPath {
        let roots = Roots::open(&[self.root.to_str().expect("UTF-8")]);
        roots.item(&self.path(below), Intent::Read).expect("an item")
    }

    /// All paths below the root, sorted.
    fn names(&self) -> Vec<PathBuf> {
        let mut names = Vec::new();
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() && !path.is_symlink() {
                    folders.push(path.clone());
                }
                names.push(path);
            }
        }
        names.sort();
        names
    }

    fn make(&self, below: &str, progress: impl FnMut(Progress)) -> Result<Created, MakeError> {
        self.make_within(below, Limits::USUAL, &Cancel::default(), progress)
    }

    /// Makes a torrent, and sees that nothing is left behind.
    fn make_within(
        &self,
        below: &str,
        limits: Limits,
        cancel: &Cancel,
        progress: impl FnMut(Progress),
    ) -> Result<Created, MakeError> {
        let before = self.names();
        let made = make_here(&self.item(below), hybrid(), limits, cancel, progress);
        assert_eq!(self.names(), before);
        made
    }

    fn fault(&self, below: &str) -> String {
        let made = self.make(below, |_| {});
        made.map_or_else(|error| error.to_string(), |_| "none".into())
    }
}

fn hybrid() -> Options {
    Options {
        format: Format::Hybrid,
        ..Options::default()
    }
}

fn block(letter: u8, blocks: usize) -> Vec<u8> {
    vec![letter; blocks * BLOCK_BYTES]
}

/// The torrent of a folder `pack` with these files, sorted by path.
fn expected(files: &[(&str, &[u8])]) -> Created {
    let planned = files.iter().map(|(path, bytes)| PlannedFile {
        path: path.split('/').map(str::to_owned).collect(),
        size: bytes.len() as u64,
    });
    let plan = Plan::of_folder("pack", planned.collect(), hybrid()).expect("a plan");
    let mut hasher = Hasher::new(plan);
    for (_, bytes) in files {
        hasher.push(bytes).expect("bytes of the plan");
    }
    hasher.finish().expect("a torrent")
}

#[test]
fn a_folder_becomes_a_torrent_of_all_its_files() {
    let place = Place::new();
    let large = block(b'x', 3);
    place.write("pack/b/film.mkv", &large);
    place.write("pack/b.nfo", b"words");
    place.write("pack/.hidden", b"dots");
    place.write("pack/empty", b"");
    place.write("pack/a/\u{e9}/deep", b"deep");
    fs::create_dir_all(place.path("pack/none/at all")).expect("empty folders");
    // Those of the server.
    place.write("pack/.quartermaster-trash/old", b"old");
    place.write("pack/.quartermaster-tmp-1", b"half");
    let made = place.make("pack", |_| {}).expect("a torrent");
    let files: &[(&str, &[u8])] = &[
        (".hidden", b"dots"),
        ("a/\u{e9}/deep", b"deep"),
        ("b/film.mkv", &large),
        ("b.nfo", b"words"),
        ("empty", b""),
    ];
    assert_eq!(made, expected(files));
    let contents = Contents::read(&made.file).expect("contents");
    assert_eq!(contents.name, b"pack");
    assert_eq!(contents.files.len(), 5);
}

#[test]
fn a_file_becomes_a_torrent_of_that_name_also_through_a_link() {
    let place = Place::new();
    place.write("pack/film.mkv", b"moving pictures");
    symlink("pack/film.mkv", place.path("link")).expect("a link");
    let plan = Plan::of_file("film.mkv", 15, hybrid()).expect("a plan");
    let mut hasher = Hasher::new(plan);
    hasher.push(b"moving pictures").expect("bytes of the plan");
    let expected = hasher.finish().expect("a torrent");
    for path in ["pack/film.mkv", "link"] {
        assert_eq!(place.make(path, |_| {}).expect("a torrent"), expected);
    }
    let root = place.make("", |_| {}).map_err(|error| error.to_string());
    assert!(
        root.expect_err("a link")
            .ends_with("/link is a symbolic link: remove it, or create a torrent of what it leads to")
    );
}

#[test]
fn what_no_torrent_can_hold_is_refused_by_name() {
    let place = Place::new();
    place.write("pack/a", b"a");
    let at = |path: &str| place.path(path).display().to_string();
    assert_eq!(place.fault("pack"), "none");

    symlink("a", place.path("pack/link")).expect("a link");
    assert!(
        place
            .fault("pack")
            .starts_with(&format!("{} is a symbolic link", at("pack/link")))
    );
    fs::remove_file(place.path("pack/link")).expect("the link");

    symlink("/", place.path("pack/out")).expect("a link");
    assert!(
        place
            .fault("pack")
            .starts_with(&format!("{} is a symbolic link", at("pack/out")))
    );
    fs::remove_file(place.path("pack/out")).expect("the link");

    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    fs::create_dir(place.path("pack/d")).expect("a folder");
    rustix::fs::mkfifoat(rustix::fs::CWD, place.path("pack/d/fifo"), mode).expect("a FIFO");
    let neither = |path: &str| format!("{} is neither a file nor a folder", at(path));
    assert!(place.fault("pack").starts_with(&neither("pack/d/fifo")));
    assert!(place.fault("pack/d/fifo").starts_with(&neither("pack/d/fifo")));
    fs::remove_file(place.path("pack/d/fifo")).expect("the FIFO");

    let socket = std::os::unix::net::UnixListener::bind(place.path("pack/d/socket")).expect("a socket");
    assert!(place.fault("pack").starts_with(&neither("pack/d/socket")));
    drop(socket);
    fs::remove_file(place.path("pack/d/socket")).expect("the socket");

    let latin = place.path("pack/d").join(OsStr::from_bytes(b"caf\xe9"));
    fs::write(&latin, "x").expect("a file");
    let fault = place.fault("pack");
    assert_eq!(
        fault,
        format!(
            "The name of {}\u{fffd} is not UTF-8, which torrents demand: rename it, then try again",
            at("pack/d/caf")
        )
    );
    fs::remove_file(latin).expect("the file");

    place.write("pack/A", b"a");
    assert!(place.fault("pack").contains("are one name to torrent clients"));
    fs::remove_file(place.path("pack/A")).expect("the file");
    assert_eq!(place.fault("pack"), "none");
    place.write("pack/a", b"");
    assert_eq!(
        place.fault("pack"),
        "There is nothing to share: all files are empty"
    );
}

#[test]
fn what_belongs_to_the_server_is_in_no_torrent() {
    let place = Place::new();
    place.write("pack/film", b"film");
    place.write("pack/data/secret", b"key");
    let own = OwnPlace {
        variable: "DATA_DIR",
        path: place.path("pack/data"),
        kind: OwnKind::Directory,
    };
    let roots = Roots::hiding(&[place.root.to_str().expect("UTF-8")], &[own]);
    let item = roots.item(&place.path("pack"), Intent::Read).expect("an item");
    let made = make_here(&item, hybrid(), Limits::USUAL, &Cancel::default(), |_| {});
    assert_eq!(made.expect("a torrent"), expected(&[("film", b"film")]));
}

#[test]
fn a_tree_is_bounded() {
    let place = Place::new();
    for name in ["a", "b/c", "b/d"] {
        place.write(&format!("pack/{name}"), b"x");
    }
    fs::create_dir(place.path("pack/e")).expect("a folder");
    let most = Limits {
        files: 3,
        folders: 2,
        path_bytes: 5,
    };
    let fault = |limits| {
        let made = place.make_within("pack", limits, &Cancel::default(), |_| {});
        made.map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(fault(most), Ok(()));
    let files = fault(Limits { files: 2, ..most }).expect_err("too many");
    assert_eq!(files, CreateError::TooManyFiles.to_string());
    let folders = fault(Limits { folders: 1, ..most }).expect_err("too many");
    assert!(
        folders.starts_with("There are more than 1 folders below "),
        "{folders}"
    );
    let bytes = fault(Limits {
        path_bytes: 4,
        ..most
    })
    .expect_err("too many");
    assert_eq!(bytes, CreateError::TooLarge(5).to_string());

    let deep = |levels: usize| format!("pack/{}file", "d/".repeat(levels));
    place.write(&deep(63), b"x");
    assert_eq!(place.fault("pack"), "none");
    place.write(&deep(64), b"x");
    assert!(place.fault("pack").contains("lies deeper than 64 folders"));
    place.write(&deep(65), b"x");
    assert!(place.fault("pack").contains("lies deeper than 64 folders"));
}

#[test]
fn progress_is_told_after_every_block() {
    let place = Place::new();
    place.write("pack/a", &block(b'a', 2));
    place.write("pack/b", b"five!");
    place.write("pack/c", &[&block(b'c', 1)[..], b"!"].concat());
    let told = RefCell::new(Vec::new());
    place
        .make("pack", |progress| told.borrow_mut().push(progress))
        .expect("a torrent");
    let mib = BLOCK_BYTES as u64;
    let total = 3 * mib + 6;
    let done: Vec<u64> = told.borrow().iter().map(|progress| progress.done).collect();
    assert_eq!(done, [0, mib, 2 * mib, 2 * mib + 5, 3 * mib + 5, total]);
    assert!(told.borrow().iter().all(|progress| progress.total == total));
}

/// Makes a torrent of the folder, and runs `change` after the first block of `a`.
fn fault_of_change(change: impl Fn(&Path)) -> String {
    let place = Place::new();
    place.write("pack/a", &block(b'a', 2));
    place.write("pack/d/b", &block(b'b', 1));
    let pack = place.path("pack");
    let made = make_here(
        &place.item("pack"),
        hybrid(),
        Limits::USUAL,
        &Cancel::default(),
        |progress| {
            if progress.done == BLOCK_BYTES as u64 {
                change(&pack);
            }
        },
    );
    let message = made.map_or_else(|error| error.to_string(), |_| "none".into());
    message.replace(pack.to_str().expect("UTF-8"), "")
}

#[test]
fn a_file_that_changes_while_it_is_read_is_named() {
    let changed = |name: &str| {
        format!("{name} was changed while it was read: wait until nothing writes there, then try again")
    };
    let open = |path: PathBuf| fs::OpenOptions::new().append(true).open(path).expect("a file");
    let other_time = SystemTime::UNIX_EPOCH + Duration::from_hours(1);
    assert_eq!(fault_of_change(|_| {}), "none");
    for name in ["/a", "/d/b"] {
        let path = |pack: &Path| pack.join(&name[1..]);
        let append = fault_of_change(|pack| open(path(pack)).write_all(b"!").expect("a write"));
        let cut = fault_of_change(|pack| open(path(pack)).set_len(BLOCK_BYTES as u64 / 2).expect("a cut"));
        let touch = fault_of_change(|pack| open(path(pack)).set_modified(other_time).expect("a time"));
        for fault in [append, cut, touch] {
            assert_eq!(fault, changed(name));
        }
    }
    // Files that were not yet opened when they went, or when others took their places.
    let replaced = fault_of_change(|pack| {
        let (old, new) = (pack.join("d/b"), pack.join("new"));
        let time = fs::metadata(&old)
            .and_then(|meta| meta.modified())
            .expect("a time");
        fs::copy(&old, &new).expect("a copy");
        open(new.clone()).set_modified(time).expect("a time");
        fs::rename(new, old).expect("a rename");
    });
    let removed = fault_of_change(|pack| fs::remove_file(pack.join("d/b")).expect("the file"));
    let linked = fault_of_change(|pack| {
        fs::rename(pack.join("d"), pack.join("e")).expect("a rename");
        symlink("e", pack.join("d")).expect("a link");
    });
    let piped = fault_of_change(|pack| {
        let mode = rustix::fs::Mode::RUSR;
        fs::remove_file(pack.join("d/b")).expect("the file");
        rustix::fs::mkfifoat(rustix::fs::CWD, pack.join("d/b"), mode).expect("a FIFO");
    });
    for fault in [replaced, removed, linked, piped] {
        assert_eq!(fault, changed("/d/b"));
    }
}

#[test]
fn cancelled_work_ends_after_the_block_at_hand() {
    let place = Place::new();
    place.write("pack/a", &block(b'a', 4));
    for blocks in 0..=4 {
        let cancel = Cancel::default();
        let mut last = 0;
        let made = place.make_within("pack", Limits::USUAL, &cancel, |progress| {
            last = progress.done;
            if progress.done == blocks * BLOCK_BYTES as u64 {
                cancel.set();
            }
        });
        assert!(matches!(made, Err(MakeError::Cancelled)), "{made:?}");
        assert_eq!(last, blocks * BLOCK_BYTES as u64);
    }
    let cancel = Cancel::default();
    cancel.set();
    let listing = place.make_within("pack", Limits::USUAL, &cancel, |_| panic!("it read"));
    assert!(matches!(listing, Err(MakeError::Cancelled)));
}

#[tokio::test]
async fn the_lane_is_free_again_when_nobody_waits() {
    let place = Place::new();
    place.write("pack/a", &block(b'a', 3));
    let made = make_torrent(place.item("pack"), hybrid(), |_| {})
        .await
        .expect("a torrent");
    assert_eq!(made, expected(&[("a", &block(b'a', 3))]));
    assert_eq!(Metainfo::parse(&made.file), Ok(made.metainfo));

    let before = place.names();
    let (begun, first) = mpsc::channel();
    let (go, may_go) = mpsc::channel::<()>();
    let (last, blocks) = mpsc::channel();
    let work = make_torrent(place.item("pack"), hybrid(), move |progress| {
        begun.send(()).ok();
        if progress.done > 0 {
            last.send(progress.done).ok();
        } else {
            may_go.recv().ok();
        }
    });
    let work = tokio::spawn(work);
    let first = tokio::task::spawn_blocking(move || first.recv_timeout(DEADLINE));
    first.await.expect("a thread").expect("it began");
    work.abort();
    assert!(work.await.expect_err("it was dropped").is_cancelled());
    go.send(()).expect("it waits");
    // The sender ends with the work: no block was read any more.
    let blocks = tokio::task::spawn_blocking(move || blocks.recv_timeout(DEADLINE));
    assert_eq!(
        blocks.await.expect("a thread"),
        Err(mpsc::RecvTimeoutError::Disconnected)
    );
    assert_eq!(HASHING.name(), "torrents.hashing");
    assert_eq!(place.names(), before);
}
