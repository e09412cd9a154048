//! Renames of some hundred files with awkward names by the real server, which is killed somewhere on the way there and on the
//! way back: at every moment each file is at its old place or at its new one, whole, and after the undo everything is where it
//! was.

use std::path::{Path, PathBuf};
use std::time::Duration;

use qm_testkit::binary::Binary;
use qm_testkit::wait::{PATIENCE, until_true};
use qm_testkit::{Api, Backend, TestDb, both_databases};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::shelf::{
    Inventory, assert_same, assert_whole, count_new, inventory, plant, rename, settled, undo_all,
};
use crate::dice::Dice;
use crate::files::site::{Site, temporaries};

/// Files that are downloaded, and those that the library has.
const FILES: usize = 300;
const MODES: [&str; 5] = ["rename_move", "rename_in_place", "copy", "hardlink", "symlink"];

/// Folders of a rename: downloads and a library, on one file system or on two.
struct Scene {
    near: Site,
    far: Option<Site>,
}

impl Scene {
    fn new(is_far: bool) -> Scene {
        let scene = Scene {
            near: Site::new(),
            far: is_far.then(Site::in_memory),
        };
        plant(&scene.near.path_of("dl"), FILES, 0);
        plant(&scene.library().join("Show"), FILES / 3, FILES * 2);
        scene.near.folder("nothing");
        scene
    }

    fn library(&self) -> PathBuf {
        self.far.as_ref().unwrap_or(&self.near).path_of("tv")
    }

    fn roots(&self) -> Vec<&Path> {
        let far = self.far.iter().map(|site| &*site.root);
        std::iter::once(&*self.near.root).chain(far).collect()
    }

    fn look(&self) -> Inventory {
        let all = self.roots().into_iter().flat_map(|root| {
            let below = inventory(root).into_iter();
            below.map(move |(path, content)| (root.join(path), content))
        });
        all.collect()
    }

    /// Number of files at places where none was before.
    fn count_new(&self, before: &Inventory) -> usize {
        let all = self.roots().into_iter();
        all.map(|root| {
            let own = before.iter().filter_map(|(path, content)| {
                let rel = path.strip_prefix(root).ok()?;
                Some((rel.to_owned(), content.clone()))
            });
            count_new(root, &own.collect())
        })
        .sum()
    }

    fn temporaries(&self) -> Vec<PathBuf> {
        self.roots().into_iter().flat_map(temporaries).collect()
    }

    async fn start(&self, dir: &Path, db: &TestDb) -> (Binary, Api) {
        let roots: Vec<String> = self
            .roots()
            .into_iter()
            .map(|root| root.display().to_string())
            .collect();
        let roots = roots.join(",");
        let env = [
            ("FILE_MANAGER_ROOTS", roots.as_str()),
            ("THROTTLE_LIMIT", "1000000"),
            ("JWT_ACCESS_TTL", "1d"),
        ];
        let server = Binary::start_with(dir, db.url(), &env).await;
        let admin = server.admin().await;
        (server, admin)
    }

    fn body(&self, mode: &str) -> Value {
        let from = if mode == "rename_in_place" {
            self.library().join("Show")
        } else {
            self.near.path_of("dl")
        };
        rename(&from, &self.library(), mode)
    }
}

/// Sends a request to a server that is killed a moment after `is_there` says so, or once it has answered.
async fn kill_at(
    server: &mut Binary,
    api: &Api,
    request: (&str, Value),
    dice: &mut Dice,
    is_there: impl Fn() -> bool,
) {
    let (api, path, body) = (api.clone(), request.0.to_owned(), request.1);
    let asked = tokio::spawn(async move {
        // The server dies over it.
        let sent = api.request("POST", &path).json(&body).send().await;
        if let Ok(reply) = sent {
            assert_eq!(reply.status, 201, "{path} {body}: {}", reply.text());
        }
    });
    let deadline = Instant::now() + PATIENCE;
    while !asked.is_finished() && !is_there() {
        assert!(Instant::now() < deadline, "it does not come that far");
        tokio::time::sleep(Duration::from_micros(200)).await;
    }
    tokio::time::sleep(Duration::from_micros(dice.below(4000) as u64)).await;
    server.kill();
    asked.await.expect("it answers well, or not at all");
}

/// Kills the server in the middle of a rename, and another one in the middle of its undo.
async fn round(db: &TestDb, dir: &Path, scene: &Scene, mode: &str, dice: &mut Dice) {
    let before = scene.look();
    let (mut server, mut admin) = scene.start(dir, db).await;
    let mut body = scene.body(mode);
    let plan = admin.post("/api/media/preview", body.clone()).await;
    let moves = plan["items"].as_array().expect("items").iter();
    let count = moves
        .filter(|item| item["destination"].is_string() && item["unchanged"] == false)
        .count();
    assert!(count > FILES / 5, "{mode}: {count} files get names");
    body["planId"] = plan["planId"].clone();
    let target = dice.below(count + 2);
    let has_come = || scene.count_new(&before) >= target;
    kill_at(&mut server, &admin, ("/api/media/apply", body), dice, has_come).await;
    let cut = scene.look();
    eprintln!("{mode}: killed at {} of {count} files", scene.count_new(&before));
    assert_whole(&before, &cut, &format!("{mode}, killed at {target}"));

    (server, admin) = scene.start(dir, db).await;
    settled(&admin, &scene.near.path_of("nothing"), &scene.library()).await;
    assert_whole(&before, &scene.look(), &format!("{mode}, repaired"));
    let runs = admin.get("/api/media/rename/undoable").await;
    if let Some(run) = runs.get(0) {
        let left = dice.below(scene.count_new(&before) + 2);
        let is_back = || scene.count_new(&before) <= left;
        let undo = ("/api/media/rename/undo", json!({ "runId": run["runId"] }));
        kill_at(&mut server, &admin, undo, dice, is_back).await;
        assert_whole(&before, &scene.look(), &format!("{mode}, undo killed at {left}"));
        (server, admin) = scene.start(dir, db).await;
        settled(&admin, &scene.near.path_of("nothing"), &scene.library()).await;
    }
    undo_all(&admin).await;
    assert_same(&before, &scene.look(), &format!("{mode}, undone"));
    until_true("unfinished copies to be swept", || async {
        scene.temporaries().is_empty()
    })
    .await;
    server.kill();
}

async fn rounds(db: &TestDb, is_far: bool) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut dice = Dice::thrown();
    eprintln!("the dice: {}", dice.0);
    let scene = Scene::new(is_far);
    // A server on PostgreSQL waits for the lease of the dead one each time.
    let times = if db.backend == Backend::Sqlite { 3 } else { 1 };
    for _ in 0..times {
        for mode in MODES {
            round(db, dir.path(), &scene, mode, &mut dice).await;
        }
    }
}

both_databases! {
    async fn a_rename_that_is_killed_loses_nothing_and_can_be_undone(db: &TestDb) {
        rounds(db, false).await;
    }

    async fn a_rename_to_another_disk_that_is_killed_loses_nothing_and_can_be_undone(db: &TestDb) {
        rounds(db, true).await;
    }
}
