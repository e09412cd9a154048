//! Refresh tokens: `<family>.<secret>`. Only the hash of the secret part is stored.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use qm_kernel::{Ctx, Secret};
use sha2::{Digest, Sha256};

const SECRET_BYTES: usize = 48;

/// A new token for the client, and its hash for the row.
pub struct Issued {
    pub wire: Secret,
    pub hash: String,
}

/// A new token of `family` (UUID text).
pub fn issue(ctx: &Ctx, family: &str) -> Issued {
    let secret = BASE64_URL_SAFE_NO_PAD.encode(ctx.bytes::<SECRET_BYTES>());
    Issued {
        hash: hash(&secret),
        wire: Secret::new(format!("{family}.{secret}")),
    }
}

/// A token from a client: its family, and the hash of its secret part.
#[derive(Debug, PartialEq, Eq)]
pub struct Presented<'a> {
    pub family: &'a str,
    pub hash: String,
}

/// `None` for a text without a dot or with an empty half.
pub fn parse(wire: &str) -> Option<Presented<'_>> {
    let (family, secret) = wire.split_once('.')?;
    (!family.is_empty() && !secret.is_empty()).then(|| Presented {
        family,
        hash: hash(secret),
    })
}

fn hash(secret: &str) -> String {
    hex::encode(Sha256::digest(secret.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_token_has_the_form_of_the_contract_and_is_found_again() {
        let issued = issue(&Ctx::system(), "5c1c1f3e-0000-4000-8000-000000000000");
        let wire = issued.wire.expose();
        let secret = wire.split_once('.').map(|(_, secret)| secret.len());
        assert_eq!(secret, Some(64));
        let presented = parse(wire);
        assert_eq!(
            presented.as_ref().map(|p| p.hash.as_str()),
            Some(issued.hash.as_str())
        );
        assert_eq!(
            presented.map(|p| p.family),
            Some("5c1c1f3e-0000-4000-8000-000000000000")
        );
    }

    #[test]
    fn halves_must_be_there() {
        for malformed in ["", ".", "family", "family.", ".secret"] {
            assert_eq!(parse(malformed), None, "{malformed:?}");
        }
    }

    proptest! {
        #[test]
        fn hostile_texts_never_panic(wire in ".*") {
            let _ = parse(&wire);
        }
    }
}
