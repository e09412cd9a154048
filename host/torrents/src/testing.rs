//! The area over torrent clients in memory, for tests of this crate.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use qm_db::{Db, FromRow, Json, sql};
use qm_engines::dto::engines::CreateEngine;
use qm_kernel::{ClientInfo, Ctx, ErrorKind, Principal, Role};
use qm_net::{Net, NetConfig};
use qm_platform::Ground;
use qm_platform::testing::{self, Claims};
use qm_ports::carry::{
    CarryError, DataCheck, DataFile, DataMove, DataMover, DataPlace, DataSeen, SeenFile, Stayed, Whereabouts,
};
use qm_ports::rules::NoRules;
use qm_realtime::{Hub, HubConfig};
use qm_test_base::{FakeKinds, Heard, NoTokens, client, principal};

use crate::service::{Caller, Torrents, TorrentsDeps};

/// A file manager that knows some paths and nothing of what lies there.
#[derive(Default)]
pub struct FakeMover {
    pub there: Mutex<BTreeSet<String>>,
    /// The error that it answers instead of moving.
    pub failure: Mutex<Option<CarryError>>,
    /// Copies differ from their originals.
    pub differ: AtomicBool,
    /// Why nothing can be removed.
    pub stuck: Mutex<Option<String>>,
    /// Moves wait for a permit of this semaphore.
    pub gate: Mutex<Option<Arc<tokio::sync::Semaphore>>>,
}

impl FakeMover {
    pub fn put(&self, path: &str) {
        self.there.lock().unwrap().insert(path.to_owned());
    }

    pub fn paths(&self) -> Vec<String> {
        self.there.lock().unwrap().iter().cloned().collect()
    }

    pub fn fail(&self, kind: ErrorKind, message: &str) {
        let message = message.to_owned();
        let code = kind.code();
        *self.failure.lock().unwrap() = Some(CarryError { kind, code, message });
    }

    fn has(&self, path: &str) -> bool {
        self.there.lock().unwrap().contains(path)
    }
}

fn target(job: &DataMove) -> String {
    let name = job.source.rsplit('/').next().unwrap();
    format!("{}/{name}", job.directory)
}

#[async_trait]
impl DataMover for FakeMover {
    async fn check(&self, job: &DataMove, _whole: &[DataFile]) -> Result<DataCheck, CarryError> {
        if self.has(&target(job)) {
            let message = "Destination already exists".to_owned();
            let (kind, code) = (ErrorKind::Conflict, "conflict.exists");
            return Err(CarryError { kind, code, message });
        }
        Ok(if self.has(&job.source) {
            DataCheck::Ready
        } else {
            DataCheck::Absent
        })
    }

    async fn carry(&self, job: &DataMove, _: Option<Caller<'_>>) -> Result<(), CarryError> {
        let gate = self.gate.lock().unwrap().clone();
        if let Some(gate) = gate {
            gate.acquire().await.unwrap().forget();
        }
        if let Some(error) = self.failure.lock().unwrap().take() {
            return Err(error);
        }
        assert!(self.there.lock().unwrap().remove(&job.source), "{job:?}");
        self.put(&target(job));
        Ok(())
    }

    async fn whereabouts(&self, job: &DataMove) -> Result<Whereabouts, CarryError> {
        Ok(match (self.has(&job.source), self.has(&target(job))) {
            (true, true) => Whereabouts::Both,
            (true, false) => Whereabouts::Source,
            (false, true) => Whereabouts::Destination,
            (false, false) => Whereabouts::Neither,
        })
    }

    async fn remove_original(&self, job: &DataMove) -> Result<bool, CarryError> {
        if self.differ.load(Ordering::SeqCst) {
            return Ok(false);
        }
        Ok(self.there.lock().unwrap().remove(&job.source))
    }

    /// The data at a path is one file.
    async fn see(&self, place: &DataPlace) -> Result<Option<DataSeen>, CarryError> {
        let path = String::from_utf8(place.top.clone()).unwrap();
        let file = SeenFile {
            path: Vec::new(),
            inode: 1,
        };
        let files: Vec<SeenFile> = self.has(&path).then_some(file).into_iter().collect();
        Ok(Some(DataSeen {
            top: place.top.clone(),
            missing: 1 - files.len(),
            files,
        }))
    }

    async fn count_remains(&self, seen: &DataSeen) -> Result<usize, CarryError> {
        Ok(usize::from(self.has(std::str::from_utf8(&seen.top).unwrap())))
    }

    async fn remove_remains(&self, seen: &DataSeen) -> Result<Vec<Stayed>, CarryError> {
        let path = String::from_utf8(seen.top.clone()).unwrap();
        let why = self.stuck.lock().unwrap().clone();
        Ok(match why {
            Some(why) if self.has(&path) => vec![Stayed { path, why }],
            _ => {
                self.there.lock().unwrap().remove(&path);
                Vec::new()
            }
        })
    }
}

/// The whole area over fake clients.
pub struct House {
    pub torrents: Arc<Torrents>,
    pub kinds: Arc<FakeKinds>,
    pub mover: Arc<FakeMover>,
    pub ground: Ground,
    principal: Principal,
    client: ClientInfo,
}

impl House {
    pub async fn new(db: &Db, kinds: &[&str]) -> Self {
        Self::over(db, FakeKinds::new(kinds)).await
    }

    /// Over clients that may have torrents already: engines that the database knows are read from the start on.
    pub async fn over(db: &Db, kinds: Arc<FakeKinds>) -> Self {
        Self::within(db, kinds, vec!["/downloads".into()]).await
    }

    /// The same, with these directories as roots.
    pub async fn within(db: &Db, kinds: Arc<FakeKinds>, roots: Vec<String>) -> Self {
        let heard = Arc::new(Heard::default());
        let ctx = Ctx::system();
        let ground = testing::ground(&db.clone().telling(heard), &ctx, Arc::new(Claims));
        let deps = TorrentsDeps {
            ground: ground.clone(),
            kinds: kinds.clone(),
            net: Net::new(NetConfig::default()).unwrap(),
            hub: Hub::new(HubConfig::default(), Arc::new(NoTokens), ctx),
            file_roots: roots,
            own: Vec::new(),
            watch: Arc::new(NoRules),
        };
        let torrents = Torrents::start(deps).await.unwrap();
        let mover = Arc::new(FakeMover::default());
        let wired: Arc<dyn DataMover> = mover.clone();
        torrents.use_mover(&wired);
        Self {
            torrents,
            kinds,
            mover,
            ground,
            principal: principal(Role::Administrator),
            client: client(),
        }
    }

    /// Configures an engine of kind `fake` over the client `host`.
    pub async fn engine(&self, name: &str, host: &str) -> String {
        let new = CreateEngine {
            name: name.into(),
            kind: "fake".into(),
            config: serde_json::Map::from_iter([
                ("host".into(), host.into()),
                ("password".into(), "secret".into()),
            ]),
            path_mappings: None,
            is_default: false,
            is_enabled: true,
        };
        self.torrents
            .engines
            .create_engine(self.caller(), new)
            .await
            .unwrap()
            .id
    }

    pub fn caller(&self) -> Caller<'_> {
        Caller {
            principal: &self.principal,
            client: &self.client,
        }
    }

    pub fn caller_as<'a>(&'a self, principal: &'a Principal) -> Caller<'a> {
        Caller {
            principal,
            client: &self.client,
        }
    }
}

sql! {
    AUDITED = "SELECT id, action, result, object_type, object_id, ip_address, metadata FROM audit_logs \
        ORDER BY action, result";
}

/// An audit row.
#[derive(FromRow)]
pub struct Audited {
    pub id: String,
    pub action: String,
    pub result: String,
    pub object_type: Option<String>,
    pub object_id: Option<String>,
    pub ip_address: Option<String>,
    pub metadata: Option<Json<serde_json::Value>>,
}

impl Audited {
    /// Type and id of what it was done to; blank when it was done to nothing in particular.
    pub fn object(&self) -> (&str, &str) {
        let id = self.object_id.as_deref().unwrap_or_default();
        (self.object_type.as_deref().unwrap_or_default(), id)
    }
}

/// The audit rows by action and result.
pub async fn audited(db: &Db) -> Vec<Audited> {
    qm_db::all!(&mut db.begin_read().await.unwrap(), Audited, AUDITED)
        .await
        .unwrap()
}

/// Waits for a condition that must come true.
pub async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..3000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it never came true that {what}");
}
