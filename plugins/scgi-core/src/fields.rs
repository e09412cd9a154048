//! Fields that the list asks of each torrent, and the reading of the answers into a [`Torrent`].
//!
//! rTorrent's cost is by field, so a poll asks two kinds of them: what moves by itself or by a user's command, every
//! time; the rest only now and then, and for torrents of which something important changed. Numbers travel joined into
//! one text by `cat`, which spares an XML element each; a text has an element of its own, as it may hold any character.

use crate::client::hash_bytes;
use crate::error::Error;
use crate::label;
use crate::names;
use crate::place::own_path;
use crate::trackers::{self, Trackers};
use crate::words::Words;
use engine_model::{Standing, State, Torrent};

/// First element: the numbers below, then the message, with blanks between them.
pub const MOVING: &str = "cat=$d.hash=,\" \",$d.size_bytes=,\" \",$d.completed_bytes=,\" \",$d.up.total=,\" \",\
                          $d.down.rate=,\" \",$d.up.rate=,\" \",$d.ratio=,\" \",$d.state=,\" \",$d.is_active=,\" \",\
                          $d.complete=,\" \",$d.is_open=,\" \",$d.hashing=,\" \",$d.priority=,\" \",\
                          $d.peers_connected=,\" \",$d.peers_complete=,\" \",$d.peers_accounted=,\" \",$d.wanted_chunks=,\" \",\
                          $d.message=";
/// Second element: a move must show at the next poll.
pub const DIRECTORY: &str = "d.directory=";
/// Third element.
pub const RESTING: &str = "cat=$d.is_multi_file=,\" \",$d.is_private=,\" \",$d.timestamp.started=,\" \",$d.timestamp.finished=,\" \",$d.chunk_size=,\" \",$d.connection_seed=";
/// Way of seeding that offers each piece once.
pub const SUPER_SEEDING: &str = "initial_seed";
/// Fourth to sixth.
pub const TEXTS: [&str; 3] = ["d.name=", "d.custom1=", "d.base_path="];

/// Fields asked of all torrents while nobody looks: those that a user can change in a torrent that does not move. [`DIRECTORY`]
/// and the label follow.
pub const ESSENTIAL: &str = "cat=$d.hash=,\" \",$d.state=,\" \",$d.is_active=,\" \",$d.complete=,\" \",$d.is_open=,\" \",\
                             $d.hashing=,\" \",$d.priority=,\" \",$d.wanted_chunks=,\" \",$d.message=";
/// The torrents that move, or soon may.
pub const BUSY: &str = "or={d.up.rate=,d.down.rate=,d.hashing=}";

/// Elements of a row with the essential fields.
pub const ESSENTIAL_COLUMNS: usize = 3;
/// Elements of a row with everything.
pub const FULL_COLUMNS: usize = 7;
/// Elements of a row with the moving fields.
pub const LIGHT_COLUMNS: usize = 2;
/// Elements of a row with the moving fields and the label.
pub const LABELLED_COLUMNS: usize = 3;

/// The part of a torrent that moves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moving {
    pub hash: [u8; 20],
    pub size: u64,
    pub completed: u64,
    pub uploaded: u64,
    pub down_rate: u64,
    pub up_rate: u64,
    /// Per mille.
    pub ratio: u64,
    pub flags: Flags,
    pub priority: u8,
    pub peers_connected: u32,
    pub peers_complete: u32,
    pub peers_accounted: u32,
    /// Chunks of files that are wanted which are still to come.
    pub wanted_chunks: u64,
    pub message: String,
    pub directory: String,
}

/// Flags that make up the state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// `d.state`: started by its user.
    pub started: bool,
    pub active: bool,
    pub complete: bool,
    pub open: bool,
    pub hashing: bool,
}

/// Fields that a user can change in a torrent that does not move, but for directory and label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Essential {
    pub hash: [u8; 20],
    pub flags: Flags,
    pub priority: u8,
    pub wanted_chunks: u64,
    pub message: String,
}

/// The part that rests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resting {
    pub is_multi_file: bool,
    pub is_private: bool,
    pub started_at: u64,
    pub finished_at: u64,
    /// Bytes; 0 when unknown.
    pub chunk_size: u64,
    pub is_super_seeding: bool,
    pub trackers: Trackers,
    pub name: String,
    pub label: String,
    pub base_path: String,
}

fn hash(word: &str) -> Result<[u8; 20], Error> {
    hash_bytes(word).ok_or_else(|| Error::Protocol("a torrent without an info-hash".to_owned()))
}

fn flags(words: &mut Words<'_>) -> Result<Flags, Error> {
    Ok(Flags {
        started: words.number()? != 0,
        active: words.number()? != 0,
        complete: words.number()? != 0,
        open: words.number()? != 0,
        hashing: words.number()? != 0,
    })
}

impl Essential {
    /// Reads the first element of a row of [`ESSENTIAL`].
    pub fn parse(joined: &str) -> Result<Self, Error> {
        let mut words = Words::split(joined);
        let hash = hash(words.word()?)?;
        let flags = flags(&mut words)?;
        let priority = priority(words.number()?);
        let wanted_chunks = words.number()?;
        let message = words.rest()?.to_owned();
        Ok(Self {
            hash,
            flags,
            priority,
            wanted_chunks,
            message,
        })
    }
}

impl Moving {
    /// Reads the first element of a row; `directory` is the second.
    pub fn parse(joined: &str, directory: String) -> Result<Self, Error> {
        let mut words = Words::split(joined);
        let hash = hash(words.word()?)?;
        let (size, completed, uploaded) = (words.number()?, words.number()?, words.number()?);
        let (down_rate, up_rate, ratio) = (words.number()?, words.number()?, words.number()?);
        let flags = flags(&mut words)?;
        let priority = priority(words.number()?);
        let (peers_connected, peers_complete, peers_accounted) = (
            small(words.number()?),
            small(words.number()?),
            small(words.number()?),
        );
        let wanted_chunks = words.number()?;
        let message = words.rest()?.to_owned();
        Ok(Self {
            hash,
            size,
            completed,
            uploaded,
            down_rate,
            up_rate,
            ratio,
            flags,
            priority,
            peers_connected,
            peers_complete,
            peers_accounted,
            wanted_chunks,
            message,
            directory: names::decoded(&directory),
        })
    }

    /// True when [`BUSY`] picks it.
    pub fn is_busy(&self) -> bool {
        self.down_rate > 0 || self.up_rate > 0 || self.flags.hashing
    }

    /// True when all wanted data is there: the whole torrent, or all files that were not deselected.
    pub fn is_whole(&self) -> bool {
        let is_partly = self.wanted_chunks == 0 && self.completed > 0 && !self.flags.hashing;
        self.flags.complete || is_partly
    }

    /// Wanted bytes that are still to download. During a check the count of chunks does not tell.
    fn left(&self, chunk_size: u64) -> u64 {
        let left = self.size.saturating_sub(self.completed);
        if self.is_whole() {
            0
        } else if chunk_size == 0 || self.flags.hashing || self.wanted_chunks == 0 {
            left
        } else {
            left.min(self.wanted_chunks.saturating_mul(chunk_size))
        }
    }

    /// The standing with its trackers.
    pub fn standing(&self, trackers: &Trackers) -> Option<Standing> {
        trackers.standing(self.flags.active, &self.message)
    }

    pub fn state(&self, trackers: &Trackers) -> State {
        let flags = Flags {
            complete: self.is_whole(),
            ..self.flags
        };
        let is_lost = self.standing(trackers) == Some(Standing::Unregistered);
        state(flags, is_lost || trackers::is_trouble(&self.message))
    }
}

impl Resting {
    /// Reads the third to seventh element of a row.
    pub fn parse(
        joined: &str,
        name: String,
        label: String,
        base_path: String,
        trackers: &str,
    ) -> Result<Self, Error> {
        let mut words = Words::split(joined);
        Ok(Self {
            is_multi_file: words.number()? != 0,
            is_private: words.number()? != 0,
            started_at: words.number()?,
            finished_at: words.number()?,
            chunk_size: words.number()?,
            is_super_seeding: words.word()? == SUPER_SEEDING,
            trackers: Trackers::parse(trackers),
            name: names::decoded(&name),
            label,
            base_path: names::decoded(&base_path),
        })
    }
}

fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn priority(native: u64) -> u8 {
    match native {
        0 => 0,
        1 => 1,
        3 => 3,
        _ => 2,
    }
}

/// First match wins.
pub fn state(flags: Flags, is_in_trouble: bool) -> State {
    if flags.hashing {
        State::Checking
    } else if is_in_trouble {
        State::Error
    } else if !flags.started {
        State::Stopped
    } else if !flags.active && flags.open {
        State::Paused
    } else if flags.complete {
        State::Seeding
    } else {
        State::Downloading
    }
}

/// A magnet link whose metadata is still to come, by the name that rTorrent gives what it loads instead.
pub fn is_magnet(hash: &str, name: &str) -> bool {
    name.strip_suffix(".meta")
        .is_some_and(|name| name.eq_ignore_ascii_case(hash))
}

/// Torrent from both parts.
pub fn torrent(moving: &Moving, resting: &Resting) -> Torrent {
    let left = moving.left(resting.chunk_size);
    let eta = match (left, moving.down_rate) {
        (0, _) => Some(0),
        (_, 0) => None,
        (left, rate) => Some((left.saturating_add(rate / 2)) / rate),
    };
    // Of a torrent of which files are left out: what it has and what is to come.
    let size = if moving.flags.complete {
        moving.size
    } else {
        moving.size.min(moving.completed.saturating_add(left))
    };
    let progress = match size {
        0 => 0.0,
        _ if moving.is_whole() => 1.0,
        size => (moving.completed as f64 / size as f64).min(1.0),
    };
    let standing = moving.standing(&resting.trackers);
    let content_path = own_path(
        &resting.base_path,
        &moving.directory,
        &resting.name,
        resting.is_multi_file,
    );
    let hash = hex(&moving.hash);
    let has_metadata = !is_magnet(&hash, &resting.name);
    Torrent {
        name: resting.name.clone(),
        state: moving.state(&resting.trackers),
        progress,
        size: has_metadata.then_some(size),
        downloaded: moving.completed,
        uploaded: moving.uploaded,
        ratio: moving.ratio as f64 / 1000.0,
        download_rate: moving.down_rate,
        upload_rate: moving.up_rate,
        eta,
        seeds_connected: moving.peers_complete,
        // The connected ones are in the swarm, whatever its trackers told of it.
        seeds_total: Some(moving.peers_complete.max(resting.trackers.swarm.0)),
        peers_connected: moving.peers_connected,
        peers_total: Some(moving.peers_accounted.max(resting.trackers.swarm.1)),
        priority: moving.priority,
        label: non_empty(&label::read(&resting.label)),
        tags: Vec::new(), // the client has none
        save_path: save_path(&moving.directory, resting).to_owned(),
        content_path,
        is_private: has_metadata.then_some(resting.is_private),
        has_metadata: Some(has_metadata),
        message: non_empty(&moving.message),
        added_at: (resting.started_at > 0).then_some(resting.started_at),
        completed_at: (resting.finished_at > 0).then_some(resting.finished_at),
        tracker_host: resting.trackers.host.as_deref().map(str::to_owned),
        trackers_count: resting.trackers.in_use(),
        tracker_standing: standing,
        tracker_message: trackers::message(standing, &moving.message),
        super_seeding: Some(resting.is_super_seeding),
        hash,
        ..Torrent::default()
    }
}

/// The directory that torrents share. rTorrent's own one of a torrent with several files ends in that torrent's folder.
pub fn save_path<'a>(directory: &'a str, resting: &Resting) -> &'a str {
    match directory.rsplit_once('/') {
        Some((parent, folder))
            if resting.is_multi_file && !parent.is_empty() && names::is_same(folder, &resting.name) =>
        {
            parent
        }
        _ => directory,
    }
}

fn non_empty(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// Lower-case hex digits.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = |byte: &u8| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
    // Digits are text: nothing is left out.
    String::from_utf8(bytes.iter().flat_map(digits).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(word: &str) -> Flags {
        Flags {
            started: word.contains('s'),
            active: word.contains('a'),
            complete: word.contains('c'),
            open: word.contains('o'),
            hashing: word.contains('h'),
        }
    }

    #[test]
    fn every_row_of_the_state_mapping() {
        // s started, a active, c complete, o open, h hashing
        let cases = [
            ("h", false, State::Checking),
            ("hsaoc", true, State::Checking),
            ("saoc", true, State::Error),
            ("sao", true, State::Error),
            ("", true, State::Error),
            ("", false, State::Stopped),
            ("o", false, State::Stopped),
            ("oac", false, State::Stopped),
            ("so", false, State::Paused),
            ("soc", false, State::Paused),
            ("saoc", false, State::Seeding),
            ("sac", false, State::Seeding),
            ("sc", false, State::Seeding),
            ("sao", false, State::Downloading),
            ("s", false, State::Downloading),
        ];
        for (word, is_in_trouble, expected) in cases {
            assert_eq!(
                state(flags(word), is_in_trouble),
                expected,
                "{word:?} {is_in_trouble}"
            );
        }
    }

    /// One tracker that works is enough, and only words of a loss make an error of none.
    #[test]
    fn trackers_are_an_error_when_all_are_lost() {
        let row = |message: &str| format!("{HASH} 1000 250 0 0 0 0 1 1 0 1 0 2 0 0 0 30 {message}");
        for (counts, message, expected, standing) in [
            (
                "1:1:1:3:0/1:1:1:0:2/",
                "Tracker: [internal error]",
                State::Downloading,
                Some(Standing::Working),
            ),
            (
                "1:1:1:3:0/1:1:1:0:2/",
                "Tracker: [Failure reason \"unregistered torrent\"]",
                State::Downloading,
                Some(Standing::Working),
            ),
            (
                "1:1:1:3:1/",
                "Tracker: [Failure reason \"Torrent not registered\"]",
                State::Error,
                Some(Standing::Unregistered),
            ),
            (
                "1:1:1:0:1/",
                "Tracker: [internal error]",
                State::Downloading,
                Some(Standing::Failing),
            ),
            (
                "1:1:1:0:1/1:1:1:0:0/",
                "Tracker: [denied]",
                State::Downloading,
                Some(Standing::Updating),
            ),
            ("1:1:1:0:0/", "", State::Downloading, Some(Standing::Updating)),
            ("3:1:0:0:0/", "", State::Downloading, None),
            (
                "1:1:1:3:0/",
                "Low diskspace.",
                State::Error,
                Some(Standing::Working),
            ),
            (
                "1:1:1:3:0/",
                "Hash check I/O error at chunk 0: Not a directory",
                State::Error,
                Some(Standing::Working),
            ),
        ] {
            let name = || "a".to_owned();
            let resting =
                Resting::parse("0 0 0 0 25 ", name(), String::new(), String::new(), counts).unwrap();
            let shown = example(&row(message), "/d", &resting);
            assert_eq!(
                (shown.state, shown.tracker_standing),
                (expected, standing),
                "{counts} {message}"
            );
        }
    }

    /// Chunks of 100 bytes, of which as many are there as `completed` says.
    #[test]
    fn what_is_not_wanted_is_no_part_of_a_torrent() {
        let resting = Resting {
            chunk_size: 100,
            ..Resting::default()
        };
        for (flags, completed, wanted, expected) in [
            // flags: started, active, complete, open, hashing
            ("1 1 0 1 0", 0, 10, (State::Downloading, 0.0, 950, Some(95))),
            (
                "1 1 0 1 0",
                400,
                6,
                (State::Downloading, 400.0 / 950.0, 950, Some(55)),
            ),
            (
                "1 1 0 1 0",
                400,
                2,
                (State::Downloading, 400.0 / 600.0, 600, Some(20)),
            ),
            ("1 1 0 1 0", 400, 0, (State::Seeding, 1.0, 400, Some(0))),
            ("0 0 0 0 0 ", 400, 0, (State::Stopped, 1.0, 400, Some(0))),
            ("1 1 1 1 0", 950, 0, (State::Seeding, 1.0, 950, Some(0))),
            // Nothing is wanted, and nothing is there.
            ("1 1 0 1 0", 0, 0, (State::Downloading, 0.0, 950, Some(95))),
            // While data is checked nobody knows what is there.
            (
                "1 1 0 1 1",
                400,
                0,
                (State::Checking, 400.0 / 950.0, 950, Some(55)),
            ),
        ] {
            let row = format!("{HASH} 950 {completed} 0 10 0 0 {flags} 2 0 0 0 {wanted} ");
            let shown = example(&row, "/d", &resting);
            let found = (
                shown.state,
                shown.progress,
                shown.size.expect("a size"),
                shown.eta,
            );
            assert_eq!(found, expected, "{flags}: {completed}, {wanted} to come");
        }
    }

    fn example(joined: &str, directory: &str, resting: &Resting) -> Torrent {
        torrent(&Moving::parse(joined, directory.to_owned()).unwrap(), resting)
    }

    const HASH: &str = "46C347373CE10AECB894A2D2C8E3383353EF9BE2";

    #[test]
    fn a_row_becomes_a_torrent() {
        let resting = Resting::parse(
            "0 1 1700000000 0 25 initial_seed",
            "film.mkv".to_owned(),
            "films".to_owned(),
            "/d/film.mkv".to_owned(),
            "1:1:1:0:1:5:3/3:1:0:0:0/",
        );
        let row = format!("{HASH} 1000 250 500 10 20 1500 1 1 0 1 0 3 7 2 9 30 Tracker: [a b]");
        let torrent = example(&row, "/d", &resting.unwrap());
        let expected = Torrent {
            hash: HASH.to_lowercase(),
            name: "film.mkv".to_owned(),
            state: State::Downloading,
            progress: 0.25,
            size: Some(1000),
            downloaded: 250,
            uploaded: 500,
            ratio: 1.5,
            download_rate: 10,
            upload_rate: 20,
            eta: Some(75),
            seeds_connected: 2,
            seeds_total: Some(5),
            peers_connected: 7,
            peers_total: Some(9),
            priority: 3,
            label: Some("films".to_owned()),
            tags: vec![],
            save_path: "/d".to_owned(),
            content_path: "/d/film.mkv".to_owned(),
            is_private: Some(true),
            message: Some("Tracker: [a b]".to_owned()),
            added_at: Some(1_700_000_000),
            completed_at: None,
            tracker_host: None,
            tracker_standing: Some(Standing::Failing),
            tracker_message: Some("a b".to_owned()),
            has_metadata: Some(true),
            trackers_count: Some(1),
            super_seeding: Some(true),
            ..Torrent::default()
        };
        assert_eq!(torrent, expected);
    }

    #[test]
    fn a_torrent_that_is_closed_or_was_never_open_is_shown_in_its_own_place() {
        let row = format!("{HASH} 1000 1000 0 0 0 0 0 0 1 0 0 2 0 0 0 0 ");
        for (word, name, base_path, directory, expected) in [
            ("0 0 0 0 0 ", "film.mkv", "/old/film.mkv", "/new", "/new/film.mkv"),
            (
                "0 0 0 0 0 ",
                "film.mkv",
                "/new/film.mkv",
                "/new/",
                "/new/film.mkv",
            ),
            ("1 0 0 0 0 ", "Pack", "/old/Pack", "/new/Pack", "/new/Pack"),
            ("0 0 0 0 0 ", "film.mkv", "", "/new", "/new/film.mkv"),
            ("0 0 0 0 0 ", "film.mkv", "", "/", "/film.mkv"),
            ("1 0 0 0 0 ", "Pack", "", "/new/Pack", "/new/Pack"),
            ("0 0 0 0 0 ", "", "", "/new", "/new"),
        ] {
            let resting = Resting::parse(word, name.to_owned(), String::new(), base_path.to_owned(), "");
            let shown = example(&row, directory, &resting.unwrap()).content_path;
            assert_eq!(shown, expected, "{base_path:?} {directory:?}");
        }
    }

    #[test]
    fn odd_numbers_are_clamped() {
        let resting = Resting::default();
        let row = |size: &str, done: &str, rate: &str, priority: &str| {
            example(
                &format!("{HASH} {size} {done} -5 {rate} x 0 1 1 0 1 0 {priority} 99999999999 0 0 1 "),
                "/d",
                &resting,
            )
        };
        let more_than_all = row("100", "300", "0", "7");
        assert_eq!(
            (more_than_all.progress, more_than_all.eta, more_than_all.priority),
            (1.0, Some(0), 2)
        );
        assert_eq!(
            (
                more_than_all.uploaded,
                more_than_all.upload_rate,
                more_than_all.peers_connected
            ),
            (0, 0, u32::MAX)
        );
        let nothing = row("0", "0", "5", "-1");
        assert_eq!(
            (nothing.progress, nothing.eta, nothing.message),
            (0.0, Some(0), None)
        );
        assert_eq!(row("100", "0", "0", "0").eta, None);
        assert_eq!(row("100", "0", "30", "1").eta, Some(3));
    }

    /// Its privacy stands in metadata that is not there yet.
    #[test]
    fn a_magnet_link_without_metadata_says_nothing_of_privacy() {
        let row = format!("{HASH} 1000 0 0 0 0 0 1 1 0 1 0 2 0 0 0 1 ");
        for (name, is_private) in [
            (format!("{HASH}.meta"), None),
            (format!("{}.meta", HASH.to_lowercase()), None),
            ("film.meta".to_owned(), Some(false)),
            (HASH.to_owned(), Some(false)),
        ] {
            let resting = Resting::parse("0 0 0 0 0 ", name.clone(), String::new(), String::new(), "");
            assert_eq!(
                example(&row, "/d", &resting.unwrap()).is_private,
                is_private,
                "{name}"
            );
        }
    }

    #[test]
    fn short_rows_are_refused() {
        for row in [
            "",
            "x",
            HASH,
            &format!("{HASH} 1 2 3"),
            "ZZC347373CE10AECB894A2D2C8E3383353EF9BE2 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 ",
        ] {
            assert!(
                matches!(Moving::parse(row, String::new()), Err(Error::Protocol(_))),
                "{row:?}"
            );
        }
    }

    #[test]
    fn the_save_path_is_the_shared_directory() {
        let with = |is_multi_file, name: &str| Resting {
            is_multi_file,
            name: name.to_owned(),
            ..Resting::default()
        };
        assert_eq!(save_path("/d/Pack", &with(true, "Pack")), "/d");
        assert_eq!(save_path("/d/Other", &with(true, "Pack")), "/d/Other");
        assert_eq!(save_path("/d/BackPack", &with(true, "Pack")), "/d/BackPack");
        assert_eq!(save_path("/d/film.mkv", &with(false, "film.mkv")), "/d/film.mkv");
        assert_eq!(save_path("/d/????", &with(true, "\u{1f3ac}")), "/d");
        assert_eq!(save_path("/Pack", &with(true, "Pack")), "/Pack");
    }
}
