//! Scans of what others did to files of a library.

use qm_db::{Db, db_test};
use qm_media::model::library::Kind;

use crate::testing::{Completed, House, Moved};

db_test! {
    async fn what_others_did_is_scanned_where_they_did_it(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        for file in ["A/a.S01E01.mkv", "A/a.S01E02.mkv", "B/b.S01E01.mkv", "C/c.S01E01.mkv"] {
            house.file(format!("tv/{file}"), 1);
        }
        let (tv, job) = house.library("tv", Kind::Tv).await;
        house.ended(&job).await;
        let at = |place: &str| house.root.join("tv").join(place).to_str().unwrap().to_owned();
        // Two moves within one folder, a third one out of it; somewhere else something is new that nobody told of.
        for (from, to) in [("A/a.S01E01.mkv", "A/x.S01E01.mkv"), ("A/a.S01E02.mkv", "B/a.S01E02.mkv")] {
            std::fs::rename(at(from), at(to)).unwrap();
        }
        house.file("tv/C/untold.S01E02.mkv", 1);
        let before = house.scan_jobs().await;
        for (from, to) in [("A/a.S01E01.mkv", "A/x.S01E01.mkv"), ("A/a.S01E02.mkv", "B/a.S01E02.mkv")] {
            house.tells(&Moved { from: at(from), to: at(to) }).await;
        }
        house.tells(&Moved { from: "/elsewhere/a.mkv".to_owned(), to: at("../up.mkv") }).await;
        let asked = house.scan_jobs().await.len() - before.len();
        assert!((2..=3).contains(&asked), "one a folder, or one more where the second turned meanwhile: {asked}");
        house.all_ended().await;
        let index: Vec<String> = house.index(&tv).await.into_keys().collect();
        assert_eq!(index, ["A/x.S01E01.mkv", "B/a.S01E02.mkv", "B/b.S01E01.mkv", "C/c.S01E01.mkv"]);
        // A download that is whole: what lies in its folder is looked at, though the folder did not change.
        house.file("tv/C/c.S01E01.mkv", 7);
        house.tells(&Completed { content_path: at("C") }).await;
        house.all_ended().await;
        let index = house.index(&tv).await;
        assert_eq!((index.get("C/c.S01E01.mkv"), index.contains_key("C/untold.S01E02.mkv")), (Some(&7), true));
        house.stops().await;
    }
}
