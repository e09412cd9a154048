//! The area with fake servers, for its own tests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use qm_db::{Db, all, sql};
use qm_jobs::Jobs;
use qm_platform::Background;
use qm_platform::testing::{self, Claims};
use qm_ports::media_server::*;
use qm_test_base::{Hands as Clock, START_MS};
use serde_json::{Map, Value, json};

use crate::{Integrations, IntegrationsDeps};

sql! {
    STORED = "SELECT config FROM media_server_integrations ORDER BY id";
    AUDITED = "SELECT action || ' ' || result || ' ' || COALESCE(metadata, '') FROM audit_logs ORDER BY created_at, id";
}

/// Fake servers by their base URL.
#[derive(Default)]
pub struct FakeServers {
    /// Error that a base URL answers.
    pub failures: Mutex<HashMap<String, MediaServerError>>,
    /// Calls with their configuration.
    pub asked: Mutex<Vec<(&'static str, Map<String, Value>)>>,
    /// Id of an additional kind.
    pub dropped_in: Mutex<Option<String>>,
}

impl FakeServers {
    pub fn fail(&self, base: &str, error: Option<MediaServerError>) {
        let mut failures = self.failures.lock().unwrap();
        match error {
            Some(error) => failures.insert(base.to_owned(), error),
            None => failures.remove(base),
        };
    }

    pub fn asked(&self) -> Vec<(&'static str, Map<String, Value>)> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }

    fn hear(&self, what: &'static str, config: MediaServerConfig) -> Result<(), MediaServerError> {
        assert_eq!(config.timeout_ms, Some(8000));
        let base = config
            .fields
            .get("baseUrl")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let answer = match self.failures.lock().unwrap().get(base) {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        };
        self.asked.lock().unwrap().push((what, config.fields));
        answer
    }
}

#[async_trait]
impl MediaServerKinds for FakeServers {
    fn kinds(&self) -> Vec<MediaServerKind> {
        let kind = |id: String| MediaServerKind {
            label: format!("The {id}"),
            platform: id.clone(),
            id,
            version: "1.0.0".into(),
            config_schema: json!({ "type": "object", "properties": {
                "baseUrl": {"type": "string"}, "token": {"type": "string", "writeOnly": true},
                "librarySectionId": {"type": ["string", "integer"]},
            }}),
            abilities: ServerAbilities {
                refresh: true,
                sessions: true,
                ..ServerAbilities::default()
            },
        };
        let dropped_in = self.dropped_in.lock().unwrap().clone();
        ["jellyfin".to_owned(), "plex".to_owned()]
            .into_iter()
            .chain(dropped_in)
            .map(kind)
            .collect()
    }

    async fn test(&self, _: &str, config: MediaServerConfig) -> Result<ServerAbout, MediaServerError> {
        self.hear("test", config)?;
        Ok(ServerAbout {
            name: Some("Den".into()),
            version: Some("1.41.0".into()),
        })
    }

    async fn refresh(&self, _: &str, config: MediaServerConfig, _: Extent) -> Result<(), MediaServerError> {
        self.hear("refresh", config)
    }

    async fn sessions(
        &self,
        _: &str,
        config: MediaServerConfig,
    ) -> Result<Vec<PlaySession>, MediaServerError> {
        self.hear("sessions", config)?;
        Ok(vec![PlaySession {
            id: "s1".into(),
            title: "Tide".into(),
            ..PlaySession::default()
        }])
    }

    async fn terminate(
        &self,
        _: &str,
        config: MediaServerConfig,
        _: &str,
        _: Option<&str>,
    ) -> Result<(), MediaServerError> {
        self.hear("terminate", config)
    }
}

/// The area on a database, with its dependencies.
pub struct House {
    pub app: Arc<Integrations>,
    pub db: Db,
    pub clock: Arc<Clock>,
    pub servers: Arc<FakeServers>,
    pub jobs: Jobs,
    pub background: Background,
}

impl House {
    pub fn new(db: &Db) -> Self {
        let clock = Clock::starting_at(START_MS);
        let servers = Arc::<FakeServers>::default();
        let (jobs, background) = qm_jobs::testing::worker(db, qm_jobs::Pace::default());
        let app = Integrations::new(IntegrationsDeps {
            ground: testing::ground(db, &clock.ctx(), Arc::new(Claims)),
            kinds: servers.clone(),
            jobs: jobs.clone(),
        });
        Self {
            app,
            db: db.clone(),
            clock,
            servers,
            jobs,
            background,
        }
    }

    /// Configurations as they are stored.
    pub async fn stored(&self) -> Vec<String> {
        let rows = all!(&mut self.db.begin_read().await.unwrap(), (String,), STORED).await;
        rows.unwrap().into_iter().map(|(text,)| text).collect()
    }

    /// Audit entries, the oldest first.
    pub async fn audited(&self) -> Vec<String> {
        let rows = all!(&mut self.db.begin_read().await.unwrap(), (String,), AUDITED).await;
        rows.unwrap().into_iter().map(|(text,)| text).collect()
    }
}
