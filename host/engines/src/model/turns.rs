//! Turns of tasks that would get in each other's way at one thing, such as a torrent or an engine: one runs at a time, the others wait in
//! the order in which they came.
//!
//! Bounds: one lock a thing that somebody works on; those nobody holds or waits for are dropped when the next is taken.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use qm_lanes::IgnorePoison;
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

/// Locks by name.
#[derive(Default)]
pub struct Turns(Mutex<HashMap<String, Weak<Turn<()>>>>);

impl Turns {
    /// Waits until nobody else holds any of `names`. The order they are given in does not matter.
    pub async fn take(&self, mut names: Vec<String>) -> Vec<OwnedMutexGuard<()>> {
        // Taken in one order by everybody, so that two never wait for each other.
        names.sort_unstable();
        names.dedup();
        let mut held = Vec::with_capacity(names.len());
        for name in names {
            held.push(self.lock(name).lock_owned().await);
        }
        held
    }

    fn lock(&self, name: String) -> Arc<Turn<()>> {
        let mut locks = self.0.lock().ignore_poison();
        if let Some(lock) = locks.get(&name).and_then(Weak::upgrade) {
            return lock;
        }
        locks.retain(|_, lock| lock.strong_count() > 0);
        let lock = Arc::new(Turn::new(()));
        locks.insert(name, Arc::downgrade(&lock));
        lock
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn two_that_come_again_and_again_alternate() {
        let turns = Arc::new(Turns::default());
        let one = || vec!["one".to_owned()];
        let held = turns.take(one()).await;
        let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
        let mut tasks = Vec::new();
        for name in ["a", "b"] {
            let (turns, told) = (turns.clone(), told.clone());
            tasks.push(tokio::spawn(async move {
                for _ in 0..3 {
                    let _turn = turns.take(one()).await;
                    told.send(name).unwrap();
                }
            }));
            // It stands in the queue before the next one comes.
            tokio::task::yield_now().await;
        }
        drop(held);
        for task in tasks {
            task.await.unwrap();
        }
        drop(told);
        let mut order = Vec::new();
        while let Some(name) = heard.recv().await {
            order.push(name);
        }
        assert_eq!(order, ["a", "b", "a", "b", "a", "b"]);
    }

    #[tokio::test]
    async fn one_at_a_time_for_each_name() {
        let turns = Turns::default();
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let held = turns.take(names(&["b", "a", "b"])).await;
        assert_eq!(held.len(), 2);
        let other = turns.take(names(&["c"])).await;
        let waiting = turns.take(names(&["d", "a"]));
        assert!(
            tokio::time::timeout(Duration::from_millis(50), waiting)
                .await
                .is_err()
        );
        drop((held, other));
        assert_eq!(turns.take(names(&["d", "a"])).await.len(), 2);
        turns.take(names(&["e"])).await;
        assert_eq!(turns.0.lock().unwrap().len(), 1);
    }
}
