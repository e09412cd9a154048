//! Tier 0: the words every other crate speaks. Ids, instants, errors, permissions, the principal, the mandate of a server and
//! the shape of a domain event ([`event`]). What areas offer each other is in `qm-ports`.
//!
//! Owns no I/O: no axum, no sqlx, no wasmtime, no sockets. Time and randomness come from [`Ctx`], which tests freeze.

pub mod address;
pub mod auth;
pub mod beat;
pub mod context;
pub mod error;
pub mod event;
pub mod mandate;
pub mod page;
pub mod permission;
pub mod secret;
pub mod time;
pub mod timezone;

pub use address::AddressBlock;
pub use auth::{Caller, ClientInfo, Principal, Requester, TokenError, TokenVerifier};
pub use beat::{BEAT, next_beat};
pub use context::{Clock, Ctx, Rng};
pub use error::{ErrorKind, as_error};
pub use mandate::Mandate;
pub use page::{Page, PageQuery};
pub use permission::{Permission, PermissionSet, Role};
pub use secret::Secret;
pub use time::Timestamp;
