//! Families, plans and merges over real folders.

use std::fs;

use qm_db::{Db, db_test};
use serde_json::{Value, json};

use crate::testing::{Site, id_of, torrent};

/// Two folders of one show: an episode in both, one of each alone, and files beside them.
async fn two_folders(db: &Db) -> (Site, String, String) {
    let site = Site::new(db).await;
    let stays = site.show(
        1,
        "The Wire (2002)",
        "the wire",
        &[
            ("Season 1/The Wire S01E01.mkv", 500),
            ("Season 1/The Wire S01E01.en.srt", 1),
            ("Season 1/The Wire S01E02.mkv", 400),
            ("Season 1/The Wire S01E03.mkv", 300),
            ("poster.jpg", 20),
        ],
    );
    let goes = site.show(
        2,
        "The.Wire",
        "the wire",
        &[
            ("the.wire.s01e01.mkv", 450),
            ("the.wire.s01e01.en.srt", 1),
            ("the.wire.s01e01.de.srt", 2),
            ("the.wire.s01e04.mkv", 600),
            ("the.wire.s01e04.nfo", 3),
            ("tvshow.nfo", 7),
            (".hidden/the.wire.s01e09.mkv", 9),
        ],
    );
    (site, stays, goes)
}

fn texts(list: &Value) -> Vec<&str> {
    let texts = list.as_array().unwrap().iter();
    texts.map(|text| text.as_str().unwrap()).collect()
}

fn keys(id: &str, others: &[&str]) -> Value {
    json!({ "canonicalShowId": id, "duplicateShowIds": others })
}

/// Two folders with so many episodes that only the second one has, and subtitles beside them; a plan to merge them.
async fn many_episodes(db: &Db, count: usize) -> (Site, Value) {
    let site = Site::new(db).await;
    let stays = site.show(1, "Lost (2004)", "lost", &[("Lost S01E01.mkv", 9)]);
    let goes = site.show(
        2,
        "Lost",
        "lost",
        &[("Lost S01E01.mkv", 5), ("Lost S01E01.fr.srt", 4)],
    );
    for episode in 2..count + 2 {
        site.write(&format!("tv/Lost/Season 1/Lost S01E{episode:02}.mkv"), episode);
        site.write(&format!("tv/Lost/Season 1/Lost S01E{episode:02}.en.srt"), 1);
    }
    let plan = site.preview(&stays, &[&goes]).await;
    assert_eq!(plan["blockers"], json!([]), "{plan}");
    (site, plan)
}

/// Inventory after the merge of [`many_episodes`].
fn merged(count: usize) -> Vec<String> {
    let mut wanted = vec![
        "Lost (2004)/Lost S01E01.mkv 9".to_owned(),
        "Lost (2004)/Lost S01E01.fr.srt 4".to_owned(),
    ];
    for episode in 2..count + 2 {
        wanted.push(format!("Lost (2004)/Lost S01E{episode:02}.mkv {episode}"));
        wanted.push(format!("Lost (2004)/Lost S01E{episode:02}.en.srt 1"));
    }
    wanted.sort();
    wanted
}

db_test! {
    async fn families_are_listed_with_what_their_folders_hold(db: Db) {
        let (site, stays, goes) = two_folders(&db).await;
        let _ = site.show(3, "Alone", "alone", &[("Alone S01E01.mkv", 1)]);
        let page = site.ask(200, "GET", "", None).await;
        assert_eq!((&page["total"], &page["limit"], &page["truncated"]), (&json!(1), &json!(25), &json!(false)));
        let family = &page["families"][0];
        assert_eq!((&family["reason"], &family["needsReview"], &family["reviewReason"]), (&json!("name"), &json!(false), &Value::Null));
        assert_eq!(texts(&family["collidingEpisodes"]), ["s1e1"]);
        assert_eq!(family["suggestedCanonicalShowId"], json!(stays));
        let (first, second) = (&family["members"][0], &family["members"][1]);
        assert_eq!((&first["showId"], &first["videoCount"], &first["sizeBytes"]), (&json!(stays), &json!(3), &json!(1221)));
        assert_eq!(first["sidecars"], json!({ "subtitles": 1, "nfo": 0, "artwork": 1, "other": 0 }));
        assert_eq!((&second["showId"], &second["videoCount"], &second["watchlistCount"]), (&json!(goes), &json!(2), &json!(0)));
        assert_eq!((texts(&second["episodes"]), texts(&second["uniqueEpisodes"])), (vec!["s1e1", "s1e4"], vec!["s1e4"]));
        let none = site.ask(200, "GET", "?libraryId=other&limit=many", None).await;
        assert_eq!((&none["total"], &none["limit"]), (&json!(0), &json!(25)));
        let _ = site.show(4, "alone", "alone", &[]);
        let one = site.ask(200, "GET", "?limit=1", None).await;
        assert_eq!((&one["total"], &one["truncated"], one["families"].as_array().unwrap().len()), (&json!(2), &json!(true), 1));
        site.jobs.shutdown().await;
    }

    async fn a_merge_moves_what_is_missing_and_puts_the_rest_into_the_trash(db: Db) {
        let (site, stays, goes) = two_folders(&db).await;
        let before = site.inventory();
        let plan = site.preview(&stays, &[&goes]).await;
        assert_eq!((&plan["blockers"], &plan["warnings"]), (&json!([]), &json!([])), "{plan}");
        assert_eq!(plan["canonical"]["showId"], json!(stays));
        assert_eq!(plan["duplicates"][0]["path"], json!(site.place_of("tv/The.Wire")));
        let collision = &plan["collisions"][0];
        assert_eq!((&collision["key"], &collision["season"], &collision["episode"]), (&json!("s1e1"), &json!(1), &json!(1)));
        assert_eq!((&collision["winner"], &collision["chosenByOperator"]), (&json!("existing"), &json!(false)));
        assert_eq!(collision["trashed"], json!(site.place_of("tv/The.Wire/the.wire.s01e01.mkv")));
        assert_eq!(plan["moves"].as_array().unwrap().len(), 3, "{plan}");
        assert_eq!(plan["rescuedSubtitles"][0]["language"], "de");
        assert_eq!(texts(&plan["deletions"]), [site.place_of("tv/The.Wire")]);
        assert_eq!(plan["expectedFreedBytes"], json!(450 + 1 + 7));
        assert_eq!(site.inventory(), before, "a preview touches nothing");

        let done = site.merge(&plan).await;
        assert_eq!(done["status"], "completed", "{done}");
        let numbers = ["moved", "trashed", "rescued", "deleted", "skipped", "failed", "rebound"].map(|name| done[name].as_i64().unwrap());
        assert_eq!(numbers, [2, 2, 1, 1, 0, 0, 0], "{done}");
        assert_eq!((&done["reclaimedBytes"], &done["libraryId"], &done["rescanJobId"]), (&json!(458), &json!("tv"), &json!("job")));
        assert_eq!(done["serverRefresh"], json!({ "refreshed": 1, "failed": 1 }));
        assert_eq!(
            site.inventory(),
            [
                "The Wire (2002)/Season 1/The Wire S01E01.de.srt 2", "The Wire (2002)/Season 1/The Wire S01E01.en.srt 1",
                "The Wire (2002)/Season 1/The Wire S01E01.mkv 500", "The Wire (2002)/Season 1/The Wire S01E02.mkv 400",
                "The Wire (2002)/Season 1/The Wire S01E03.mkv 300", "The Wire (2002)/poster.jpg 20",
                "The Wire (2002)/the.wire.s01e04.mkv 600", "The Wire (2002)/the.wire.s01e04.nfo 3",
            ]
        );
        assert_eq!(site.count_trashed(), 3, "two files and a folder");
        let left: Vec<String> = site.shelf.shows.lock().unwrap().iter().map(|show| show.id.clone()).collect();
        assert_eq!(left, [stays]);
        assert_eq!(*site.shelf.scans.lock().unwrap(), ["tv"]);
        assert_eq!(site.audited().await, ["media.shows.merge_preview success", "media.shows.merged success"]);
        assert_eq!(site.refusal("/merge", json!({ "planId": plan["planId"] })).await, "409 conflict.plan_run");
        assert_eq!(site.journal(&plan).await, ("completed".to_owned(), vec!["completed".to_owned(); 6]));
        site.jobs.shutdown().await;
    }

    async fn requests_that_make_no_sense_are_refused(db: Db) {
        let (site, stays, goes) = two_folders(&db).await;
        let nobody = id_of(99);
        let other = site.show(3, "Elsewhere", "the wire", &[]);
        site.shelf.shows.lock().unwrap()[2].library_id = "other".to_owned();
        for (body, refusal) in [
            (keys(&stays, &[&stays]), "400 bad_request.into_itself"),
            (keys(&stays, &[&other]), "400 bad_request.other_library"),
            (keys(&nobody, &[&goes]), "404 not_found.show"),
            (keys(&stays, &[&nobody]), "404 not_found.show"),
        ] {
            assert_eq!(site.refusal("/preview", body.clone()).await, refusal, "{body}");
        }
        let many: Vec<String> = (0..51).map(|number| id_of(number + 10)).collect();
        for body in [
            keys("nobody", &[&goes]), keys(&stays, &["nobody"]), keys(&stays, &[]), json!({ "canonicalShowId": stays, "duplicateShowIds": many }),
            json!({ "canonicalShowId": stays, "duplicateShowIds": [goes], "more": 1 }),
            json!({ "canonicalShowId": stays, "duplicateShowIds": [goes], "collisionChoices": { "s1e1": 7 } }),
        ] {
            let (status, said) = site.send("ADMINISTRATOR", "POST", "/preview", Some(body.clone())).await;
            assert_eq!(status, 400, "{body}: {said}");
        }
        assert_eq!(site.refusal("/merge", json!({ "planId": nobody })).await, "404 not_found.merge_plan");
        let plan = site.preview(&stays, &[&goes]).await;
        for role in ["READ_ONLY", "POWER_USER"] {
            let (status, said) = site.send(role, "POST", "/merge", Some(json!({ "planId": plan["planId"] }))).await;
            assert_eq!(status, 403, "{role}: {said}");
        }
        site.jobs.shutdown().await;
    }

    async fn folders_of_other_names_are_merged_by_people_who_say_so(db: Db) {
        let site = Site::new(&db).await;
        let stays = site.show(1, "Tatort", "tatort", &[("Tatort S01E01.mkv", 1)]);
        let goes = site.show(2, "Crime Scene", "crime scene", &[("Crime Scene S01E02.mkv", 1)]);
        let plan = site.preview(&stays, &[&goes]).await;
        assert_eq!(texts(&plan["blockers"]).len(), 1, "{plan}");
        assert_eq!(site.refusal("/merge", json!({ "planId": plan["planId"] })).await, "400 bad_request.plan_blocked");
        let mut body = keys(&stays, &[&goes]);
        body["acknowledgeMetadataConflict"] = json!(true);
        let plan = site.ask(201, "POST", "/preview", Some(body)).await;
        assert_eq!(site.merge(&plan).await["status"], "completed");
        assert_eq!(site.inventory(), ["Tatort/Crime Scene S01E02.mkv 1", "Tatort/Tatort S01E01.mkv 1"]);
        assert_eq!(site.audited().await[0], "media.shows.merge_preview failure");
        site.jobs.shutdown().await;
    }

    async fn a_plan_whose_folders_changed_is_refused(db: Db) {
        let (site, stays, goes) = two_folders(&db).await;
        let plan = site.preview(&stays, &[&goes]).await;
        site.write("tv/The.Wire/the.wire.s01e05.mkv", 8);
        let before = site.inventory();
        assert_eq!(site.refusal("/merge", json!({ "planId": plan["planId"] })).await, "409 conflict.stale_plan");
        assert_eq!((site.inventory(), site.count_trashed()), (before, 0));
        assert_eq!(site.journal(&plan).await, ("failed stale_plan".to_owned(), Vec::new()));
        assert_eq!(site.refusal("/merge", json!({ "planId": plan["planId"] })).await, "409 conflict.plan_run");
        site.jobs.shutdown().await;
    }

    async fn places_that_are_taken_are_told_before(db: Db) {
        let (site, stays, goes) = two_folders(&db).await;
        // No file, and so not seen by the walk.
        fs::create_dir(site.root.join("tv/The Wire (2002)/the.wire.s01e04.mkv")).unwrap();
        let plan = site.preview(&stays, &[&goes]).await;
        assert_eq!(texts(&plan["blockers"]).len(), 1, "{plan}");
        // What is written between the preview and the merge, unseen by the walk, is not replaced.
        fs::remove_dir(site.root.join("tv/The Wire (2002)/the.wire.s01e04.mkv")).unwrap();
        let plan = site.preview(&stays, &[&goes]).await;
        fs::create_dir(site.root.join("tv/The Wire (2002)/the.wire.s01e04.mkv")).unwrap();
        let done = site.merge(&plan).await;
        assert_eq!((&done["status"], &done["deleted"], &done["skipped"]), (&json!("completed"), &json!(0), &json!(3)), "{done}");
        assert!(site.root.join("tv/The.Wire/the.wire.s01e04.mkv").is_file(), "its folder stays with it");
        assert!(site.root.join("tv/The.Wire/the.wire.s01e04.nfo").is_file(), "so does what is beside it");
        assert_eq!(site.shelf.shows.lock().unwrap().len(), 2);
        site.jobs.shutdown().await;
    }

    async fn a_library_in_a_folder_keeps_it_although_it_has_no_show(db: Db) {
        let (site, stays, goes) = two_folders(&db).await;
        *site.shelf.directories.lock().unwrap() = vec![site.place_of("tv"), site.place_of("tv/The.Wire/.hidden/")];
        let plan = site.preview(&stays, &[&goes]).await;
        let blockers = texts(&plan["blockers"]);
        assert!(blockers.len() == 1 && blockers[0].starts_with("the directory of a library"), "{plan}");
        site.jobs.shutdown().await;
    }

    async fn a_file_that_was_locked_since_the_preview_stays_with_those_beside_it(db: Db) {
        let (site, stays, goes) = two_folders(&db).await;
        let plan = site.preview(&stays, &[&goes]).await;
        site.shelf.locked.lock().unwrap().push(site.place_of("tv/The.Wire/the.wire.s01e01.mkv"));
        let done = site.merge(&plan).await;
        let numbers = ["moved", "trashed", "rescued", "deleted", "skipped", "failed"].map(|name| done[name].as_i64().unwrap());
        assert_eq!(numbers, [2, 0, 0, 0, 4, 0], "{done}");
        for name in ["the.wire.s01e01.mkv", "the.wire.s01e01.en.srt", "the.wire.s01e01.de.srt"] {
            assert!(site.root.join("tv/The.Wire").join(name).is_file(), "{name}");
        }
        site.jobs.shutdown().await;
    }

    async fn torrents_are_told_and_new_ones_keep_their_files(db: Db) {
        let (site, stays, goes) = two_folders(&db).await;
        site.torrents.0.lock().unwrap().push(torrent("told", &site.place_of("tv/The.Wire/the.wire.s01e01.mkv")));
        let plan = site.preview(&stays, &[&goes]).await;
        let warnings = texts(&plan["warnings"]);
        assert!(warnings.len() == 1 && warnings[0].contains("torrent told"), "{plan}");
        site.torrents.0.lock().unwrap().push(torrent("new", &site.place_of("tv/The.Wire/the.wire.s01e04.mkv")));
        let done = site.merge(&plan).await;
        assert_eq!((&done["trashed"], &done["moved"], &done["deleted"]), (&json!(2), &json!(0), &json!(0)), "{done}");
        assert!(site.root.join("tv/The.Wire/the.wire.s01e04.mkv").is_file());
        assert!(!site.root.join("tv/The.Wire/the.wire.s01e01.mkv").exists());
        let (_, steps) = site.journal(&plan).await;
        assert!(steps.iter().any(|step| step.contains("torrent new uses it")), "{steps:?}");
        site.jobs.shutdown().await;
    }

    async fn a_right_that_is_taken_ends_the_merge(db: Db) {
        let (site, plan) = many_episodes(&db, 5).await;
        // For the request, and for three steps.
        *site.trust.0.lock().unwrap() = 4;
        let done = site.merge(&plan).await;
        assert_eq!(done["status"], "partial", "{done}");
        assert_eq!((&done["trashed"], &done["rescued"], &done["moved"]), (&json!(1), &json!(1), &json!(1)));
        let (status, steps) = site.journal(&plan).await;
        assert!(status.starts_with("partial ") && steps.len() == 3, "{status} {steps:?}");
        assert_eq!(site.audited().await[1], "media.shows.merged failure");
        *site.trust.0.lock().unwrap() = usize::MAX;
        assert_eq!(site.refusal("/merge", json!({ "planId": plan["planId"] })).await, "409 conflict.plan_run");
        site.jobs.shutdown().await;
    }

    async fn a_merge_that_a_crash_cut_off_is_settled_and_finished(db: Db) {
        const EPISODES: usize = 12;
        // Killed behind the effect of a step and before its row ends, and between the row and the effect.
        for (done, is_noted) in [(1, true), (2, true), (17, true), (0, false), (1, false), (2, false), (20, false)] {
            let (site, plan) = many_episodes(&db, EPISODES).await;
            *site.trust.0.lock().unwrap() = 1 + done;
            let _ = site.merge(&plan).await;
            *site.trust.0.lock().unwrap() = usize::MAX;
            let position = if is_noted { done - 1 } else { done };
            site.cut_off(&plan, position as i64, is_noted).await;
            assert_eq!(site.refusal("/merge", json!({ "planId": plan["planId"] })).await, "409 conflict.plan_run");
            site.app.keep_up().await.unwrap();
            let (status, steps) = site.journal(&plan).await;
            assert_eq!((&*status, steps.len()), ("interrupted interrupted by a restart", done), "{done} {is_noted}");
            let end = site.merge(&plan).await;
            assert_eq!(end["status"], "completed", "{done} {is_noted}: {end}");
            assert_eq!((&end["moved"], &end["deleted"], &end["failed"]), (&json!(2 * EPISODES), &json!(1), &json!(0)));
            assert_eq!(site.inventory(), merged(EPISODES), "{done} {is_noted}");
            site.jobs.shutdown().await;
        }
    }

    async fn a_merge_is_not_settled_without_its_disk(db: Db) {
        let (site, plan) = many_episodes(&db, 3).await;
        *site.trust.0.lock().unwrap() = 2;
        let _ = site.merge(&plan).await;
        *site.trust.0.lock().unwrap() = usize::MAX;
        site.cut_off(&plan, 1, false).await;
        let (there, away) = (site.root.join("tv"), site.root.join("away"));
        fs::rename(&there, &away).unwrap();
        site.app.keep_up().await.unwrap();
        assert!(site.journal(&plan).await.0.starts_with("running"), "everything seems to be gone");
        fs::rename(&away, &there).unwrap();
        site.app.keep_up().await.unwrap();
        assert!(site.journal(&plan).await.0.starts_with("interrupted"));
        assert_eq!(site.merge(&plan).await["status"], "completed");
        assert_eq!(site.inventory(), merged(3));
        site.jobs.shutdown().await;
    }

    async fn old_plans_go_and_few_of_a_show_wait(db: Db) {
        let (site, stays, goes) = two_folders(&db).await;
        let first = site.preview(&stays, &[&goes]).await;
        for _ in 0..5 {
            let _ = site.preview(&stays, &[&goes]).await;
        }
        assert_eq!(site.refusal("/merge", json!({ "planId": first["planId"] })).await, "404 not_found.merge_plan");
        let last = site.preview(&stays, &[&goes]).await;
        site.clock.advance(std::time::Duration::from_hours(8 * 24));
        site.app.keep_up().await.unwrap();
        assert_eq!(site.refusal("/merge", json!({ "planId": last["planId"] })).await, "404 not_found.merge_plan");
        site.jobs.shutdown().await;
    }
}
