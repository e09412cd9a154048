//! One torrent as it is kept between polls, and how a (partial) JSON object changes it in place.
//!
//! Only what a user can see counts as a change: the client also reports seconds of activity and the like, which move in
//! every answer and mean nothing here.

use std::collections::HashSet;
use std::fmt;
use std::rc::Rc;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use engine_model::{State, Torrent};

use crate::model;
use crate::values::{Flag, Num, TextSeed};

/// From here on an ETA means "never" (100 days, the client's own sentinel).
const ETA_NEVER: u64 = 8_640_000;
/// The client says -1 for a ratio above this.
const RATIO_MAX: f64 = 9999.0;
/// Distinct texts that are shared before the table starts anew.
const SHARED_MAX: usize = 4096;

/// An info-hash, or the first 20 bytes of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Id([u8; 20]);

impl Id {
    /// 40 hex digits of either case.
    pub(crate) fn parse(text: &str) -> Option<Id> {
        let digits = text.as_bytes();
        if digits.len() != 40 {
            return None;
        }
        let mut id = [0; 20];
        for (byte, pair) in id.iter_mut().zip(digits.chunks_exact(2)) {
            let high = char::from(pair[0]).to_digit(16)?;
            let low = char::from(pair[1]).to_digit(16)?;
            *byte = (high << 4 | low) as u8;
        }
        Some(Id(id))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Texts many torrents have in common: directories, categories and tags.
#[derive(Default)]
pub(crate) struct Shared(HashSet<Rc<str>>);

impl Shared {
    fn get(&mut self, text: &str) -> Rc<str> {
        if let Some(known) = self.0.get(text) {
            return known.clone();
        }
        if self.0.len() >= SHARED_MAX {
            self.0.clear(); // what is still in use lives on with its users
        }
        let new: Rc<str> = text.into();
        self.0.insert(new.clone());
        new
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// What the client calls it: for a hybrid torrent the beginning of its v2 hash.
    pub(crate) id: Id,
    /// The v1 hash where there is one: what everybody else calls it.
    pub(crate) v1: Option<Id>,
    pub(crate) state: State,
    pub(crate) downloaded: u64,
    pub(crate) uploaded: u64,
    /// Number of the poll that last mentioned it.
    pub(crate) seen: u64,
    name: Box<str>,
    content_path: Box<str>,
    save_path: Rc<str>,
    label: Rc<str>,
    /// With commas between them, as the client tells them.
    tags: Rc<str>,
    progress: f64,
    ratio: f64,
    size: u64,
    download_rate: u64,
    upload_rate: u64,
    eta: Option<u64>,
    added_at: Option<u64>,
    completed_at: Option<u64>,
    seeds_connected: u32,
    seeds_total: u32,
    peers_connected: u32,
    peers_total: u32,
    /// None while the client does not tell: 4.x has no such field, and a magnet link no metadata.
    is_private: Option<bool>,
    /// URL of the tracker that works, or of the first.
    tracker: Rc<str>,
    seconds_seeded: Option<u64>,
    last_activity: Option<u64>,
    availability: Option<f64>,
}

impl Row {
    pub(crate) fn blank(id: Id) -> Row {
        Row {
            id,
            v1: None,
            state: State::Unknown,
            downloaded: 0,
            uploaded: 0,
            seen: 0,
            name: "".into(),
            content_path: "".into(),
            save_path: "".into(),
            label: "".into(),
            tags: "".into(),
            progress: 0.0,
            ratio: 0.0,
            size: 0,
            download_rate: 0,
            upload_rate: 0,
            eta: None,
            added_at: None,
            completed_at: None,
            seeds_connected: 0,
            seeds_total: 0,
            peers_connected: 0,
            peers_total: 0,
            is_private: None,
            tracker: "".into(),
            seconds_seeded: None,
            last_activity: None,
            availability: None,
        }
    }

    /// The identity that the host knows it by.
    pub(crate) fn hash(&self) -> Id {
        self.v1.unwrap_or(self.id)
    }

    fn tags(&self) -> impl Iterator<Item = &str> {
        self.tags.split(',').map(str::trim).filter(|tag| !tag.is_empty())
    }

    /// Its category, empty for none.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// Download and upload.
    pub(crate) fn rates(&self) -> (u64, u64) {
        (self.download_rate, self.upload_rate)
    }

    pub(crate) fn torrent(&self) -> Torrent {
        let content = if self.content_path.is_empty() {
            &*self.save_path
        } else {
            &*self.content_path
        };
        Torrent {
            hash: self.hash().to_string(),
            name: self.name.to_string(),
            state: self.state,
            progress: self.progress,
            size: self.size,
            downloaded: self.downloaded,
            uploaded: self.uploaded,
            ratio: self.ratio,
            download_rate: self.download_rate,
            upload_rate: self.upload_rate,
            eta: self.eta,
            seeds_connected: self.seeds_connected,
            seeds_total: self.seeds_total,
            peers_connected: self.peers_connected,
            peers_total: self.peers_total,
            priority: 2, // its queue position is no priority, and it has nothing else
            label: (!self.label.is_empty()).then(|| self.label.to_string()),
            tags: self.tags().map(str::to_owned).collect(),
            save_path: self.save_path.to_string(),
            content_path: content.to_owned(),
            is_private: self.is_private,
            message: None, // the client has none for a torrent
            added_at: self.added_at,
            completed_at: self.completed_at,
            tracker_host: host_of(&self.tracker),
            seconds_seeded: self.seconds_seeded,
            last_activity: self.last_activity,
            availability: self.availability,
        }
    }
}

/// The host name in a tracker's URL, without user and port.
fn host_of(url: &str) -> Option<String> {
    let authority = url.split_once("://")?.1.split(['/', '?', '#']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let name = match host.strip_prefix('[') {
        Some(literal) => literal.split(']').next()?,
        None => host.split(':').next()?,
    };
    (!name.is_empty()).then(|| name.to_ascii_lowercase())
}

/// Merges a JSON object into a row; says whether anything visible changed.
pub(crate) struct Merge<'a> {
    pub(crate) row: &'a mut Row,
    pub(crate) shared: &'a mut Shared,
}

impl Merge<'_> {
    pub(crate) fn json(self, json: &[u8]) -> Result<bool, serde_json::Error> {
        let mut from = serde_json::Deserializer::from_slice(json);
        let changed = self.deserialize(&mut from)?;
        from.end()?;
        Ok(changed)
    }
}

impl<'de> DeserializeSeed<'de> for Merge<'_> {
    type Value = bool;
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<bool, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Merge<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a torrent")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let Merge { row, shared } = self;
        let mut changed = false;
        while let Some(field) = map.next_key_seed(TextSeed(Field::of))? {
            let field = field.ok_or_else(|| A::Error::custom("a name is not a text"))?;
            changed |= row.take(field, shared, &mut map)?;
        }
        Ok(changed)
    }
}

#[derive(Clone, Copy)]
enum Field {
    AddedOn,
    Availability,
    Category,
    CompletionOn,
    ContentPath,
    DownloadRate,
    Downloaded,
    Eta,
    Hash,
    LastActivity,
    Name,
    NumComplete,
    NumIncomplete,
    NumLeechs,
    NumSeeds,
    Private,
    Progress,
    Ratio,
    SavePath,
    SecondsSeeded,
    Size,
    State,
    Tags,
    Tracker,
    UploadRate,
    Uploaded,
    V1,
    Other,
}

impl Field {
    fn of(name: &str) -> Field {
        match name {
            "added_on" => Field::AddedOn,
            "availability" => Field::Availability,
            "category" => Field::Category,
            "completion_on" => Field::CompletionOn,
            "content_path" => Field::ContentPath,
            "dlspeed" => Field::DownloadRate,
            "downloaded" => Field::Downloaded,
            "eta" => Field::Eta,
            "hash" => Field::Hash,
            "last_activity" => Field::LastActivity,
            "name" => Field::Name,
            "num_complete" => Field::NumComplete,
            "num_incomplete" => Field::NumIncomplete,
            "num_leechs" => Field::NumLeechs,
            "num_seeds" => Field::NumSeeds,
            "private" => Field::Private,
            "progress" => Field::Progress,
            "ratio" => Field::Ratio,
            "save_path" => Field::SavePath,
            "seeding_time" => Field::SecondsSeeded,
            "size" => Field::Size,
            "state" => Field::State,
            "tags" => Field::Tags,
            "tracker" => Field::Tracker,
            "upspeed" => Field::UploadRate,
            "uploaded" => Field::Uploaded,
            "infohash_v1" => Field::V1,
            _ => Field::Other,
        }
    }
}

/// Puts a value in its place and says whether that was news.
fn put<T: PartialEq>(place: &mut T, value: T) -> bool {
    let news = *place != value;
    *place = value;
    news
}

fn instant(n: Num) -> Option<u64> {
    n.non_negative().filter(|at| *at > 0)
}

impl Row {
    fn take<'de, A: MapAccess<'de>>(
        &mut self,
        field: Field,
        shared: &mut Shared,
        map: &mut A,
    ) -> Result<bool, A::Error> {
        match field {
            Field::Other => map.next_value::<IgnoredAny>().map(|_| false),
            Field::Name => own(&mut self.name, map),
            Field::ContentPath => own(&mut self.content_path, map),
            Field::SavePath => share(&mut self.save_path, shared, map),
            Field::Category => share(&mut self.label, shared, map),
            Field::Tags => share(&mut self.tags, shared, map),
            // Empty while no tracker works: it is still the one that was.
            Field::Tracker => {
                let mut told = self.tracker.clone();
                let news = share(&mut told, shared, map)? && !told.is_empty();
                if news {
                    self.tracker = told;
                }
                Ok(news)
            }
            Field::State => {
                let state = map.next_value_seed(TextSeed(model::state))?;
                Ok(state.is_some_and(|state| put(&mut self.state, state)))
            }
            Field::Hash => {
                let id = map.next_value_seed(TextSeed(Id::parse))?;
                Ok(id.flatten().is_some_and(|id| put(&mut self.id, id)))
            }
            Field::V1 => {
                let v1 = map.next_value_seed(TextSeed(Id::parse))?;
                Ok(v1.is_some_and(|v1| put(&mut self.v1, v1)))
            }
            Field::Private => {
                // Null while a magnet link has no metadata.
                let flag = map.next_value::<Flag>()?.0;
                Ok(flag.is_some_and(|flag| put(&mut self.is_private, Some(flag))))
            }
            numeric => {
                let n = map.next_value::<Num>()?;
                Ok(!n.is_absent() && self.take_number(numeric, n))
            }
        }
    }

    fn take_number(&mut self, field: Field, n: Num) -> bool {
        match field {
            Field::Progress => put(&mut self.progress, n.fraction()),
            Field::Ratio => put(
                &mut self.ratio,
                if n.float() < 0.0 { RATIO_MAX } else { n.float() },
            ),
            Field::Size => put(&mut self.size, n.unsigned()),
            Field::Downloaded => put(&mut self.downloaded, n.unsigned()),
            Field::Uploaded => put(&mut self.uploaded, n.unsigned()),
            Field::DownloadRate => put(&mut self.download_rate, n.unsigned()),
            Field::UploadRate => put(&mut self.upload_rate, n.unsigned()),
            Field::Eta => put(&mut self.eta, n.non_negative().filter(|eta| *eta < ETA_NEVER)),
            Field::NumSeeds => put(&mut self.seeds_connected, n.small()),
            Field::NumComplete => put(&mut self.seeds_total, n.small()),
            Field::NumLeechs => put(&mut self.peers_connected, n.small()),
            Field::NumIncomplete => put(&mut self.peers_total, n.small()),
            Field::AddedOn => put(&mut self.added_at, instant(n)),
            Field::CompletionOn => put(&mut self.completed_at, instant(n)),
            // These two move with the clock while a torrent is at work, which alone is no news.
            Field::SecondsSeeded => {
                self.seconds_seeded = n.non_negative();
                false
            }
            Field::LastActivity => {
                self.last_activity = instant(n);
                false
            }
            // -1 where nothing is connected.
            Field::Availability => self.take_availability(Some(n.float()).filter(|copies| *copies >= 0.0)),
            // `take` reads the values of the others itself.
            _ => false,
        }
    }
}

/// The least change of an availability that is news.
const AVAILABILITY_STEP: f64 = 0.01;

impl Row {
    fn take_availability(&mut self, copies: Option<f64>) -> bool {
        let news = match (self.availability, copies) {
            (Some(before), Some(now)) => (before - now).abs() >= AVAILABILITY_STEP,
            (before, now) => before.is_some() != now.is_some(),
        };
        if news {
            self.availability = copies;
        }
        news
    }
}

fn own<'de, A: MapAccess<'de>>(place: &mut Box<str>, map: &mut A) -> Result<bool, A::Error> {
    let news = map.next_value_seed(TextSeed(|text: &str| {
        let news = **place != *text;
        if news {
            *place = text.into();
        }
        news
    }))?;
    Ok(news.unwrap_or(false))
}

fn share<'de, A: MapAccess<'de>>(
    place: &mut Rc<str>,
    shared: &mut Shared,
    map: &mut A,
) -> Result<bool, A::Error> {
    let news = map.next_value_seed(TextSeed(|text: &str| {
        let news = **place != *text;
        if news {
            *place = shared.get(text);
        }
        news
    }))?;
    Ok(news.unwrap_or(false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HASH: &str = "0123456789abcdef0123456789ABCDEF01234567";

    fn merged(json: &str) -> Torrent {
        let mut row = Row::blank(Id::parse(HASH).expect("a hash"));
        Merge {
            row: &mut row,
            shared: &mut Shared::default(),
        }
        .json(json.as_bytes())
        .expect("JSON of a torrent");
        row.torrent()
    }

    #[test]
    fn hashes_are_forty_hex_digits() {
        assert_eq!(Id::parse(HASH).expect("a hash").to_string(), HASH.to_lowercase());
        for text in [
            "",
            "0123",
            &HASH[1..],
            "g123456789abcdef0123456789abcdef01234567",
            &"é".repeat(20),
        ] {
            assert_eq!(Id::parse(text), None, "{text}");
        }
    }

    #[test]
    fn fields_are_mapped() {
        let torrent = merged(
            r#"{"name":"a \u00fc","state":"stalledUP","progress":1,"size":10,"downloaded":11,"uploaded":22,"ratio":2.0,
            "dlspeed":1,"upspeed":2,"eta":60,"num_seeds":3,"num_complete":-1,"num_leechs":4,"num_incomplete":5,
            "category":"tv","save_path":"/d","content_path":"/d/a","private":true,"added_on":7,"completion_on":8,
            "tags":"x, y","availability":1.5,"seeding_time":3600,"last_activity":9,
            "tracker":"https://user@Tracker.example:8443/announce"}"#,
        );
        let expected = Torrent {
            hash: HASH.to_lowercase(),
            name: "a ü".into(),
            state: State::Seeding,
            progress: 1.0,
            size: 10,
            downloaded: 11,
            uploaded: 22,
            ratio: 2.0,
            download_rate: 1,
            upload_rate: 2,
            eta: Some(60),
            seeds_connected: 3,
            seeds_total: 0,
            peers_connected: 4,
            peers_total: 5,
            priority: 2,
            label: Some("tv".into()),
            tags: vec!["x".into(), "y".into()],
            save_path: "/d".into(),
            content_path: "/d/a".into(),
            is_private: Some(true),
            message: None, // the client has none for a torrent
            added_at: Some(7),
            completed_at: Some(8),
            tracker_host: Some("tracker.example".into()),
            seconds_seeded: Some(3600),
            last_activity: Some(9),
            availability: Some(1.5),
        };
        assert_eq!(torrent, expected);
    }

    #[test]
    fn what_moves_with_the_clock_is_kept_and_is_no_news() {
        let mut row = Row::blank(Id::parse(HASH).expect("a hash"));
        let mut shared = Shared::default();
        let mut news = |json: &str| {
            let merge = Merge {
                row: &mut row,
                shared: &mut shared,
            };
            merge.json(json.as_bytes()).expect("JSON of a torrent")
        };
        assert!(news(
            r#"{"tracker":"udp://[2001:db8::1]:6969","availability":1.5,"seeding_time":1}"#
        ));
        assert!(!news(
            r#"{"seeding_time":9,"last_activity":99,"availability":1.505,"tracker":""}"#
        ));
        assert!(news(r#"{"availability":1.52}"#));
        assert!(news(r#"{"availability":-1}"#));
        let torrent = row.torrent();
        assert_eq!(
            (
                torrent.seconds_seeded,
                torrent.last_activity,
                torrent.availability
            ),
            (Some(9), Some(99), None)
        );
        assert_eq!(
            torrent.tracker_host.as_deref(),
            Some("2001:db8::1"),
            "a tracker that is down is still its tracker"
        );
    }

    #[test]
    fn what_the_client_does_not_know_stays_unknown() {
        let torrent = merged(
            r#"{"eta":8640000,"ratio":-1,"size":-1,"completion_on":-3600,"added_on":0,"category":"","save_path":"/d",
            "private":null,"progress":7.5}"#,
        );
        assert_eq!(
            (torrent.eta, torrent.completed_at, torrent.added_at),
            (None, None, None)
        );
        assert_eq!(
            (torrent.label, torrent.size, torrent.content_path.as_str()),
            (None, 0, "/d")
        );
        assert!(
            (torrent.ratio - RATIO_MAX).abs() < f64::EPSILON && (torrent.progress - 1.0).abs() < f64::EPSILON
        );
    }

    #[test]
    fn a_hybrid_goes_by_its_v1_hash() {
        let v1 = "f".repeat(40);
        assert_eq!(merged(&format!(r#"{{"infohash_v1":"{v1}"}}"#)).hash, v1);
        assert_eq!(merged(r#"{"infohash_v1":""}"#).hash, HASH.to_lowercase());
    }

    #[test]
    fn only_what_shows_is_a_change() {
        let mut row = Row::blank(Id::default());
        let mut shared = Shared::default();
        let mut merge = |json: &str| {
            Merge {
                row: &mut row,
                shared: &mut shared,
            }
            .json(json.as_bytes())
            .expect("JSON")
        };
        assert!(merge(r#"{"name":"a","upspeed":5,"category":"c"}"#));
        assert!(!merge(r#"{"name":"a","upspeed":5,"category":"c"}"#));
        assert!(!merge(
            r#"{"time_active":9,"seeding_time":9,"last_activity":9,"availability":-1,"seen_complete":1,"ratio_limit":-2,
            "uploaded_session":9,"amount_left":0,"priority":3,"tracker":"","trackers_count":2,"seq_dl":true}"#
        ));
        assert!(!merge(
            r#"{"name":5,"upspeed":"7","state":null,"private":"yes","category":[],"infohash_v1":{}}"#
        ));
        assert!(merge(r#"{"upspeed":6}"#));
        assert!(merge(r#"{"state":"error"}"#));
        assert!(merge(r#"{"tags":"a, b"}"#) && !merge(r#"{"tags":"a, b"}"#));
    }

    #[test]
    fn shared_texts_do_not_pile_up() {
        let mut shared = Shared::default();
        for n in 0..3 * SHARED_MAX {
            shared.get(&n.to_string());
        }
        assert!(shared.0.len() <= SHARED_MAX);
        assert!(Rc::ptr_eq(&shared.get("a"), &shared.get("a")));
    }

    proptest! {
        #[test]
        fn hostile_objects_never_panic(json in r#"[\[\]{}",:0-9a-z_eE.\\-]{0,80}"#) {
            let mut row = Row::blank(Id::default());
            let _ = Merge { row: &mut row, shared: &mut Shared::default() }.json(json.as_bytes());
        }

        #[test]
        fn any_value_may_stand_in_any_field(n: i64, x: f64, text: String) {
            let mut row = Row::blank(Id::default());
            for field in ["added_on", "category", "eta", "name", "num_seeds", "private", "progress", "ratio", "size", "state",
                "hash", "infohash_v1", "save_path", "completion_on"] {
                for value in [serde_json::json!(n), serde_json::json!(x), serde_json::json!(text), serde_json::json!([n])] {
                    let json = serde_json::json!({ field: value }).to_string();
                    let merged = Merge { row: &mut row, shared: &mut Shared::default() }.json(json.as_bytes());
                    prop_assert!(merged.is_ok());
                }
            }
            let torrent = row.torrent();
            prop_assert!((0.0..=1.0).contains(&torrent.progress) && torrent.ratio.is_finite());
        }
    }
}
