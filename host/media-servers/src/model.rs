//! A connected media server, and its configuration for display and change.

use qm_kernel::Timestamp;
use qm_kernel::secret::{MASK, is_mask};
use qm_platform::config_schema::{holds_secret, is_secret};
use qm_platform::origins::unmasked;
use qm_ports::media_server::ServerAbout;
use serde_json::{Map, Value};

/// Largest number of media servers.
pub const MAX_INTEGRATIONS: u64 = 100;
pub const MAX_NAME: usize = 120;
pub const MAX_KIND: usize = 64;
/// Largest size of a configuration in bytes.
pub const MAX_CONFIG: usize = 16 << 10;
/// Time limit of a request to a server, in milliseconds.
pub const TIMEOUT_MS: u32 = 8000;

/// Property names that are always secrets.
pub const SECRETS: [&str; 3] = ["token", "apiKey", "password"];
/// Property names that are never secrets, even without an installed plugin.
pub const PLAIN: [&str; 4] = ["baseUrl", "url", "username", "librarySectionId"];

/// Result of the last request.
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

    /// Parses the stored word; an unknown word counts as never asked.
    pub fn named(word: &str) -> Self {
        match word {
            "online" => Status::Online,
            "offline" => Status::Offline,
            _ => Status::Unknown,
        }
    }
}

/// A media server; its configuration is encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Integration {
    pub id: String,
    pub name: String,
    /// Id of the product's kind.
    pub kind: String,
    pub is_enabled: bool,
    /// Encrypted JSON object.
    pub config: String,
    pub status: Status,
    pub last_refresh_at: Option<Timestamp>,
    pub last_health_check_at: Option<Timestamp>,
    /// Version that the server reported last.
    pub server_version: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Changed fields; `None` leaves a field as it is.
#[derive(Default)]
pub struct Change {
    pub name: Option<String>,
    pub kind: Option<String>,
    pub is_enabled: Option<bool>,
    pub config: Option<Map<String, Value>>,
}

/// A media server with the part of its configuration that may be shown.
pub struct Shown {
    pub integration: Integration,
    pub config: Map<String, Value>,
    /// Secrets to enter again, because the address changed.
    pub wanted: Vec<String>,
}

/// Result of a test: the server's version and name, or the error.
pub struct Outcome {
    pub name: String,
    pub answer: Result<ServerAbout, String>,
}

/// The configuration for display: each set secret is masked, and so is every property not known to be
/// harmless.
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

/// True when a URL contains a user name or a password. Such a URL is refused, because it is shown.
pub fn names_somebody(name: &str, text: &str) -> bool {
    let rest = text.split_once("://").map(|(_, rest)| rest);
    let is_url = rest.is_some() || matches!(name, "baseUrl" | "url");
    let authority = rest.unwrap_or(text).split(['/', '?', '#', '\\']).next();
    is_url && authority.is_some_and(|authority| authority.contains('@'))
}

/// Applies changes to the stored configuration: null removes a property, a mask keeps it.
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

/// The configuration in the form of plugins: `url` is an older name of `baseUrl`.
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
