//! Plans on real files: what they say, what becomes of them, and what stops them.

use std::fs;

use qm_db::{Db, db_test};
use serde_json::{Value, json};

use crate::testing::{Site, film, requester, resolving, torrent};

/// Two copies of a film, of which `b` is the better one, and their group.
async fn two_copies(db: &Db) -> (Site, String) {
    let site = Site::new(db).await;
    site.film("a", "Alien", "films/a/Alien.mkv", 100);
    site.film("b", "Alien", "films/b/Alien.mkv", 300);
    site.detect().await;
    let group = site.only_group().await;
    (site, group)
}

fn texts(list: &Value) -> String {
    let texts = list.as_array().unwrap().iter().map(|text| text.as_str().unwrap());
    texts.collect::<Vec<_>>().join("; ")
}

db_test! {
    async fn a_plan_puts_the_worse_copy_into_the_trash(db: Db) {
        let (site, group) = two_copies(&db).await;
        let plan = site.preview(&group).await;
        assert_eq!((&plan["keepItemId"], &plan["groupVersion"]), (&json!("b"), &json!(1)));
        assert_eq!(plan["keepPath"], site.place_of("films/b/Alien.mkv"));
        let action = json!({
            "itemId": "a", "actionType": "trash", "sourcePath": site.place_of("films/a/Alien.mkv"), "fileSize": 100,
            "linkCount": 1, "freesBytes": 100,
        });
        assert_eq!(plan["actions"], json!([action]));
        assert_eq!((&plan["expectedSavingsBytes"], &plan["blockers"], &plan["warnings"]), (&json!(100), &json!([]), &json!([])));
        assert_eq!(plan["orphanedSubtitles"], json!([]));
        assert!(site.exists("films/a/Alien.mkv"), "a preview deletes nothing");

        assert_eq!(site.refusal(&resolving(&plan), json!({ "permanent": true })).await, "400 bad_request.permanent");
        let done = site.resolve(&plan).await;
        assert_eq!(done["status"], "completed", "{done}");
        assert_eq!((&done["trashed"], &done["skipped"], &done["failed"], &done["reclaimedBytes"]), (&json!(1), &json!(0), &json!(0), &json!(100)));
        assert!(!site.exists("films/a/Alien.mkv") && site.exists("films/b/Alien.mkv"));
        assert_eq!(site.refusal(&resolving(&plan), json!({})).await, "409 conflict.plan_run");
        let seen = site.get(&format!("/{group}")).await;
        assert_eq!((&seen["status"], &seen["version"]), (&json!("resolved"), &json!(2)));
        assert_eq!(site.refusal(&format!("/{group}/preview"), json!({})).await, "409 conflict.duplicate_group_resolved");
        assert_eq!(site.journal(&plan).await, ("completed".to_owned(), vec!["completed".to_owned()]));

        let history = site.get("/trash/history").await;
        assert_eq!(history.as_array().unwrap().len(), 1, "{history}");
        assert_eq!((&history[0]["originalPath"], &history[0]["size"]), (&json!(site.place_of("films/a/Alien.mkv")), &json!(100)));
        assert_eq!((&history[0]["resolutionId"], &history[0]["restorable"]), (&plan["resolutionId"], &json!(true)));
        assert_eq!(site.audited().await, ["media.duplicates.preview success", "media.duplicates.resolved success"]);
        let overview = site.get("/overview").await;
        assert_eq!(overview["resolutions"], json!({ "completed": 1, "pending": 0 }));
        site.jobs.shutdown().await;
    }

    async fn hard_links_and_torrents_are_told_before(db: Db) {
        let site = Site::new(&db).await;
        site.film("keep", "Alien", "films/keep/Alien.mkv", 300);
        for name in ["linked", "twin1", "twin2", "half", "seeded"] {
            fs::create_dir_all(site.root.join("films").join(name)).unwrap();
        }
        let at = |name: &str| site.root.join("films").join(name).join("Alien.mkv");
        fs::hard_link(at("keep"), at("linked")).unwrap();
        fs::write(at("twin1"), vec![b'y'; 50]).unwrap();
        fs::hard_link(at("twin1"), at("twin2")).unwrap();
        fs::write(at("half"), vec![b'z'; 40]).unwrap();
        fs::hard_link(at("half"), site.root.join("elsewhere.mkv")).unwrap();
        fs::write(at("seeded"), vec![b'w'; 30]).unwrap();
        for (name, size) in [("linked", 300), ("twin1", 50), ("twin2", 50), ("half", 40), ("seeded", 30)] {
            let path = at(name).to_str().unwrap().to_owned();
            site.stock.items.lock().unwrap().push(film(name, "Alien", &path, size));
        }
        site.change("keep", |item| item.files[0].bitrate_kbps = Some(9999));
        let data = site.place_of("films/seeded");
        site.torrents.0.lock().unwrap().push(torrent("abc", &data));
        site.detect().await;
        let group = site.only_group().await;
        let plan = site.preview(&group).await;
        assert_eq!(plan["keepItemId"], "keep");
        let mut freed: Vec<(&str, u64)> = plan["actions"].as_array().unwrap().iter()
            .map(|action| (action["itemId"].as_str().unwrap(), action["freesBytes"].as_u64().unwrap())).collect();
        freed.sort_unstable();
        // Of the twins, the last name frees the bytes; the other name of `half` stays.
        assert_eq!(freed.iter().map(|(_, bytes)| bytes).sum::<u64>(), 80, "{freed:?}");
        assert_eq!(freed.iter().map(|(id, _)| *id).collect::<Vec<_>>(), ["half", "seeded", "twin1", "twin2"]);
        assert_eq!(plan["expectedSavingsBytes"], 80);
        let warnings = texts(&plan["warnings"]);
        assert!(warnings.contains("one file by a hard link") && warnings.contains("torrent abc (seeding)"), "{warnings}");
        let done = site.resolve(&plan).await;
        assert_eq!((&done["trashed"], &done["reclaimedBytes"]), (&json!(4), &json!(80)), "{done}");
        assert!(site.exists("films/linked/Alien.mkv") && site.exists("films/keep/Alien.mkv"));
        assert!(!site.exists("films/seeded/Alien.mkv") && site.exists("elsewhere.mkv"));
        site.jobs.shutdown().await;
    }

    async fn what_changed_since_the_preview_is_skipped(db: Db) {
        let site = Site::new(&db).await;
        for (id, bytes) in [("size", 10), ("same", 11), ("locked", 12), ("gone", 13), ("seeded", 14), ("moved", 15), ("good", 16), ("keep", 99)] {
            site.film(id, "Alien", &format!("films/{id}/Alien.mkv"), bytes);
        }
        site.detect().await;
        let group = site.only_group().await;
        let plan = site.preview(&group).await;
        assert_eq!(plan["actions"].as_array().unwrap().len(), 7);
        site.write("films/size/Alien.mkv", 20);
        fs::remove_file(site.root.join("films/same/Alien.mkv")).unwrap();
        site.write("films/same/Alien.mkv", 11);
        site.change("locked", |item| item.is_locked = true);
        fs::remove_file(site.root.join("films/gone/Alien.mkv")).unwrap();
        site.torrents.0.lock().unwrap().push(torrent("abc", &site.place_of("films/seeded/Alien.mkv")));
        site.change("moved", |item| item.files[0].path = "/elsewhere".to_owned());
        let done = site.resolve(&plan).await;
        assert_eq!((&done["status"], &done["trashed"], &done["skipped"]), (&json!("completed"), &json!(1), &json!(6)), "{done}");
        assert_eq!(done["reclaimedBytes"], 16);
        let (_, steps) = site.journal(&plan).await;
        let mut steps = steps;
        steps.sort();
        assert_eq!(steps, [
            "completed",
            "skipped the file belongs to another item now",
            "skipped the file has another size than in the preview",
            "skipped the file no longer exists",
            "skipped the file was changed or replaced since the preview",
            "skipped the item is locked",
            "skipped the torrent torrent abc uses it, which was not so in the preview",
        ]);
        for left in ["size", "same", "locked", "seeded", "moved", "keep"] {
            assert!(site.exists(&format!("films/{left}/Alien.mkv")), "{left}");
        }
        site.jobs.shutdown().await;
    }

    async fn nothing_goes_without_its_keeper(db: Db) {
        let (site, group) = two_copies(&db).await;
        let plan = site.preview(&group).await;
        let other = site.preview(&group).await;
        site.write("films/b/Alien.mkv", 299);
        assert_eq!(site.refusal(&resolving(&plan), json!({})).await, "409 conflict.keeper_changed");
        fs::remove_file(site.root.join("films/b/Alien.mkv")).unwrap();
        assert_eq!(site.refusal(&resolving(&other), json!({})).await, "409 conflict.keeper_missing");
        assert_eq!(site.journal(&plan).await, ("failed stale_plan".to_owned(), Vec::new()));
        assert_eq!(site.journal(&other).await, ("failed keeper_missing".to_owned(), Vec::new()));
        assert!(site.exists("films/a/Alien.mkv"));
        let blocked = site.preview(&group).await;
        assert!(texts(&blocked["blockers"]).contains("no longer exists"), "{blocked}");
        assert_eq!(site.refusal(&resolving(&blocked), json!({})).await, "400 bad_request.plan_blocked");
        assert_eq!(site.audited().await.last().unwrap(), "media.duplicates.preview failure");
        site.jobs.shutdown().await;
    }

    async fn a_plan_of_another_version_is_refused(db: Db) {
        let (site, group) = two_copies(&db).await;
        let keep_b = site.preview(&group).await;
        let keep_a = site.post(&format!("/{group}/preview"), json!({ "keepItemId": "a" })).await;
        site.change("a", |item| item.files[0].size = 101);
        site.detect().await;
        assert_eq!(site.refusal(&resolving(&keep_b), json!({})).await, "409 conflict.stale_plan");
        assert_eq!(site.journal(&keep_b).await.0, "failed stale_plan");
        // The first of two plans that contradict each other makes the other one stale.
        let keep_b = site.preview(&group).await;
        site.resolve(&keep_b).await;
        assert_eq!(site.refusal(&resolving(&keep_a), json!({})).await, "409 conflict.stale_plan");
        assert!(site.exists("films/b/Alien.mkv"));
        site.jobs.shutdown().await;
    }

    async fn one_copy_is_deleted_and_the_others_stay(db: Db) {
        let (site, group) = two_copies(&db).await;
        site.film("c", "Alien", "films/c/Alien.mkv", 200);
        site.detect().await;
        let path = format!("/{group}/preview-delete");
        let plan = site.post(&path, json!({ "deleteItemId": "b" })).await;
        assert_eq!((&plan["deleteItemId"], &plan["expectedSavingsBytes"]), (&json!("b"), &json!(300)));
        assert_eq!(plan["survivorPaths"].as_array().unwrap().len(), 2);
        // One survivor is enough.
        fs::remove_file(site.root.join("films/c/Alien.mkv")).unwrap();
        let done = site.resolve(&plan).await;
        assert_eq!((&done["status"], &done["trashed"]), (&json!("completed"), &json!(1)));
        assert!(!site.exists("films/b/Alien.mkv") && site.exists("films/a/Alien.mkv"));
        let seen = site.get(&format!("/{group}")).await;
        assert_eq!(seen["status"], "open", "a deletion of one resolves nothing");
        let again = site.post(&path, json!({ "deleteItemId": "a" })).await;
        assert!(texts(&again["blockers"]).contains("no copy that would stay"), "{again}");
        assert_eq!(site.refusal(&path, json!({})).await.split(' ').next(), Some("400"));
        assert_eq!(site.refusal(&path, json!({ "deleteItemId": "x" })).await, "400 bad_request.not_a_member");
        site.jobs.shutdown().await;
    }

    async fn one_file_that_two_items_name_is_never_its_own_duplicate(db: Db) {
        let site = Site::new(&db).await;
        site.film("a", "Alien", "films/Alien.mkv", 100);
        std::os::unix::fs::symlink(site.root.join("films"), site.root.join("also")).unwrap();
        let through = site.place_of("also/Alien.mkv");
        site.stock.items.lock().unwrap().push(film("b", "Alien", &through, 100));
        site.detect().await;
        let group = site.only_group().await;
        let plan = site.preview(&group).await;
        assert_eq!(plan["actions"], json!([]));
        assert!(texts(&plan["warnings"]).contains("listed twice"), "{plan}");
        assert!(texts(&plan["blockers"]).contains("nothing to delete"), "{plan}");
        let plan = site.post(&format!("/{group}/preview-delete"), json!({ "deleteItemId": "a" })).await;
        assert!(texts(&plan["blockers"]).contains("listed twice"), "{plan}");
        assert_eq!(site.refusal(&resolving(&plan), json!({})).await, "400 bad_request.plan_blocked");
        site.jobs.shutdown().await;
    }

    async fn previews_are_refused_where_nobody_can_choose(db: Db) {
        let (site, group) = two_copies(&db).await;
        let path = format!("/{group}/preview");
        assert_eq!(site.refusal("/nobody/preview", json!({})).await, "404 not_found.duplicate_group");
        assert_eq!(site.refusal(&path, json!({ "keepItemId": "x" })).await, "400 bad_request.not_a_member");
        assert_eq!(site.refusal(&path, json!({ "keep": "a" })).await.split(' ').next(), Some("400"));
        assert_eq!(site.refusal("/resolutions/nobody/resolve", json!({})).await, "404 not_found.duplicate_plan");
        site.change("a", |item| item.external_ids = vec![("titledb".to_owned(), "tt1".to_owned())]);
        site.change("b", |item| item.external_ids = vec![("titledb".to_owned(), "tt2".to_owned())]);
        site.detect().await;
        assert_eq!(site.refusal(&path, json!({})).await, "400 bad_request.needs_review");
        assert_eq!(site.post(&path, json!({ "keepItemId": "a" })).await["keepItemId"], "a");
        site.stock.items.lock().unwrap().retain(|item| item.id == "a");
        assert_eq!(site.refusal(&path, json!({ "keepItemId": "a" })).await, "400 bad_request.too_few_members");
        let (status, _) = site.send("POWER_USER", "POST", "/resolutions/x/resolve", Some(json!({}))).await;
        assert_eq!(status, 403);
        site.jobs.shutdown().await;
    }

    async fn a_file_outside_the_roots_is_never_touched(db: Db) {
        let (site, group) = two_copies(&db).await;
        let outside = tempfile::tempdir().unwrap();
        let path = outside.path().join("Alien.mkv");
        fs::write(&path, vec![b'x'; 100]).unwrap();
        site.change("a", |item| item.files[0].path = path.to_str().unwrap().to_owned());
        let plan = site.preview(&group).await;
        assert_eq!(plan["actions"], json!([]));
        assert_eq!(plan["blockers"].as_array().unwrap().len(), 1, "{plan}");
        let keeping = site.post(&format!("/{group}/preview"), json!({ "keepItemId": "a" })).await;
        assert!(texts(&keeping["blockers"]).contains("was to stay"), "{keeping}");
        site.jobs.shutdown().await;
    }

    async fn a_right_that_is_taken_ends_a_plan_between_two_files(db: Db) {
        let site = Site::new(&db).await;
        for (id, bytes) in [("a", 10), ("b", 20), ("c", 90)] {
            site.film(id, "Alien", &format!("films/{id}.mkv"), bytes);
        }
        site.detect().await;
        let group = site.only_group().await;
        let plan = site.preview(&group).await;
        // One for the plan, one for its first file.
        *site.trust.0.lock().unwrap() = 2;
        let done = site.app.resolve(requester(), plan["resolutionId"].as_str().unwrap()).await.unwrap();
        assert_eq!((done.status.as_str(), done.trashed), ("partial", 1));
        let (state, steps) = site.journal(&plan).await;
        assert_eq!((&*state, steps.len()), ("partial Your account is deactivated", 1));
        let left = ["films/a.mkv", "films/b.mkv"].iter().filter(|path| site.exists(path)).count();
        assert_eq!(left, 1);
        site.jobs.shutdown().await;
    }

    async fn a_plan_that_was_cut_off_is_settled_by_what_is_there(db: Db) {
        let (site, group) = two_copies(&db).await;
        let before = site.preview(&group).await;
        let after = site.preview(&group).await;
        let waiting = site.preview(&group).await;
        site.cut_off(&before, 0).await;
        site.app.keep_up().await.unwrap();
        assert_eq!(site.journal(&before).await, ("failed interrupted by a restart".to_owned(), vec!["failed interrupted by a restart".to_owned()]));
        assert_eq!(site.journal(&waiting).await.0, "pending");
        site.cut_off(&after, 0).await;
        fs::remove_file(site.root.join("films/a/Alien.mkv")).unwrap();
        site.app.keep_up().await.unwrap();
        assert_eq!(site.journal(&after).await, ("partial interrupted by a restart".to_owned(), vec!["completed".to_owned()]));
        assert_eq!(site.refusal(&resolving(&waiting), json!({})).await, "409 conflict.stale_plan");
        site.jobs.shutdown().await;
    }
}
