//! Kill -9 in the middle of a stream of file operations, again and again on the same directories and database: after every
//! restart each item is whole at its old place, whole at its new one, or in the trash with a record; what was acknowledged
//! is as it was told; the trash's list and its directories agree; no unfinished copy is left.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use qm_testkit::binary::Binary;
use qm_testkit::wait::until_true;
use qm_testkit::{Api, TestDb, both_databases};
use serde_json::{Value, json};

use super::site::{Site, remove, temporaries};
use crate::dice::Dice;

const ROUNDS: usize = 5;
const WORKERS: usize = 4;
/// Items of a worker.
const ITEMS: usize = 6;
/// Where items lie. `other` is on another file system.
const PLACES: &[&str] = &["/local", "/local/sub", "/other", "/other/sub"];
/// Files of the folder whose copying is under way at every kill: more than are copied before it.
const CROWD: usize = 10_000;
/// Where copies of them go.
const COPIES: &[&str] = &["/copies", "/other/copies"];

/// Where an item is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    At(String),
    /// In the trash; it came from here.
    Trash(String),
    Gone,
}

/// A file, or a folder with some files, as far as we were told.
#[derive(Clone, Debug)]
struct Item {
    /// Nothing else is ever called so.
    name: String,
    place: Place,
    copy: Option<String>,
    /// Asked for, and not acknowledged when the server died.
    pending: Option<Pending>,
}

#[derive(Clone, Debug)]
enum Pending {
    Place(Place),
    Copy(Option<String>),
}

fn pick_one<'a>(dice: &mut Dice, of: &[&'a str]) -> &'a str {
    of[dice.below(of.len())]
}

/// The files of an item by their paths in it; one at `""` is the item itself.
fn parts(name: &str) -> Vec<(&'static str, Vec<u8>)> {
    let seed = name
        .bytes()
        .fold(7_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let size = [2_000, 300_000, 3_000_000, 9_000_000][(seed >> 8) as usize % 4];
    let content = |part: &str, size: usize| {
        let line = format!("{name}/{part} ").into_bytes();
        line.into_iter().cycle().take(size).collect()
    };
    if seed.is_multiple_of(2) {
        vec![("", content("", size))]
    } else {
        vec![
            ("a", content("a", size)),
            ("sub/b", content("b", size / 2)),
            ("sub/deep/c", content("c", 10)),
        ]
    }
}

fn make(path: &Path, name: &str) {
    for (part, content) in parts(name) {
        let file = if part.is_empty() {
            path.to_owned()
        } else {
            path.join(part)
        };
        std::fs::create_dir_all(file.parent().expect("it has one")).expect("our own directory");
        std::fs::write(file, content).expect("our own directory");
    }
}

/// True if the item is there. It is then compared byte by byte, and must be complete.
fn is_there(path: &Path, name: &str) -> bool {
    if path.symlink_metadata().is_err() {
        return false;
    }
    for (part, content) in parts(name) {
        let file = if part.is_empty() {
            path.to_owned()
        } else {
            path.join(part)
        };
        let found = std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        assert!(
            found == content,
            "{}: {} bytes of {}, or others",
            file.display(),
            found.len(),
            content.len()
        );
    }
    true
}

/// The place of the other file system, linked to as `other`.
struct Disks {
    site: Site,
    other: Site,
}

impl Disks {
    fn new() -> Disks {
        let (site, other) = (Site::new(), Site::in_memory());
        std::os::unix::fs::symlink(&other.root, site.path_of("other")).expect("our own directory");
        for place in PLACES.iter().chain(COPIES) {
            site.folder(place.trim_start_matches('/'));
        }
        Disks { site, other }
    }

    fn path_of(&self, rel: &str) -> PathBuf {
        self.site.path_of(rel.trim_start_matches('/'))
    }

    fn roots(&self) -> String {
        format!("{},{}", self.site.roots(), self.other.roots())
    }

    fn temporaries(&self) -> Vec<PathBuf> {
        let mut all = temporaries(&self.site.root);
        all.extend(temporaries(&self.other.root));
        all
    }

    /// Ids of what lies in the trash directories, with where it lies.
    fn trashed(&self) -> BTreeMap<String, PathBuf> {
        let mut found = BTreeMap::new();
        for root in [&self.site.root, &self.other.root] {
            let entries = std::fs::read_dir(root.join(".quartermaster-trash"));
            for entry in entries.into_iter().flatten() {
                let path = entry.expect("an entry").path();
                let name = path
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned();
                let (id, _) = name
                    .split_once("__")
                    .unwrap_or_else(|| panic!("{name} in the trash"));
                found.insert(id.to_owned(), path);
            }
        }
        found
    }

    /// Makes the folder whose copying takes a while, and a place for the copy.
    fn crowd(&self) {
        for number in 0..CROWD {
            self.site.write(format!("crowd/{number}"), "one of many");
        }
        self.site.folder("apart");
    }

    /// Looks at its copy, of which all is there or nothing, and makes room for the next.
    fn settle_crowd(&self) {
        let copy = self.path_of("/apart/crowd");
        if copy.symlink_metadata().is_ok() {
            let files = std::fs::read_dir(&copy).expect("our own directory").count();
            assert_eq!(files, CROWD, "a copy of a part");
            remove(&copy);
        }
    }

    /// Every item at every place, trash aside.
    fn lying(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for place in PLACES.iter().chain(COPIES) {
            for entry in std::fs::read_dir(self.path_of(place)).expect("our own directory") {
                let name = entry.expect("an entry").file_name();
                let name = name.to_string_lossy();
                if name.starts_with("item-") {
                    found.insert(format!("{place}/{name}"));
                }
            }
        }
        found
    }
}

/// A request, and the state it leads to.
struct Step {
    path: &'static str,
    body: Value,
    then: Pending,
}

/// The trash id of an item; `None` when the server is gone.
async fn trash_id(api: &Api, name: &str) -> Option<Value> {
    let reply = api.request("GET", "/api/files/trash").send().await.ok()?;
    let list = reply.json();
    let item = list.as_array()?.iter().find(|item| item["name"] == name);
    let item = item.unwrap_or_else(|| panic!("{name} is not in the trash's list: {list}"));
    Some(item["id"].clone())
}

/// The next step with an item; `None` when the server is gone.
async fn step(api: &Api, item: &Item, dice: &mut Dice) -> Option<Step> {
    let name = &item.name;
    let from = match &item.place {
        Place::Trash(original) => {
            let id = trash_id(api, name).await?;
            let (path, then) = match dice.below(4) {
                0 => ("/api/files/trash/purge", Place::Gone),
                _ => ("/api/files/trash/restore", Place::At(original.clone())),
            };
            return Some(Step {
                path,
                body: json!({ "id": id }),
                then: Pending::Place(then),
            });
        }
        Place::At(path) => path.clone(),
        Place::Gone => unreachable!("who is gone is replaced"),
    };
    Some(match (dice.below(8), &item.copy) {
        (0 | 1, _) => Step {
            path: "/api/files/delete",
            body: json!({ "path": from }),
            then: Pending::Place(Place::Trash(from)),
        },
        (2, Some(copy)) => Step {
            path: "/api/files/delete",
            body: json!({ "path": copy, "permanent": true }),
            then: Pending::Copy(None),
        },
        (2 | 3, None) => {
            let destination = pick_one(dice, COPIES);
            Step {
                path: "/api/files/copy",
                body: json!({ "source": from, "destination": destination }),
                then: Pending::Copy(Some(format!("{destination}/{name}"))),
            }
        }
        _ => {
            let others: Vec<&str> = PLACES
                .iter()
                .copied()
                .filter(|place| format!("{place}/{name}") != from)
                .collect();
            let destination = pick_one(dice, &others);
            Step {
                path: "/api/files/move",
                body: json!({ "source": from, "destination": destination, "verify": dice.below(2) == 0 }),
                then: Pending::Place(Place::At(format!("{destination}/{name}"))),
            }
        }
    })
}

/// Changes its items until the server is gone.
async fn work(
    api: Api,
    disks: Arc<Disks>,
    mut items: Vec<Item>,
    mut dice: Dice,
    acknowledged: Arc<AtomicUsize>,
) -> Vec<Item> {
    for number in 0.. {
        let index = dice.below(items.len());
        if items[index].place == Place::Gone {
            let stem = items[index].name.rsplit_once('~').map_or("", |(stem, _)| stem);
            let name = format!("{stem}~{number}{}", dice.below(1 << 30));
            let old = items[index].copy.take();
            let path = format!("{}/{name}", pick_one(&mut dice, PLACES));
            make(&disks.path_of(&path), &name);
            if let Some(old) = old {
                // Nobody asks for it any more.
                remove(&disks.path_of(&old));
            }
            items[index] = Item {
                name,
                place: Place::At(path),
                copy: None,
                pending: None,
            };
        }
        let Some(step) = step(&api, &items[index], &mut dice).await else {
            break;
        };
        items[index].pending = Some(step.then);
        let Ok(reply) = api.request("POST", step.path).json(&step.body).send().await else {
            break;
        };
        assert_eq!(reply.status, 201, "{} {}: {}", step.path, step.body, reply.text());
        match items[index].pending.take() {
            Some(Pending::Place(place)) => items[index].place = place,
            Some(Pending::Copy(copy)) => items[index].copy = copy,
            None => {}
        }
        acknowledged.fetch_add(1, Ordering::SeqCst);
    }
    items
}

/// Where the item is in truth. What was not acknowledged is settled.
fn settle(disks: &Disks, item: &mut Item, records: &[Value], trashed: &BTreeMap<String, PathBuf>) {
    let name = item.name.clone();
    let ours: Vec<&Value> = records.iter().filter(|record| record["name"] == name).collect();
    assert!(ours.len() <= 1, "{item:?} has {} records", ours.len());
    for record in &ours {
        let payload = &trashed[record["id"].as_str().expect("an id")];
        assert!(is_there(payload, &name), "{item:?}: its record has no payload");
    }
    let is_at = |place: &Place| match place {
        Place::At(path) => is_there(&disks.path_of(path), &name),
        Place::Trash(_) => !ours.is_empty(),
        Place::Gone => false,
    };
    match item.pending.take() {
        None => {
            assert_eq!(is_at(&item.place), item.place != Place::Gone, "{item:?}");
        }
        Some(Pending::Place(new)) => match (is_at(&item.place), is_at(&new)) {
            (true, false) => {}
            (false, true) => item.place = new,
            // Copied whole, and the original not removed yet: a move across file systems only.
            (true, true) => match (&item.place, &new) {
                (Place::At(_), Place::At(extra)) => remove(&disks.path_of(extra)),
                _ => panic!("{item:?} is also at {new:?}"),
            },
            (false, false) if new == Place::Gone => item.place = Place::Gone,
            (false, false) => panic!("{item:?} is lost on its way to {new:?}"),
        },
        Some(Pending::Copy(new)) => {
            let path = item.copy.clone().or(new);
            item.copy = path.filter(|path| is_there(&disks.path_of(path), &name));
        }
    }
    assert!(
        ours.is_empty() || matches!(item.place, Place::Trash(_)),
        "{item:?} is in the trash too"
    );
    if let Some(copy) = &item.copy {
        assert!(
            is_there(&disks.path_of(copy), &name),
            "{item:?}: its copy is gone"
        );
    }
}

async fn check(api: &Api, disks: &Disks, workers: &mut [Vec<Item>]) -> BTreeMap<&'static str, usize> {
    let list = api.get("/api/files/trash").await;
    let records = list.as_array().expect("a list");
    let listed: BTreeSet<String> = records
        .iter()
        .map(|record| record["id"].as_str().expect("an id").to_owned())
        .collect();
    until_true("unfinished copies to be swept", || async {
        disks.temporaries().is_empty()
    })
    .await;
    let trashed = disks.trashed();
    assert_eq!(
        listed,
        trashed.keys().cloned().collect(),
        "the trash's list, its directories"
    );
    let mut cut = BTreeMap::new();
    let mut expected = BTreeSet::new();
    for item in workers.iter_mut().flatten() {
        if let Some(pending) = &item.pending {
            *cut.entry(kind(&item.place, pending)).or_insert(0) += 1;
        }
        settle(disks, item, records, &trashed);
        if let Place::At(path) = &item.place {
            expected.insert(path.clone());
        }
        expected.extend(item.copy.clone());
    }
    assert_eq!(disks.lying(), expected, "what lies there, what should");
    cut
}

fn kind(old: &Place, pending: &Pending) -> &'static str {
    match (old, pending) {
        (_, Pending::Copy(Some(_))) => "copy",
        (_, Pending::Copy(None)) => "permanent delete",
        (_, Pending::Place(Place::Trash(_))) => "delete",
        (_, Pending::Place(Place::Gone)) => "purge",
        (Place::Trash(_), _) => "restore",
        (Place::At(old), Pending::Place(Place::At(new))) => {
            if old.starts_with("/other") == new.starts_with("/other") {
                "move"
            } else {
                "move across devices"
            }
        }
        (Place::Gone, _) => "nothing",
    }
}

/// The operations that were cut off are jobs that failed for that; how many. None is said to be at work.
async fn jobs(api: &Api) -> usize {
    assert_eq!(api.get("/api/files/operations").await, json!([]));
    let active = api.get("/api/jobs/list?active=true&moduleKey=files").await;
    assert_eq!(active["total"], 0, "{active}");
    let failed = api
        .get("/api/jobs/list?status=failed&moduleKey=files&pageSize=200")
        .await;
    let mut interrupted = 0;
    for job in failed["items"].as_array().expect("a list") {
        let id = job["id"].as_str().expect("an id");
        let job = api.get(&format!("/api/jobs/{id}")).await;
        interrupted += usize::from(job["errorCode"] == "interrupted");
    }
    interrupted
}

async fn rounds(db: &TestDb, disks: &Arc<Disks>) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut dice = Dice::thrown();
    eprintln!("the dice: {}", dice.0);
    disks.crowd();
    let roots = disks.roots();
    let env = [
        ("FILE_MANAGER_ROOTS", roots.as_str()),
        ("THROTTLE_LIMIT", "1000000"),
        ("JWT_ACCESS_TTL", "1d"),
    ];
    let gone = |worker: usize, number: usize| Item {
        name: format!("item-{worker}-{number}~"),
        place: Place::Gone,
        copy: None,
        pending: None,
    };
    let mut workers: Vec<Vec<Item>> = (0..WORKERS)
        .map(|worker| (0..ITEMS).map(|number| gone(worker, number)).collect())
        .collect();
    let mut cut: BTreeMap<&str, usize> = BTreeMap::new();
    let mut interrupted = 0;
    for _ in 0..ROUNDS {
        let mut binary = Binary::start_with(dir.path(), db.url(), &env).await;
        let api = binary.admin().await;
        let acknowledged = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = workers
            .drain(..)
            .map(|items| {
                let dice = Dice(dice.below(usize::MAX) as u64);
                tokio::spawn(work(
                    api.clone(),
                    disks.clone(),
                    items,
                    dice,
                    acknowledged.clone(),
                ))
            })
            .collect();
        let last = 20 + dice.below(100);
        while acknowledged.load(Ordering::SeqCst) < last {
            assert!(
                !tasks.iter().any(tokio::task::JoinHandle::is_finished),
                "a worker gave up"
            );
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // One that nobody waits for is stored as a job before it begins; the others, when they take their time.
        let copy = json!({ "source": "/crowd", "destination": "/apart", "background": true });
        api.post("/api/files/copy", copy).await;
        tokio::time::sleep(Duration::from_micros(dice.below(20_000) as u64)).await;
        binary.kill();
        for task in tasks {
            workers.push(task.await.expect("a worker ends without a panic"));
        }
        let binary = Binary::start_with(dir.path(), db.url(), &env).await;
        let api = binary.admin().await;
        let found = check(&api, disks, &mut workers).await;
        disks.settle_crowd();
        for (kind, count) in found {
            *cut.entry(kind).or_default() += count;
        }
        // On PostgreSQL another server might be at work until the leases of the dead one end.
        if db.url().starts_with("sqlite") {
            interrupted += jobs(&api).await;
        }
    }
    assert!(
        interrupted >= ROUNDS || !db.url().starts_with("sqlite"),
        "{interrupted} jobs were cut off"
    );
    println!("cut short: {cut:?}");
    assert!(cut.values().sum::<usize>() > ROUNDS, "{cut:?}");
}

both_databases! {
    async fn a_kill_leaves_every_file_at_its_old_place_its_new_one_or_in_the_trash(db: &TestDb) {
        rounds(db, &Arc::new(Disks::new())).await;
    }
}
