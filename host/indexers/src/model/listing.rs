//! Lenient parser of an aggregator's answers: Prowlarr's v1 API.
//!
//! Bounds: [`MAX_LISTED`] indexers per answer; the HTTP client bounds its bytes.

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::import::{Listed, origin};

/// Largest number of indexers in one answer, including those for usenet.
pub const MAX_LISTED: usize = 2000;
/// Begin of the error about a longer list.
const TOO_MANY: &str = "it lists more than";
/// Largest number of characters repeated from an aggregator's answer.
const MAX_SAID: usize = 60;
/// Kind of this aggregator in origins.
const KIND: &str = "indexer_proxy";

/// Version and name that an aggregator reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    pub version: Option<String>,
    /// Name of the program, if reported.
    pub name: Option<String>,
}

/// Parses `GET /api/v1/system/status`; `None`: not an answer of this API.
pub fn about(body: &[u8]) -> Option<About> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Wire {
        #[serde(default)]
        version: Value,
        #[serde(default)]
        app_name: Value,
    }
    let wire: Wire = serde_json::from_slice(body).ok()?;
    let text = |value: &Value| value.as_str().map(shortened);
    Some(About {
        version: text(&wire.version),
        name: text(&wire.app_name),
    })
}

/// Shortens a foreign text and removes control characters.
fn shortened(text: &str) -> String {
    let shown = text.trim().chars().filter(|letter| !letter.is_control());
    shown.take(MAX_SAID).collect()
}

/// Number of indexers in the answer of `GET /api/v1/indexer`; `None`: it is no list.
pub fn count(body: &[u8]) -> Option<u64> {
    let items: Vec<IgnoredAny> = serde_json::from_slice(body).ok()?;
    Some(items.len() as u64)
}

/// A listed indexer that cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// Its number at the aggregator, if readable.
    pub id: Option<String>,
    pub name: Option<String>,
    pub reason: String,
}

/// A parsed entry of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    Torrent(Listed),
    /// Another protocol than torrents; origin and name.
    Other {
        origin: String,
        name: String,
        protocol: String,
    },
    Unfit(Unfit),
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Wire {
    id: Value,
    name: Value,
    protocol: Value,
    enable: Value,
    priority: Value,
    definition_name: Value,
    implementation: Value,
    capabilities: Loose<Capabilities>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Capabilities {
    categories: Loose<Vec<Loose<Category>>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Category {
    id: Value,
}

/// Value that is ignored when it has an unexpected shape.
#[derive(Deserialize)]
#[serde(untagged)]
enum Loose<T> {
    Read(T),
    Odd(IgnoredAny),
}

impl<T> Default for Loose<T> {
    fn default() -> Self {
        Loose::Odd(IgnoredAny)
    }
}

impl<T> Loose<T> {
    fn read(self) -> Option<T> {
        match self {
            Loose::Read(read) => Some(read),
            Loose::Odd(_) => None,
        }
    }
}

/// List that is rejected while parsing as soon as it is too long.
struct Entries(Vec<Loose<Wire>>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bounded;
        impl<'de> Visitor<'de> for Bounded {
            type Value = Entries;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a list of indexers")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Entries, A::Error> {
                let mut all = Vec::new();
                while let Some(entry) = seq.next_element()? {
                    if all.len() == MAX_LISTED {
                        return Err(serde::de::Error::custom(TOO_MANY));
                    }
                    all.push(entry);
                }
                Ok(Entries(all))
            }
        }
        deserializer.deserialize_seq(Bounded)
    }
}

/// Parses `GET /api/v1/indexer` of the aggregator at `base`. The error is a sentence.
pub fn entries(body: &[u8], base: &str) -> Result<Vec<Entry>, String> {
    // The parser's own words are left out: they repeat the foreign text.
    let Entries(all) = serde_json::from_slice(body).map_err(|error: serde_json::Error| {
        let told = error.to_string();
        if told.contains(TOO_MANY) {
            format!("{TOO_MANY} {MAX_LISTED} indexers")
        } else {
            "its list is none of indexers".to_owned()
        }
    })?;
    let mut seen = std::collections::HashSet::new();
    let entries = all.into_iter().map(|wire| {
        let Some(wire) = wire.read() else {
            return Entry::Unfit(Unfit {
                id: None,
                name: None,
                reason: "it is no object".to_owned(),
            });
        };
        let (id, name) = (wire.id.as_u64(), wire.name.as_str().map(shortened));
        match id {
            Some(id) if !seen.insert(id) => Entry::Unfit(Unfit {
                id: Some(id.to_string()),
                name,
                reason: "its id is listed twice".to_owned(),
            }),
            _ => wire.entry(base),
        }
    });
    Ok(entries.collect())
}

impl Wire {
    fn entry(self, base: &str) -> Entry {
        let id = self.id.as_u64().map(|id| id.to_string());
        let name = self.name.as_str().map(shortened);
        let unfit = |reason: &str| {
            Entry::Unfit(Unfit {
                id: id.clone(),
                name: name.clone(),
                reason: reason.to_owned(),
            })
        };
        let Some(number) = &id else {
            return unfit("its id is no number");
        };
        let definition = [&self.definition_name, &self.implementation]
            .into_iter()
            .find_map(|value| value.as_str().filter(|text| !text.trim().is_empty()));
        let origin = origin(KIND, number, definition.unwrap_or_default());
        match self.protocol.as_str() {
            Some("torrent") => {}
            Some(other) => {
                return Entry::Other {
                    origin,
                    name: name.unwrap_or_default(),
                    protocol: shortened(other),
                };
            }
            None => return unfit("it says no protocol"),
        }
        let Some(is_enabled) = self.enable.as_bool() else {
            return unfit("it does not say whether it is enabled");
        };
        let Some(full_name) = self.name.as_str() else {
            return unfit("it has no name");
        };
        let categories = self.capabilities.read().and_then(|caps| caps.categories.read());
        let numbers = categories.into_iter().flatten().filter_map(|category| {
            let id = category.read()?.id.as_u64()?;
            u32::try_from(id).ok()
        });
        let listed = Listed {
            origin,
            name: full_name.chars().filter(|letter| !letter.is_control()).collect(),
            base_url: format!("{base}/{number}/api"),
            is_enabled,
            priority: self.priority.as_i64().unwrap_or(super::indexer::DEFAULT_PRIORITY),
            categories: numbers.collect(),
        };
        match listed.tidy() {
            Ok(listed) => Entry::Torrent(listed),
            Err(reason) => unfit(&reason),
        }
    }
}
