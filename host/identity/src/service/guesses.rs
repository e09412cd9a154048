//! Delays after wrong passwords and codes, counted per account: each further failure doubles the pause.
//!
//! It is a delay and never a lock: a delayed attempt is checked like any other, and the pause stays below
//! [`Pace::longest`]. Logins from addresses known for the account are neither delayed nor counted, so that
//! nobody can lock the owner out remotely. An unknown user name is treated like an account without known
//! addresses, so the delay does not reveal which names exist.
//!
//! Logins and the routes of the own account are counted separately: an attacker with a stolen token cannot
//! delay logins, and one who guesses at logins cannot delay the owner who is signed in. Known addresses are
//! no exception on the own account's routes, because only holders of a token reach them.
//!
//! Kept in memory: each server counts on its own, so two servers on one database allow twice as many guesses,
//! and a restart forgets. Bounds: [`MAX_ACCOUNTS`] names, the least suspicious dropped first; [`MAX_WAITING`]
//! waiting attempts; an attempt that would wait longer than two of the longest pauses is refused. Attempts
//! admitted together before the first failure are not recalled: the queue of hashes limits those.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use qm_kernel::{Ctx, Timestamp};
use qm_lanes::IgnorePoison;

use crate::error::IdentityError;

const MAX_ACCOUNTS: usize = 10_000;
const MAX_WAITING: usize = 256;

/// Delays after wrong guesses.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Number of failures without a delay.
    pub free: u32,
    /// Pause after the next failure; it doubles with each further one.
    pub first: Duration,
    pub longest: Duration,
    /// Time without a failure after which the count restarts.
    pub forgiven: Duration,
}

impl Pace {
    /// The production values: at the longest pause about 10,000 guesses a day per account, over all clients.
    pub const STANDARD: Pace = Pace {
        free: 5,
        first: Duration::from_millis(250),
        longest: Duration::from_secs(8),
        forgiven: Duration::from_mins(15),
    };

    fn after(self, failures: u32) -> Duration {
        match failures.checked_sub(self.free) {
            None | Some(0) => Duration::ZERO,
            Some(over) => self
                .first
                .saturating_mul(1_u32.checked_shl(over - 1).unwrap_or(u32::MAX))
                .min(self.longest),
        }
    }
}

/// Place of a guess, with its own counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Door {
    Login,
    /// Routes of the own account, behind a token.
    Account,
}

/// Counts and delays. Clones share one state.
#[derive(Clone)]
pub struct Guesses {
    pace: Pace,
    counts: Arc<Mutex<HashMap<(Door, Box<str>), Count>>>,
    waiting: Arc<AtomicUsize>,
    ctx: Ctx,
}

#[derive(Clone, Copy)]
struct Count {
    failures: u32,
    last: Timestamp,
    /// Earliest time of the next attempt.
    free_at: Timestamp,
}

impl Guesses {
    pub fn new(pace: Pace, ctx: Ctx) -> Self {
        Self {
            pace,
            counts: Arc::default(),
            waiting: Arc::default(),
            ctx,
        }
    }

    /// Waits until an attempt at this account may be checked.
    pub async fn wait(&self, door: Door, username: &str) -> Result<(), IdentityError> {
        let pause = self.delay(door, username, self.ctx.now())?;
        if pause.is_zero() {
            return Ok(());
        }
        let place = Place::take(&self.waiting).ok_or(IdentityError::TooManyAttempts)?;
        tokio::time::sleep(pause).await;
        drop(place);
        Ok(())
    }

    /// Waiting time of the attempt. Concurrent attempts queue and are checked one by one.
    fn delay(&self, door: Door, username: &str, now: Timestamp) -> Result<Duration, IdentityError> {
        let mut counts = self.counts();
        let Some(count) = counts.get_mut(&(door, username.into())) else {
            return Ok(Duration::ZERO);
        };
        let pause = self.pace.after(count.failures);
        if pause.is_zero() || now.since(count.last) >= self.pace.forgiven {
            return Ok(Duration::ZERO);
        }
        let wait = count.free_at.since(now);
        if wait > self.pace.longest.saturating_mul(2) {
            return Err(IdentityError::TooManyAttempts);
        }
        count.free_at = count.free_at.max(now).plus(pause);
        Ok(wait)
    }

    /// Counts a wrong attempt.
    pub fn failed(&self, door: Door, username: &str) {
        let now = self.ctx.now();
        let mut counts = self.counts();
        let key = (door, Box::from(username));
        if counts.len() >= MAX_ACCOUNTS && !counts.contains_key(&key) {
            make_room(&mut counts, self.pace, now);
        }
        let count = counts.entry(key).or_insert(Count {
            failures: 0,
            last: now,
            free_at: now,
        });
        if now.since(count.last) >= self.pace.forgiven {
            count.failures = 0;
        }
        count.failures = count.failures.saturating_add(1);
        count.last = now;
        count.free_at = count.free_at.max(now.plus(self.pace.after(count.failures)));
    }

    /// Number of waiting attempts.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<(Door, Box<str>), Count>> {
        self.counts.lock().ignore_poison()
    }
}

/// Drops expired counts, or else those with the fewest and oldest failures.
fn make_room(counts: &mut HashMap<(Door, Box<str>), Count>, pace: Pace, now: Timestamp) {
    counts.retain(|_, count| now.since(count.last) < pace.forgiven);
    if counts.len() >= MAX_ACCOUNTS {
        let least = counts
            .iter()
            .min_by_key(|(_, count)| (count.failures, count.last))
            .map(|(key, _)| key.clone());
        if let Some(key) = least {
            counts.remove(&key);
        }
    }
}

/// Place of a waiting attempt; released when it ends or its caller hangs up.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(waiting: &'a AtomicUsize) -> Option<Self> {
        let more = |taken: usize| (taken < MAX_WAITING).then_some(taken + 1);
        waiting
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .ok()
            .map(|_| Self(waiting))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use qm_test_base::Hands;

    use super::*;

    fn guesses() -> (Guesses, Arc<Hands>) {
        let hands = Hands::starting_at(1_000_000);
        (Guesses::new(Pace::STANDARD, hands.ctx_without_chance()), hands)
    }

    impl Guesses {
        fn asked(&self, name: &str) -> Option<u64> {
            let delay = self.delay(Door::Login, name, self.ctx.now());
            delay.ok().map(|delay| delay.as_millis() as u64)
        }
    }

    #[test]
    fn the_delay_grows_to_its_longest_and_never_beyond() {
        let (guesses, hands) = guesses();
        let mut delays = Vec::new();
        for _ in 0..12 {
            let delay = guesses.asked("jo").expect("never a lock");
            hands.advance(Duration::from_millis(delay));
            guesses.failed(Door::Login, "jo");
            delays.push(delay);
        }
        assert_eq!(delays, [0, 0, 0, 0, 0, 0, 250, 500, 1000, 2000, 4000, 8000]);
        assert_eq!(
            guesses.asked("jo"),
            Some(8000),
            "and again, and judged afterwards"
        );
        assert_eq!(guesses.asked("someone else"), Some(0));
        assert_eq!(
            guesses.delay(Door::Account, "jo", guesses.ctx.now()).ok(),
            Some(Duration::ZERO)
        );
        hands.advance(Pace::STANDARD.forgiven);
        assert_eq!(guesses.asked("jo"), Some(0), "forgiven");
        guesses.failed(Door::Login, "jo");
        assert_eq!(guesses.asked("jo"), Some(0), "and counted anew");
    }

    #[test]
    fn attempts_together_are_judged_one_by_one_and_too_many_are_sent_away() {
        let (guesses, hands) = guesses();
        for _ in 0..30 {
            guesses.failed(Door::Login, "jo");
        }
        assert_eq!(guesses.asked("jo"), Some(8_000));
        assert_eq!(guesses.asked("jo"), Some(16_000));
        assert_eq!(guesses.asked("jo"), None);
        hands.advance(Duration::from_secs(8));
        assert_eq!(
            guesses.asked("jo"),
            Some(16_000),
            "whoever comes back finds a turn"
        );
    }

    #[test]
    fn names_nobody_has_do_not_push_out_an_account_under_attack() {
        let (guesses, hands) = guesses();
        for _ in 0..10 {
            guesses.failed(Door::Login, "jo");
        }
        for number in 0..MAX_ACCOUNTS + 50 {
            hands.advance(Duration::from_millis(1));
            guesses.failed(Door::Login, &format!("nobody{number}"));
        }
        assert_eq!(guesses.counts().len(), MAX_ACCOUNTS);
        assert!(guesses.counts().contains_key(&(Door::Login, "jo".into())));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_is_slept_and_gives_its_place_back() {
        let (guesses, _) = guesses();
        for _ in 0..8 {
            guesses.failed(Door::Login, "jo");
        }
        let began = tokio::time::Instant::now();
        guesses.wait(Door::Login, "jo").await.expect("judged in the end");
        let slept = began.elapsed().as_millis();
        assert!(
            (1000..1100).contains(&slept) && guesses.waiting() == 0,
            "{slept} ms"
        );
        let waiting = tokio::time::timeout(Duration::from_millis(1), guesses.wait(Door::Login, "jo"));
        assert!(
            waiting.await.is_err() && guesses.waiting() == 0,
            "also for who hangs up"
        );
    }
}
