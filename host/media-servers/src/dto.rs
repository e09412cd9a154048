//! Requests and answers; never a row, never a domain type.

use qm_kernel::Timestamp;
use qm_web::{Fields, FromBody};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::model::{Change, MAX_CONFIG, MAX_KIND, MAX_NAME, Outcome, Shown};

/// A media server to connect.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = NewMediaServerIntegration)]
pub struct NewIntegration {
    /// `baseUrl` (or `url`), `token`, `apiKey`, `username`, `password`, `librarySectionId`: what its kind takes.
    #[field(with = config)]
    #[schema(value_type = Option<Object>)]
    pub config: Option<Map<String, Value>>,
    // Blank ones are refused with a text of their own.
    #[field(trim, max = MAX_NAME, default)]
    pub name: String,
    /// `plex`, `jellyfin`, `emby`, `kodi`, or what an installed plugin adds.
    #[field(trim, max = MAX_KIND, default)]
    #[schema(example = "jellyfin")]
    pub kind: String,
    pub is_enabled: Option<bool>,
}

/// Changes of a media server; absent fields stay.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = ChangedMediaServerIntegration)]
pub struct ChangedIntegration {
    /// Goes over the stored one by name; null takes a property away, and a secret of bullets alone stays. With another address
    /// the secrets that are not sent anew are dropped.
    #[field(with = config)]
    #[schema(value_type = Option<Object>)]
    pub config: Option<Map<String, Value>>,
    #[field(trim, max = MAX_NAME)]
    pub name: Option<String>,
    #[field(trim, max = MAX_KIND)]
    pub kind: Option<String>,
    pub is_enabled: Option<bool>,
}

fn config(f: &mut Fields<'_>, name: &'static str) -> Option<Map<String, Value>> {
    let config = f.object(name).optional()?;
    if Value::Object(config.clone()).to_string().len() > MAX_CONFIG {
        f.broken(format!("{name} must take no more than {MAX_CONFIG} bytes"));
    }
    Some(config)
}

impl From<NewIntegration> for Change {
    fn from(new: NewIntegration) -> Self {
        Self {
            name: Some(new.name),
            kind: Some(new.kind),
            is_enabled: new.is_enabled,
            config: new.config,
        }
    }
}

impl From<ChangedIntegration> for Change {
    fn from(changed: ChangedIntegration) -> Self {
        Self {
            name: changed.name,
            kind: changed.kind,
            is_enabled: changed.is_enabled,
            config: changed.config,
        }
    }
}

/// A media server. Its secrets are never shown.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaServerIntegration)]
pub struct IntegrationView {
    pub id: String,
    pub name: String,
    #[schema(example = "jellyfin")]
    pub kind: String,
    pub is_enabled: bool,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_refresh_at: Option<Timestamp>,
    /// Result of the last request: `unknown`, `online` or `offline`.
    pub status: String,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_health_check_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
    /// Each secret is `••••••••`, and so is what the plugin of its kind does not name.
    #[schema(value_type = Object)]
    pub config: Map<String, Value>,
    /// Secrets to enter again, because its address changed; until then it is not asked. Left out while there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub secrets_wanted: Vec<String>,
}

impl From<Shown> for IntegrationView {
    fn from(shown: Shown) -> Self {
        let integration = shown.integration;
        Self {
            id: integration.id,
            name: integration.name,
            kind: integration.kind,
            is_enabled: integration.is_enabled,
            last_refresh_at: integration.last_refresh_at,
            status: integration.status.as_str().to_owned(),
            last_health_check_at: integration.last_health_check_at,
            created_at: integration.created_at,
            updated_at: integration.updated_at,
            config: shown.config,
            secrets_wanted: shown.wanted,
        }
    }
}

/// Result of a test.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaServerTest)]
pub struct TestView {
    /// It answered, and took the credentials.
    pub ok: bool,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl From<Outcome> for TestView {
    fn from(outcome: Outcome) -> Self {
        match outcome.answer {
            Ok(about) => Self {
                ok: true,
                message: format!("{} answers.", about.name.as_deref().unwrap_or(&outcome.name)),
                server_name: about.name,
                version: about.version,
            },
            Err(message) => Self {
                ok: false,
                message,
                server_name: None,
                version: None,
            },
        }
    }
}

/// A refresh that was taken.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaServerRefresh)]
pub struct RefreshView {
    pub id: String,
    #[schema(value_type = String, format = DateTime)]
    pub last_refresh_at: Timestamp,
}

/// A media server that is connected no more.
#[derive(Serialize, ToSchema)]
#[schema(as = DeletedMediaServerIntegration)]
pub struct DeletedView {
    pub id: String,
    pub deleted: bool,
}
