//! The area over torrent clients in memory, for tests of this crate.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use qm_db::{Db, FromRow, Json, Tx, exec, sql};
use qm_engines::dto::engines::CreateEngine;
use qm_engines::{Engine, Engines, EnginesDeps};
use qm_jobs::{Jobs, Pace};
use qm_kernel::{Caller, Ctx, PermissionSet, Principal, Role};
use qm_platform::testing::{self, Claims};
use qm_platform::{Acting, ActingError, Actor, Background};
use qm_ports::action::{ActionError, TagKeeper, TorrentRef};
use qm_ports::carry::{
    CarryError, DataCheck, DataFile, DataMove, DataMover, DataPlace, DataSeen, SeenFile, Whereabouts,
};
use qm_ports::rules::NoRules;
use qm_realtime::{Hub, HubConfig};
use qm_test_base::{Answer, FakeEngine, FakeKinds, Heard, NoTokens, Visitor, client, principal};
use qm_torrent_data::{TorrentData, TorrentDataDeps};
use serde_json::{Map, Value, json};

use crate::routes::routes;
use crate::service::{Deps, TorrentCommands};

sql! {
    ADD_USER = "INSERT INTO users (id, username, email, password_hash, created_at, updated_at) \
        VALUES ($1, $1, $1, '', 0, 0)";
    AUDITED = "SELECT action, result, object_id, metadata FROM audit_logs WHERE action LIKE 'torrents.%' ORDER BY action, result";
}

/// An audit row.
#[derive(FromRow)]
pub struct Audited {
    pub action: String,
    pub result: String,
    pub object_id: Option<String>,
    pub metadata: Option<Json<Value>>,
}

/// A disk with some files on it.
#[derive(Default)]
pub struct Disk {
    pub files: Mutex<BTreeSet<String>>,
}

#[async_trait]
impl DataMover for Disk {
    async fn check(&self, _: &DataMove, _: &[DataFile]) -> Result<DataCheck, CarryError> {
        Ok(DataCheck::Absent)
    }

    async fn carry(&self, _: &DataMove, _: Option<Caller<'_>>) -> Result<(), CarryError> {
        Ok(())
    }

    async fn whereabouts(&self, _: &DataMove) -> Result<Whereabouts, CarryError> {
        Ok(Whereabouts::Source)
    }

    async fn remove_original(&self, _: &DataMove) -> Result<bool, CarryError> {
        Ok(false)
    }

    /// Places outside of `/downloads` are not seen.
    async fn see(&self, place: &DataPlace) -> Result<Option<DataSeen>, CarryError> {
        let top = String::from_utf8(place.top.clone()).unwrap();
        if !top.starts_with("/downloads/") {
            return Ok(None);
        }
        let paths: Vec<Vec<u8>> = if place.files.is_empty() {
            vec![Vec::new()]
        } else {
            place.files.clone()
        };
        let there = self.files.lock().unwrap();
        let full = |path: &[u8]| match path {
            [] => top.clone(),
            path => format!("{top}/{}", std::str::from_utf8(path).unwrap()),
        };
        let (found, missing): (Vec<_>, Vec<_>) =
            paths.into_iter().partition(|path| there.contains(&full(path)));
        Ok(Some(DataSeen {
            files: found
                .into_iter()
                .map(|path| SeenFile { path, inode: 1 })
                .collect(),
            missing: missing.len(),
            top: place.top.clone(),
        }))
    }
}

/// Keeps the tags it is told.
#[derive(Default)]
pub struct Tags {
    pub told: Mutex<Vec<(String, Vec<String>, Vec<String>)>>,
}

#[async_trait]
impl TagKeeper for Tags {
    async fn keep_tags(
        &self,
        torrent: &TorrentRef,
        add: &[String],
        remove: &[String],
    ) -> Result<(), ActionError> {
        let told = (torrent.hash.clone(), add.to_vec(), remove.to_vec());
        self.told.lock().unwrap().push(told);
        Ok(())
    }
}

/// Trusts the claims of callers; what users may later is in the test's hands.
pub struct Powers(pub Mutex<PermissionSet>);

#[async_trait]
impl Acting for Powers {
    async fn judge(
        &self,
        tx: &mut Tx,
        who: &Principal,
        needed: &[qm_kernel::Permission],
    ) -> Result<Actor, ActingError> {
        Claims.judge(tx, who, needed).await
    }

    async fn powers(&self, _: &mut Tx, _: &str) -> Result<PermissionSet, ActingError> {
        Ok(*self.0.lock().unwrap())
    }
}

/// The area with its routes.
pub struct House {
    pub app: Arc<TorrentCommands>,
    pub kinds: Arc<FakeKinds>,
    pub engines: Arc<Engines>,
    pub disk: Arc<Disk>,
    pub tags: Arc<Tags>,
    pub powers: Arc<Powers>,
    pub jobs: Jobs,
    db: Db,
    data: Arc<TorrentData>,
    visitor: Visitor,
    background: Background,
}

impl House {
    pub async fn new(db: &Db) -> Self {
        let kinds = FakeKinds::new(&["fake"]);
        let ctx = Ctx::system();
        let powers = Arc::new(Powers(Mutex::new(PermissionSet::all())));
        let told = db.clone().telling(Arc::new(Heard::default()));
        let ground = testing::ground(&told, &ctx, powers.clone());
        let engines = Engines::prepare(EnginesDeps {
            ground: ground.clone(),
            kinds: kinds.clone(),
            hub: Hub::new(HubConfig::default(), Arc::new(NoTokens), ctx.clone()),
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
        let mut tx = db.begin_write().await.unwrap();
        exec!(&mut tx, ADD_USER, "u").await.unwrap().exactly(1).unwrap();
        tx.commit().await.unwrap();
        let (jobs, background) = qm_jobs::testing::worker_of(db, Pace::default(), ctx.clone());
        let (disk, tags) = (Arc::new(Disk::default()), Arc::new(Tags::default()));
        let mover: Arc<dyn DataMover> = disk.clone();
        data.use_mover(&mover);
        let app = TorrentCommands::new(Deps {
            ground,
            jobs: jobs.clone(),
            engines: engines.clone(),
            data: data.clone(),
            tags: tags.clone(),
            mover,
        });
        jobs.start().await.unwrap();
        let visitor = Visitor::new("/api/torrents", routes().with_state(app.clone()), ctx);
        Self {
            app,
            kinds,
            engines,
            disk,
            tags,
            powers,
            jobs,
            db: db.clone(),
            data,
            visitor,
            background,
        }
    }

    /// Configures an engine over the client `host`, and waits until its torrents are listed.
    pub async fn engine(&self, name: &str, host: &str) -> String {
        let admin = principal(Role::Administrator);
        let from = client();
        let caller = Caller {
            principal: &admin,
            client: &from,
        };
        let new = CreateEngine {
            name: name.into(),
            kind: "fake".into(),
            config: Map::from_iter([("host".into(), host.into())]),
            is_default: false,
            path_mappings: None,
            is_enabled: true,
        };
        let id = self.engines.create_engine(caller, new).await.unwrap().id;
        self.loaded(&id).listed().await.unwrap();
        id
    }

    pub fn loaded(&self, id: &str) -> Arc<Engine> {
        self.engines.get(id).unwrap()
    }

    pub fn client(&self, host: &str) -> Arc<FakeEngine> {
        self.kinds.engine(host)
    }

    pub async fn ask(&self, role: &str, method: &str, path: &str, body: Option<Value>) -> Answer {
        self.visitor.ask(role, method, path, body).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.ask("ADMINISTRATOR", "POST", path, Some(body)).await
    }

    /// Audit rows about torrents, by action and result.
    pub async fn audited(&self) -> Vec<Audited> {
        qm_db::all!(&mut self.db.begin_read().await.unwrap(), Audited, AUDITED)
            .await
            .unwrap()
    }

    pub async fn close(self) {
        self.jobs.shutdown().await;
        self.background.shutdown().await;
        self.data.shutdown().await;
        self.engines.shutdown().await;
    }
}

/// Waits for a condition that must come true.
pub async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..6000 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it never came true that {what}");
}

/// An item of a bulk.
pub fn item(engine: &str, hash: &str) -> Value {
    json!({ "engineId": engine, "hash": hash })
}
