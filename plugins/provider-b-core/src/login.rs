//! The login: what it sends, the token it gives, and how that is kept between calls.
//!
//! A token is as good as the key, and `kv` encrypts nothing. So what is put there is sealed with a key that is made of the base URL,
//! the API key and the PIN: whoever has not those reads nothing, and a token is never sent elsewhere than where it came from.

use aes_gcm_siv::aead::{Aead, KeyInit};
use aes_gcm_siv::{Aes256GcmSiv, Key, Nonce};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use provider_model::Fault;
use provider_model::json::text;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::answer::other;

/// Time for which a token is used, in milliseconds: TheTVDB lets it live for a month.
const LIFE_MS: u64 = 29 * 24 * 3600 * 1000;
const MAX_KEY: usize = 256;
const MAX_TOKEN: usize = 8 << 10;

/// Credentials of the login, with the base URL they are for.
#[derive(Clone, PartialEq, Eq)]
pub struct Session {
    base: String,
    key: String,
    pin: Option<String>,
}

/// Credentials from the entered key and PIN, trimmed. They must be printable ASCII without blanks, so that the host can find
/// and hide them wherever an answer repeats them.
pub fn credentials(base: &str, key: Option<&str>, pin: Option<&str>) -> Result<Session, Fault> {
    let said = |text: Option<&str>| {
        let text = text.map(str::trim).filter(|text| !text.is_empty());
        text.map(str::to_owned)
    };
    let sound = |text: &str| text.len() <= MAX_KEY && text.bytes().all(|byte| byte.is_ascii_graphic());
    let key = said(key).ok_or_else(|| Fault::InvalidConfig("`apiKey` is missing".to_owned()))?;
    let pin = said(pin);
    if !sound(&key) {
        return Err(Fault::InvalidConfig("`apiKey` is no key of TheTVDB".to_owned()));
    }
    if !pin.as_deref().is_none_or(sound) {
        return Err(Fault::InvalidConfig(
            "`pin` is no PIN of a subscriber of TheTVDB".to_owned(),
        ));
    }
    Ok(Session {
        base: base.to_owned(),
        key,
        pin,
    })
}

impl Session {
    /// The body of the login.
    pub fn body(&self) -> Vec<u8> {
        let mut body = json!({ "apikey": self.key });
        if let Some(pin) = &self.pin {
            body["pin"] = Value::from(pin.as_str());
        }
        body.to_string().into_bytes()
    }

    fn cipher(&self) -> Aes256GcmSiv {
        let mut hash = Sha256::new();
        for part in [
            "provider_b session",
            &self.base,
            &self.key,
            self.pin.as_deref().unwrap_or_default(),
        ] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        Aes256GcmSiv::new(Key::<Aes256GcmSiv>::from_slice(&hash.finalize()))
    }
}

/// The token of an answer to the login.
pub fn bearer(document: &Value) -> Result<String, Fault> {
    let token = document.get("data").and_then(|data| text(data, "token"));
    let sound =
        |token: &String| token.len() <= MAX_TOKEN && token.bytes().all(|byte| byte.is_ascii_graphic());
    token.filter(sound).ok_or_else(|| other("a token"))
}

/// A token as it is kept; none when it cannot be sealed.
pub fn seal(session: &Session, token: &str, now_ms: u64) -> Option<String> {
    let plain = format!("{} {token}", now_ms.saturating_add(LIFE_MS));
    // The same nonce each time is what this cipher bears: two seals are alike only when what they hold is.
    let sealed = session
        .cipher()
        .encrypt(Nonce::from_slice(&[0; 12]), plain.as_bytes());
    sealed.ok().map(|bytes| STANDARD_NO_PAD.encode(bytes))
}

/// The token that was kept, while it lives and belongs to what is asked with.
pub fn open(session: &Session, kept: &str, now_ms: u64) -> Option<String> {
    let bytes = STANDARD_NO_PAD.decode(kept).ok()?;
    let plain = session
        .cipher()
        .decrypt(Nonce::from_slice(&[0; 12]), &*bytes)
        .ok()?;
    let plain = String::from_utf8(plain).ok()?;
    let (until, token) = plain.split_once(' ')?;
    let until: u64 = until.parse().ok()?;
    // One that lives longer than any was written by a clock that went wrong.
    let lives = until > now_ms && until <= now_ms.saturating_add(LIFE_MS);
    lives.then(|| token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session_for(base: &str, key: &str, pin: Option<&str>) -> Session {
        credentials(base, Some(key), pin).unwrap()
    }

    #[test]
    fn what_is_kept_is_read_by_whom_it_belongs_to() {
        let session = session_for("https://h/v4", "k-1", Some("P"));
        let kept = seal(&session, "the.token.itself", 1000).unwrap();
        assert!(!kept.contains("token"));
        assert_eq!(open(&session, &kept, 1000).as_deref(), Some("the.token.itself"));
        assert_eq!(
            open(&session, &kept, 1000 + LIFE_MS - 1).as_deref(),
            Some("the.token.itself")
        );
        assert_eq!(open(&session, &kept, 1000 + LIFE_MS), None, "it has expired");
        assert_eq!(open(&session, &kept, 10), None, "the clock went back");
        for other in [
            session_for("https://h/v4", "k-2", Some("P")),
            session_for("https://h/v4", "k-1", None),
            session_for("https://h/v4", "k-1P", None),
            session_for("https://evil/v4", "k-1", Some("P")),
        ] {
            assert_eq!(open(&other, &kept, 1000), None);
        }
        for odd in ["", "!", "AAAA", &kept[1..]] {
            assert_eq!(open(&session, odd, 1000), None, "{odd}");
        }
    }

    #[test]
    fn what_people_enter() {
        let session = session_for("b", " 0123-abc ", Some("  "));
        assert_eq!(session.body(), br#"{"apikey":"0123-abc"}"#);
        assert_eq!(
            session_for("b", "k", Some("PIN1")).body(),
            br#"{"apikey":"k","pin":"PIN1"}"#
        );
        let long = "x".repeat(MAX_KEY + 1);
        for (key, pin) in [
            (None, None),
            (Some(" "), None),
            (Some("a b"), None),
            (Some("\u{e4}"), None),
            (Some(&*long), None),
            (Some("k"), Some("a\nb")),
        ] {
            assert!(
                matches!(credentials("b", key, pin), Err(Fault::InvalidConfig(_))),
                "{key:?}"
            );
        }
    }

    #[test]
    fn tokens() {
        assert_eq!(
            bearer(&json!({ "data": { "token": "a.b.c" } })).as_deref(),
            Ok("a.b.c")
        );
        let long = "x".repeat(MAX_TOKEN + 1);
        for odd in [
            json!({}),
            json!({ "data": {} }),
            json!({ "data": { "token": 7 } }),
            json!({ "data": { "token": "a\r\nb" } }),
            json!({ "data": { "token": long } }),
        ] {
            assert!(matches!(bearer(&odd), Err(Fault::Unparsable(_))));
        }
    }
}
