//! The link to the aggregator as it is stored: an object whose members come and go, so what is missing, or makes no sense, is
//! as it is without.

use qm_kernel::Timestamp;
use qm_platform::origins::{Change, Places, put_wanted, take_wanted};
use serde_json::{Map, Value};
use url::Url;

use super::indexer::{MAX_URL, Status, is_base_url};

/// Where the aggregator is asked unless people say where.
pub const DEFAULT_INTERNAL: &str = "http://indexer-proxy:9696";
/// Where people's browsers find it unless they say where.
pub const DEFAULT_PUBLIC: &str = "http://localhost:9696";

/// The stored members, by name.
pub type Stored = Map<String, Value>;

/// The link; its key as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub is_enabled: bool,
    /// Where the server asks it. Without a `/` at the end, as the next one.
    pub internal_url: String,
    /// Where people's browsers find it.
    pub public_url: String,
    /// Sealed.
    pub api_key: Option<String>,
    /// Certificate by which it is trusted: a SHA-256, or PEM. None: what this machine trusts.
    pub certificate: Option<String>,
    /// Its key has to be entered again, because the address changed.
    pub wanted: Vec<String>,
    pub checked: Checked,
}

/// What was last found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    pub status: Status,
    /// Why it failed.
    pub message: Option<String>,
    pub version: Option<String>,
    pub indexer_count: Option<u64>,
    pub at: Option<Timestamp>,
    /// Where it was asked.
    pub url: Option<String>,
}

impl Link {
    pub fn of(stored: &Stored) -> Self {
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
    /// Puts it among the stored members. `null` stands for none.
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

/// A change: what is none stays.
#[derive(Clone, Debug, Default)]
pub struct LinkChange {
    pub is_enabled: Option<bool>,
    /// Blank: the default.
    pub internal_url: Option<String>,
    /// Blank: the default.
    pub public_url: Option<String>,
    /// Blank: what this machine trusts.
    pub certificate: Option<String>,
    /// Sealed already. The inner `None` takes it away.
    pub api_key: Option<Option<String>>,
}

impl LinkChange {
    /// Makes the change. What was found at another place, or with another key, is forgotten, and so is a key that was entered
    /// for another origin.
    pub fn apply(self, stored: &mut Stored) {
        let before = Link::of(stored);
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
                &Places::of_url(&Link::of(stored).internal_url),
            ),
        };
        let mut key = Stored::from_iter(stored.remove("apiKey").map(|key| ("apiKey".to_owned(), key)));
        let wanted = change.settle(&mut key, before.wanted);
        stored.extend(key);
        put_wanted(stored, &wanted);
        let after = Link::of(stored);
        let moved = after.internal_url != before.internal_url || other_key;
        // Whoever tries what they are about to save sees what they found.
        if moved && after.checked.url.as_ref() != Some(&after.internal_url) {
            Checked::default().put(stored);
        }
    }
}

/// What is wrong with a URL of the link, in words that follow its name.
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

/// A URL as it is stored.
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
        let none = Link::of(&Stored::new());
        assert_eq!(
            (
                none.is_enabled,
                none.internal_url.as_str(),
                none.public_url.as_str()
            ),
            (false, DEFAULT_INTERNAL, DEFAULT_PUBLIC)
        );
        let odd = Link::of(&stored(
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
        // It was tried before it was saved.
        to("http://a").apply(&mut link);
        assert_eq!(Link::of(&link).checked.status, Status::Ok);
        LinkChange::default().apply(&mut link);
        assert_eq!(Link::of(&link).checked, found);
        to("http://c").apply(&mut link);
        assert_eq!(Link::of(&link).checked, Checked::default());
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
