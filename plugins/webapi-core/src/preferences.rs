//! The client's own preferences: those that a person may sensibly change from elsewhere, by names that say what they are.
//!
//! Left out: whatever is a secret, runs programs, or decides who reaches the client. A version of the client offers those that it
//! tells; the schema is made of its answer.

use serde_json::{Map, Value, json};

use crate::error::{Error, garbled};
use crate::http::{Answer, Clock, Http};
use crate::link::{Call, SMALL, no_such_call};
use crate::session::Session;
use crate::single::post;
use engine_model::{RateLimits, RateMode, ip_addresses};

/// Unit in which the client keeps its limits on all torrents.
const KIB: u64 = 1024;
/// Largest limit that the client takes, in bytes per second.
const MOST: u64 = i32::MAX as u64 / KIB * KIB;

/// Shape of a preference.
#[derive(Clone, Copy)]
enum Shape {
    Flag,
    /// A whole number of this range.
    Whole(i64, i64),
    /// A whole number from this one on, or null for no limit, of which the client says -1.
    Bound(i64),
    /// As [`Shape::Bound`], with a flag beside it by this name that is off without a limit.
    Switched(&'static str),
    /// A ratio, with a flag beside it by this name.
    Ratio(&'static str),
    Directory,
    /// One of these words, which the client has as these numbers.
    Choice(&'static [(&'static str, i64)]),
}

struct Preference {
    name: &'static str,
    native: &'static str,
    shape: Shape,
    text: &'static str,
}

const fn preference(
    name: &'static str,
    native: &'static str,
    shape: Shape,
    text: &'static str,
) -> Preference {
    Preference {
        name,
        native,
        shape,
        text,
    }
}

const ENCRYPTION: Shape = Shape::Choice(&[("allowed", 0), ("required", 1), ("off", 2)]);
/// Action at a limit of sharing that is told and never set: the client does not look whether other torrents use the data.
const TAKES_DATA: &str = "remove-with-data";
const AT_LIMIT: Shape = Shape::Choice(&[("stop", 0), ("remove", 1), ("super-seed", 2), (TAKES_DATA, 3)]);

const ALL: &[Preference] = &[
    preference(
        "listenPort",
        "listen_port",
        Shape::Whole(0, 65_535),
        "Port for peers; 0 is any",
    ),
    preference(
        "portForwarding",
        "upnp",
        Shape::Flag,
        "Ask the router to forward the port",
    ),
    preference(
        "maxConnections",
        "max_connec",
        Shape::Bound(1),
        "Connections of all torrents",
    ),
    preference(
        "maxConnectionsPerTorrent",
        "max_connec_per_torrent",
        Shape::Bound(1),
        "Connections of one torrent",
    ),
    preference(
        "maxUploads",
        "max_uploads",
        Shape::Bound(1),
        "Upload slots of all torrents",
    ),
    preference(
        "maxUploadsPerTorrent",
        "max_uploads_per_torrent",
        Shape::Bound(1),
        "Upload slots of one torrent",
    ),
    preference(
        "dht",
        "dht",
        Shape::Flag,
        "Find peers by the distributed hash table",
    ),
    preference("pex", "pex", Shape::Flag, "Exchange peers with peers"),
    preference("lsd", "lsd", Shape::Flag, "Find peers in the local network"),
    preference(
        "encryption",
        "encryption",
        ENCRYPTION,
        "Encryption of connections to peers",
    ),
    preference(
        "anonymousMode",
        "anonymous_mode",
        Shape::Flag,
        "Hide the client's name from peers",
    ),
    preference(
        "queueing",
        "queueing_enabled",
        Shape::Flag,
        "Torrents wait their turn in a queue",
    ),
    preference(
        "maxActiveDownloads",
        "max_active_downloads",
        Shape::Bound(0),
        "Torrents that download at a time",
    ),
    preference(
        "maxActiveUploads",
        "max_active_uploads",
        Shape::Bound(0),
        "Torrents that seed at a time",
    ),
    preference(
        "maxActiveTorrents",
        "max_active_torrents",
        Shape::Bound(0),
        "Torrents that run at a time",
    ),
    preference(
        "maxActiveChecks",
        "max_active_checking_torrents",
        Shape::Bound(1),
        "Torrents that are checked at a time",
    ),
    preference(
        "ignoreSlowTorrents",
        "dont_count_slow_torrents",
        Shape::Flag,
        "Slow torrents do not count in the queue",
    ),
    preference(
        "defaultSavePath",
        "save_path",
        Shape::Directory,
        "Directory of torrents without a save path",
    ),
    preference(
        "incompletePathEnabled",
        "temp_path_enabled",
        Shape::Flag,
        "Incomplete data lies in a directory of its own",
    ),
    preference(
        "incompletePath",
        "temp_path",
        Shape::Directory,
        "Directory of incomplete data",
    ),
    preference(
        "incompleteExtension",
        "incomplete_files_ext",
        Shape::Flag,
        "Incomplete files end in .!qB",
    ),
    preference(
        "preallocate",
        "preallocate_all",
        Shape::Flag,
        "Take the disk space of all files at once",
    ),
    preference(
        "autoManage",
        "auto_tmm_enabled",
        Shape::Flag,
        "New torrents have the paths of their category",
    ),
    // A version has one of the next two.
    preference(
        "addStopped",
        "start_paused_enabled",
        Shape::Flag,
        "New torrents do not start",
    ),
    preference(
        "addStopped",
        "add_stopped_enabled",
        Shape::Flag,
        "New torrents do not start",
    ),
    preference(
        "maxRatio",
        "max_ratio",
        Shape::Ratio("max_ratio_enabled"),
        "Ratio at which seeding ends",
    ),
    preference(
        "maxSeedingMinutes",
        "max_seeding_time",
        Shape::Switched("max_seeding_time_enabled"),
        "Minutes of seeding until it ends",
    ),
    preference(
        "maxInactiveSeedingMinutes",
        "max_inactive_seeding_time",
        Shape::Switched("max_inactive_seeding_time_enabled"),
        "Minutes of seeding to nobody until it ends",
    ),
    preference(
        "shareLimitAction",
        "max_ratio_act",
        AT_LIMIT,
        "What happens to a torrent at such a limit",
    ),
    preference(
        "announceToAllTrackers",
        "announce_to_all_trackers",
        Shape::Flag,
        "Announce to all trackers of a tier",
    ),
    preference(
        "announceToAllTiers",
        "announce_to_all_tiers",
        Shape::Flag,
        "Announce to all tiers",
    ),
    preference(
        "recheckOnCompletion",
        "recheck_completed_torrents",
        Shape::Flag,
        "Check the data of a torrent that is complete",
    ),
];

impl Shape {
    fn schema(self) -> Value {
        match self {
            Shape::Flag => json!({"type": "boolean"}),
            Shape::Whole(least, most) => json!({"type": "integer", "minimum": least, "maximum": most}),
            Shape::Bound(least) => json!({"type": ["integer", "null"], "minimum": least}),
            Shape::Switched(_) => json!({"type": ["integer", "null"], "minimum": 0}),
            Shape::Ratio(_) => json!({"type": ["number", "null"], "minimum": 0}),
            Shape::Directory => json!({"type": "string", "x-path": "directory"}),
            Shape::Choice(words) => {
                let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                json!({"type": "string", "enum": words})
            }
        }
    }

    /// The client's value in our words; `None` for one that makes no sense.
    fn read(self, native: &Value) -> Option<Value> {
        match self {
            Shape::Flag => native.as_bool().map(Value::from),
            Shape::Whole(..) => native.as_i64().map(Value::from),
            Shape::Bound(_) | Shape::Switched(_) => {
                let number = native.as_i64()?;
                Some(if number < 0 { Value::Null } else { number.into() })
            }
            Shape::Ratio(_) => {
                let number = native.as_f64()?;
                Some(if number < 0.0 { Value::Null } else { number.into() })
            }
            Shape::Directory => native.as_str().map(Value::from),
            Shape::Choice(words) => {
                let number = native.as_i64()?;
                let known = words.iter().find(|(_, known)| *known == number);
                known.map(|(word, _)| (*word).into())
            }
        }
    }

    /// Puts our value among the client's; false for one that does not fit.
    fn write(self, name: &str, value: &Value, natives: &mut Map<String, Value>) -> bool {
        let native = match (self, value) {
            (Shape::Flag, Value::Bool(flag)) => Value::from(*flag),
            (Shape::Whole(least, most), value) => match value.as_i64() {
                Some(number) if (least..=most).contains(&number) => number.into(),
                _ => return false,
            },
            (Shape::Bound(_), Value::Null) => (-1).into(),
            (Shape::Bound(least), value) => match value.as_i64() {
                Some(number) if (least..=i64::from(i32::MAX)).contains(&number) => number.into(),
                _ => return false,
            },
            (Shape::Switched(flag) | Shape::Ratio(flag), Value::Null) => {
                natives.insert(flag.to_owned(), false.into());
                return true;
            }
            (Shape::Switched(flag), value) => match value.as_i64() {
                Some(number) if (0..=i64::from(i32::MAX)).contains(&number) => {
                    natives.insert(flag.to_owned(), true.into());
                    number.into()
                }
                _ => return false,
            },
            (Shape::Ratio(flag), value) => match value.as_f64() {
                Some(number) if number >= 0.0 => {
                    natives.insert(flag.to_owned(), true.into());
                    number.into()
                }
                _ => return false,
            },
            (Shape::Directory, Value::String(path)) if path.starts_with('/') => path.as_str().into(),
            (Shape::Choice(words), Value::String(word)) => {
                match words.iter().find(|(known, _)| known == word) {
                    Some((_, number)) => (*number).into(),
                    None => return false,
                }
            }
            _ => return false,
        };
        natives.insert(name.to_owned(), native);
        true
    }

    /// True when two values of this shape mean the same.
    fn is_same(self, one: &Value, other: &Value) -> bool {
        match (self, one, other) {
            (Shape::Directory, Value::String(one), Value::String(other)) => {
                one.trim_end_matches('/') == other.trim_end_matches('/')
            }
            (Shape::Ratio(_), one, other) => match (one.as_f64(), other.as_f64()) {
                (Some(one), Some(other)) => (one - other).abs() < 0.01,
                (one, other) => one.is_none() && other.is_none(),
            },
            (_, one, other) => one == other,
        }
    }
}

impl<H: Http, C: Clock> Session<H, C> {
    fn natives(&mut self) -> Result<Map<String, Value>, Error> {
        let call = Call::get("/app/preferences", &[], SMALL);
        let body = self.link.call(&call).map_err(no_such_call)?.read_to_end()?;
        serde_json::from_slice(&body).map_err(|error| garbled("app/preferences", &error))
    }

    fn set_natives(&mut self, natives: Map<String, Value>) -> Result<(), Error> {
        let text = Value::Object(natives).to_string();
        post(&mut self.link, "/app/setPreferences", &[("json", &text)]).map_err(no_such_call)
    }

    /// JSON Schema of the preferences that this client tells.
    pub fn preferences_schema(&mut self) -> Result<String, Error> {
        let natives = self.natives()?;
        let mut properties = Map::new();
        for known in offered(&natives) {
            let mut schema = known.shape.schema();
            if let Some(schema) = schema.as_object_mut() {
                schema.insert("description".to_owned(), known.text.into());
                schema.insert("x-group".to_owned(), find_group(known.name).into());
                if known.name.ends_with("Minutes") {
                    schema.insert("x-unit".to_owned(), "minutes".into());
                }
            }
            properties.insert(known.name.to_owned(), schema);
        }
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "additionalProperties": false,
            "properties": properties,
        });
        Ok(schema.to_string())
    }

    /// Values of the preferences, as a JSON object.
    pub fn preferences(&mut self) -> Result<String, Error> {
        let natives = self.natives()?;
        Ok(Value::Object(read_all(&natives)).to_string())
    }

    /// Changes the preferences that the JSON object names, and looks whether the client took them.
    pub fn set_preferences(&mut self, changes: &str) -> Result<(), Error> {
        let changes: Map<String, Value> = serde_json::from_str(changes)
            .map_err(|_| Error::Rejected("the preferences are not a JSON object".into()))?;
        let before = self.natives()?;
        let mut natives = Map::new();
        for (name, value) in &changes {
            let known = offered(&before).find(|known| known.name == name);
            let known =
                known.ok_or_else(|| Error::Rejected(format!("`{name}` is no preference of this client")))?;
            if known.native == "max_ratio_act" && value == TAKES_DATA {
                return Err(Error::Rejected(format!(
                    "`{name}` is not set to `{TAKES_DATA}` from here: the client does not look whether other torrents use the data"
                )));
            }
            if !known.shape.write(known.native, value, &mut natives) {
                return Err(Error::Rejected(format!("`{name}` cannot be {value}")));
            }
        }
        if natives.is_empty() {
            return Ok(());
        }
        self.set_natives(natives)?;
        let after = self.natives()?;
        for (name, value) in &changes {
            let Some(known) = offered(&after).find(|known| known.name == name) else {
                continue;
            };
            let now = after
                .get(known.native)
                .and_then(|native| known.shape.read(native));
            let now = now.unwrap_or(Value::Null);
            if !known.shape.is_same(value, &now) {
                return Err(Error::Rejected(format!(
                    "the client did not take {value} for `{name}`, it is {now}"
                )));
            }
        }
        Ok(())
    }

    /// Limits on all torrents together, of one of the client's two sets.
    pub fn rate_limits(&mut self, mode: RateMode) -> Result<RateLimits, Error> {
        let natives = self.natives()?;
        let (download, upload) = limit_names(mode);
        let limit = |name: &str| {
            natives
                .get(name)
                .and_then(Value::as_u64)
                .filter(|limit| *limit > 0)
        };
        Ok(RateLimits {
            download: limit(download),
            upload: limit(upload),
        })
    }

    pub fn set_rate_limits(&mut self, mode: RateMode, limits: RateLimits) -> Result<(), Error> {
        let (download, upload) = limit_names(mode);
        let value = |limit: Option<u64>| Value::from(limit.map_or(0, native_limit));
        let natives = [(download, limits.download), (upload, limits.upload)];
        self.set_natives(
            natives
                .into_iter()
                .map(|(name, limit)| (name.to_owned(), value(limit)))
                .collect(),
        )
    }

    /// The set of limits that is in force.
    pub fn rate_mode(&mut self) -> Result<RateMode, Error> {
        match self.link.text("/transfer/speedLimitsMode")?.as_str() {
            "0" => Ok(RateMode::Normal),
            "1" => Ok(RateMode::Alternative),
            _ => Err(Error::Protocol(
                "the client does not say which limits are in force".into(),
            )),
        }
    }

    pub fn set_rate_mode(&mut self, mode: RateMode) -> Result<(), Error> {
        let number = match mode {
            RateMode::Normal => "0",
            RateMode::Alternative => "1",
        };
        post(
            &mut self.link,
            "/transfer/setSpeedLimitsMode",
            &[("mode", number)],
        )
        .map_err(no_such_call)
    }

    /// Addresses that the client lets take part in nothing.
    pub fn banned_peers(&mut self) -> Result<Vec<String>, Error> {
        let natives = self.natives()?;
        let text = natives
            .get("banned_IPs")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        Ok(lines.map(str::to_owned).collect())
    }

    pub fn set_banned_peers(&mut self, addresses: &[String]) -> Result<(), Error> {
        let addresses: Vec<String> = ip_addresses(addresses)?.iter().map(ToString::to_string).collect();
        let text = addresses.join("\n");
        self.set_natives(Map::from_iter([("banned_IPs".to_owned(), text.into())]))
    }
}

fn offered(natives: &Map<String, Value>) -> impl Iterator<Item = &'static Preference> {
    ALL.iter().filter(|known| natives.contains_key(known.native))
}

fn read_all(natives: &Map<String, Value>) -> Map<String, Value> {
    offered(natives)
        .filter_map(|known| {
            let value = known.shape.read(natives.get(known.native)?)?;
            Some((known.name.to_owned(), value))
        })
        .collect()
}

const fn limit_names(mode: RateMode) -> (&'static str, &'static str) {
    match mode {
        RateMode::Normal => ("dl_limit", "up_limit"),
        RateMode::Alternative => ("alt_dl_limit", "alt_up_limit"),
    }
}

/// A limit in the client's unit: what is less than one of it would be none.
fn native_limit(bytes: u64) -> u64 {
    bytes.min(MOST).next_multiple_of(KIB)
}

/// Group that a preference is shown in.
fn find_group(name: &str) -> &'static str {
    match name {
        "listenPort"
        | "portForwarding"
        | "maxConnections"
        | "maxConnectionsPerTorrent"
        | "maxUploads"
        | "maxUploadsPerTorrent" => "network",
        "dht" | "pex" | "lsd" | "encryption" | "anonymousMode" => "peers",
        "queueing" | "maxActiveDownloads" | "maxActiveUploads" | "maxActiveTorrents" | "maxActiveChecks"
        | "ignoreSlowTorrents" => "queue",
        "defaultSavePath"
        | "incompletePathEnabled"
        | "incompletePath"
        | "incompleteExtension"
        | "preallocate"
        | "autoManage"
        | "addStopped"
        | "recheckOnCompletion" => "saving",
        "maxRatio" | "maxSeedingMinutes" | "maxInactiveSeedingMinutes" | "shareLimitAction" => "sharing",
        _ => "trackers",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_each_in_a_version() {
        for (at, one) in ALL.iter().enumerate() {
            let others = ALL.iter().skip(at + 1);
            assert!(
                others.filter(|other| other.name == one.name).count()
                    <= usize::from(one.name == "addStopped"),
                "{}",
                one.name
            );
        }
    }

    #[test]
    fn values_are_ours_both_ways() {
        let natives = json!({"max_connec": -1, "max_ratio": 2.5, "max_ratio_enabled": true, "encryption": 1,
            "save_path": "/d", "queueing_enabled": true, "max_ratio_act": 3, "web_ui_password": "secret"});
        let natives = natives.as_object().expect("an object");
        let ours = read_all(natives);
        assert_eq!(
            Value::Object(ours),
            json!({"maxConnections": null, "maxRatio": 2.5, "encryption": "required", "defaultSavePath": "/d",
                "queueing": true, "shareLimitAction": "remove-with-data"})
        );
        for (name, value, expected) in [
            ("maxConnections", json!(null), Some(json!({"max_connec": -1}))),
            ("maxConnections", json!(0), None),
            ("maxConnections", json!("5"), None),
            ("listenPort", json!(70_000), None),
            ("maxRatio", json!(null), Some(json!({"max_ratio_enabled": false}))),
            (
                "maxRatio",
                json!(1),
                Some(json!({"max_ratio_enabled": true, "max_ratio": 1.0})),
            ),
            ("encryption", json!("off"), Some(json!({"encryption": 2}))),
            ("encryption", json!("maybe"), None),
            ("defaultSavePath", json!("relative"), None),
            ("dht", json!(false), Some(json!({"dht": false}))),
        ] {
            let known = ALL.iter().find(|known| known.name == name).expect("it is there");
            let mut written = Map::new();
            let fits = known.shape.write(known.native, &value, &mut written);
            assert_eq!(fits.then_some(Value::Object(written)), expected, "{name} {value}");
        }
    }

    #[test]
    fn limits_are_whole_units_of_the_client() {
        for (bytes, native) in [(1, 1024), (1024, 1024), (1025, 2048), (u64::MAX, MOST)] {
            assert_eq!(native_limit(bytes), native);
        }
    }
}
