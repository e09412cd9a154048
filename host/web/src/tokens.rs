//! Cache of verified tokens: the signature of a token is checked once, not on every request. This is sound
//! because a principal is made from the token's claims alone. Tokens are compared by the whole text, never by
//! a hash. Bounds: two generations of 1,024 tokens; a token over 16 KiB is never cached.

use std::collections::HashMap;
use std::hash::{BuildHasher, DefaultHasher, Hasher, RandomState};
use std::sync::{Arc, Mutex};

use qm_kernel::{Principal, Timestamp, TokenError, TokenVerifier};
use qm_lanes::IgnorePoison;

const GENERATION: usize = 1024;
const MAX_TOKEN: usize = 16 * 1024;

/// Number of bytes at the end of a token that are hashed: most of its signature, which differs for every
/// token. A token with all permissions has four thousand bytes, and hashing those would cost more than
/// everything else.
const TELLING: usize = 32;

type Map = HashMap<Box<str>, Arc<Principal>, ByTheEnd>;

/// Hasher of the end of each text.
#[derive(Default)]
struct ByTheEnd(RandomState);

struct EndHasher(DefaultHasher);

impl BuildHasher for ByTheEnd {
    type Hasher = EndHasher;

    fn build_hasher(&self) -> EndHasher {
        EndHasher(self.0.build_hasher())
    }
}

impl Hasher for EndHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.write(&bytes[bytes.len().saturating_sub(TELLING)..]);
    }

    fn finish(&self) -> u64 {
        self.0.finish()
    }
}

pub(crate) struct Tokens {
    verifier: Arc<dyn TokenVerifier>,
    known: Mutex<Generations>,
}

/// When `young` is full it becomes `old` and the former `old` is dropped; a hit in `old` moves back to
/// `young`.
#[derive(Default)]
struct Generations {
    young: Map,
    old: Map,
}

impl Tokens {
    pub(crate) fn new(verifier: Arc<dyn TokenVerifier>) -> Self {
        Self {
            verifier,
            known: Mutex::default(),
        }
    }

    pub(crate) fn verify(&self, token: &str, now: Timestamp) -> Result<Arc<Principal>, TokenError> {
        if token.len() > MAX_TOKEN {
            return Err(TokenError::Unauthorized);
        }
        if let Some(principal) = self.lock().find(token) {
            return if now < principal.expires_at {
                Ok(principal)
            } else {
                Err(TokenError::Unauthorized)
            };
        }
        let principal = Arc::new(self.verifier.verify(token)?);
        self.lock().keep(token.into(), Arc::clone(&principal));
        Ok(principal)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Generations> {
        self.known.lock().ignore_poison()
    }
}

impl Generations {
    fn find(&mut self, token: &str) -> Option<Arc<Principal>> {
        if let Some(principal) = self.young.get(token) {
            return Some(Arc::clone(principal));
        }
        let (token, principal) = self.old.remove_entry(token)?;
        self.keep(token, Arc::clone(&principal));
        Some(principal)
    }

    fn keep(&mut self, token: Box<str>, principal: Arc<Principal>) {
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(token, principal);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use qm_kernel::PermissionSet;

    use super::*;

    #[derive(Default)]
    struct Counting(AtomicUsize);

    impl TokenVerifier for Counting {
        fn verify(&self, token: &str) -> Result<Principal, TokenError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            if token.starts_with("bad") {
                return Err(TokenError::WrongType);
            }
            Ok(Principal {
                user_id: token.into(),
                username: token.into(),
                roles: Vec::new(),
                permissions: PermissionSet::empty(),
                expires_at: Timestamp::from_secs(100),
            })
        }
    }

    #[test]
    fn a_good_token_is_verified_once_until_it_expires() {
        let verifier = Arc::new(Counting::default());
        let tokens = Tokens::new(verifier.clone());
        for second in [1, 50, 99] {
            assert!(tokens.verify("good", Timestamp::from_secs(second)).is_ok());
        }
        assert!(tokens.verify("good", Timestamp::from_secs(100)).is_err());
        assert_eq!(verifier.0.load(Ordering::Relaxed), 1);
        assert!(matches!(
            tokens.verify("bad", Timestamp::from_secs(1)),
            Err(TokenError::WrongType)
        ));
        assert!(
            tokens
                .verify(&"g".repeat(MAX_TOKEN + 1), Timestamp::from_secs(1))
                .is_err()
        );
    }

    #[test]
    fn tokens_that_end_alike_are_told_apart() {
        let tokens = Tokens::new(Arc::new(Counting::default()));
        let now = Timestamp::from_secs(1);
        let end = "e".repeat(TELLING);
        let token = |name: &str| format!("{name}.{end}");
        for _ in 0..2 {
            for name in ["one", "other"] {
                let principal = tokens.verify(&token(name), now).unwrap();
                assert_eq!(*principal.user_id, token(name));
            }
            assert!(tokens.verify(&token("bad"), now).is_err());
        }
    }

    #[test]
    fn the_cache_is_bounded_and_keeps_what_is_used() {
        let verifier = Arc::new(Counting::default());
        let tokens = Tokens::new(verifier.clone());
        let now = Timestamp::from_secs(1);
        for number in 0..10 * GENERATION {
            assert!(tokens.verify(&format!("t{number}"), now).is_ok());
            assert!(tokens.verify("busy", now).is_ok());
        }
        let known = tokens.lock();
        assert!(known.young.len() + known.old.len() <= 2 * GENERATION + 1);
        drop(known);
        assert_eq!(verifier.0.load(Ordering::Relaxed), 10 * GENERATION + 1);
    }
}
