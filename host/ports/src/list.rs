//! The torrents of every engine as they were read last, for areas that judge them.

use std::sync::Arc;

use qm_conditions::{Record, Seen};
use qm_kernel::Timestamp;

use crate::engine::{Torrent, TrackerStanding};

/// Offered by torrents. Never asks a client.
pub trait TorrentLists: Send + Sync {
    /// The last list of every engine that was read since the start, also of one that is offline now.
    fn lists(&self) -> Vec<Arc<dyn TorrentList>>;

    /// Bytes free where the client of an engine saves, as it told last; `None`: it does not tell, or does not answer now.
    fn free_bytes(&self, _engine_id: &str) -> Option<u64> {
        None
    }
}

/// The torrents of one engine at one moment; it never changes.
pub trait TorrentList: Send + Sync {
    fn engine_id(&self) -> &str;

    /// Rises with every list of the engine that differs from the one before.
    fn version(&self) -> u64;

    fn len(&self) -> usize;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The torrents in the client's order, from 0. One that did not change between two lists is the same value in memory.
    fn entry_at(&self, position: usize) -> Option<Listed<'_>>;

    /// A torrent by its lower-case hash.
    fn find(&self, hash: &str) -> Option<Listed<'_>>;
}

/// A torrent of a list.
#[derive(Clone, Copy, Debug)]
pub struct Listed<'a> {
    pub torrent: &'a Torrent,
    /// Its JSON, as `GET /api/torrents` shows it.
    pub json: &'a [u8],
}

/// A torrent as conditions see it: by the names of its JSON, and by how long ago something was.
#[derive(Clone, Copy, Debug)]
pub struct TorrentRecord<'a> {
    pub engine_id: &'a str,
    pub torrent: &'a Torrent,
    /// The moment it is judged at.
    pub now: Timestamp,
    /// Bytes free where its client saves. Rules are judged by it, lists are not.
    pub free_bytes: Option<u64>,
}

/// The field of the free space, which filters of lists do not know: no page would be made anew when it changes.
pub const FREE_BYTES: &str = "freeBytes";

/// The fields that change by themselves.
pub const AGES: &[&str] = &["addedDaysAgo", "completedDaysAgo", "activeDaysAgo"];

/// Fields by which the list of torrents can be sorted.
pub const SORT_FIELDS: &[&str] = &[
    "hash",
    "name",
    "state",
    "progress",
    "size",
    "downloaded",
    "uploaded",
    "ratio",
    "downloadRate",
    "uploadRate",
    "eta",
    "seedsConnected",
    "seedsTotal",
    "peersConnected",
    "peersTotal",
    "priority",
    "label",
    "savePath",
    "contentPath",
    "isPrivate",
    "message",
    "addedAt",
    "completedAt",
    "trackerHost",
    "trackerStatus",
    "trackerMessage",
    "lastActivity",
    "availability",
];

macro_rules! fields {
    ($record:ident: $($name:literal => $seen:expr,)+) => {
        /// Every field there is.
        pub const FIELDS: &[&str] = &[$($name,)+];

        impl Record for TorrentRecord<'_> {
            fn field(&self, name: &str) -> Seen<'_> {
                let $record = self;
                match name {
                    $($name => $seen,)+
                    FREE_BYTES => Seen::number_or_null($record.free_bytes.map(|free| free as f64)),
                    _ => Seen::Missing,
                }
            }
        }
    };
}

fields! { of:
    "hash" => Seen::text(&of.torrent.hash),
    "name" => Seen::text(&of.torrent.name),
    "state" => Seen::text(of.torrent.state.as_str()),
    "progress" => Seen::Number(of.torrent.progress),
    "size" => Seen::Number(of.torrent.size as f64),
    "downloaded" => Seen::Number(of.torrent.downloaded as f64),
    "uploaded" => Seen::Number(of.torrent.uploaded as f64),
    "ratio" => Seen::Number(of.torrent.ratio),
    "downloadRate" => Seen::Number(of.torrent.download_rate as f64),
    "uploadRate" => Seen::Number(of.torrent.upload_rate as f64),
    "eta" => Seen::number_or_null(of.torrent.eta.map(|eta| eta as f64)),
    "seedsConnected" => Seen::Number(of.torrent.seeds_connected.into()),
    "seedsTotal" => Seen::number_or_null(of.torrent.seeds_total.map(f64::from)),
    "peersConnected" => Seen::Number(of.torrent.peers_connected.into()),
    "peersTotal" => Seen::number_or_null(of.torrent.peers_total.map(f64::from)),
    "priority" => Seen::Number(of.torrent.priority.into()),
    "label" => Seen::text_or_null(of.torrent.label.as_deref()),
    "tags" => Seen::Texts(&of.torrent.tags),
    "savePath" => Seen::text(&of.torrent.save_path),
    "contentPath" => Seen::text(&of.torrent.content_path),
    "isPrivate" => Seen::flag_or_null(of.torrent.is_private),
    "message" => Seen::text_or_null(of.torrent.message.as_deref()),
    "addedAt" => instant(of.torrent.added_at),
    "completedAt" => instant(of.torrent.completed_at),
    "trackerHost" => Seen::text_or_null(of.torrent.tracker_host.as_deref()),
    "trackerStatus" => Seen::text_or_null(of.torrent.tracker_standing.map(TrackerStanding::as_str)),
    "trackerMessage" => Seen::text_or_null(of.torrent.tracker_message.as_deref()),
    "secondsSeeded" => Seen::number_or_null(of.torrent.seeded.map(|seeded| seeded.seconds as f64)),
    "secondsSeededAt" => instant(of.torrent.seeded.map(|seeded| seeded.as_of)),
    "lastActivity" => instant(of.torrent.last_activity),
    "availability" => Seen::number_or_null(of.torrent.availability),
    "engineId" => Seen::text(of.engine_id),
    // For conditions the reason stands for the mark.
    "parked" => Seen::text_or_null(of.torrent.parked.as_deref().map(|parked| parked.reason.as_str())),
    "intake" => Seen::Null,
    "addedDaysAgo" => days(of.torrent.added_at, of.now),
    "completedDaysAgo" => days(of.torrent.completed_at, of.now),
    "activeDaysAgo" => days(of.torrent.last_activity, of.now),
}

fn instant(at: Option<Timestamp>) -> Seen<'static> {
    at.map_or(Seen::Null, |at| Seen::Text(at.to_string().into()))
}

/// Days since then; null where that is unknown.
fn days(since: Option<Timestamp>, now: Timestamp) -> Seen<'static> {
    const DAY_MS: f64 = 86_400_000.0;
    since.map_or(Seen::Null, |since| {
        Seen::Number((now.ms() - since.ms()) as f64 / DAY_MS)
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use qm_conditions::Conditions;
    use serde_json::json;

    use super::*;
    use crate::engine::TorrentState;
    use crate::parking::{ParkReason, Parked};

    pub(crate) fn torrent() -> Torrent {
        Torrent {
            hash: "0b".repeat(20).into(),
            name: "Debian".into(),
            state: TorrentState::Seeding,
            progress: 1.0,
            size: 700,
            downloaded: 700,
            uploaded: 1400,
            ratio: 2.0,
            download_rate: 0,
            upload_rate: 5,
            eta: None,
            seeds_connected: 1,
            seeds_total: Some(2),
            peers_connected: 3,
            peers_total: Some(4),
            priority: 2,
            label: Some("os".into()),
            tags: vec!["free".into(), "large".into()],
            save_path: "/d".into(),
            content_path: "/d/Debian".into(),
            is_private: Some(false),
            message: None,
            added_at: Some(Timestamp::from_secs(1_900_000_000)),
            completed_at: None,
            tracker_host: Some("tracker.example".into()),
            tracker_standing: Some(TrackerStanding::Failing),
            tracker_message: Some("Try later".into()),
            seeded: None,
            last_activity: None,
            availability: Some(1.5),
            ..Torrent::default()
        }
    }

    #[test]
    fn no_number_holds_for_what_is_unknown() {
        let torrent = Torrent {
            seeds_total: None,
            peers_total: None,
            availability: None,
            ..torrent()
        };
        let record = TorrentRecord {
            engine_id: "e",
            torrent: &torrent,
            now: Timestamp::from_secs(0),
            free_bytes: None,
        };
        for field in ["seedsTotal", "peersTotal", "availability", "eta", "secondsSeeded"] {
            for (op, value) in [("lt", json!(5)), ("gte", json!(0)), ("eq", json!(0))] {
                let source = json!({ "field": field, "op": op, "value": value });
                let holds = Conditions::compile(std::slice::from_ref(&source)).hold(&record);
                assert!(!holds, "{source}");
            }
        }
    }

    #[test]
    fn a_torrent_is_asked_by_the_names_of_its_json() {
        let torrent = torrent();
        let record = TorrentRecord {
            engine_id: "e",
            torrent: &torrent,
            now: Timestamp::from_secs(1_900_000_000 + 31 * 86_400),
            free_bytes: None,
        };
        for (field, op, value) in [
            ("ratio", "gte", json!(2)),
            ("trackerHost", "eq", json!("tracker.example")),
            ("trackerStatus", "eq", json!("failing")),
            ("trackerMessage", "contains", json!("later")),
            ("addedDaysAgo", "gt", json!(30)),
            ("tags", "contains", json!("large")),
            ("state", "eq", json!("seeding")),
            ("addedAt", "eq", json!("2030-03-17T17:46:40.000Z")),
            ("message", "eq", json!(null)),
            ("eta", "eq", json!(null)),
            ("engineId", "eq", json!("e")),
            ("isPrivate", "neq", json!(true)),
        ] {
            let source = json!({ "field": field, "op": op, "value": value });
            assert!(
                Conditions::compile(std::slice::from_ref(&source)).hold(&record),
                "{source}"
            );
        }
        for field in ["stale", "Name", ""] {
            assert_eq!(record.field(field), Seen::Missing, "{field}");
        }
        for field in FIELDS {
            assert_ne!(record.field(field), Seen::Missing, "{field}");
        }
        assert!(AGES.iter().all(|age| FIELDS.contains(age)));
    }

    #[test]
    fn a_parked_torrent_is_asked_by_its_reason() {
        let parked = Parked {
            reason: ParkReason::NoSeeders,
            parked_at: Timestamp::from_secs(1_900_000_000),
            last_seeders: 0,
            probe_count: 3,
            probing: false,
        };
        let torrent = Torrent {
            parked: Some(Arc::new(parked)),
            ..torrent()
        };
        let record = TorrentRecord {
            engine_id: "e",
            torrent: &torrent,
            now: Timestamp::from_secs(1_900_000_000),
            free_bytes: None,
        };
        for (op, value, holds) in [
            ("eq", json!("no_seeders"), true),
            ("neq", json!("stalled"), true),
            ("eq", json!("stalled"), false),
            ("eq", json!(null), false),
        ] {
            let source = json!({ "field": "parked", "op": op, "value": value });
            let conditions = Conditions::compile(std::slice::from_ref(&source));
            assert_eq!(conditions.hold(&record), holds, "{source}");
        }
    }

    /// A client tells little of what it is about to load, and some clients never tell more.
    fn unknown() -> Torrent {
        Torrent {
            eta: None,
            label: None,
            is_private: None,
            message: None,
            added_at: None,
            completed_at: None,
            tracker_host: None,
            tracker_standing: None,
            tracker_message: None,
            seeded: None,
            last_activity: None,
            availability: None,
            ..torrent()
        }
    }

    #[test]
    fn no_condition_holds_on_a_field_that_is_unknown_whatever_the_operator() {
        let torrent = unknown();
        let record = TorrentRecord {
            engine_id: "e",
            torrent: &torrent,
            now: Timestamp::from_secs(1_900_000_000),
            free_bytes: None,
        };
        let values = [
            json!(null),
            json!(true),
            json!(false),
            json!(0),
            json!(-1),
            json!(1e12),
            json!(""),
            json!("null"),
            json!("undefined"),
            json!("."),
            json!([]),
            json!({}),
        ];
        let mut unknown = Vec::new();
        for field in FIELDS {
            if !record.field(field).is_unknown() {
                continue;
            }
            unknown.push(*field);
            for op in qm_conditions::Operator::WORDS {
                for value in &values {
                    let source = json!({ "field": field, "op": op, "value": value });
                    let asks_for_null = *op == "eq" && value.is_null();
                    let holds = Conditions::compile(std::slice::from_ref(&source)).hold(&record);
                    assert_eq!(holds, asks_for_null, "{source}");
                }
            }
        }
        assert_eq!(
            unknown,
            [
                "eta",
                "label",
                "isPrivate",
                "message",
                "addedAt",
                "completedAt",
                "trackerHost",
                "trackerStatus",
                "trackerMessage",
                "secondsSeeded",
                "secondsSeededAt",
                "lastActivity",
                "availability",
                "parked",
                "intake",
                "addedDaysAgo",
                "completedDaysAgo",
                "activeDaysAgo"
            ]
        );
    }
}
