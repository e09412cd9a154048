//! Sealed links: a download link with a key, as users get it. Its origin stays visible and the rest is
//! encrypted. The server decrypts it for the same user, at the link's own origin, within a day.
//!
//! Nothing is stored. A link sealed with a key that is no longer configured counts as expired.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use qm_kernel::secret::MASK;
use qm_kernel::{Principal, Secret, Timestamp};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::cipher::Cipher;
use crate::masked;
use crate::origins::is_same_origin;

/// Validity of a link in milliseconds.
const GOOD_FOR: i64 = 24 * 60 * 60 * 1000;
/// Path segment before the sealed part.
const MARK: &str = "~sealed-link~";
/// Shortest secret that is searched for: shorter ones occur everywhere.
const SHORTEST: usize = 4;
/// Number of URL decodings that are searched for a secret.
const DECODED: usize = 3;

#[derive(Serialize, Deserialize)]
struct Sealed {
    link: String,
    user: String,
    until: i64,
}

/// A sealed link that cannot be opened: it belongs to another user, is expired, or invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("url is a link of a search whose time has passed, or of somebody else's: search again")]
pub struct Stale;

/// The link for `reader`: it is sealed when it contains one of these secrets, or, for readers without the
/// managing permission, when anything in it looks like a key. A link without an origin is masked instead.
pub fn handed_out(
    cipher: &Cipher,
    (reader, manages): (&Principal, bool),
    now: Timestamp,
    link: String,
    secrets: &[Secret],
) -> String {
    if !holds(&link, secrets) && (manages || masked::url(&link) == link) {
        return link;
    }
    let origin = Url::parse(link.trim()).ok().map(|url| url.origin());
    let Some(origin) = origin.filter(url::Origin::is_tuple) else {
        return masked::url(&without(&link, secrets));
    };
    let sealed = Sealed {
        link,
        user: reader.user_id.to_string(),
        until: now.ms().saturating_add(GOOD_FOR),
    };
    // A struct of texts and a number always serialises.
    let text = serde_json::to_string(&sealed).unwrap_or_default();
    let sealed = STANDARD.decode(cipher.encrypt(&text)).unwrap_or_default();
    format!(
        "{}/{MARK}{}",
        origin.ascii_serialization(),
        URL_SAFE_NO_PAD.encode(sealed)
    )
}

/// Opens a sealed link for the user it was made for; any other link is returned as it is.
pub fn opened(cipher: &Cipher, caller: &Principal, now: Timestamp, link: &str) -> Result<Secret, Stale> {
    let Some((_, sealed)) = link.trim().split_once(MARK) else {
        return Ok(Secret::new(link.trim()));
    };
    let sealed = URL_SAFE_NO_PAD.decode(sealed).map_err(|_| Stale)?;
    let text = cipher.decrypt(&STANDARD.encode(sealed)).ok_or(Stale)?;
    let found: Sealed = serde_json::from_str(text.expose()).map_err(|_| Stale)?;
    let is_good =
        found.user == *caller.user_id && found.until >= now.ms() && is_same_origin(&found.link, link);
    is_good.then(|| Secret::new(found.link)).ok_or(Stale)
}

/// True when one of these secrets occurs in a text, also URL-encoded several times.
pub fn holds(text: &str, secrets: &[Secret]) -> bool {
    let mut text = text.to_owned();
    for _ in 0..=DECODED {
        // Forms write a space as a plus.
        let spaced = text.replace('+', " ");
        let stands = |secret: &Secret| {
            let secret = secret.expose();
            secret.len() >= SHORTEST && (text.contains(secret) || spaced.contains(secret))
        };
        if secrets.iter().any(stands) {
            return true;
        }
        let decoded = decoded(&text);
        if decoded == text {
            return false;
        }
        text = decoded;
    }
    false
}

/// The text with these secrets removed.
pub fn without(text: &str, secrets: &[Secret]) -> String {
    let mut clean = text.to_owned();
    for secret in secrets.iter().filter(|secret| secret.expose().len() >= SHORTEST) {
        clean = clean.replace(secret.expose(), MASK);
        let encoded: String = url::form_urlencoded::byte_serialize(secret.expose().as_bytes()).collect();
        clean = clean.replace(&encoded, MASK);
    }
    if holds(&clean, secrets) {
        MASK.to_owned()
    } else {
        clean
    }
}

fn decoded(text: &str) -> String {
    let whole = format!("v={}", text.replace('&', "%26").replace('+', "%2B"));
    let mut pairs = url::form_urlencoded::parse(whole.as_bytes());
    pairs
        .next()
        .map_or_else(String::new, |(_, value)| value.into_owned())
}

#[cfg(test)]
mod tests {
    use qm_kernel::{Ctx, PermissionSet};

    use super::*;

    fn principal(id: &str) -> Principal {
        Principal {
            user_id: id.into(),
            username: id.into(),
            roles: Vec::new(),
            permissions: PermissionSet::empty(),
            expires_at: Timestamp::from_ms(0),
        }
    }

    #[test]
    fn a_link_with_a_key_is_sealed_and_opens_for_whom_it_was_made() {
        let cipher = Cipher::new(&Secret::new("key"), Ctx::system());
        let (jo, other) = (principal("jo"), principal("other"));
        let secrets = [Secret::new("k/ey 1"), Secret::new("abc")];
        let now = Timestamp::from_ms(0);
        let seal =
            |link: &str, manages: bool| handed_out(&cipher, (&jo, manages), now, link.to_owned(), &secrets);
        for link in [
            "http://t:80/dl?apikey=k/ey 1",
            "http://t/dl?apikey=k%2Fey+1",
            "http://t/dl?apikey=k%2Fey%201&x=1",
            "http://t/k%252Fey%25201/file",
        ] {
            let sealed = seal(link, true);
            assert!(
                sealed.starts_with("http://t/") && !holds(&sealed, &secrets) && !sealed.contains("apikey"),
                "{sealed}"
            );
            assert_eq!(
                opened(&cipher, &jo, now, &format!(" {sealed} "))
                    .unwrap()
                    .expose(),
                link
            );
            assert_eq!(opened(&cipher, &other, now, &sealed), Err(Stale));
            assert_eq!(
                opened(&cipher, &jo, Timestamp::from_ms(GOOD_FOR + 1), &sealed),
                Err(Stale)
            );
            assert_eq!(
                opened(&cipher, &jo, now, &sealed.replacen("//t/", "//evil/", 1)),
                Err(Stale)
            );
            assert_eq!(opened(&cipher, &jo, now, &format!("{sealed}x")), Err(Stale));
        }
        for plain in ["http://t/dl?id=abc", "magnet:?xt=urn:btih:aa", "no link"] {
            assert_eq!(seal(plain, true), plain);
            assert_eq!(opened(&cipher, &jo, now, plain).unwrap().expose(), plain);
        }
        let passkey = "http://t/0123456789abcdef0123456789abcdef/x";
        assert_eq!(seal(passkey, true), passkey, "who manages it sees it");
        assert_eq!(
            opened(&cipher, &jo, now, &seal(passkey, false)).unwrap().expose(),
            passkey
        );
        assert!(!holds(
            &seal("magnet:?xt=urn:btih:aa&tr=http%3A%2F%2Ft%2Fk%2Fey%201", true),
            &secrets
        ));
    }
}
