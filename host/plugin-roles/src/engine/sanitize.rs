//! Checks of what a plugin returns, which is untrusted input: it relays what a product says, and may be wrong itself.
//!
//! Bounds: lists by count, texts by length (cut, not refused), numbers into the range that the database and JSON can
//! hold. A row without a proper info-hash is dropped; everything else is bent into shape.

use std::collections::HashSet;

use qm_kernel::Timestamp;
use qm_metainfo::MAX_TORRENT_BYTES;
use qm_ports::engine::*;

const FILES: usize = 200_000;
const PEERS: usize = 10_000;
const TRACKERS: usize = 1_000;
const OUTCOMES: usize = 100_000;
/// Categories, or tags, or banned addresses, of one client.
pub(super) const NAMES: usize = 20_000;
/// Capabilities that a version of a client may lack.
const WORDS: usize = 100;
/// Tags of one torrent.
const TAGS: usize = 1_000;

/// Names and paths.
const LONG: usize = 16 << 10;
/// Labels, messages, versions.
const SHORT: usize = 4 << 10;

/// The end of the year 9999, in seconds.
const LATEST: u64 = 253_402_300_799;

/// Cuts `text` to `max` bytes, at a character.
pub(super) fn cut(text: &mut String, max: usize) {
    if text.len() > max {
        let mut end = max;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
    }
}

fn cut_option(text: &mut Option<String>, max: usize) {
    if let Some(inner) = text {
        cut(inner, max);
    }
    if text.as_ref().is_some_and(String::is_empty) {
        *text = None;
    }
}

/// 40 lower-case hex digits.
pub(crate) fn is_hash(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// The database and JavaScript's readers have signed numbers.
fn whole(number: &mut u64) {
    *number = (*number).min(i64::MAX as u64);
}

fn whole_option(number: &mut Option<u64>) {
    if let Some(inner) = number {
        whole(inner);
    }
}

fn fraction(number: &mut f64) {
    *number = if number.is_nan() {
        0.0
    } else {
        number.clamp(0.0, 1.0)
    };
}

/// Seconds as the plugin gave them to an instant; 0 and what is past the calendar mean "unknown".
pub(super) fn instant(seconds: Option<u64>) -> Option<Timestamp> {
    seconds
        .filter(|&s| s != 0 && s <= LATEST)
        .map(|s| Timestamp::from_secs(s as i64))
}

/// Returns how many rows were dropped.
pub(super) fn delta(delta: &mut Delta) -> usize {
    within(delta, LIST_LIMIT)
}

/// The same, of lists of at most `limit` rows.
fn within(delta: &mut Delta, limit: usize) -> usize {
    let before = delta.changed.len() + delta.removed.len();
    let told = delta.stats.torrent_count as usize;
    delta.cut = delta.changed.len().max(delta.removed.len()) > limit || (delta.full && told > limit);
    delta.changed.truncate(limit);
    delta
        .changed
        .retain_mut(|torrent| is_hash(&torrent.hash) && torrent_row(torrent));
    delta.removed.truncate(limit);
    delta.removed.retain(|hash| is_hash(hash));
    once_each(delta);
    let stats = &mut delta.stats;
    whole(&mut stats.download_rate);
    whole(&mut stats.upload_rate);
    whole(&mut stats.download_rate_limit);
    whole(&mut stats.upload_rate_limit);
    whole(&mut stats.total_downloaded);
    whole(&mut stats.total_uploaded);
    whole_option(&mut stats.free_disk_bytes);
    before - delta.changed.len() - delta.removed.len()
}

/// Keeps the first row of each torrent, and nothing removed that is listed in the same breath.
fn once_each(delta: &mut Delta) {
    let mut seen = HashSet::with_capacity(delta.changed.len());
    let first: Vec<bool> = delta
        .changed
        .iter()
        .map(|torrent| seen.insert(&*torrent.hash))
        .collect();
    delta.removed.retain(|hash| !seen.contains(hash.as_str()));
    if first.contains(&false) {
        let mut first = first.into_iter();
        delta.changed.retain(|_| first.next().unwrap_or(true));
    }
}

/// Bends a row into shape; always true, so that it serves as the second half of a filter.
fn torrent_row(torrent: &mut Torrent) -> bool {
    cut(&mut torrent.name, LONG);
    cut(&mut torrent.save_path, LONG);
    cut(&mut torrent.content_path, LONG);
    cut_option(&mut torrent.label, SHORT);
    torrent.tags.truncate(TAGS);
    torrent.tags.retain_mut(|tag| {
        cut(tag, SHORT);
        !tag.is_empty()
    });
    cut_option(&mut torrent.message, SHORT);
    cut_option(&mut torrent.tracker_host, SHORT);
    cut_option(&mut torrent.tracker_message, SHORT);
    torrent.availability = torrent
        .availability
        .filter(|copies| copies.is_finite() && *copies >= 0.0);
    if let Some(seeded) = &mut torrent.seeded {
        whole(&mut seeded.seconds);
    }
    fraction(&mut torrent.progress);
    torrent.ratio = if torrent.ratio.is_finite() {
        torrent.ratio.max(0.0)
    } else {
        0.0
    };
    torrent.priority = torrent.priority.min(3);
    whole(&mut torrent.size);
    whole(&mut torrent.downloaded);
    whole(&mut torrent.uploaded);
    whole(&mut torrent.download_rate);
    whole(&mut torrent.upload_rate);
    whole_option(&mut torrent.eta);
    cut_option(&mut torrent.download_path, LONG);
    torrent.queue_position = torrent.queue_position.filter(|place| *place > 0);
    whole_option(&mut torrent.upload_limit);
    whole_option(&mut torrent.download_limit);
    if let Some(limits) = &mut torrent.share_limits {
        share_limits(limits);
    }
    true
}

pub(super) fn torrent(torrent: Option<Torrent>) -> Option<Torrent> {
    torrent
        .filter(|torrent| is_hash(&torrent.hash))
        .map(|mut torrent| {
            torrent_row(&mut torrent);
            torrent
        })
}

pub(super) fn files(files: &mut Vec<File>) {
    files.truncate(FILES);
    for file in files {
        cut(&mut file.path, LONG);
        fraction(&mut file.progress);
        whole(&mut file.size);
        file.downloaded = ((file.size as f64) * file.progress).round() as u64;
        file.downloaded = file.downloaded.min(file.size);
        file.priority = file.priority.min(2);
        file.availability = file
            .availability
            .filter(|copies| copies.is_finite() && *copies >= 0.0);
    }
}

pub(super) fn peers(peers: &mut Vec<Peer>) {
    peers.truncate(PEERS);
    for peer in peers {
        cut(&mut peer.ip, SHORT);
        cut_option(&mut peer.client, SHORT);
        cut_option(&mut peer.country, SHORT);
        fraction(&mut peer.progress);
        whole(&mut peer.download_rate);
        whole(&mut peer.upload_rate);
    }
}

pub(super) fn trackers(trackers: &mut Vec<Tracker>) {
    trackers.truncate(TRACKERS);
    for tracker in trackers {
        cut(&mut tracker.url, LONG);
        cut_option(&mut tracker.message, SHORT);
    }
}

/// One outcome for each hash asked about, in the order asked: what the plugin left out did not happen.
pub(super) fn outcomes(hashes: &[String], mut given: Vec<Outcome>) -> Vec<Outcome> {
    given.truncate(OUTCOMES);
    let in_order = given.len() == hashes.len()
        && given
            .iter()
            .zip(hashes)
            .all(|(outcome, hash)| outcome.hash == *hash);
    if in_order {
        return given;
    }
    let outcome = |hash: &String| match given.iter().position(|outcome| outcome.hash == *hash) {
        Some(at) => given[at].clone(),
        None => Outcome {
            hash: hash.clone(),
            result: Err(EngineError::Protocol(
                "the plugin did not say what became of it".to_owned(),
            )),
        },
    };
    hashes.iter().map(outcome).collect()
}

/// The same refusal of every hash.
pub(super) fn refused(hashes: &[String], error: &EngineError) -> Vec<Outcome> {
    let outcome = |hash: &String| Outcome {
        hash: hash.clone(),
        result: Err(error.clone()),
    };
    hashes.iter().map(outcome).collect()
}

pub(super) fn session_stats(stats: &mut SessionStats) {
    cut(&mut stats.engine_version, SHORT);
    cut_option(&mut stats.peer_id, SHORT);
    cut_option(&mut stats.default_save_path, LONG);
    whole_option(&mut stats.free_disk_bytes);
    whole_option(&mut stats.total_disk_bytes);
}

pub(super) fn transfer(transfer: &mut Transfer) {
    whole(&mut transfer.downloaded);
    whole(&mut transfer.uploaded);
}

/// Shortens a list to [`NAMES`]; returns how many were left out.
fn shorten<T>(list: &mut Vec<T>) -> usize {
    let left_out = list.len().saturating_sub(NAMES);
    list.truncate(NAMES);
    left_out
}

/// Returns how many were left out.
pub(super) fn categories(categories: &mut Vec<Category>) -> usize {
    let left_out = shorten(categories);
    categories.retain_mut(|category| {
        cut(&mut category.name, SHORT);
        cut_option(&mut category.save_path, LONG);
        cut_option(&mut category.download_path, LONG);
        !category.name.is_empty()
    });
    left_out
}

/// Names of tags; returns how many were left out.
pub(super) fn tags(tags: &mut Vec<String>) -> usize {
    let left_out = shorten(tags);
    tags.retain_mut(|tag| {
        cut(tag, SHORT);
        !tag.is_empty()
    });
    left_out
}

/// Banned addresses, whole or not at all: the list is changed by setting it anew, and what was cut from it would be let in.
pub(super) fn addresses(addresses: &[String]) -> Result<(), EngineError> {
    if addresses.len() > NAMES {
        return Err(EngineError::Protocol(format!(
            "it bans {} addresses, and this server takes {NAMES} at most: shorten the list in the client",
            addresses.len()
        )));
    }
    if addresses
        .iter()
        .any(|address| address.is_empty() || address.len() > SHORT)
    {
        return Err(EngineError::Protocol(
            "it bans an address that is empty or too long".to_owned(),
        ));
    }
    Ok(())
}

/// A .torrent file, which this server could read.
pub(super) fn metainfo(bytes: &[u8]) -> Result<(), EngineError> {
    if bytes.len() > MAX_TORRENT_BYTES {
        return Err(EngineError::Protocol(format!(
            "the .torrent file has {} bytes, the limit is {MAX_TORRENT_BYTES}",
            bytes.len()
        )));
    }
    Ok(())
}

/// A ratio that is no number from 0 on says nothing: taken for 0 it would end the torrent.
fn share_limits(limits: &mut ShareLimits) {
    if let Limit::At(ratio) = limits.ratio
        && !(ratio.is_finite() && ratio >= 0.0)
    {
        limits.ratio = if ratio == f64::INFINITY {
            Limit::Unlimited
        } else {
            Limit::Inherit
        };
    }
    for limit in [&mut limits.seeding_time, &mut limits.inactive_time] {
        if let Limit::At(seconds) = limit {
            whole(seconds);
        }
    }
}

pub(super) fn rate_limits(limits: &mut RateLimits) {
    whole_option(&mut limits.download);
    whole_option(&mut limits.upload);
}

pub(super) fn health(health: &mut Health) {
    cut(&mut health.version, SHORT);
    health.lacks.truncate(WORDS);
    for word in &mut health.lacks {
        cut(word, SHORT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(hash: &str) -> Torrent {
        Torrent {
            hash: hash.into(),
            name: "n".repeat(100_000),
            state: TorrentState::Seeding,
            progress: f64::NAN,
            size: u64::MAX,
            downloaded: 0,
            uploaded: 0,
            ratio: f64::INFINITY,
            download_rate: 0,
            upload_rate: 0,
            eta: Some(u64::MAX),
            seeds_connected: 0,
            seeds_total: None,
            peers_connected: 0,
            peers_total: None,
            priority: 9,
            label: Some(String::new()),
            tags: vec![String::new(), "t".repeat(100_000)],
            save_path: String::new(),
            content_path: String::new(),
            is_private: Some(false),
            message: None,
            added_at: None,
            completed_at: None,
            tracker_host: Some("h".repeat(100_000)),
            tracker_standing: None,
            tracker_message: Some("m".repeat(100_000)),
            seeded: Some(Seeded {
                seconds: u64::MAX,
                as_of: Timestamp::from_secs(9),
            }),
            last_activity: None,
            availability: Some(f64::INFINITY),
            download_path: Some("d".repeat(100_000)),
            queue_position: Some(0),
            upload_limit: Some(u64::MAX),
            share_limits: Some(ShareLimits {
                ratio: Limit::At(f64::NAN),
                seeding_time: Limit::At(u64::MAX),
                ..ShareLimits::default()
            }),
            ..Torrent::default()
        }
    }

    #[test]
    fn rows_are_bent_into_shape_or_dropped() {
        let good = "0123456789abcdef0123456789abcdef01234567";
        let hashes = [
            good,
            "",
            "0123456789ABCDEF0123456789ABCDEF01234567",
            "0123456789abcdef0123456789abcdef0123456x",
        ];
        let mut given = Delta {
            changed: hashes.map(row).to_vec(),
            removed: vec!["x".into()],
            ..Delta::default()
        };
        assert_eq!(delta(&mut given), 4);
        let [row] = &given.changed[..] else {
            panic!("one row is left, not {}", given.changed.len())
        };
        assert_eq!((row.progress, row.ratio, row.priority), (0.0, 0.0, 3));
        assert_eq!((row.size, row.eta), (i64::MAX as u64, Some(i64::MAX as u64)));
        assert_eq!((row.name.len(), &row.label), (LONG, &None));
        assert_eq!(row.tracker_host.as_ref().map(String::len), Some(SHORT));
        assert_eq!(row.tracker_message.as_ref().map(String::len), Some(SHORT));
        assert_eq!((row.availability, row.queue_position), (None, None));
        assert_eq!(row.download_path.as_ref().map(String::len), Some(LONG));
        assert_eq!(row.upload_limit, Some(i64::MAX as u64));
        let limits = row.share_limits.unwrap_or_default();
        assert_eq!(
            (limits.ratio, limits.seeding_time),
            (Limit::Inherit, Limit::At(i64::MAX as u64))
        );
        assert_eq!(row.seeded.map(|seeded| seeded.seconds), Some(i64::MAX as u64));
        assert_eq!(row.tags.iter().map(String::len).collect::<Vec<_>>(), [SHORT]);
    }

    #[test]
    fn a_list_that_is_cut_says_so() {
        const LIMIT: usize = 3;
        let listing = |rows: usize, told: u32| {
            let mut given = Delta {
                full: true,
                changed: vec![row("x"); rows],
                ..Delta::default()
            };
            given.stats.torrent_count = told;
            within(&mut given, LIMIT);
            given.cut
        };
        assert!(!listing(LIMIT, 0), "as long as it may be");
        assert!(listing(LIMIT + 1, 0), "one is left out");
        assert!(
            listing(1, LIMIT as u32 + 1),
            "the client has more than it may list"
        );
        let mut gone = Delta {
            removed: vec![String::new(); LIMIT + 1],
            ..Delta::default()
        };
        within(&mut gone, LIMIT);
        assert!(gone.cut);
    }

    #[test]
    fn a_torrent_is_listed_once() {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        let changed = [&a, &b, &a].map(|hash| row(hash)).to_vec();
        let mut given = Delta {
            changed,
            removed: vec![b.clone(), "c".repeat(40)],
            ..Delta::default()
        };
        assert_eq!(delta(&mut given), 2);
        assert_eq!(
            given
                .changed
                .iter()
                .map(|torrent| &*torrent.hash)
                .collect::<Vec<_>>(),
            [&a, &b]
        );
        assert_eq!(given.removed, ["c".repeat(40)]);
    }

    #[test]
    fn outcomes_follow_the_question() {
        let hashes = ["a", "b", "c"].map(str::to_owned);
        let ok = |hash: &str| Outcome {
            hash: hash.to_owned(),
            result: Ok(()),
        };
        let answer = outcomes(&hashes, vec![ok("c"), ok("z"), ok("a")]);
        let shape: Vec<_> = answer
            .iter()
            .map(|outcome| (outcome.hash.as_str(), outcome.result.is_ok()))
            .collect();
        assert_eq!(shape, [("a", true), ("b", false), ("c", true)]);
    }

    #[test]
    fn instants_outside_the_calendar_are_unknown() {
        assert_eq!(instant(Some(0)), None);
        assert_eq!(instant(Some(u64::MAX)), None);
        assert_eq!(instant(Some(5)), Some(Timestamp::from_ms(5000)));
    }

    #[test]
    fn a_ratio_that_is_no_number_is_no_limit() {
        for (told, taken) in [
            (1.5, Limit::At(1.5)),
            (f64::NAN, Limit::Inherit),
            (-1.0, Limit::Inherit),
            (f64::NEG_INFINITY, Limit::Inherit),
            (f64::INFINITY, Limit::Unlimited),
        ] {
            let mut limits = ShareLimits {
                ratio: Limit::At(told),
                ..ShareLimits::default()
            };
            share_limits(&mut limits);
            assert_eq!(limits.ratio, taken, "{told}");
        }
    }

    #[test]
    fn a_list_of_bans_is_taken_whole_or_not_at_all() {
        let banned = |count: usize| addresses(&vec!["192.0.2.1".to_owned(); count]);
        assert_eq!(banned(NAMES), Ok(()));
        assert!(matches!(banned(NAMES + 1), Err(EngineError::Protocol(_))));
        assert!(addresses(&["x".repeat(SHORT + 1)]).is_err());
        assert!(addresses(&[String::new()]).is_err());
        let mut many = vec!["tag".to_owned(); NAMES + 3];
        assert_eq!((tags(&mut many), many.len()), (3, NAMES));
    }

    #[test]
    fn an_exported_file_is_one_that_could_be_read() {
        assert_eq!(metainfo(b"de"), Ok(()));
        let large = metainfo(&vec![0; MAX_TORRENT_BYTES + 1]).unwrap_err();
        assert!(large.to_string().contains("the limit is"), "{large}");
    }

    #[test]
    fn texts_are_cut_at_a_character() {
        let mut text = "ääää".to_owned();
        cut(&mut text, 5);
        assert_eq!(text, "ää");
    }
}
