//! Events that a database publishes.

use std::borrow::Cow;
use std::sync::{Mutex, MutexGuard};

use qm_kernel::event::{DomainEvent, EventSink};
use qm_lanes::IgnorePoison;
use serde_json::Value;

/// Keeps every event that it is told, in order.
#[derive(Default)]
pub struct Heard(Mutex<Vec<DomainEvent>>);

impl EventSink for Heard {
    fn publish(&self, event: DomainEvent) {
        self.events().push(event);
    }
}

impl Heard {
    fn events(&self) -> MutexGuard<'_, Vec<DomainEvent>> {
        self.0.lock().ignore_poison()
    }

    /// The keys of the events so far; they stay.
    pub fn keys(&self) -> Vec<Cow<'static, str>> {
        self.events()
            .iter()
            .map(|event| event.event_key.clone())
            .collect()
    }

    /// The events since the last call.
    pub fn take(&self) -> Vec<DomainEvent> {
        std::mem::take(&mut *self.events())
    }

    /// Keys and payloads of the events since the last call.
    ///
    /// # Panics
    /// When a key is that of no kind in the program.
    pub fn take_payloads(&self) -> Vec<(&'static str, Value)> {
        let events = self.take().into_iter();
        events
            .map(|event| match event.event_key {
                Cow::Borrowed(key) => (key, event.payload),
                Cow::Owned(key) => panic!("{key} is of no kind of ours"),
            })
            .collect()
    }
}
