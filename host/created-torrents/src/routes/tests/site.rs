//! Site of the tests: the area over a database, with engines, powers and roots in the hands of a test.

use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use qm_confined::Roots;
use qm_db::{Db, Tx};
use qm_jobs::{Jobs, Pace};
use qm_kernel::{Ctx, Permission, PermissionSet, Principal};
use qm_metainfo::Metainfo;
use qm_platform::testing::{self, Claims};
use qm_platform::{Acting, ActingError, Actor, AuditTrail, Background};
use qm_ports::DefaultRoot;
use qm_ports::intake::{IntakeError, TakenTorrent};
use qm_ports::seed::{SeedEngine, SeedIntake, SeedTorrent, SeedWish};
use qm_test_base::{Answer, Visitor};
use serde_json::Value;
use tokio::sync::Notify;

use crate::routes::routes;
use crate::service::{CreatedTorrents, Deps};

qm_db::sql! {
    ADD_USER = "INSERT INTO users (id, username, email, password_hash, created_at, updated_at) \
        VALUES ($1, $1, $1, '', 0, 0)";
}

/// The longest wait for a job.
pub const DEADLINE: Duration = Duration::from_mins(2);

/// Engines in memory: `e` knows version 2 and its padding, `r` does not.
#[derive(Default)]
pub struct Engines {
    pub taken: Mutex<Vec<SeedTorrent>>,
    /// Answers of the next adds.
    pub faults: Mutex<VecDeque<IntakeError>>,
    /// True when an add ends only after `go`.
    pub hangs: Mutex<bool>,
    pub go: Notify,
}

#[async_trait]
impl SeedIntake for Engines {
    fn check_wish(&self, wish: &SeedWish) -> Result<Option<SeedEngine>, IntakeError> {
        if wish.category.as_deref() == Some("bad") {
            return Err(IntakeError::Refused("category has a quote in it".to_owned()));
        }
        let engine = |name: &str, knows_v2: bool| SeedEngine {
            name: name.to_owned(),
            knows_v2,
        };
        match &*wish.engine_id {
            "e" => Ok(Some(engine("the box", true))),
            "r" => Ok(Some(engine("the old box", false))),
            "down" => Err(IntakeError::Engine("it starts".to_owned())),
            _ => Ok(None),
        }
    }

    async fn check_directory(&self, path: &str) -> Result<String, IntakeError> {
        match path {
            path if path.ends_with("/private") => {
                Err(IntakeError::Refused(format!("{path} is not for engines")))
            }
            path if path.ends_with("/asleep") => Err(IntakeError::Engine("the disk sleeps".to_owned())),
            path => Ok(path.to_owned()),
        }
    }

    async fn seed_torrent(&self, torrent: SeedTorrent) -> Result<TakenTorrent, IntakeError> {
        let hash = Metainfo::parse(&torrent.file).unwrap().hash;
        self.taken.lock().unwrap().push(torrent);
        if *self.hangs.lock().unwrap() {
            self.go.notified().await;
        }
        match self.faults.lock().unwrap().pop_front() {
            Some(fault) => Err(fault),
            None => Ok(TakenTorrent { hash, existed: false }),
        }
    }
}

/// A Default Root Path.
#[derive(Default)]
pub struct Root(pub Mutex<Option<String>>);

#[async_trait]
impl DefaultRoot for Root {
    async fn find_default_root(&self) -> Result<Option<String>, String> {
        Ok(self.0.lock().unwrap().clone())
    }
}

/// Trusts the claims of callers; what users may later is in the test's hands.
pub struct Powers {
    pub held: Mutex<PermissionSet>,
    /// Looks after which their user has [`few_powers`].
    pub looks_left: Mutex<Option<usize>>,
}

/// Without the right to see files.
pub fn few_powers() -> PermissionSet {
    [Permission::TorrentsAdd, Permission::TorrentsView]
        .into_iter()
        .collect()
}

#[async_trait]
impl Acting for Powers {
    async fn judge(&self, tx: &mut Tx, who: &Principal, needed: &[Permission]) -> Result<Actor, ActingError> {
        Claims.judge(tx, who, needed).await
    }

    async fn powers(&self, _: &mut Tx, _: &str) -> Result<PermissionSet, ActingError> {
        match &mut *self.looks_left.lock().unwrap() {
            Some(0) => return Ok(few_powers()),
            Some(left) => *left -= 1,
            None => {}
        }
        Ok(*self.held.lock().unwrap())
    }
}

pub struct Site {
    pub app: Arc<CreatedTorrents>,
    visitor: Visitor,
    pub jobs: Jobs,
    pub background: Background,
    pub engines: Arc<Engines>,
    pub default_root: Arc<Root>,
    pub powers: Arc<Powers>,
    pub root: PathBuf,
    pub _folder: tempfile::TempDir,
}

impl Site {
    pub async fn new(db: &Db) -> Self {
        Self::at_time(db, Ctx::system()).await
    }

    /// A site whose jobs wait for `start`.
    pub async fn at_time(db: &Db, ctx: Ctx) -> Self {
        let mut tx = db.begin_write().await.unwrap();
        for id in ["u", "other"] {
            qm_db::exec!(&mut tx, ADD_USER, id)
                .await
                .unwrap()
                .exactly(1)
                .unwrap();
        }
        tx.commit().await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        // The root is a link: engines know it by this name, and by no other.
        let root = home.join("root");
        fs::create_dir(home.join("disk")).unwrap();
        std::os::unix::fs::symlink(home.join("disk"), &root).unwrap();
        // The clock may be the test's, so what is due is looked for often.
        let pace = Pace {
            poll: Duration::from_millis(50),
            idle_poll: Duration::from_millis(50),
            ..Pace::default()
        };
        let (jobs, background) = qm_jobs::testing::worker_of(db, pace, ctx.clone());
        let (engines, default_root) = (Arc::new(Engines::default()), Arc::new(Root::default()));
        let powers = Arc::new(Powers {
            held: Mutex::new(PermissionSet::all()),
            looks_left: Mutex::default(),
        });
        let app = CreatedTorrents::new(Deps {
            ground: testing::ground(db, &ctx, powers.clone()),
            jobs: jobs.clone(),
            seeds: engines.clone(),
            default_root: default_root.clone(),
            roots: Roots::open(&[root.to_str().unwrap()]),
        });
        let visitor = Visitor::new("/api/torrents/created", routes().with_state(app.clone()), ctx);
        Self {
            app,
            visitor,
            jobs,
            background,
            engines,
            default_root,
            powers,
            root,
            _folder: folder,
        }
    }

    pub async fn started(db: &Db) -> Self {
        let site = Self::new(db).await;
        site.jobs.start().await.unwrap();
        site
    }

    pub fn write(&self, below: &str, bytes: &[u8]) {
        let path = self.root.join(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub async fn send(&self, role: &str, method: &str, path: &str, body: Option<Value>) -> Answer {
        self.visitor.ask(role, method, path, body).await
    }

    pub async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> Answer {
        self.send("USER", method, path, body).await
    }

    pub async fn create(&self, body: Value) -> Value {
        let reply = self.ask("POST", "", Some(body)).await;
        assert_eq!(reply.status, 201, "{}", reply.json());
        reply.json()
    }

    /// The message of a refused wish, after its status and code.
    pub async fn refusal(&self, body: Value) -> String {
        let (status, code, message) = self.ask("POST", "", Some(body)).await.refusal();
        format!("{status} {code} {message}")
    }

    /// A torrent whose job has ended.
    pub async fn ended(&self, created: &Value) -> Value {
        let ended = self.jobs.ended(created["jobId"].as_str().unwrap());
        tokio::time::timeout(DEADLINE, ended).await.unwrap().unwrap();
        self.show(created).await
    }

    pub async fn show(&self, created: &Value) -> Value {
        let path = format!("/{}", created["id"].as_str().unwrap());
        let reply = self.ask("GET", &path, None).await;
        assert_eq!(reply.status, 200, "{}", reply.json());
        reply.json()
    }

    /// Waits until the torrent looks so.
    pub async fn until(&self, created: &Value, looks: impl Fn(&Value) -> bool) {
        let waiting = async {
            while !looks(&self.show(created).await) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(DEADLINE, waiting).await.unwrap();
    }

    pub async fn stop(self) {
        self.jobs.shutdown().await;
        self.background.shutdown().await;
    }
}

pub async fn actions(db: &Db) -> Vec<String> {
    let rows = AuditTrail::newest(&mut db.begin_read().await.unwrap(), 50)
        .await
        .unwrap();
    rows.into_iter().map(|row| row.action).collect()
}
