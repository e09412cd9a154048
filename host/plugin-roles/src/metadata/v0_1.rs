//! Metadata API 0.1: bindings of `wit/metadata@0.1.0`, and its calls in the words of `ports`.

mod words;

use async_trait::async_trait;
use qm_plugin_host::role::{Code, Descriptor, State};
use qm_ports::metadata::{
    EpisodeDetails, ExternalId, ImageDetails, TitleDetails, TitleHit, TitleQuery, TitleSubject, TitlesFound,
};
use wasmtime::Store;
use wasmtime::component::{HasSelf, Linker};

use super::{Answer, ProviderCode, description};
use crate::stateless;

mod bindings {
    wasmtime::component::bindgen!({
        path: "../../wit/metadata@0.1.0",
        world: "metadata-provider",
        imports: { default: async | trappable },
        exports: { default: async },
        // What all roles share is bound once.
        with: { "quartermaster:base": qm_plugin_host::imports::wit },
    });
}

use bindings::quartermaster::metadata::titles as wit;
use bindings::{MetadataProvider, MetadataProviderPre};

impl wit::Host for State {}

pub(super) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    wit::add_to_linker::<_, HasSelf<State>>(linker, |state| state)
}

stateless::declare_adapter!(MetadataProviderPre => MetadataProvider);

#[async_trait]
impl Code for Adapter {
    async fn describe(&self, mut store: Store<State>) -> wasmtime::Result<Descriptor> {
        let world = self.world(&mut store).await?;
        let provider = world.quartermaster_metadata_provider();
        let said = provider.call_describe(&mut store).await?;
        let told = words::description(&said);
        Ok(Descriptor::new(said.about, description::traits(&told)))
    }
}

#[async_trait]
impl ProviderCode for Adapter {
    async fn verify(&self, store: &mut Store<State>, config: &str) -> Answer<()> {
        let world = self.world(store).await?;
        let provider = world.quartermaster_metadata_provider();
        let answer = provider.call_verify(&mut *store, config).await?;
        Ok(answer.map_err(|given| words::error(given, store.data().voice())))
    }

    async fn search(&self, store: &mut Store<State>, config: &str, query: TitleQuery) -> Answer<TitlesFound> {
        let world = self.world(store).await?;
        let provider = world.quartermaster_metadata_provider();
        let query = words::query(query);
        let answer = provider.call_search(&mut *store, config, &query).await?;
        let voice = store.data().voice();
        Ok(answer
            .map(|given| words::found(given, voice))
            .map_err(|given| words::error(given, voice)))
    }

    async fn details(
        &self,
        store: &mut Store<State>,
        config: &str,
        subject: TitleSubject,
    ) -> Answer<TitleDetails> {
        let world = self.world(store).await?;
        let provider = world.quartermaster_metadata_provider();
        let subject = words::subject(subject);
        let answer = provider.call_details(&mut *store, config, &subject).await?;
        let voice = store.data().voice();
        Ok(answer
            .map_err(|given| words::error(given, voice))
            .and_then(|given| words::details(given, voice)))
    }

    async fn episodes(
        &self,
        store: &mut Store<State>,
        config: &str,
        (show, season): (&str, u32),
        language: Option<String>,
    ) -> Answer<Vec<EpisodeDetails>> {
        let world = self.world(store).await?;
        let provider = world.quartermaster_metadata_provider();
        let answer = provider
            .call_episodes(&mut *store, config, show, season, language.as_deref())
            .await?;
        let voice = store.data().voice();
        Ok(answer
            .map(|given| words::episodes(given, season, voice))
            .map_err(|given| words::error(given, voice)))
    }

    async fn artwork(
        &self,
        store: &mut Store<State>,
        config: &str,
        subject: TitleSubject,
    ) -> Answer<Vec<ImageDetails>> {
        let world = self.world(store).await?;
        let provider = world.quartermaster_metadata_provider();
        let subject = words::subject(subject);
        let answer = provider.call_artwork(&mut *store, config, &subject).await?;
        let voice = store.data().voice();
        Ok(answer
            .map(|given| words::images(given, voice))
            .map_err(|given| words::error(given, voice)))
    }

    async fn find(
        &self,
        store: &mut Store<State>,
        config: &str,
        id: ExternalId,
        language: Option<String>,
    ) -> Answer<Vec<TitleHit>> {
        let world = self.world(store).await?;
        let provider = world.quartermaster_metadata_provider();
        let ExternalId { source, id } = id;
        let answer = provider
            .call_find(&mut *store, config, &source, &id, language.as_deref())
            .await?;
        let voice = store.data().voice();
        Ok(answer
            .map(|given| words::hits(given, voice))
            .map_err(|given| words::error(given, voice)))
    }
}
