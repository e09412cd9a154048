//! Unusual contents of a disk: each has a clear outcome, and does not disturb the rest.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use qm_db::{Db, db_test};
use qm_media::model::library::Kind;
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};

use crate::testing::House;

/// Entries of the largest directory.
const MANY: usize = 5_000;

/// Folders in each other, with names that do not compress, and a file in the last one.
fn deep(house: &House, folders: usize) {
    let hold = OFlags::PATH | OFlags::DIRECTORY;
    let mut at = openat(CWD, house.root.join("tv"), hold, Mode::empty()).unwrap();
    let mut number = 1_u64;
    for _ in 0..folders {
        let mut name = String::new();
        while name.len() < 240 {
            number = number
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            write!(name, "{:08x}", number >> 32).unwrap();
        }
        mkdirat(&at, &*name, Mode::RWXU).unwrap();
        at = openat(&at, &*name, hold, Mode::empty()).unwrap();
        let flags = OFlags::CREATE | OFlags::WRONLY;
        openat(&at, "Deep.S01E01.mkv", flags, Mode::RUSR | Mode::WUSR).unwrap();
    }
}

db_test! {
    async fn an_awkward_disk_is_scanned_as_far_as_it_goes(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        house.file("tv/Good.S01E01.mkv", 1);
        let (tv, job) = house.library("tv", Kind::Tv).await;
        assert_eq!(house.ended(&job).await.0, "completed");
        let at = |path: &str| house.root.join("tv").join(path);
        // Links that lead in circles, out of the roots, and nowhere.
        std::fs::create_dir_all(at("Circle/a")).unwrap();
        symlink(at("Circle"), at("Circle/a/up")).unwrap();
        symlink(at("Circle/self.S01E01.mkv"), at("Circle/self.S01E01.mkv")).unwrap();
        symlink("/etc/passwd", at("Circle/out.S01E01.mkv")).unwrap();
        symlink(at("gone"), at("Circle/gone.S01E01.mkv")).unwrap();
        house.file("tv/Circle/a/In.S01E01.mkv", 2);
        // Names that are not UTF-8, of a folder and of a file.
        let odd = at("").join(OsStr::from_bytes(b"Odd \xff"));
        std::fs::create_dir(&odd).unwrap();
        std::fs::write(odd.join(OsStr::from_bytes(b"Odd.\xfe.S01E01.mkv")), "odd").unwrap();
        for number in 0..MANY {
            house.file(format!("tv/Many/Many.E{number:05}.mkv"), 1);
        }
        // A path of more than 4,096 bytes.
        deep(&house, 18);
        let (status, summary) = house.scans(&tv).await;
        // What lies too deep is told of.
        assert_eq!(status, "completed_with_warnings", "{summary}");
        let index = house.index(&tv).await;
        let of = |part: &str| index.keys().filter(|place| place.contains(part)).count();
        assert_eq!((of("Many/"), of("Circle/"), of("Good"), of("Deep")), (MANY, 1, 1, 10), "{summary}");
        let odd = qm_media_names::place::encode(b"Odd \xff/Odd.\xfe.S01E01.mkv");
        assert_eq!(index.get(&odd), Some(&3));
        // Again: nothing is another one, nothing is lost.
        let (status, summary) = house.scans(&tv).await;
        assert_eq!((&*status, summary["added"].as_u64(), summary["removed"].as_u64()),
            ("completed_with_warnings", Some(0), Some(0)), "{summary}");
        assert_eq!(house.index(&tv).await, index);
        house.stops().await;
    }
}
