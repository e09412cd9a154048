//! The area over torrent clients in memory, for tests of this crate.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use qm_db::{Db, FromRow, Json, Tx, sql};
use qm_engines::dto::engines::CreateEngine;
use qm_engines::{Engine, Engines, EnginesDeps};
use qm_kernel::{Caller, ClientInfo, Permission, PermissionSet, Principal, Role};
use qm_platform::testing::{self, Claims};
use qm_platform::{Acting, ActingError, Actor, Ground};
use qm_ports::Removal;
use qm_ports::action::{ActionError, TorrentHands, TorrentRef};
use qm_ports::engine::{Command, EngineDriver, Torrent, TorrentState};
use qm_ports::rules::NoRules;
use qm_realtime::{Hub, HubConfig};
use qm_test_base::blank::hash;
use qm_test_base::engine::torrent;
use qm_test_base::{FakeEngine, FakeKinds, Hands, Heard, NoTokens, START_MS, client, principal};
use serde_json::{Map, Value};

use crate::service::{Limits, LimitsDeps};

sql! {
    ADD_USER = "INSERT INTO users (id, username, email, password_hash, created_at, updated_at) \
        VALUES ($1, $1, $1, '', 0, 0)";
    ADD_CATEGORY = "INSERT INTO torrent_categories (id, name, created_at) VALUES ($1, $2, 0)";
    RENAME_CATEGORY = "UPDATE torrent_categories SET name = $2 WHERE id = $1";
    AUDITED = "SELECT action, result, user_id, metadata FROM audit_logs WHERE action LIKE 'torrents.limits.%' \
        OR action LIKE 'engines.speed.%' ORDER BY created_at, id";
    COUNT_LEDGER = "SELECT count(*) FROM share_ledger";
    COUNT_LIMITS = "SELECT count(*) FROM share_limits";
    COUNT_COUNTS = "SELECT count(*) FROM share_counts";
}

/// Trusts the claims of callers; what users may later is in the test's hands.
pub struct Powers(pub Mutex<PermissionSet>);

#[async_trait]
impl Acting for Powers {
    async fn judge(&self, tx: &mut Tx, who: &Principal, needed: &[Permission]) -> Result<Actor, ActingError> {
        Claims.judge(tx, who, needed).await
    }

    async fn powers(&self, _: &mut Tx, user_id: &str) -> Result<PermissionSet, ActingError> {
        if user_id == "gone" {
            return Err(ActingError::Gone);
        }
        Ok(*self.0.lock().unwrap())
    }
}

/// Hands that give each command to the client, unless they fail first.
pub struct Direct {
    client: Arc<FakeEngine>,
    pub faults: Mutex<VecDeque<ActionError>>,
    /// Removals that were asked for: with data, keeping what is shared.
    pub removals: Mutex<Vec<(bool, bool)>>,
}

impl Direct {
    async fn run(&self, torrent: &TorrentRef, command: Command) -> Result<(), ActionError> {
        if let Some(fault) = self.faults.lock().unwrap().pop_front() {
            return Err(fault);
        }
        let hashes = [torrent.hash.clone()];
        let done = self.client.run(&hashes, command).await.unwrap();
        done[0]
            .result
            .clone()
            .map_err(|error| ActionError::Rejected(error.to_string()))
    }
}

#[async_trait]
impl TorrentHands for Direct {
    async fn read(&self, _: &TorrentRef) -> Result<Option<Map<String, Value>>, ActionError> {
        unreachable!("limits read nothing by it")
    }
    async fn pause(&self, torrent: &TorrentRef) -> Result<(), ActionError> {
        self.run(torrent, Command::Pause).await
    }
    async fn stop(&self, torrent: &TorrentRef) -> Result<(), ActionError> {
        self.run(torrent, Command::Stop).await
    }
    async fn start(&self, torrent: &TorrentRef) -> Result<(), ActionError> {
        self.run(torrent, Command::Start).await
    }
    async fn relocate(&self, _: &TorrentRef, _: &str) -> Result<(), ActionError> {
        unreachable!("limits move nothing")
    }
    async fn remove(&self, torrent: &TorrentRef, removal: Removal<'_>) -> Result<(), ActionError> {
        let with_data = removal.with_data;
        self.run(torrent, Command::Remove { with_data }).await?;
        self.removals
            .lock()
            .unwrap()
            .push((with_data, removal.keep_shared));
        Ok(())
    }
    async fn label(&self, _: &TorrentRef, _: &str) -> Result<(), ActionError> {
        unreachable!("limits label nothing")
    }
    async fn tags(&self, _: &TorrentRef, _: &[String], _: &[String]) -> Result<(), ActionError> {
        unreachable!("limits tag nothing")
    }
}

/// Server with one engine, `a`, whose client is in memory.
pub struct House {
    pub limits: Arc<Limits>,
    pub engines: Arc<Engines>,
    pub client: Arc<FakeEngine>,
    pub hands: Arc<Direct>,
    pub powers: Arc<Powers>,
    pub clock: Arc<Hands>,
    pub heard: Arc<Heard>,
    pub engine_id: String,
    pub ground: Ground,
    pub principal: Principal,
    caller: ClientInfo,
}

impl House {
    pub async fn new(db: &Db) -> Self {
        Self::offering(db, &[]).await
    }

    /// The same, with a client that has these capabilities.
    pub async fn offering(db: &Db, capabilities: &[&'static str]) -> Self {
        let mut tx = db.begin_write().await.unwrap();
        let _ = qm_db::exec!(&mut tx, ADD_USER, "u").await.unwrap();
        tx.commit().await.unwrap();
        let kinds = FakeKinds::new(&["fake"]);
        for capability in capabilities {
            kinds.engine("a").offer(capability);
        }
        let clock = Hands::starting_at(START_MS);
        let powers = Arc::new(Powers(Mutex::new(PermissionSet::all())));
        let heard = Arc::new(Heard::default());
        let db = db.clone().telling(heard.clone());
        let ground = testing::ground(&db, &clock.ctx(), powers.clone());
        let hub = Hub::new(HubConfig::default(), Arc::new(NoTokens), clock.ctx());
        let engines = Engines::prepare(EnginesDeps {
            ground: ground.clone(),
            kinds: kinds.clone(),
            hub: hub.clone(),
            watch: Arc::new(NoRules),
        });
        let engines = engines.await.unwrap();
        engines.start().await.unwrap();
        let (principal, caller) = (principal(Role::Administrator), client());
        let new = CreateEngine {
            name: "seedbox".into(),
            kind: "fake".into(),
            config: Map::from_iter([("host".into(), "a".into())]),
            is_default: true,
            path_mappings: None,
            is_enabled: true,
        };
        let who = Caller {
            principal: &principal,
            client: &caller,
        };
        let engine_id = engines.create_engine(who, new).await.unwrap().id;
        let hands = Arc::new(Direct {
            client: kinds.engine("a"),
            faults: Mutex::default(),
            removals: Mutex::default(),
        });
        let limits = Limits::start(LimitsDeps {
            ground: ground.clone(),
            engines: engines.clone(),
            hands: hands.clone(),
            hub,
        });
        Self {
            limits: limits.await.unwrap(),
            engines,
            client: kinds.engine("a"),
            hands,
            powers,
            clock,
            heard,
            engine_id,
            ground,
            principal,
            caller,
        }
    }

    /// The area as a new process has it, over the same database and client.
    pub async fn restart(&mut self) {
        self.limits.flush_all().await;
        self.crash().await;
    }

    /// The same, without the last minute.
    pub async fn crash(&mut self) {
        let limits = Limits::start(LimitsDeps {
            ground: self.ground.clone(),
            engines: self.engines.clone(),
            hands: self.hands.clone(),
            hub: Hub::new(HubConfig::default(), Arc::new(NoTokens), self.clock.ctx()),
        });
        self.limits = limits.await.unwrap();
    }

    pub fn caller(&self) -> Caller<'_> {
        self.caller_as(&self.principal)
    }

    pub fn caller_as<'a>(&'a self, principal: &'a Principal) -> Caller<'a> {
        Caller {
            principal,
            client: &self.caller,
        }
    }

    pub fn engine(&self) -> Arc<Engine> {
        self.engines.get(&self.engine_id).unwrap()
    }

    /// Has the list read and judged.
    pub async fn pass(&self) {
        let engine = self.engine();
        engine.refresh(Duration::from_mins(1)).await;
        self.limits.pass_engine(&engine).await.unwrap();
    }

    /// Lets time go by, with a pass every half a minute.
    pub async fn watch_for(&self, secs: u64) {
        let mut left = secs;
        while left > 0 {
            let step = left.min(30);
            self.clock.advance(Duration::from_secs(step));
            self.pass().await;
            left -= step;
        }
    }

    /// States and hashes of the commands so far.
    pub fn commands(&self) -> Vec<String> {
        let commands = self.client.commands();
        commands
            .into_iter()
            .map(|(_, command)| format!("{command:?}"))
            .collect()
    }

    pub async fn audited(&self) -> Vec<Audited> {
        let mut tx = self.ground.db.begin_read().await.unwrap();
        qm_db::all!(&mut tx, Audited, AUDITED).await.unwrap()
    }

    /// Rows of the ledger, of limits and of counts.
    pub async fn count_rows(&self) -> (i64, i64, i64) {
        let mut tx = self.ground.db.begin_read().await.unwrap();
        (
            qm_db::value!(&mut tx, i64, COUNT_LEDGER).await.unwrap(),
            qm_db::value!(&mut tx, i64, COUNT_LIMITS).await.unwrap(),
            qm_db::value!(&mut tx, i64, COUNT_COUNTS).await.unwrap(),
        )
    }

    pub async fn add_category(&self, id: &str, name: &str) {
        let mut tx = self.ground.db.begin_write().await.unwrap();
        let _ = qm_db::exec!(&mut tx, ADD_CATEGORY, id, name).await.unwrap();
        tx.commit().await.unwrap();
    }

    pub async fn rename_category(&self, id: &str, name: &str) {
        let mut tx = self.ground.db.begin_write().await.unwrap();
        let _ = qm_db::exec!(&mut tx, RENAME_CATEGORY, id, name).await.unwrap();
        tx.commit().await.unwrap();
    }

    pub async fn set_zone(&self, zone: &str) {
        let mut tx = self.ground.db.begin_write().await.unwrap();
        let zone = Some(zone.to_owned());
        let settings = &self.ground.settings;
        settings
            .put(&mut tx, &qm_platform::settings::TIMEZONE, &zone)
            .await
            .unwrap();
        tx.commit().await.unwrap();
    }
}

#[derive(Debug, FromRow)]
pub struct Audited {
    pub action: String,
    pub result: String,
    pub user_id: Option<String>,
    pub metadata: Option<Json<Value>>,
}

impl Audited {
    pub fn detail(&self, key: &str) -> Value {
        self.metadata
            .as_ref()
            .map_or(Value::Null, |json| json.0[key].clone())
    }
}

/// Torrent that seeds and of which the client tells no times.
pub fn seeding(number: u8, ratio: f64) -> Torrent {
    Torrent {
        hash: hash(number),
        state: TorrentState::Seeding,
        progress: 1.0,
        ratio,
        ..torrent(u32::from(number))
    }
}
