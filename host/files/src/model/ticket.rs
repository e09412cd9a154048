//! Media tickets: a signed leave to read one file, for players that cannot send a bearer token.
//!
//! A ticket is `B.S`: B is base64url of its JSON claims, S of the HMAC-SHA256 of B. Nothing is stored, so it outlives a
//! logout, and dies with its four hours or with the signing secret.
//! Bounds: [`MAX_TOKEN`] characters are looked at.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use qm_kernel::{Secret, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

/// How long a ticket is good for.
pub const LIFETIME: Duration = Duration::from_hours(4);
const MAX_TOKEN: usize = 4096;

/// What a ticket says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// The path it is for, relative to the roots, in the percent-encoded form of its bytes.
    #[serde(rename = "p")]
    pub path: String,
    /// The user it was issued to.
    #[serde(rename = "u", default)]
    pub user_id: String,
    /// The instant it ends, unix milliseconds.
    #[serde(rename = "x")]
    pub expires_ms: i64,
}

/// Issues and checks tickets.
#[derive(Clone)]
pub struct Tickets {
    key: Hmac<Sha256>,
}

impl Tickets {
    /// `secret` is the one that signs access tokens.
    pub fn new(secret: &Secret) -> Self {
        // HMAC takes a key of any length; the other arm is never reached.
        let key = Hmac::new_from_slice(secret.expose().as_bytes())
            .unwrap_or_else(|_| Hmac::new(&Default::default()));
        Self { key }
    }

    /// A ticket for `path`, and when it ends.
    pub fn issue(&self, path: &str, user_id: &str, now: Timestamp) -> (String, Timestamp) {
        let expires = now.plus(LIFETIME);
        let claims = Claims {
            path: path.to_owned(),
            user_id: user_id.to_owned(),
            expires_ms: expires.ms(),
        };
        // A struct of texts and a number: it always has a JSON form.
        let body = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&claims).unwrap_or_default());
        let signature = URL_SAFE_NO_PAD.encode(self.sign(&body).finalize().into_bytes());
        (format!("{body}.{signature}"), expires)
    }

    /// What a ticket says, if it is ours and still good. The signature is compared in constant time.
    pub fn verify(&self, token: &str, now: Timestamp) -> Option<Claims> {
        if token.is_empty() || token.len() > MAX_TOKEN {
            return None;
        }
        let (body, signature) = token.split_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        self.sign(body).verify_slice(&signature).ok()?;
        let claims: Claims = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(body).ok()?).ok()?;
        (claims.expires_ms > now.ms()).then_some(claims)
    }

    fn sign(&self, body: &str) -> Hmac<Sha256> {
        let mut mac = self.key.clone();
        mac.update(body.as_bytes());
        mac
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Timestamp = Timestamp::from_ms(1_932_628_500_000);

    fn tickets(secret: &str) -> Tickets {
        Tickets::new(&Secret::new(secret))
    }

    #[test]
    fn a_ticket_proves_path_and_user_for_four_hours() {
        let tickets = tickets("secret");
        let (token, expires) = tickets.issue("/films/a b.mkv", "u-1", NOW);
        assert_eq!(expires.ms() - NOW.ms(), 4 * 3600 * 1000);
        let claims = tickets.verify(&token, NOW).unwrap();
        assert_eq!(
            (claims.path.as_str(), claims.user_id.as_str()),
            ("/films/a b.mkv", "u-1")
        );
        assert!(
            tickets
                .verify(&token, Timestamp::from_ms(expires.ms() - 1))
                .is_some()
        );
        assert!(tickets.verify(&token, expires).is_none());
    }

    #[test]
    fn what_is_not_ours_is_refused() {
        let ours = tickets("secret");
        let (token, _) = ours.issue("/a", "u", NOW);
        let (body, signature) = token.split_once('.').unwrap();
        let (longer, _) = ours.issue("/ab", "u", NOW);
        let other_body = longer.split_once('.').unwrap().0;
        let forged = [
            String::new(),
            ".".into(),
            body.into(),
            format!("{body}."),
            format!("{body}.{signature}.x"),
            format!("{body}.{}", &signature[..signature.len() - 2]),
            format!("{other_body}.{signature}"),
            format!(".{signature}"),
            "x".repeat(MAX_TOKEN + 1),
            tickets("other").issue("/a", "u", NOW).0,
        ];
        for token in forged {
            assert!(ours.verify(&token, NOW).is_none(), "{token}");
        }
    }

    #[test]
    fn well_signed_nonsense_is_refused() {
        let ours = tickets("secret");
        for claims in [
            "",
            "[]",
            "{}",
            r#"{"p":"/a"}"#,
            r#"{"p":1,"x":9000000000000000}"#,
            r#"{"p":"/a","x":"9"}"#,
        ] {
            let body = URL_SAFE_NO_PAD.encode(claims);
            let signature = URL_SAFE_NO_PAD.encode(ours.sign(&body).finalize().into_bytes());
            assert!(
                ours.verify(&format!("{body}.{signature}"), NOW).is_none(),
                "{claims}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_or_passes(token in ".{0,200}") {
            prop_assert!(tickets("secret").verify(&token, NOW).is_none());
        }
    }
}
