//! Identity: authentication and user accounts.
//!
//! Owns users, roles, second factors, API keys, refresh tokens and the signing of access tokens.
//! Invariants: a principal comes from the claims of its token alone; a password, a refresh token and an API key are
//! stored as hashes only; every failed login reads alike; a refresh token, a code and a recovery code are good once;
//! there is always an active SUPER_ADMIN.
//! Events: `security.login_failed`, `.password_changed`, `.two_factor_disabled`, `.api_key_created`; `user.created`,
//! `user.role_changed`.
//! Bounds: two password hashes at a time; wrong passwords and codes slow an account's next ones down; expired tokens are
//! pruned hourly.

mod area;
mod dto;
mod error;
pub mod events;
mod model;
mod repo;
mod routes;
mod service;
mod settings;

pub use area::AREA;
pub use error::IdentityError;
pub use events::EVENTS;
pub use model::answers::Session;
pub use model::{Account, FirstAdmin, Listed, NewUser};
pub use repo::sealed::TotpSeeds;
pub use routes::routes;
pub use service::guesses::Pace;
pub use service::login::Credentials;
pub use service::operator::{Operator, Reset};
pub use service::password::HashCost;
pub use service::seed::Seeded;
pub use service::token::{Subject, TokenService};
pub use service::{Identity, IdentityDeps};

#[cfg(test)]
mod tests;
