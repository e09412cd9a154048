//! The providers of all loaded plugins, as the rest of the server knows them.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use qm_ports::Settling;
use qm_ports::metadata::*;
use serde_json::{Map, Value};
use wasmtime::Store;

use super::{Answer, Component, NAME, ProviderCode, told};
use crate::core::catalog::{Catalog, SHOWN};
use crate::core::certificate::text_for_plugin;
use crate::core::fresh::{Counter, Visit};
use crate::core::load::Loaded;
use crate::core::role::About;
use crate::core::runtime::Runtime;
use crate::core::services::Concern;
use crate::core::state::State;
use crate::core::voice::one_line;

/// Calls of one plugin at a time: somebody who searches must not wait for a library that is enriched.
const AT_ONCE: usize = 8;
/// The most of an unknown provider's id that is repeated.
const ID: usize = 64;
/// The property that hands on the time limit on a request.
const TIMEOUT: &str = "timeoutMs";
/// Time limit on a request when the caller names none, in milliseconds; the WIT says so.
const TIMEOUT_MS: u32 = 8000;
/// The shortest that is waited for a request, in milliseconds.
const MIN_TIMEOUT_MS: u32 = 1000;
/// The longest that is waited for a request, in milliseconds.
const MAX_TIMEOUT_MS: u32 = 60_000;
/// Requests' time in one call; the WIT says so.
const REQUESTS: u32 = 3;
/// Beyond the time limit, which the plugin keeps.
const PARTING: Duration = Duration::from_secs(5);

/// The providers of all loaded plugins.
pub(crate) struct Desk {
    runtime: Arc<Runtime>,
    catalog: Arc<Catalog>,
    calls: Counter,
}

/// A provider with what it is asked with.
struct Prepared {
    fields: Map<String, Value>,
    timeout: Duration,
}

impl Desk {
    pub(crate) fn new(runtime: Arc<Runtime>, catalog: Arc<Catalog>) -> Self {
        Self {
            calls: Counter::new(runtime.clone(), catalog.clone(), NAME, "call").at_once(AT_ONCE),
            runtime,
            catalog,
        }
    }

    fn about(&self, provider: &str) -> Result<About, ProviderError> {
        let mut all = self.catalog.of_role(NAME).into_iter();
        all.find(|about| about.id == provider)
            .ok_or_else(|| missing(provider))
    }

    /// What the plugin is handed: what an administrator entered for it, under what the caller names, as far as its schema
    /// knows it, and with the time limit where it names that.
    async fn prepared(&self, about: &About, config: ProviderConfig) -> Result<Prepared, ProviderError> {
        let (services, plugin) = (&self.runtime.services, &about.id);
        let entered = services.values.configuration(plugin).await;
        let entered = entered
            .map_err(|error| ProviderError::Plugin(format!("its configuration cannot be read: {error}")))?;
        let mut fields = entered.unwrap_or_default();
        fields.extend(config.fields);
        fields.retain(|_, value| !value.is_null());
        let timeout = config.timeout_ms.unwrap_or(TIMEOUT_MS);
        let timeout = timeout.clamp(MIN_TIMEOUT_MS, MAX_TIMEOUT_MS);
        fields.insert(TIMEOUT.to_owned(), timeout.into());
        let known = about.config_schema.get("properties").and_then(Value::as_object);
        fields.retain(|name, _| known.is_some_and(|known| known.contains_key(name)));
        (services.judge)(&about.config_schema, &fields).map_err(|reason| {
            ProviderError::InvalidConfig(format!("{reason}; see PUT /api/plugins/{plugin}/config"))
        })?;
        Ok(Prepared {
            fields,
            timeout: Duration::from_millis(timeout.into()),
        })
    }

    /// Does `work` in an instance of the provider's plugin; `config` comes back as the text that plugins take.
    async fn call<T, F>(
        &self,
        provider: &str,
        config: ProviderConfig,
        ability: Option<Ability>,
        work: F,
    ) -> Result<T, ProviderError>
    where
        T: Send,
        F: for<'a> FnOnce(&'a dyn ProviderCode, &'a mut Store<State>, String) -> BoxFuture<'a, Answer<T>>
            + Send,
    {
        let about = self.about(provider)?;
        if ability.is_some_and(|ability| !told::of(&about.traits).abilities.contains(&ability)) {
            let what = format!("{} does not offer this", about.label);
            return Err(ProviderError::Unsupported(what));
        }
        let calls = self.calls.of(provider).ok_or_else(|| missing(provider))?;
        let Prepared { fields, timeout } = self.prepared(&about, config).await?;
        let text = text_for_plugin(&about.config_schema, &fields);
        let visit = Visit {
            config: &fields,
            concern: Concern {
                patience: Some(timeout),
                ..Concern::default()
            },
            total: timeout * REQUESTS + PARTING,
        };
        calls
            .call(visit, move |code, store| match component(code) {
                Some(component) => work(component, store, text),
                None => Box::pin(async {
                    Ok(Err(ProviderError::Missing(
                        "its plugin is no provider of metadata any more".to_owned(),
                    )))
                }),
            })
            .await
    }
}

fn missing(provider: &str) -> ProviderError {
    let id = one_line(provider, ID);
    ProviderError::Missing(format!("No installed plugin provides metadata as {id}"))
}

#[async_trait]
impl Providers for Desk {
    fn providers(&self) -> Vec<ProviderKind> {
        let all = self.catalog.of_role(NAME).into_iter();
        let mut all: Vec<_> = all.map(told::kind).collect();
        all.sort_by(|one, other| one.id.cmp(&other.id));
        all
    }

    fn settling(&self, provider: &str) -> Option<Settling> {
        let wanted = format!("the provider of metadata {}", one_line(provider, SHOWN));
        self.catalog.settling(Some(NAME), wanted)
    }

    async fn is_configured(&self, provider: &str, config: ProviderConfig) -> Result<(), ProviderError> {
        let about = self.about(provider)?;
        self.prepared(&about, config).await.map(|_| ())
    }

    async fn verify(&self, provider: &str, config: ProviderConfig) -> Result<(), ProviderError> {
        self.call(provider, config, None, |code, store, config| {
            Box::pin(async move { code.verify(store, &config).await })
        })
        .await
    }

    async fn search(
        &self,
        provider: &str,
        config: ProviderConfig,
        query: TitleQuery,
    ) -> Result<TitlesFound, ProviderError> {
        let ability = Some(Ability::Search);
        self.call(provider, config, ability, |code, store, config| {
            Box::pin(async move { code.search(store, &config, query).await })
        })
        .await
    }

    async fn details(
        &self,
        provider: &str,
        config: ProviderConfig,
        subject: TitleSubject,
    ) -> Result<TitleDetails, ProviderError> {
        let ability = Some(Ability::Details);
        self.call(provider, config, ability, |code, store, config| {
            Box::pin(async move { code.details(store, &config, subject).await })
        })
        .await
    }

    async fn episodes(
        &self,
        provider: &str,
        config: ProviderConfig,
        show: &str,
        season: u32,
        language: Option<&str>,
    ) -> Result<Vec<EpisodeDetails>, ProviderError> {
        let (show, language) = (show.to_owned(), language.map(str::to_owned));
        let ability = Some(Ability::Episodes);
        self.call(provider, config, ability, move |code, store, config| {
            Box::pin(async move { code.episodes(store, &config, (&show, season), language).await })
        })
        .await
    }

    async fn artwork(
        &self,
        provider: &str,
        config: ProviderConfig,
        subject: TitleSubject,
    ) -> Result<Vec<ImageDetails>, ProviderError> {
        let ability = Some(Ability::Artwork);
        self.call(provider, config, ability, |code, store, config| {
            Box::pin(async move { code.artwork(store, &config, subject).await })
        })
        .await
    }

    async fn find(
        &self,
        provider: &str,
        config: ProviderConfig,
        id: ExternalId,
        language: Option<&str>,
    ) -> Result<Vec<TitleHit>, ProviderError> {
        let language = language.map(str::to_owned);
        let ability = Some(Ability::Find);
        self.call(provider, config, ability, move |code, store, config| {
            Box::pin(async move { code.find(store, &config, id, language).await })
        })
        .await
    }
}

pub(super) fn component(code: &Loaded) -> Option<&dyn ProviderCode> {
    let Component(code) = code.code_as::<Component>()?;
    Some(&**code)
}
