//! Two folders of one show with 500 files, merged by the real server, which is killed on the way again and again and then
//! finishes what it began: each file is in the folder that stays, or in the trash.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use qm_testkit::binary::Binary;
use qm_testkit::wait::{PATIENCE, until};
use qm_testkit::{Api, TestDb, both_databases};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::shelf::{Inventory, assert_whole, contents, count_new, inventory};
use crate::dice::Dice;
use crate::files::site::Site;

/// Episodes of the folder that stays, and of the one that goes; 50 are in both.
const STAYING: std::ops::Range<usize> = 0..150;
const GOING: std::ops::Range<usize> = 100..270;
/// Episodes of a season.
const SEASON: usize = 25;
/// Times that the server is killed over one merge.
const KILLS: usize = 4;

fn episode(number: usize) -> String {
    format!("S{:02}E{:02}", number / SEASON + 1, number % SEASON + 1)
}

/// Writes a file whose content no other one has; `size` in bytes.
fn write(site: &Site, place: &str, size: usize) {
    let line = format!("{place} ").into_bytes();
    let content: Vec<u8> = line.into_iter().cycle().take(size).collect();
    site.write(place, content);
}

/// Folders of 500 files: episodes with subtitles beside them, notes, and what belongs to the show.
fn two_folders() -> Site {
    let site = Site::new();
    for number in STAYING {
        let place = format!("tv/Tide Pool (2003)/Season {}", number / SEASON + 1);
        let stem = format!("{place}/Tide Pool {}", episode(number));
        write(&site, &format!("{stem}.mkv"), 2000 + number);
        if number.is_multiple_of(3) {
            write(&site, &format!("{stem}.en.srt"), 200);
        }
    }
    for number in GOING {
        let stem = format!("tv/Tide.Pool/tide.pool.{}", episode(number));
        // Every second one that both have is better here.
        let size = if number.is_multiple_of(2) { 3000 } else { 1000 };
        write(&site, &format!("{stem}.mkv"), size + number);
        if number.is_multiple_of(5) {
            write(&site, &format!("{stem}.de.srt"), 200);
        }
        if number.is_multiple_of(3) {
            write(&site, &format!("{stem}.en.srt"), 300);
        }
    }
    for number in 0..37 {
        write(&site, &format!("tv/Tide.Pool/season{number:02}-poster.jpg"), 100);
    }
    write(&site, "tv/Tide.Pool/tvshow.nfo", 100);
    write(&site, "tv/Tide Pool (2003)/tvshow.nfo", 100);
    write(&site, "tv/Tide Pool (2003)/poster.jpg", 100);
    site
}

async fn start(dir: &Path, db: &TestDb, site: &Site) -> (Binary, Api) {
    let roots = site.roots();
    let env = [
        ("FILE_MANAGER_ROOTS", roots.as_str()),
        ("THROTTLE_LIMIT", "1000000"),
        ("JWT_ACCESS_TTL", "1d"),
    ];
    let server = Binary::start_with(dir, db.url(), &env).await;
    let admin = server.admin().await;
    (server, admin)
}

/// The only family, once the scan knows both folders.
async fn family(admin: &Api, site: &Site) -> Value {
    let new = json!({
        "name": "Shows", "path": site.path_of("tv"), "kind": "tv", "artworkEnabled": false, "nfoEnabled": false,
    });
    admin.post("/api/media/libraries", new).await;
    until("the folders of the show to be known", || async {
        let listed = admin.get("/api/media/libraries").await;
        if !listed[0]["lastScanAt"].is_string() {
            return None;
        }
        let page = admin.get("/api/media/shows/duplicates").await;
        page["families"].get(0).cloned()
    })
    .await
}

/// Asks for the merge until it is done, or until `is_there` says that the server is to be killed. `None`: it was killed.
async fn merge(
    server: &mut Binary,
    admin: &Api,
    plan_id: &Value,
    is_there: impl Fn() -> bool,
) -> Option<Value> {
    let (api, body) = (admin.clone(), json!({ "planId": plan_id }));
    let asked = tokio::spawn(async move {
        let deadline = Instant::now() + PATIENCE;
        loop {
            // The server dies over it.
            let reply = api
                .request("POST", "/api/media/shows/duplicates/merge")
                .json(&body)
                .send()
                .await
                .ok()?;
            if reply.status == 201 {
                return Some(reply.json());
            }
            // One that was cut off a moment ago is still being settled.
            let is_waiting = reply.status == 409 && reply.json()["code"] == "conflict.plan_run";
            assert!(is_waiting && Instant::now() < deadline, "{}", reply.text());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    while !asked.is_finished() {
        if is_there() {
            server.kill();
        }
        tokio::time::sleep(Duration::from_micros(200)).await;
    }
    asked.await.expect("it answers well, or not at all")
}

/// Checks what the plan promised.
fn assert_merged(plan: &Value, before: &Inventory, after: &Inventory, site: &Site) {
    let rel = |path: &Value| {
        let path = Path::new(path.as_str().expect("a path"));
        path.strip_prefix(&site.root).expect("below the root").to_owned()
    };
    let moves = ["moves", "rescuedSubtitles"];
    for file in moves
        .iter()
        .flat_map(|list| plan[*list].as_array().expect("a list"))
    {
        let (from, to) = (rel(&file["from"]), rel(&file["to"]));
        assert_eq!(after.get(&to), before.get(&from), "{file}");
        assert!(!after.contains_key(&from), "{file}");
    }
    let in_trash: Inventory = after
        .iter()
        .filter(|(path, _)| path.starts_with(".quartermaster-trash"))
        .map(|(path, content)| (path.clone(), content.clone()))
        .collect();
    for collision in plan["collisions"].as_array().expect("a list") {
        let lost = &before[&rel(&collision["trashed"])];
        assert!(contents(&in_trash).contains(lost.as_str()), "{collision}");
    }
    let count = |all: &Inventory| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for content in all.values() {
            *counts.entry(content.clone()).or_default() += 1;
        }
        counts
    };
    assert_eq!(
        count(before),
        count(after),
        "each file once, nothing lost, nothing new"
    );
    assert!(!site.path_of("tv/Tide.Pool").exists());
}

both_databases! {
    async fn a_merge_of_folders_that_is_killed_is_finished_and_loses_nothing(db: &TestDb) {
        let (dir, site) = (tempfile::tempdir().expect("a temporary directory"), two_folders());
        let mut dice = Dice::thrown();
        eprintln!("the dice: {}", dice.0);
        let before = inventory(&site.root);
        let shown = before.keys().filter(|path| path.starts_with("tv")).count();
        assert_eq!(shown, 500);
        let (mut server, mut admin) = start(dir.path(), db, &site).await;
        let family = family(&admin, &site).await;
        let members = family["members"].as_array().expect("a list");
        let folders: Vec<&Value> = members.iter().map(|member| &member["path"]).collect();
        assert_eq!(folders.len(), 2, "{family}");
        let stays = site.path_of("tv/Tide Pool (2003)").display().to_string();
        let is_staying = |member: &&Value| member["path"] == *stays;
        let canonical = members.iter().find(is_staying).expect("the folder that stays");
        let going = members.iter().find(|member| member["path"] != *stays).expect("the other one");
        let wish = json!({ "canonicalShowId": canonical["showId"], "duplicateShowIds": [going["showId"]] });
        let plan = admin.post("/api/media/shows/duplicates/preview", wish).await;
        assert_eq!(plan["blockers"], json!([]), "{plan}");
        let moved = plan["moves"].as_array().expect("a list").len();
        let collisions = plan["collisions"].as_array().expect("a list").len();
        assert_eq!(collisions, 50, "{plan}");
        assert!(moved > 150, "{moved} files move");

        let mut done = None;
        for number in 1..=KILLS {
            let target = (moved + collisions) * number / (KILLS + 1) + dice.below(10);
            let has_come = || count_new(&site.root, &before) >= target;
            done = merge(&mut server, &admin, &plan["planId"], has_come).await;
            eprintln!("killed at {} files", count_new(&site.root, &before));
            assert_whole(&before, &inventory(&site.root), &format!("killed at {target}"));
            server.kill();
            (server, admin) = start(dir.path(), db, &site).await;
            if done.is_some() {
                break;
            }
        }
        let was_cut = done.is_none();
        let done = match done {
            Some(done) => done,
            None => merge(&mut server, &admin, &plan["planId"], || false).await.expect("nobody kills it"),
        };
        assert!(was_cut, "the server was never killed in the middle: {done}");
        assert_eq!((&done["status"], &done["skipped"], &done["failed"]), (&json!("completed"), &json!(0), &json!(0)), "{done}");
        assert_eq!(done["deleted"], 1, "{done}");
        assert_merged(&plan, &before, &inventory(&site.root), &site);
        // It is done, and is not done again.
        let again = admin.send("POST", "/api/media/shows/duplicates/merge", Some(&json!({ "planId": plan["planId"] }))).await;
        assert_eq!(again.status, 409, "{}", again.text());
        // The library knows the files at their new places.
        let path = "/api/media/shows/duplicates";
        until("the library to know one show", || async {
            (admin.get(path).await["total"] == 0).then_some(())
        })
        .await;
        server.kill();
    }
}
