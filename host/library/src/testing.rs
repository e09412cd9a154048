//! The area over its own directory, with a worker of jobs.

mod chain;
pub mod helper;
pub mod teller;
mod titles;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use qm_db::{Db, DbError, Tx, sql};
use qm_jobs::{
    Capabilities, Done, JobContext, JobError, JobHandler, JobType, Jobs, NewJob, Pace as JobsPace,
};
use qm_kernel::event::{Cause, DomainEvent, Event};
use qm_kernel::{Caller, ClientInfo, Ctx, ErrorKind, PageQuery, Permission, Principal, Role};
use qm_platform::Background;
use qm_platform::outbox::{Consumer, StoredEvent};
use qm_platform::testing::{self, Claims};
use qm_ports::action::{ActionError, TorrentHands, TorrentRef};
use qm_ports::carry::{CarryError, DataCheck, DataFile, DataMove, DataMover, Whereabouts};
use qm_ports::helpers::MediaHelpers;
use qm_ports::media_server::{
    Extent, MediaServer, MediaServerError, MediaServers, PlaySession, Refreshed, ServerAbilities,
};
use qm_ports::metadata::{
    Alone, ExternalId, Lookup, LookupKind, Metadata, MetadataChain, Rated, TitleKind, Told, Unsettled,
};
use qm_ports::{Holders, Removal, TorrentPayload, TorrentPayloads};
use qm_realtime::{Hub, HubConfig};
use qm_test_base::{NoTokens, client, principal};
use serde_json::{Map, Value, json};

use chain::Chain;
pub use chain::Say;
use qm_probe::Prober;
use titles::Titles;

use crate::service::{FileEvents, Library, LibraryDeps};

use qm_media::model::item::Filter;
use qm_media::model::library::{Kind, LibraryChange, MediaLibrary};
use qm_media::service::Pace;
use qm_orders::Outside;
use qm_platform::Triggers;
pub use qm_probe::testing::film;

qm_kernel::events! {
    pub struct Moved: "file.moved" about "file" {
        from: String,
        to: String,
    }

    pub struct Deleted: "file.deleted" about "file" {
        path: String,
    }

    pub struct Completed: "torrent.completed" about "torrent" {
        content_path: String,
    }
}

/// Triggers of committed transactions, with their paths; and the facts that came with them.
#[derive(Default)]
pub struct Fired(
    pub Arc<Mutex<Vec<(String, String)>>>,
    pub Arc<Mutex<Vec<Map<String, Value>>>>,
    /// Trigger that blocks for ever when it fires next, with its open transaction, as in a server that is killed.
    pub Mutex<Option<String>>,
);

#[async_trait]
impl Triggers for Fired {
    async fn fire(&self, tx: &mut Tx, trigger: &str, context: &Map<String, Value>) -> Result<(), DbError> {
        if self.2.lock().expect("whole").as_deref() == Some(trigger) {
            *self.2.lock().expect("whole") = None;
            std::future::pending::<()>().await;
        }
        let path = context
            .get("path")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let (fired, told) = ((trigger.to_owned(), path), context.clone());
        let (all_fired, all_told) = (self.0.clone(), self.1.clone());
        tx.after_commit(move || {
            all_fired.lock().expect("whole").push(fired);
            all_told.lock().expect("whole").push(told);
        });
        Ok(())
    }
}

/// A job that does nothing.
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

/// Stores the user of all callers, who owns the jobs.
///
/// # Panics
/// When the database does not answer.
pub async fn has_user(db: &Db) {
    let mut tx = db.begin_write().await.expect("a database");
    let _ = qm_db::exec!(&mut tx, ADD_USER).await.expect("a user");
    tx.commit().await.expect("a user");
}

/// Rows of the audit trail about an action: its object and its metadata.
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

/// Fakes of the other areas: files, torrents, users.
pub struct Around {
    pub teller: teller::Teller,
    pub torrents: Mutex<Vec<TorrentPayload>>,
    /// Removed torrents; true if their data was deleted too.
    pub removed: Mutex<Vec<(String, bool)>>,
    /// Permissions that nobody has any more.
    pub lost: Mutex<Vec<Permission>>,
    /// If true, the next move fails before anything is moved.
    pub before: AtomicBool,
    pub after: AtomicBool,
    pub titles: Arc<Titles>,
    pub chain: Arc<Chain>,
    /// Torrents as engines list them, by their hashes.
    pub listed: Mutex<BTreeMap<String, Map<String, Value>>>,
    /// Media servers, each with the error of a refresh, if it refuses one.
    pub servers: Mutex<Vec<(MediaServer, Option<MediaServerError>)>>,
    /// Media servers that were asked, by their ids.
    pub asked: Mutex<Vec<String>>,
    /// If true, the next media server that is asked never answers.
    pub hangs: AtomicBool,
}

impl Around {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            teller: teller::Teller::default(),
            torrents: Mutex::default(),
            removed: Mutex::default(),
            lost: Mutex::default(),
            before: AtomicBool::new(false),
            after: AtomicBool::new(false),
            titles: Arc::default(),
            chain: Arc::default(),
            listed: Mutex::default(),
            servers: Mutex::default(),
            asked: Mutex::default(),
            hangs: AtomicBool::new(false),
        })
    }

    /// Adds a media server, which accepts a refresh or refuses it with an error.
    ///
    /// # Panics
    /// Never while tests hold no lock for long.
    pub fn serves(&self, id: &str, is_enabled: bool, refuses: Option<MediaServerError>) {
        let server = MediaServer {
            id: id.to_owned(),
            name: format!("the {id}"),
            kind: "plex".to_owned(),
            is_enabled,
            is_online: None,
            version: None,
            abilities: ServerAbilities::default(),
        };
        self.servers.lock().expect("whole").push((server, refuses));
    }
}

#[async_trait]
impl MediaServers for Around {
    async fn servers(&self) -> Result<Vec<MediaServer>, MediaServerError> {
        let servers = self.servers.lock().expect("whole");
        Ok(servers.iter().map(|(server, _)| server.clone()).collect())
    }

    async fn refresh_all(&self, _: &Extent) -> Result<Vec<Refreshed>, MediaServerError> {
        Err(MediaServerError::Busy)
    }

    async fn refresh(&self, id: &str, _: Extent) -> Result<(), MediaServerError> {
        self.asked.lock().expect("whole").push(id.to_owned());
        if self.hangs.swap(false, Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        let servers = self.servers.lock().expect("whole");
        let found = servers.iter().find(|(server, _)| server.id == id);
        match found.and_then(|(_, refuses)| refuses.clone()) {
            Some(why) => Err(why),
            None => Ok(()),
        }
    }

    async fn sessions(&self, _: &str) -> Result<Vec<PlaySession>, MediaServerError> {
        Err(MediaServerError::Busy)
    }

    async fn terminate(&self, _: &str, _: &str, _: Option<&str>) -> Result<(), MediaServerError> {
        Err(MediaServerError::Busy)
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

    async fn check_removal(&self, _: &[TorrentPayload]) -> Result<(), String> {
        Ok(())
    }

    async fn remove(&self, _: &TorrentPayload, _: Removal<'_>, _: Caller<'_>) -> Result<(), String> {
        Err("nobody asks for this".to_owned())
    }
}

/// Providers of metadata: those of the chain if it has any, otherwise the teller, which answers as a test tells it.
#[async_trait]
impl MetadataChain for Around {
    async fn chain(&self, kind: LookupKind) -> Result<Vec<String>, Unsettled> {
        let known = self.chain.chain(kind).await?;
        if known.is_empty() {
            return self.teller.chain(kind).await;
        }
        Ok(known)
    }

    async fn details(&self, lookup: &Lookup) -> Result<Told, Unsettled> {
        if self.chain.chain(lookup.kind).await?.is_empty() {
            return self.teller.details(lookup).await;
        }
        self.chain.details(lookup).await
    }

    async fn details_of(&self, provider: &str, lookup: &Lookup) -> Result<Alone<Box<Metadata>>, Unsettled> {
        self.teller.details_of(provider, lookup).await
    }

    async fn own_id(
        &self,
        provider: &str,
        id: &ExternalId,
        kinds: &[TitleKind],
    ) -> Result<Alone<(TitleKind, String)>, Unsettled> {
        self.teller.own_id(provider, id, kinds).await
    }

    async fn rating(&self, titledb_id: &str) -> Result<Alone<Rated>, Unsettled> {
        self.teller.rating(titledb_id).await
    }
}

fn unasked<T>() -> Result<T, ActionError> {
    Err(ActionError::Rejected("nobody asks for this".to_owned()))
}

#[async_trait]
impl TorrentHands for Around {
    async fn read(&self, torrent: &TorrentRef) -> Result<Option<Map<String, Value>>, ActionError> {
        Ok(self.listed.lock().expect("whole").get(&torrent.hash).cloned())
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

    async fn remove(&self, torrent: &TorrentRef, removal: Removal<'_>) -> Result<(), ActionError> {
        let removed = (torrent.hash.clone(), removal.with_data);
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

    async fn carry(&self, job: &DataMove, _: Option<Caller<'_>>) -> Result<(), CarryError> {
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

/// Position of the next event.
static POSITIONS: AtomicI64 = AtomicI64::new(1);

pub struct House {
    db: Db,
    pub around: Arc<Around>,
    pub app: Arc<Library>,
    pub jobs: Jobs,
    pub fired: Arc<Fired>,
    /// Areas beside the library: none, unless a test adds them.
    pub helpers: Arc<MediaHelpers>,
    background: Background,
    /// The one storage root.
    pub root: PathBuf,
    pub principal: Principal,
    pub client: ClientInfo,
    _home: Option<tempfile::TempDir>,
    /// Earlier servers on the same directory, which belongs to one of them.
    earlier: Vec<Arc<House>>,
}

/// Pace for tests: no waiting for silent providers.
pub fn pace() -> Pace {
    Pace {
        spares: Duration::ZERO,
        ..Pace::default()
    }
}

/// Interval between two looks of a test for an awaited change.
const LOOK: Duration = Duration::from_millis(10);

impl House {
    /// A house in which no scan relies on an earlier one, as all files of a test are new.
    pub fn new(db: &Db) -> Self {
        Self::paced(db, pace())
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
        Self::probed(db, root, pace, Prober::default())
    }

    /// # Panics
    /// When the metrics of an empty registry cannot be made.
    pub fn probed(db: &Db, root: PathBuf, pace: Pace, prober: Prober) -> Self {
        let ctx = Ctx::system();
        let (jobs, background) = qm_jobs::testing::worker(db, JobsPace::default());
        let fired = Arc::new(Fired::default());
        let around = Around::new();
        let helpers = Arc::new(MediaHelpers::default());
        let app = Library::new(LibraryDeps {
            ground: testing::ground(db, &ctx, Arc::new(Claims)),
            jobs: jobs.clone(),
            triggers: fired.clone(),
            helpers: helpers.clone(),
            file_roots: vec![root.to_str().expect("UTF-8").to_owned()],
            own: vec![root.join("own")],
            pace,
            prober,
            metadata: around.clone(),
            holders: around.clone(),
            hub: Hub::new(HubConfig::default(), Arc::new(NoTokens), ctx),
            titles: around.titles.clone(),
            outside: Outside {
                mover: around.clone(),
                payloads: around.clone(),
                hands: around.clone(),
                servers: around.clone(),
            },
        });

        Self {
            db: db.clone(),
            around,
            app,
            jobs,
            fired,
            helpers,
            background,
            root,
            principal: principal(Role::Administrator),
            client: client(),
            _home: None,
            earlier: Vec::new(),
        }
    }

    /// Keeps the directory of an earlier server.
    pub fn keeps(&mut self, earlier: Arc<House>) {
        self.earlier.push(earlier);
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
        let asked = self.app.scanner.create(self.caller(), change, None).await;
        let asked = asked.expect("a library");
        (asked.library, asked.scan_job_id)
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
            at_once_of_one: None,
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

    /// Waits for a job; returns its status and its result.
    ///
    /// # Panics
    /// When it does not end within a minute.
    pub async fn ended(&self, job: &str) -> (String, Value) {
        let mut last = String::new();
        for _ in 0..6000 {
            let job = self.jobs.get(&self.principal, job).await.expect("a job");
            last = format!("{} {:?}", job.status.as_str(), job.error_message);
            if !job.status.is_active() {
                let why = job.error_message.clone().map(|why| json!({ "error": why }));
                let result = job.result_summary.clone().or(why).unwrap_or_default();
                return (job.status.as_str().to_owned(), result);
            }
            tokio::time::sleep(LOOK).await;
        }
        panic!("the job does not end: {last}");
    }

    /// Scans a library as by hand: every file is looked at.
    ///
    /// # Panics
    /// When it cannot be asked for.
    pub async fn scans(&self, library: &MediaLibrary) -> (String, Value) {
        let job = self
            .app
            .scanner
            .scan(self.caller(), &library.id)
            .await
            .expect("a job");
        self.ended(&job).await
    }

    /// Items of a library: sizes of their files by their paths.
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
        let (items, total) = self.app.catalogue.items(&filter, page).await.expect("items");
        assert_eq!(items.len() as u64, total);
        items
            .into_iter()
            .map(|(item, file, _)| (item.place, file.size))
            .collect()
    }

    /// Passes an event to the consumer of file events, with the next position.
    ///
    /// # Panics
    /// When it does not take it.
    pub async fn tells<E: Event + serde::Serialize>(&self, payload: &E) {
        let event = DomainEvent::new(&Ctx::system(), Cause::NONE, "x", payload);
        let consumer = FileEvents(self.app.clone());
        assert!(
            consumer.keys().contains(&&*event.event_key),
            "it is not its event"
        );
        let position = POSITIONS.fetch_add(1, Ordering::SeqCst);
        let mut tx = self.db.begin_write().await.expect("a database");
        let handled = consumer.handle(&mut tx, &StoredEvent { position, event }).await;
        handled.expect("it is taken");
        tx.commit().await.expect("a database");
    }

    /// Moves a file or folder, and sends the event of the move.
    ///
    /// # Panics
    /// When it cannot be moved.
    pub async fn moves(&self, from: &str, to: &str) {
        let at = |path: &str| self.root.join(path);
        std::fs::create_dir_all(at(to).parent().expect("a folder")).expect("a folder");
        std::fs::rename(at(from), at(to)).expect("it is there");
        self.tells_moved(from, to).await;
    }

    /// Sends the event of a moved file or folder.
    ///
    /// # Panics
    /// When it is not taken.
    pub async fn tells_moved(&self, from: &str, to: &str) {
        let at = |path: &str| self.root.join(path).to_str().expect("UTF-8").to_owned();
        let moved = Moved {
            from: at(from),
            to: at(to),
        };
        self.tells(&moved).await;
    }

    /// Creates a sparse file of this size.
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
