//! The area with providers and rules in memory, for its own tests.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use qm_db::Db;
use qm_kernel::{Caller, ClientInfo, PageQuery, Principal, Role, TokenVerifier};
use qm_platform::testing::{self, Claims};
use qm_platform::{AuditRecord, AuditTrail};
use qm_ports::shows::{ShowDetails, ShowError, ShowHit, ShowProvider, ShowRules, ShowSnapshot};
use qm_realtime::{Hub, HubConfig};
use qm_test_base::{Hands, Heard, NoTokens, START_MS, client, principal};
use serde_json::Value;

use crate::model::hit::Asked;
use crate::model::report::ShowStatus;
use crate::service::{Shows, ShowsDeps};

/// Fake provider with the shows that the test adds.
pub struct FakeProvider {
    id: &'static str,
    confidence: f64,
    pub ready: AtomicBool,
    /// True when it fails or never answers.
    pub broken: AtomicBool,
    pub silent: AtomicBool,
    pub asked: AtomicUsize,
    shows: Mutex<BTreeMap<String, (Option<u32>, ShowDetails)>>,
}

impl FakeProvider {
    pub fn new(id: &'static str, confidence: f64) -> Arc<Self> {
        Arc::new(Self {
            id,
            confidence,
            ready: AtomicBool::new(true),
            broken: AtomicBool::default(),
            silent: AtomicBool::default(),
            asked: AtomicUsize::default(),
            shows: Mutex::default(),
        })
    }

    /// Adds a show, or changes its status.
    pub fn show(&self, id: &str, title: &str, status: &str) {
        let details = ShowDetails {
            title: title.to_owned(),
            status: Some(status.to_owned()),
            last_air_date: Some("2031-03-01".to_owned()),
            next_episode_air_date: Some("2031-09-01".to_owned()),
            total_seasons: Some(3),
            ..ShowDetails::default()
        };
        self.shows
            .lock()
            .unwrap()
            .insert(id.to_owned(), (Some(2023), details));
    }

    pub fn forget(&self, id: &str) {
        self.shows.lock().unwrap().remove(id);
    }

    async fn answers(&self) -> Result<(), ShowError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if self.silent.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        if self.broken.load(Ordering::SeqCst) {
            return Err(ShowError(format!("{} is out of order", self.id)));
        }
        Ok(())
    }
}

#[async_trait]
impl ShowProvider for FakeProvider {
    fn id(&self) -> &'static str {
        self.id
    }

    fn confidence(&self) -> f64 {
        self.confidence
    }

    async fn is_ready(&self) -> bool {
        self.ready.load(Ordering::SeqCst)
    }

    async fn search(&self, _title: &str, _year: Option<u32>) -> Result<Vec<ShowHit>, ShowError> {
        self.answers().await?;
        let shows = self.shows.lock().unwrap();
        Ok(shows
            .iter()
            .map(|(id, (year, details))| ShowHit {
                id: id.clone(),
                title: details.title.clone(),
                year: *year,
            })
            .collect())
    }

    async fn details(&self, id: &str) -> Result<Option<ShowDetails>, ShowError> {
        self.answers().await?;
        Ok(self
            .shows
            .lock()
            .unwrap()
            .get(id)
            .map(|(_, details)| details.clone()))
    }
}

/// Fake rules: number of rules per show, and received changes.
#[derive(Default)]
pub struct FakeRules {
    pub broken: AtomicBool,
    pub watched: Mutex<Vec<(String, String)>>,
    pub told: Mutex<Vec<ShowSnapshot>>,
}

#[async_trait]
impl ShowRules for FakeRules {
    async fn show_changed(&self, show: &ShowSnapshot) -> Result<u64, ShowError> {
        if self.broken.load(Ordering::SeqCst) {
            return Err(ShowError("the rules are out of order".to_owned()));
        }
        self.told.lock().unwrap().push(show.clone());
        let of = (show.provider.clone(), show.provider_show_id.clone());
        let count = self
            .watched
            .lock()
            .unwrap()
            .iter()
            .filter(|show| **show == of)
            .count();
        Ok(count as u64)
    }

    async fn watched(&self) -> Result<Vec<(String, String)>, ShowError> {
        if self.broken.load(Ordering::SeqCst) {
            return Err(ShowError("the rules are out of order".to_owned()));
        }
        Ok(self.watched.lock().unwrap().clone())
    }
}

/// The area with two providers, a clock and its events.
pub struct House {
    pub app: Arc<Shows>,
    pub db: Db,
    pub clock: Arc<Hands>,
    pub first: Arc<FakeProvider>,
    pub second: Arc<FakeProvider>,
    pub rules: Arc<FakeRules>,
    heard: Arc<Heard>,
    caller: (Principal, ClientInfo),
}

impl House {
    pub async fn new(db: &Db) -> Self {
        let (first, second) = (
            FakeProvider::new("provider_a", 0.95),
            FakeProvider::new("titledb", 0.6),
        );
        let providers: Vec<Arc<dyn ShowProvider>> = vec![first.clone(), second.clone()];
        Self::with_providers(db, providers, first, second).await
    }

    /// Without providers.
    pub async fn alone(db: &Db) -> Self {
        let (first, second) = (
            FakeProvider::new("provider_a", 0.95),
            FakeProvider::new("titledb", 0.6),
        );
        Self::with_providers(db, Vec::new(), first, second).await
    }

    async fn with_providers(
        db: &Db,
        providers: Vec<Arc<dyn ShowProvider>>,
        first: Arc<FakeProvider>,
        second: Arc<FakeProvider>,
    ) -> Self {
        let clock = Hands::starting_at(START_MS);
        let heard = Arc::new(Heard::default());
        let db = db.clone().telling(heard.clone());
        let tokens: Arc<dyn TokenVerifier> = Arc::new(NoTokens);
        let app = Shows::new(ShowsDeps {
            ground: testing::ground(&db, &clock.ctx(), Arc::new(Claims)),
            hub: Hub::new(HubConfig::default(), tokens, clock.ctx()),
            providers,
        });
        let rules = Arc::new(FakeRules::default());
        let known: Arc<dyn ShowRules> = rules.clone();
        app.use_rules(&known);
        Self {
            app,
            db,
            clock,
            first,
            second,
            rules,
            heard,
            caller: (principal(Role::Administrator), client()),
        }
    }

    pub async fn look_up(&self, title: &str) -> ShowStatus {
        self.look_up_of(title, None).await
    }

    pub async fn look_up_of(&self, title: &str, provider: Option<&str>) -> ShowStatus {
        let asked = Asked {
            title: title.to_owned(),
            year: None,
            provider: provider.map(str::to_owned),
        };
        let caller = Caller {
            principal: &self.caller.0,
            client: &self.caller.1,
        };
        self.app.lookup(caller, &asked).await
    }

    pub fn after(&self, hours: u64) {
        self.clock.advance(Duration::from_hours(hours));
    }

    /// Keys and payloads of the events since the last call.
    pub fn take_events(&self) -> Vec<(&'static str, Value)> {
        self.heard.take_payloads()
    }

    pub async fn audited(&self) -> Vec<AuditRecord> {
        let trail = AuditTrail::new(self.db.clone(), self.clock.ctx());
        let all = PageQuery {
            page: 1,
            page_size: 100,
        };
        trail.page(all, None).await.unwrap().0
    }
}
