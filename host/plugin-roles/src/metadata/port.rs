//! The providers of all loaded plugins, as the rest of the server knows them.

use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use qm_plugin_host::role::{About, CallContext, CallSpec, State, one_line, text_for_plugin};
use qm_ports::Settling;
use qm_ports::metadata::*;
use serde_json::{Map, Value};
use wasmtime::Store;

use super::{Answer, Metadata, ProviderCode, description};
use crate::stateless::{RolePort, Stateless as _, handed_on};

/// The most of an unknown provider's id that is repeated.
const ID: usize = 64;
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

/// Configuration and time limit that a provider is asked with.
struct Prepared {
    fields: Map<String, Value>,
    timeout: Duration,
}

impl RolePort<Metadata> {
    fn about(&self, provider: &str) -> Result<About, ProviderError> {
        let mut all = self.installed.of_role(Metadata::NAME).into_iter();
        all.find(|about| about.id == provider)
            .ok_or_else(|| missing(provider))
    }

    /// Prepares what the plugin is handed: the values that an administrator entered for it, under those that the caller names, as
    /// far as its schema knows them, and with the time limit where it names that.
    async fn prepare(&self, about: &About, config: ProviderConfig) -> Result<Prepared, ProviderError> {
        let plugin = &about.id;
        let entered = self.installed.configuration(plugin).await;
        let entered = entered
            .map_err(|error| ProviderError::Plugin(format!("its configuration cannot be read: {error}")))?;
        let mut fields = entered.unwrap_or_default();
        fields.extend(config.fields);
        fields.retain(|_, value| !value.is_null());
        let timeout = config.timeout_ms.unwrap_or(TIMEOUT_MS);
        let timeout = timeout.clamp(MIN_TIMEOUT_MS, MAX_TIMEOUT_MS);
        let fields = handed_on(&about.config_schema, fields, timeout);
        self.installed
            .judge(&about.config_schema, &fields)
            .map_err(|reason| {
                ProviderError::InvalidConfig(format!("{reason}; see PUT /api/plugins/{plugin}/config"))
            })?;
        Ok(Prepared {
            fields,
            timeout: Duration::from_millis(timeout.into()),
        })
    }

    /// Does `work` in an instance of the provider's plugin; `config` comes back as the text that plugins take.
    async fn ask<T, F>(
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
        if ability.is_some_and(|ability| !description::read(&about.traits).abilities.contains(&ability)) {
            let what = format!("{} does not offer this", about.label);
            return Err(ProviderError::Unsupported(what));
        }
        let calls = self.calls_of(provider).ok_or_else(|| missing(provider))?;
        let Prepared { fields, timeout } = self.prepare(&about, config).await?;
        let text = text_for_plugin(&about.config_schema, &fields);
        let spec = CallSpec {
            config: &fields,
            context: CallContext {
                patience: Some(timeout),
                ..CallContext::default()
            },
            total: timeout * REQUESTS + PARTING,
        };
        let otherwise = ProviderError::Missing("its plugin is no provider of metadata any more".to_owned());
        Self::call(&calls, spec, otherwise, |code, _, store| work(code, store, text)).await
    }
}

fn missing(provider: &str) -> ProviderError {
    let id = one_line(provider, ID);
    ProviderError::Missing(format!("No installed plugin provides metadata as {id}"))
}

#[async_trait]
impl Providers for RolePort<Metadata> {
    fn providers(&self) -> Vec<ProviderKind> {
        let all = self.installed.of_role(Metadata::NAME).into_iter();
        let mut all: Vec<_> = all.map(description::kind).collect();
        all.sort_by(|one, other| one.id.cmp(&other.id));
        all
    }

    fn settling(&self, provider: &str) -> Option<Settling> {
        self.installed
            .settling(Metadata::NAME, "the provider of metadata", provider)
    }

    async fn is_configured(&self, provider: &str, config: ProviderConfig) -> Result<(), ProviderError> {
        let about = self.about(provider)?;
        self.prepare(&about, config).await.map(|_| ())
    }

    async fn verify(&self, provider: &str, config: ProviderConfig) -> Result<(), ProviderError> {
        self.ask(provider, config, None, |code, store, config| {
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
        self.ask(provider, config, ability, |code, store, config| {
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
        self.ask(provider, config, ability, |code, store, config| {
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
        self.ask(provider, config, ability, move |code, store, config| {
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
        self.ask(provider, config, ability, |code, store, config| {
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
        self.ask(provider, config, ability, move |code, store, config| {
            Box::pin(async move { code.find(store, &config, id, language).await })
        })
        .await
    }
}
