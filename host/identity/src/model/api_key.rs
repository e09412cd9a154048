//! API keys: `<prefix>.<secret>`, shown once. They are issued and listed; no route takes one as a credential.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use qm_kernel::{Ctx, Secret};

const PREFIX_BYTES: usize = 6;
const SECRET_BYTES: usize = 24;

/// A new public prefix: `key_` and twelve hexadecimal digits.
pub fn new_prefix(ctx: &Ctx) -> String {
    format!("key_{}", hex::encode(ctx.bytes::<PREFIX_BYTES>()))
}

/// A new secret part.
pub fn new_secret(ctx: &Ctx) -> Secret {
    Secret::new(BASE64_URL_SAFE_NO_PAD.encode(ctx.bytes::<SECRET_BYTES>()))
}

/// Prefix and secret as one text for the user.
pub fn whole(prefix: &str, secret: &Secret) -> Secret {
    Secret::new(format!("{prefix}.{}", secret.expose()))
}
