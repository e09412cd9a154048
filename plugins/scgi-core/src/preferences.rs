//! Preferences of rTorrent that a person may sensibly change from elsewhere. They count until it ends; its configuration file stands.

use serde_json::{Map, Value, json};

use crate::client::{Call, Client};
use crate::error::Error;
use crate::names;
use crate::relocate::directory;
use crate::wire::{Clock, Transport};
use crate::xml::Param;

#[derive(Clone, Copy)]
enum Shape {
    Flag,
    /// A whole number from this one on.
    Whole(i64),
    /// A whole number from 1 on, or null, of which rTorrent says this.
    Bound(i64),
    Directory,
}

struct Preference {
    name: &'static str,
    read: &'static str,
    write: &'static str,
    shape: Shape,
    text: &'static str,
}

/// One that is written by the name under which it is read, with `.set` behind it.
macro_rules! preference {
    ($name:literal, $native:literal, $shape:expr, $text:literal) => {
        Preference {
            name: $name,
            read: $native,
            write: concat!($native, ".set"),
            shape: $shape,
            text: $text,
        }
    };
}

const ALL: &[Preference] = &[
    preference!(
        "maxUploads",
        "throttle.max_uploads.global",
        Shape::Bound(0),
        "Upload slots of all torrents"
    ),
    preference!(
        "maxDownloads",
        "throttle.max_downloads.global",
        Shape::Bound(0),
        "Download slots of all torrents"
    ),
    preference!(
        "maxUploadsPerTorrent",
        "throttle.max_uploads",
        Shape::Whole(0),
        "Upload slots of one torrent"
    ),
    preference!(
        "minPeers",
        "throttle.min_peers.normal",
        Shape::Whole(0),
        "Peers that a torrent asks for while it downloads"
    ),
    preference!(
        "maxPeers",
        "throttle.max_peers.normal",
        Shape::Whole(1),
        "Peers of one torrent while it downloads"
    ),
    preference!(
        "minPeersSeeding",
        "throttle.min_peers.seed",
        Shape::Bound(-1),
        "Peers that a torrent asks for while it seeds; null is as while it downloads"
    ),
    preference!(
        "maxPeersSeeding",
        "throttle.max_peers.seed",
        Shape::Bound(-1),
        "Peers of one torrent while it seeds; null is as while it downloads"
    ),
    preference!(
        "peersWanted",
        "trackers.numwant",
        Shape::Bound(-1),
        "Peers asked of a tracker; null is its own choice"
    ),
    preference!("pex", "protocol.pex", Shape::Flag, "Exchange peers with peers"),
    preference!(
        "recheckOnCompletion",
        "pieces.hash.on_completion",
        Shape::Flag,
        "Check the data of a torrent that is complete"
    ),
    preference!(
        "preallocate",
        "system.file.allocate",
        Shape::Flag,
        "Take the disk space of all files at once"
    ),
    preference!(
        "defaultSavePath",
        "directory.default",
        Shape::Directory,
        "Directory of torrents without a save path"
    ),
];

impl Shape {
    fn schema(self) -> Value {
        match self {
            Shape::Flag => json!({"type": "boolean"}),
            Shape::Whole(least) => json!({"type": "integer", "minimum": least}),
            Shape::Bound(_) => json!({"type": ["integer", "null"], "minimum": 1}),
            Shape::Directory => json!({"type": "string", "x-path": "directory"}),
        }
    }

    fn read(self, native: &crate::xml::Value) -> Value {
        match self {
            Shape::Flag => (native.int() != 0).into(),
            Shape::Whole(_) => native.int().into(),
            Shape::Bound(none) if native.int() == none => Value::Null,
            Shape::Bound(_) => native.int().into(),
            Shape::Directory => names::decoded(&native.text()).into(),
        }
    }

    /// The value as a parameter of rTorrent; `None` for one that does not fit.
    fn write(self, value: &Value) -> Option<Native> {
        let number = |least: i64| {
            value
                .as_i64()
                .filter(|number| *number >= least)
                .map(Native::Number)
        };
        match self {
            Shape::Flag => value.as_bool().map(|flag| Native::Number(i64::from(flag))),
            Shape::Whole(least) => number(least),
            Shape::Bound(none) if value.is_null() => Some(Native::Number(none)),
            Shape::Bound(_) => number(1),
            Shape::Directory => {
                let path = directory(value.as_str()?).ok()?;
                Some(Native::Text(path.to_owned()))
            }
        }
    }
}

enum Native {
    Number(i64),
    Text(String),
}

impl<T: Transport, C: Clock> Client<T, C> {
    /// JSON Schema of the preferences.
    pub fn preferences_schema(&self) -> String {
        let properties: Map<String, Value> = ALL
            .iter()
            .map(|known| {
                let mut schema = known.shape.schema();
                if let Some(schema) = schema.as_object_mut() {
                    schema.insert("description".to_owned(), known.text.into());
                    schema.insert("x-group".to_owned(), find_group(known.name).into());
                }
                (known.name.to_owned(), schema)
            })
            .collect();
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "description": "Kept until rTorrent ends; its configuration file stands",
            "additionalProperties": false,
            "properties": properties,
        })
        .to_string()
    }

    /// Values of the preferences, as a JSON object. What a release does not know is left out.
    pub fn preferences(&self) -> Result<String, Error> {
        let calls: Vec<Call<'_>> = ALL.iter().map(|known| (known.read, vec!["".into()])).collect();
        let answers = self.multicall(&calls)?;
        let values: Map<String, Value> = ALL
            .iter()
            .zip(answers)
            .filter_map(|(known, answer)| Some((known.name.to_owned(), known.shape.read(&answer.ok()?))))
            .collect();
        Ok(Value::Object(values).to_string())
    }

    /// Changes the preferences that the JSON object names, and looks whether rTorrent took them.
    pub fn set_preferences(&self, changes: &str) -> Result<(), Error> {
        let changes: Map<String, Value> = serde_json::from_str(changes)
            .map_err(|_| Error::Rejected("the preferences are not a JSON object".to_owned()))?;
        let mut chosen: Vec<(&Preference, &Value, Native)> = Vec::new();
        for (name, value) in &changes {
            let known = ALL.iter().find(|known| known.name == name);
            let known =
                known.ok_or_else(|| Error::Rejected(format!("`{name}` is no preference of this client")))?;
            let native = known.shape.write(value);
            let native = native.ok_or_else(|| Error::Rejected(format!("`{name}` cannot be {value}")))?;
            chosen.push((known, value, native));
        }
        let mut calls: Vec<Call<'_>> = Vec::new();
        for (known, _, native) in &chosen {
            let native = match native {
                Native::Number(number) => Param::Int(*number),
                Native::Text(text) => Param::Text(text),
            };
            calls.push((known.write, vec!["".into(), native]));
            calls.push((known.read, vec!["".into()]));
        }
        let mut answers = self.multicall(&calls)?.into_iter();
        for (known, value, _) in &chosen {
            let set = answers.next();
            let now = match answers.next() {
                Some(now) => known.shape.read(&now?),
                None => Value::Null,
            };
            let is_same = match (&now, value) {
                (Value::String(now), Value::String(value)) => {
                    now.trim_end_matches('/') == value.trim_end_matches('/')
                }
                (now, value) => now == *value,
            };
            // With high rates it takes a number of slots and reports a fault about another one.
            match set {
                _ if is_same => {}
                Some(Err(fault)) => return Err(fault.into()),
                _ => {
                    return Err(Error::Rejected(format!(
                        "rTorrent did not take {value} for `{}`, it is {now}",
                        known.name
                    )));
                }
            }
        }
        Ok(())
    }
}

/// Group that a preference is shown in.
fn find_group(name: &str) -> &'static str {
    match name {
        "maxUploads" | "maxDownloads" | "maxUploadsPerTorrent" => "network",
        "minPeers" | "maxPeers" | "minPeersSeeding" | "maxPeersSeeding" | "peersWanted" | "pex" => "peers",
        _ => "saving",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_do_not_fit_are_refused() {
        for (shape, value, fits) in [
            (Shape::Flag, json!(true), true),
            (Shape::Flag, json!(1), false),
            (Shape::Whole(0), json!(0), true),
            (Shape::Whole(1), json!(0), false),
            (Shape::Bound(-1), json!(null), true),
            (Shape::Bound(-1), json!(0), false),
            (Shape::Bound(0), json!(1.5), false),
            (Shape::Directory, json!("/d"), true),
            (Shape::Directory, json!("d"), false),
            (Shape::Directory, json!("/d\"x"), false),
        ] {
            assert_eq!(shape.write(&value).is_some(), fits, "{value}");
        }
    }
}
