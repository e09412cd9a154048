//! A media server as it is connected, and its configuration as it is shown and changed.

use qm_kernel::Timestamp;
use qm_kernel::secret::{MASK, is_mask};
use qm_platform::config_schema::{holds_secret, is_secret};
use qm_platform::origins::unmasked;
use qm_ports::media_server::ServerAbout;
use serde_json::{Map, Value};

/// Media servers that are kept.
pub const MAX_INTEGRATIONS: u64 = 100;
pub const MAX_NAME: usize = 120;
pub const MAX_KIND: usize = 64;
/// Bytes of a configuration.
pub const MAX_CONFIG: usize = 16 << 10;
/// Time limit on what a server is asked, in milliseconds.
pub const TIMEOUT_MS: u32 = 8000;

/// Names that are secrets whatever a schema says.
pub const SECRETS: [&str; 3] = ["token", "apiKey", "password"];
/// Names that are none, also while the plugin of a kind is not installed.
pub const PLAIN: [&str; 4] = ["baseUrl", "url", "username", "librarySectionId"];

/// How a server answered last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    #[default]
    Unknown,
    Online,
    Offline,
}

impl Status {
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Unknown => "unknown",
            Status::Online => "online",
            Status::Offline => "offline",
        }
    }

    /// A word that is none of them counts as never asked.
    pub fn named(word: &str) -> Self {
        match word {
            "online" => Status::Online,
            "offline" => Status::Offline,
            _ => Status::Unknown,
        }
    }
}

/// A media server; its configuration as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Integration {
    pub id: String,
    pub name: String,
    /// Id of the product.
    pub kind: String,
    pub is_enabled: bool,
    /// Sealed: a JSON object.
    pub config: String,
    pub status: Status,
    pub last_refresh_at: Option<Timestamp>,
    pub last_health_check_at: Option<Timestamp>,
    /// What it said of itself when it answered last.
    pub server_version: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// What is to be different; what is `None` stays.
#[derive(Default)]
pub struct Change {
    pub name: Option<String>,
    pub kind: Option<String>,
    pub is_enabled: Option<bool>,
    pub config: Option<Map<String, Value>>,
}

/// A media server, and what of its configuration may be shown.
pub struct Shown {
    pub integration: Integration,
    pub config: Map<String, Value>,
    /// Secrets to enter again, because the address changed.
    pub wanted: Vec<String>,
}

/// How a test went: what the server said of itself, or why not.
pub struct Outcome {
    pub name: String,
    pub answer: Result<ServerAbout, String>,
}

/// A configuration without its secrets: each that is set is a mask, and so is whatever nobody knows to be none.
pub fn shown(schema: Option<&Value>, config: &Map<String, Value>) -> Map<String, Value> {
    let properties = schema.and_then(|schema| schema.get("properties"));
    let hide = |(name, value): (&String, &Value)| {
        let property = properties.and_then(|properties| properties.get(name));
        (name.clone(), shown_value(name, property, value))
    };
    config.iter().map(hide).collect()
}

fn shown_value(name: &str, property: Option<&Value>, value: &Value) -> Value {
    let is_blank = value.as_str().is_some_and(str::is_empty);
    let is_plain = match property {
        _ if SECRETS.contains(&name) || value.as_str().is_some_and(|text| names_somebody(name, text)) => {
            false
        }
        Some(property) => !is_secret(name, property) && !holds_secret(name, property) && !value.is_object(),
        None => PLAIN.contains(&name) && !value.is_object() && !value.is_array(),
    };
    if is_blank || is_plain {
        value.clone()
    } else {
        MASK.into()
    }
}

/// Whether a URL holds a user name or a password. It is shown as it is, so none may.
pub fn names_somebody(name: &str, text: &str) -> bool {
    let rest = text.split_once("://").map(|(_, rest)| rest);
    let is_url = rest.is_some() || matches!(name, "baseUrl" | "url");
    let authority = rest.unwrap_or(text).split(['/', '?', '#', '\\']).next();
    is_url && authority.is_some_and(|authority| authority.contains('@'))
}

/// Puts what was sent over what is stored: null takes a property away, what is only a mask keeps it.
pub fn changed(stored: &Map<String, Value>, sent: Map<String, Value>) -> Map<String, Value> {
    let mut new = stored.clone();
    for (name, value) in sent {
        match value {
            Value::Null => {
                new.remove(&name);
            }
            Value::String(text) if is_mask(text.trim()) => {}
            value => {
                let value = unmasked(value, stored.get(&name));
                new.insert(name, value);
            }
        }
    }
    new
}

/// A configuration as plugins take it: `url` is an older name of `baseUrl`.
pub fn handed_on(mut stored: Map<String, Value>) -> Map<String, Value> {
    let is_given = |value: Option<&Value>| {
        value
            .and_then(Value::as_str)
            .is_some_and(|text| !text.trim().is_empty())
    };
    if let Some(url) = stored.remove("url")
        && !is_given(stored.get("baseUrl"))
    {
        stored.insert("baseUrl".to_owned(), url);
    }
    stored
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn secrets_are_masked_and_what_is_unknown_too() {
        let schema = json!({"properties": {"baseUrl": {}, "pin": {"writeOnly": true}, "page": {}}});
        let config = map(json!({
            "baseUrl": "http://h", "token": "t", "apiKey": "", "pin": 7, "page": 2, "odd": "x", "librarySectionId": "2",
        }));
        let wanted = json!({
            "baseUrl": "http://h", "token": MASK, "apiKey": "", "pin": MASK, "page": 2, "odd": MASK, "librarySectionId": "2",
        });
        assert_eq!(Value::from(shown(Some(&schema), &config)), wanted);
        let wanted = json!({"baseUrl": "http://h", "page": MASK});
        let config = map(json!({"baseUrl": "http://h", "page": 2}));
        assert_eq!(Value::from(shown(None, &config)), wanted);
    }

    #[test]
    fn urls_that_name_somebody_are_told() {
        for (name, text, names) in [
            ("baseUrl", "http://jo:secret@den:32400/", true),
            ("url", "jo@den", true),
            ("other", "https://@den", true),
            ("baseUrl", "http://den/@jo?to=a@b", false),
            ("other", "jo@example.org", false),
            ("baseUrl", "", false),
        ] {
            assert_eq!(names_somebody(name, text), names, "{name} {text}");
        }
        let config = map(json!({"baseUrl": "http://jo:secret@den"}));
        assert_eq!(Value::from(shown(None, &config)), json!({"baseUrl": MASK}));
    }

    #[test]
    fn what_is_sent_goes_over_what_is_stored() {
        let stored = map(json!({"token": "t", "librarySectionId": "2", "odd": 1}));
        let sent = map(json!({"token": "••••", "librarySectionId": null, "password": "•"}));
        assert_eq!(
            Value::from(changed(&stored, sent)),
            json!({"token": "t", "odd": 1})
        );
    }

    #[test]
    fn an_older_name_of_the_address_is_read() {
        let of = |value| Value::from(handed_on(map(value)));
        assert_eq!(of(json!({"url": "a"})), json!({"baseUrl": "a"}));
        assert_eq!(of(json!({"url": "a", "baseUrl": "b"})), json!({"baseUrl": "b"}));
        assert_eq!(of(json!({"url": "a", "baseUrl": " "})), json!({"baseUrl": "a"}));
    }
}
