//! Password hashing with Argon2id on blocking threads.
//!
//! Bounds: 2 hashes at a time (64 MiB each), 128 waiting; of both together 16 per client address. Further
//! requests are refused as busy. A caller that hangs up leaves the queue, but a running hash keeps its place
//! until it ends.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use qm_kernel::{AddressBlock, Ctx, Secret};
use qm_lanes::{Bounds, IgnorePoison, Lane, LaneError};
use tokio::sync::Semaphore;

use crate::error::IdentityError;

const RUNNING: usize = 2;
const WAITING: usize = 128;
/// Largest number of running and waiting hashes per client address, so that a flood leaves places for others.
const SHARE: usize = 16;

/// Cost of one hash. Stored hashes contain their own cost, so a change applies to new passwords only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashCost {
    pub memory_kib: u32,
    pub passes: u32,
    pub lanes: u32,
}

impl HashCost {
    /// The production cost: 64 MiB, 3 passes, 4 lanes.
    pub const STANDARD: HashCost = HashCost {
        memory_kib: 65_536,
        passes: 3,
        lanes: 4,
    };
    /// For tests with many logins.
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
    /// Hash that is checked when the user does not exist, so that the answer takes the same time.
    dummy: Arc<str>,
    /// Threads of its own, independent of other hanging work.
    lane: Arc<Lane>,
    running: Arc<Semaphore>,
    queue: Arc<Semaphore>,
    shares: Shares,
    ctx: Ctx,
}

/// Number of occupied places by address.
type Shares = Arc<Mutex<HashMap<AddressBlock, usize>>>;

impl Passwords {
    pub fn new(cost: HashCost, ctx: Ctx) -> Self {
        let HashCost {
            memory_kib,
            passes,
            lanes,
        } = cost;
        // Salt and digest are arbitrary: the work is the same, and no known password has this digest.
        let dummy = format!(
            "$argon2id$v=19$m={memory_kib},t={passes},p={lanes}$bm8tc3VjaC11c2VyLS0tLQ$\
             bm8tcGFzc3dvcmQtaGFzaGVzLXRvLXRoaXMtdGV4dC0"
        );
        Self {
            cost,
            dummy: dummy.into(),
            lane: Arc::new(Lane::new("identity.hashes", Bounds::new(RUNNING, WAITING))),
            running: Arc::new(Semaphore::new(RUNNING)),
            queue: Arc::new(Semaphore::new(RUNNING + WAITING)),
            shares: Shares::default(),
            ctx,
        }
    }

    /// PHC text of a new password. `by` is the client address; `None`: the service itself.
    pub async fn hash(&self, password: &Secret, by: Option<IpAddr>) -> Result<String, IdentityError> {
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
        self.off_thread(by, move || {
            Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
                .hash_password(password.expose().as_bytes(), &salt)
                .map(|hash| hash.to_string())
                .map_err(|e| IdentityError::Hashing(e.to_string()))
        })
        .await
    }

    /// True when `password` matches the hash `stored`. Without a hash the same work is done in vain.
    pub async fn verify(
        &self,
        password: &Secret,
        stored: Option<&str>,
        by: IpAddr,
    ) -> Result<bool, IdentityError> {
        let known = stored.is_some();
        let stored: Arc<str> = stored.map_or_else(|| self.dummy.clone(), Arc::from);
        let password = password.clone();
        self.off_thread(Some(by), move || {
            let hash = PasswordHash::new(&stored).map_err(|e| IdentityError::Hashing(e.to_string()))?;
            let matches = Argon2::default()
                .verify_password(password.expose().as_bytes(), &hash)
                .is_ok();
            Ok(matches && known)
        })
        .await
    }

    /// Number of running and of waiting hashes.
    pub fn load(&self) -> (usize, usize) {
        let running = RUNNING - self.running.available_permits();
        let taken = RUNNING + WAITING - self.queue.available_permits();
        (running, taken.saturating_sub(running))
    }

    /// Takes a place of the address's share; dropping it releases the place.
    fn share_of(&self, block: AddressBlock) -> Result<Share<'_>, IdentityError> {
        let mut shares = self.shares.lock().ignore_poison();
        let taken = shares.entry(block).or_default();
        if *taken >= SHARE {
            return Err(IdentityError::Busy);
        }
        *taken += 1;
        Ok(Share {
            shares: &self.shares,
            block,
        })
    }

    async fn off_thread<T: Send + 'static>(
        &self,
        by: Option<IpAddr>,
        work: impl FnOnce() -> Result<T, IdentityError> + Send + 'static,
    ) -> Result<T, IdentityError> {
        let _share = match by {
            Some(address) => Some(self.share_of(AddressBlock::containing(address))?),
            None => None,
        };
        let _place = self.queue.try_acquire().map_err(|_| IdentityError::Busy)?;
        let running = self
            .running
            .clone()
            .acquire_owned()
            .await
            .map_err(|_| IdentityError::Busy)?;
        let hashing = self.lane.run_for(None, move |_| {
            let result = work();
            drop(running);
            result
        });
        hashing.await.map_err(|error| match error {
            LaneError::Full(_) | LaneError::Stopped => IdentityError::Busy,
            LaneError::Panicked(_) => IdentityError::Hashing(error.to_string()),
        })?
    }
}

struct Share<'a> {
    shares: &'a Shares,
    block: AddressBlock,
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let mut shares = self.shares.lock().ignore_poison();
        if let Some(taken) = shares.get_mut(&self.block) {
            *taken -= 1;
            if *taken == 0 {
                shares.remove(&self.block);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const HOME: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[tokio::test]
    async fn parameters_are_those_of_the_contract() {
        let passwords = Passwords::new(HashCost::STANDARD, Ctx::system());
        let secret = Secret::new("correct horse battery");
        let stored = passwords.hash(&secret, None).await.expect("hashed");
        assert!(stored.starts_with("$argon2id$v=19$m=65536,t=3,p=4$"), "{stored}");
        assert!(
            passwords
                .verify(&secret, Some(&stored), HOME)
                .await
                .expect("verified")
        );
        assert!(
            !passwords
                .verify(&Secret::new("correct horse batterz"), Some(&stored), HOME)
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
                .verify(&Secret::new("anything"), None, HOME)
                .await
                .expect("verified")
        );
    }

    #[tokio::test]
    async fn a_stored_text_that_is_no_hash_is_our_error_not_a_match() {
        let passwords = Passwords::new(HashCost::CHEAP, Ctx::system());
        let result = passwords.verify(&Secret::new("x"), Some("plain"), HOME).await;
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
            waiting.push(tokio::spawn(async move {
                passwords.hash(&Secret::new("p"), None).await
            }));
        }
        assert_eq!(passwords.load(), (RUNNING, 0));
        while passwords.queue.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(passwords.load(), (RUNNING, WAITING));
        assert!(matches!(
            passwords.hash(&Secret::new("p"), None).await,
            Err(IdentityError::Busy)
        ));
        drop(held);
        for task in waiting {
            assert!(task.await.expect("joined").is_ok());
        }
        assert_eq!(passwords.load(), (0, 0));
    }

    #[tokio::test]
    async fn one_address_holds_its_share_and_no_more() {
        let passwords = Passwords::new(HashCost::CHEAP, Ctx::system());
        let held = passwords
            .running
            .clone()
            .acquire_many_owned(RUNNING as u32)
            .await
            .expect("permits");
        let verify = |address: &str| {
            let (passwords, by) = (passwords.clone(), address.parse().expect("an address"));
            tokio::spawn(async move { passwords.verify(&Secret::new("p"), None, by).await })
        };
        // All addresses of one network count together.
        let flood: Vec<_> = (0..SHARE)
            .map(|host| verify(&format!("2001:db8:0:1::{host:x}")))
            .collect();
        while passwords.queue.available_permits() > RUNNING + WAITING - SHARE {
            tokio::task::yield_now().await;
        }
        let refused = verify("2001:db8:0:1:ffff::").await.expect("joined");
        assert!(matches!(refused, Err(IdentityError::Busy)));
        let neighbour = verify("2001:db8:0:2::1");
        drop(held);
        assert!(matches!(neighbour.await.expect("joined"), Ok(false)));
        for task in flood {
            assert!(matches!(task.await.expect("joined"), Ok(false)));
        }
        assert!(passwords.shares.lock().ignore_poison().is_empty());
    }
}
