//! Stored settings of the link to the aggregator: a JSON object; missing or invalid members take their
//! defaults.

use qm_kernel::Timestamp;
use qm_platform::origins::{Change, Places, put_wanted, take_wanted};
use serde_json::{Map, Value};
use url::Url;

use super::indexer::{MAX_URL, Status, is_base_url};

/// Default URL at which the server reaches the aggregator.
pub const DEFAULT_INTERNAL: &str = "http://indexer-proxy:9696";
/// Default URL at which users' browsers reach it.
pub const DEFAULT_PUBLIC: &str = "http://localhost:9696";

/// Stored members by name.
pub type Stored = Map<String, Value>;

/// Link to the aggregator; its key is encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub is_enabled: bool,
    /// URL for requests of the server, without a `/` at the end.
    pub internal_url: String,
    /// URL for users' browsers, without a `/` at the end.
    pub public_url: String,
    /// Encrypted.
    pub api_key: Option<String>,
    /// Pinned certificate: a SHA-256 or PEM. `None`: the trust store of this machine.
    pub certificate: Option<String>,
    /// Names of the secrets to enter again after a change of the address.
    pub wanted: Vec<String>,
    pub checked: Checked,
}

/// Result of the last check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    pub status: Status,
    /// Reason of the failure.
    pub message: Option<String>,
    pub version: Option<String>,
    pub indexer_count: Option<u64>,
    pub at: Option<Timestamp>,
    /// URL that was checked.
    pub url: Option<String>,
}

impl Link {
    pub fn from_stored(stored: &Stored) -> Self {
        let text = |name: &str| {
            let text = stored.get(name).and_then(Value::as_str).map(str::trim);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        Self {
            is_enabled: stored.get("enabled").and_then(Value::as_bool).unwrap_or(false),
            internal_url: text("internalUrl").unwrap_or_else(|| DEFAULT_INTERNAL.to_owned()),
            public_url: text("publicUrl").unwrap_or_else(|| DEFAULT_PUBLIC.to_owned()),
            api_key: text("apiKey"),
            certificate: text("tlsCertificate"),
            wanted: take_wanted(&mut stored.clone()),
            checked: Checked {
                status: Status::named(&text("status").unwrap_or_default()),
                message: text("statusMessage"),
                version: text("version"),
                indexer_count: stored.get("indexerCount").and_then(Value::as_u64),
                at: stored
                    .get("lastCheckedAt")
                    .and_then(Value::as_i64)
                    .map(Timestamp::from_ms),
                url: text("checkedUrl"),
            },
        }
    }
}

impl Checked {
    /// Writes the link into the stored members. `null` stands for an absent value.
    pub fn put(&self, stored: &mut Stored) {
        for (name, value) in [
            ("status", Value::from(self.status.as_str())),
            ("statusMessage", self.message.clone().into()),
            ("version", self.version.clone().into()),
            ("indexerCount", self.indexer_count.into()),
            ("lastCheckedAt", self.at.map(Timestamp::ms).into()),
            ("checkedUrl", self.url.clone().into()),
        ] {
            stored.insert(name.to_owned(), value);
        }
    }
}

/// Change of the link; `None` leaves a field as it is.
#[derive(Clone, Debug, Default)]
pub struct LinkChange {
    pub is_enabled: Option<bool>,
    /// Blank: the default.
    pub internal_url: Option<String>,
    /// Blank: the default.
    pub public_url: Option<String>,
    /// Blank: what this machine trusts.
    pub certificate: Option<String>,
    /// Encrypted. The inner `None` removes the key.
    pub api_key: Option<Option<String>>,
}

impl LinkChange {
    /// Applies the change. Another URL or key discards the last check, and another origin discards the stored
    /// key.
    pub fn apply(self, stored: &mut Stored) {
        let before = Link::from_stored(stored);
        let members = [
            ("enabled", self.is_enabled.map(Value::from)),
            ("internalUrl", self.internal_url.map(Value::from)),
            ("publicUrl", self.public_url.map(Value::from)),
            ("tlsCertificate", self.certificate.map(Value::from)),
        ];
        for (name, value) in members {
            if let Some(value) = value {
                stored.insert(name.to_owned(), value);
            }
        }
        let other_key = self.api_key.is_some();
        let sent = self.api_key.clone().map(|key| ("apiKey".to_owned(), key.into()));
        match self.api_key {
            Some(Some(sealed)) => drop(stored.insert("apiKey".to_owned(), sealed.into())),
            Some(None) => drop(stored.remove("apiKey")),
            None => {}
        }
        let change = Change {
            schema: None,
            before: &Stored::from_iter(
                before
                    .api_key
                    .clone()
                    .map(|key| ("apiKey".to_owned(), key.into())),
            ),
            sent: &sent.into_iter().collect(),
            places: (
                &Places::of_url(&before.internal_url),
                &Places::of_url(&Link::from_stored(stored).internal_url),
            ),
        };
        let mut key = Stored::from_iter(stored.remove("apiKey").map(|key| ("apiKey".to_owned(), key)));
        let wanted = change.settle(&mut key, before.wanted);
        stored.extend(key);
        put_wanted(stored, &wanted);
        let after = Link::from_stored(stored);
        let moved = after.internal_url != before.internal_url || other_key;
        // A check of the new values just before they are saved stays.
        if moved && after.checked.url.as_ref() != Some(&after.internal_url) {
            Checked::default().put(stored);
        }
    }
}

/// Fault of a URL, in words that follow the field's name; `None`: it is valid.
pub fn url_fault(text: &str) -> Option<&'static str> {
    let text = text.trim();
    let Ok(url) = Url::parse(text) else {
        return Some("is no URL; write one like http://indexer-proxy:9696");
    };
    if !matches!(url.scheme(), "http" | "https") {
        Some("must begin with http:// or https://")
    } else if !url.username().is_empty() || url.password().is_some() {
        Some("must hold no user name and no password")
    } else if url.query().is_some() || url.fragment().is_some() {
        Some("must end with its path: no ? and no #")
    } else if text.len() > MAX_URL || !is_base_url(text) {
        Some("is no URL; write one like http://indexer-proxy:9696")
    } else {
        None
    }
}

/// The URL as it is stored: trimmed, without a `/` at the end.
pub fn tidy_url(text: &str) -> String {
    text.trim().trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stored(value: Value) -> Stored {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn what_is_missing_is_as_without() {
        let none = Link::from_stored(&Stored::new());
        assert_eq!(
            (
                none.is_enabled,
                none.internal_url.as_str(),
                none.public_url.as_str()
            ),
            (false, DEFAULT_INTERNAL, DEFAULT_PUBLIC)
        );
        let odd = Link::from_stored(&stored(
            json!({ "enabled": "yes", "internalUrl": " ", "apiKey": 7, "status": "?", "indexerCount": -1 }),
        ));
        assert_eq!(odd, none);
    }

    #[test]
    fn what_was_found_elsewhere_is_forgotten() {
        let found = Checked {
            status: Status::Ok,
            version: Some("1.2".to_owned()),
            url: Some("http://a".to_owned()),
            ..Checked::default()
        };
        let to = |url: &str| LinkChange {
            internal_url: Some(url.to_owned()),
            ..LinkChange::default()
        };
        let mut link = stored(json!({ "internalUrl": "http://b" }));
        found.put(&mut link);
        // It was checked before it was saved.
        to("http://a").apply(&mut link);
        assert_eq!(Link::from_stored(&link).checked.status, Status::Ok);
        LinkChange::default().apply(&mut link);
        assert_eq!(Link::from_stored(&link).checked, found);
        to("http://c").apply(&mut link);
        assert_eq!(Link::from_stored(&link).checked, Checked::default());
    }

    #[test]
    fn urls_of_the_link() {
        for good in ["http://indexer-proxy:9696", "https://10.0.0.2/prowlarr/"] {
            assert_eq!(url_fault(good), None, "{good}");
        }
        for bad in [
            "proxy",
            "ftp://proxy",
            "http://u@proxy",
            "http://:p@proxy",
            "http://proxy?x=1",
            "http://proxy/#x",
        ] {
            assert!(url_fault(bad).is_some(), "{bad}");
        }
    }
}
