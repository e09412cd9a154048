//! The caller of a request. A principal is made from the access token's claims alone, without the database.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use crate::permission::{Permission, PermissionSet, Role};
use crate::time::Timestamp;

/// The caller of a request, from the claims of a verified access token.
#[derive(Clone, Debug)]
pub struct Principal {
    /// `sub`: the user's id (UUID text).
    pub user_id: Arc<str>,
    pub username: Arc<str>,
    pub roles: Vec<Role>,
    pub permissions: PermissionSet,
    /// `exp`: from this instant on the token is refused.
    pub expires_at: Timestamp,
}

impl Principal {
    /// `SUPER_ADMIN` holds everything and is never checked.
    pub fn is_super_admin(&self) -> bool {
        self.roles.contains(&Role::SuperAdmin)
    }

    pub fn has_permission(&self, permission: Permission) -> bool {
        self.is_super_admin() || self.permissions.contains(permission)
    }

    /// Those of `needed` that the principal lacks, in the order given.
    pub fn missing(&self, needed: &[Permission]) -> Vec<Permission> {
        needed
            .iter()
            .copied()
            .filter(|p| !self.has_permission(*p))
            .collect()
    }
}

/// Where a request came from; recorded with audit rows and refresh tokens, never used to authorise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientInfo {
    /// The address one trusted hop behind the peer.
    pub ip: IpAddr,
    /// Address for audit rows: the whole `X-Forwarded-For` text if there is one, else `ip`. Empty where no request is behind it.
    pub forwarded: String,
    pub user_agent: Option<String>,
    pub request_id: String,
}

/// The user behind a request, as the token claims, and the client it came from.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    pub principal: &'a Principal,
    pub client: &'a ClientInfo,
}

impl<'a> Caller<'a> {
    pub fn user_id(self) -> &'a str {
        &self.principal.user_id
    }

    /// True if no request is behind it: the server works for somebody by itself ([`Requester::absent`]).
    pub fn is_absent(self) -> bool {
        self.client.forwarded.is_empty()
    }

    /// Copy for work that outlives the request.
    pub fn to_requester(self) -> Requester {
        Requester {
            principal: self.principal.clone(),
            client: self.client.clone(),
        }
    }
}

/// Caller that owns its values: the extractor of routes makes it once, and work that outlives a request keeps it.
#[derive(Clone, Debug)]
pub struct Requester {
    pub principal: Principal,
    pub client: ClientInfo,
}

impl Requester {
    pub fn caller(&self) -> Caller<'_> {
        Caller {
            principal: &self.principal,
            client: &self.client,
        }
    }

    /// A user for whom the server works by itself: the author of a rule, or whoever set up a library. `powers` are those
    /// that were judged for this work, whose id is `work`. There is no token and no address, and it counts for no role.
    pub fn absent(user_id: &str, powers: PermissionSet, work: &str) -> Self {
        Self {
            principal: Principal {
                user_id: user_id.into(),
                username: "".into(),
                roles: Vec::new(),
                permissions: powers,
                expires_at: Timestamp::from_ms(0),
            },
            client: ClientInfo {
                ip: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
                forwarded: String::new(),
                user_agent: None,
                request_id: work.to_owned(),
            },
        }
    }

    /// True for [`Requester::absent`].
    pub fn is_absent(&self) -> bool {
        self.caller().is_absent()
    }
}

/// Why a bearer token is refused. Each becomes a 401.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Missing, malformed, badly signed or expired; callers learn no more than `Unauthorized`.
    #[error("Unauthorized")]
    Unauthorized,
    /// Well signed, but its `type` claim is not `access`.
    #[error("Invalid token type")]
    WrongType,
}

/// Checks an access token. Implemented by `identity`, used by the guard of `web` and by the realtime channel.
pub trait TokenVerifier: Send + Sync {
    fn verify(&self, token: &str) -> Result<Principal, TokenError>;
}
