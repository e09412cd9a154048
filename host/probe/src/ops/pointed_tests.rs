//! Files in the names of videos that point to other files, and the real program.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Mode, OFlags};

use super::probe::{Expected, HANDED, ProbeError, Prober, open};
use crate::model::streams::{Unclear, read_of};
use crate::testing::film;

/// A library with a film in it, and beside it a file that must not be read.
struct Place {
    home: tempfile::TempDir,
    library: PathBuf,
}

impl Place {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let library = home.path().canonicalize().unwrap().join("library");
        std::fs::create_dir(&library).unwrap();
        std::fs::write(library.join("film.avi"), film(640, 272)).unwrap();
        std::fs::write(library.with_file_name("secret.avi"), film(1920, 1080)).unwrap();
        Self { home, library }
    }

    fn outside(&self, name: &str) -> PathBuf {
        self.library.with_file_name(name)
    }

    fn open(&self, name: &str) -> Result<OwnedFd, ProbeError> {
        use std::os::unix::fs::MetadataExt;
        let state = std::fs::metadata(self.library.join(name)).unwrap();
        let file = Expected {
            path: name.into(),
            size: state.size().cast_signed(),
            mtime: state.mtime() * 1_000_000_000 + state.mtime_nsec(),
        };
        open(&self.library, &file, std::slice::from_ref(&self.library))
    }
}

/// Files that point to another file, one for each kind that the program knows.
fn pointers(to: &Path) -> Vec<(&'static str, String)> {
    let to = to.display();
    vec![
        (
            "dash.mp4",
            format!(
                "<?xml version=\"1.0\"?><MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\"><Period><AdaptationSet>\
                 <Representation id=\"1\"><BaseURL>{to}</BaseURL></Representation></AdaptationSet></Period></MPD>"
            ),
        ),
        (
            "hls.mkv",
            format!("#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n{to}\n#EXT-X-ENDLIST\n"),
        ),
        (
            "ism.mkv",
            format!(
                "<?xml version=\"1.0\"?>\n<smil xmlns=\"http://www.w3.org/2001/SMIL20/Language\"><body><switch>\
                 <video src=\"{to}\"/></switch></body></smil>"
            ),
        ),
        (
            "hds.mp4",
            format!(
                "<?xml version=\"1.0\"?>\n<manifest xmlns=\"http://ns.adobe.com/f4m/1.0\"><media url=\"{to}\"/></manifest>"
            ),
        ),
        (
            "cut.mov",
            format!(
                "<?xml version=\"1.0\"?>\n<xmeml version=\"5\"><sequence><media><video><track><clipitem><file>\
                 <pathurl>{to}</pathurl></file></clipitem></track></video></media></sequence></xmeml>"
            ),
        ),
        ("list.avi", format!("[playlist]\nFile1={to}\nNumberOfEntries=1\n")),
        ("reference.wmv", format!("[Reference]\nRef1={to}\n")),
        ("stream.mov", format!("RTSPtext\n{to}\n")),
        ("name.ts", format!("{to}\n")),
    ]
}

#[tokio::test]
async fn what_points_to_other_files_is_refused_by_its_content() {
    let place = Place::new();
    for (name, text) in pointers(&place.outside("secret.avi")) {
        std::fs::write(place.library.join(name), &text).unwrap();
        let refused = place.open(name).map(drop);
        assert!(
            matches!(&refused, Err(ProbeError::Lasting(why)) if why.starts_with("it is no video")),
            "{name}: {refused:?}"
        );
    }
    let film = place.open("film.avi").unwrap();
    let size = rustix::fs::fstat(&film).unwrap().st_size;
    let said = Prober::default().ask(film).await.unwrap();
    let streams = read_of(&said, HANDED, size).unwrap();
    assert_eq!(
        (streams.measured.width, streams.measured.height),
        (Some(640), Some(272))
    );
}

/// The check of the content is left out: even then the program opens no other file, whatever it is told.
#[tokio::test]
async fn the_program_opens_no_file_but_the_one_it_is_handed() {
    let place = Place::new();
    let fifo = place.outside("fifo.avi");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, Mode::RUSR | Mode::WUSR).unwrap();
    let (stop, was_opened) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let watching = {
        let (stop, was_opened, fifo) = (stop.clone(), was_opened.clone(), fifo.clone());
        // A FIFO can be opened for writing only while somebody reads it, and whoever opens it to read waits for that.
        std::thread::spawn(move || {
            while !stop.load(Ordering::SeqCst) {
                let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
                if rustix::fs::openat(rustix::fs::CWD, &fifo, flags, Mode::empty()).is_ok() {
                    was_opened.store(true, Ordering::SeqCst);
                }
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        })
    };
    for target in [
        &place.outside("secret.avi"),
        &fifo,
        &place.library.join("film.avi"),
    ] {
        for (name, text) in pointers(target) {
            let path = place.library.join(name);
            std::fs::write(&path, &text).unwrap();
            let handed = OwnedFd::from(std::fs::File::open(&path).unwrap());
            let said = Prober::default().ask(handed).await.unwrap();
            let told = String::from_utf8_lossy(&said);
            assert!(
                !told.contains("\"Width\""),
                "{name} to {}: {told}",
                target.display()
            );
            let size = i64::try_from(text.len()).unwrap();
            assert!(
                matches!(
                    read_of(&said, HANDED, size),
                    Err(Unclear::Others | Unclear::NoVideo | Unclear::Resized)
                ),
                "{name}"
            );
        }
    }
    stop.store(true, Ordering::SeqCst);
    watching.join().unwrap();
    assert!(
        !was_opened.load(Ordering::SeqCst),
        "the program opened what a list names"
    );
    drop(place.home);
}
