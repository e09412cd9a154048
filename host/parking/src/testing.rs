//! The area over a torrent client in memory, for tests of this crate.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use qm_db::{Db, FromRow, Json, sql};
use qm_engines::dto::engines::CreateEngine;
use qm_engines::{Engine, Engines, EnginesDeps};
use qm_kernel::{Caller, ClientInfo, Principal, Role, Timestamp};
use qm_platform::Ground;
use qm_platform::testing::{self, Claims};
use qm_ports::engine::{Torrent, TorrentState};
use qm_ports::rules::NoRules;
use qm_realtime::{Hub, HubConfig};
use qm_test_base::blank::{hash, torrent};
use qm_test_base::{FakeEngine, FakeKinds, Hands, Heard, NoTokens, START_MS, client, principal};
use qm_torrent_data::{TorrentData, TorrentDataDeps};
use serde_json::{Map, Value};

use crate::model::row::Row;
use crate::model::rules::RulesChange;
use crate::repo;
use crate::service::{ParkingDeps, ParkingLot};

sql! {
    ADD_USER = "INSERT INTO users (id, username, email, password_hash, created_at, updated_at) \
        VALUES ($1, $1, $1, '', 0, 0)";
    AUDITED = "SELECT action, object_type, object_id, user_id, metadata FROM audit_logs WHERE action LIKE 'torrents.parking.%' \
        ORDER BY action, id";
}

/// Server with one engine, whose client is in memory.
pub struct House {
    pub lot: Arc<ParkingLot>,
    pub engines: Arc<Engines>,
    pub client: Arc<FakeEngine>,
    pub clock: Arc<Hands>,
    pub engine_id: String,
    pub ground: Ground,
    pub kinds: Arc<FakeKinds>,
    hub: Hub,
    data: Arc<TorrentData>,
    principal: Principal,
    caller: ClientInfo,
    /// Hashes whose commands were looked at before.
    seen: Mutex<usize>,
}

impl House {
    /// With parking switched on.
    pub async fn new(db: &Db) -> Self {
        let house = Self::switched_off(db).await;
        let change = RulesChange {
            enabled: Some(true),
            ..RulesChange::default()
        };
        house.set(change).await;
        house
    }

    pub async fn switched_off(db: &Db) -> Self {
        let mut tx = db.begin_write().await.unwrap();
        qm_db::exec!(&mut tx, ADD_USER, "u")
            .await
            .unwrap()
            .exactly(1)
            .unwrap();
        tx.commit().await.unwrap();
        let kinds = FakeKinds::new(&["fake"]);
        let clock = Hands::starting_at(START_MS);
        let db = db.clone().telling(Arc::new(Heard::default()));
        let ground = testing::ground(&db, &clock.ctx(), Arc::new(Claims));
        let hub = Hub::new(HubConfig::default(), Arc::new(NoTokens), clock.ctx());
        let engines = Engines::prepare(EnginesDeps {
            ground: ground.clone(),
            kinds: kinds.clone(),
            hub: hub.clone(),
            watch: Arc::new(NoRules),
        });
        let engines = engines.await.unwrap();
        let data = TorrentData::load(TorrentDataDeps {
            engines: engines.clone(),
            db: ground.db.clone(),
            ctx: ground.ctx.clone(),
            audit: ground.audit.clone(),
            file_roots: vec!["/downloads".into()],
            own: Vec::new(),
        });
        let data = data.await.unwrap();
        engines.start().await.unwrap();
        let lot = ParkingLot::start(ParkingDeps {
            ground: ground.clone(),
            engines: engines.clone(),
            data: data.clone(),
            hub: hub.clone(),
        });
        let mut house = Self {
            lot: lot.await.unwrap(),
            engines,
            client: kinds.engine("a"),
            clock,
            engine_id: String::new(),
            ground,
            kinds,
            hub,
            data,
            principal: principal(Role::Administrator),
            caller: client(),
            seen: Mutex::new(0),
        };
        house.engine_id = house.add_engine("a").await;
        house
    }

    /// Configures an engine over the client `host`.
    pub async fn add_engine(&self, host: &str) -> String {
        let new = CreateEngine {
            name: format!("seedbox {host}"),
            kind: "fake".into(),
            config: Map::from_iter([("host".into(), host.into())]),
            is_default: false,
            path_mappings: None,
            is_enabled: true,
        };
        self.engines.create_engine(self.caller(), new).await.unwrap().id
    }

    /// The area as a new process has it, over the same database and client.
    pub async fn restart(&mut self) {
        let lot = ParkingLot::start(ParkingDeps {
            ground: self.ground.clone(),
            engines: self.engines.clone(),
            data: self.data.clone(),
            hub: self.hub.clone(),
        });
        self.lot = lot.await.unwrap();
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

    pub async fn set(&self, change: RulesChange) {
        let _ = self.lot.change_rules(self.caller(), change).await.unwrap();
    }

    pub fn engine(&self) -> Arc<Engine> {
        self.engines.get(&self.engine_id).unwrap()
    }

    pub fn wait(&self, minutes: u64) {
        self.clock.advance(Duration::from_secs(minutes * 60));
    }

    /// Numbers of a sweep: parked, revived, probed, still dead.
    pub async fn sweep(&self) -> [u64; 4] {
        let summary = self.lot.sweep().await.unwrap();
        [
            summary.parked,
            summary.revived,
            summary.probed,
            summary.still_dead,
        ]
    }

    /// Commands since the last call, each with the number of its torrent.
    pub fn commands(&self) -> Vec<String> {
        let commands = self.client.commands();
        let mut seen = self.seen.lock().unwrap();
        let new = commands[*seen..].iter().map(|(hash, command)| {
            let number = u64::from_str_radix(hash, 16).unwrap();
            format!("{number} {command:?}")
        });
        let new = new.collect();
        *seen = commands.len();
        new
    }

    /// Row of a torrent, also of one that was let go.
    pub async fn row(&self, number: u8) -> Option<Row> {
        let mut tx = self.ground.db.begin_read().await.unwrap();
        repo::find(&mut tx, &self.engine_id, &hash(number)).await.unwrap()
    }

    pub async fn put_row(&self, row: Row) {
        let mut tx = self.ground.db.begin_write().await.unwrap();
        repo::put(&mut tx, &self.engine_id, &[row]).await.unwrap();
        tx.commit().await.unwrap();
    }

    /// Numbers of the torrents that are parked, those parked last first.
    pub async fn parked(&self) -> Vec<u64> {
        let parked = self.lot.list(Some(&self.engine_id)).await.unwrap();
        parked
            .iter()
            .map(|(_, row)| u64::from_str_radix(&row.hash, 16).unwrap())
            .collect()
    }

    /// Mark of a torrent in the list, once it was read again.
    pub async fn mark(&self, number: u8) -> Option<qm_ports::parking::Parked> {
        let engine = self.engine();
        engine.refresh(Duration::from_mins(1)).await;
        let list = engine.snapshot().unwrap();
        list.get(&hash(number))?.torrent.parked.as_deref().cloned()
    }

    pub async fn audited(&self) -> Vec<Audited> {
        let mut tx = self.ground.db.begin_read().await.unwrap();
        qm_db::all!(&mut tx, Audited, AUDITED).await.unwrap()
    }

    /// A torrent that nobody shares, added some minutes ago.
    pub fn dead(&self, number: u8, minutes: u64) -> Torrent {
        let now = self.ground.ctx.now();
        Torrent {
            added_at: Some(now.minus(Duration::from_secs(minutes * 60))),
            ..torrent(number)
        }
    }

    pub fn state(&self, number: u8) -> TorrentState {
        self.client.torrent(&hash(number)).unwrap().state
    }

    pub fn now(&self) -> Timestamp {
        self.ground.ctx.now()
    }
}

#[derive(Debug, FromRow)]
pub struct Audited {
    pub action: String,
    pub object_type: Option<String>,
    pub object_id: Option<String>,
    pub user_id: Option<String>,
    pub metadata: Option<Json<Value>>,
}

impl Audited {
    pub fn detail(&self) -> Value {
        self.metadata.as_ref().map_or(Value::Null, |json| json.0.clone())
    }
}
