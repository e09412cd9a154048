//! Use cases of identity. No transaction is held while a password is hashed.

pub mod account;
mod acting;
pub mod api_keys;
pub mod guesses;
pub mod holder;
pub mod login;
pub mod operator;
pub mod password;
mod people;
pub mod seed;
pub mod session;
pub mod session_ends;
pub mod token;
pub mod two_factor;
pub mod upkeep;
pub mod users;

use std::sync::Arc;
use std::time::Duration;

use prometheus::{PullingGauge, Registry};
use qm_db::{Db, Tx};
use qm_kernel::event::{Cause, DomainEvent, Event};
use qm_kernel::{Caller, Ctx};
use qm_platform::{Audit, Cipher};
use tokio::sync::Notify;

use crate::error::IdentityError;
use crate::model::Account;
use crate::repo;
use crate::repo::users::UserRow;
use crate::service::guesses::{Guesses, Pace};
use crate::service::password::{HashCost, Passwords};
use crate::service::token::TokenService;

/// Dependencies of this area.
pub struct IdentityDeps {
    pub db: Db,
    pub audit: Audit,
    /// Encrypts and decrypts TOTP seeds.
    pub cipher: Cipher,
    pub tokens: Arc<TokenService>,
    pub hash_cost: HashCost,
    /// Delays after wrong passwords and codes.
    pub pace: Pace,
    /// `JWT_REFRESH_TTL_DAYS`.
    pub refresh_ttl: Duration,
    pub ctx: Ctx,
}

/// Service of accounts and sessions. Cheap to clone.
#[derive(Clone)]
pub struct Identity {
    inner: Arc<Inner>,
}

struct Inner {
    db: Db,
    audit: Audit,
    cipher: Cipher,
    tokens: Arc<TokenService>,
    passwords: Passwords,
    guesses: Guesses,
    refresh_ttl: Duration,
    /// Notified when a commit of this process has ended sessions.
    sessions_ended: Arc<Notify>,
    ctx: Ctx,
}

impl Identity {
    pub fn new(deps: IdentityDeps) -> Self {
        let IdentityDeps {
            db,
            audit,
            cipher,
            tokens,
            hash_cost,
            pace,
            refresh_ttl,
            ctx,
        } = deps;
        let passwords = Passwords::new(hash_cost, ctx.clone());
        let guesses = Guesses::new(pace, ctx.clone());
        let inner = Inner {
            db,
            audit,
            cipher,
            tokens,
            passwords,
            guesses,
            refresh_ttl,
            sessions_ended: Arc::default(),
            ctx,
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Registers the metrics of running and waiting password hashes, and of delayed attempts.
    pub fn register_metrics(&self, metrics: &Registry) -> Result<(), prometheus::Error> {
        type Read = fn(&Passwords) -> usize;
        let gauges: [(&str, &str, Read); 2] = [
            (
                "quartermaster_password_hashes_running",
                "Password hashes being computed.",
                |passwords| passwords.load().0,
            ),
            (
                "quartermaster_password_hashes_waiting",
                "Password hashes that wait for their turn.",
                |passwords| passwords.load().1,
            ),
        ];
        for (name, help, read) in gauges {
            let passwords = self.inner.passwords.clone();
            let gauge = PullingGauge::new(name, help, Box::new(move || read(&passwords) as f64))?;
            metrics.register(Box::new(gauge))?;
        }
        let (name, help) = (
            "quartermaster_login_attempts_delayed",
            "Attempts at passwords and codes that wait because earlier ones were wrong.",
        );
        let guesses = self.inner.guesses.clone();
        let gauge = PullingGauge::new(name, help, Box::new(move || guesses.waiting() as f64))?;
        metrics.register(Box::new(gauge))?;
        Ok(())
    }

    /// The user as stored now, for `GET /api/auth/me`.
    pub async fn account(&self, user_id: &str) -> Result<Account, IdentityError> {
        let mut tx = self.inner.db.begin_read().await?;
        let user = repo::users::find(&mut tx, user_id)
            .await?
            .ok_or(IdentityError::NoSuchUser)?;
        account_of(&mut tx, user).await
    }
}

impl Inner {
    /// Publishes an event about the user `subject`, caused by the caller, with `tx`.
    fn publish<E: Event>(&self, tx: &mut Tx, caller: Caller<'_>, subject: &str, payload: &E) {
        let event = DomainEvent::new(&self.ctx, Cause::request(caller.client), subject, payload);
        tx.publish(event.by(Some(caller.user_id())).concerning(subject));
    }
}

/// The user with the permissions of their roles.
async fn account_of(tx: &mut Tx, user: UserRow) -> Result<Account, IdentityError> {
    let (roles, permissions) = repo::roles::granted_to(tx, &user.id).await?;
    let UserRow {
        id,
        username,
        email,
        display_name,
        timezone,
        is_active,
        ..
    } = user;
    Ok(Account {
        id,
        username,
        email,
        display_name,
        timezone,
        is_active,
        roles,
        permissions,
    })
}
