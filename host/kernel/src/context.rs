//! Time and randomness as arguments: production passes the system's, tests freeze both.

use std::sync::Arc;

use crate::time::Timestamp;

/// Wall-clock time.
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;
}

/// A cryptographically secure source of bytes in production; a seeded one in tests.
pub trait Rng: Send + Sync {
    fn fill(&self, bytes: &mut [u8]);
}

/// Handed to every service: the only way to the clock and to randomness.
#[derive(Clone)]
pub struct Ctx {
    clock: Arc<dyn Clock>,
    rng: Arc<dyn Rng>,
}

impl Ctx {
    pub fn new(clock: Arc<dyn Clock>, rng: Arc<dyn Rng>) -> Self {
        Self { clock, rng }
    }

    /// The machine's clock and the operating system's randomness.
    pub fn system() -> Self {
        Self::new(Arc::new(SystemClock), Arc::new(SystemRng))
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.rng.fill(&mut bytes);
        bytes
    }

    /// A fresh id: UUID v4 text.
    pub fn id(&self) -> String {
        uuid::Builder::from_random_bytes(self.bytes())
            .into_uuid()
            .to_string()
    }

    /// A fresh id for one of very many rows: UUID v4 text, as every id is, but for its first 48 bits, which are the time in
    /// milliseconds. What is made later sorts later, so that the indexes of a table take a thousand new rows in a few pages, not
    /// in a thousand.
    pub fn ordered_id(&self) -> String {
        let mut bytes = self.bytes::<16>();
        let time = self.now().ms().max(0).to_be_bytes();
        bytes[..6].copy_from_slice(&time[2..]);
        uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
    }
}

struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[expect(
            clippy::disallowed_methods,
            reason = "the one place that reads the machine's clock"
        )]
        let now = jiff::Timestamp::now();
        Timestamp::from_ms(now.as_millisecond())
    }
}

struct SystemRng;

impl Rng for SystemRng {
    fn fill(&self, bytes: &mut [u8]) {
        #[expect(
            clippy::disallowed_methods,
            reason = "the one place that asks the system for randomness"
        )]
        let mut rng = rand::rng();
        rand::RngCore::fill_bytes(&mut rng, bytes);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;

    /// A clock that goes on by a millisecond whenever it is asked.
    struct Ticking(AtomicI64);

    impl Clock for Ticking {
        fn now(&self) -> Timestamp {
            Timestamp::from_ms(self.0.fetch_add(1, Ordering::Relaxed))
        }
    }

    #[test]
    fn ordered_ids_are_ids_like_others_and_sort_by_when_they_were_made() {
        let begun = 1_790_000_000_000;
        let ctx = Ctx::new(Arc::new(Ticking(AtomicI64::new(begun))), Arc::new(SystemRng));
        let ids: Vec<String> = (0..100).map(|_| ctx.ordered_id()).collect();
        assert!(ids.is_sorted(), "{ids:?}");
        for id in &ids {
            let id = uuid::Uuid::parse_str(id).unwrap();
            assert_eq!(
                (id.get_version_num(), id.get_variant()),
                (4, uuid::Variant::RFC4122)
            );
        }
    }
}
