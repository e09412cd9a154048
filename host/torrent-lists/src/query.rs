//! Which torrents a list shows and in what order: pure rules over torrents in memory.

use std::cmp::Ordering;

use qm_kernel::{PageQuery, Timestamp};
use qm_ports::engine::{Torrent, TorrentState};
use qm_ports::list::{AGES, TorrentRecord};

/// Everything that decides a page. Equal queries on one snapshot give the same bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListQuery {
    pub filter: Filter,
    pub order: Order,
    pub page: u64,
    pub page_size: u64,
}

impl ListQuery {
    /// `pageSize` of the torrent list goes further than that of others.
    pub const MAX_PAGE_SIZE: u64 = 500;

    pub fn new(filter: Filter, order: Order, page: PageQuery) -> Self {
        Self {
            filter,
            order,
            page: page.page,
            page_size: page.page_size,
        }
    }

    /// The same, its ages counted to now.
    pub fn judged_at(self, now: Timestamp) -> Self {
        let filter = self.filter.judged_at(now);
        Self { filter, ..self }
    }

    pub fn window(&self) -> std::ops::Range<usize> {
        let start = (self.page - 1).saturating_mul(self.page_size) as usize;
        start..start.saturating_add(self.page_size as usize)
    }
}

/// The conditions that a torrent must fulfil to be listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Filter {
    state: Wanted,
    category: Option<String>,
    tag: Option<String>,
    /// Lower-cased.
    search: Option<String>,
    conditions: Option<Asked>,
}

/// Conditions, and the moment to which ages are counted. A page holds for the moment it was made for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Asked {
    filter: qm_conditions::Filter,
    at: Timestamp,
}

/// Step in which ages grow, in milliseconds; pages that are chosen by ages change as often.
const AGE_STEP_MS: i64 = 60_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Wanted {
    #[default]
    Any,
    Only(TorrentState),
    /// A state that does not exist was asked for.
    None,
}

impl Filter {
    /// Blank texts ask for nothing.
    pub fn new(state: Option<&str>, category: Option<&str>, tag: Option<&str>, search: Option<&str>) -> Self {
        fn given(text: Option<&str>) -> Option<&str> {
            text.filter(|text| !text.is_empty())
        }
        let state = given(state).map_or(Wanted::Any, |name| {
            TorrentState::from_name(name).map_or(Wanted::None, Wanted::Only)
        });
        Self {
            state,
            category: given(category).map(ToOwned::to_owned),
            tag: given(tag).map(ToOwned::to_owned),
            search: given(search)
                .map(|text| text.trim().to_lowercase())
                .filter(|text| !text.is_empty()),
            conditions: None,
        }
    }

    /// Asks for these conditions as well; without any, for nothing more.
    pub fn with(self, filter: Option<qm_conditions::Filter>) -> Self {
        let at = Timestamp::from_ms(0);
        let conditions = filter
            .filter(|filter| !filter.is_empty())
            .map(|filter| Asked { filter, at });
        Self { conditions, ..self }
    }

    /// True if it may take long to find the torrents that match.
    pub fn has_conditions(&self) -> bool {
        self.conditions.is_some()
    }

    /// The same, judged now.
    pub fn judged_at(mut self, now: Timestamp) -> Self {
        if let Some(asked) = self
            .conditions
            .as_mut()
            .filter(|asked| asked.filter.involves_any(AGES))
        {
            asked.at = Timestamp::from_ms(now.ms() - now.ms().rem_euclid(AGE_STEP_MS));
        }
        self
    }

    pub fn is_empty(&self) -> bool {
        self.state == Wanted::Any
            && self.category.is_none()
            && self.tag.is_none()
            && self.search.is_none()
            && self.conditions.is_none()
    }

    pub fn matches(&self, engine_id: &str, torrent: &Torrent) -> bool {
        let state = match self.state {
            Wanted::Any => true,
            Wanted::Only(state) => torrent.state == state,
            Wanted::None => false,
        };
        state
            && self
                .category
                .as_deref()
                .is_none_or(|category| torrent.label.as_deref() == Some(category))
            && self.tag.as_ref().is_none_or(|tag| torrent.tags.contains(tag))
            && self
                .search
                .as_deref()
                .is_none_or(|text| torrent.hash.contains(text) || torrent.name.to_lowercase().contains(text))
            && self.conditions.as_ref().is_none_or(|asked| {
                let now = asked.at;
                asked.filter.matches(&TorrentRecord {
                    engine_id,
                    torrent,
                    now,
                    // A filter of lists does not know it.
                    free_bytes: None,
                })
            })
    }
}

/// `sortBy` and `sortDir`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Order {
    pub by: SortBy,
    pub descending: bool,
}

impl Order {
    /// Absent: by `addedAt`; a field that does not exist: as the client lists them. Only `asc` ascends.
    pub fn parse(by: Option<&str>, direction: Option<&str>) -> Self {
        let by = by
            .filter(|name| !name.is_empty())
            .map_or(SortBy::AddedAt, SortBy::parse);
        Self {
            by,
            descending: by != SortBy::Unsorted && direction != Some("asc"),
        }
    }

    /// Sorts positions into `torrents`. Absent values come last in both directions; ties keep the client's order.
    pub fn sort<'a>(self, torrents: &[&'a Torrent]) -> Vec<u32> {
        if self.by == SortBy::Unsorted {
            return (0..torrents.len() as u32).collect();
        }
        let mut keyed: Vec<(Key<'a>, u32)> = torrents
            .iter()
            .zip(0..)
            .map(|(torrent, position)| (self.by.key(torrent), position))
            .collect();
        keyed.sort_by(|(a, _), (b, _)| a.compare(b, self.descending));
        keyed.into_iter().map(|(_, position)| position).collect()
    }
}

macro_rules! sort_fields {
    ($($field:ident = $name:literal => $key:expr,)*) => {
        /// A field torrents can be sorted by.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum SortBy { $($field,)* Unsorted }

        impl SortBy {
            /// The names the API takes.
            pub const NAMES: &'static [&'static str] = &[$($name,)*];

            fn parse(name: &str) -> Self {
                match name { $($name => Self::$field,)* _ => Self::Unsorted }
            }

            fn key<'a>(self, torrent: &'a Torrent) -> Key<'a> {
                match self {
                    $(Self::$field => { let key: fn(&'a Torrent) -> Key<'a> = $key; key(torrent) })*
                    Self::Unsorted => Key::Absent,
                }
            }
        }
    };
}

sort_fields! {
    Hash = "hash" => |t| Key::Plain(&t.hash),
    Name = "name" => |t| Key::text(&t.name),
    State = "state" => |t| Key::Plain(t.state.as_str()),
    Progress = "progress" => |t| Key::Real(t.progress),
    Size = "size" => |t| Key::Whole(i128::from(t.size)),
    Downloaded = "downloaded" => |t| Key::Whole(i128::from(t.downloaded)),
    Uploaded = "uploaded" => |t| Key::Whole(i128::from(t.uploaded)),
    Ratio = "ratio" => |t| Key::Real(t.ratio),
    DownloadRate = "downloadRate" => |t| Key::Whole(i128::from(t.download_rate)),
    UploadRate = "uploadRate" => |t| Key::Whole(i128::from(t.upload_rate)),
    Eta = "eta" => |t| t.eta.map_or(Key::Absent, |eta| Key::Whole(i128::from(eta))),
    SeedsConnected = "seedsConnected" => |t| Key::Whole(i128::from(t.seeds_connected)),
    SeedsTotal = "seedsTotal" => |t| t.seeds_total.map_or(Key::Absent, |seeds| Key::Whole(seeds.into())),
    PeersConnected = "peersConnected" => |t| Key::Whole(i128::from(t.peers_connected)),
    PeersTotal = "peersTotal" => |t| t.peers_total.map_or(Key::Absent, |peers| Key::Whole(peers.into())),
    Priority = "priority" => |t| Key::Whole(i128::from(t.priority)),
    Label = "label" => |t| t.label.as_deref().map_or(Key::Absent, Key::text),
    SavePath = "savePath" => |t| Key::text(&t.save_path),
    ContentPath = "contentPath" => |t| Key::text(&t.content_path),
    IsPrivate = "isPrivate" => |t| t.is_private.map_or(Key::Absent, |flag| Key::Whole(i128::from(flag))),
    Message = "message" => |t| t.message.as_deref().map_or(Key::Absent, Key::text),
    AddedAt = "addedAt" => |t| Key::instant(t.added_at),
    CompletedAt = "completedAt" => |t| Key::instant(t.completed_at),
    TrackerHost = "trackerHost" => |t| t.tracker_host.as_deref().map_or(Key::Absent, Key::text),
    TrackerStatus = "trackerStatus" => |t| t.tracker_standing.map_or(Key::Absent, |standing| Key::Plain(standing.as_str())),
    TrackerMessage = "trackerMessage" => |t| t.tracker_message.as_deref().map_or(Key::Absent, Key::text),
    LastActivity = "lastActivity" => |t| Key::instant(t.last_activity),
    Availability = "availability" => |t| t.availability.map_or(Key::Absent, Key::Real),
}

enum Key<'a> {
    Absent,
    Whole(i128),
    Real(f64),
    /// Compared byte by byte.
    Plain(&'a str),
    /// Lower-cased: people do not sort by case.
    Folded(String),
}

impl Key<'_> {
    fn text(text: &str) -> Self {
        Key::Folded(text.to_lowercase())
    }

    fn instant(at: Option<Timestamp>) -> Self {
        at.map_or(Key::Absent, |at| Key::Whole(i128::from(at.ms())))
    }

    fn compare(&self, other: &Key<'_>, descending: bool) -> Ordering {
        let order = match (self, other) {
            (Key::Absent, Key::Absent) => return Ordering::Equal,
            (Key::Absent, _) => return Ordering::Greater,
            (_, Key::Absent) => return Ordering::Less,
            (Key::Whole(a), Key::Whole(b)) => a.cmp(b),
            (Key::Real(a), Key::Real(b)) => a.total_cmp(b),
            (Key::Plain(a), Key::Plain(b)) => a.cmp(b),
            (Key::Folded(a), Key::Folded(b)) => a.cmp(b),
            // One field gives one kind of key.
            _ => Ordering::Equal,
        };
        if descending { order.reverse() } else { order }
    }
}

#[cfg(test)]
mod tests {
    use qm_ports::engine::TrackerStanding;
    use qm_test_base::blank::torrent;

    use super::*;

    fn sorted(by: &str, direction: Option<&str>, torrents: &[Torrent]) -> Vec<u32> {
        Order::parse(Some(by), direction).sort(&torrents.iter().collect::<Vec<_>>())
    }

    #[test]
    fn saved_views_take_the_names_of_the_list() {
        assert_eq!(SortBy::NAMES, qm_ports::list::SORT_FIELDS);
    }

    #[test]
    fn absent_values_are_last_either_way_and_ties_keep_their_order() {
        let eta = |n, eta| Torrent { eta, ..torrent(n) };
        let torrents = [
            eta(0, None),
            eta(1, Some(5)),
            eta(2, Some(1)),
            eta(3, Some(5)),
            eta(4, None),
        ];
        assert_eq!(sorted("eta", Some("asc"), &torrents), [2, 1, 3, 0, 4]);
        assert_eq!(sorted("eta", Some("desc"), &torrents), [1, 3, 2, 0, 4]);
        assert_eq!(sorted("eta", Some("ASC"), &torrents), [1, 3, 2, 0, 4]);
        assert_eq!(sorted("nonsense", Some("desc"), &torrents), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn every_field_sorts() {
        let mut low = torrent(1);
        low.added_at = Some(Timestamp::from_secs(1));
        let high = Torrent {
            hash: torrent(2).hash,
            name: "Zulu".into(),
            state: TorrentState::Unknown,
            progress: 0.5,
            size: 2000,
            downloaded: 1,
            uploaded: 1,
            ratio: 0.1,
            download_rate: 1,
            upload_rate: 1,
            eta: None,
            seeds_connected: 1,
            seeds_total: Some(1),
            peers_connected: 1,
            peers_total: Some(1),
            priority: 3,
            label: None,
            tags: vec![],
            save_path: "/e".into(),
            content_path: "/e/x".into(),
            is_private: Some(true),
            message: None,
            added_at: Some(Timestamp::from_secs(2)),
            completed_at: None,
            tracker_host: None,
            tracker_standing: None,
            tracker_message: None,
            seeded: None,
            last_activity: None,
            ..Torrent::default()
        };
        let low = Torrent {
            eta: Some(1),
            label: Some("a".into()),
            message: Some("m".into()),
            completed_at: low.added_at,
            tracker_host: Some("t".into()),
            tracker_standing: Some(TrackerStanding::Failing),
            tracker_message: Some("m".into()),
            last_activity: low.added_at,
            availability: Some(0.5),
            ..low
        };
        for name in SortBy::NAMES {
            let ascending = sorted(name, Some("asc"), &[high.clone(), low.clone()]);
            assert_eq!(ascending, [1, 0], "{name}");
        }
    }

    #[test]
    fn filters() {
        let linux = Torrent {
            name: "Debian ISO".into(),
            label: Some("os".into()),
            tags: vec!["free".into(), "large".into()],
            ..torrent(0xab)
        };
        let tagged = |tag| Filter::new(None, None, Some(tag), None);
        assert!(tagged("large").matches("e", &linux) && tagged("").is_empty());
        assert!(
            !tagged("Large").matches("e", &linux)
                && !tagged("lar").matches("e", &linux)
                && !tagged("x").is_empty()
        );
        for (state, category, search, expected) in [
            (None, None, None, true),
            (Some("downloading"), None, None, true),
            (Some("seeding"), None, None, false),
            (Some("nonsense"), None, None, false),
            (Some(""), Some(""), Some(""), true),
            (None, Some("os"), None, true),
            (None, Some("OS"), None, false),
            (None, None, Some("debian i"), true),
            (None, None, Some("000AB"), true),
            (None, None, Some("fedora"), false),
        ] {
            assert_eq!(
                Filter::new(state, category, None, search).matches("e", &linux),
                expected,
                "{state:?} {category:?} {search:?}"
            );
        }
    }

    #[test]
    fn conditions_choose_and_pages_by_age_are_a_minutes() {
        let read = |text: &str| {
            let filter = qm_conditions::Filter::read(text, &|name| qm_ports::list::FIELDS.contains(&name));
            Filter::default().with(Some(filter.expect("a filter")))
        };
        let linux = Torrent {
            ratio: 2.5,
            tracker_host: Some("tracker.example".into()),
            added_at: Some(Timestamp::from_secs(1_900_000_000)),
            ..torrent(0xab)
        };
        let now = |days: i64| Timestamp::from_secs(1_900_000_000 + days * 86_400 + 59);
        let asked = read(
            r#"[{"field":"ratio","op":"gt","value":2},{"field":"trackerHost","op":"eq","value":"tracker.example"},
                {"field":"addedDaysAgo","op":"gt","value":30}]"#,
        );
        assert!(asked.has_conditions() && !asked.is_empty());
        assert!(asked.clone().judged_at(now(31)).matches("e", &linux));
        assert!(!asked.clone().judged_at(now(29)).matches("e", &linux));
        assert_ne!(asked.clone().judged_at(now(31)), asked.clone().judged_at(now(29)));
        let later = Timestamp::from_ms(now(31).ms() + 10);
        assert_eq!(
            asked.clone().judged_at(now(31)),
            asked.judged_at(later),
            "one page for a minute"
        );
        let ageless = read(r#"[{"field":"engineId","op":"eq","value":"e"}]"#);
        assert_eq!(
            ageless.clone().judged_at(now(1)),
            ageless.clone().judged_at(now(2))
        );
        assert!(ageless.matches("e", &linux) && !ageless.matches("f", &linux));
        assert!(read("[]").is_empty());
    }
}
