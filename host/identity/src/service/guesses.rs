//! Guesses at passwords and codes, counted by account: whoever goes on being wrong waits longer and longer.
//!
//! It is a delay and never a lock: an attempt that has waited is judged like any other, and the pause stays below
//! [`Pace::longest`]. Logins from addresses that the account signed in from before are neither delayed nor counted, so
//! that nobody can keep the owner out from afar. A name that no account has is treated as one that has never signed in
//! anywhere: the delay tells nobody which names exist.
//!
//! Logins and the account's own routes are counted apart. Who guesses behind a stolen token cannot delay logins, and who
//! guesses at logins cannot delay the owner who is in; since only holders of a token get that far, known addresses are no
//! exception there.
//!
//! In memory: each server counts its own, so that two servers on one database allow twice as many guesses, and a start
//! forgets.
//! Bounds: [`MAX_ACCOUNTS`] names, the least suspicious forgotten first; [`MAX_WAITING`] attempts waiting; who would wait
//! longer than two of the longest pauses is told to come back. Attempts that were let in together before the first of
//! them failed are not called back: the queue of hashes bounds those.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use qm_kernel::{Ctx, Timestamp};

use crate::error::IdentityError;

const MAX_ACCOUNTS: usize = 10_000;
const MAX_WAITING: usize = 256;

/// The delays that wrong guesses cause.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Failures that cost nothing.
    pub free: u32,
    /// The pause after the next one; it doubles with each further one.
    pub first: Duration,
    pub longest: Duration,
    /// Without a failure for this long, the account starts anew.
    pub forgiven: Duration,
}

impl Pace {
    /// The pace of the service: at the longest pause some 10,000 guesses a day, all strangers together.
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

/// The place where somebody guesses: each has counts of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Door {
    Login,
    /// The routes of one's own account, behind a token.
    Account,
}

/// Counts and delays. Clones share one count.
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
    /// The next attempt is not judged before.
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

    /// Waits until an attempt at this account is to be judged.
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

    /// How long the attempt has to wait. It takes a turn of its own: those who come together are judged one by one.
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

    /// The attempt was wrong.
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

    /// Attempts that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<(Door, Box<str>), Count>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets who is forgiven anyway, or else whoever failed least and longest ago.
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

/// One of the attempts that wait; given back when it ends, or its caller hangs up.
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
        let hands = Hands::at(1_000_000);
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
