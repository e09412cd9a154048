//! Probing of files, and the treatment of files in which nothing is found.

use std::io::Write;
use std::time::Duration;

use qm_db::{Db, db_test};
use qm_kernel::{Ctx, PageQuery, Timestamp};
use qm_media::model::item::{Filter, MediaFile};
use qm_media::model::library::{Kind, MediaLibrary};
use qm_media::service::Pace;
use qm_probe::Prober;
use qm_probe::repo::probes;

use super::Library;
use crate::repo::testing::{FORGET_TRACKS, PROBED_ONCE, change_all, count_tracked};
use crate::testing::{House, film};

fn write(house: &House, path: &str, bytes: &[u8]) {
    house.file(path, 0);
    std::fs::write(house.root.join(path), bytes).unwrap();
}

/// A house whose files something else looks into, which tries again at once.
fn house(db: &Db, script: Option<&str>) -> (House, tempfile::TempDir) {
    let home = tempfile::tempdir().unwrap();
    let mut prober = Prober {
        again: Duration::ZERO,
        ..Prober::default()
    };
    if let Some(script) = script {
        prober.command = vec!["sh".into(), "-c".into(), script.into()];
    }
    let root = home.path().canonicalize().unwrap();
    (House::probed(db, root, Pace::default(), prober), home)
}

async fn files(house: &House, library: &MediaLibrary) -> Vec<MediaFile> {
    let filter = Filter {
        library_id: Some(library.id.clone()),
        ..Filter::default()
    };
    let page = PageQuery {
        page: 1,
        page_size: 500,
    };
    let (mut items, _) = house.app.catalogue.items(&filter, page).await.unwrap();
    items.sort_by(|(a, ..), (b, ..)| a.place.cmp(&b.place));
    items.into_iter().map(|(_, file, _)| file).collect()
}

fn now() -> Timestamp {
    Ctx::system().now()
}

async fn probes(app: &Library) -> usize {
    app.probing.probe_some().await.unwrap()
}

db_test! {
    async fn what_files_hold_is_found_by_the_real_tool(db: Db) {
        let (house, _home) = house(&db, None);
        house.starts_jobs().await;
        write(&house, "films/-Tide.2003.720p.avi", &film(1920, 1080));
        write(&house, "films/Wave (2004)/Wave.2004.avi", &film(640, 272));
        write(&house, "films/no film.mkv", b"nothing");
        // A playlist would have the tool ask for what it names.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let list = format!("#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nhttp://{}/a.ts\n", listener.local_addr().unwrap());
        write(&house, "films/playlist.mkv", list.as_bytes());
        let (library, job) = house.library("films", Kind::Movie).await;
        house.ended(&job).await;
        assert_eq!(probes(&house.app).await, 4);
        let found = files(&house, &library).await;
        let [tide, wave, nothing, playlist] = &found[..] else { panic!("{found:#?}") };
        let is_probed = |file: &MediaFile| file.probed_at.is_some() && file.probe_error.is_none() && file.probe_attempts == 1;
        assert!(is_probed(tide) && is_probed(wave), "{tide:#?}");
        assert_eq!((tide.measured.width, tide.measured.height), (Some(1920), Some(1080)));
        assert_eq!((tide.measured.duration_sec, tide.measured.frame_rate), (Some(2), Some(25.0)));
        assert_eq!((tide.tech.resolution.as_deref(), tide.tech.video_codec.as_deref()), (Some("1080p"), Some("xvid")));
        assert_eq!(wave.tech.resolution.as_deref(), Some("sd"));
        for file in [nothing, playlist] {
            let is_given_up = file.probed_at.is_none() && file.probe_error.as_ref().is_some_and(|why| why.contains("no video"));
            assert!(is_given_up, "{file:#?}");
        }
        listener.set_nonblocking(true).unwrap();
        assert!(listener.accept().is_err(), "the tool reached a network");
        assert_eq!(probes(&house.app).await, 0, "nothing is looked into twice");
        // Files of which an older version did not ask for tracks are looked into once more, and nothing else about them changes.
        let tracked = async || count_tracked(&mut db.begin_read().await.unwrap()).await.unwrap();
        assert_eq!(tracked().await, 2);
        let mut tx = db.begin_write().await.unwrap();
        change_all(&mut tx, FORGET_TRACKS).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!((probes(&house.app).await, tracked().await, probes(&house.app).await), (2, 2, 0));
        let again = files(&house, &library).await;
        assert_eq!((&again[0].measured, again[0].probe_attempts), (&tide.measured, 1));
        // A scan leaves what was found, unless the file is another one: then that is looked into.
        house.scans(&library).await;
        assert_eq!(files(&house, &library).await[0], again[0]);
        write(&house, "films/-Tide.2003.720p.avi", &[film(1280, 720), vec![0]].concat());
        house.scans(&library).await;
        let changed = files(&house, &library).await.remove(0);
        assert_eq!((changed.probed_at, changed.measured.width), (None, None));
        assert_eq!(changed.tech.resolution.as_deref(), Some("720p"), "as its name says");
        // By hand all is tried again: the film, and the two that are none.
        assert_eq!(probes(&house.app).await, 3);
        assert_eq!(files(&house, &library).await[0].measured.height, Some(720));
        house.stops().await;
    }

    async fn each_version_is_looked_into_and_a_file_is_known_by_its_content(db: Db) {
        let (house, _home) = house(&db, None);
        house.starts_jobs().await;
        let (ox, boat) = (film(1920, 1080), [film(640, 272), vec![0; 9]].concat());
        write(&house, "films/Ox (2013)/Ox (2013) - best.avi", &ox);
        write(&house, "films/Ox (2013)/Ox (2013) - small.avi", &film(1280, 720));
        write(&house, "films/Boat/boat.avi", &boat);
        let (library, job) = house.library("films", Kind::Movie).await;
        house.ended(&job).await;
        assert_eq!(probes(&house.app).await, 3);
        let all = || async {
            let page = qm_kernel::PageQuery { page: 1, page_size: 9 };
            let (items, _) = house.app.catalogue.items(&qm_media::model::item::Filter::default(), page).await.unwrap();
            items.into_iter().map(|(item, file, _)| (item, file)).collect::<Vec<_>>()
        };
        let before = all().await;
        let [(boat_item, _), (ox_item, best)] = &before[..] else { panic!("{before:#?}") };
        let (_, small) = &ox_item.copies[0];
        assert_eq!((best.tech.resolution.as_deref(), small.tech.resolution.as_deref()), (Some("1080p"), Some("720p")));
        assert!(small.probed_at.is_some() && small.label.as_deref() == Some("small"));
        // From another file system, by a program that keeps no times.
        write(&house, "films/The Boat.avi", &boat);
        std::fs::remove_dir_all(house.root.join("films/Boat")).unwrap();
        // One of two versions goes elsewhere: the item stays with the other.
        std::fs::rename(house.root.join("films/Ox (2013)/Ox (2013) - best.avi"), house.root.join("films/Cat (2002).avi")).unwrap();
        house.scans(&library).await;
        let now = all().await;
        let mut places: Vec<(&str, bool)> = now
            .iter()
            .map(|(item, _)| (&*item.place, item.id == boat_item.id || item.id == ox_item.id))
            .collect();
        places.sort_unstable();
        assert_eq!(places, [("Cat (2002).avi", false), ("Ox (2013)/Ox (2013) - small.avi", true), ("The Boat.avi", true)], "{now:#?}");
        house.stops().await;
    }

    async fn what_fails_is_tried_three_times_or_once(db: Db) {
        // Which it is is told by the file.
        let script = "read -r how; case $how in kill) kill -9 $$;; exit) exit 3;; say) echo '{\"media\":null}';; *) echo nonsense;; esac";
        let (house, _home) = house(&db, Some(script));
        house.starts_jobs().await;
        for how in ["exit", "kill", "other", "say"] {
            // No text, for these are not looked into.
            write(&house, &format!("films/{how}.mkv"), format!("{how}\n\u{1}").as_bytes());
        }
        let (library, job) = house.library("films", Kind::Movie).await;
        house.ended(&job).await;
        probes(&house.app).await;
        let found = files(&house, &library).await;
        let told: Vec<(i64, Option<&str>)> = found.iter().map(|file| (file.probe_attempts, file.probe_error.as_deref())).collect();
        assert_eq!(told, [
            (1, Some("mediainfo failed with code 3")),
            (3, Some("mediainfo was killed by signal 9")),
            (1, Some("the answer is not the JSON of mediainfo")),
            (3, Some("mediainfo could not open it")),
        ]);
        assert!(found.iter().all(|file| file.probed_at.is_none() && file.tech.container.as_deref() == Some("mkv")));
        assert_eq!(probes(&house.app).await, 0);
        assert_eq!(house.app.scanner.health().await.unwrap().problems, [""; 0]);
        house.stops().await;
    }

    async fn tracks_that_cannot_be_read_are_tried_again_before_they_are_given_up(db: Db) {
        let (house, _home) = house(&db, Some("kill -9 $$"));
        house.starts_jobs().await;
        write(&house, "films/Tide.2003.mkv", b"kill\n\x01");
        let (library, job) = house.library("films", Kind::Movie).await;
        house.ended(&job).await;
        let mut tx = db.begin_write().await.unwrap();
        change_all(&mut tx, PROBED_ONCE).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!((probes(&house.app).await, probes(&house.app).await), (2, 0));
        let file = files(&house, &library).await.remove(0);
        assert_eq!((file.probed_at.map(Timestamp::ms), file.probe_attempts, file.probe_error), (Some(7), 3, None));
        assert_eq!(count_tracked(&mut db.begin_read().await.unwrap()).await.unwrap(), 1);
        house.stops().await;
    }

    async fn without_the_tool_people_are_told_and_nothing_is_lost(db: Db) {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        let prober = Prober { command: vec!["no-such-mediainfo".into()], ..Prober::default() };
        let house = House::probed(&db, root.clone(), Pace::default(), prober);
        house.starts_jobs().await;
        write(&house, "films/Tide.2003.avi", &film(1920, 1080));
        let (library, job) = house.library("films", Kind::Movie).await;
        house.ended(&job).await;
        assert_eq!(house.app.scanner.health().await.unwrap().problems, [""; 0]);
        probes(&house.app).await;
        let problems = house.app.scanner.health().await.unwrap().problems;
        assert!(problems[0].contains("install the package `mediainfo`"), "{problems:?}");
        let file = files(&house, &library).await.remove(0);
        assert_eq!((file.probe_attempts, file.probe_error), (0, None));
        house.stops().await;
        // It is installed.
        let house = House::over(&db, root, Pace::default());
        assert_eq!(probes(&house.app).await, 1);
        assert_eq!(house.app.scanner.health().await.unwrap().problems, [""; 0]);
        assert!(files(&house, &library).await[0].probed_at.is_some());
    }

    async fn what_is_not_there_waits_and_keeps_nobody_waiting(db: Db) {
        let (house, _home) = house(&db, None);
        house.starts_jobs().await;
        for number in 0..3 {
            write(&house, &format!("away/Away.{number}.avi"), &film(640, 480));
        }
        write(&house, "here/Here.2003.avi", &film(1920, 1080));
        let (away, job) = house.library("away", Kind::Movie).await;
        house.ended(&job).await;
        let (here, job) = house.library("here", Kind::Movie).await;
        house.ended(&job).await;
        std::fs::rename(house.root.join("away"), house.root.join("elsewhere")).unwrap();
        probes(&house.app).await;
        assert!(files(&house, &here).await[0].probed_at.is_some());
        let waiting = files(&house, &away).await;
        assert!(waiting.iter().all(|file| file.probe_attempts == 0 && file.probe_error.is_none()));
        std::fs::rename(house.root.join("elsewhere"), house.root.join("away")).unwrap();
        assert_eq!(probes(&house.app).await, 3);
        assert!(files(&house, &away).await.iter().all(|file| file.probed_at.is_some()));
        // A round with nothing to do writes nothing: on SQLite it would wait for who writes.
        let writing = db.begin_write().await.unwrap();
        assert_eq!(probes(&house.app).await, 0);
        drop(writing);
        house.stops().await;
    }

    async fn what_was_found_in_another_file_is_not_written(db: Db) {
        let (house, _home) = house(&db, None);
        house.starts_jobs().await;
        write(&house, "films/Tide.2003.avi", &film(1920, 1080));
        let (library, job) = house.library("films", Kind::Movie).await;
        house.ended(&job).await;
        let due = probes::due(&mut db.begin_read().await.unwrap(), 0, now(), 10).await.unwrap();
        // It grows, and no scan has seen that.
        let mut file = std::fs::File::options().append(true).open(house.root.join("films/Tide.2003.avi")).unwrap();
        file.write_all(&[0; 100]).unwrap();
        drop(file);
        probes(&house.app).await;
        let before = files(&house, &library).await.remove(0);
        assert_eq!((before.probed_at, before.probe_attempts), (None, 0));
        house.scans(&library).await;
        // What was read before the scan comes too late.
        let mut tx = db.begin_write().await.unwrap();
        probes::found(&mut tx, &due[0], &qm_probe::model::streams::Streams::default(), None, now()).await.unwrap();
        probes::failed(&mut tx, &due[0], Some("late"), now()).await.unwrap();
        tx.commit().await.unwrap();
        let after = files(&house, &library).await.remove(0);
        assert_eq!((after.probed_at, after.probe_attempts, after.probe_error), (None, 0, None));
        assert_eq!(probes(&house.app).await, 1);
        house.stops().await;
    }
}
