//! Every operation's wire form: the requests are byte for byte those that a real rTorrent 0.9.8 understood, and its
//! recorded answers mean what they meant.
//!
//! `QM_RECORD=1 cargo test -p scgi-core --test wire_forms` records anew, against the oldest generation of rTorrent, into
//! `tests/recorded/`: a file an operation, its requests and replies as they went over the socket.

#![allow(
    clippy::unwrap_used,
    clippy::float_cmp,
    reason = "a test that cannot go on has failed; values are exact"
)]

mod support;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use engine_model::{AddOptions, AddRequest, Attention, Command, RateLimits, Source, State, TrackerStatus};
use qm_generations::{Generation, Product};
use scgi_core::native::{Native, Stream};
use scgi_core::{Client, Clock, Endpoint, Error, NetError, Poller, Reply, Subject, Transport};
use support::daemon::{Daemon, Listen};
use support::metainfo::{self, Metainfo};

/// Home folder of the recorded rTorrent; its paths are in the bytes.
const HOME: &str = "/tmp/qm-recorded";

/// The network, recording or replaying.
#[derive(Clone, Default)]
struct Tape {
    record: bool,
    operation: Rc<RefCell<Operation>>,
}

/// The exchanges of one operation, and how far into them it is.
#[derive(Default)]
struct Operation {
    name: String,
    bytes: Vec<u8>,
    at: usize,
}

impl Operation {
    fn file(&self) -> PathBuf {
        PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap())
            .join("tests/recorded")
            .join(&self.name)
    }

    /// Adds a request or a reply: a line with its kind and length, then its bytes.
    fn write(&mut self, kind: &str, bytes: &[u8]) {
        self.bytes
            .extend(format!("{kind} {}\n", bytes.len()).into_bytes());
        self.bytes.extend_from_slice(bytes);
        self.bytes.push(b'\n');
        std::fs::write(self.file(), &self.bytes).unwrap();
    }

    /// The next request or reply.
    fn read(&mut self, kind: &str) -> Vec<u8> {
        let rest = &self.bytes[self.at..];
        let line_end = rest.iter().position(|byte| *byte == b'\n').unwrap_or_default();
        let line = String::from_utf8_lossy(&rest[..line_end]).into_owned();
        let length: usize = match line.split_once(' ') {
            Some((found, length)) if found == kind => length.parse().unwrap(),
            _ => panic!(
                "{}: no {kind} is recorded here; record anew if this is meant",
                self.name
            ),
        };
        let start = self.at + line_end + 1;
        self.at = start + length + 1;
        self.bytes[start..start + length].to_vec()
    }
}

struct TapeReply {
    live: Option<(Stream, Tape)>,
    bytes: Vec<u8>,
}

impl Transport for Tape {
    type Reply = TapeReply;

    fn dial(&self, endpoint: &Endpoint, idle_ms: u32, request: &[u8]) -> Result<TapeReply, NetError> {
        let mut operation = self.operation.borrow_mut();
        if self.record {
            operation.write("request", request);
            let stream = Native.dial(endpoint, idle_ms, request)?;
            return Ok(TapeReply {
                live: Some((stream, self.clone())),
                bytes: Vec::new(),
            });
        }
        let recorded = operation.read("request");
        let (sent, recorded) = (
            String::from_utf8_lossy(request),
            String::from_utf8_lossy(&recorded),
        );
        assert_eq!(
            sent, recorded,
            "{} differs from what was recorded",
            operation.name
        );
        Ok(TapeReply {
            live: None,
            bytes: operation.read("reply"),
        })
    }

    fn post(&self, _: &str, _: u32, _: Vec<u8>) -> Result<(u16, TapeReply), NetError> {
        Err(NetError::Refused)
    }
}

impl Reply for TapeReply {
    fn read(&mut self) -> Result<Vec<u8>, NetError> {
        let Some((stream, _)) = &mut self.live else {
            return Ok(std::mem::take(&mut self.bytes));
        };
        let piece = stream.read()?;
        self.bytes.extend_from_slice(&piece);
        Ok(piece)
    }
}

impl Drop for TapeReply {
    fn drop(&mut self) {
        if let Some((_, tape)) = &self.live {
            tape.operation.borrow_mut().write("reply", &self.bytes);
        }
    }
}

/// Waits only where something real is waited for.
struct TapeClock(bool);

impl Clock for TapeClock {
    fn monotonic_ms(&self) -> u64 {
        0
    }

    fn sleep_ms(&self, ms: u32) {
        if self.0 {
            std::thread::sleep(Duration::from_millis(u64::from(ms)));
        }
    }
}

struct Stage {
    client: Client<Tape, TapeClock>,
    tape: Tape,
}

impl Stage {
    /// Begins the operation `name`: the requests that follow belong to it.
    fn operation(&self, name: &str) -> &Client<Tape, TapeClock> {
        let mut operation = self.tape.operation.borrow_mut();
        let left = operation.bytes.len() - operation.at;
        assert!(
            self.tape.record || left == 0,
            "{}: not all that was recorded was asked",
            operation.name
        );
        *operation = Operation {
            name: name.to_owned(),
            ..Operation::default()
        };
        if self.tape.record {
            // Lets rTorrent settle, so that what is recorded is the ordinary case.
            std::thread::sleep(Duration::from_millis(700));
        } else {
            operation.bytes = std::fs::read(operation.file()).unwrap_or_default();
        }
        &self.client
    }

    fn run(&self, name: &str, hash: &str, command: Command) -> Result<(), Error> {
        self.operation(name).run(&[hash.to_owned()], &command).remove(0)
    }
}

const UNKNOWN: &str = "0123456789abcdef0123456789abcdef01234567";

fn film() -> Metainfo {
    metainfo::single("film & \"one\".mkv", &metainfo::noise(40_000, 7), 16_384)
}

fn pack() -> Metainfo {
    metainfo::folder(
        "Pack",
        &[("a.bin", &vec![1; 20_000]), ("sub/b.bin", &[2; 100])],
        16_384,
    )
}

fn add(metainfo: &Metainfo) -> AddRequest {
    AddRequest {
        hash: metainfo.hash.clone(),
        source: Source::Metainfo(metainfo.bytes.clone()),
        options: AddOptions::default(),
    }
}

#[test]
fn every_operation() {
    let record = std::env::var_os("QM_RECORD").is_some();
    let _daemon;
    let mut endpoint = Endpoint::Tcp {
        host: "rtorrent".to_owned(),
        port: 5000,
    };
    if record {
        let _ = std::fs::remove_dir_all(HOME);
        let program = Generation::oldest(Product::Rtorrent)
            .find()
            .expect("rTorrent, to record");
        let daemon = Daemon::start(&program, Path::new(HOME), Listen::Tcp);
        std::fs::write(daemon.downloads.join(film().name), metainfo::noise(40_000, 7)).unwrap();
        endpoint = daemon.endpoint.clone();
        _daemon = daemon;
    }
    let tape = Tape {
        record,
        ..Tape::default()
    };
    let client = Client::new(endpoint, 5_000, tape.clone(), TapeClock(record));
    let stage = Stage { client, tape };
    let downloads = format!("{HOME}/downloads");

    assert_eq!(stage.operation("health").health().unwrap(), "0.9.8");
    adding(&stage, &downloads);
    reading(&stage, &downloads);
    states(&stage);
    settings(&stage);
    choices(&stage, &downloads);
    removing(&stage);
}

fn adding(stage: &Stage, downloads: &str) {
    stage.operation("add-file").add(&add(&film())).unwrap();
    stage.operation("add-file-again").add(&add(&film())).unwrap();
    let request = AddRequest {
        options: AddOptions {
            category: Some(r"tv, \$x".to_owned()),
            save_path: Some(format!("{downloads}/a, b")),
            start_paused: true,
            upload_limit: Some(100_000),
            download_limit: Some(2_000),
            ..AddOptions::default()
        },
        ..add(&pack())
    };
    stage.operation("add-file-with-options").add(&request).unwrap();
    let hash = "ab".repeat(20);
    let uri = format!("magnet:?xt=urn:btih:{hash}&dn=a+b");
    let magnet = AddRequest {
        hash,
        source: Source::Magnet(uri),
        options: AddOptions {
            category: Some("films".to_owned()),
            ..AddOptions::default()
        },
    };
    stage.operation("add-magnet").add(&magnet).unwrap();
    let garbage = AddRequest {
        hash: UNKNOWN.to_owned(),
        source: Source::Metainfo(b"d4:infod4:name1:xee".to_vec()),
        ..add(&film())
    };
    assert!(matches!(
        stage.operation("add-garbage").add(&garbage),
        Err(Error::Rejected(_))
    ));
}

fn reading(stage: &Stage, downloads: &str) {
    let mut told = Vec::new();
    let mut poller = Poller::default();
    let first = poller
        .poll(
            stage.operation("poll-full"),
            None,
            Attention::Watched,
            &mut |torrent| {
                told.push(torrent);
            },
        )
        .unwrap();
    assert!(first.full);
    assert_eq!((first.stats.torrent_count, first.stats.active_count), (3, 2));
    assert_eq!(
        (first.stats.download_rate_limit, first.stats.upload_rate_limit),
        (0, 0)
    );
    let film_hash = film().hash;
    let seeding = told.iter().find(|torrent| torrent.hash == film_hash).unwrap();
    assert_eq!(
        (seeding.state, seeding.progress, seeding.size),
        (State::Seeding, 1.0, Some(40_000))
    );
    assert_eq!(seeding.content_path, format!("{downloads}/film & \"one\".mkv"));
    let stopped = told.iter().find(|torrent| torrent.hash == pack().hash).unwrap();
    assert_eq!(
        (stopped.state, stopped.label.as_deref()),
        (State::Stopped, Some(r"tv, \$x"))
    );
    assert_eq!(stopped.save_path, format!("{downloads}/a, b"));
    let magnet = told
        .iter()
        .find(|torrent| torrent.hash.starts_with("abab"))
        .unwrap();
    assert_eq!(
        (magnet.state, magnet.size, magnet.label.as_deref()),
        (State::Downloading, None, Some("films"))
    );
    let next = poller
        .poll(
            stage.operation("poll-moving"),
            Some(first.cursor),
            Attention::Watched,
            &mut |_| {},
        )
        .unwrap();
    assert!(!next.full && next.stats.torrent_count == 3);

    let one = stage.operation("get").get(&film_hash).unwrap().unwrap();
    assert_eq!(
        (one.name.as_str(), one.state),
        ("film & \"one\".mkv", State::Seeding)
    );
    assert_eq!(stage.operation("get-unknown").get(UNKNOWN).unwrap(), None);
    let files = stage.operation("files").files(&pack().hash).unwrap();
    let paths: Vec<_> = files
        .iter()
        .map(|file| (file.index, file.path.as_str(), file.size, file.priority))
        .collect();
    assert_eq!(
        paths,
        [(0, "Pack/a.bin", 20_000, 1), (1, "Pack/sub/b.bin", 100, 1)]
    );
    assert_eq!(
        stage.operation("files-unknown").files(UNKNOWN),
        Err(Error::NotFound(Subject::Torrent))
    );
    assert!(stage.operation("peers").peers(&film_hash).unwrap().is_empty());
    let trackers = stage.operation("trackers").trackers(&film_hash).unwrap();
    assert_eq!(
        (trackers[0].url.as_str(), trackers[0].tier, trackers[0].status),
        ("http://127.0.0.1:9/announce", 0, TrackerStatus::Enabled)
    );
    let stats = stage.operation("session-stats").session_stats().unwrap();
    assert_eq!(
        (stats.engine_version.as_str(), stats.dht_enabled),
        ("0.9.8", false)
    );
}

fn states(stage: &Stage) {
    let hash = film().hash;
    for (name, command) in [
        ("pause", Command::Pause),
        ("resume", Command::Resume),
        ("stop", Command::Stop),
        ("start", Command::Start),
        ("force-start", Command::ForceStart(true)),
        ("force-start-off", Command::ForceStart(false)),
        ("recheck", Command::Recheck),
        ("priority", Command::TorrentPriority(1)),
    ] {
        assert_eq!(stage.run(name, &hash, command), Ok(()), "{name}");
    }
    assert_eq!(
        stage.run("start-unknown", UNKNOWN, Command::Start),
        Err(Error::NotFound(Subject::Torrent))
    );
}

fn settings(stage: &Stage) {
    let (film, pack) = (film().hash, pack().hash);
    let file = |index| Command::FilePriority {
        indexes: vec![index],
        priority: 2,
    };
    assert_eq!(stage.run("file-priority", &pack, file(1)), Ok(()));
    assert_eq!(
        stage.run("file-priority-unknown", &pack, file(9)),
        Err(Error::NotFound(Subject::File))
    );
    assert_eq!(
        stage.run("set-label", &film, Command::SetLabel("new & ünïcode".to_owned())),
        Ok(())
    );
    assert_eq!(
        stage.run("set-label-none", &film, Command::SetLabel(String::new())),
        Ok(())
    );
    assert_eq!(
        stage.run("set-label-unknown", UNKNOWN, Command::SetLabel("x".to_owned())),
        Err(Error::NotFound(Subject::Torrent))
    );
    let url = || "udp://127.0.0.1:9/x?a&b".to_owned();
    assert_eq!(
        stage.run("add-tracker", &film, Command::AddTracker(url())),
        Ok(())
    );
    assert_eq!(
        stage.run("remove-tracker", &film, Command::RemoveTracker(url())),
        Ok(())
    );
    assert_eq!(
        stage.run("add-tracker-again", &film, Command::AddTracker(url())),
        Ok(())
    );
    let unknown = stage.run(
        "remove-tracker-unknown",
        &film,
        Command::RemoveTracker("http://x/".to_owned()),
    );
    assert_eq!(unknown, Err(Error::NotFound(Subject::Tracker)));
    assert_eq!(
        stage.run("limit-upload", &film, Command::UploadLimit(50_000)),
        Ok(())
    );
    assert_eq!(
        stage.run("limit-download", &film, Command::DownloadLimit(1)),
        Ok(())
    );
    assert_eq!(stage.run("limit-none", &film, Command::UploadLimit(0)), Ok(()));
    assert_eq!(
        stage.operation("rate-limits").rate_limits(),
        Ok(RateLimits::default())
    );
    let limits = RateLimits {
        download: Some(600_000_000),
        upload: Some(10_240),
    };
    assert_eq!(stage.operation("set-rate-limits").set_rate_limits(limits), Ok(()));
    assert_eq!(
        stage.run("move", &pack, Command::Move(format!("{HOME}/moved, there"))),
        Ok(())
    );
    assert_eq!(
        stage.run("move-running", &film, Command::Move(format!("{HOME}/downloads"))),
        Ok(())
    );
}

fn choices(stage: &Stage, downloads: &str) {
    let (film, pack) = (film().hash, pack().hash);
    for (name, command) in [
        ("reannounce", Command::Reannounce),
        ("super-seeding", Command::SuperSeeding(true)),
        ("super-seeding-off", Command::SuperSeeding(false)),
        ("ban-peers", Command::BanPeers(vec!["192.0.2.1:6881".to_owned()])),
        (
            "replace-tracker",
            Command::ReplaceTracker {
                old_url: "http://127.0.0.1:9/announce".to_owned(),
                new_url: "http://127.0.0.1:9/other?a=%20&b".to_owned(),
            },
        ),
    ] {
        assert_eq!(stage.run(name, &film, command), Ok(()), "{name}");
    }
    for (name, command) in [
        ("reannounce-unknown", Command::Reannounce),
        ("super-seeding-unknown", Command::SuperSeeding(true)),
    ] {
        assert_eq!(
            stage.run(name, UNKNOWN, command),
            Err(Error::NotFound(Subject::Torrent)),
            "{name}"
        );
    }
    let both = Command::FilePriority {
        indexes: vec![0, 1],
        priority: 0,
    };
    assert_eq!(stage.run("file-priorities", &pack, both), Ok(()));
    let bytes = stage.operation("export").export_metainfo(&film).unwrap();
    assert!(bytes.windows(6).any(|part| part == b"4:info"));
    assert_eq!(
        stage.operation("export-unknown").export_metainfo(UNKNOWN),
        Err(Error::NotFound(Subject::Torrent))
    );
    let preferences = stage.operation("preferences").preferences().unwrap();
    assert!(
        preferences.contains(&format!(r#""defaultSavePath":"{downloads}""#)),
        "{preferences}"
    );
    assert!(preferences.contains(r#""maxUploads":null"#), "{preferences}");
    let changes = r#"{"maxUploads":40,"pex":false,"minPeersSeeding":null}"#;
    assert_eq!(
        stage.operation("set-preferences").set_preferences(changes),
        Ok(())
    );
    let refused = stage
        .operation("set-preferences-unknown")
        .set_preferences(r#"{"nothing":1}"#);
    assert!(matches!(refused, Err(Error::Rejected(_))), "{refused:?}");
}

fn removing(stage: &Stage) {
    assert_eq!(
        stage.run("remove", &"ab".repeat(20), Command::Remove(false)),
        Ok(())
    );
    assert_eq!(
        stage.run("remove-with-data", &film().hash, Command::Remove(true)),
        Ok(())
    );
    assert_eq!(
        stage.run("remove-unknown", UNKNOWN, Command::Remove(false)),
        Err(Error::NotFound(Subject::Torrent))
    );
    assert!(!stage.tape.record || !Path::new(HOME).join("downloads").join(film().name).exists());
}
