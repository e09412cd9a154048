//! Parameters of commands, as a bulk and the actions of rules name them.

use qm_engines::model::paths::{check_category, check_label};
use qm_ports::engine::QueueMove;
use qm_ports::placeholders;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::addresses::{is_host, is_tracker};
use super::names::check_path;

/// Letters of a category, and of a name of a torrent.
const LONGEST_CATEGORY: usize = 500;
const LONGEST_NAME: usize = 255;
/// Letters of a tag, and tags of one order.
const LONGEST_TAG: usize = 200;
const MOST_TAGS: usize = 100;
/// Letters of a directory.
const LONGEST_DIRECTORY: usize = 4_096;
/// Peers of one order.
const MOST_PEERS: usize = 100;

/// Reason why parameters make no order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A value is missing, or none that is possible.
    Value(String),
    /// The name of a file or folder.
    Name(String),
}

/// A parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Param {
    Category,
    Tags,
    Enabled,
    Position,
    Priority,
    BytesPerSec,
    FileIndex,
    Name,
    Path,
    NewPath,
    DownloadPath,
    Destination,
    Url,
    NewUrl,
    Host,
    NewHost,
    Peers,
}

impl Param {
    pub const fn name(self) -> &'static str {
        match self {
            Param::Category => "category",
            Param::Tags => "tags",
            Param::Enabled => "enabled",
            Param::Position => "position",
            Param::Priority => "priority",
            Param::BytesPerSec => "bytesPerSec",
            Param::FileIndex => "fileIndex",
            Param::Name => "name",
            Param::Path => "path",
            Param::NewPath => "newPath",
            Param::DownloadPath => "downloadPath",
            Param::Destination => "destination",
            Param::Url => "url",
            Param::NewUrl => "newUrl",
            Param::Host => "host",
            Param::NewHost => "newHost",
            Param::Peers => "peers",
        }
    }

    /// False for one that may be left out.
    const fn is_required(self) -> bool {
        !matches!(self, Param::DownloadPath | Param::NewUrl | Param::NewHost)
    }

    /// True for a text whose placeholders a rule fills, each with one name.
    pub const fn has_placeholders(self) -> bool {
        matches!(
            self,
            Param::Category | Param::Tags | Param::DownloadPath | Param::Name
        )
    }

    /// JSON Schema of the parameter in a rule.
    fn schema(self) -> Value {
        let text = |title: &str| json!({ "type": "string", "title": title });
        let mut schema = match self {
            Param::Category => text("Category; empty takes it away"),
            Param::Tags => text("Tags, with commas between"),
            Param::Enabled => json!({ "type": "boolean", "title": "On or off" }),
            Param::Position => {
                json!({ "type": "string", "title": "Place in the queue", "enum": ["top", "up", "down", "bottom"] })
            }
            Param::Priority => json!({ "type": "integer", "title": "Priority", "minimum": 0, "maximum": 3 }),
            Param::BytesPerSec => {
                json!({ "type": "integer", "title": "Bytes per second; 0: no limit", "minimum": 0 })
            }
            Param::FileIndex => {
                json!({ "type": "integer", "title": "Number of the file, from 0", "minimum": 0 })
            }
            Param::Name => text("New name"),
            Param::Path => text("Path of the folder in the torrent"),
            Param::NewPath => text("Its new path"),
            Param::DownloadPath => text("Directory of incomplete data; empty: that of complete data"),
            Param::Destination => text("Directory"),
            Param::Url => text("Address of the tracker"),
            Param::NewUrl => text("Address instead of it"),
            Param::Host => text("Host of the trackers, with a port if only that is meant"),
            Param::NewHost => text("Host instead of it; the rest of the address stays"),
            Param::Peers => json!({
                "type": "array", "title": "Peers, each with its port", "items": { "type": "string" }, "maxItems": MOST_PEERS,
            }),
        };
        if self.has_placeholders() {
            schema[placeholders::MARK] = true.into();
        }
        schema
    }

    /// JSON Schema of several parameters.
    pub fn schema_of(params: &[Param]) -> Value {
        let properties = params
            .iter()
            .map(|param| (param.name().to_owned(), param.schema()));
        let required: Vec<&str> = params
            .iter()
            .filter(|param| param.is_required())
            .map(|param| param.name())
            .collect();
        let mut schema = json!({
            "type": "object",
            "properties": properties.collect::<Map<String, Value>>(),
            "additionalProperties": false,
        });
        if !required.is_empty() {
            schema["required"] = required.into();
        }
        schema
    }
}

/// Several texts: a list, or one text with commas.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Texts {
    Many(Vec<String>),
    One(String),
}

/// Parameters as they were given.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Params {
    pub category: Option<String>,
    pub tags: Option<Texts>,
    pub enabled: Option<bool>,
    pub position: Option<String>,
    pub priority: Option<u8>,
    pub bytes_per_sec: Option<u64>,
    pub file_index: Option<u32>,
    pub name: Option<String>,
    pub path: Option<String>,
    pub new_path: Option<String>,
    pub download_path: Option<String>,
    pub destination: Option<String>,
    pub url: Option<String>,
    pub new_url: Option<String>,
    pub host: Option<String>,
    pub new_host: Option<String>,
    pub peers: Option<Vec<String>>,
}

fn refuse<T>(text: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Value(text.into()))
}

fn required<T: Clone>(value: Option<&T>, param: Param) -> Result<T, Fault> {
    value
        .cloned()
        .map_or_else(|| refuse(format!("{} is required", param.name())), Ok)
}

fn bounded(text: String, param: Param, most: usize) -> Result<String, Fault> {
    if text.chars().count() > most {
        return refuse(format!(
            "{} must be shorter than or equal to {most} characters",
            param.name()
        ));
    }
    Ok(text)
}

/// Tags as they are stored, each once; blank ones are none.
pub fn read_tags(given: &[String]) -> Result<Vec<String>, Fault> {
    let mut tags: Vec<String> = Vec::new();
    let texts = given.iter().flat_map(|text| text.split(',')).map(str::trim);
    for tag in texts.filter(|tag| !tag.is_empty()) {
        if tags.iter().any(|known| known == tag) {
            continue;
        }
        check_label(tag, "tag").map_err(|error| Fault::Value(error.to_string()))?;
        if tag.chars().count() > LONGEST_TAG {
            return refuse(format!("a tag has {LONGEST_TAG} characters at most"));
        }
        if tags.len() == MOST_TAGS {
            return refuse(format!("a torrent has {MOST_TAGS} tags at most"));
        }
        tags.push(tag.to_owned());
    }
    Ok(tags)
}

impl Params {
    /// Reads the parameters of a command, which takes `known`.
    pub fn read(given: &Map<String, Value>, of: &str, known: &[Param]) -> Result<Self, Fault> {
        let is_known = |name: &String| known.iter().any(|param| param.name() == name);
        if let Some(stranger) = given.keys().find(|name| !is_known(name)) {
            let names: Vec<&str> = known.iter().map(|param| param.name()).collect();
            let names = match names.as_slice() {
                [] => "it takes none".to_owned(),
                names => format!("it takes {}", names.join(", ")),
            };
            let stranger: String = stranger.chars().take(40).collect();
            return refuse(format!("The command {of} has no parameter {stranger:?}: {names}"));
        }
        Self::deserialize(Value::Object(given.clone())).map_err(|error| {
            Fault::Value(format!(
                "The parameters of the command {of} cannot be read: {error}"
            ))
        })
    }

    pub fn category(&self) -> Result<String, Fault> {
        let category = required(self.category.as_ref(), Param::Category)?
            .trim()
            .to_owned();
        check_category(&category).map_err(|error| Fault::Value(error.to_string()))?;
        // Clients make a directory of it.
        if category.split('/').any(|part| matches!(part, "." | "..")) || category.contains('\\') {
            return refuse("category must not contain `.` or `..` between slashes, nor backslashes");
        }
        bounded(category, Param::Category, LONGEST_CATEGORY)
    }

    pub fn tags(&self) -> Result<Vec<String>, Fault> {
        match required(self.tags.as_ref(), Param::Tags)? {
            Texts::Many(tags) => read_tags(&tags),
            Texts::One(tags) => read_tags(&[tags]),
        }
    }

    /// Tags of a change, which needs one at least.
    pub fn some_tags(&self) -> Result<Vec<String>, Fault> {
        let tags = self.tags()?;
        if tags.is_empty() {
            refuse("tags must name one at least")
        } else {
            Ok(tags)
        }
    }

    pub fn enabled(&self) -> Result<bool, Fault> {
        required(self.enabled.as_ref(), Param::Enabled)
    }

    pub fn position(&self) -> Result<QueueMove, Fault> {
        Ok(
            match required(self.position.as_ref(), Param::Position)?.as_str() {
                "top" => QueueMove::Top,
                "up" => QueueMove::Up,
                "down" => QueueMove::Down,
                "bottom" => QueueMove::Bottom,
                _ => return refuse("position must be one of the following values: top, up, down, bottom"),
            },
        )
    }

    pub fn priority(&self, most: u8) -> Result<u8, Fault> {
        let priority = required(self.priority.as_ref(), Param::Priority)?;
        if priority > most {
            return refuse(format!("priority must not be greater than {most}"));
        }
        Ok(priority)
    }

    pub fn bytes_per_sec(&self) -> Result<u64, Fault> {
        required(self.bytes_per_sec.as_ref(), Param::BytesPerSec)
    }

    pub fn file_index(&self) -> Result<u32, Fault> {
        required(self.file_index.as_ref(), Param::FileIndex)
    }

    pub fn torrent_name(&self) -> Result<String, Fault> {
        let name = required(self.name.as_ref(), Param::Name)?;
        if name.is_empty() {
            return refuse("name must not be empty");
        }
        bounded(name, Param::Name, LONGEST_NAME)
    }

    /// The new name of a file, or its path.
    pub fn file_name(&self) -> Result<String, Fault> {
        let name = required(self.name.as_ref(), Param::Name)?;
        check_path("name", &name).map_err(Fault::Name)?;
        Ok(name)
    }

    /// The path of a folder, and its new one.
    pub fn folders(&self) -> Result<(String, String), Fault> {
        let path = required(self.path.as_ref(), Param::Path)?;
        let new_path = required(self.new_path.as_ref(), Param::NewPath)?;
        check_path("path", &path).map_err(Fault::Name)?;
        check_path("newPath", &new_path).map_err(Fault::Name)?;
        if path == new_path {
            return refuse("newPath must differ from path");
        }
        Ok((path, new_path))
    }

    /// `None`: incomplete data lies where complete data does.
    pub fn download_path(&self) -> Result<Option<String>, Fault> {
        let path = self.download_path.clone().filter(|path| !path.trim().is_empty());
        path.map(|path| bounded(path, Param::DownloadPath, LONGEST_DIRECTORY))
            .transpose()
    }

    pub fn destination(&self) -> Result<String, Fault> {
        let destination = required(self.destination.as_ref(), Param::Destination)?;
        bounded(destination, Param::Destination, LONGEST_DIRECTORY)
    }

    pub fn url(&self) -> Result<String, Fault> {
        address(required(self.url.as_ref(), Param::Url)?)
    }

    pub fn new_url(&self) -> Result<String, Fault> {
        address(required(self.new_url.as_ref(), Param::NewUrl)?)
    }

    pub fn host(&self) -> Result<String, Fault> {
        host(required(self.host.as_ref(), Param::Host)?, Param::Host)
    }

    pub fn new_host(&self) -> Result<String, Fault> {
        host(required(self.new_host.as_ref(), Param::NewHost)?, Param::NewHost)
    }

    pub fn peers(&self) -> Result<Vec<String>, Fault> {
        let peers = required(self.peers.as_ref(), Param::Peers)?;
        if peers.is_empty() || peers.len() > MOST_PEERS {
            return refuse(format!("peers must have 1 to {MOST_PEERS} elements"));
        }
        if let Some(bad) = peers
            .iter()
            .find(|peer| peer.parse::<std::net::SocketAddr>().is_err())
        {
            let bad: String = bad.chars().take(60).collect();
            return refuse(format!(
                "peers: {bad:?} is no address with a port; an IPv6 address stands in brackets"
            ));
        }
        Ok(peers)
    }
}

fn address(url: String) -> Result<String, Fault> {
    if is_tracker(&url) {
        Ok(url)
    } else {
        refuse("Tracker URL must be http(s) or udp")
    }
}

fn host(text: String, param: Param) -> Result<String, Fault> {
    if is_host(&text) {
        Ok(text)
    } else {
        refuse(format!(
            "{} must be a host name or an address, with a port or without",
            param.name()
        ))
    }
}
