//! The role `metadata-provider`: a plugin asks a provider of metadata about films and shows. It may dial the hosts that an
//! administrator granted the plugin, outside only, and what the operator's configuration marks, a base URL say. Nothing but `kv`
//! stays between calls.

mod contract;
mod description;
mod port;
mod v0_1;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use qm_plugin_host::Check;
use qm_plugin_host::role::{Code, Descriptor, Fault, State, Version};
use qm_ports::metadata::{
    EpisodeDetails, ExternalId, ImageDetails, ProviderError, TitleDetails, TitleHit, TitleQuery,
    TitleSubject, TitlesFound,
};
use wasmtime::Store;
use wasmtime::component::Linker;

use crate::stateless::{Bench, Prepare, Stateless};

/// The role.
pub(crate) struct Metadata;

impl Stateless for Metadata {
    const NAME: &'static str = "metadata-provider";
    const INTERFACE: &'static str = "metadata/provider";
    const PACKAGE: &'static str = "metadata";
    const OFFERS: &'static [&'static str] = &["quartermaster:metadata/titles@0.1"];
    // Somebody who searches must not wait for a library that is enriched.
    const AT_ONCE: Option<usize> = Some(8);
    const HAS_OWN_HOSTS: bool = true;
    const KEEPS_VALUES: bool = true;
    const IS_CONFIGURED_ONCE: bool = true;
    const ADAPTERS: &'static [(Version, Prepare<Self>)] = &[(Version { major: 0, minor: 1 }, |pre| {
        Ok(Box::new(v0_1::Adapter::new(pre)?))
    })];

    type Adapter = dyn ProviderCode;
    type Error = ProviderError;

    fn vet(said: &Descriptor) -> Result<(), String> {
        description::vet(&said.traits)
    }

    fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
        v0_1::add_to_linker(linker)
    }

    fn contract(bench: Bench<Self>) -> BoxFuture<'static, Vec<Check>> {
        // Whoever checks a file with a key of theirs means it to be used where the plugin says.
        Box::pin(contract::run(bench.with_hosts()))
    }

    fn failed(fault: Fault) -> ProviderError {
        match fault {
            Fault::Busy => ProviderError::Busy,
            Fault::Closed => ProviderError::Plugin("it was closed".to_owned()),
            Fault::Missing(why) => ProviderError::Missing(why),
            Fault::InvalidConfig(why) => ProviderError::InvalidConfig(why),
            Fault::TimedOut(why) => ProviderError::Timeout(why),
            Fault::Failed(why) => ProviderError::Plugin(why),
        }
    }
}

type Answer<T> = qm_plugin_host::role::Answer<T, ProviderError>;

/// Calls that the adapter of each version implements. Each makes its own instance in `store`.
/// The traits of its description hold its abilities, as [`description`] reads them.
#[async_trait]
pub(crate) trait ProviderCode: Code {
    async fn verify(&self, store: &mut Store<State>, config: &str) -> Answer<()>;
    async fn search(&self, store: &mut Store<State>, config: &str, query: TitleQuery) -> Answer<TitlesFound>;
    async fn details(
        &self,
        store: &mut Store<State>,
        config: &str,
        subject: TitleSubject,
    ) -> Answer<TitleDetails>;
    async fn episodes(
        &self,
        store: &mut Store<State>,
        config: &str,
        season: (&str, u32),
        language: Option<String>,
    ) -> Answer<Vec<EpisodeDetails>>;
    async fn artwork(
        &self,
        store: &mut Store<State>,
        config: &str,
        subject: TitleSubject,
    ) -> Answer<Vec<ImageDetails>>;
    async fn find(
        &self,
        store: &mut Store<State>,
        config: &str,
        id: ExternalId,
        language: Option<String>,
    ) -> Answer<Vec<TitleHit>>;
}
