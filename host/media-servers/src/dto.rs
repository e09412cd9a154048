//! Requests and answers; never a row, never a domain type.

use qm_kernel::Timestamp;
use qm_web::{Fields, FromBody};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::model::{Change, MAX_CONFIG, MAX_KIND, MAX_NAME, Outcome, Shown};

/// A media server to connect.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = NewMediaServerIntegration)]
pub struct NewIntegration {
    #[schema(min_length = 1, max_length = 120)]
    pub name: String,
    /// `plex`, `jellyfin`, `emby`, `kodi`, or what an installed plugin adds.
    #[schema(max_length = 64, example = "jellyfin")]
    pub kind: String,
    #[schema(default = true)]
    pub is_enabled: Option<bool>,
    /// `baseUrl` (or `url`), `token`, `apiKey`, `username`, `password`, `librarySectionId`: what its kind takes.
    #[schema(value_type = Option<Object>)]
    pub config: Option<Map<String, Value>>,
}

/// Changes of a media server; absent fields stay.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = ChangedMediaServerIntegration)]
pub struct ChangedIntegration {
    #[schema(min_length = 1, max_length = 120)]
    pub name: Option<String>,
    #[schema(max_length = 64)]
    pub kind: Option<String>,
    pub is_enabled: Option<bool>,
    /// Goes over the stored one by name; null takes a property away, and a secret of bullets alone stays. With another address
    /// the secrets that are not sent anew are dropped.
    #[schema(value_type = Option<Object>)]
    pub config: Option<Map<String, Value>>,
}

impl ChangedIntegration {
    fn read(f: &mut Fields<'_>) -> Self {
        let trimmed = |text: Option<String>| text.map(|text| text.trim().to_owned());
        let config = f.object("config").optional();
        if let Some(config) = &config
            && Value::Object(config.clone()).to_string().len() > MAX_CONFIG
        {
            f.broken(format!("config must take no more than {MAX_CONFIG} bytes"));
        }
        Self {
            name: trimmed(f.string("name").max(MAX_NAME).optional()),
            kind: trimmed(f.string("kind").max(MAX_KIND).optional()),
            is_enabled: f.boolean("isEnabled").optional(),
            config,
        }
    }
}

impl FromBody for ChangedIntegration {
    fn from_body(f: &mut Fields<'_>) -> Self {
        Self::read(f)
    }
}

impl FromBody for NewIntegration {
    fn from_body(f: &mut Fields<'_>) -> Self {
        let read = ChangedIntegration::read(f);
        // Blank values are refused with their own text.
        Self {
            name: read.name.unwrap_or_default(),
            kind: read.kind.unwrap_or_default(),
            is_enabled: read.is_enabled,
            config: read.config,
        }
    }
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
