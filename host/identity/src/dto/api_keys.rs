//! Bodies of `/api/api-keys`.

use qm_kernel::Timestamp;
use qm_web::FromBody;
use serde::Serialize;
use utoipa::ToSchema;

use super::is_printable;
use crate::model::answers::{ApiKey, NewApiKey};

const MAX_NAME: usize = 120;
const MAX_SCOPES: usize = 100;
const MAX_SCOPE: usize = 120;

/// A key to make.
#[derive(ToSchema, FromBody)]
pub struct CreateApiKey {
    /// Name chosen by the user.
    #[field(min = 1, max = MAX_NAME, check(is_printable, "must not contain control characters"))]
    #[schema(example = "backup script")]
    pub name: String,
    /// Kept and shown; nothing is decided on them.
    #[field(max_items = MAX_SCOPES, each_max = MAX_SCOPE, default)]
    pub scopes: Vec<String>,
}

/// A key just made.
#[derive(Serialize, ToSchema)]
pub struct CreatedApiKey {
    #[schema(example = "key_0f3a19bc2744")]
    pub prefix: String,
    /// The whole key, shown once.
    pub key: String,
    pub name: String,
}

/// A key; its secret half is kept as a hash only.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiKeyView {
    /// UUID.
    pub id: String,
    pub name: String,
    #[schema(example = "key_0f3a19bc2744")]
    pub prefix: String,
    pub scopes: Vec<String>,
    /// Always null: keys are no credential.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_used_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub revoked_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

impl From<ApiKey> for ApiKeyView {
    fn from(key: ApiKey) -> Self {
        let ApiKey {
            id,
            name,
            prefix,
            scopes,
            last_used_at,
            revoked_at,
            created_at,
        } = key;
        Self {
            id,
            name,
            prefix,
            scopes,
            last_used_at,
            revoked_at,
            created_at,
        }
    }
}

impl From<NewApiKey> for CreatedApiKey {
    fn from(made: NewApiKey) -> Self {
        Self {
            prefix: made.prefix,
            key: made.key.expose().to_owned(),
            name: made.name,
        }
    }
}
