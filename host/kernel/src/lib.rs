//! Tier 0: the words every other crate speaks. Ids, instants, errors, permissions, the principal, the shapes of a
//! torrent client ([`engine`]) and of a domain event ([`event`]).
//!
//! Owns no I/O: no axum, no sqlx, no wasmtime, no sockets. Time and randomness come from [`Ctx`], which tests freeze.

pub mod address;
pub mod auth;
pub mod carry;
pub mod channel;
pub mod context;
pub mod engine;
pub mod error;
pub mod event;
pub mod holder;
pub mod mandate;
pub mod page;
pub mod payload;
pub mod permission;
pub mod probe;
pub mod secret;
pub mod time;
pub mod timezone;

pub use address::AddressBlock;
pub use auth::{ClientInfo, Principal, TokenError, TokenVerifier};
pub use context::{Clock, Ctx, Rng};
pub use error::ErrorKind;
pub use holder::Holders;
pub use mandate::Mandate;
pub use page::{Page, PageQuery};
pub use payload::{TorrentPayload, TorrentPayloads};
pub use permission::{Permission, PermissionSet, Role};
pub use probe::{EngineProbe, EngineProbes};
pub use secret::Secret;
pub use time::Timestamp;
