//! The area over real folders and the real file manager, with shows in memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use qm_confined::{Roots, ServerPlaces};
use qm_db::{Db, Tx, sql};
use qm_jobs::Jobs;
use qm_kernel::{Caller, Permission, PermissionSet, Principal, Secret};
use qm_platform::testing::{self, Claims};
use qm_platform::{Acting, ActingError, Actor, Ports};
use qm_ports::folders::{FolderShow, FoldersUnread, ShowFolders};
use qm_ports::media_server::{Extent, MediaServer, MediaServerError, MediaServers, PlaySession, Refreshed};
use qm_ports::trash::FileTrash;
use qm_ports::{Holders, Removal, TorrentPayload, TorrentPayloads};
use qm_realtime::{Hub, HubConfig};
use qm_test_base::{Hands, NoTokens, Visitor, frozen};
use serde_json::{Value, json};

use crate::routes;
use crate::service::{Folders, FoldersDeps};

sql! {
    ADD_USER = "INSERT INTO users (id, username, email, password_hash, created_at, updated_at) \
        VALUES ('u', 'u', 'u@example.org', '', 0, 0) ON CONFLICT DO NOTHING";
    AUDITED = "SELECT action, result FROM audit_logs WHERE action LIKE 'media.shows.%' ORDER BY created_at, id";
    CUT_OFF = "UPDATE media_show_merges SET status = 'running' WHERE id = $1";
    CUT_STEP = "UPDATE media_show_merge_steps SET status = 'running' WHERE merge_id = $1 AND position = $2";
    FORGET_STEPS = "DELETE FROM media_show_merge_steps WHERE merge_id = $1 AND position >= $2";
    RUNNING_STEP = "INSERT INTO media_show_merge_steps (id, merge_id, position, action, status, path, freed, created_at, updated_at) \
        VALUES ($1, $2, $3, 'move', 'running', 'x', 0, 0, 0)";
    PLAN = "SELECT status, COALESCE(error, '') FROM media_show_merges WHERE id = $1";
    STEPS = "SELECT status, COALESCE(message, '') FROM media_show_merge_steps WHERE merge_id = $1 ORDER BY position";
}

/// Shows in memory.
#[derive(Default)]
pub struct Shelf {
    pub shows: Mutex<Vec<FolderShow>>,
    pub locked: Mutex<Vec<String>>,
    /// Directories of libraries.
    pub directories: Mutex<Vec<String>>,
    /// Libraries that were to be scanned.
    pub scans: Mutex<Vec<String>>,
}

#[async_trait]
impl ShowFolders for Shelf {
    async fn list_shows(&self, library_id: Option<&str>) -> Result<Vec<FolderShow>, FoldersUnread> {
        let mut shows = self.shows.lock().unwrap().clone();
        shows.retain(|show| library_id.is_none_or(|id| show.library_id == id));
        Ok(shows)
    }

    async fn list_directories(&self) -> Result<Vec<String>, FoldersUnread> {
        Ok(self.directories.lock().unwrap().clone())
    }

    async fn find_shows(&self, ids: &[String]) -> Result<Vec<FolderShow>, FoldersUnread> {
        let shows = self.shows.lock().unwrap();
        let find = |id: &String| shows.iter().find(|show| show.id == *id).cloned();
        Ok(ids.iter().filter_map(find).collect())
    }

    async fn list_locked(&self, show: &FolderShow) -> Result<Vec<String>, FoldersUnread> {
        let mut locked = self.locked.lock().unwrap().clone();
        locked.retain(|path| path.starts_with(&show.path));
        Ok(locked)
    }

    async fn forget_shows(&self, shows: &[FolderShow]) -> Result<(), FoldersUnread> {
        let is_gone = |show: &FolderShow| shows.iter().any(|gone| gone.id == show.id);
        self.shows.lock().unwrap().retain(|show| !is_gone(show));
        Ok(())
    }

    async fn scan(&self, library_id: &str, _: Option<&str>) -> Result<Option<String>, FoldersUnread> {
        self.scans.lock().unwrap().push(library_id.to_owned());
        Ok(Some("job".to_owned()))
    }
}

/// One media server that looks, and one that does not answer.
struct Servers;

#[async_trait]
impl MediaServers for Servers {
    async fn servers(&self) -> Result<Vec<MediaServer>, MediaServerError> {
        Ok(Vec::new())
    }

    async fn refresh_all(&self, _: &Extent) -> Result<Vec<Refreshed>, MediaServerError> {
        let silent = MediaServerError::Timeout("no answer".to_owned());
        let outcomes = [("one", Ok(())), ("two", Err(silent))];
        let refreshed = outcomes.into_iter().map(|(id, outcome)| Refreshed {
            id: id.to_owned(),
            name: id.to_owned(),
            outcome,
        });
        Ok(refreshed.collect())
    }

    async fn refresh(&self, _: &str, _: Extent) -> Result<(), MediaServerError> {
        Ok(())
    }

    async fn sessions(&self, _: &str) -> Result<Vec<PlaySession>, MediaServerError> {
        Ok(Vec::new())
    }

    async fn terminate(&self, _: &str, _: &str, _: Option<&str>) -> Result<(), MediaServerError> {
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
        Ok(PermissionSet::all())
    }
}

pub struct Site {
    pub app: Arc<Folders>,
    pub visitor: Visitor,
    pub shelf: Arc<Shelf>,
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
        fs::create_dir(&root).unwrap();
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
        let (shelf, torrents) = (Arc::new(Shelf::default()), Arc::new(Torrents::default()));
        let ground = testing::ground(db, &ctx, trust.clone());
        let trash = file_manager(&ground, &jobs, &hub, torrents.clone(), &root).await;
        let app = Folders::new(FoldersDeps {
            ground,
            roots: Roots::open(&[root.to_str().unwrap()]),
            shows: shelf.clone(),
            trash,
            servers: Arc::new(Servers),
        });
        jobs.start().await.unwrap();
        Self {
            visitor: Visitor::new(
                "/api/media/shows/duplicates",
                routes().with_state(app.clone()),
                ctx,
            ),
            app,
            shelf,
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
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, vec![b'x'; bytes]).unwrap();
    }

    /// Stores a show of the library `tv`, and writes the files below its folder.
    pub fn show(&self, number: u8, folder: &str, key: &str, files: &[(&str, usize)]) -> String {
        fs::create_dir_all(self.root.join("tv").join(folder)).unwrap();
        for (below, bytes) in files {
            self.write(&format!("tv/{folder}/{below}"), *bytes);
        }
        let id = id_of(number);
        self.shelf.shows.lock().unwrap().push(FolderShow {
            id: id.clone(),
            library_id: "tv".to_owned(),
            library_kind: "tv".to_owned(),
            library: self.place_of("tv"),
            path: self.place_of(&format!("tv/{folder}")),
            place: folder.to_owned(),
            title: folder.to_owned(),
            year: None,
            titledb_id: None,
            canonical_key: key.to_owned(),
        });
        id
    }

    /// Files below the folder of the library, with their sizes.
    pub fn inventory(&self) -> Vec<String> {
        fn walk(top: &Path, at: &Path, found: &mut Vec<String>) {
            for entry in fs::read_dir(at).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    walk(top, &path, found);
                } else {
                    let size = fs::metadata(&path).unwrap().len();
                    found.push(format!("{} {size}", path.strip_prefix(top).unwrap().display()));
                }
            }
        }
        let (top, mut found) = (self.root.join("tv"), Vec::new());
        walk(&top, &top, &mut found);
        found.sort();
        found
    }

    /// Number of items in the trash of the file manager.
    pub fn count_trashed(&self) -> usize {
        let Ok(entries) = fs::read_dir(self.root.join(qm_confined::TRASH_DIR)) else {
            return 0;
        };
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.contains("__")).count()
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

    /// Status and code of a refused request.
    pub async fn refusal(&self, path: &str, body: Value) -> String {
        self.clock.advance(Duration::from_millis(1));
        let answer = self.visitor.ask("ADMINISTRATOR", "POST", path, Some(body)).await;
        let (status, code, message) = answer.refusal();
        assert!(!message.is_empty());
        format!("{status} {code}")
    }

    pub async fn preview(&self, canonical: &str, duplicates: &[&str]) -> Value {
        let body = json!({ "canonicalShowId": canonical, "duplicateShowIds": duplicates });
        self.ask(201, "POST", "/preview", Some(body)).await
    }

    pub async fn merge(&self, plan: &Value) -> Value {
        self.ask(201, "POST", "/merge", Some(json!({ "planId": plan["planId"] })))
            .await
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
        let id = plan["planId"].as_str().unwrap();
        let mut tx = self.db.begin_read().await.unwrap();
        let (status, error) = qm_db::one!(&mut tx, (String, String), PLAN, id).await.unwrap();
        let steps = qm_db::all!(&mut tx, (String, String), STEPS, id).await.unwrap();
        let told = |(status, why): (String, String)| format!("{status} {why}").trim().to_owned();
        (told((status, error)), steps.into_iter().map(told).collect())
    }

    /// Leaves a plan as a server does that is killed in the middle of a step, which is done or not. Steps behind it are not
    /// in the journal.
    pub async fn cut_off(&self, plan: &Value, position: i64, is_noted: bool) {
        let id = plan["planId"].as_str().unwrap();
        let mut tx = self.db.begin_write().await.unwrap();
        let _ = qm_db::exec!(&mut tx, CUT_OFF, id).await.unwrap();
        if is_noted {
            let _ = qm_db::exec!(&mut tx, FORGET_STEPS, id, position + 1)
                .await
                .unwrap();
            let _ = qm_db::exec!(&mut tx, CUT_STEP, id, position).await.unwrap();
        } else {
            let step = format!("step {position} of {id}");
            let _ = qm_db::exec!(&mut tx, RUNNING_STEP, step, id, position)
                .await
                .unwrap();
        }
        tx.commit().await.unwrap();
    }
}

/// Id of a show.
pub fn id_of(number: u8) -> String {
    format!("00000000-0000-4000-8000-0000000000{number:02}")
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
