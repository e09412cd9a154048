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

    /// A fresh id for one of very many rows: UUID v7 text. What is made later sorts later, so that the indexes of a table
    /// take a thousand new rows in a few pages, not in a thousand.
    pub fn ordered_id(&self) -> String {
        let millis = self.now().ms().max(0).unsigned_abs();
        uuid::Builder::from_unix_timestamp_millis(millis, &self.bytes())
            .into_uuid()
            .to_string()
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
