//! Answer bodies of the indexer routes.

use qm_kernel::secret::MASK;
use qm_kernel::{Permission, Principal, Timestamp};
use qm_platform::masked;
use qm_ports::indexer::{Candidate, Caps, ProtocolKind, Release, SearchFailure, SearchResult};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::model::change::{Outcome, Shown};
use crate::model::indexer::Indexer;

/// An indexer. Its secrets are never shown.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Indexer)]
pub struct IndexerView {
    pub id: String,
    pub name: String,
    /// Id of the protocol it speaks: one of `GET /api/indexers/implementations`.
    #[schema(example = "torznab")]
    pub implementation: String,
    /// `torrent` or `usenet`.
    pub protocol: String,
    pub base_url: String,
    /// `••••••••` where there is one, blank where there is none.
    pub api_key: String,
    /// Protocol-specific configuration beside URL and key; each secret is `••••••••`.
    #[schema(value_type = Object)]
    pub config: Map<String, Value>,
    /// Secrets to enter again, because its address changed; until then it is not asked. Left out while there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub secrets_wanted: Vec<String>,
    pub enabled: bool,
    /// The lower, the earlier.
    pub priority: i64,
    pub categories: Vec<u32>,
    /// Releases that are known to have fewer are left out of searches across indexers.
    pub min_seeders: Option<u32>,
    pub timeout_ms: u32,
    /// Requests that it gets in a minute.
    pub requests_per_minute: u32,
    /// Capabilities at the last successful test.
    pub capabilities: Option<CapsView>,
    /// Its last test: `ok`, `error` or `unknown`.
    pub status: String,
    pub status_message: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_tested_at: Option<Timestamp>,
    pub health: HealthView,
    /// It was taken over from the indexer proxy; fields that nobody changed here follow that.
    pub imported: bool,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

/// Health of an indexer.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = IndexerHealth)]
pub struct HealthView {
    /// `unknown`, `ok`, `failing`, `resting` (left alone by searches after failures in a row), `throttled` (it asked to be left
    /// alone) or `missing` (no installed plugin speaks its protocol).
    pub state: String,
    pub consecutive_failures: u32,
    pub last_error: Option<String>,
    /// While it is left alone: until when.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub next_try_at: Option<Timestamp>,
    /// Milliseconds that its last answer took.
    pub last_latency_ms: Option<u64>,
    /// Requests since midnight UTC.
    pub queries_today: u64,
    /// Releases fetched since midnight UTC.
    pub grabs_today: u64,
}

/// Capabilities that an indexer reports.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = IndexerCapabilities)]
pub struct CapsView {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerView>,
    /// It is asked for episodes by number.
    pub tv_search: bool,
    pub movie_search: bool,
    pub supported_params: Vec<String>,
    pub categories: Vec<CategoryView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<LimitsView>,
    /// Warnings about the answer, as sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub warnings: Vec<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = IndexerServer)]
pub struct ServerView {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = IndexerCategory)]
pub struct CategoryView {
    pub id: u32,
    pub name: String,
}

#[derive(Serialize, ToSchema)]
#[schema(as = IndexerLimits)]
pub struct LimitsView {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
}

impl From<Caps> for CapsView {
    fn from(caps: Caps) -> Self {
        let categories = caps.categories.into_iter();
        Self {
            server: caps.server.map(|server| ServerView { title: server.title }),
            tv_search: caps.tv_search,
            movie_search: caps.movie_search,
            supported_params: caps.supported_params,
            categories: categories
                .map(|category| CategoryView {
                    id: category.id,
                    name: category.name,
                })
                .collect(),
            limits: caps.limits.map(|limits| LimitsView {
                default: limits.default,
                max: limits.max,
            }),
            warnings: caps.warnings,
        }
    }
}

impl IndexerView {
    /// The indexer as `reader` may see it: an address may hold a key.
    #[must_use]
    pub fn seen_by(mut self, reader: &Principal) -> Self {
        if !reader.has_permission(Permission::IndexersManage) {
            self.base_url = masked::url(&self.base_url);
            let config = self.config.iter();
            self.config = config
                .map(|(name, value)| (name.clone(), masked::value(value)))
                .collect();
            self.status_message = self.status_message.map(|text| masked::sentence(&text));
            self.health.last_error = self.health.last_error.map(|text| masked::sentence(&text));
        }
        self
    }

    pub fn new(shown: Shown, now: Timestamp) -> Self {
        let Shown {
            indexer,
            config,
            is_installed,
            wanted,
        } = shown;
        let health = indexer.health;
        let (queries_today, grabs_today) = health.today(now);
        let state = if is_installed {
            health.state(now).as_str()
        } else {
            "missing"
        };
        Self {
            id: indexer.id,
            name: indexer.name,
            implementation: indexer.implementation,
            protocol: indexer.protocol,
            base_url: indexer.base_url,
            api_key: indexer.api_key.map_or("", |_| MASK).to_owned(),
            config,
            secrets_wanted: wanted,
            enabled: indexer.is_enabled,
            priority: indexer.priority,
            categories: indexer.categories,
            min_seeders: indexer.min_seeders,
            timeout_ms: indexer.timeout_ms,
            requests_per_minute: indexer.requests_per_minute,
            capabilities: indexer.capabilities.map(CapsView::from),
            status: indexer.status.as_str().to_owned(),
            status_message: indexer.status_message,
            last_tested_at: indexer.last_tested_at,
            imported: indexer.origin.is_some(),
            health: HealthView {
                state: state.to_owned(),
                consecutive_failures: health.failures,
                next_try_at: health.next_try(now),
                last_error: health.last_error,
                last_latency_ms: health.last_latency_ms,
                queries_today,
                grabs_today,
            },
            created_at: indexer.created_at,
            updated_at: indexer.updated_at,
        }
    }
}

/// An indexer that was deleted.
#[derive(Serialize, ToSchema)]
#[schema(as = IndexerDeleted)]
pub struct DeletedView {
    pub id: String,
    /// Always true.
    pub deleted: bool,
}

/// Result of a test.
#[derive(Serialize, ToSchema)]
#[schema(as = IndexerTest)]
pub struct TestView {
    pub indexer: IndexerView,
    /// Null: the test failed.
    pub capabilities: Option<CapsView>,
    /// Why it failed; absent when it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl TestView {
    pub fn new(indexer: IndexerView, answer: Result<Caps, String>) -> Self {
        let (capabilities, error) = match answer {
            Ok(caps) => (Some(caps.into()), None),
            Err(error) => (None, Some(error)),
        };
        Self {
            indexer,
            capabilities,
            error,
        }
    }

    /// Splits a test result into the indexer and the capabilities or error.
    pub fn split(outcome: Outcome) -> (Indexer, Result<Caps, String>) {
        (outcome.indexer, outcome.answer)
    }
}

/// A release as an indexer lists it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = IndexerCandidate)]
pub struct CandidateView {
    pub indexer_id: String,
    pub indexer_name: String,
    pub title: String,
    /// A magnet link, or the URL of a file.
    pub download_url: Option<String>,
    /// Lower-case hexadecimal.
    pub info_hash: Option<String>,
    pub size_bytes: Option<u64>,
    pub seeders: Option<u32>,
    pub categories: Vec<u32>,
}

impl CandidateView {
    pub fn new(indexer_id: String, indexer_name: String, release: Release) -> Self {
        Self {
            indexer_id,
            indexer_name,
            title: release.title,
            download_url: release.download_url,
            info_hash: release.info_hash,
            size_bytes: release.size,
            seeders: release.seeders,
            categories: release.categories,
        }
    }
}

impl From<Candidate> for CandidateView {
    fn from(candidate: Candidate) -> Self {
        Self::new(candidate.indexer_id, candidate.indexer_name, candidate.release)
    }
}

/// Result of a search across indexers.
#[derive(Serialize, ToSchema)]
#[schema(as = IndexerSearch)]
pub struct SearchView {
    /// Each release once, the one with most seeders first.
    pub candidates: Vec<CandidateView>,
    /// Indexers that were to be asked.
    pub queried: usize,
    /// Number of them that did not answer. If all failed, nothing is known.
    pub failed: usize,
    pub failures: Vec<FailureView>,
    /// Warnings about answers, as sentences.
    pub warnings: Vec<String>,
}

/// An indexer that did not answer.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = IndexerSearchFailure)]
pub struct FailureView {
    pub indexer_id: String,
    pub name: String,
    pub message: String,
    /// `unreachable`, `timeout`, `auth`, `throttled`, `login_page`, `captcha`, `unparsable`, `api_error`, `status`, `too_large`,
    /// `redirected`, `invalid_config`, `unsupported`, `denied`, `busy`, `missing` or `plugin`.
    pub code: String,
}

impl From<SearchFailure> for FailureView {
    fn from(failure: SearchFailure) -> Self {
        Self {
            indexer_id: failure.indexer_id,
            name: failure.name,
            message: failure.message,
            code: failure.code.to_owned(),
        }
    }
}

impl From<SearchResult> for SearchView {
    fn from(result: SearchResult) -> Self {
        Self {
            candidates: result.candidates.into_iter().map(CandidateView::from).collect(),
            queried: result.queried,
            failed: result.failed,
            failures: result.failures.into_iter().map(FailureView::from).collect(),
            warnings: result.warnings,
        }
    }
}

/// A protocol that an installed plugin speaks.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = IndexerImplementation)]
pub struct ImplementationView {
    #[schema(example = "torznab")]
    pub id: String,
    /// Its name for people.
    pub label: String,
    /// Kind of downloads: `torrent` or `usenet`.
    pub protocol: String,
    /// JSON Schema of a configuration: `baseUrl`, `apiKey` and `timeoutMs` are fields of an indexer, all others stand in its
    /// `config`.
    #[schema(value_type = Object)]
    pub config_schema: Value,
    pub capabilities: Vec<String>,
    /// The plugin that speaks it.
    pub plugin_id: String,
    pub plugin_version: String,
}

impl From<ProtocolKind> for ImplementationView {
    fn from(kind: ProtocolKind) -> Self {
        Self {
            id: kind.id,
            label: kind.label,
            protocol: kind.protocol,
            config_schema: kind.config_schema,
            capabilities: kind.capabilities,
            plugin_id: kind.plugin,
            plugin_version: kind.version,
        }
    }
}
