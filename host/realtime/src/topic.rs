//! A state source with its rendered frames. A full state is rendered when a writer asks for it, and shared
//! while any socket still holds it; then it is freed, because it is large.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use bytes::Bytes;
use qm_lanes::IgnorePoison;

use super::message::{self, Protocol};
use super::outbox::TopicId;
use super::{Room, StateSource};

pub(super) struct Topic {
    pub(super) number: TopicId,
    pub(super) id: String,
    pub(super) room: Room,
    source: Arc<dyn StateSource>,
    /// Increases with every change: an older rendering is not shared any more.
    version: AtomicU64,
    rendered: Mutex<[Cached; 3]>,
}

#[derive(Default)]
struct Cached {
    version: u64,
    full: Weak<Full>,
}

/// A full state as a frame.
pub(super) struct Full {
    pub(super) seq: u64,
    pub(super) frame: Bytes,
}

/// Form in which a client receives a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A snapshot with a sequence number, then deltas.
    Deltas(Protocol),
    /// Always the whole list: for Socket.IO clients that did not ask for deltas.
    List,
}

impl Topic {
    pub(super) fn new(number: TopicId, id: &str, source: Arc<dyn StateSource>) -> Self {
        let room = source.room();
        Self {
            number,
            id: id.to_owned(),
            room,
            source,
            version: AtomicU64::new(1),
            rendered: Mutex::default(),
        }
    }

    pub(super) fn event(&self) -> &'static str {
        self.source.event()
    }

    pub(super) fn touch(&self) {
        self.version.fetch_add(1, Ordering::Release);
    }

    pub(super) fn full(&self, form: Form) -> Arc<Full> {
        let slot = match form {
            Form::Deltas(Protocol::Plain) => 0,
            Form::Deltas(Protocol::SocketIo) => 1,
            Form::List => 2,
        };
        // Held while rendering, so that concurrent clients wait for one rendering instead of each making its
        // own.
        let mut cache = self.rendered.lock().ignore_poison();
        let version = self.version.load(Ordering::Acquire);
        let cached = &mut cache[slot];
        if cached.version == version
            && let Some(full) = cached.full.upgrade()
        {
            return full;
        }
        let (protocol, seq, data) = match form {
            Form::Deltas(protocol) => {
                let (seq, data) = self.source.snapshot();
                (protocol, seq, data)
            }
            Form::List => (Protocol::SocketIo, 0, self.source.full_list()),
        };
        let full = Arc::new(Full {
            seq,
            frame: message::event(protocol, self.event(), &data),
        });
        *cached = Cached {
            version,
            full: Arc::downgrade(&full),
        };
        full
    }
}
