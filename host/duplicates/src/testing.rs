//! The area over a real directory and the real file manager, with items in memory.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use qm_confined::ServerPlaces;
use qm_db::{Db, Tx, sql};
use qm_jobs::{Ending, Jobs};
use qm_kernel::{Caller, Permission, PermissionSet, Principal, Requester, Role, Secret, Timestamp};
use qm_platform::testing::{self, Claims};
use qm_platform::{Acting, ActingError, Actor, Ports};
use qm_ports::inventory::{MediaStock, StockFile, StockItem, StockLibrary, StockUnread};
use qm_ports::trash::FileTrash;
use qm_ports::{Holders, Removal, TorrentPayload, TorrentPayloads};
use qm_realtime::{Hub, HubConfig};
use qm_test_base::{Hands, NoTokens, Visitor, client, frozen, principal};
use serde_json::{Value, json};

use crate::routes;
use crate::service::{Duplicates, DuplicatesDeps};

sql! {
    ADD_USER = "INSERT INTO users (id, username, email, password_hash, created_at, updated_at) \
        VALUES ('u', 'u', 'u@example.org', '', 0, 0) ON CONFLICT DO NOTHING";
    AUDITED = "SELECT action, result FROM audit_logs WHERE action LIKE 'media.%' ORDER BY created_at, id";
    CUT_OFF = "UPDATE media_duplicate_plans SET status = 'running' WHERE id = $1";
    RUNNING_STEP = "INSERT INTO media_duplicate_steps (id, plan_id, position, action, status, item_id, path, created_at, updated_at) \
        VALUES ($1, $2, $3, 'trash', 'running', 'x', 'x', 0, 0)";
    PLAN = "SELECT status, COALESCE(error, '') FROM media_duplicate_plans WHERE id = $1";
    STEPS = "SELECT status, COALESCE(message, '') FROM media_duplicate_steps WHERE plan_id = $1 ORDER BY position";
}

/// Items in memory.
#[derive(Default)]
pub struct Stock {
    pub items: Mutex<Vec<StockItem>>,
    pub libraries: Mutex<Vec<StockLibrary>>,
    /// Numbers of links that were stored at once.
    pub links: Mutex<Vec<usize>>,
    /// Reads of items wait while somebody holds it.
    pub gate: tokio::sync::Mutex<()>,
    /// Fires when a read has begun.
    pub begun: tokio::sync::Notify,
}

#[async_trait]
impl MediaStock for Stock {
    async fn list_behind(&self, after: &str, most: usize) -> Result<Vec<StockItem>, StockUnread> {
        self.begun.notify_one();
        drop(self.gate.lock().await);
        let mut items = self.items.lock().unwrap().clone();
        items.sort_by(|one, other| one.id.cmp(&other.id));
        items.retain(|item| &*item.id > after);
        items.truncate(most);
        Ok(items)
    }

    async fn find_items(&self, ids: &[String]) -> Result<Vec<StockItem>, StockUnread> {
        let items = self.items.lock().unwrap();
        let find = |id: &String| items.iter().find(|item| item.id == *id).cloned();
        Ok(ids.iter().filter_map(find).collect())
    }

    async fn list_with(&self, part: &str, after: &str, most: usize) -> Result<Vec<StockItem>, StockUnread> {
        let mut items = self.list_behind(after, usize::MAX).await?;
        items.retain(|item| item.path().contains(part));
        items.truncate(most);
        Ok(items)
    }

    async fn list_libraries(&self) -> Result<Vec<StockLibrary>, StockUnread> {
        Ok(self.libraries.lock().unwrap().clone())
    }

    async fn put_groups(&self, links: &[(String, Option<String>)]) -> Result<(), StockUnread> {
        self.links.lock().unwrap().push(links.len());
        for item in self.items.lock().unwrap().iter_mut() {
            if let Some((_, group)) = links.iter().find(|(id, _)| *id == item.id) {
                item.group_id.clone_from(group);
            }
        }
        Ok(())
    }
}

/// Torrents by where their data is.
#[derive(Default)]
pub struct Torrents(pub Mutex<Vec<TorrentPayload>>);

#[async_trait]
impl TorrentPayloads for Torrents {
    fn touching(&self, paths: &[&Path]) -> Vec<TorrentPayload> {
        let all = self.0.lock().unwrap();
        let touches = |payload: &&TorrentPayload| {
            let data = Path::new(&payload.path);
            paths
                .iter()
                .any(|path| data.starts_with(path) || path.starts_with(data))
        };
        all.iter().filter(touches).cloned().collect()
    }

    async fn check_removal(&self, _: &[TorrentPayload]) -> Result<(), String> {
        Ok(())
    }

    async fn remove(&self, _: &TorrentPayload, _: Removal<'_>, _: Caller<'_>) -> Result<(), String> {
        Err("nobody asked for it".to_owned())
    }
}

struct Everybody;

#[async_trait]
impl Holders for Everybody {
    async fn holds(&self, _: &str, _: Permission) -> Result<bool, String> {
        Ok(true)
    }
}

/// Judge who trusts tokens so many times, and nobody after that.
pub struct Trusting(pub Mutex<usize>);

#[async_trait]
impl Acting for Trusting {
    async fn judge(&self, tx: &mut Tx, who: &Principal, needed: &[Permission]) -> Result<Actor, ActingError> {
        {
            let mut left = self.0.lock().unwrap();
            *left = left.checked_sub(1).ok_or(ActingError::Inactive)?;
        }
        Claims.judge(tx, who, needed).await
    }

    async fn powers(&self, _: &mut Tx, _: &str) -> Result<PermissionSet, ActingError> {
        match *self.0.lock().unwrap() {
            0 => Err(ActingError::Inactive),
            _ => Ok(PermissionSet::all()),
        }
    }
}

pub struct Site {
    pub app: Arc<Duplicates>,
    pub visitor: Visitor,
    pub stock: Arc<Stock>,
    pub torrents: Arc<Torrents>,
    pub trust: Arc<Trusting>,
    pub clock: Arc<Hands>,
    pub jobs: Jobs,
    /// The storage root.
    pub root: PathBuf,
    pub db: Db,
    _folder: tempfile::TempDir,
}

impl Site {
    pub async fn new(db: &Db) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("data");
        std::fs::create_dir(&root).unwrap();
        let mut tx = db.begin_write().await.unwrap();
        let _ = qm_db::exec!(&mut tx, ADD_USER).await.unwrap();
        tx.commit().await.unwrap();
        let (clock, ctx) = frozen();
        let trust = Arc::new(Trusting(Mutex::new(usize::MAX)));
        let pace = qm_jobs::Pace {
            poll: Duration::from_millis(20),
            ..qm_jobs::Pace::default()
        };
        let (jobs, _) = qm_jobs::testing::worker_of(db, pace, ctx.clone());
        let hub = Hub::new(HubConfig::default(), Arc::new(NoTokens), ctx.clone());
        let (stock, torrents) = (Arc::new(Stock::default()), Arc::new(Torrents::default()));
        let ground = testing::ground(db, &ctx, trust.clone());
        let trash = file_manager(&ground, &jobs, &hub, torrents.clone(), &root).await;
        let app = Duplicates::new(DuplicatesDeps {
            ground,
            jobs: jobs.clone(),
            hub,
            stock: stock.clone(),
            trash,
        });
        jobs.start().await.unwrap();
        Self {
            visitor: Visitor::new("/api/media/duplicates", routes().with_state(app.clone()), ctx),
            app,
            stock,
            torrents,
            trust,
            clock,
            jobs,
            root,
            db: db.clone(),
            _folder: folder,
        }
    }

    pub fn place_of(&self, below: &str) -> String {
        self.root.join(below).to_str().unwrap().to_owned()
    }

    pub fn write(&self, below: &str, bytes: usize) {
        let path = self.root.join(below);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, vec![b'x'; bytes]).unwrap();
    }

    pub fn exists(&self, below: &str) -> bool {
        self.root.join(below).exists()
    }

    /// Stores a film whose one file is 1080 lines high, and writes the file.
    pub fn film(&self, id: &str, title: &str, below: &str, bytes: usize) {
        self.write(below, bytes);
        let item = film(id, title, &self.place_of(below), bytes as i64);
        self.stock.items.lock().unwrap().push(item);
    }

    pub fn change(&self, id: &str, change: impl FnOnce(&mut StockItem)) {
        let mut items = self.stock.items.lock().unwrap();
        change(items.iter_mut().find(|item| item.id == id).unwrap());
    }

    pub async fn send(&self, role: &str, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        // No two rows have one time.
        self.clock.advance(Duration::from_millis(1));
        self.visitor.ask(role, method, path, body).await.status_and_json()
    }

    /// Sends it as an administrator; the answer must have this status.
    pub async fn ask(&self, status: u16, method: &str, path: &str, body: Option<Value>) -> Value {
        let (found, said) = self.send("ADMINISTRATOR", method, path, body).await;
        assert_eq!(found, status, "{method} {path}: {said}");
        said
    }

    pub async fn get(&self, path: &str) -> Value {
        self.ask(200, "GET", path, None).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Value {
        self.ask(201, "POST", path, Some(body)).await
    }

    /// Status and code of a refused request.
    pub async fn refusal(&self, path: &str, body: Value) -> String {
        self.clock.advance(Duration::from_millis(1));
        let answer = self.visitor.ask("ADMINISTRATOR", "POST", path, Some(body)).await;
        let (status, code, message) = answer.refusal();
        assert!(!message.is_empty());
        format!("{status} {code}")
    }

    /// Runs a detection to its end, and returns its figures.
    pub async fn detect(&self) -> Value {
        let job = self.ask(201, "POST", "/detect", None).await;
        let id = job["jobId"].as_str().unwrap();
        assert_eq!(self.jobs.ended(id).await.unwrap(), Ending::Completed);
        self.jobs.result(id).await.unwrap().unwrap()
    }

    /// Id of the only group.
    pub async fn only_group(&self) -> String {
        let page = self.get("").await;
        assert_eq!(page["total"], 1, "{page}");
        page["items"][0]["id"].as_str().unwrap().to_owned()
    }

    /// Previews to keep the recommended member, and returns the plan.
    pub async fn preview(&self, group: &str) -> Value {
        self.post(&format!("/{group}/preview"), json!({})).await
    }

    pub async fn resolve(&self, plan: &Value) -> Value {
        self.post(&resolving(plan), json!({})).await
    }

    /// Actions of the audit trail and their results.
    pub async fn audited(&self) -> Vec<String> {
        let mut tx = self.db.begin_read().await.unwrap();
        let rows = qm_db::all!(&mut tx, (String, String), AUDITED).await.unwrap();
        rows.into_iter()
            .map(|(action, result)| format!("{action} {result}"))
            .collect()
    }

    /// State of a plan, and those of its steps with their messages.
    pub async fn journal(&self, plan: &Value) -> (String, Vec<String>) {
        let id = plan["resolutionId"].as_str().unwrap();
        let mut tx = self.db.begin_read().await.unwrap();
        let (status, error) = qm_db::one!(&mut tx, (String, String), PLAN, id).await.unwrap();
        let steps = qm_db::all!(&mut tx, (String, String), STEPS, id).await.unwrap();
        let told = |(status, why): (String, String)| format!("{status} {why}").trim().to_owned();
        (told((status, error)), steps.into_iter().map(told).collect())
    }

    /// Leaves a plan as a server does that is killed at a step.
    pub async fn cut_off(&self, plan: &Value, position: i64) {
        let id = plan["resolutionId"].as_str().unwrap();
        let mut tx = self.db.begin_write().await.unwrap();
        let _ = qm_db::exec!(&mut tx, CUT_OFF, id).await.unwrap();
        let step = format!("step {position} of {id}");
        let _ = qm_db::exec!(&mut tx, RUNNING_STEP, step, id, position)
            .await
            .unwrap();
        tx.commit().await.unwrap();
    }
}

/// An administrator.
pub fn requester() -> Requester {
    Requester {
        principal: principal(Role::Administrator),
        client: client(),
    }
}

/// Path that carries a plan out.
pub fn resolving(plan: &Value) -> String {
    format!("/resolutions/{}/resolve", plan["resolutionId"].as_str().unwrap())
}

/// The real file manager over a root.
async fn file_manager(
    ground: &qm_platform::Ground,
    jobs: &Jobs,
    hub: &Hub,
    torrents: Arc<Torrents>,
    root: &Path,
) -> Arc<dyn FileTrash> {
    let mut ports = Ports::default();
    ports.offer(ServerPlaces {
        roots: vec![root.to_str().unwrap().to_owned()],
        own: Vec::new(),
        data_dir: root.join("nowhere"),
    });
    ports.offer(jobs.clone());
    ports.offer(hub.clone());
    ports.offer::<Arc<dyn TorrentPayloads>>(torrents);
    ports.offer::<Arc<dyn Holders>>(Arc::new(Everybody));
    ports.offer(qm_files::StreamConfig {
        signing: Secret::new("signing"),
        cors_origins: Vec::new(),
    });
    qm_files::AREA.make.run(ground, &mut ports).await.unwrap();
    ports.get::<Arc<dyn FileTrash>>().unwrap()
}

/// A film with one file that is 1080 lines high.
pub fn film(id: &str, title: &str, path: &str, size: i64) -> StockItem {
    StockItem {
        id: id.to_owned(),
        library_id: "films".to_owned(),
        media_type: "movie".to_owned(),
        title: title.to_owned(),
        year: Some(1999),
        season: None,
        episode: None,
        episode_end: None,
        match_status: "matched".to_owned(),
        is_locked: false,
        series_titledb_id: None,
        external_ids: Vec::new(),
        group_id: None,
        created_at: Timestamp::from_ms(1),
        updated_at: Timestamp::from_ms(1),
        files: vec![StockFile {
            path: path.to_owned(),
            size,
            height: Some(1080),
            bitrate_kbps: Some(size),
            resolution: Some("1080p".to_owned()),
            ..StockFile::default()
        }],
    }
}

/// A torrent whose data is at a path.
pub fn torrent(hash: &str, path: &str) -> TorrentPayload {
    TorrentPayload {
        engine_id: "e".to_owned(),
        hash: hash.to_owned(),
        name: format!("torrent {hash}"),
        path: path.to_owned(),
        state: "seeding",
        live: true,
    }
}
