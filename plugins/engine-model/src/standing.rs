//! Standing of a torrent with all its trackers, made of what a client tells of each.
//!
//! A torrent with one tracker that works is well, whatever the others say. Where none works, the texts decide whether it is lost: its
//! tracker does not know it, or does not know its user. What words say so is a table, for every tracker words it otherwise.

/// Standing of a torrent with its trackers, taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// One of them works.
    Working,
    /// None works, and one was not heard yet.
    Updating,
    /// None works.
    Failing,
    /// None works, and one says that it does not know the torrent or its user.
    Unregistered,
}

impl Standing {
    pub const fn as_str(self) -> &'static str {
        match self {
            Standing::Working => "working",
            Standing::Updating => "updating",
            Standing::Failing => "failing",
            Standing::Unregistered => "unregistered",
        }
    }
}

/// Trackers of one torrent as they were last heard, counted. Those that are switched off are no part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tracked {
    pub working: u32,
    /// Count of trackers that were asked and fail.
    pub failing: u32,
    /// Count of trackers that have not answered yet.
    pub unheard: u32,
}

impl Tracked {
    /// The standing of a torrent whose trackers say `texts`, of which the last is the newest; none without trackers, and while
    /// none of a torrent that does not run (`runs`) was heard.
    pub fn standing<'a>(self, runs: bool, texts: impl IntoIterator<Item = &'a str>) -> Option<Standing> {
        if self.working > 0 {
            return Some(Standing::Working);
        }
        let is_lost = self.failing > 0 && texts.into_iter().any(is_lost);
        match (self.failing, self.unheard) {
            (0, 0) => None,
            (0, _) if !runs => None,
            // Its client asks the next one now; that may know it.
            (_, 1..) if runs => Some(Standing::Updating),
            _ if is_lost => Some(Standing::Unregistered),
            _ => Some(Standing::Failing),
        }
    }
}

/// Words of one kind, of which a text must hold one. A word of several stands in the text as it is written here.
type OneOf = &'static [&'static str];

/// A way to say that something is lost: a word of each kind, and none of `unless`.
struct Rule {
    all: &'static [OneOf],
    unless: OneOf,
}

/// Words for the thing that a tracker is asked for.
const TORRENT: OneOf = &[
    "torrent",
    "info hash",
    "infohash",
    "hash",
    "requested download",
    "release",
];
/// Words for the proof of a user.
const PASS: OneOf = &[
    "passkey",
    "pass key",
    "authkey",
    "auth key",
    "torrent pass",
    "torrentpass",
    "secret key",
    "rsskey",
    "pid",
    "account",
    "user",
];
/// Words for either not being there.
const ABSENT: OneOf = &[
    "not found",
    "unknown",
    "not exist",
    "t exist",
    "no such",
    "unrecognized",
    "unrecognised",
    "not recognized",
    "not recognised",
    "not find",
    "t find",
    "not in database",
    "not in our database",
];
/// Words for a torrent that was there.
const GONE: OneOf = &[
    "deleted",
    "removed",
    "trumped",
    "nuked",
    "pruned",
    "purged",
    "rejected",
    "banned",
    "blacklisted",
    "not whitelisted",
    "not authorized",
    "not authorised",
    "not allowed",
    "not approved",
    "not tracked",
    "dupe",
    "no longer",
];
/// Words for a user that may not, or may no longer.
const BARRED: OneOf = &[
    "invalid",
    "wrong",
    "incorrect",
    "bad",
    "not valid",
    "missing",
    "expired",
    "disabled",
    "banned",
    "deactivated",
    "not authorized",
    "not authorised",
    "parked",
    "denied",
];
/// Things on the way to a tracker that may not be found.
const ON_THE_WAY: OneOf = &[
    "host", "hostname", "server", "domain", "dns", "address", "name", "route", "network", "proxy",
];
/// Things that a tracker refuses for themselves, not for their torrent or their user.
const PROGRAM: OneOf = &["client", "agent", "ip", "port", "country"];

const LOST: &[Rule] = &[
    Rule {
        all: &[&[
            "unregistered",
            "not registered",
            "t registered",
            "longer registered",
            "not been registered",
        ]],
        unless: &[],
    },
    Rule {
        all: &[&["not found", "not exist", "t exist"]],
        unless: ON_THE_WAY,
    },
    Rule {
        all: &[TORRENT, ABSENT],
        unless: &[],
    },
    Rule {
        all: &[TORRENT, GONE],
        unless: PROGRAM,
    },
    Rule {
        all: &[&["trumped", "nuked"]],
        unless: &[],
    },
    Rule {
        all: &[PASS, ABSENT],
        unless: PROGRAM,
    },
    Rule {
        all: &[PASS, BARRED],
        unless: PROGRAM,
    },
    // Trackers whose first language is another one.
    Rule {
        all: &[&[
            "未注册",
            "不存在",
            "已删除",
            "已被删除",
            "未找到",
            "не зарегистрирован",
            "не найден",
            "удален",
            "удалён",
            "non enregistré",
            "non registrato",
            "no registrado",
            "nicht registriert",
            "não registado",
            "não registrado",
        ]],
        unless: &[],
    },
];

/// True if a tracker's text means that it does not know the torrent, or no longer lets its user in.
pub fn is_lost(text: &str) -> bool {
    if text.is_empty() {
        return false;
    }
    let text = words(text);
    let holds = |one_of: OneOf| one_of.iter().any(|word| holds_word(&text, word));
    LOST.iter()
        .any(|rule| rule.all.iter().all(|kind| holds(kind)) && !holds(rule.unless))
}

/// The text in lower case with one blank between words, and one at either end.
fn words(text: &str) -> String {
    const LONGEST: usize = 512;
    let mut plain = String::from(" ");
    for letter in text.chars().take(LONGEST).flat_map(char::to_lowercase) {
        if letter.is_alphanumeric() {
            plain.push(letter);
        } else if !plain.ends_with(' ') {
            plain.push(' ');
        }
    }
    if !plain.ends_with(' ') {
        plain.push(' ');
    }
    plain
}

/// True if `word` stands in `text`, whole where it is of letters that are written with blanks between words.
fn holds_word(text: &str, word: &str) -> bool {
    if !word.is_ascii() {
        return text.contains(word);
    }
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].ends_with(' ');
        let after = &text[at + word.len()..];
        before && (after.starts_with(' ') || after.starts_with("s "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_trackers_that_lost_a_torrent_are_told_from_those_that_fail() {
        for text in [
            "unregistered torrent",
            "Unregistered torrent pass",
            "Torrent not registered with this tracker.",
            "Torrent is not registered",
            "This torrent isn't registered on this tracker",
            "Torrent not found",
            "InfoHash not found.",
            "Failure: info_hash NOT FOUND",
            "Not Found",
            "Torrent does not exist",
            "Unknown torrent",
            "unknown info hash",
            "Torrent has been deleted.",
            "Torrent was removed by staff",
            "Trumped: see details",
            "Your release has been nuked",
            "Requested download is not authorized for use with this tracker.",
            "torrent banned",
            "Passkey unknown",
            "Unknown passkey",
            "Invalid passkey! Re-download the .torrent",
            "passkey not found",
            "Your authkey is wrong",
            "PID not recognized",
            "Account disabled",
            "Torrent not registered on this server",
            "User not found",
            "This torrent is a dupe",
            "种子不存在",
            "Торрент не зарегистрирован",
        ] {
            assert!(is_lost(text), "{text}");
        }
        for text in [
            "",
            "internal error, try later",
            "error",
            "Connection refused",
            "Could not connect to server",
            "Couldn't connect to server",
            "Host not found (authoritative)",
            "Could not resolve host: tracker.example",
            "Name or service not known",
            "Server not found",
            "Timeout was reached",
            "Connection timed out",
            "Service Unavailable",
            "502 Bad Gateway",
            "Access denied",
            "Could not parse bencoded data, empty reply",
            "SSL certificate problem: unable to get local issuer certificate",
            "Tracker is down for maintenance",
            "Too many requests",
            "You have reached the client limit for this torrent",
            "torrent client not up to date",
            "slow down",
            "rapid requests",
            "Banned client, use another torrent client",
            "Invalid user agent",
            "missing info_hash",
        ] {
            assert!(!is_lost(text), "{text}");
        }
    }

    #[test]
    fn the_standing_is_that_of_all_trackers() {
        let of = |working, failing, unheard| Tracked {
            working,
            failing,
            unheard,
        };
        let lost = ["internal error", "Unregistered torrent"];
        for (tracked, runs, texts, expected) in [
            (of(0, 0, 0), true, &lost[..], None),
            (of(1, 1, 0), true, &lost, Some(Standing::Working)),
            (of(1, 0, 3), false, &[], Some(Standing::Working)),
            (of(0, 1, 0), true, &lost, Some(Standing::Unregistered)),
            (of(0, 1, 0), false, &lost, Some(Standing::Unregistered)),
            (of(0, 1, 0), true, &lost[..1], Some(Standing::Failing)),
            (of(0, 1, 1), true, &lost, Some(Standing::Updating)),
            (of(0, 1, 1), false, &lost, Some(Standing::Unregistered)),
            (of(0, 1, 1), true, &lost[..1], Some(Standing::Updating)),
            (of(0, 1, 1), false, &[], Some(Standing::Failing)),
            (of(0, 0, 2), true, &lost, Some(Standing::Updating)),
            (of(0, 0, 2), false, &[], None),
        ] {
            assert_eq!(
                tracked.standing(runs, texts.iter().copied()),
                expected,
                "{tracked:?} {runs} {texts:?}"
            );
        }
    }
}
