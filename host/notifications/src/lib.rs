//! Notifications: what people are told of, in an inbox and by ways out of the house that they connect themselves.
//!
//! An event of the catalogue is consumed once: who is told, and by which channels, is stored in the transaction that moves
//! the consumer on (one row a person and event, one a channel). A *worker* sends what is to go out: what it begins is
//! committed before, how it went after.
//! Invariants: everything here is somebody's own, and nobody sees another one's; who is told holds the permission when they
//! are told; a message that may have arrived is not sent again; a channel that fails, or is slow, holds up no other; addresses,
//! tokens and chats are stored encrypted, never shown, and gone with their connection.
//! Deliberately absent: rules about who is told, quiet hours, digests, an administrator's view, an end to what is kept in
//! inboxes, and audit records: a person's own way of being told is nobody else's business.
//!
//! Events: none. It consumes what the catalogue (`model::catalogue`) lists.

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
pub use error::NotificationsError;
pub use routes::routes;
pub use service::{Notifications, NotificationsDeps};
