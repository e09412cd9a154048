//! Random trees, templates, modes and crashes: no file is ever gone from both of its places, and an undo brings everything back.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use super::*;

const CASES: usize = 40;

/// Folders of files, below the root.
const FOLDERS: &[&str] = &[
    "dl",
    "dl/Show.S01.1080p.WEB-DL.x264-GRP",
    "dl/Show.S01.1080p.WEB-DL.x264-GRP/Subs",
    "dl/Film (2010)",
    "dl/.hidden",
    "tv",
    "tv/show",
    "tv/Show/Season 1",
    "tv/Show/season 01",
];

/// Names of files; `#` is a number.
const NAMES: &[&[u8]] = &[
    b"Show.S01E0#.1080p.WEB-DL.x264-GRP.mkv",
    b"show.s01e0#.mkv",
    b"SHOW.S01E0#.MKV",
    b"Show - S01E0#.mkv",
    b"Show - S01E0#.en.srt",
    b"Show.S01E0#.nfo",
    "Se\u{301}rie.S01E0#.mkv".as_bytes(),
    "S\u{e9}rie.S01E0#.mkv".as_bytes(),
    "\u{1f3ac} Film 201#.mkv".as_bytes(),
    b"Film.201#. .mkv",
    b"Film 201#...mkv",
    b"caf\xe9.S01E0#.mkv",
    b"caf\xe8.S01E0#.mkv",
    b"sample-#.mkv",
    b"#.txt",
    b"Film (2010) [dup#].mkv",
];

const TEMPLATES: &[&str] = &[
    "",
    "{Series Title}/Season {season:00}/{Series Title} - S{season:00}E{episode:00}.{ext}",
    "{General}.{ext}",
    "all/x.{ext}",
    "{Series Title} {episode}.{ext}",
    "{Movie Title} ({year})/{Movie Title} ({year}).{ext}",
];

const MODES: &[&str] = &["rename_in_place", "rename_move", "copy", "hardlink", "symlink"];

#[derive(Clone, Debug)]
struct Case {
    /// Folder, name, number, content; a name of 255 bytes where the number is 0.
    files: Vec<(usize, usize, u8, u8)>,
    template: usize,
    mode: usize,
    /// Folder that is renamed.
    source: &'static str,
    /// Moments and counts at which the first and the second server die.
    crashes: [Option<(usize, usize)>; 2],
}

fn cases() -> impl Strategy<Value = Case> {
    let file = (0..FOLDERS.len(), 0..NAMES.len(), 0_u8..5, 0_u8..4);
    let crash = || proptest::option::of((0_usize..3, 0_usize..12));
    let source = prop_oneof![Just("dl"), Just("tv"), Just("")];
    (
        proptest::collection::vec(file, 1..40),
        0..TEMPLATES.len(),
        0..MODES.len(),
        source,
        [crash(), crash()],
    )
        .prop_map(|(files, template, mode, source, crashes)| Case {
            files,
            template,
            mode,
            source,
            crashes,
        })
}

/// Server that dies at the nth moment of a kind.
fn dying(crash: Option<(usize, usize)>) -> Faults {
    let Some((moment, count)) = crash else {
        return Faults::default();
    };
    let wanted = [Moment::Noted, Moment::Stepped, Moment::Done][moment];
    // There are fewer moments between batches than steps.
    let at = if wanted == Moment::Stepped {
        count
    } else {
        count / 6
    };
    let seen = AtomicUsize::new(0);
    Faults::new(move |moment| moment == wanted && seen.fetch_add(1, Ordering::SeqCst) == at)
}

fn fill(house: &House, case: &Case) {
    for (folder, name, number, content) in &case.files {
        let mut bytes = NAMES[*name].to_vec();
        for byte in &mut bytes {
            if *byte == b'#' {
                *byte = b'0' + number;
            }
        }
        if *number == 0 {
            // As long as a name may be, with its ending.
            let ending = bytes
                .iter()
                .rposition(|byte| *byte == b'.')
                .unwrap_or(bytes.len());
            let tail = bytes.split_off(ending);
            bytes.extend(std::iter::repeat_n(b'x', 255 - bytes.len() - tail.len()));
            bytes.extend(tail);
        }
        let path = house.root.join(FOLDERS[*folder]).join(OsStr::from_bytes(&bytes));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, vec![*content; usize::from(*content) * 100]).unwrap();
    }
    fs::create_dir_all(house.root.join("dl")).unwrap();
    fs::create_dir_all(house.root.join("tv")).unwrap();
}

fn contents(house: &House) -> BTreeSet<String> {
    house
        .inventory()
        .into_values()
        .filter(|content| !content.starts_with("->"))
        .collect()
}

async fn hold(db: &Db, case: &Case, far: bool) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("data");
    fs::create_dir(&root).unwrap();
    let mut folders = vec![folder];
    let mut further = Vec::new();
    if far {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        further.push(folder.path().canonicalize().unwrap());
        folders.push(folder);
    }
    let library = further.first().map(|far| far.join("tv"));
    let house = House::over(db, root, further, folders, dying(case.crashes[0]));
    fill(&house, case);
    let (before, whole) = (house.inventory(), contents(&house));
    let mut wanted = house.wanted(case.source, MODES[case.mode]);
    if let Some(library) = &library {
        wanted.request.library = Some(library.to_str().unwrap().to_owned());
    }
    wanted.request.template = Some(TEMPLATES[case.template].to_owned());
    let applied = house.app.apply(&admin(), wanted).await;
    assert!(
        matches!(applied, Ok(_) | Err(RenameError::Broken(_))),
        "{case:?}: {applied:?}"
    );
    assert_eq!(contents(&house), whole, "after the run or the crash: {case:?}");

    let second = house.again(dying(case.crashes[1]));
    second.app.settle_left(true).await.unwrap();
    assert_eq!(open_runs(db).await, 0);
    assert_eq!(contents(&house), whole, "after the repair: {case:?}");
    for run in second.app.list_undoable().await.unwrap() {
        match second.app.undo(&admin(), &run.run_id).await {
            Ok(undone) => assert_eq!((undone.failed, undone.skipped), (0, Vec::new()), "{case:?}"),
            Err(RenameError::Broken(_)) => {}
            Err(other) => panic!("{case:?}: {other}"),
        }
    }
    assert_eq!(contents(&house), whole, "after the undo or its crash: {case:?}");
    let third = house.again(Faults::default());
    third.app.settle_left(true).await.unwrap();
    let _ = undo_all(&third).await;
    let after = third.inventory();
    let text = |inventory: &std::collections::BTreeMap<Vec<u8>, String>| -> Vec<String> {
        inventory
            .iter()
            .map(|(path, hash)| format!("{} {hash}", Path::new(OsStr::from_bytes(path)).display()))
            .collect()
    };
    assert_eq!(text(&after), text(&before), "{case:?}");
    assert_eq!(after, before, "{case:?}");
    assert!(third.app.list_undoable().await.unwrap().is_empty(), "{case:?}");
}

/// Forgets the runs of a case.
async fn check(db: &Db, far: bool) {
    let mut runner = TestRunner::deterministic();
    for _ in 0..CASES {
        let case = cases().new_tree(&mut runner).unwrap().current();
        hold(db, &case, far).await;
    }
}

db_test! {
    async fn an_undo_brings_everything_back_whatever_dies(db: Db) {
        check(&db, false).await;
    }

    async fn an_undo_brings_everything_back_from_another_device(db: Db) {
        use std::os::unix::fs::MetadataExt as _;
        let device = |path: &Path| fs::metadata(path).unwrap().dev();
        assert_ne!(device(Path::new("/dev/shm")), device(&std::env::temp_dir()), "/dev/shm must be a file system of its own");
        check(&db, true).await;
    }
}
