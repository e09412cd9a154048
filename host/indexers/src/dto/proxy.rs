//! The link to the aggregator, and what an import did, as clients see them.

use qm_kernel::secret::{MASK, keeps};
use qm_kernel::{Secret, Timestamp};
use qm_net::{CERTIFICATE_RULE, MAX_CERTIFICATE, is_certificate};
use qm_web::{FromBody, is_printable};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::model::indexer::{MAX_KEY, MAX_URL};
use crate::model::proxy::Checked;
use crate::model::reports::{AggregatorError, LinkPatch, Probe, Row, ShownLink, Takeover, Trial};

/// The link to the indexer aggregator. Its key is never shown.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = IndexerProxy)]
pub struct LinkView {
    pub enabled: bool,
    /// Where the server asks it.
    #[schema(example = "http://indexer-proxy:9696")]
    pub internal_url: String,
    /// Where people's browsers find it.
    #[schema(example = "http://localhost:9696")]
    pub public_url: String,
    pub has_api_key: bool,
    /// `••••••••` where there is one, blank where there is none.
    pub api_key: String,
    /// Certificate by which it is trusted: its SHA-256, or that of its authority in PEM. Blank: what this machine trusts.
    pub tls_certificate: String,
    /// Secrets to enter again, because its address changed; until then it is not asked. Left out while there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub secrets_wanted: Vec<String>,
    /// When it was last asked: `ok`, `error` or `unknown`.
    pub status: String,
    pub status_message: Option<String>,
    pub version: Option<String>,
    /// Indexers that it has.
    pub indexer_count: Option<u64>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_checked_at: Option<Timestamp>,
}

impl From<ShownLink> for LinkView {
    fn from(ShownLink { link, has_key }: ShownLink) -> Self {
        let checked = link.checked;
        Self {
            enabled: link.is_enabled,
            internal_url: link.internal_url,
            public_url: link.public_url,
            has_api_key: has_key,
            secrets_wanted: link.wanted,
            api_key: if has_key { MASK.to_owned() } else { String::new() },
            tls_certificate: link.certificate.unwrap_or_default(),
            status: checked.status.as_str().to_owned(),
            status_message: checked.message,
            version: checked.version,
            indexer_count: checked.indexer_count,
            last_checked_at: checked.at,
        }
    }
}

/// Changes of the link; absent fields stay.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = IndexerProxyPatch)]
#[expect(clippy::option_option, reason = "absent, null and a value are three things")]
pub struct ChangedLink {
    pub enabled: Option<bool>,
    /// Blank: the default.
    #[field(max = MAX_URL)]
    pub internal_url: Option<String>,
    /// Blank: the default.
    #[field(max = MAX_URL)]
    pub public_url: Option<String>,
    /// Blank, or bullets alone: the one that is stored stays. Null takes it away.
    #[field(max = MAX_KEY, check(is_printable, "must be one line"), and_then = entered)]
    #[schema(value_type = Option<String>)]
    pub api_key: Option<Option<Secret>>,
    /// SHA-256 of its certificate, as a test shows it, or its authority in PEM; no other one is trusted then. Blank: what this
    /// machine trusts.
    #[field(trim, max = MAX_CERTIFICATE, check(is_certificate, CERTIFICATE_RULE))]
    pub tls_certificate: Option<String>,
}

/// A key that was entered, not the mask of the stored one.
fn entered(key: &str) -> Option<Secret> {
    (!keeps(key)).then(|| Secret::new(key.trim()))
}

impl From<ChangedLink> for LinkPatch {
    fn from(changed: ChangedLink) -> Self {
        Self {
            is_enabled: changed.enabled,
            internal_url: changed.internal_url,
            public_url: changed.public_url,
            certificate: changed.tls_certificate,
            api_key: changed.api_key,
        }
    }
}

/// Values to try before they are saved; what is absent is as it is stored.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = IndexerProxyTrial)]
#[fields(optional)]
pub struct LinkTrial {
    #[field(max = MAX_URL)]
    pub internal_url: Option<String>,
    /// Blank, or bullets alone: the one that is stored.
    #[field(max = MAX_KEY, check(is_printable, "must be one line"), and_then = entered)]
    #[schema(value_type = Option<String>)]
    pub api_key: Option<Secret>,
    /// SHA-256 of its certificate, or its authority in PEM. Blank: what this machine trusts.
    #[field(trim, max = MAX_CERTIFICATE, check(is_certificate, CERTIFICATE_RULE))]
    pub tls_certificate: Option<String>,
}

impl From<LinkTrial> for Trial {
    fn from(trial: LinkTrial) -> Self {
        Self {
            internal_url: trial.internal_url,
            api_key: trial.api_key,
            certificate: trial.tls_certificate,
        }
    }
}

/// Result of a test of the link.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = IndexerProxyTest)]
pub struct LinkTestView {
    pub ok: bool,
    /// Only where it answered, as the next one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub version: Option<Value>,
    /// Null: it did not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>)]
    pub indexer_count: Option<Value>,
    pub message: String,
}

impl From<Result<Checked, AggregatorError>> for LinkTestView {
    fn from(answer: Result<Checked, AggregatorError>) -> Self {
        match answer {
            Ok(checked) => Self {
                ok: true,
                message: connected(&checked),
                version: Some(checked.version.into()),
                indexer_count: Some(checked.indexer_count.into()),
            },
            Err(error) => Self {
                ok: false,
                version: None,
                indexer_count: None,
                message: error.to_string(),
            },
        }
    }
}

fn connected(checked: &Checked) -> String {
    let version = checked.version.as_ref();
    let version = version.map_or_else(String::new, |version| format!(", version {version}"));
    let indexers = match checked.indexer_count {
        None => String::new(),
        Some(1) => ", with 1 indexer".to_owned(),
        Some(count) => format!(", with {count} indexers"),
    };
    format!("Connected to the indexer proxy{version}{indexers}")
}

/// Present status of the link.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = IndexerProxyStatus)]
pub struct LinkStatusView {
    /// `disabled`, `unconfigured`, `ok` or `error`.
    pub status: String,
    pub version: Option<String>,
    /// Indexers that it has.
    pub indexer_count: Option<u64>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_checked_at: Option<Timestamp>,
    /// Why it is not `ok`.
    pub message: Option<String>,
}

impl From<Probe> for LinkStatusView {
    fn from(probe: Probe) -> Self {
        Self {
            status: probe.status.to_owned(),
            version: probe.version,
            indexer_count: probe.indexer_count,
            last_checked_at: probe.at,
            message: probe.message,
        }
    }
}

/// Where people's browsers find the aggregator.
#[derive(Serialize, ToSchema)]
#[schema(as = IndexerProxyOpened)]
pub struct OpenedView {
    pub url: String,
}

/// Result of an import.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = IndexerImport)]
pub struct ImportView {
    /// Version of the aggregator.
    pub version: Option<String>,
    pub added: Vec<ImportedView>,
    pub changed: Vec<ImportChangeView>,
    /// The aggregator no longer has them.
    pub disabled: Vec<ImportedView>,
    /// Indexers of earlier imports that are as they should be.
    pub unchanged: usize,
    pub left: Vec<ImportLeftView>,
    pub failed: Vec<ImportFailureView>,
}

/// An indexer that was taken over.
#[derive(Serialize, ToSchema)]
#[schema(as = ImportedIndexer)]
pub struct ImportedView {
    pub id: String,
    pub name: String,
}

/// An indexer that followed the aggregator.
#[derive(Serialize, ToSchema)]
#[schema(as = ImportedIndexerChange)]
pub struct ImportChangeView {
    pub id: String,
    pub name: String,
    /// Fields that changed, among `name`, `baseUrl`, `apiKey`, `config`, `enabled`, `priority` and `categories`.
    pub fields: Vec<String>,
}

/// An indexer that was left alone.
#[derive(Serialize, ToSchema)]
#[schema(as = ImportLeftAlone)]
pub struct ImportLeftView {
    /// The row of ours, when there is one.
    pub id: Option<String>,
    /// As the aggregator calls it, or as ours is called when it no longer has it.
    pub name: String,
    pub reason: String,
}

/// An indexer of the aggregator that could not be taken over.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ImportFailure)]
pub struct ImportFailureView {
    /// Its id there, when it could be read.
    pub proxy_id: Option<String>,
    pub name: Option<String>,
    pub reason: String,
}

impl From<Row> for ImportedView {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            name: row.name,
        }
    }
}

impl From<Takeover> for ImportView {
    fn from(told: Takeover) -> Self {
        let changed = told.changed.into_iter().map(|(row, fields)| ImportChangeView {
            id: row.id,
            name: row.name,
            fields: fields.into_iter().map(str::to_owned).collect(),
        });
        let left = told.left.into_iter().map(|(row, name, reason)| ImportLeftView {
            id: row.map(|row| row.id),
            name,
            reason,
        });
        let failed = told.failed.into_iter().map(|unfit| ImportFailureView {
            proxy_id: unfit.id,
            name: unfit.name,
            reason: unfit.reason,
        });
        Self {
            version: told.version,
            added: told.added.into_iter().map(ImportedView::from).collect(),
            changed: changed.collect(),
            disabled: told.disabled.into_iter().map(ImportedView::from).collect(),
            unchanged: told.unchanged,
            left: left.collect(),
            failed: failed.collect(),
        }
    }
}
