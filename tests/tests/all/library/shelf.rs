//! Folders of awkward files, and inventories of them by their hashes: before and after, nothing may be gone.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use qm_testkit::Api;
use qm_testkit::wait::until_true;
use serde_json::{Value, json};

/// Beginning of the names of unfinished copies.
const TEMPORARY: &[u8] = b".quartermaster-tmp-";
/// Content of what a disk does not let anybody read.
const UNREADABLE: &str = "unreadable";

/// Names of files of an episode, awkward each in its own way; `#` stands for the episode.
const NAMES: &[&[u8]] = &[
    b"Show.#.1080p.WEB-DL.x264-GRP.mkv",
    b"Show.#.1080p.WEB-DL.x264-GRP.en.srt",
    "Se\u{301}rie.#.mkv".as_bytes(),
    "S\u{e9}rie.#.mkv".as_bytes(),
    b"Show.#. .mkv",
    b"Show.#...mkv",
    b"SHOW.#.MKV",
    b"sHOW.#.mkv",
    "Show.# \u{1f3ac}\u{1f468}\u{200d}\u{1f469}.mkv".as_bytes(),
    b"caf\xe9.#.mkv",
    b"a\nb.#.mkv",
    b"-rf.#.mkv",
    b"Show.#.nfo",
    b"Show.# .mkv ",
    b"Show.#.txt",
];
/// Most bytes of a name.
const LONGEST: usize = 255;
/// Episodes of a season.
const SEASON: usize = 40;

/// Files below a directory by their paths in it: the hash of each, or the target of a link.
pub type Inventory = BTreeMap<PathBuf, String>;

/// Inventory of a directory, without unfinished copies.
pub fn inventory(root: &Path) -> Inventory {
    let mut found = Inventory::new();
    for path in list_files(root) {
        let name = path.file_name().unwrap_or_default();
        if name.as_bytes().starts_with(TEMPORARY) {
            continue;
        }
        let content = match std::fs::read_link(&path) {
            Ok(target) => format!("-> {}", target.display()),
            Err(_) => std::fs::read(&path).map_or(UNREADABLE.to_owned(), |bytes| {
                blake3::hash(&bytes).to_hex().to_string()
            }),
        };
        let rel = path.strip_prefix(root).expect("it lies there").to_owned();
        found.insert(rel, content);
    }
    found
}

/// Files and links below a directory, at any depth. What vanishes meanwhile is left out.
pub fn list_files(root: &Path) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![root.to_owned()]);
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next).into_iter().flatten().flatten() {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let list = if is_folder { &mut open } else { &mut found };
            list.push(entry.path());
        }
    }
    found
}

/// Contents of files, without what links point to.
pub fn contents(all: &Inventory) -> BTreeSet<&str> {
    let files = all.values().filter(|content| !content.starts_with("->"));
    files.map(String::as_str).collect()
}

/// Checks that what was there is there, at whatever place, and that nothing is there in part.
pub fn assert_whole(before: &Inventory, after: &Inventory, when: &str) {
    let (old, new) = (contents(before), contents(after));
    let unknown = |all: &Inventory, known: &BTreeSet<&str>| -> Vec<PathBuf> {
        let is_unknown = |content: &str| !content.starts_with("->") && !known.contains(content);
        let files = all.iter().filter(|(_, content)| is_unknown(content));
        files.map(|(path, _)| path.clone()).collect()
    };
    let (gone, odd) = (unknown(before, &new), unknown(after, &old));
    assert!(gone.is_empty(), "{when}: gone from both places: {gone:?}");
    assert!(odd.is_empty(), "{when}: not what was put there: {odd:?}");
}

/// Checks that everything is where it was, and nothing more.
pub fn assert_same(before: &Inventory, after: &Inventory, when: &str) {
    let moved = |one: &Inventory, other: &Inventory| -> Vec<PathBuf> {
        let differs = |(path, content): &(&PathBuf, &String)| other.get(*path) != Some(*content);
        let differing = one.iter().filter(differs);
        differing.map(|(path, _)| path.clone()).collect()
    };
    let (missing, added) = (moved(before, after), moved(after, before));
    let is_same = missing.is_empty() && added.is_empty();
    assert!(is_same, "{when}: missing {missing:?}, added {added:?}");
}

/// Name of one of the awkward sorts for an episode; every seventh is as long as a name may be.
fn awkward(number: usize) -> Vec<u8> {
    let episode = format!("S{:02}E{:02}", number / SEASON + 1, number % SEASON + 1);
    let mut name = Vec::new();
    for byte in NAMES[number % NAMES.len()] {
        match byte {
            b'#' => name.extend_from_slice(episode.as_bytes()),
            byte => name.push(*byte),
        }
    }
    if number.is_multiple_of(7)
        && let Some(ending) = name.iter().rposition(|byte| *byte == b'.')
    {
        let tail = name.split_off(ending);
        name.resize(LONGEST - tail.len(), b'x');
        name.extend(tail);
    }
    name
}

/// Content of a file that no other one has, of some sizes.
fn content(number: usize) -> Vec<u8> {
    let size = [1, 900, 70_000, 300_000][number % 4];
    let line = format!("{number} ").into_bytes();
    line.into_iter().cycle().take(size + 8).collect()
}

/// Puts files with awkward names into a folder. Some differ by the case of their letters only. `first`: number of the first
/// content, of which each file has another one.
pub fn plant(folder: &Path, count: usize, first: usize) {
    std::fs::create_dir_all(folder).expect("our own directory");
    let write = |name: &[u8], number: usize| {
        let path = folder.join(OsStr::from_bytes(name));
        std::fs::write(path, content(first + number)).expect("our own directory");
    };
    for number in 0..count {
        write(&awkward(number), number);
    }
    for number in 0..count / 20 {
        for (at, word) in ["twin", "TWIN", "Twin"].into_iter().enumerate() {
            let name = format!("{word}.S01E{:02}.mkv", number + 1);
            write(name.as_bytes(), count + number * 3 + at);
        }
    }
}

/// Number of files at places where none was before, unfinished copies aside.
pub fn count_new(root: &Path, before: &Inventory) -> usize {
    let is_new = |path: &PathBuf| {
        let rel = path.strip_prefix(root).expect("it lies there");
        let name = path.file_name().unwrap_or_default();
        !name.as_bytes().starts_with(TEMPORARY) && !before.contains_key(rel)
    };
    list_files(root).iter().filter(|path| is_new(path)).count()
}

/// Body of a rename of what lies at a path.
pub fn rename(path: &Path, library: &Path, mode: &str) -> Value {
    json!({ "path": path, "libraryPath": library, "mode": mode, "kind": "tv" })
}

/// Applies what a preview shows; the answer.
pub async fn apply(api: &Api, path: &Path, library: &Path, mode: &str) -> Value {
    let mut body = rename(path, library, mode);
    let plan = api.post("/api/media/preview", body.clone()).await;
    body["planId"] = plan["planId"].clone();
    api.post("/api/media/apply", body).await
}

/// Waits until no run is at work in a library, nor left there by a server that was killed: another one can begin. `empty` is a
/// folder without files.
pub async fn settled(api: &Api, empty: &Path, library: &Path) {
    let body = rename(empty, library, "copy");
    until_true("what was cut off to be settled", || async {
        let reply = api.send("POST", "/api/media/apply", Some(&body)).await;
        let code = reply.json()["code"].clone();
        let waits = reply.status == 409 && code == "conflict.rename_running";
        assert!(waits || reply.status == 201, "{}", reply.text());
        !waits
    })
    .await;
}

/// Undoes every run, the newest first; number of files that are back. Nothing may stand against it.
pub async fn undo_all(api: &Api) -> u64 {
    let runs = api.get("/api/media/rename/undoable").await;
    let mut back = 0;
    for run in runs.as_array().expect("a list") {
        let body = json!({ "runId": run["runId"] });
        let told = api.post("/api/media/rename/undo", body).await;
        assert_eq!(
            (&told["skipped"], &told["failed"]),
            (&json!([]), &json!(0)),
            "{told}"
        );
        back += told["undone"].as_u64().expect("a number");
    }
    let left = api.get("/api/media/rename/undoable").await;
    assert_eq!(left, json!([]), "everything is undone");
    back
}
