//! The area over a directory of its own, with a worker of jobs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use qm_db::{Db, DbError, Tx, sql};
use qm_jobs::{
    Capabilities, Done, JobContext, JobError, JobHandler, JobType, Jobs, NewJob, Pace as JobsPace,
};
use qm_kernel::{ClientInfo, Ctx, ErrorKind, PageQuery, Permission, Principal, Role};
use qm_platform::testing::Claims;
use qm_platform::{Audit, Background};
use qm_ports::action::{ActionError, TorrentHands, TorrentRef};
use qm_ports::carry::{CarryError, DataCheck, DataFile, DataMove, DataMover, Whereabouts};
use qm_ports::{Holders, TorrentPayload, TorrentPayloads};
use qm_test_base::{client, principal};
use serde_json::{Map, Value, json};

use crate::model::item::Filter;
use crate::model::library::{Kind, LibraryChange, MediaLibrary};
use crate::service::{Caller, Library, LibraryDeps, Outside, Pace, Triggers};

/// Triggers that were fired, with their paths.
#[derive(Default)]
pub struct Fired(pub Mutex<Vec<(String, String)>>);

#[async_trait]
impl Triggers for Fired {
    async fn fire(&self, _: &mut Tx, trigger: &str, context: &Map<String, Value>) -> Result<(), DbError> {
        let path = context["path"].as_str().unwrap_or_default().to_owned();
        self.0.lock().expect("whole").push((trigger.to_owned(), path));
        Ok(())
    }
}

/// Does nothing.
struct Nothing;

#[async_trait]
impl JobHandler for Nothing {
    async fn run(&self, _: &JobContext) -> Result<Done, JobError> {
        Ok(Done::result(Value::Null))
    }
}

sql! {
    ADD_USER = "INSERT INTO users (id, username, email, password_hash, created_at, updated_at) \
        VALUES ('u', 'u', 'u@example.org', '', 0, 0) ON CONFLICT DO NOTHING";
    AUDITED = "SELECT COALESCE(object_id, ''), COALESCE(metadata, '') FROM audit_logs WHERE action = $1 ORDER BY created_at, id";
}

/// Stores the user whom callers are, without whom jobs are nobody's.
///
/// # Panics
/// When the database does not answer.
pub async fn has_user(db: &Db) {
    let mut tx = db.begin_write().await.expect("a database");
    let _ = qm_db::exec!(&mut tx, ADD_USER).await.expect("a user");
    tx.commit().await.expect("a user");
}

/// Rows of the audit about an action: what it was done to, and what is told of it.
///
/// # Panics
/// When the database does not answer.
pub async fn audited(db: &Db, action: &str) -> Vec<(String, Value)> {
    let mut tx = db.begin_read().await.expect("a database");
    let rows = qm_db::all!(&mut tx, (String, String), AUDITED, action).await;
    let told = |text: String| serde_json::from_str(&text).unwrap_or_default();
    rows.expect("rows")
        .into_iter()
        .map(|(id, text)| (id, told(text)))
        .collect()
}

/// The areas around: files that are renamed, torrents that are listed, people who may.
pub struct Around {
    pub torrents: Mutex<Vec<TorrentPayload>>,
    /// Torrents that were removed, and whether with their data.
    pub removed: Mutex<Vec<(String, bool)>>,
    /// Permissions that nobody holds any more.
    pub lost: Mutex<Vec<Permission>>,
    /// Moves to come that end before anything is moved, and those that end right after.
    pub before: AtomicBool,
    pub after: AtomicBool,
}

impl Around {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            torrents: Mutex::default(),
            removed: Mutex::default(),
            lost: Mutex::default(),
            before: AtomicBool::new(false),
            after: AtomicBool::new(false),
        })
    }
}

#[async_trait]
impl Holders for Around {
    async fn holds(&self, _: &str, permission: Permission) -> Result<bool, String> {
        Ok(!self.lost.lock().expect("whole").contains(&permission))
    }
}

#[async_trait]
impl TorrentPayloads for Around {
    fn touching(&self, paths: &[&Path]) -> Vec<TorrentPayload> {
        let torrents = self.torrents.lock().expect("whole");
        let touches = |data: &Path| {
            let mut paths = paths.iter();
            paths.any(|path| path.starts_with(data) || data.starts_with(path))
        };
        let found = torrents
            .iter()
            .filter(|torrent| touches(Path::new(&torrent.path)));
        found.cloned().collect()
    }

    async fn remove(&self, _: &TorrentPayload, _: bool, _: &Principal, _: &ClientInfo) -> Result<(), String> {
        Err("nobody asks for this".to_owned())
    }
}

fn unasked<T>() -> Result<T, ActionError> {
    Err(ActionError::Rejected("nobody asks for this".to_owned()))
}

#[async_trait]
impl TorrentHands for Around {
    async fn read(&self, _: &TorrentRef) -> Result<Option<Map<String, Value>>, ActionError> {
        unasked()
    }

    async fn pause(&self, _: &TorrentRef) -> Result<(), ActionError> {
        unasked()
    }

    async fn stop(&self, _: &TorrentRef) -> Result<(), ActionError> {
        unasked()
    }

    async fn start(&self, _: &TorrentRef) -> Result<(), ActionError> {
        unasked()
    }

    async fn relocate(&self, _: &TorrentRef, _: &str) -> Result<(), ActionError> {
        unasked()
    }

    async fn remove(&self, torrent: &TorrentRef, with_data: bool) -> Result<(), ActionError> {
        let removed = (torrent.hash.clone(), with_data);
        self.removed.lock().expect("whole").push(removed);
        Ok(())
    }

    async fn label(&self, _: &TorrentRef, _: &str) -> Result<(), ActionError> {
        unasked()
    }

    async fn tags(&self, _: &TorrentRef, _: &[String], _: &[String]) -> Result<(), ActionError> {
        unasked()
    }
}

fn carried(job: &DataMove) -> (PathBuf, PathBuf) {
    let source = PathBuf::from(&job.source);
    let target = Path::new(&job.directory).join(source.file_name().expect("a name"));
    (source, target)
}

fn refused(message: &str) -> CarryError {
    CarryError {
        kind: ErrorKind::Conflict,
        code: "conflict.exists",
        message: message.to_owned(),
    }
}

#[async_trait]
impl DataMover for Around {
    async fn check(&self, _: &DataMove, _: &[DataFile]) -> Result<DataCheck, CarryError> {
        Err(refused("nobody asks for this"))
    }

    async fn carry(&self, job: &DataMove, _: Option<(&Principal, &ClientInfo)>) -> Result<(), CarryError> {
        if self.before.swap(false, Ordering::SeqCst) {
            return Err(refused("the disk is full"));
        }
        let (source, target) = carried(job);
        if target.exists() {
            return Err(refused("it exists already"));
        }
        std::fs::rename(source, target).map_err(|error| refused(&error.to_string()))?;
        // As a server that is killed: nothing is told of what was done.
        if self.after.swap(false, Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        Ok(())
    }

    async fn whereabouts(&self, job: &DataMove) -> Result<Whereabouts, CarryError> {
        let (source, target) = carried(job);
        Ok(match (source.exists(), target.exists()) {
            (true, true) => Whereabouts::Both,
            (true, false) => Whereabouts::Source,
            (false, true) => Whereabouts::Destination,
            (false, false) => Whereabouts::Neither,
        })
    }

    async fn remove_original(&self, _: &DataMove) -> Result<bool, CarryError> {
        Ok(false)
    }
}

pub struct House {
    pub around: Arc<Around>,
    pub app: Arc<Library>,
    pub jobs: Jobs,
    pub fired: Arc<Fired>,
    background: Background,
    /// The one storage root.
    pub root: PathBuf,
    pub principal: Principal,
    pub client: ClientInfo,
    _home: Option<tempfile::TempDir>,
}

/// How often a test looks whether something has happened.
const LOOK: Duration = Duration::from_millis(10);

impl House {
    /// Nothing that a scan saw is relied on, as all that a test makes is new.
    pub fn new(db: &Db) -> Self {
        Self::paced(db, Pace::default())
    }

    /// # Panics
    /// When there is no room for a directory.
    pub fn paced(db: &Db, pace: Pace) -> Self {
        let home = tempfile::tempdir().expect("room");
        let root = home.path().canonicalize().expect("it is there");
        Self {
            _home: Some(home),
            ..Self::over(db, root, pace)
        }
    }

    /// # Panics
    /// When the metrics of an empty registry cannot be made.
    pub fn over(db: &Db, root: PathBuf, pace: Pace) -> Self {
        let ctx = Ctx::system();
        let (jobs, background) = qm_jobs::testing::worker(db, JobsPace::default());
        let fired = Arc::new(Fired::default());
        let around = Around::new();
        let app = Library::new(LibraryDeps {
            db: db.clone(),
            ctx: ctx.clone(),
            audit: Audit::new(ctx),
            acting: Arc::new(Claims),
            jobs: jobs.clone(),
            triggers: fired.clone(),
            file_roots: vec![root.to_str().expect("UTF-8").to_owned()],
            own: vec![root.join("own")],
            pace,
            outside: Outside {
                mover: around.clone(),
                payloads: around.clone(),
                hands: around.clone(),
                holders: around.clone(),
            },
        });

        Self {
            around,
            app,
            jobs,
            fired,
            background,
            root,
            principal: principal(Role::Administrator),
            client: client(),
            _home: None,
        }
    }

    /// # Panics
    /// When they do not start.
    pub async fn starts_jobs(&self) {
        self.jobs.start().await.expect("they start");
    }

    pub async fn stops(&self) {
        self.jobs.shutdown().await;
        self.background.shutdown().await;
    }

    pub fn caller(&self) -> Caller<'_> {
        Caller {
            principal: &self.principal,
            client: &self.client,
        }
    }

    /// A library in the folder of that name, and the job of its first scan.
    ///
    /// # Panics
    /// When it cannot be made.
    pub async fn library(&self, folder: &str, kind: Kind) -> (MediaLibrary, String) {
        let change = LibraryChange {
            name: Some(folder.to_owned()),
            path: Some(self.root.join(folder).to_str().expect("UTF-8").to_owned()),
            kind: Some(kind),
            ..LibraryChange::default()
        };
        self.app
            .create(self.caller(), change, None)
            .await
            .expect("a library")
    }

    /// A job of another area, which waits.
    ///
    /// # Panics
    /// When it cannot be asked for.
    pub async fn foreign_job(&self) -> String {
        self.jobs.register(JobType {
            key: "other.work",
            module: "other",
            workspace: None,
            label_key: "other",
            description_key: None,
            required_permission: None,
            capabilities: Capabilities {
                cancellable: true,
                ..Capabilities::default()
            },
            max_attempts: 1,
            timeout: None,
            at_once: None,
            handler: Arc::new(Nothing),
        });
        let new = NewJob::new("other.work", Value::Null);
        self.jobs.submit(new).await.expect("a job")
    }

    /// Ids of the scans that were asked for.
    ///
    /// # Panics
    /// When the database does not answer.
    pub async fn scan_jobs(&self) -> Vec<String> {
        let page = PageQuery {
            page: 1,
            page_size: 100,
        };
        let wanted = Default::default();
        let listed = self.jobs.list(&self.principal, &wanted, page).await;
        let (jobs, _) = listed.expect("jobs");
        jobs.into_iter().map(|job| job.id).collect()
    }

    /// Waits until every scan that was asked for has ended.
    ///
    /// # Panics
    /// When one does not end within a minute.
    pub async fn all_ended(&self) {
        for job in self.scan_jobs().await {
            self.ended(&job).await;
        }
    }

    /// Waits for a job: how it ended, and what it had to show.
    ///
    /// # Panics
    /// When it does not end within a minute.
    pub async fn ended(&self, job: &str) -> (String, Value) {
        for _ in 0..6000 {
            let job = self.jobs.get(&self.principal, job).await.expect("a job");
            if !job.status.is_active() {
                let why = job.error_message.clone().map(|why| json!({ "error": why }));
                let result = job.result_summary.clone().or(why).unwrap_or_default();
                return (job.status.as_str().to_owned(), result);
            }
            tokio::time::sleep(LOOK).await;
        }
        panic!("the job does not end");
    }

    /// Scans, looking at everything.
    ///
    /// # Panics
    /// When it cannot be asked for.
    pub async fn scans(&self, library: &MediaLibrary) -> (String, Value) {
        let job = self.app.scan(self.caller(), &library.id).await.expect("a job");
        self.ended(&job).await
    }

    /// Every item of a library, by its path: size of its file.
    ///
    /// # Panics
    /// When the database does not answer.
    pub async fn index(&self, library: &MediaLibrary) -> BTreeMap<String, i64> {
        let filter = Filter {
            library_id: Some(library.id.clone()),
            ..Filter::default()
        };
        let page = PageQuery {
            page: 1,
            page_size: 20_000,
        };
        let (items, total) = self.app.items(&filter, page).await.expect("items");
        assert_eq!(items.len() as u64, total);
        items
            .into_iter()
            .map(|(item, file, _)| (item.place, file.size))
            .collect()
    }

    /// A file of so many bytes, none of which takes room.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn file(&self, path: impl AsRef<Path>, size: u64) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        let file = std::fs::File::create(path).expect("a file");
        file.set_len(size).expect("a sparse file");
    }
}
