//! Secrets at rest: AES-256-GCM under SHA-256 of the `ENCRYPTION_KEY` text, stored as base64 of
//! initialisation vector (12 bytes) ‖ tag (16) ‖ ciphertext.
//!
//! The vector is random, so one key may encrypt about 2^32 values before two of them are likely to share one;
//! the service stores only a few passwords and seeds.

use std::sync::Arc;

use aes_gcm::aead::AeadInPlace as _;
use aes_gcm::{Aes256Gcm, Key, KeyInit as _, Nonce, Tag};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use qm_kernel::{Ctx, Secret};
use sha2::{Digest as _, Sha256};

const IV: usize = 12;
const TAG: usize = 16;

/// Encrypts and decrypts stored secrets. Cheap to clone.
#[derive(Clone)]
pub struct Cipher {
    aes: Arc<Aes256Gcm>,
    /// Earlier keys: they decrypt stored values, and never encrypt.
    previous: Arc<[Aes256Gcm]>,
    ctx: Ctx,
}

/// Decrypted value, by the key that opened it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Encrypted with the present key.
    Current(Secret),
    /// Encrypted with an earlier key: to be encrypted again.
    Previous(Secret),
    /// Encrypted with an unknown key, or changed since. It counts as absent.
    Unreadable,
}

impl Standing {
    pub fn secret(self) -> Option<Secret> {
        match self {
            Standing::Current(secret) | Standing::Previous(secret) => Some(secret),
            Standing::Unreadable => None,
        }
    }
}

fn aes(key: &Secret) -> Aes256Gcm {
    Aes256Gcm::new(Key::<Aes256Gcm>::from_slice(&Sha256::digest(
        key.expose().as_bytes(),
    )))
}

impl Cipher {
    /// `key` is the text of `ENCRYPTION_KEY`, of any length.
    pub fn new(key: &Secret, ctx: Ctx) -> Self {
        Self {
            aes: Arc::new(aes(key)),
            previous: Arc::default(),
            ctx,
        }
    }

    /// Adds earlier keys for decryption: `ENCRYPTION_KEY_PREVIOUS`.
    pub fn with_previous(mut self, keys: &[Secret]) -> Self {
        self.previous = keys.iter().map(aes).collect();
        self
    }

    pub fn encrypt(&self, text: &str) -> String {
        let iv: [u8; IV] = self.ctx.bytes();
        let mut stored = vec![0; IV + TAG];
        stored.extend_from_slice(text.as_bytes());
        let (head, body) = stored.split_at_mut(IV + TAG);
        // The only failure is a text above 64 GiB, which does not fit in memory; it would read back as
        // absent.
        if let Ok(tag) = self
            .aes
            .encrypt_in_place_detached(Nonce::from_slice(&iv), &[], body)
        {
            head[..IV].copy_from_slice(&iv);
            head[IV..].copy_from_slice(&tag);
        } else {
            stored.clear();
        }
        STANDARD.encode(stored)
    }

    /// `None` for anything that none of the keys opens, or that was changed.
    pub fn decrypt(&self, stored: &str) -> Option<Secret> {
        self.standing(stored).secret()
    }

    /// Decrypts a value and reports which key opened it.
    pub fn standing(&self, stored: &str) -> Standing {
        let Some(sealed) = Sealed::parse(stored) else {
            return Standing::Unreadable;
        };
        if let Some(secret) = sealed.open(&self.aes) {
            return Standing::Current(secret);
        }
        self.previous
            .iter()
            .find_map(|aes| sealed.open(aes))
            .map_or(Standing::Unreadable, Standing::Previous)
    }
}

/// Parts of an encrypted value.
struct Sealed {
    iv: [u8; IV],
    tag: [u8; TAG],
    body: Vec<u8>,
}

impl Sealed {
    fn parse(stored: &str) -> Option<Self> {
        let stored = STANDARD.decode(stored).ok()?;
        let (iv, rest) = stored.split_first_chunk()?;
        let (tag, body) = rest.split_first_chunk()?;
        Some(Self {
            iv: *iv,
            tag: *tag,
            body: body.to_vec(),
        })
    }

    fn open(&self, aes: &Aes256Gcm) -> Option<Secret> {
        let mut body = self.body.clone();
        let (iv, tag) = (Nonce::from_slice(&self.iv), Tag::from_slice(&self.tag));
        aes.decrypt_in_place_detached(iv, &[], &mut body, tag).ok()?;
        String::from_utf8(body).ok().map(Secret::new)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cipher(key: &str) -> Cipher {
        Cipher::new(&Secret::new(key), Ctx::system())
    }

    const KEY: &str = "an encryption key of no fewer than 32 characters";

    /// Made by Python's `cryptography` 48:
    /// `sealed = AESGCM(sha256(KEY).digest()).encrypt(bytes(range(12)), "pässwörd ✓".encode(), None)`,
    /// then base64 of `bytes(range(12)) + sealed[-16:] + sealed[:-16]`.
    const FOREIGN: &str = "AAECAwQFBgcICQoLKEJ5VrfQikRp52R/X+oLcyRaLUh+aGWUSTAhj3Fm";

    #[test]
    fn reads_what_another_implementation_wrote() {
        assert_eq!(
            cipher(KEY)
                .decrypt(FOREIGN)
                .map(|secret| secret.expose().to_owned())
                .as_deref(),
            Some("pässwörd ✓")
        );
        assert!(cipher("another key").decrypt(FOREIGN).is_none());
    }

    #[test]
    fn equal_texts_are_stored_differently() {
        let cipher = cipher(KEY);
        assert_ne!(cipher.encrypt("same"), cipher.encrypt("same"));
    }

    #[test]
    fn earlier_keys_open_but_do_not_seal() {
        let old = cipher("old").encrypt("kept");
        let rotated = cipher("new").with_previous(&[Secret::new("older"), Secret::new("old")]);
        assert_eq!(rotated.decrypt(&old), Some(Secret::new("kept")));
        assert!(cipher("new").decrypt(&old).is_none());
        assert!(cipher("old").decrypt(&rotated.encrypt("fresh")).is_none());

        let kept = Secret::new("kept");
        assert_eq!(rotated.standing(&old), Standing::Previous(kept.clone()));
        assert_eq!(
            rotated.standing(&rotated.encrypt("kept")),
            Standing::Current(kept)
        );
        assert_eq!(cipher("new").standing(&old), Standing::Unreadable);
    }

    proptest! {
        #[test]
        fn round_trips(text in ".{0,200}", key in ".{0,80}") {
            let cipher = cipher(&key);
            let stored = cipher.encrypt(&text);
            // A short text may occur in base64 by chance.
            prop_assert!(text.len() < 12 || !stored.contains(&text));
            prop_assert_eq!(cipher.decrypt(&stored), Some(Secret::new(text)));
        }

        #[test]
        fn a_changed_value_reads_as_absent(text in ".{0,60}", at in any::<prop::sample::Index>(), bit in 0..8u32) {
            let cipher = cipher(KEY);
            let mut bytes = STANDARD.decode(cipher.encrypt(&text)).unwrap();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            prop_assert_eq!(cipher.decrypt(&STANDARD.encode(&bytes)), None);
            bytes[at] ^= 1 << bit;
            bytes.truncate(at);
            prop_assert_eq!(cipher.decrypt(&STANDARD.encode(&bytes)), None);
        }

        #[test]
        fn anything_else_reads_as_absent(stored in ".{0,120}") {
            prop_assert_eq!(cipher(KEY).decrypt(&stored), None);
        }
    }
}
