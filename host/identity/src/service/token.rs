//! Access tokens: JWTs signed with HS256, the one algorithm there is, so that there is none to confuse it with.
//!
//! Owns: the signing key. Never: reads the database; the claims are the whole principal.
//! Bounds: a token longer than 16 KiB is refused unread.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use qm_kernel::{
    Ctx, Permission, PermissionSet, Principal, Role, Secret, Timestamp, TokenError, TokenVerifier,
};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

const ALGORITHM: &str = "HS256";
const ACCESS: &str = "access";
const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// Issues and verifies access tokens.
pub struct TokenService {
    /// Keyed once; each token starts from a copy.
    mac: Hmac<Sha256>,
    ttl: Duration,
    ctx: Ctx,
}

/// Whom a token is issued to.
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

/// Read leniently: a token of another `type` need not carry our other claims to be told apart.
#[derive(Deserialize)]
struct ClaimsIn<'a> {
    #[serde(borrow)]
    sub: Option<Cow<'a, str>>,
    #[serde(borrow)]
    username: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    roles: Vec<Text<'a>>,
    #[serde(borrow, default)]
    permissions: Vec<Text<'a>>,
    #[serde(borrow)]
    r#type: Option<Cow<'a, str>>,
    exp: i64,
}

/// A text that is borrowed from the token unless it holds escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
struct Header<'a> {
    #[serde(borrow)]
    alg: Cow<'a, str>,
    /// Extensions a verifier must understand (RFC 7515 §4.1.11); we understand none.
    crit: Option<serde::de::IgnoredAny>,
}

impl TokenService {
    /// `secret` is `JWT_ACCESS_SECRET`, `ttl` is `JWT_ACCESS_TTL`.
    pub fn new(secret: &Secret, ttl: Duration, ctx: Ctx) -> Self {
        // HMAC takes keys of any length, so the fallback is never taken.
        let mac = Hmac::new_from_slice(secret.expose().as_bytes())
            .unwrap_or_else(|_| Hmac::new(&Default::default()));
        Self { mac, ttl, ctx }
    }

    /// A token that is good from now on for the configured time.
    pub fn issue(&self, subject: &Subject<'_>) -> Result<String, serde_json::Error> {
        let now = self.ctx.now();
        let claims = serde_json::to_vec(&ClaimsOut {
            sub: subject.user_id,
            username: subject.username,
            roles: subject.roles,
            permissions: subject.permissions.iter().collect(),
            r#type: ACCESS,
            iat: now.secs(),
            exp: now.plus(self.ttl).secs(),
        })?;
        let header = serde_json::to_vec(&serde_json::json!({ "alg": ALGORITHM, "typ": "JWT" }))?;
        let mut token = BASE64_URL_SAFE_NO_PAD.encode(header);
        token.push('.');
        BASE64_URL_SAFE_NO_PAD.encode_string(claims, &mut token);
        let signature = self.mac.clone().chain_update(&token).finalize().into_bytes();
        token.push('.');
        BASE64_URL_SAFE_NO_PAD.encode_string(signature, &mut token);
        Ok(token)
    }

    /// The claims of a token whose header says HS256 and whose signature is ours; `None` for anything else.
    fn signed_claims(&self, token: &str) -> Option<Vec<u8>> {
        if token.len() > MAX_TOKEN_BYTES {
            return None;
        }
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).ok()?;
        self.mac
            .clone()
            .chain_update(signed)
            .verify_slice(&signature)
            .ok()?;
        let header = BASE64_URL_SAFE_NO_PAD.decode(header).ok()?;
        let header: Header<'_> = serde_json::from_slice(&header).ok()?;
        if header.alg != ALGORITHM || header.crit.is_some() {
            return None;
        }
        BASE64_URL_SAFE_NO_PAD.decode(claims).ok()
    }
}

impl TokenVerifier for TokenService {
    fn verify(&self, token: &str) -> Result<Principal, TokenError> {
        let claims = self.signed_claims(token).ok_or(TokenError::Unauthorized)?;
        let claims: ClaimsIn<'_> = serde_json::from_slice(&claims).map_err(|_| TokenError::Unauthorized)?;
        if self.ctx.now().secs() >= claims.exp {
            return Err(TokenError::Unauthorized);
        }
        if claims.r#type.as_deref() != Some(ACCESS) {
            return Err(TokenError::WrongType);
        }
        let (Some(sub), Some(username)) = (claims.sub, claims.username) else {
            return Err(TokenError::Unauthorized);
        };
        // Names this release does not know (a token of an older or newer one) grant nothing.
        Ok(Principal {
            user_id: Arc::from(sub),
            username: Arc::from(username),
            roles: claims
                .roles
                .iter()
                .filter_map(|name| Role::from_name(&name.0))
                .collect(),
            permissions: claims
                .permissions
                .iter()
                .filter_map(|key| Permission::from_key(&key.0))
                .collect(),
            expires_at: Timestamp::from_secs(claims.exp),
        })
    }
}

#[cfg(test)]
#[path = "token_tests.rs"]
mod tests;
