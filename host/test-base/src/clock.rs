//! Time that stands still until a test moves it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use qm_kernel::{Clock, Ctx, Rng, Timestamp};

/// The instant at which most tests begin, in Unix milliseconds: 2031-03-30, 09:15 UTC.
pub const START_MS: i64 = 1_932_628_500_000;

/// A clock in the test's hands.
#[derive(Debug)]
pub struct Hands(AtomicI64);

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.0.load(Ordering::SeqCst))
    }
}

impl Hands {
    /// A clock that stands at this instant, in Unix milliseconds.
    pub fn starting_at(ms: i64) -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(ms)))
    }

    /// Puts it forward or back, to an instant in Unix milliseconds.
    pub fn set(&self, ms: i64) {
        self.0.store(ms, Ordering::SeqCst);
    }

    /// Puts it forward.
    pub fn advance(&self, by: Duration) {
        let ms = i64::try_from(by.as_millis()).expect("a time that fits a clock");
        self.0.fetch_add(ms, Ordering::SeqCst);
    }

    /// Time as this clock says, and the system's randomness: ids and tokens differ as they do in production.
    pub fn ctx(self: &Arc<Self>) -> Ctx {
        Ctx::new(self.clone(), Arc::new(SystemRandomness(Ctx::system())))
    }

    /// The same without randomness: every byte is a 7.
    pub fn ctx_without_chance(self: &Arc<Self>) -> Ctx {
        Ctx::new(self.clone(), Arc::new(Sevens))
    }
}

/// A clock that stands at [`START_MS`], and the context of it.
pub fn frozen() -> (Arc<Hands>, Ctx) {
    let hands = Hands::starting_at(START_MS);
    let ctx = hands.ctx();
    (hands, ctx)
}

struct SystemRandomness(Ctx);

impl Rng for SystemRandomness {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(16) {
            chunk.copy_from_slice(&self.0.bytes::<16>()[..chunk.len()]);
        }
    }
}

struct Sevens;

impl Rng for Sevens {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(7);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_moves_when_it_is_told_to() {
        let (hands, ctx) = frozen();
        assert_eq!(ctx.now(), Timestamp::from_ms(START_MS));
        assert_eq!(ctx.now(), Timestamp::from_ms(START_MS));
        hands.advance(Duration::from_secs(2));
        assert_eq!(ctx.now(), Timestamp::from_ms(START_MS + 2000));
        hands.set(5);
        assert_eq!(ctx.now(), Timestamp::from_ms(5));
        assert_ne!(ctx.id(), ctx.id());
        assert_eq!(hands.ctx_without_chance().bytes(), [7; 20]);
    }
}
