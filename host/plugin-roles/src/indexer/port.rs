//! The protocols of all loaded plugins, as the rest of the server knows them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use qm_plugin_host::role::{CallContext, CallSpec, State, one_line, text_for_plugin};
use qm_ports::Settling;
use qm_ports::indexer::*;
use wasmtime::Store;

use super::{Answer, Indexer, IndexerCode, description};
use crate::stateless::{RolePort, Stateless as _, handed_on};

/// The most of an unknown protocol's id that is repeated.
const ID: usize = 64;
/// Beyond the indexer's own time limit, which its plugin keeps.
const PARTING: Duration = Duration::from_secs(15);

impl RolePort<Indexer> {
    /// Does `work` in an instance of the plugin that speaks the protocol; `config` comes back as the text that plugins take.
    async fn ask<T, F>(&self, protocol: &str, config: IndexerConfig, work: F) -> Result<T, IndexerError>
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
        let calls = self.calls_of(&kind.plugin).ok_or_else(missing)?;
        let timeout = Duration::from_millis(config.timeout_ms.into());
        let fields = handed_on(&kind.config_schema, config.fields, config.timeout_ms);
        let text = text_for_plugin(&kind.config_schema, &fields);
        let spec = CallSpec {
            config: &fields,
            context: CallContext {
                schema: Some(Arc::new(kind.config_schema)),
                patience: Some(timeout),
                ..CallContext::default()
            },
            total: timeout + PARTING,
        };
        let otherwise = IndexerError::Missing("its plugin speaks no protocols any more".to_owned());
        Self::call(&calls, spec, otherwise, |code, _, store| work(code, store, text)).await
    }
}

#[async_trait]
impl Protocols for RolePort<Indexer> {
    fn protocols(&self) -> Vec<ProtocolKind> {
        let mut all: BTreeMap<String, ProtocolKind> = BTreeMap::new();
        for code in self.installed.by_claim(Indexer::NAME) {
            let about = &code.about;
            for kind in description::kinds(&about.traits, &about.id, &about.version) {
                all.entry(kind.id.clone()).or_insert(kind);
            }
        }
        all.into_values().collect()
    }

    fn settling(&self, protocol: &str) -> Option<Settling> {
        self.installed.settling(Indexer::NAME, "the protocol", protocol)
    }

    async fn caps(&self, protocol: &str, config: IndexerConfig) -> Result<Caps, IndexerError> {
        let id = protocol.to_owned();
        self.ask(protocol, config, |code, store, config| {
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
        self.ask(protocol, config, |code, store, config| {
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
        self.ask(protocol, config, |code, store, config| {
            Box::pin(async move { code.download(store, &id, &config, &link).await })
        })
        .await
    }
}
