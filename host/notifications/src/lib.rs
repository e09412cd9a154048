//! Notifications: messages to users about events, in an inbox and by channels that each user connects.
//!
//! Each event of the catalogue is consumed once: its recipients and their channels are stored in the
//! transaction that advances the consumer (one row per user and event, one per channel). A *worker* sends the
//! outgoing messages: it commits the begin of a send before, and the result after. Invariants: all data here
//! belongs to one user, and nobody sees that of another; a recipient holds the permission at the time of the
//! event; a message that may have arrived is not sent again; a failing or slow channel delays no other;
//! addresses, tokens and chats are stored encrypted, never shown, and deleted with their connection.
//! Deliberately absent: rules about recipients, quiet hours, digests, an administrator's view, a limit of the
//! inboxes, and audit records: a user's own notification settings are private.
//!
//! Events: none published. It consumes the events of the catalogue, which is the sum of the notifications that areas bring in
//! their `AREA`.

mod area;
mod dto;
mod error;
mod model;
mod repo;
mod routes;
mod service;
mod settings;
#[cfg(test)]
mod testing;

pub use area::AREA;
use routes::routes;
use service::{Notifications, NotificationsDeps};
