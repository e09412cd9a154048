//! Names that are awkward, one by one.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;

use super::*;

db_test! {
    async fn awkward_names_go_there_and_back(db: Db) {
        let house = House::new(&db);
        let long = format!("Show.S01E09.{}.mkv", "x".repeat(255 - 16));
        assert_eq!(long.len(), 255);
        let names: Vec<&[u8]> = vec![
            long.as_bytes(),
            "Se\u{301}rie.S01E01.mkv".as_bytes(),
            "S\u{e9}rie.S01E01.mkv".as_bytes(),
            b"Show.S01E02. .mkv",
            b"Show.S01E03...mkv",
            b"SHOW.S01E04.mkv",
            b"show.s01e04.mkv",
            "Show.S01E05 \u{1f3ac}\u{1f468}\u{200d}\u{1f469}.mkv".as_bytes(),
            b"caf\xe9.S01E06.mkv",
            b"a\nb.S01E07.mkv",
            b"Show.S01E08.mkv ",
            b"-rf.S01E09.mkv",
        ];
        fs::create_dir(house.root.join("dl")).unwrap();
        for name in &names {
            fs::write(house.root.join("dl").join(OsStr::from_bytes(name)), name).unwrap();
        }
        let before = house.inventory();
        for mode in ["rename_move", "copy", "hardlink", "symlink"] {
            let outcome = apply(&house, "dl", mode).await;
            assert_eq!(outcome.failed, 0, "{mode}: {outcome:?}");
            assert!(outcome.applied >= 10, "{mode}: {outcome:?}");
            let after = house.inventory();
            let contents: BTreeSet<&String> = after.values().collect();
            assert!(before.values().all(|content| contents.contains(content)), "{mode}");
            let _ = undo_all(&house).await;
            assert_eq!(house.inventory(), before, "{mode}");
        }
    }

    async fn two_files_that_are_written_alike_stay(db: Db) {
        let house = House::new(&db);
        fs::create_dir(house.root.join("dl")).unwrap();
        for byte in [0xe8_u8, 0xe9] {
            let name = [b"Show.S01E01.".as_slice(), &[byte], b".mkv"].concat();
            fs::write(house.root.join("dl").join(OsStr::from_bytes(&name)), [byte]).unwrap();
        }
        let outcome = apply(&house, "dl", "rename_move").await;
        assert_eq!((outcome.applied, outcome.skipped, outcome.problems.len()), (0, 1, 1), "{outcome:?}");
        assert_eq!(house.inventory().len(), 2);
    }

    async fn names_are_given_up_before_they_are_taken(db: Db) {
        let house = House::new(&db);
        // The second gets the name of the first.
        house.write("tv/Show/Season 1/Show - S01E01.mkv", "is S01E02");
        house.write("tv/Show/Season 1/Show.S01E01.mkv", "is S01E01");
        let first = house.root.join("tv/Show/Season 1/Show - S01E01.mkv");
        let node = fs::metadata(&first).unwrap().ino();
        let mut wanted = house.wanted("tv", "rename_in_place");
        wanted.request.template = Some("{Series Title}/Season {season}/{Series Title} - S{season:00}E{episode:00}.{ext}".to_owned());
        let outcome = house.app.apply(&admin(), wanted).await.unwrap().outcome;
        assert_eq!(outcome.failed, 0, "{outcome:?}");
        assert_eq!(fs::metadata(&first).unwrap().ino(), node, "one that has its name keeps it");
        assert_eq!(house.inventory().len(), 2);
        let _ = undo_all(&house).await;
        assert!(house.root.join("tv/Show/Season 1/Show.S01E01.mkv").exists());
    }

    async fn what_travels_with_a_video_follows_it(db: Db) {
        let house = House::new(&db);
        for name in ["Show.S01E01.mkv", "Show.S01E01.en.srt", "Show.S01E01.nfo", "Show.S01E01-thumb.jpg", "Show.S01E02.mkv", "Show.S01E02.nfo"] {
            house.write(&format!("dl/{name}"), name);
        }
        let outcome = apply(&house, "dl/Show.S01E01.mkv", "rename_move").await;
        assert_eq!((outcome.applied, outcome.failed), (4, 0), "{outcome:?}");
        for name in ["Show - S01E01.mkv", "Show - S01E01.en.srt", "Show - S01E01.nfo", "Show - S01E01-thumb.jpg"] {
            assert!(house.root.join("tv/Show/Season 1").join(name).exists(), "{name}");
        }
        assert!(house.root.join("dl/Show.S01E02.mkv").exists() && house.root.join("dl/Show.S01E02.nfo").exists());
    }
}
