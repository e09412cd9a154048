//! Every operation, in an order in which each finds what it needs. The same functions run against a real client (which
//! records them) and against the record; what they assert holds for both.

use std::cell::Cell;

use engine_model::{
    AddOptions, AddRequest, Attention, Command, Error, RateLimits, RateMode, Source, State, Subject, Torrent,
    Transfer,
};

use super::torrents::{Made, TRACKER, hybrid, two_files};
use super::{TestSession, choices};

/// A hash no client has.
pub const UNKNOWN: &str = "00000000000000000000000000000000000000ff";
/// The hash of a magnet link that nobody serves.
pub const MAGNET: &str = "00000000000000000000000000000000000000aa";
pub const SECOND_TRACKER: &str = "http://127.0.0.1:9/second%20one/announce?key=a&b=c";

pub struct Given {
    /// A directory the client may write to.
    pub home: String,
    /// The client's version, as its program says it.
    pub version: String,
    pub two: Made,
    pub hybrid: Made,
    /// Cursor for the next poll.
    cursor: Cell<Option<u64>>,
}

impl Given {
    pub fn new(home: &str, version: &str) -> Given {
        let (two, hybrid) = (two_files("alpha"), hybrid("both.bin"));
        Given {
            home: home.into(),
            version: version.into(),
            two,
            hybrid,
            cursor: Cell::new(None),
        }
    }

    pub fn folder(&self, name: &str) -> String {
        format!("{}/{name}", self.home)
    }
}

pub struct Scenario {
    pub name: &'static str,
    pub run: fn(&mut TestSession, &Given),
}

/// Scenarios that are recorded with each generation; the others with the oldest alone.
pub const RECORDED_OF_EACH: [&str; 12] = [
    "toggles",
    "share_limits",
    "queue",
    "incomplete_path",
    "folder",
    "replace_tracker",
    "ban",
    "export",
    "categories",
    "all_tags",
    "preferences",
    "rate_mode",
];

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "version",
        run: version,
    },
    Scenario {
        name: "add_file",
        run: add_file,
    },
    Scenario {
        name: "add_again",
        run: add_again,
    },
    Scenario {
        name: "add_garbage",
        run: add_garbage,
    },
    Scenario {
        name: "add_magnet",
        run: add_magnet,
    },
    Scenario {
        name: "details",
        run: details,
    },
    Scenario {
        name: "start_and_stop",
        run: start_and_stop,
    },
    Scenario {
        name: "force_start",
        run: force_start,
    },
    Scenario {
        name: "recheck",
        run: recheck,
    },
    Scenario {
        name: "rename",
        run: rename,
    },
    Scenario {
        name: "rename_file",
        run: rename_file,
    },
    Scenario {
        name: "file_priority",
        run: file_priority,
    },
    Scenario {
        name: "torrent_priority",
        run: torrent_priority,
    },
    Scenario {
        name: "limits",
        run: limits,
    },
    Scenario {
        name: "labels",
        run: labels,
    },
    Scenario {
        name: "tags",
        run: tags,
    },
    Scenario {
        name: "trackers",
        run: trackers,
    },
    Scenario {
        name: "global_limits",
        run: global_limits,
    },
    Scenario {
        name: "move",
        run: relocate,
    },
    Scenario {
        name: "statistics",
        run: statistics,
    },
    Scenario {
        name: "toggles",
        run: choices::toggles,
    },
    Scenario {
        name: "share_limits",
        run: choices::share_limits,
    },
    Scenario {
        name: "queue",
        run: choices::queue,
    },
    Scenario {
        name: "incomplete_path",
        run: choices::incomplete_path,
    },
    Scenario {
        name: "folder",
        run: choices::folder,
    },
    Scenario {
        name: "replace_tracker",
        run: choices::replace_tracker,
    },
    Scenario {
        name: "ban",
        run: choices::ban,
    },
    Scenario {
        name: "export",
        run: choices::export,
    },
    Scenario {
        name: "categories",
        run: choices::categories,
    },
    Scenario {
        name: "all_tags",
        run: choices::all_tags,
    },
    Scenario {
        name: "preferences",
        run: choices::preferences,
    },
    Scenario {
        name: "rate_mode",
        run: choices::rate_mode,
    },
    Scenario {
        name: "poll",
        run: poll,
    },
    Scenario {
        name: "hybrid",
        run: hybrid_torrent,
    },
    Scenario {
        name: "remove",
        run: remove,
    },
];

/// Result of a command for each hash: `None` for success.
pub fn run(session: &mut TestSession, hashes: &[&str], command: Command) -> Vec<Option<Error>> {
    let hashes: Vec<String> = hashes.iter().map(|hash| (*hash).to_owned()).collect();
    let outcomes = session
        .run(&hashes, &command)
        .unwrap_or_else(|error| panic!("{command:?}: {error:?}"));
    assert!(
        outcomes.iter().map(|outcome| &outcome.hash).eq(&hashes),
        "one outcome a hash, in order"
    );
    outcomes.into_iter().map(|outcome| outcome.error).collect()
}

pub fn done(session: &mut TestSession, hash: &str, command: Command) {
    assert_eq!(run(session, &[hash], command.clone()), [None], "{command:?}");
}

pub const NO_TORRENT: Option<Error> = Some(Error::NotFound(Subject::Torrent));

/// The torrent, once it is as `is` wants it.
pub fn until(session: &mut TestSession, hash: &str, is: impl Fn(&Torrent) -> bool) -> Torrent {
    for _ in 0..600 {
        let torrent = session.get(hash).expect("the client answers");
        if let Some(torrent) = torrent.filter(&is) {
            return torrent;
        }
        if session.is_real() {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    }
    panic!("{hash} never came to that")
}

fn version(session: &mut TestSession, given: &Given) {
    assert_eq!(session.version().as_ref(), Ok(&given.version));
}

fn add_file(session: &mut TestSession, given: &Given) {
    let options = AddOptions {
        category: Some("tv shows".into()),
        tags: vec!["a".into(), "b c".into()],
        save_path: Some(given.folder("one")),
        rename: Some("Alpha & Ω".into()),
        start_paused: true,
        sequential_download: true,
        first_last_piece_priority: true,
        upload_limit: Some(102_400),
        download_limit: Some(204_800),
        ..AddOptions::default()
    };
    let source = Source::Metainfo(given.two.bytes.clone());
    let request = AddRequest {
        hash: given.two.hash.clone(),
        source,
        options,
    };
    assert_eq!(session.add(&request), Ok(()));
    let torrent = until(session, &given.two.hash, |torrent| torrent.state == State::Paused);
    assert_eq!(
        (torrent.name.as_str(), torrent.label.as_deref()),
        ("Alpha & Ω", Some("tv shows"))
    );
    assert_eq!(
        (torrent.size, torrent.save_path),
        (Some(30_000), given.folder("one"))
    );
    assert_eq!(torrent.content_path, given.folder("one/alpha"));
}

fn add_again(session: &mut TestSession, given: &Given) {
    let source = Source::Metainfo(given.two.bytes.clone());
    let request = AddRequest {
        hash: given.two.hash.clone(),
        source,
        options: AddOptions::default(),
    };
    assert_eq!(session.add(&request), Ok(()), "what it has already is a success");
}

fn add_garbage(session: &mut TestSession, _: &Given) {
    let source = Source::Metainfo(b"d4:infod6:length3:abcee".to_vec());
    let request = AddRequest {
        hash: UNKNOWN.into(),
        source,
        options: AddOptions::default(),
    };
    let refused = session.add(&request);
    assert!(matches!(&refused, Err(Error::Rejected(_))), "{refused:?}");
}

fn add_magnet(session: &mut TestSession, _: &Given) {
    let link =
        format!("magnet:?xt=urn:btih:{MAGNET}&dn=nobody+has+it&tr=http%3A%2F%2F127.0.0.1%3A9%2Fannounce");
    let options = AddOptions {
        start_paused: true,
        ..AddOptions::default()
    };
    let request = AddRequest {
        hash: MAGNET.into(),
        source: Source::Magnet(link),
        options,
    };
    assert_eq!(session.add(&request), Ok(()));
    let torrent = until(session, MAGNET, |_| true);
    assert_eq!((torrent.name.as_str(), torrent.size), ("nobody has it", None));
    assert_eq!(session.files(MAGNET), Ok(vec![]), "without metadata it has none");
}

fn details(session: &mut TestSession, given: &Given) {
    let files = session.files(&given.two.hash).expect("files");
    let facts: Vec<_> = files
        .iter()
        .map(|f| (f.index, f.path.as_str(), f.size, f.priority))
        .collect();
    assert_eq!(
        facts,
        [(0, "alpha/a.bin", 20_000, 1), (1, "alpha/sub/b.bin", 10_000, 1)]
    );
    assert_eq!(session.peers(&given.two.hash), Ok(vec![]));
    let trackers = session.trackers(&given.two.hash).expect("trackers");
    assert_eq!(
        trackers
            .iter()
            .map(|t| (t.url.as_str(), t.tier))
            .collect::<Vec<_>>(),
        [(TRACKER, 0)]
    );
    assert_eq!(session.files(UNKNOWN), Err(Error::NotFound(Subject::Torrent)));
    assert_eq!(session.peers(UNKNOWN), Err(Error::NotFound(Subject::Torrent)));
    assert_eq!(session.trackers(UNKNOWN), Err(Error::NotFound(Subject::Torrent)));
    assert_eq!(session.get(UNKNOWN), Ok(None));
    assert_eq!(session.get("no hash"), Ok(None));
}

fn start_and_stop(session: &mut TestSession, given: &Given) {
    let hash = given.two.hash.as_str();
    for (go, halt) in [(Command::Start, Command::Stop), (Command::Resume, Command::Pause)] {
        assert_eq!(run(session, &[UNKNOWN, hash], go), [NO_TORRENT, None]);
        until(session, hash, |torrent| torrent.state == State::Downloading);
        assert_eq!(run(session, &[hash, "no hash"], halt), [None, NO_TORRENT]);
        until(session, hash, |torrent| torrent.state == State::Paused);
    }
}

fn force_start(session: &mut TestSession, given: &Given) {
    done(session, &given.two.hash, Command::ForceStart(true));
    done(session, &given.two.hash, Command::ForceStart(false));
    done(session, &given.two.hash, Command::Stop);
    until(session, &given.two.hash, |torrent| torrent.state == State::Paused);
}

fn recheck(session: &mut TestSession, given: &Given) {
    // The real test has put the data there meanwhile.
    done(session, &given.two.hash, Command::Recheck);
    let torrent = until(session, &given.two.hash, |torrent| torrent.progress >= 1.0);
    assert!(matches!(torrent.state, State::Paused | State::Checking));
}

fn rename(session: &mut TestSession, given: &Given) {
    done(session, &given.two.hash, Command::Rename("Beta + 100 %".into()));
    assert_eq!(until(session, &given.two.hash, |_| true).name, "Beta + 100 %");
    assert_eq!(
        run(session, &[UNKNOWN], Command::Rename("x".into())),
        [NO_TORRENT]
    );
    let refused = run(session, &[&given.two.hash], Command::Rename("  ".into()));
    assert!(matches!(refused[0], Some(Error::Rejected(_))), "{refused:?}");
}

fn rename_file(session: &mut TestSession, given: &Given) {
    let hash = given.two.hash.as_str();
    let rename = |index, name: &str| Command::RenameFile {
        index,
        name: name.into(),
    };
    done(session, hash, rename(1, "c.bin"));
    done(session, hash, rename(0, "alpha/moved/d.bin"));
    done(session, hash, rename(0, "d.bin"));
    let path =
        |session: &mut TestSession, index: usize| session.files(hash).expect("files")[index].path.clone();
    for _ in 0..600 {
        // The client does it when it gets to it.
        if path(session, 0) == "alpha/moved/d.bin" && path(session, 1) == "alpha/sub/c.bin" {
            break;
        }
        if session.is_real() {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    }
    assert_eq!(
        (path(session, 0), path(session, 1)),
        ("alpha/moved/d.bin".into(), "alpha/sub/c.bin".into())
    );
    assert_eq!(
        run(session, &[hash], rename(99, "x")),
        [Some(Error::NotFound(Subject::File))]
    );
    assert_eq!(run(session, &[UNKNOWN], rename(0, "x")), [NO_TORRENT]);
}

fn file_priority(session: &mut TestSession, given: &Given) {
    let hash = given.two.hash.as_str();
    let set = |index, priority| Command::FilePriority {
        indexes: vec![index],
        priority,
    };
    for priority in [0, 1, 2] {
        done(session, hash, set(1, priority));
        assert_eq!(session.files(hash).expect("files")[1].priority, priority);
    }
    assert_eq!(
        run(session, &[hash], set(99, 1)),
        [Some(Error::NotFound(Subject::File))]
    );
    assert_eq!(run(session, &[UNKNOWN], set(0, 1)), [NO_TORRENT]);
    let no_metadata = run(session, &[MAGNET], set(0, 1));
    assert!(
        matches!(no_metadata[0], Some(Error::Rejected(_))),
        "{no_metadata:?}"
    );
    assert!(matches!(
        run(session, &[hash], set(0, 3))[0],
        Some(Error::Rejected(_))
    ));
}

fn torrent_priority(session: &mut TestSession, given: &Given) {
    for priority in 0..=3 {
        // Queueing is off: the client says 409, and that is no failure.
        done(session, &given.two.hash, Command::TorrentPriority(priority));
    }
    assert_eq!(
        run(session, &[UNKNOWN], Command::TorrentPriority(2)),
        [NO_TORRENT]
    );
}

fn limits(session: &mut TestSession, given: &Given) {
    done(session, &given.two.hash, Command::UploadLimit(51_200));
    done(session, &given.two.hash, Command::DownloadLimit(0));
    assert_eq!(run(session, &[UNKNOWN], Command::UploadLimit(1)), [NO_TORRENT]);
}

fn labels(session: &mut TestSession, given: &Given) {
    let hash = given.two.hash.as_str();
    let label = |label: &str| Command::SetLabel(label.into());
    // One that the client has not, one that it has by then, none, and the one it began with.
    for (to, shown) in [
        ("new & ünïcode", Some("new & ünïcode")),
        ("new & ünïcode", Some("new & ünïcode")),
        ("", None),
        ("tv shows", Some("tv shows")),
    ] {
        assert_eq!(run(session, &[hash, UNKNOWN], label(to)), [None, NO_TORRENT]);
        assert_eq!(until(session, hash, |_| true).label.as_deref(), shown);
    }
    let refused = run(session, &[hash], label("//"));
    assert!(matches!(refused[0], Some(Error::Rejected(_))), "{refused:?}");
    done(session, hash, label("last one"));
}

fn tags(session: &mut TestSession, given: &Given) {
    let hash = given.two.hash.as_str();
    let of = |tags: &[&str]| tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>();
    let told = |session: &mut TestSession| {
        let mut tags = until(session, hash, |_| true).tags;
        tags.sort_unstable();
        tags
    };
    done(session, hash, Command::AddTags(of(&["ünïcode & more", "a"])));
    assert_eq!(told(session), ["a", "b c", "ünïcode & more"]);
    // Naming none takes none away, though the client would take all.
    done(session, hash, Command::RemoveTags(of(&[])));
    done(session, hash, Command::AddTags(of(&[])));
    done(session, hash, Command::RemoveTags(of(&["a", "never had"])));
    assert_eq!(told(session), ["b c", "ünïcode & more"]);
    assert_eq!(
        run(session, &[UNKNOWN], Command::AddTags(of(&["x"]))),
        [NO_TORRENT]
    );
    let refused = session.run(&[hash.to_owned()], &Command::AddTags(of(&["x,y"])));
    assert!(matches!(refused, Err(Error::Rejected(_))), "{refused:?}");
}

fn trackers(session: &mut TestSession, given: &Given) {
    let hash = given.two.hash.as_str();
    let urls = |session: &mut TestSession| -> Vec<String> {
        session
            .trackers(hash)
            .expect("trackers")
            .into_iter()
            .map(|tracker| tracker.url)
            .collect()
    };
    done(session, hash, Command::AddTracker(SECOND_TRACKER.into()));
    assert_eq!(urls(session), [TRACKER, SECOND_TRACKER]);
    done(session, hash, Command::RemoveTracker(SECOND_TRACKER.into()));
    assert_eq!(urls(session), [TRACKER]);
    let again = run(
        session,
        &[hash, UNKNOWN],
        Command::RemoveTracker(SECOND_TRACKER.into()),
    );
    assert_eq!(again, [Some(Error::NotFound(Subject::Tracker)), NO_TORRENT]);
    assert_eq!(
        run(session, &[UNKNOWN], Command::AddTracker(TRACKER.into())),
        [NO_TORRENT]
    );
}

fn global_limits(session: &mut TestSession, _: &Given) {
    let limits = |download, upload| RateLimits { download, upload };
    for set in [
        limits(Some(1_024_000), Some(512_000)),
        limits(None, Some(10_240)),
        limits(None, None),
    ] {
        assert_eq!(session.set_rate_limits(RateMode::Normal, set), Ok(()));
        assert_eq!(session.rate_limits(RateMode::Normal), Ok(set));
    }
}

fn relocate(session: &mut TestSession, given: &Given) {
    let to = given.folder("two");
    assert_eq!(
        run(session, &[&given.two.hash, UNKNOWN], Command::Move(to.clone())),
        [None, NO_TORRENT]
    );
    let torrent = until(session, &given.two.hash, |torrent| {
        torrent.save_path == to && torrent.state == State::Paused
    });
    assert_eq!(torrent.content_path, given.folder("two/alpha"));
    let refused = run(session, &[&given.two.hash], Command::Move("/proc/nowhere".into()));
    assert!(matches!(refused[0], Some(Error::Rejected(_))), "{refused:?}");
}

fn statistics(session: &mut TestSession, given: &Given) {
    let stats = session.session_stats().expect("statistics");
    assert_eq!(
        (stats.engine_version.as_str(), stats.dht_enabled),
        (given.version.as_str(), false)
    );
    assert!(stats.listen_port.is_some());
    assert_eq!(
        session.all_time(),
        Ok(Some(Transfer {
            downloaded: 0,
            uploaded: 0
        }))
    );
}

fn poll(session: &mut TestSession, given: &Given) {
    let hash = given.two.hash.as_str();
    let first = session.poll(None, Attention::Watched, &[]).expect("a list");
    assert!(first.full && first.changed.iter().any(|torrent| torrent.hash == hash));
    assert_eq!((first.stats.torrent_count, first.stats.active_count), (2, 0));
    assert_eq!(
        first.stats.total_downloaded,
        first
            .changed
            .iter()
            .map(|torrent| torrent.downloaded)
            .sum::<u64>()
    );

    let quiet = session
        .poll(Some(first.cursor), Attention::Watched, &[])
        .expect("a list");
    assert!(
        !quiet.full && quiet.changed.is_empty() && quiet.removed.is_empty(),
        "{quiet:?}"
    );

    done(session, hash, Command::Rename("Gamma".into()));
    let renamed = follow(session, quiet.cursor, |torrent| torrent.name == "Gamma");
    assert_eq!(
        (renamed.hash.as_str(), renamed.save_path),
        (hash, given.folder("two"))
    );

    let stale = session
        .poll(Some(first.cursor), Attention::Watched, &[])
        .expect("a list");
    assert!(
        stale.full && stale.changed.len() == 2,
        "a cursor that is not the last one gets everything"
    );
    given.cursor.set(Some(stale.cursor));
}

/// Polls until a torrent in a delta is as `is` wants it.
fn follow(session: &mut TestSession, mut cursor: u64, is: impl Fn(&Torrent) -> bool) -> Torrent {
    for _ in 0..300 {
        let delta = session
            .poll(Some(cursor), Attention::Watched, &[])
            .expect("a list");
        assert!(!delta.full);
        cursor = delta.cursor;
        if let Some(found) = delta.changed.into_iter().find(&is) {
            return found;
        }
        if session.is_real() {
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
    }
    panic!("no delta said so")
}

fn hybrid_torrent(session: &mut TestSession, given: &Given) {
    let hash = given.hybrid.hash.as_str();
    let options = AddOptions {
        start_paused: true,
        save_path: Some(given.folder("one")),
        ..AddOptions::default()
    };
    let source = Source::Metainfo(given.hybrid.bytes.clone());
    assert_eq!(
        session.add(&AddRequest {
            hash: hash.into(),
            source,
            options
        }),
        Ok(())
    );
    let torrent = until(session, hash, |_| true);
    assert_eq!((torrent.hash.as_str(), torrent.name.as_str()), (hash, "both.bin"));
    assert_eq!(session.files(hash).expect("files").len(), 1);
    done(session, hash, Command::Rename("Both".into()));
    done(session, hash, Command::Stop);
    let full = session.poll(None, Attention::Watched, &[]).expect("a list");
    assert!(
        full.changed.iter().any(|torrent| torrent.hash == hash),
        "it is listed by its v1 hash"
    );
    done(session, hash, Command::Remove(true));
    assert_eq!(session.get(hash), Ok(None));
    let gone = session
        .poll(Some(full.cursor), Attention::Watched, &[])
        .expect("a list");
    assert_eq!(gone.removed, [hash]);
}

fn remove(session: &mut TestSession, given: &Given) {
    assert_eq!(
        run(session, &[MAGNET, UNKNOWN], Command::Remove(false)),
        [None, NO_TORRENT]
    );
    assert_eq!(session.get(MAGNET), Ok(None));
    done(session, &given.two.hash, Command::Remove(true));
    assert_eq!(session.get(&given.two.hash), Ok(None));
    assert_eq!(
        run(session, &[&given.two.hash], Command::Remove(true)),
        [NO_TORRENT]
    );
}
