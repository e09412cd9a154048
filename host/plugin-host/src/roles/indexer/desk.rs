//! The protocols of all loaded plugins, as the rest of the server knows them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use qm_ports::Settling;
use qm_ports::indexer::*;
use serde_json::{Map, Value};
use wasmtime::Store;

use super::{Answer, Component, IndexerCode, NAME, told};
use crate::core::catalog::{Catalog, SHOWN};
use crate::core::certificate::text_for_plugin;
use crate::core::fresh::{Counter, Visit};
use crate::core::load::Loaded;
use crate::core::runtime::Runtime;
use crate::core::services::Concern;
use crate::core::state::State;
use crate::core::status::PluginStatus;
use crate::core::voice::one_line;
use crate::roles::claims;

/// Calls of one plugin at a time: most indexers are spoken to by the same one, and a slow one must not hold up the others.
const AT_ONCE: usize = 16;
/// The most of an unknown protocol's id that is repeated.
const ID: usize = 64;
/// The property that hands on the indexer's time limit.
const TIMEOUT: &str = "timeoutMs";
/// Beyond the indexer's own time limit, which its plugin keeps.
const PARTING: Duration = Duration::from_secs(15);

/// The protocols of all loaded plugins.
pub(crate) struct Desk {
    catalog: Arc<Catalog>,
    calls: Counter,
}

impl Desk {
    pub(crate) fn new(runtime: Arc<Runtime>, catalog: Arc<Catalog>) -> Self {
        Self {
            calls: Counter::new(runtime, catalog.clone(), NAME, "call").at_once(AT_ONCE),
            catalog,
        }
    }

    /// Adds to a list of plugins which of their protocols others speak.
    pub(crate) fn tell_of_claims(&self, plugins: &mut [PluginStatus]) {
        let ids = |code: &Loaded| told::ids(&code.about.traits);
        let providers = claims::providers(&self.catalog, NAME);
        claims::tell(&providers, (NAME, "protocol"), ids, plugins);
    }

    /// Does `work` in an instance of the plugin that speaks the protocol; `config` comes back as the text that plugins take.
    async fn call<T, F>(&self, protocol: &str, config: IndexerConfig, work: F) -> Result<T, IndexerError>
    where
        T: Send,
        F: for<'a> FnOnce(&'a dyn IndexerCode, &'a mut Store<State>, String) -> BoxFuture<'a, Answer<T>>
            + Send,
    {
        let missing = || {
            let id = one_line(protocol, ID);
            IndexerError::Missing(format!("No installed plugin speaks the protocol {id}"))
        };
        let mut kinds = self.protocols().into_iter();
        let kind = kinds.find(|kind| kind.id == protocol).ok_or_else(missing)?;
        let calls = self.calls.of(&kind.plugin).ok_or_else(missing)?;
        let timeout = Duration::from_millis(config.timeout_ms.into());
        let fields = handed_on(&kind.config_schema, config);
        let text = text_for_plugin(&kind.config_schema, &fields);
        let visit = Visit {
            config: &fields,
            concern: Concern {
                schema: Some(Arc::new(kind.config_schema)),
                patience: Some(timeout),
                ..Concern::default()
            },
            total: timeout + PARTING,
        };
        calls
            .call(visit, move |code, store| match component(code) {
                Some(component) => work(component, store, text),
                None => Box::pin(async {
                    Ok(Err(IndexerError::Missing(
                        "its plugin speaks no protocols any more".to_owned(),
                    )))
                }),
            })
            .await
    }
}

/// What the schema names of a configuration, with the time limit where it names that.
fn handed_on(schema: &Value, config: IndexerConfig) -> Map<String, Value> {
    let none = Map::new();
    let named = schema
        .get("properties")
        .and_then(Value::as_object)
        .unwrap_or(&none);
    let mut fields = config.fields;
    fields.insert(TIMEOUT.to_owned(), config.timeout_ms.into());
    fields.retain(|name, _| named.contains_key(name));
    fields
}

#[async_trait]
impl Protocols for Desk {
    fn protocols(&self) -> Vec<ProtocolKind> {
        let mut all: BTreeMap<String, ProtocolKind> = BTreeMap::new();
        for code in claims::providers(&self.catalog, NAME) {
            let about = &code.about;
            for kind in told::kinds(&about.traits, &about.id, &about.version) {
                all.entry(kind.id.clone()).or_insert(kind);
            }
        }
        all.into_values().collect()
    }

    fn settling(&self, protocol: &str) -> Option<Settling> {
        let wanted = format!("the protocol {}", one_line(protocol, SHOWN));
        self.catalog.settling(Some(NAME), wanted)
    }

    async fn caps(&self, protocol: &str, config: IndexerConfig) -> Result<Caps, IndexerError> {
        let id = protocol.to_owned();
        self.call(protocol, config, |code, store, config| {
            Box::pin(async move { code.caps(store, &id, &config).await })
        })
        .await
    }

    async fn search(
        &self,
        protocol: &str,
        config: IndexerConfig,
        query: Query,
    ) -> Result<Found, IndexerError> {
        let id = protocol.to_owned();
        self.call(protocol, config, |code, store, config| {
            Box::pin(async move { code.search(store, &id, &config, query).await })
        })
        .await
    }

    async fn download(
        &self,
        protocol: &str,
        config: IndexerConfig,
        link: &str,
    ) -> Result<Payload, IndexerError> {
        let (id, link) = (protocol.to_owned(), link.to_owned());
        self.call(protocol, config, |code, store, config| {
            Box::pin(async move { code.download(store, &id, &config, &link).await })
        })
        .await
    }
}

pub(super) fn component(code: &Loaded) -> Option<&dyn IndexerCode> {
    let Component(code) = code.code_as::<Component>()?;
    Some(&**code)
}
