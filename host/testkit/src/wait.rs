//! Waiting on conditions: every wait has a name and a deadline, and says both when it gives up.

use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;

/// Longest time that anything on this machine may take before a test gives up. Generous: a loaded two-core machine is no
/// failure, and a client that has to find its peer again takes more than a minute on an idle one.
pub const PATIENCE: Duration = Duration::from_mins(4);

const PAUSE: Duration = Duration::from_millis(40);

/// Asks `probe` until it gives a value.
///
/// # Panics
/// When [`PATIENCE`] has run out, naming `what`.
pub async fn until<T, F, Fut>(what: &str, mut probe: F) -> T
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Option<T>>,
{
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(value) = probe().await {
            return value;
        }
        assert!(
            Instant::now() < deadline,
            "gave up waiting for {what} after {PATIENCE:?}"
        );
        tokio::time::sleep(PAUSE).await;
    }
}

/// Waits until `probe` says yes.
pub async fn until_true<F, Fut>(what: &str, mut probe: F)
where
    F: FnMut() -> Fut,
    Fut: Future<Output = bool>,
{
    until(what, || {
        let probe = probe();
        async move { probe.await.then_some(()) }
    })
    .await;
}
