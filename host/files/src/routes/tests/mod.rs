//! The routes as a client sees them, over real directories and both databases.

mod browse;
mod carried;
mod change;
mod crash;
mod discarded;
mod jobs;
mod media;
mod review;
mod trash;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, header};
use bytes::Bytes;
use http_body_util::BodyExt;
use qm_db::{Db, FromRow, Json, sql};
use qm_kernel::{Caller, Permission, Secret};
use qm_platform::testing::{self, Claims};
use qm_ports::{Holders, Removal, TorrentPayload, TorrentPayloads};
use qm_realtime::{Hub, HubConfig};
use qm_test_base::{Hands, Heard, RoleTokens, START_MS, frozen};
use qm_web::{Docs, WebConfig};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt;

use super::routes;
use crate::service::{Files, FilesDeps, StreamConfig};

sql! {
    ADD_USER = "INSERT INTO users (id, username, email, password_hash, created_at, updated_at) \
        VALUES ('u', 'u', 'u@example.org', '', 0, 0)";
    AUDIT_ROWS = "SELECT action, object_type, object_id, result, metadata FROM audit_logs ORDER BY created_at, action";
    PUT_SETTING = "INSERT INTO settings (key, value, updated_at) VALUES ($1, $2, 0) \
        ON CONFLICT (key) DO UPDATE SET value = excluded.value";
}

#[derive(Debug, FromRow)]
pub struct AuditRow {
    pub action: String,
    pub object_type: Option<String>,
    pub object_id: Option<String>,
    pub result: String,
    metadata: Option<Json<Value>>,
}

impl AuditRow {
    pub fn metadata(&self) -> Value {
        self.metadata.as_ref().map_or(Value::Null, |json| json.0.clone())
    }
}

/// Torrents by where their data is; remembers what was removed.
#[derive(Default)]
pub struct Torrents {
    pub all: Mutex<Vec<TorrentPayload>>,
    pub removed: Mutex<Vec<(String, bool)>>,
    /// Reasons why data stays, by the hash of a torrent.
    pub shared: Mutex<HashMap<String, String>>,
}

#[async_trait]
impl TorrentPayloads for Torrents {
    fn touching(&self, paths: &[&Path]) -> Vec<TorrentPayload> {
        let all = self.all.lock().unwrap();
        let touches = |payload: &&TorrentPayload| {
            let data = Path::new(&payload.path);
            paths
                .iter()
                .any(|path| data.starts_with(path) || path.starts_with(data))
        };
        all.iter().filter(touches).cloned().collect()
    }

    async fn check_removal(&self, payloads: &[TorrentPayload]) -> Result<(), String> {
        let shared = self.shared.lock().unwrap();
        let mut theirs = payloads.iter().filter_map(|payload| shared.get(&payload.hash));
        theirs.next().map_or(Ok(()), |why| Err(why.clone()))
    }

    async fn remove(
        &self,
        payload: &TorrentPayload,
        removal: Removal<'_>,
        _caller: Caller<'_>,
    ) -> Result<(), String> {
        self.removed
            .lock()
            .unwrap()
            .push((payload.hash.clone(), removal.with_data));
        Err("the engine is away".into())
    }
}

/// Fake port: one answer for every ticket's user, true when they may still see files.
pub struct Users(pub Mutex<Result<bool, String>>);

#[async_trait]
impl Holders for Users {
    async fn holds(&self, user_id: &str, permission: Permission) -> Result<bool, String> {
        assert_eq!((user_id, permission), ("u", Permission::FilesPreview));
        self.0.lock().unwrap().clone()
    }
}

/// The file manager over one temporary root.
pub struct Site {
    pub files: Arc<Files>,
    pub heard: Arc<Heard>,
    pub torrents: Arc<Torrents>,
    pub users: Arc<Users>,
    pub clock: Arc<Hands>,
    db: Db,
    router: Router,
    dir: TempDir,
    /// Another file system, below the root as `far`.
    pub far: Option<TempDir>,
}

pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub bytes: Bytes,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.bytes)))
    }

    /// Status and message of an error.
    pub fn refusal(&self) -> (u16, String) {
        let body = self.json();
        assert_eq!(body["statusCode"], self.status, "{body}");
        let message = match &body["message"] {
            Value::Array(messages) => messages[0].as_str().unwrap().to_owned(),
            message => message.as_str().unwrap().to_owned(),
        };
        (self.status, message)
    }
}

impl Site {
    pub async fn new(db: &Db) -> Self {
        let mut tx = db.begin_write().await.unwrap();
        let _ = qm_db::exec!(&mut tx, ADD_USER).await.unwrap();
        tx.commit().await.unwrap();
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("root")).unwrap();
        std::fs::create_dir(dir.path().join("outside")).unwrap();
        std::fs::write(dir.path().join("outside/secret.txt"), "secret").unwrap();
        Self::over(db, dir, None)
    }

    /// Test world with a second root on another file system, to which `far` in the first one leads.
    pub async fn spanning(db: &Db) -> Self {
        let site = Self::new(db).await;
        let far = tempfile::tempdir_in("/dev/shm").unwrap();
        std::os::unix::fs::symlink(far.path(), site.path_to("far")).unwrap();
        Self::over(db, site.dir, Some(far))
    }

    /// Another process on the same directories and database.
    pub fn restarted(self) -> Self {
        Self::over(&self.db.clone(), self.dir, self.far)
    }

    fn over(db: &Db, dir: TempDir, far: Option<TempDir>) -> Self {
        let near = dir.path().join("root");
        let roots = std::iter::once(near.as_path()).chain(far.as_ref().map(TempDir::path));
        let (clock, ctx) = frozen();
        let heard = Arc::new(Heard::default());
        let torrents = Arc::new(Torrents::default());
        let users = Arc::new(Users(Mutex::new(Ok(true))));
        let telling = db.clone().telling(heard.clone());
        let (jobs, _) = qm_jobs::testing::worker_of(db, qm_jobs::Pace::default(), ctx.clone());
        let files = Files::new(FilesDeps {
            ground: testing::ground(&telling, &ctx, Arc::new(Claims)),
            jobs,
            hub: Hub::new(HubConfig::default(), Arc::new(RoleTokens), ctx.clone()),
            payloads: torrents.clone(),
            holders: users.clone(),
            streaming: StreamConfig {
                signing: Secret::new("signing"),
                cors_origins: vec!["https://box.example".into()],
            },
            file_roots: roots.map(|root| root.to_str().unwrap().to_owned()).collect(),
            own: Vec::new(),
        });
        let config = WebConfig {
            throttle_limit: 0,
            docs: Docs::Hidden,
            ..WebConfig::default()
        };
        let state = routes().with_state(files.clone());
        let router = qm_web::finish(state, config, Arc::new(RoleTokens), ctx);
        Self {
            files,
            heard,
            torrents,
            users,
            clock,
            db: db.clone(),
            router,
            dir,
            far,
        }
    }

    /// Absolute path of a path below the root.
    pub fn path_to(&self, path: &str) -> PathBuf {
        self.dir.path().join("root").join(path)
    }

    pub fn outside(&self, path: &str) -> PathBuf {
        self.dir.path().join("outside").join(path)
    }

    /// Makes a file with the directories above it.
    pub fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path_to(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.path_to(path)).ok()
    }

    /// Sends a GET request as an administrator.
    pub async fn get(&self, path: &str) -> Answer {
        self.send(request("ADMINISTRATOR", "GET", path, None)).await
    }

    /// Sends a POST request as an administrator.
    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(request("ADMINISTRATOR", "POST", path, Some(body)))
            .await
    }

    /// The body of a success.
    pub async fn done(&self, path: &str, body: Value) -> Value {
        let answer = self.post(path, body.clone()).await;
        assert_eq!(
            answer.status,
            201,
            "{path} {body}: {}",
            String::from_utf8_lossy(&answer.bytes)
        );
        answer.json()
    }

    pub async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        Answer {
            status: parts.status.as_u16(),
            headers: parts.headers,
            bytes: body.collect().await.unwrap().to_bytes(),
        }
    }

    pub async fn set(&self, key: &str, value: Value) {
        let mut tx = self.db.begin_write().await.unwrap();
        let _ = qm_db::exec!(&mut tx, PUT_SETTING, key, Json(value))
            .await
            .unwrap();
        tx.commit().await.unwrap();
    }

    pub async fn audit(&self) -> Vec<AuditRow> {
        let mut tx = self.db.begin_read().await.unwrap();
        qm_db::all!(&mut tx, AuditRow, AUDIT_ROWS).await.unwrap()
    }

    /// Actions and results so far.
    pub async fn audited(&self) -> Vec<String> {
        let rows = self.audit().await;
        rows.iter()
            .map(|row| format!("{} {}", row.action, row.result))
            .collect()
    }

    /// The trash, as it is listed.
    pub async fn trash(&self) -> Vec<Value> {
        self.get("/api/files/trash")
            .await
            .json()
            .as_array()
            .unwrap()
            .clone()
    }

    /// Names in the trash directory.
    pub fn payloads(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.path_to(".quartermaster-trash")) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

/// A request with a role's token; none where the role is empty.
pub fn request(role: &str, method: &str, path: &str, body: Option<Value>) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    if !role.is_empty() {
        request = request.header(header::AUTHORIZATION, format!("Bearer {role}"));
    }
    let body = match body {
        Some(body) => {
            request = request.header(header::CONTENT_TYPE, "application/json");
            Body::from(body.to_string())
        }
        None => Body::empty(),
    };
    request.body(body).unwrap()
}

pub fn payload(hash: &str, path: &Path) -> TorrentPayload {
    TorrentPayload {
        engine_id: "e".into(),
        hash: hash.into(),
        name: "a torrent".into(),
        path: path.to_str().unwrap().into(),
        state: "seeding",
        live: true,
    }
}

/// The names in a listing.
pub fn names(listing: &Value) -> Vec<&str> {
    let items = listing["items"].as_array().unwrap();
    items.iter().map(|item| item["name"].as_str().unwrap()).collect()
}

/// One field of a path, for bodies.
pub fn path(path: &str) -> Value {
    json!({ "path": path })
}
