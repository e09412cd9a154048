//! History of the items that feeds have listed.

use qm_feeds::Item;
use qm_kernel::Timestamp;

use super::grab::GrabNote;

/// Largest number of characters of a guid that is indexed unchanged.
const MAX_KEY: usize = 200;

/// An item that a feed has shown.
#[derive(Clone, Debug)]
pub struct HistoryItem {
    pub id: String,
    pub feed_id: String,
    pub item_guid: String,
    pub title: String,
    pub link: String,
    pub magnet: Option<String>,
    pub info_hash: Option<String>,
    /// Bytes.
    pub size: Option<u64>,
    /// A rule matched it.
    pub matched: bool,
    pub downloaded: bool,
    pub regrab_requested_at: Option<Timestamp>,
    pub created_at: Timestamp,
    /// Last time the feed listed it, to the day.
    pub seen_at: Timestamp,
    /// Position in the document that first listed it, from 0.
    pub place: i64,
    /// State of the last grab; filled only for display.
    pub grab: Option<GrabNote>,
}

impl HistoryItem {
    /// A newly listed item.
    pub fn new(id: String, feed_id: &str, item: &Item, place: i64, now: Timestamp) -> Self {
        Self {
            id,
            feed_id: feed_id.to_owned(),
            item_guid: item.guid.clone(),
            title: item.title.clone(),
            link: item.link.clone().unwrap_or_default(),
            magnet: item.magnet.clone(),
            info_hash: item.info_hash.clone(),
            size: item.size,
            matched: false,
            downloaded: false,
            regrab_requested_at: None,
            created_at: now,
            seen_at: now,
            place,
            grab: None,
        }
    }

    /// Magnet link or link to hand to the client; `None` when the item has neither.
    pub fn download(&self) -> Option<&str> {
        let given = |text: &&str| !text.trim().is_empty();
        self.magnet
            .as_deref()
            .filter(given)
            .or_else(|| Some(self.link.as_str()).filter(given))
    }
}

/// Guid made of guid and title, for an item identified by a link that another title uses too.
pub fn guid_with_title(item: &Item) -> String {
    format!("{} {}", item.guid, item.title)
}

/// Sort order of a history: newest first, and within one fetch in the order of the document.
pub fn newest_first(one: &HistoryItem, other: &HistoryItem) -> std::cmp::Ordering {
    let newer = other.created_at.cmp(&one.created_at);
    newer
        .then_with(|| one.place.cmp(&other.place))
        .then_with(|| other.id.cmp(&one.id))
}

/// Key of a guid within its feed: the guid itself, or its digest when it is long.
pub fn guid_key(guid: &str) -> String {
    if guid.len() <= MAX_KEY {
        guid.to_owned()
    } else {
        format!("blake3:{}", blake3::hash(guid.as_bytes()).to_hex())
    }
}

/// Filter on the state of the items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    #[default]
    All,
    Downloaded,
    /// Matched and not downloaded.
    Matched,
    /// Neither matched nor downloaded.
    Seen,
}

impl Standing {
    /// Parses the query word; an unknown word means all.
    pub fn from_word(word: &str) -> Self {
        match word {
            "downloaded" => Standing::Downloaded,
            "matched" => Standing::Matched,
            "seen" => Standing::Seen,
            _ => Standing::All,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Standing::All => "all",
            Standing::Downloaded => "downloaded",
            Standing::Matched => "matched",
            Standing::Seen => "seen",
        }
    }
}

/// Filter of a feed's history.
#[derive(Clone, Debug, Default)]
pub struct HistoryFilter {
    pub standing: Standing,
    /// Part of a title, ignoring case.
    pub search: Option<String>,
    pub from: Option<Timestamp>,
    /// Exclusive end of the time range.
    pub before: Option<Timestamp>,
}

/// Number of items in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub total: u64,
    pub downloaded: u64,
    pub matched: u64,
    pub seen: u64,
}

/// Begin of the day of a date or an instant, in UTC; with `end`, the begin of the next day.
pub fn day(text: &str, end: bool) -> Option<Timestamp> {
    let text = text.trim();
    let date: jiff::civil::Date = match text.parse() {
        Ok(date) => date,
        Err(_) => {
            let instant: jiff::Timestamp = text.parse().ok()?;
            if !end {
                return Some(Timestamp::from_ms(instant.as_millisecond()));
            }
            instant.to_zoned(jiff::tz::TimeZone::UTC).date()
        }
    };
    let date = if end { date.tomorrow().ok()? } else { date };
    let instant = date.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp();
    Some(Timestamp::from_ms(instant.as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_whole_and_in_utc() {
        let shown = |text: &str, end| day(text, end).map(|at| at.to_string());
        assert_eq!(
            shown("2031-03-30", false).as_deref(),
            Some("2031-03-30T00:00:00.000Z")
        );
        assert_eq!(
            shown("2031-03-30", true).as_deref(),
            Some("2031-03-31T00:00:00.000Z")
        );
        assert_eq!(
            shown("2031-03-30T12:00:00Z", true).as_deref(),
            Some("2031-03-31T00:00:00.000Z")
        );
        assert_eq!(
            shown("2031-03-30T12:00:00Z", false).as_deref(),
            Some("2031-03-30T12:00:00.000Z")
        );
        assert_eq!(shown("yesterday", false), None);
        assert_eq!(shown("", true), None);
    }

    #[test]
    fn a_long_guid_has_a_short_key_of_its_own() {
        let (a, b) = ("a".repeat(4000), format!("{}b", "a".repeat(3999)));
        assert_eq!(guid_key("short"), "short");
        assert!(guid_key(&a).len() < 100);
        assert_ne!(guid_key(&a), guid_key(&b));
    }
}
