//! Orders: a command of the table with its parameters, read and checked.

use qm_ports::engine::{Command, QueueMove};
use serde_json::{Map, Value};

use super::kinds::Kind;

/// A command that somebody wants for torrents.
#[derive(Clone, Debug)]
pub struct Order {
    pub kind: &'static Kind,
    pub act: Act,
}

/// Work of a command.
#[derive(Clone, Debug)]
pub enum Act {
    /// The client is told it as it is.
    Plain(Command),
    Tags(TagChange),
    RenameFile {
        index: u32,
        name: String,
    },
    RenameFolder {
        path: String,
        new_path: String,
    },
    ReplaceHost(HostChange),
    Move {
        destination: String,
    },
    /// Data that others use is kept, instead of the removal being refused.
    RemoveData {
        keep_shared: bool,
    },
}

/// Change of a torrent's tags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TagChange {
    pub add: Vec<String>,
    pub remove: Vec<String>,
    /// All the tags it has afterwards, in place of the others.
    pub set: Option<Vec<String>>,
}

/// Another host, or another address, for trackers of one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostChange {
    pub host: String,
    pub to: NewAddress,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewAddress {
    /// With its port, if it gets another one.
    Host(String),
    Url(String),
}

pub const fn queue_word(place: QueueMove) -> &'static str {
    match place {
        QueueMove::Top => "top",
        QueueMove::Up => "up",
        QueueMove::Down => "down",
        QueueMove::Bottom => "bottom",
    }
}

impl Order {
    /// Facts for the audit that the command itself does not tell. Addresses of trackers are left out: they hold keys.
    pub fn facts(&self) -> Map<String, Value> {
        let mut facts = Map::new();
        let mut put = |name: &str, value: Value| drop(facts.insert(name.to_owned(), value));
        match &self.act {
            Act::Plain(Command::ForceStart(on)) => put("on", (*on).into()),
            Act::Plain(Command::Queue(place)) => put("position", queue_word(*place).into()),
            Act::Plain(Command::Priority(priority)) => put("priority", (*priority).into()),
            Act::Plain(_) => {}
            Act::Tags(change) => {
                for (name, tags) in [("addedTags", &change.add), ("removedTags", &change.remove)] {
                    if !tags.is_empty() {
                        put(name, tags.as_slice().into());
                    }
                }
                if let Some(tags) = &change.set {
                    put("tags", tags.as_slice().into());
                }
            }
            Act::RenameFile { index, name } => {
                put("fileIndex", (*index).into());
                put("newName", name.as_str().into());
            }
            Act::RenameFolder { path, new_path } => {
                put("oldPath", path.as_str().into());
                put("newPath", new_path.as_str().into());
            }
            Act::ReplaceHost(change) => {
                put("change", "replaced".into());
                put("host", change.host.as_str().into());
                if let NewAddress::Host(host) = &change.to {
                    put("newHost", host.as_str().into());
                }
            }
            Act::Move { destination } => put("destination", destination.as_str().into()),
            Act::RemoveData { keep_shared } => {
                if *keep_shared {
                    put("keepShared", true.into());
                }
            }
        }
        facts
    }
}
