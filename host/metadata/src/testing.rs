//! The area with fake providers, for its own tests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use qm_db::{Db, all, sql};
use qm_kernel::Secret;
use qm_net::{Net, NetConfig};
use qm_platform::Settings;
use qm_platform::testing::{self, Claims};
use qm_ports::metadata::*;
use qm_test_base::{Hands as Clock, START_MS};
use serde_json::{Value, json};

use crate::model::answer::tests::title;
use crate::{EnvironmentKeys, MetadataArea, MetadataDeps};

sql! {
    AUDITED = "SELECT action || ' ' || result || ' ' || COALESCE(object_id, '') || ' ' || COALESCE(metadata, '') \
        FROM audit_logs ORDER BY created_at, id";
}

/// Fake providers with the titles and failures that the test sets.
#[derive(Default)]
pub struct FakeProviders {
    /// Titles by provider.
    pub titles: Mutex<HashMap<String, Vec<TitleDetails>>>,
    /// Error of a provider for a call (`search`, `details`, `episodes`, `find`, `verify`).
    failures: Mutex<HashMap<(String, &'static str), ProviderError>>,
    /// Ids of additional providers.
    pub dropped_in: Mutex<Vec<String>>,
    /// Calls, as `provider call subject`.
    asked: Mutex<Vec<String>>,
    /// The key of each call.
    pub keys: Mutex<Vec<Option<String>>>,
}

impl FakeProviders {
    pub fn knows(&self, provider: &str, title: TitleDetails) {
        let mut titles = self.titles.lock().unwrap();
        titles.entry(provider.to_owned()).or_default().push(title);
    }

    pub fn fail(&self, provider: &str, question: &'static str, error: Option<ProviderError>) {
        let mut failures = self.failures.lock().unwrap();
        match error {
            Some(error) => failures.insert((provider.to_owned(), question), error),
            None => failures.remove(&(provider.to_owned(), question)),
        };
    }

    pub fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }

    fn hear(
        &self,
        provider: &str,
        question: &'static str,
        subject: &str,
        config: &ProviderConfig,
    ) -> Result<Vec<TitleDetails>, ProviderError> {
        assert_eq!(config.timeout_ms, Some(8000));
        let key = config.fields.get("apiKey").and_then(Value::as_str);
        self.keys.lock().unwrap().push(key.map(str::to_owned));
        let asked = format!("{provider} {question} {subject}");
        self.asked.lock().unwrap().push(asked.trim_end().to_owned());
        let failures = self.failures.lock().unwrap();
        if let Some(error) = failures.get(&(provider.to_owned(), question)) {
            return Err(error.clone());
        }
        let titles = self.titles.lock().unwrap();
        Ok(titles.get(provider).cloned().unwrap_or_default())
    }
}

#[async_trait]
impl Providers for FakeProviders {
    fn providers(&self) -> Vec<ProviderKind> {
        let dropped_in = self.dropped_in.lock().unwrap().clone();
        let kind = |id: String| ProviderKind {
            label: format!("The {id}"),
            id,
            version: "1.0.0".into(),
            config_schema: json!({}),
            kinds: vec![TitleKind::Movie, TitleKind::Show],
            abilities: vec![
                Ability::Search,
                Ability::Details,
                Ability::Episodes,
                Ability::Find,
            ],
            find_sources: vec!["titledb".into()],
        };
        let known = ["provider_a", "provider_b"].map(str::to_owned);
        known.into_iter().chain(dropped_in).map(kind).collect()
    }

    async fn is_configured(&self, provider: &str, config: ProviderConfig) -> Result<(), ProviderError> {
        let is_known = provider.starts_with("provider_");
        if is_known && !config.fields.contains_key("apiKey") {
            return Err(ProviderError::InvalidConfig("`apiKey` is missing".into()));
        }
        Ok(())
    }

    async fn verify(&self, provider: &str, config: ProviderConfig) -> Result<(), ProviderError> {
        self.hear(provider, "verify", "", &config).map(drop)
    }

    async fn search(
        &self,
        provider: &str,
        config: ProviderConfig,
        query: TitleQuery,
    ) -> Result<TitlesFound, ProviderError> {
        let year = query.year.map(|year| year.to_string()).unwrap_or_default();
        let titles = self.hear(provider, "search", &format!("{} {year}", query.title), &config)?;
        let is_meant = |title: &TitleDetails| {
            let released = title.released.as_deref().unwrap_or_default();
            title.kind == query.kind && released.starts_with(&year)
        };
        let hits: Vec<_> = titles.into_iter().filter(is_meant).map(hit).collect();
        Ok(TitlesFound {
            hits,
            page: 1,
            pages: 1,
            total: None,
        })
    }

    async fn details(
        &self,
        provider: &str,
        config: ProviderConfig,
        subject: TitleSubject,
    ) -> Result<TitleDetails, ProviderError> {
        let titles = self.hear(provider, "details", &subject.id, &config)?;
        let found = titles.into_iter().find(|title| title.id == subject.id);
        found.ok_or_else(|| ProviderError::NotFound("no such title".into()))
    }

    async fn episodes(
        &self,
        provider: &str,
        config: ProviderConfig,
        show: &str,
        season: u32,
        _: Option<&str>,
    ) -> Result<Vec<EpisodeDetails>, ProviderError> {
        self.hear(provider, "episodes", &format!("{show} {season}"), &config)?;
        let episode = |number| EpisodeDetails {
            season,
            number,
            title: Some(format!("{season}x{number} of {provider}")),
            ..EpisodeDetails::default()
        };
        Ok([1, 2].map(episode).to_vec())
    }

    async fn artwork(
        &self,
        provider: &str,
        config: ProviderConfig,
        subject: TitleSubject,
    ) -> Result<Vec<ImageDetails>, ProviderError> {
        let titles = self.hear(provider, "artwork", &subject.id, &config)?;
        let known = titles.into_iter().find(|title| title.id == subject.id);
        let known = known.ok_or_else(|| ProviderError::NotFound("no such title".into()))?;
        let image = |kind, name: &str| ImageDetails {
            kind,
            picture: Picture {
                url: format!("https://pictures/{}/{name}", known.id),
                preview: None,
            },
            width: Some(2000),
            height: Some(3000),
            language: None,
            rating: None,
            votes: None,
        };
        Ok(vec![
            image(ImageKind::Poster, "first"),
            image(ImageKind::Poster, "second"),
        ])
    }

    async fn find(
        &self,
        provider: &str,
        config: ProviderConfig,
        id: ExternalId,
        _: Option<&str>,
    ) -> Result<Vec<TitleHit>, ProviderError> {
        let titles = self.hear(provider, "find", &format!("{} {}", id.source, id.id), &config)?;
        let found = titles.into_iter().filter(|title| title.ids.contains(&id));
        Ok(found.map(hit).collect())
    }
}

fn hit(title: TitleDetails) -> TitleHit {
    TitleHit {
        id: title.id,
        kind: title.kind,
        title: title.title,
        original_title: title.original_title,
        released: title.released,
        overview: None,
        original_language: None,
        poster: None,
        backdrop: None,
        rating: None,
        votes: None,
        popularity: None,
    }
}

/// The area on a database, with its dependencies.
pub struct House {
    pub app: Arc<MetadataArea>,
    pub db: Db,
    pub settings: Settings,
    pub clock: Arc<Clock>,
    pub providers: Arc<FakeProviders>,
}

impl House {
    pub fn new(db: &Db, environment: EnvironmentKeys) -> Self {
        Self::beside(db, environment, &[])
    }

    /// With relays for external hosts, as `https://host=http://elsewhere`.
    pub fn beside(db: &Db, environment: EnvironmentKeys, relays: &[String]) -> Self {
        let net = NetConfig {
            plugin_relays: relays.to_vec(),
            ..NetConfig::default()
        };
        let clock = Clock::starting_at(START_MS);
        let ctx = clock.ctx();
        let providers = Arc::<FakeProviders>::default();
        let ground = testing::ground(db, &ctx, Arc::new(Claims));
        let settings = ground.settings.clone();
        let app = MetadataArea::new(MetadataDeps {
            ground,
            providers: providers.clone(),
            environment,
            net: Net::new(net).unwrap(),
        });
        Self {
            app,
            db: db.clone(),
            settings,
            clock,
            providers,
        }
    }

    /// With a key for both providers.
    pub fn with_keys(db: &Db) -> Self {
        let key = |text: &str| Some(Secret::new(text));
        let environment = EnvironmentKeys {
            provider_a: key("key-of-a"),
            provider_b: key("key-of-b"),
            ..EnvironmentKeys::default()
        };
        Self::new(db, environment)
    }

    /// Audit entries, the oldest first.
    pub async fn audited(&self) -> Vec<String> {
        let rows = all!(&mut self.db.begin_read().await.unwrap(), (String,), AUDITED).await;
        rows.unwrap().into_iter().map(|(text,)| text).collect()
    }
}

/// A film with its year.
pub fn film(id: &str, name: &str, year: u32) -> TitleDetails {
    TitleDetails {
        released: Some(format!("{year}-03-01")),
        ..title(TitleKind::Movie, id, name)
    }
}

/// A show with its first year.
pub fn show(id: &str, name: &str, year: u32) -> TitleDetails {
    TitleDetails {
        kind: TitleKind::Show,
        ..film(id, name, year)
    }
}
