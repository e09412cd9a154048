//! Turns of bulks at an engine: one part of one bulk at a time, in the order in which they came. Commands for single torrents take
//! none, so a bulk delays them by one part at most.
//!
//! Bounds: one semaphore an engine that bulks work on; those nobody holds or waits for are dropped when the next is made.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use qm_lanes::IgnorePoison;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Semaphores by the id of an engine.
#[derive(Default)]
pub struct Turns(Mutex<HashMap<Arc<str>, Weak<Semaphore>>>);

impl Turns {
    /// Waits for the turn at an engine. Waiting ones are served in their order, so two bulks alternate.
    pub async fn take(&self, engine_id: &Arc<str>) -> Option<OwnedSemaphorePermit> {
        self.semaphore(engine_id).acquire_owned().await.ok()
    }

    fn semaphore(&self, engine_id: &Arc<str>) -> Arc<Semaphore> {
        let mut all = self.0.lock().ignore_poison();
        if let Some(known) = all.get(engine_id).and_then(Weak::upgrade) {
            return known;
        }
        all.retain(|_, semaphore| semaphore.strong_count() > 0);
        let made = Arc::new(Semaphore::new(1));
        all.insert(engine_id.clone(), Arc::downgrade(&made));
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn two_bulks_of_an_engine_alternate_and_other_engines_do_not_wait() {
        let turns = Arc::new(Turns::default());
        let (one, other): (Arc<str>, Arc<str>) = ("one".into(), "other".into());
        let held = turns.take(&one).await;
        assert!(turns.take(&other).await.is_some());
        let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
        let mut tasks = Vec::new();
        for name in ["a", "b"] {
            let (turns, one, told) = (turns.clone(), one.clone(), told.clone());
            tasks.push(tokio::spawn(async move {
                for _ in 0..3 {
                    let _turn = turns.take(&one).await;
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
}
