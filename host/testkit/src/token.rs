//! Access tokens as an attacker would make them, and as the service does.

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::UNIX_EPOCH;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use qm_kernel::Role;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// `JWT_ACCESS_SECRET` of every [`crate::TestServer`].
pub const JWT_SECRET: &str = "test-signing-key-7f2c81d09b5e4a3c9d6e-not-used-anywhere";
/// `ENCRYPTION_KEY` of every [`crate::TestServer`].
pub const ENCRYPTION_KEY: &str = "test-sealing-key-0a94be6f1d2c4785b3f1-not-used-anywhere";

/// Claims of a valid token of a made-up user that holds `role` and expires at `exp` (unix seconds).
pub fn claims(role: Role, exp: i64) -> Value {
    let permissions: Vec<&str> = role.permissions().map(qm_kernel::Permission::key).collect();
    json!({
        "sub": "7b0d9b62-58a4-4f3c-9f0e-2d7cf2a4a001", "username": "somebody", "roles": [role.name()],
        "permissions": permissions, "type": "access", "iat": exp - 900, "exp": exp,
    })
}

/// A token of this header and these claims, signed with `secret` by HMAC-SHA256 whatever the header says.
pub fn sign(header: &Value, claims: &Value, secret: &str) -> String {
    signed(&unsigned(header, claims), secret.as_bytes())
}

/// `text` and its HMAC-SHA256.
fn signed(text: &str, key: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes any key");
    mac.update(text.as_bytes());
    format!(
        "{text}.{}",
        BASE64_URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())
    )
}

/// A media ticket that says `claims`, signed as the service signs its own.
pub fn ticket(claims: &Value) -> String {
    let mut derivation = Hmac::<Sha256>::new_from_slice(JWT_SECRET.as_bytes()).expect("HMAC takes any key");
    derivation.update(b"quartermaster media ticket");
    let key = derivation.finalize().into_bytes();
    signed(&BASE64_URL_SAFE_NO_PAD.encode(claims.to_string()), &key)
}

/// The claims of a ticket for what `file` leads to, as the service would make them.
pub fn ticket_claims(root: &Path, path: &str, file: &Path, user_id: &str, expires_ms: i64) -> Value {
    let mut hash = Sha256::new();
    if let Ok(found) = std::fs::metadata(file) {
        let made = found
            .created()
            .ok()
            .and_then(|made| made.duration_since(UNIX_EPOCH).ok());
        let made_ns = made.map_or(0, |since| since.as_nanos() as i128);
        hash.update(found.dev().to_be_bytes());
        hash.update(found.ino().to_be_bytes());
        hash.update(made_ns.to_be_bytes());
        hash.update(root.as_os_str().as_bytes());
    }
    let mark = BASE64_URL_SAFE_NO_PAD.encode(&hash.finalize()[..16]);
    json!({ "p": path, "f": mark, "u": user_id, "x": expires_ms })
}

/// `header.claims` without a signature.
pub fn unsigned(header: &Value, claims: &Value) -> String {
    let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", part(header), part(claims))
}

/// A good token of these claims.
pub fn good(claims: &Value) -> String {
    sign(&json!({ "alg": "HS256", "typ": "JWT" }), claims, JWT_SECRET)
}
