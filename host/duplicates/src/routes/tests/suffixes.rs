//! Repair of names with `[dupN]`.

use std::fs;

use qm_db::{Db, db_test};
use serde_json::{Value, json};

use crate::testing::{Site, torrent};

db_test! {
    async fn plain_names_come_back_where_they_are_free(db: Db) {
        let site = Site::new(&db).await;
        for (id, below) in [
            ("free", "f/Alien [dup2].mkv"), ("taken", "f/Heat [dup2].mkv"), ("locked", "f/Ran [dup2].mkv"),
            ("gone", "f/Ikiru [dup2].mkv"), ("folder", "f [dup2]/M.mkv"), ("seeded", "f/Rio [dup3].mkv"), ("plain", "f/Other.mkv"),
        ] {
            site.film(id, id, below, 10);
        }
        for beside in ["f/Alien [dup2].en.srt", "f/Alien [dup2]-poster.jpg", "f/Alien [dup2]x.txt", "f/Alien [dup2].nfo", "f/Alien.nfo", "f/Heat.mkv"] {
            site.write(beside, 3);
        }
        site.change("locked", |item| item.is_locked = true);
        fs::remove_file(site.root.join("f/Ikiru [dup2].mkv")).unwrap();
        site.torrents.0.lock().unwrap().push(torrent("abc", &site.place_of("f/Rio [dup3].mkv")));
        let reasons = |answer: &Value| {
            let mut reasons: Vec<String> = answer["details"].as_array().unwrap().iter()
                .map(|detail| format!("{}: {}", detail["itemId"].as_str().unwrap(), detail["reason"].as_str().unwrap_or("-")))
                .collect();
            reasons.sort();
            reasons
        };
        let expected = [
            "folder: no [dupN] suffix on the file",
            "free: -",
            "gone: the file no longer exists",
            "locked: item is locked",
            "seeded: the torrent torrent abc uses it",
            "taken: canonical name is taken",
        ];
        let dry = site.ask(201, "POST", "/restore-suffixes?dryRun=true", None).await;
        assert_eq!(reasons(&dry), expected);
        assert!(site.exists("f/Alien [dup2].mkv"));
        let done = site.ask(201, "POST", "/restore-suffixes", None).await;
        assert_eq!(reasons(&done), expected);
        assert_eq!((&done["scanned"], &done["restored"], &done["skipped"]), (&json!(6), &json!(1), &json!(5)));
        for there in ["f/Alien.mkv", "f/Alien.en.srt", "f/Alien-poster.jpg", "f/Alien [dup2]x.txt", "f/Alien [dup2].nfo", "f/Heat [dup2].mkv"] {
            assert!(site.exists(there), "{there}");
        }
        assert_eq!(fs::metadata(site.root.join("f/Alien.nfo")).unwrap().len(), 3);
        assert_eq!(site.audited().await, ["media.duplicates.suffix_restored success"]);
        let (status, _) = site.send("USER", "POST", "/restore-suffixes", None).await;
        assert_eq!(status, 403);
        site.jobs.shutdown().await;
    }

    async fn a_file_that_stays_gets_its_plain_name_back(db: Db) {
        let site = Site::new(&db).await;
        site.film("a", "Alien", "f/Alien.mkv", 100);
        site.film("b", "Alien", "f/Alien [dup2].mkv", 300);
        site.detect().await;
        let group = site.only_group().await;
        let plan = site.preview(&group).await;
        assert_eq!(plan["keepItemId"], "b");
        assert_eq!(site.resolve(&plan).await["status"], "completed");
        assert!(!site.exists("f/Alien [dup2].mkv"));
        assert_eq!(fs::metadata(site.root.join("f/Alien.mkv")).unwrap().len(), 300);
        site.jobs.shutdown().await;
    }
}
