//! Realtime channel: events and live state for all connected browsers and scripts.
//!
//! One path, two protocols over it: Socket.IO v4 (there is an `EIO` in the query) and plain WebSocket messages
//! `{event, data}`. Rooms follow the token's permissions; a socket is in `authenticated`, in its user's room and in one
//! room a permission it holds.
//! Owns: sockets, their queues, the rendered messages. Never: what an event means.
//! Bounds: sockets in all and by caller, those without a token in all and by caller; a caller is an address, of IPv6 a
//! /64, and a /48 has twice as many. [`outbox`] and [`frame`] bound one socket.

mod audience;
mod ended_sessions;
mod frame;
mod hub;
mod message;
mod outbox;
mod routes;
mod session;
mod socket;
mod topic;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use qm_kernel::{Permission, Principal};
use serde::Serialize;

pub use audience::{AUDIENCES, Audience, Audiences};
pub use ended_sessions::SessionsEnded;
pub use hub::Hub;
pub use routes::ws_router;

/// Recipients of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Room {
    /// Everyone with a valid token.
    Authenticated,
    /// One user's sockets.
    User(Arc<str>),
    /// Everyone who holds the permission.
    Perm(Permission),
    /// Everyone who holds one of the permissions, and one user's sockets if there is such a user. A recipient
    /// by both ways gets the event once.
    Owner {
        user: Option<Arc<str>>,
        or: &'static [Permission],
    },
}

impl Room {
    fn admits(&self, principal: &Principal) -> bool {
        match self {
            Room::Authenticated => true,
            Room::User(id) => principal.user_id == *id,
            Room::Perm(permission) => principal.has_permission(*permission),
            Room::Owner { user, or } => {
                let is_owner = user.as_ref().is_some_and(|id| principal.user_id == *id);
                is_owner || or.iter().any(|permission| principal.has_permission(*permission))
            }
        }
    }
}

/// A state that clients follow: first the whole, then deltas. `seq` increases by one with each change.
pub trait StateSource: Send + Sync {
    fn room(&self) -> Room;
    /// Name of the event that carries it, e.g. `torrents:update`.
    fn event(&self) -> &'static str;
    /// The state and its sequence number, as JSON with `full: true`. Called from the task of a socket: must
    /// not block.
    fn snapshot(&self) -> (u64, Bytes);
    /// The whole state as JSON for clients without deltas.
    fn full_list(&self) -> Bytes;
}

/// Time and size limits; the defaults are those of the contract.
#[derive(Clone, Debug)]
pub struct HubConfig {
    /// Origins from which a browser may connect, besides the server's own.
    pub cors_origins: Vec<String>,
    pub ping_interval: Duration,
    /// Time for an answer to a ping.
    pub ping_timeout: Duration,
    /// Time for a token after the connection is open.
    pub connect_timeout: Duration,
    /// Time for which a socket outlives its token, so that the client can send a new one.
    pub expiry_grace: Duration,
    /// Lifetime of an access token; tells its time of issue.
    pub token_ttl: Duration,
    /// Time for which a reader may take nothing while data is waiting.
    pub stall_timeout: Duration,
    pub max_sockets: usize,
    pub max_per_address: usize,
    /// Largest number of sockets without a token. A socket with a valid token in the handshake does not
    /// count.
    pub max_waiting: usize,
    /// Largest number of sockets without a token per address.
    pub max_waiting_per_address: usize,
    /// Audiences of events; an undeclared event is sent to nobody.
    pub audiences: Audiences,
}

impl Default for HubConfig {
    fn default() -> Self {
        Self {
            cors_origins: Vec::new(),
            ping_interval: Duration::from_secs(25),
            ping_timeout: Duration::from_secs(20),
            connect_timeout: Duration::from_secs(45),
            expiry_grace: Duration::from_mins(1),
            token_ttl: Duration::from_mins(15),
            stall_timeout: Duration::from_secs(30),
            max_sockets: 4096,
            max_per_address: 1024,
            max_waiting: 1024,
            max_waiting_per_address: 256,
            audiences: AUDIENCES,
        }
    }
}

/// Counts for metrics. `sockets`, `authenticated` and the queue are present values, the rest counts since the
/// start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HubCounters {
    pub sockets: u64,
    pub authenticated: u64,
    pub queued_frames: u64,
    pub queued_bytes: u64,
    pub sent_frames: u64,
    pub sent_bytes: u64,
    /// Events dropped because a socket's queue was full.
    pub dropped: u64,
    /// Full states sent because a queue was full or a delta was missing.
    pub resyncs: u64,
    /// Handshakes refused: too many sockets, or an origin that is not listed.
    pub refused: u64,
    /// Sockets closed because their reader took nothing.
    pub stalled: u64,
}

#[cfg(test)]
mod tests;
