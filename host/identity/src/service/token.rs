//! Access tokens: JWTs signed with HS256 by the `jsonwebtoken` crate, which accepts only this algorithm.
//!
//! Owns: the signing key. Never: reads the database; the claims are the whole principal.
//! Expiry is judged here, by the clock of [`Ctx`]: the crate would ask the machine's.
//! Bounds: a token longer than 16 KiB is refused unread.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use qm_kernel::{
    Ctx, Permission, PermissionSet, Principal, Role, Secret, Timestamp, TokenError, TokenVerifier,
};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

const ALGORITHM: Algorithm = Algorithm::HS256;
const ACCESS: &str = "access";
const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// Issues and verifies access tokens.
pub struct TokenService {
    signing: EncodingKey,
    verifying: DecodingKey,
    validation: Validation,
    ttl: Duration,
    ctx: Ctx,
}

/// User to issue a token to.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    pub user_id: &'a str,
    pub username: &'a str,
    pub roles: &'a [Role],
    pub permissions: PermissionSet,
}

#[derive(Serialize)]
struct ClaimsOut<'a> {
    sub: &'a str,
    username: &'a str,
    roles: &'a [Role],
    permissions: Vec<Permission>,
    r#type: &'static str,
    iat: i64,
    exp: i64,
}

/// Parsed leniently: a token of another `type` may lack the other claims.
#[derive(Deserialize)]
struct ClaimsIn {
    sub: Option<String>,
    username: Option<String>,
    #[serde(default)]
    roles: Vec<String>,
    #[serde(default)]
    permissions: Vec<String>,
    r#type: Option<String>,
    exp: i64,
}

/// Header fields that the token crate ignores.
#[derive(Deserialize)]
struct Extensions {
    /// Extensions a verifier must understand (RFC 7515 §4.1.11); we understand none.
    crit: Option<IgnoredAny>,
}

impl TokenService {
    /// `secret` is `JWT_ACCESS_SECRET`, `ttl` is `JWT_ACCESS_TTL`.
    pub fn new(secret: &Secret, ttl: Duration, ctx: Ctx) -> Self {
        Self::keyed(secret.expose().as_bytes(), ttl, ctx)
    }

    fn keyed(secret: &[u8], ttl: Duration, ctx: Ctx) -> Self {
        let mut validation = Validation::new(ALGORITHM);
        // Turns off checks of the crate that use the machine's clock or unused names.
        validation.required_spec_claims = HashSet::new();
        validation.validate_exp = false;
        validation.validate_nbf = false;
        validation.validate_aud = false;
        Self {
            signing: EncodingKey::from_secret(secret),
            verifying: DecodingKey::from_secret(secret),
            validation,
            ttl,
            ctx,
        }
    }

    /// A token that is valid from now on for the configured time.
    pub fn issue(&self, subject: &Subject<'_>) -> Result<String, jsonwebtoken::errors::Error> {
        let now = self.ctx.now();
        let claims = ClaimsOut {
            sub: subject.user_id,
            username: subject.username,
            roles: subject.roles,
            permissions: subject.permissions.iter().collect(),
            r#type: ACCESS,
            iat: now.secs(),
            exp: now.plus(self.ttl).secs(),
        };
        jsonwebtoken::encode(&Header::new(ALGORITHM), &claims, &self.signing)
    }

    /// The claims of a token whose header says HS256 and whose signature is ours; `None` for anything else.
    fn signed_claims<T: DeserializeOwned>(&self, token: &str) -> Option<T> {
        if token.len() > MAX_TOKEN_BYTES {
            return None;
        }
        let signed = jsonwebtoken::decode(token, &self.verifying, &self.validation).ok()?;
        let (header, _) = token.split_once('.')?;
        let header = BASE64_URL_SAFE_NO_PAD.decode(header).ok()?;
        let extensions: Extensions = serde_json::from_slice(&header).ok()?;
        extensions.crit.is_none().then_some(signed.claims)
    }
}

impl TokenVerifier for TokenService {
    fn verify(&self, token: &str) -> Result<Principal, TokenError> {
        let claims: ClaimsIn = self.signed_claims(token).ok_or(TokenError::Unauthorized)?;
        if self.ctx.now().secs() >= claims.exp {
            return Err(TokenError::Unauthorized);
        }
        if claims.r#type.as_deref() != Some(ACCESS) {
            return Err(TokenError::WrongType);
        }
        let (Some(sub), Some(username)) = (claims.sub, claims.username) else {
            return Err(TokenError::Unauthorized);
        };
        // Names unknown to this version (from a token of another version) grant nothing.
        Ok(Principal {
            user_id: Arc::from(sub),
            username: Arc::from(username),
            roles: claims
                .roles
                .iter()
                .filter_map(|name| Role::from_name(name))
                .collect(),
            permissions: claims
                .permissions
                .iter()
                .filter_map(|key| Permission::from_key(key))
                .collect(),
            expires_at: Timestamp::from_secs(claims.exp),
        })
    }
}

#[cfg(test)]
#[path = "token_tests.rs"]
mod tests;
