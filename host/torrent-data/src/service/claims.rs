//! Claims on places whose data is being taken. Whoever wants data that lies in a claimed place, or around one, waits.
//!
//! Bounds: the paths of the orders under way; whoever waits longer than [`PATIENCE`] is refused.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use qm_lanes::IgnorePoison;
use tokio::sync::Notify;

/// Time limit on waiting for others.
const PATIENCE: Duration = Duration::from_secs(20);

/// Keys of paths with how many hold each.
type Held = BTreeMap<String, usize>;

#[derive(Clone, Default)]
pub struct Claims(Arc<Shared>);

#[derive(Default)]
struct Shared {
    held: Mutex<Held>,
    freed: Notify,
}

/// Holds places until it is dropped.
pub struct Claim {
    keys: Vec<String>,
    shared: Arc<Shared>,
}

impl Claims {
    /// Waits until nobody else holds a place that is one of these, contains one or lies in one; none when that takes too
    /// long. All or nothing: two that wait never hold what the other one waits for.
    pub async fn take(&self, paths: impl IntoIterator<Item = String>) -> Option<Claim> {
        // Sorted so, what lies in a directory stands right behind it.
        let mut keys: Vec<String> = paths.into_iter().map(|path| path.replace('/', "\0")).collect();
        keys.sort_unstable();
        keys.dedup();
        let taking = async {
            loop {
                let freed = self.0.freed.notified();
                tokio::pin!(freed);
                freed.as_mut().enable();
                if self.hold(&keys) {
                    break;
                }
                freed.await;
            }
        };
        tokio::time::timeout(PATIENCE, taking).await.ok()?;
        let shared = self.0.clone();
        Some(Claim { keys, shared })
    }

    fn hold(&self, keys: &[String]) -> bool {
        let mut held = self.0.held.lock().ignore_poison();
        if keys.iter().any(|key| is_touched(&held, key)) {
            return false;
        }
        for key in keys {
            *held.entry(key.clone()).or_default() += 1;
        }
        true
    }
}

fn is_touched(held: &Held, key: &str) -> bool {
    let is_in = |other: &str| {
        let rest = other.strip_prefix(key);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('\0'))
    };
    let next = held
        .range::<str, _>((Bound::Included(key), Bound::Unbounded))
        .next();
    next.is_some_and(|(other, _)| is_in(other))
        || key
            .match_indices('\0')
            .any(|(end, _)| held.contains_key(&key[..end]))
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut held = self.shared.held.lock().ignore_poison();
        for key in &self.keys {
            if let Some(count) = held.get_mut(key) {
                *count -= 1;
                if *count == 0 {
                    held.remove(key);
                }
            }
        }
        drop(held);
        self.shared.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn is_free(claims: &Claims, path: &str) -> bool {
        tokio::select! {
            biased;
            taken = claims.take([path.to_owned()]) => taken.is_some(),
            // What is free is had at once.
            () = std::future::ready(()) => false,
        }
    }

    #[tokio::test]
    async fn places_that_lie_in_one_another_are_held_by_one_at_a_time() {
        let claims = Claims::default();
        let held = claims
            .take(["/d/Show".to_owned(), "/d/x".to_owned()])
            .await
            .expect("free");
        for (path, free) in [
            ("/d/Show", false),
            ("/d/Show/S01", false),
            ("/d", false),
            ("/d/Show 2", true),
            ("/d/Sho", true),
            ("/e", true),
        ] {
            assert_eq!(is_free(&claims, path).await, free, "{path}");
        }
        let waiting = claims.clone();
        let waiting = tokio::spawn(async move { waiting.take(["/d".to_owned()]).await.is_some() });
        tokio::task::yield_now().await;
        drop(held);
        assert!(waiting.await.expect("no panic"), "who waits is let in");
        assert!(is_free(&claims, "/d/Show").await && claims.0.held.lock().ignore_poison().is_empty());
    }
}
