//! The trackers of a torrent, as far as a list needs them: how many work, what the torrent's message says of them, and the first one's
//! host.
//!
//! rTorrent counts successes and failures of each tracker, and keeps one message a torrent. The counts come with the list, a few digits
//! a tracker; of a torrent with [`MOST`] trackers and more they are not asked, for whoever makes a torrent chooses how many it has. The
//! address of the first tracker is asked once a torrent.

use engine_model::{Standing, Tracked, host_of};

use crate::xml::Param;

/// Element of the list: the counts of each tracker and of its swarm, with a slash behind each; 0 where there are too many.
pub const COUNTS: &str = "branch=\"less=d.tracker_size=,value=200\",\
                          \"cat=\\\"$t.multicall=d.hash=,\\\\\\\"cat=$t.type=,:,$t.is_enabled=,:,$t.is_usable=,:,\
                          $t.success_counter=,:,$t.failed_counter=,:,$t.scrape_complete=,:,$t.scrape_incomplete=,/\\\\\\\"\\\"\"";
/// Element that stands for [`COUNTS`] where a release does not understand them.
pub const NO_COUNTS: &str = "cat=";
/// Trackers from which on a torrent's are not counted.
const MOST: &str = "less=d.tracker_size=,value=200";
const COUNT: &str = "cat=\"$t.multicall=d.hash=,\\\"cat=$t.type=,:,$t.is_enabled=,:,$t.is_usable=,:,\
                     $t.success_counter=,:,$t.failed_counter=,:,$t.scrape_complete=,:,$t.scrape_incomplete=,/\\\"\"";

/// The call that answers [`COUNTS`] of one torrent.
pub fn count_of(target: &str) -> (&'static str, Vec<Param<'_>>) {
    (
        "branch",
        vec![Param::Text(target), Param::Text(MOST), Param::Text(COUNT)],
    )
}

/// The number that rTorrent gives its own entry of the distributed hash table, which is no tracker.
const DHT: u64 = 3;

/// Trackers of one torrent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trackers {
    pub tracked: Tracked,
    /// All there are, those that are switched off too; none where they were not counted.
    count: Option<u32>,
    /// Seeds and other peers of the largest swarm that one of them told; 0 while none told.
    pub swarm: (u32, u32),
    /// Host of the first one.
    pub host: Option<Box<str>>,
    /// The first one was asked for.
    is_host_known: bool,
}

impl Trackers {
    /// Reads [`COUNTS`].
    pub fn parse(counts: &str) -> Self {
        let mut trackers = Self::default();
        let mut count = None;
        for one in counts.split('/').filter(|one| one.contains(':')) {
            count.get_or_insert(0);
            let mut numbers = one.split(':').map(|number| number.parse::<u64>().unwrap_or(0));
            let mut next = || numbers.next().unwrap_or(0);
            let (kind, is_enabled, is_usable, successes, failures) = (next(), next(), next(), next(), next());
            let [seeds, others] = [next(), next()].map(|count| u32::try_from(count).unwrap_or(0));
            if kind == DHT {
                continue;
            }
            count = count.map(|count: u32| count.saturating_add(1));
            if is_enabled == 0 || is_usable == 0 {
                continue;
            }
            let swarm = &mut trackers.swarm;
            *swarm = (swarm.0.max(seeds), swarm.1.max(others));
            let tracked = &mut trackers.tracked;
            // A success sets the count of failures back.
            let counted = match (successes, failures) {
                (_, 1..) => &mut tracked.failing,
                (0, 0) => &mut tracked.unheard,
                _ => &mut tracked.working,
            };
            *counted += 1;
        }
        trackers.count = count;
        trackers
    }

    /// Takes over the host that was known `before`, unless trackers came or went since.
    pub fn keep_host(&mut self, before: &Trackers) {
        if before.is_host_known && before.count == self.count {
            self.host.clone_from(&before.host);
            self.is_host_known = true;
        }
    }

    /// Number of those that are on; none where they were not counted.
    pub fn in_use(&self) -> Option<u32> {
        let Tracked {
            working,
            failing,
            unheard,
        } = self.tracked;
        self.count
            .map(|_| working.saturating_add(failing).saturating_add(unheard))
    }

    /// True while none works and one was not heard yet.
    pub fn is_unheard(&self) -> bool {
        self.tracked.working == 0 && self.tracked.unheard > 0
    }

    /// Takes new [`COUNTS`]; true when they are news.
    pub fn count_anew(&mut self, counts: &str) -> bool {
        let mut now = Self::parse(counts);
        now.keep_host(self);
        let is_news = now != *self;
        *self = now;
        is_news
    }

    /// Takes the address of the first one, empty for none.
    pub fn put_first(&mut self, url: &str) {
        self.host = host_of(url).map(String::into_boxed_str);
        self.is_host_known = true;
    }

    /// True if the first one is to be asked for.
    pub fn needs_host(&self) -> bool {
        !self.is_host_known && self.count != Some(0)
    }

    pub fn standing(&self, runs: bool, message: &str) -> Option<Standing> {
        self.tracked.standing(runs, text_of(message))
    }
}

/// Beginning of a message that a tracker caused.
const BY_TRACKER: &str = "Tracker: [";
/// Beginning of the text in it where the tracker itself gives a reason.
const REASON: &str = "Failure reason \"";

/// Text of the tracker that failed last; none when the message is not about one.
fn text_of(message: &str) -> Option<&str> {
    let text = message.strip_prefix(BY_TRACKER)?;
    let text = text.strip_suffix(']').unwrap_or(text);
    let reason = text.strip_prefix(REASON).and_then(|text| text.strip_suffix('"'));
    Some(reason.unwrap_or(text))
}

/// Text that belongs to a standing; with one that works the message has none, for it is another tracker's.
pub fn message(standing: Option<Standing>, message: &str) -> Option<String> {
    let is_theirs = matches!(standing, Some(standing) if standing != Standing::Working);
    text_of(message)
        .filter(|text| is_theirs && !text.is_empty())
        .map(str::to_owned)
}

/// Words by which rTorrent itself says that a torrent's data is in trouble, in lower case.
const TROUBLE: [&str; 14] = [
    "error",
    "unreachable",
    "denied",
    "failed",
    "low diskspace",
    "no space",
    "disk full",
    "quota exceeded",
    "read-only",
    "no such file",
    "not a directory",
    "unfinished chunks",
    "bad chunks",
    "invalid state",
];

/// True if a message tells of trouble of rTorrent's own, as with the disk. What trackers say is no such thing.
pub fn is_trouble(message: &str) -> bool {
    if message.is_empty() || message.starts_with(BY_TRACKER) {
        return false;
    }
    let message = message.to_lowercase();
    TROUBLE.iter().any(|word| message.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tracked(working: u32, failing: u32, unheard: u32) -> Tracked {
        Tracked {
            working,
            failing,
            unheard,
        }
    }

    #[test]
    fn counts_are_those_of_trackers_that_are_on() {
        for (counts, count, tracked) in [
            ("", None, tracked(0, 0, 0)),
            ("0", None, tracked(0, 0, 0)),
            ("3:1:0:0:0/", Some(0), tracked(0, 0, 0)),
            ("1:1:1:1:0/3:1:0:0:0/", Some(1), tracked(1, 0, 0)),
            ("1:1:1:5:0/1:1:1:9:2/2:1:1:0:0/", Some(3), tracked(1, 1, 1)),
            ("1:0:1:5:0/2:1:0:0:1/1:1:1:0:3/", Some(3), tracked(0, 1, 0)),
            ("1:1/x:y:z/", Some(2), tracked(0, 0, 0)),
        ] {
            let trackers = Trackers::parse(counts);
            assert_eq!((trackers.count, trackers.tracked), (count, tracked), "{counts}");
            assert_eq!(trackers.needs_host(), count != Some(0), "{counts}");
        }
    }

    #[test]
    fn a_swarm_is_the_largest_that_a_tracker_told() {
        for (counts, swarm) in [
            ("1:1:1:5:0/", (0, 0)),
            ("1:1:1:5:0:7:2/2:1:1:5:0:3:9/", (7, 9)),
            ("1:0:1:5:0:7:2/3:1:1:0:0:4:4/", (0, 0)),
            ("1:1:1:5:0:4294967296:-1/", (0, 0)),
        ] {
            assert_eq!(Trackers::parse(counts).swarm, swarm, "{counts}");
        }
    }

    #[test]
    fn a_host_is_kept_until_trackers_come_or_go() {
        let mut first = Trackers::parse("1:1:1:0:0/");
        first.put_first("http://T.example:80/a");
        let mut later = Trackers::parse("1:1:1:0:7/");
        later.keep_host(&first);
        assert_eq!(
            (later.host.as_deref(), later.needs_host()),
            (Some("t.example"), false)
        );
        let mut more = Trackers::parse("1:1:1:0:0/1:1:1:0:0/");
        more.keep_host(&later);
        assert!(more.needs_host());
    }

    #[test]
    fn a_text_is_shown_where_it_is_the_reason() {
        let unregistered = "Tracker: [Failure reason \"unregistered torrent\"]";
        let lost = Some(Standing::Unregistered);
        for (standing, text, expected) in [
            (lost, unregistered, Some("unregistered torrent")),
            (Some(Standing::Working), unregistered, None),
            (None, unregistered, None),
            (
                Some(Standing::Failing),
                "Tracker: [Could not connect to server]",
                Some("Could not connect to server"),
            ),
            (Some(Standing::Failing), "Low diskspace.", None),
            (Some(Standing::Updating), "", None),
        ] {
            assert_eq!(message(standing, text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn trouble_is_rtorrents_own() {
        for text in [
            "Low diskspace.",
            "Hash check I/O error at chunk 0: Not a directory",
            "Download registered as completed, but hash check returned unfinished chunks.",
            "Hash check on download completion found bad chunks.",
            "File chunk write error: No space left on device",
            "Access Denied",
            "Host unreachable",
        ] {
            assert!(is_trouble(text), "{text}");
        }
        for text in [
            "",
            "Tracker: [some ERROR here]",
            "Tracker: [Access denied]",
            "all is well",
        ] {
            assert!(!is_trouble(text), "{text}");
        }
    }
}
