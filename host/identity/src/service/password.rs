//! Password hashing: Argon2id off the async threads.
//!
//! Bounds: 2 hashes at a time (64 MiB each), 128 waiting; whoever comes after that is told the service is busy.
//! A caller that hangs up leaves the queue, but a hash already running keeps its place until it ends.

use std::sync::Arc;

use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use qm_kernel::{Ctx, Secret};
use tokio::sync::Semaphore;

use crate::error::IdentityError;

const RUNNING: usize = 2;
const WAITING: usize = 128;

/// What one hash costs. Stored hashes name their own cost, so a change applies to new passwords only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashCost {
    pub memory_kib: u32,
    pub passes: u32,
    pub lanes: u32,
}

impl HashCost {
    /// The cost of the service: 64 MiB, 3 passes, 4 lanes.
    pub const STANDARD: HashCost = HashCost {
        memory_kib: 65_536,
        passes: 3,
        lanes: 4,
    };
    /// For tests that log in often and do not measure hashing.
    pub const CHEAP: HashCost = HashCost {
        memory_kib: 64,
        passes: 1,
        lanes: 1,
    };
}

/// Hashes and checks passwords.
#[derive(Clone)]
pub struct Passwords {
    cost: HashCost,
    /// Checked when the user does not exist, so that the answer takes as long as for one who does.
    dummy: Arc<str>,
    running: Arc<Semaphore>,
    queue: Arc<Semaphore>,
    ctx: Ctx,
}

impl Passwords {
    pub fn new(cost: HashCost, ctx: Ctx) -> Self {
        let HashCost {
            memory_kib,
            passes,
            lanes,
        } = cost;
        // Salt and digest are arbitrary: the work is the same, and no password is known to give this digest.
        let dummy = format!(
            "$argon2id$v=19$m={memory_kib},t={passes},p={lanes}$bm8tc3VjaC11c2VyLS0tLQ$\
             bm8tcGFzc3dvcmQtaGFzaGVzLXRvLXRoaXMtdGV4dC0"
        );
        Self {
            cost,
            dummy: dummy.into(),
            running: Arc::new(Semaphore::new(RUNNING)),
            queue: Arc::new(Semaphore::new(RUNNING + WAITING)),
            ctx,
        }
    }

    /// The PHC text of a new password.
    pub async fn hash(&self, password: &Secret) -> Result<String, IdentityError> {
        let HashCost {
            memory_kib,
            passes,
            lanes,
        } = self.cost;
        let params = Params::new(memory_kib, passes, lanes, None)
            .map_err(|e| IdentityError::Hashing(e.to_string()))?;
        let salt = SaltString::encode_b64(&self.ctx.bytes::<16>())
            .map_err(|e| IdentityError::Hashing(e.to_string()))?;
        let password = password.clone();
        self.off_thread(move || {
            Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
                .hash_password(password.expose().as_bytes(), &salt)
                .map(|hash| hash.to_string())
                .map_err(|e| IdentityError::Hashing(e.to_string()))
        })
        .await
    }

    /// Whether `password` is the one of `stored`. Without a stored hash the same work is done in vain.
    pub async fn verify(&self, password: &Secret, stored: Option<&str>) -> Result<bool, IdentityError> {
        let known = stored.is_some();
        let stored: Arc<str> = stored.map_or_else(|| self.dummy.clone(), Arc::from);
        let password = password.clone();
        self.off_thread(move || {
            let hash = PasswordHash::new(&stored).map_err(|e| IdentityError::Hashing(e.to_string()))?;
            let matches = Argon2::default()
                .verify_password(password.expose().as_bytes(), &hash)
                .is_ok();
            Ok(matches && known)
        })
        .await
    }

    /// How many hashes run and how many wait.
    pub fn load(&self) -> (usize, usize) {
        let running = RUNNING - self.running.available_permits();
        let taken = RUNNING + WAITING - self.queue.available_permits();
        (running, taken.saturating_sub(running))
    }

    async fn off_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, IdentityError> + Send + 'static,
    ) -> Result<T, IdentityError> {
        let _place = self.queue.try_acquire().map_err(|_| IdentityError::Busy)?;
        let running = self
            .running
            .clone()
            .acquire_owned()
            .await
            .map_err(|_| IdentityError::Busy)?;
        tokio::task::spawn_blocking(move || {
            let result = work();
            drop(running);
            result
        })
        .await
        .map_err(|e| IdentityError::Hashing(e.to_string()))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn parameters_are_those_of_the_contract() {
        let passwords = Passwords::new(HashCost::STANDARD, Ctx::system());
        let secret = Secret::new("correct horse battery");
        let stored = passwords.hash(&secret).await.expect("hashed");
        assert!(stored.starts_with("$argon2id$v=19$m=65536,t=3,p=4$"), "{stored}");
        assert!(passwords.verify(&secret, Some(&stored)).await.expect("verified"));
        assert!(
            !passwords
                .verify(&Secret::new("correct horse batterz"), Some(&stored))
                .await
                .expect("verified")
        );
    }

    #[tokio::test]
    async fn the_dummy_hash_does_the_full_work_and_matches_nothing() {
        let passwords = Passwords::new(HashCost::STANDARD, Ctx::system());
        let dummy = PasswordHash::new(&passwords.dummy).expect("a PHC text");
        let params = Params::try_from(&dummy).expect("parameters");
        assert_eq!(
            (params.m_cost(), params.t_cost(), params.p_cost()),
            (65_536, 3, 4)
        );
        assert_eq!(dummy.hash.map(|h| h.len()), Some(32));
        assert!(
            !passwords
                .verify(&Secret::new("anything"), None)
                .await
                .expect("verified")
        );
    }

    #[tokio::test]
    async fn a_stored_text_that_is_no_hash_is_our_error_not_a_match() {
        let passwords = Passwords::new(HashCost::CHEAP, Ctx::system());
        let result = passwords.verify(&Secret::new("x"), Some("plain")).await;
        assert!(matches!(result, Err(IdentityError::Hashing(_))));
    }

    #[tokio::test]
    async fn the_queue_is_bounded_and_never_runs_more_than_two() {
        let passwords = Passwords::new(HashCost::CHEAP, Ctx::system());
        let held = passwords
            .running
            .clone()
            .acquire_many_owned(RUNNING as u32)
            .await
            .expect("permits");
        let mut waiting = Vec::new();
        for _ in 0..RUNNING + WAITING {
            let passwords = passwords.clone();
            waiting.push(tokio::spawn(
                async move { passwords.hash(&Secret::new("p")).await },
            ));
        }
        assert_eq!(passwords.load(), (RUNNING, 0));
        while passwords.queue.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(passwords.load(), (RUNNING, WAITING));
        assert!(matches!(
            passwords.hash(&Secret::new("p")).await,
            Err(IdentityError::Busy)
        ));
        drop(held);
        for task in waiting {
            assert!(task.await.expect("joined").is_ok());
        }
        assert_eq!(passwords.load(), (0, 0));
    }
}
