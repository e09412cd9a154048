//! Signs of life of the processes that move the data of torrents.

use std::time::Duration;

use qm_kernel::Timestamp;

/// Silence after which a move counts as abandoned.
pub const SILENCE: Duration = Duration::from_secs(10);

/// The instant after which a process must have given a sign of life; if it has not, it no longer works on its move.
pub fn silent_since(now: Timestamp) -> Timestamp {
    let silence = i64::try_from(SILENCE.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_ms(now.ms().saturating_sub(silence))
}
