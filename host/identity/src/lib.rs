//! Identity: who may come in, and as whom.
//!
//! Owns users, roles, refresh tokens and the signing of access tokens.
//! Invariants: a principal comes from the claims of its token alone; a password and a refresh token are stored as
//! hashes only; every failed login reads alike; a refresh token is good once.
//! Events: `security.login_failed`, `security.password_changed`.
//! Bounds: two password hashes at a time; expired tokens are pruned hourly.

mod dto;
mod error;
mod events;
mod model;
mod repo;
mod routes;
mod service;

pub use error::IdentityError;
pub use events::EVENTS;
pub use model::{Account, FirstAdmin, NewUser};
pub use routes::routes;
pub use service::login::Credentials;
pub use service::password::HashCost;
pub use service::seed::Seeded;
pub use service::session::Session;
pub use service::token::{Subject, TokenService};
pub use service::{Identity, IdentityDeps};

#[cfg(test)]
mod tests;
