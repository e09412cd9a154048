//! Time limits on silence instead of duration: a long answer is fine as long as bytes arrive.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// Counts the bytes of both directions. A supervisor that sees it grow knows that a slow call is alive.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<AtomicU64>);

impl Progress {
    /// Bytes so far.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Records `bytes` more.
    pub fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// Silence for longer than allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silent;

/// Runs `work` until it ends or `progress` has stood still for `idle` (checked four times in that span).
pub async fn unless_silent<T>(
    idle: Duration,
    progress: &Progress,
    work: impl Future<Output = T>,
) -> Result<T, Silent> {
    let mut work = pin!(work);
    let mut seen = progress.bytes();
    let mut quiet_since = Instant::now();
    loop {
        let look = (quiet_since + idle).min(Instant::now() + idle / 4);
        if let Ok(done) = tokio::time::timeout_at(look, work.as_mut()).await {
            return Ok(done);
        }
        let now = progress.bytes();
        if now != seen {
            (seen, quiet_since) = (now, Instant::now());
        } else if quiet_since.elapsed() >= idle {
            return Err(Silent);
        }
    }
}
