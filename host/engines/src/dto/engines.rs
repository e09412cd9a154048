//! Engines on the wire. A secret is never shown, only whether there is one.

use std::time::Duration;

use qm_kernel::Timestamp;
use qm_platform::origins;
use qm_ports::engine::EngineKind;
use qm_web::{Fields, FromBody, FromQuery};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::paths::{PathMappingView, path_mappings};
use crate::model::mappings::PathMapping;
use crate::model::stored::EngineRow;
use crate::model::userinfo;

/// A configured engine. Fields of its configuration that are not set are left out.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Engine)]
pub struct EngineView {
    pub id: String,
    pub name: String,
    /// `scgi_client`, `webapi_client`, or another kind that an installed plugin provides.
    pub kind: String,
    pub is_default: bool,
    pub is_enabled: bool,
    /// `scgi-tcp`, `scgi-unix` or `http`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket_path: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<Value>,
    /// Time limit on the silence of the client, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username: Option<Value>,
    /// True if a password is stored.
    pub has_password: bool,
    /// Secrets to enter again, because its address changed; until then it is not asked. Left out while there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub secrets_wanted: Vec<String>,
    /// Directories that the client sees under other paths than this server. Paths in the API are always this server's.
    pub path_mappings: Vec<PathMappingView>,
    /// Fields that only this kind knows.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
    pub state: EngineState,
    /// Since when it is in that state, as far as this run of the service knows.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub state_since: Option<Timestamp>,
    /// Why it is not `online`: a sentence; null when it is, and when nothing is known.
    pub state_reason: Option<String>,
}

/// The state of a configured engine, since when and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    pub state: EngineState,
    /// As far as this run of the service knows.
    pub since: Option<Timestamp>,
    /// Why it is not online.
    pub reason: Option<String>,
}

/// The state of a configured engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum EngineState {
    /// Its last read succeeded.
    Online,
    /// Its last read succeeded, and told of more torrents than are taken; see the settings `engine.maxTorrents` and
    /// `engine.maxSnapshotBytes`.
    Limited,
    /// Its last read failed; it is tried every 2 s.
    Offline,
    /// Its first read has not ended yet.
    Unknown,
    /// `isEnabled` is false.
    Disabled,
    /// No installed plugin provides its kind.
    Unsupported,
    /// Its plugin refuses its configuration.
    Refused,
}

impl EngineView {
    pub fn new(row: EngineRow, standing: Standing) -> Self {
        let EngineRow {
            id,
            name,
            kind,
            mut config,
            secret_fields,
            path_mappings,
            is_default,
            is_enabled,
        } = row;
        let has_password = config.contains_key("password");
        let secrets_wanted = origins::take_wanted(&mut config);
        for secret in &secret_fields {
            config.remove(secret);
        }
        // A start moves them away; an older server on the same database may have stored one since.
        let revealing = userinfo::fields(&config, &[]);
        let plain: Vec<(String, String)> = revealing
            .into_iter()
            .map(|(name, parted)| (name.to_owned(), parted.url))
            .collect();
        config.extend(plain.into_iter().map(|(name, url)| (name, url.into())));
        let mut take = |name: &str| config.remove(name);
        Self {
            id,
            name,
            kind,
            is_default,
            is_enabled,
            mode: take("mode"),
            host: take("host"),
            port: take("port"),
            socket_path: take("socketPath"),
            url: take("url"),
            timeout_ms: take("timeoutMs"),
            base_url: take("baseUrl"),
            username: take("username"),
            has_password,
            secrets_wanted,
            path_mappings: path_mappings.into_iter().map(PathMappingView::from).collect(),
            extra: config,
            state: standing.state,
            state_since: standing.since,
            state_reason: standing.reason,
        }
    }
}

/// A kind of engine that an installed plugin provides.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = EngineKind)]
pub struct KindView {
    /// The value of `kind` in an engine of this kind.
    pub id: String,
    /// The product's name.
    pub label: String,
    /// The plugin's version.
    pub version: String,
    /// Capabilities beyond those that all kinds have: `moves-data`, `follows-data`, `rename`, `rename-file`, `tags`,
    /// `all-time-stats`, `global-limits`, `v2`.
    pub capabilities: Vec<String>,
    /// JSON Schema of an engine's `config`; a property that is `writeOnly` is a secret.
    #[schema(value_type = Object)]
    pub config_schema: Value,
}

impl From<EngineKind> for KindView {
    fn from(kind: EngineKind) -> Self {
        let EngineKind {
            id,
            label,
            version,
            config_schema,
            capabilities,
        } = kind;
        Self {
            id,
            label,
            version,
            capabilities,
            config_schema,
        }
    }
}

/// The health of an engine.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = EngineHealth)]
pub struct HealthView {
    pub online: bool,
    /// Time until its answer, in milliseconds; null when it gave none this time.
    pub latency_ms: Option<u64>,
    /// The client's version.
    pub version: Option<String>,
    pub error: Option<String>,
    /// Why not all of its torrents are taken; left out while all are.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub limited: Option<String>,
    /// The instant at which this was found.
    #[schema(value_type = String, format = DateTime)]
    pub checked_at: Timestamp,
}

impl HealthView {
    pub fn online(version: String, latency: Duration, checked_at: Timestamp) -> Self {
        let latency_ms = Some(latency.as_millis() as u64);
        Self {
            online: true,
            latency_ms,
            version: Some(version),
            error: None,
            limited: None,
            checked_at,
        }
    }

    pub fn offline(error: String, checked_at: Timestamp) -> Self {
        Self {
            online: false,
            latency_ms: None,
            version: None,
            error: Some(error),
            limited: None,
            checked_at,
        }
    }
}

/// The id of what was created, changed or deleted.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = EngineId)]
pub struct IdView {
    pub id: String,
    /// Secrets to enter again, because its address changed; until then it is not asked. Left out while there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub secrets_wanted: Vec<String>,
}

impl IdView {
    pub fn from_row(row: &EngineRow) -> Self {
        Self {
            id: row.id.clone(),
            secrets_wanted: origins::take_wanted(&mut row.config.clone()),
        }
    }
}

/// A new engine.
#[derive(Debug, ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
pub struct CreateEngine {
    #[field(max = 120)]
    pub name: String,
    #[field(max = 64)]
    pub kind: String,
    /// Fields of the kind; see its plugin's schema.
    pub config: Map<String, Value>,
    /// Directories that the client sees under other paths than this server: at most 32. Of two that fit, the longer remote path
    /// counts; what none covers is the same path on both sides.
    #[field(with = path_mappings)]
    #[schema(value_type = Option<Vec<PathMappingView>>)]
    pub path_mappings: Option<Vec<PathMapping>>,
    /// True takes it away from the engine that was.
    #[field(default)]
    pub is_default: bool,
    #[field(default = true)]
    pub is_enabled: bool,
}

/// Changes to an engine; a field that is absent stays as it is.
#[derive(Debug, Default, ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
pub struct UpdateEngine {
    #[field(max = 120)]
    pub name: Option<String>,
    /// Replaces the stored configuration, but for secrets that are absent, blank or masked: they stay as long as the address does.
    /// Null takes one away.
    pub config: Option<Map<String, Value>>,
    /// Replaces the mappings of paths; an empty list takes all away. The list of torrents is read again with them.
    #[field(with = path_mappings)]
    #[schema(value_type = Option<Vec<PathMappingView>>)]
    pub path_mappings: Option<Vec<PathMapping>>,
    pub is_default: Option<bool>,
    pub is_enabled: Option<bool>,
}

/// A configuration to try out.
#[derive(Debug, ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
pub struct TestEngine {
    #[field(max = 64)]
    pub kind: String,
    pub config: Map<String, Value>,
    /// The engine whose stored secrets stand in for absent, blank or masked ones, at the address that they were entered for.
    #[field(with = engine_id)]
    pub engine_id: Option<String>,
}

/// Which engine a request means; absent or blank is the default.
#[derive(FromQuery)]
pub struct EngineQuery {
    #[field(with = engine_id)]
    pub engine_id: Option<String>,
}

/// `engineId` of a body or query.
pub fn engine_id(f: &mut Fields<'_>, name: &'static str) -> Option<String> {
    f.string(name)
        .about("An engine; absent: the default one.")
        .optional()
        .filter(|id| !id.is_empty())
}
