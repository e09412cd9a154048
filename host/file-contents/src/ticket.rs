//! Media tickets: a signed leave to read one file, for players that cannot send a bearer token.
//!
//! A ticket is `B.S`: B is base64url of its JSON claims, S of the HMAC-SHA256 of B, by a key that is derived from the secret
//! of the access tokens and signs nothing else. Nothing is stored, so it outlives a logout, and dies with its four hours, with
//! the signing secret, or with the file it was issued for: another one that takes its name is not meant.
//! Bounds: [`MAX_TOKEN`] characters are looked at.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use qm_confined::RelPath;
use qm_kernel::{Secret, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Lifetime of a ticket.
pub const LIFETIME: Duration = Duration::from_hours(4);
const MAX_TOKEN: usize = 4096;
/// Limit of a percent-encoded path, in bytes.
const MAX_PATH: usize = 2048;
/// Label that the signing key is derived with.
const LABEL: &[u8] = b"quartermaster media ticket";

/// The claims of a ticket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// The path it is for, relative to the roots, in the percent-encoded form of its bytes.
    #[serde(rename = "p")]
    pub path: String,
    /// The mark of the file it is for, whatever has its name by now: see [`mark`].
    #[serde(rename = "f")]
    pub file: String,
    /// The user it was issued to.
    #[serde(rename = "u")]
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
        let mut derivation = keyed(secret.expose().as_bytes());
        derivation.update(LABEL);
        let key = keyed(&derivation.finalize().into_bytes());
        Self { key }
    }

    /// A ticket for the file that is at `path`, and when it ends.
    pub fn issue(&self, path: &str, file: &str, user_id: &str, now: Timestamp) -> (String, Timestamp) {
        let expires = now.plus(LIFETIME);
        let claims = Claims {
            path: path.to_owned(),
            file: file.to_owned(),
            user_id: user_id.to_owned(),
            expires_ms: expires.ms(),
        };
        // A struct of texts and a number: it always has a JSON form.
        let body = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&claims).unwrap_or_default());
        let signature = URL_SAFE_NO_PAD.encode(self.sign(&body).finalize().into_bytes());
        (format!("{body}.{signature}"), expires)
    }

    /// Claims of a ticket that this server signed and that has not expired. The signature is compared in constant time.
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

/// HMAC takes a key of any length; the other arm is never reached.
fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).unwrap_or_else(|_| Hmac::new(&Default::default()))
}

/// Fingerprint of a file that no later file of the same name has: hash of the root in effect, the identity, and the time of
/// creation, because an inode's number is given out again.
pub fn mark(root: &str, device: u64, inode: u64, made_ns: i128) -> String {
    let mut hash = Sha256::new();
    hash.update(device.to_be_bytes());
    hash.update(inode.to_be_bytes());
    hash.update(made_ns.to_be_bytes());
    hash.update(root);
    URL_SAFE_NO_PAD.encode(&hash.finalize()[..16])
}

/// Path that a ticket is bound to: the path itself, or a hash of a long one. A ticket has to fit into an address.
pub fn bound_to(rel: &RelPath) -> String {
    let path = rel.encoded();
    if path.len() <= MAX_PATH {
        return path;
    }
    // No path begins like this.
    format!("sha256:{}", hex::encode(Sha256::digest(path)))
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
        let (token, expires) = tickets.issue("/films/a b.mkv", "f-1", "u-1", NOW);
        assert_eq!(expires.ms() - NOW.ms(), 4 * 3600 * 1000);
        let claims = tickets.verify(&token, NOW).unwrap();
        assert_eq!(
            (
                claims.path.as_str(),
                claims.file.as_str(),
                claims.user_id.as_str()
            ),
            ("/films/a b.mkv", "f-1", "u-1")
        );
        assert!(
            tickets
                .verify(&token, Timestamp::from_ms(expires.ms() - 1))
                .is_some()
        );
        assert!(tickets.verify(&token, expires).is_none());
    }

    /// Ticket signed in the old way, by the secret itself, as access tokens still are.
    fn signed_by_the_secret_itself(body: &str) -> String {
        let mut mac = keyed(b"secret");
        mac.update(body.as_bytes());
        format!("{body}.{}", URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()))
    }

    #[test]
    fn a_mark_tells_files_and_roots_apart() {
        let one = mark("/downloads", 1, 2, 3);
        assert_eq!(one, mark("/downloads", 1, 2, 3));
        for other in [
            mark("/films", 1, 2, 3),
            mark("/downloads", 2, 2, 3),
            mark("/downloads", 1, 3, 3),
            mark("/downloads", 1, 2, 4),
        ] {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn what_is_not_ours_is_refused() {
        let ours = tickets("secret");
        let (token, _) = ours.issue("/a", "f", "u", NOW);
        let (body, signature) = token.split_once('.').unwrap();
        let (longer, _) = ours.issue("/ab", "f", "u", NOW);
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
            tickets("other").issue("/a", "f", "u", NOW).0,
            signed_by_the_secret_itself(body),
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
            r#"{"p":1,"f":"f","u":"u","x":9000000000000000}"#,
            r#"{"p":"/a","f":"f","u":"u","x":"9"}"#,
            r#"{"p":"/a","u":"u","x":9000000000000000}"#,
            r#"{"p":"/a","f":"f","x":9000000000000000}"#,
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
