//! Table of all commands.
//!
//! Permissions are those that stood before there was the command. By what it touches: names and marks of torrents
//! `torrents.rename`; files `torrents.manage_files`; where data lies, also by the category, `torrents.move`; trackers
//! `torrents.manage_trackers`; rates, places in the queue and the way of seeding `torrents.manage_limits`.

use qm_engines::model::abilities::{self as can, Ability};
use qm_kernel::Permission as P;
use qm_ports::engine::Command as C;
use serde_json::{Map, Value};

use super::act::{Act, HostChange, NewAddress, Order, TagChange};
use super::params::{Fault, Param, Params};

/// A command.
#[derive(Debug)]
pub struct Kind {
    /// Word in a bulk.
    pub name: &'static str,
    /// Action of the audit row of a bulk.
    pub audited_as: &'static str,
    /// Action of rules; none where a plugin has it.
    pub rule: Option<RuleAction>,
    pub permission: P,
    /// Ability that a client needs; none: every client can.
    pub ability: Option<&'static Ability>,
    pub params: &'static [Param],
    read: fn(&Params) -> Result<Act, Fault>,
}

/// A command as an action of rules.
#[derive(Debug)]
pub struct RuleAction {
    pub id: &'static str,
    pub label: &'static str,
    /// Running it twice does no more than once.
    pub is_idempotent: bool,
}

const fn once(id: &'static str, label: &'static str) -> RuleAction {
    RuleAction {
        id,
        label,
        is_idempotent: true,
    }
}

const fn each_time(id: &'static str, label: &'static str) -> RuleAction {
    RuleAction {
        id,
        label,
        is_idempotent: false,
    }
}

/// Makes the table; the words of a bulk and of its audit are one.
macro_rules! kinds {
    ($($name:literal, $rule:expr, $permission:expr, $ability:expr, [$($param:ident),*], $read:expr;)+) => {
        pub static KINDS: &[Kind] = &[$(Kind {
            name: $name,
            audited_as: concat!("torrents.bulk.", $name),
            rule: $rule,
            permission: $permission,
            ability: $ability,
            params: &[$(Param::$param),*],
            read: $read,
        }),+];

        /// Words of all commands, in the order of the table.
        pub const NAMES: &[&str] = &[$($name),+];
    };
}

kinds! {
    "start", Some(once("start", "Start")), P::TorrentsStart, None, [], |_| Ok(Act::Plain(C::Start));
    "stop", None, P::TorrentsStop, None, [], |_| Ok(Act::Plain(C::Stop));
    "pause", None, P::TorrentsPause, None, [], |_| Ok(Act::Plain(C::Pause));
    "resume", Some(once("resume", "Resume")), P::TorrentsResume, None, [], |_| Ok(Act::Plain(C::Resume));
    "recheck", Some(once("recheck", "Verify the data")), P::TorrentsRecheck, None, [], |_| Ok(Act::Plain(C::Recheck));
    "remove", None, P::TorrentsDelete, None, [], |_| Ok(Act::Plain(C::Remove { with_data: false }));
    "removeData", None, P::TorrentsDeleteData, None, [], |_| Ok(Act::RemoveData { keep_shared: false });
    "forceStart", Some(once("force_start", "Force the start, or no longer")), P::TorrentsStart, None, [Enabled],
        |params| Ok(Act::Plain(C::ForceStart(params.enabled()?)));
    "reannounce", Some(once("reannounce", "Announce to the trackers")), P::TorrentsManageTrackers, Some(&can::REANNOUNCE), [],
        |_| Ok(Act::Plain(C::Reannounce));
    "setCategory", Some(once("set_category", "Set the category")), P::TorrentsMove, None, [Category],
        |params| Ok(Act::Plain(C::SetLabel { label: params.category()? }));
    "addTags", Some(once("add_tags", "Add tags")), P::TorrentsRename, None, [Tags],
        |params| Ok(Act::Tags(TagChange { add: params.some_tags()?, ..TagChange::default() }));
    "removeTags", Some(once("remove_tags", "Take tags away")), P::TorrentsRename, None, [Tags],
        |params| Ok(Act::Tags(TagChange { remove: params.some_tags()?, ..TagChange::default() }));
    "setTags", Some(once("set_tags", "Replace all tags")), P::TorrentsRename, None, [Tags],
        |params| Ok(Act::Tags(TagChange { set: Some(params.tags()?), ..TagChange::default() }));
    "queue", Some(each_time("set_queue_position", "Change the place in the queue")), P::TorrentsManageLimits, Some(&can::QUEUE), [Position],
        |params| Ok(Act::Plain(C::Queue(params.position()?)));
    "priority", Some(once("set_priority", "Set the priority")), P::TorrentsManageLimits, None, [Priority],
        |params| Ok(Act::Plain(C::Priority(params.priority(3)?)));
    "sequential", Some(once("set_sequential", "Download in order, or not")), P::TorrentsManageFiles, Some(&can::SEQUENTIAL), [Enabled],
        |params| Ok(Act::Plain(C::Sequential(params.enabled()?)));
    "firstLastPiece", Some(once("set_first_last_piece", "Download first and last pieces first, or not")), P::TorrentsManageFiles,
        Some(&can::FIRST_LAST), [Enabled], |params| Ok(Act::Plain(C::FirstLastPiece(params.enabled()?)));
    "superSeeding", Some(once("set_super_seeding", "Super-seed, or not")), P::TorrentsManageLimits, Some(&can::SUPER_SEEDING), [Enabled],
        |params| Ok(Act::Plain(C::SuperSeeding(params.enabled()?)));
    "autoManage", Some(once("set_auto_manage", "Let the category choose the paths, or not")), P::TorrentsMove, None,
        [Enabled], |params| Ok(Act::Plain(C::AutoManage(params.enabled()?)));
    "downloadPath", Some(once("set_download_path", "Set the directory of incomplete data")), P::TorrentsMove, Some(&can::DOWNLOAD_PATH),
        [DownloadPath], |params| Ok(Act::Plain(C::DownloadPath(params.download_path()?)));
    "move", None, P::TorrentsMove, None, [Destination],
        |params| Ok(Act::Move { destination: params.destination()? });
    "rename", Some(once("rename_torrent", "Rename")), P::TorrentsRename, Some(&can::RENAME), [Name],
        |params| Ok(Act::Plain(C::Rename { name: params.torrent_name()? }));
    "renameFile", Some(once("rename_file", "Rename a file")), P::TorrentsManageFiles, Some(&can::RENAME_FILE), [FileIndex, Name],
        |params| Ok(Act::RenameFile { index: params.file_index()?, name: params.file_name()? });
    "renameFolder", Some(each_time("rename_folder", "Rename a folder")), P::TorrentsManageFiles, Some(&can::RENAME_FOLDER), [Path, NewPath],
        |params| params.folders().map(|(path, new_path)| Act::RenameFolder { path, new_path });
    "filePriority", Some(once("set_file_priority", "Set the priority of a file")), P::TorrentsManageFiles, None, [FileIndex, Priority],
        |params| Ok(Act::Plain(C::FilePriority { indexes: vec![params.file_index()?], priority: params.priority(2)? }));
    "uploadLimit", Some(once("limit_upload", "Limit the upload rate")), P::TorrentsManageLimits, None, [BytesPerSec],
        |params| Ok(Act::Plain(C::UploadLimit(params.bytes_per_sec()?)));
    "downloadLimit", Some(once("limit_download", "Limit the download rate")), P::TorrentsManageLimits, None, [BytesPerSec],
        |params| Ok(Act::Plain(C::DownloadLimit(params.bytes_per_sec()?)));
    "addTracker", Some(once("add_tracker", "Add a tracker")), P::TorrentsManageTrackers, None, [Url],
        |params| Ok(Act::Plain(C::AddTracker { url: params.url()? }));
    "removeTracker", Some(each_time("remove_tracker", "Remove a tracker")), P::TorrentsManageTrackers, None, [Url],
        |params| Ok(Act::Plain(C::RemoveTracker { url: params.url()? }));
    "replaceTracker", Some(each_time("replace_tracker", "Replace a tracker")), P::TorrentsManageTrackers, Some(&can::REPLACE_TRACKER),
        [Url, NewUrl], |params| Ok(Act::Plain(C::ReplaceTracker { old_url: params.url()?, new_url: params.new_url()? }));
    "replaceTrackerHost", Some(each_time("replace_tracker_host", "Replace the trackers of a host")), P::TorrentsManageTrackers,
        Some(&can::REPLACE_TRACKER), [Host, NewHost, NewUrl], read_host_change;
    "banPeers", Some(once("ban_peers", "Ban peers")), P::TorrentsManageLimits, Some(&can::BAN_PEERS), [Peers],
        |params| Ok(Act::Plain(C::BanPeers { peers: params.peers()? }));
}

fn read_host_change(params: &Params) -> Result<Act, Fault> {
    let to = match (&params.new_host, &params.new_url) {
        (Some(_), None) => NewAddress::Host(params.new_host()?),
        (None, Some(_)) => NewAddress::Url(params.new_url()?),
        _ => return Err(Fault::Value("give newHost or newUrl, one of them".to_owned())),
    };
    let host = params.host()?;
    Ok(Act::ReplaceHost(HostChange { host, to }))
}

/// Command that replaces the trackers of a host, and may be meant for all torrents that have one of it.
pub const REPLACE_HOST: &str = "replaceTrackerHost";

/// Commands of requests that know no jobs.
pub const FIRST: usize = 7;

impl Kind {
    pub fn from_name(name: &str) -> Option<&'static Kind> {
        KINDS.iter().find(|kind| kind.name == name)
    }

    pub fn from_rule(id: &str) -> Option<&'static Kind> {
        KINDS
            .iter()
            .find(|kind| kind.rule.as_ref().is_some_and(|rule| rule.id == id))
    }

    /// The order that these parameters make.
    pub fn order(&'static self, params: &Params) -> Result<Order, Fault> {
        let act = (self.read)(params)?;
        Ok(Order { kind: self, act })
    }

    /// As [`Kind::order`], of parameters as they were sent.
    pub fn read_order(&'static self, given: &Map<String, Value>) -> Result<Order, Fault> {
        self.order(&Params::read(given, self.name, self.params)?)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    fn read(name: &str, params: Value) -> Result<Act, Fault> {
        let kind = Kind::from_name(name).expect("a command");
        kind.read_order(params.as_object().expect("an object"))
            .map(|order| order.act)
    }

    #[test]
    fn words_are_told_apart_and_stand_in_their_order() {
        assert_eq!(KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>(), NAMES);
        assert_eq!(NAMES.iter().collect::<BTreeSet<_>>().len(), NAMES.len());
        let ids: Vec<&str> = KINDS
            .iter()
            .filter_map(|kind| kind.rule.as_ref())
            .map(|rule| rule.id)
            .collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
        // Those of a plugin keep their meaning.
        for taken in ["move", "pause", "stop", "delete", "delete_with_data"] {
            assert!(!ids.contains(&taken), "{taken}");
        }
        assert!(Kind::from_name(REPLACE_HOST).is_some());
    }

    /// The commands that stood before there was a table.
    #[test]
    fn the_first_commands_are_as_they_were() {
        let first = [
            "start",
            "stop",
            "pause",
            "resume",
            "recheck",
            "remove",
            "removeData",
        ];
        assert_eq!(NAMES[..FIRST], first);
        for kind in &KINDS[..FIRST] {
            assert!(kind.params.is_empty() && kind.ability.is_none(), "{}", kind.name);
            assert_eq!(kind.audited_as, format!("torrents.bulk.{}", kind.name));
        }
    }

    #[test]
    fn every_command_is_made_of_its_parameters() {
        let given = json!({
            "category": "films", "tags": "a, b", "enabled": true, "position": "up", "priority": 1, "bytesPerSec": 0, "fileIndex": 0,
            "name": "n", "path": "a", "newPath": "b", "downloadPath": "/d", "destination": "/d", "url": "udp://t:1", "newUrl": "udp://u:1",
            "host": "t", "peers": ["1.2.3.4:5"],
        });
        for kind in KINDS {
            let params = kind.params.iter().filter(|param| **param != Param::NewHost);
            let params: Map<String, Value> = params
                .map(|param| (param.name().to_owned(), given[param.name()].clone()))
                .collect();
            assert!(kind.read_order(&params).is_ok(), "{}", kind.name);
            let schema = Param::schema_of(kind.params);
            for name in schema["required"].as_array().into_iter().flatten() {
                let mut fewer = params.clone();
                fewer.remove(name.as_str().expect("a name"));
                let refused = kind.read_order(&fewer).expect_err(kind.name);
                assert_eq!(
                    refused,
                    Fault::Value(format!("{} is required", name.as_str().unwrap())),
                    "{}",
                    kind.name
                );
            }
            let mut more = params.clone();
            more.insert("mood".to_owned(), 1.into());
            let refused = kind.read_order(&more);
            assert!(
                matches!(refused, Err(Fault::Value(why)) if why.contains("\"mood\"")),
                "{}",
                kind.name
            );
        }
    }

    #[test]
    fn bad_values_are_refused_by_name() {
        for (name, params, part) in [
            ("setCategory", json!({ "category": "a/../b" }), "category"),
            ("setCategory", json!({ "category": "a\nb" }), "category"),
            ("setCategory", json!({ "category": "x".repeat(501) }), "category"),
            ("setCategory", json!({ "category": 7 }), "cannot be read"),
            ("addTags", json!({ "tags": [" ", ","] }), "tags"),
            ("addTags", json!({ "tags": ["x".repeat(201)] }), "200"),
            (
                "setTags",
                json!({ "tags": (0..101).map(|n| n.to_string()).collect::<Vec<_>>() }),
                "100",
            ),
            ("queue", json!({ "position": "first" }), "position"),
            ("priority", json!({ "priority": 4 }), "priority"),
            (
                "filePriority",
                json!({ "fileIndex": 0, "priority": 3 }),
                "priority",
            ),
            ("uploadLimit", json!({ "bytesPerSec": -1 }), "cannot be read"),
            ("addTracker", json!({ "url": "wss://t" }), "Tracker URL"),
            ("replaceTrackerHost", json!({ "host": "t" }), "newHost or newUrl"),
            (
                "replaceTrackerHost",
                json!({ "host": "t", "newHost": "u", "newUrl": "udp://u" }),
                "newHost or newUrl",
            ),
            (
                "replaceTrackerHost",
                json!({ "host": "t/x", "newHost": "u" }),
                "host",
            ),
            ("banPeers", json!({ "peers": [] }), "peers"),
            ("banPeers", json!({ "peers": ["1.2.3.4"] }), "port"),
            ("renameFolder", json!({ "path": "a", "newPath": "a" }), "differ"),
        ] {
            let refused = read(name, params.clone());
            assert!(
                matches!(&refused, Err(Fault::Value(why)) if why.contains(part)),
                "{name} {params}: {refused:?}"
            );
        }
        for (name, params) in [
            ("renameFile", json!({ "fileIndex": 0, "name": "../x" })),
            ("renameFolder", json!({ "path": "a", "newPath": "/etc" })),
        ] {
            assert!(matches!(read(name, params), Err(Fault::Name(_))), "{name}");
        }
    }
}
