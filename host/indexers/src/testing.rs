//! The area with fake protocols, for its own tests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use qm_db::{Db, all, sql};
use qm_net::{Net, NetConfig};
use qm_platform::testing::{self, Claims};
use qm_ports::indexer::{
    Caps, Found, IndexerConfig, IndexerError, Payload, ProtocolKind, Protocols, Query, Release,
};
use qm_test_base::{Hands as Clock, START_MS};
use serde_json::{Map, Value, json};

use crate::{Indexers, IndexersDeps};

sql! {
    STORED = "SELECT COALESCE(api_key, '') || COALESCE(config, '') FROM indexers ORDER BY id";
    SETTING = "SELECT value FROM settings WHERE key = 'indexer_proxy.settings'";
    AUDITED = "SELECT action || ' ' || result || ' ' || COALESCE(metadata, '') FROM audit_logs ORDER BY created_at, id";
}

/// Fake indexers by the host of their base URL.
#[derive(Default)]
pub struct FakeProtocols {
    /// Error that a host answers instead of its list.
    pub failures: Mutex<HashMap<String, IndexerError>>,
    /// Releases that a host lists.
    pub lists: Mutex<HashMap<String, Vec<Release>>>,
    /// Configuration and query of every call.
    pub asked: Mutex<Vec<(Map<String, Value>, Option<Query>)>>,
}

impl FakeProtocols {
    pub fn fail(&self, host: &str, error: Option<IndexerError>) {
        let mut failures = self.failures.lock().unwrap();
        match error {
            Some(error) => failures.insert(host.to_owned(), error),
            None => failures.remove(host),
        };
    }

    pub fn has(&self, host: &str, releases: Vec<Release>) {
        self.lists.lock().unwrap().insert(host.to_owned(), releases);
    }

    pub fn asked(&self) -> Vec<(Map<String, Value>, Option<Query>)> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }

    fn hear(&self, config: &IndexerConfig, query: Option<Query>) -> Result<String, IndexerError> {
        let base = config.fields["baseUrl"].as_str().unwrap();
        let host = url::Url::parse(base).unwrap().host_str().unwrap().to_owned();
        self.asked.lock().unwrap().push((config.fields.clone(), query));
        match self.failures.lock().unwrap().get(&host) {
            Some(error) => Err(error.clone()),
            None => Ok(host),
        }
    }
}

#[async_trait]
impl Protocols for FakeProtocols {
    fn protocols(&self) -> Vec<ProtocolKind> {
        let kind = |id: &str, extra: Value| {
            let mut properties = json!({
                "baseUrl": {"type": "string"}, "apiKey": {"type": "string", "writeOnly": true}, "timeoutMs": {"type": "integer"},
            });
            properties
                .as_object_mut()
                .unwrap()
                .extend(extra.as_object().unwrap().clone());
            ProtocolKind {
                id: id.into(),
                label: format!("The {id}"),
                protocol: "torrent".into(),
                plugin: format!("{id}_plugin"),
                version: "1.0.0".into(),
                config_schema: json!({
                    "type": "object", "required": ["baseUrl"], "properties": properties, "additionalProperties": false,
                }),
                capabilities: Vec::new(),
            }
        };
        let more =
            json!({"user": {"type": "string"}, "pin": {"type": "string", "minLength": 4, "writeOnly": true}});
        vec![
            kind("newznab", json!({})),
            kind("special", more),
            kind("torznab", json!({})),
        ]
    }

    async fn caps(&self, _: &str, config: IndexerConfig) -> Result<Caps, IndexerError> {
        self.hear(&config, None)?;
        Ok(Caps {
            tv_search: false,
            supported_params: vec!["q".into()],
            ..Caps::default()
        })
    }

    async fn search(&self, _: &str, config: IndexerConfig, query: Query) -> Result<Found, IndexerError> {
        let host = self.hear(&config, Some(query))?;
        let lists = self.lists.lock().unwrap();
        Ok(Found {
            releases: lists.get(&host).cloned().unwrap_or_default(),
            warnings: Vec::new(),
        })
    }

    async fn download(&self, _: &str, config: IndexerConfig, link: &str) -> Result<Payload, IndexerError> {
        self.hear(&config, None)?;
        Ok(if link.ends_with("magnet") {
            Payload::Magnet("magnet:?xt=urn:btih:aa".into())
        } else if link.ends_with("elsewhere") {
            Payload::Elsewhere("http://169.254.169.254/file".into())
        } else {
            Payload::Torrent(b"d4:infoe".to_vec())
        })
    }
}

pub fn release(title: &str, seeders: Option<u32>) -> Release {
    Release {
        title: title.into(),
        seeders,
        ..Release::default()
    }
}

/// The area on a database, with its dependencies.
pub struct House {
    pub app: Arc<Indexers>,
    pub db: Db,
    pub clock: Arc<Clock>,
    pub protocols: Arc<FakeProtocols>,
}

impl House {
    pub fn new(db: &Db) -> Self {
        let clock = Clock::starting_at(START_MS);
        let protocols = Arc::<FakeProtocols>::default();
        let app = Indexers::new(IndexersDeps {
            ground: testing::ground(db, &clock.ctx(), Arc::new(Claims)),
            net: Net::new(NetConfig::default()).unwrap(),
            protocols: protocols.clone(),
        });
        Self {
            app,
            db: db.clone(),
            clock,
            protocols,
        }
    }

    /// API keys and configurations as they are stored.
    pub async fn stored(&self) -> Vec<String> {
        let rows = all!(&mut self.db.begin_read().await.unwrap(), (String,), STORED).await;
        rows.unwrap().into_iter().map(|(text,)| text).collect()
    }

    /// The settings of the link as they are stored.
    pub async fn setting(&self) -> String {
        let rows = all!(&mut self.db.begin_read().await.unwrap(), (String,), SETTING).await;
        rows.unwrap().into_iter().map(|(text,)| text).collect()
    }

    /// Audit entries, the oldest first.
    pub async fn audited(&self) -> Vec<String> {
        let rows = all!(&mut self.db.begin_read().await.unwrap(), (String,), AUDITED).await;
        rows.unwrap().into_iter().map(|(text,)| text).collect()
    }
}
