//! The area alone, with torrents, libraries and media servers in memory.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use qm_confined::Roots;
use qm_db::Db;
use qm_jobs::{Jobs, Pace};
use qm_kernel::{Caller, Ctx, Requester, Role};
use qm_platform::testing::{self, Claims};
use qm_ports::engine::Torrent;
use qm_ports::list::{Listed, TorrentList, TorrentLists};
use qm_ports::media_server::{
    Extent, MediaServer, MediaServerError, MediaServers, PlaySession, Refreshed, ServerAbilities,
};
use qm_ports::shelves::{MediaShelves, Shelf, ShelfItem, ShelfShow, ShelvedItem, ShelvesUnread};
use qm_ports::{Removal, TorrentPayload, TorrentPayloads};
use qm_test_base::{client, principal};

use crate::model::request::{Request, Wanted};
use crate::ops::fault::Faults;
use crate::service::{Rename, RenameDeps};

/// One engine with one torrent.
pub struct One(pub Torrent);

impl TorrentList for One {
    fn engine_id(&self) -> &'static str {
        "e"
    }

    fn version(&self) -> u64 {
        1
    }

    fn len(&self) -> usize {
        1
    }

    fn entry_at(&self, position: usize) -> Option<Listed<'_>> {
        (position == 0).then_some(Listed {
            torrent: &self.0,
            json: b"{}",
        })
    }

    fn find(&self, hash: &str) -> Option<Listed<'_>> {
        (hash == &*self.0.hash).then_some(Listed {
            torrent: &self.0,
            json: b"{}",
        })
    }
}

/// Everything around the area.
#[derive(Default)]
pub struct Around {
    pub lists: Mutex<Vec<Arc<dyn TorrentList>>>,
    pub payloads: Mutex<Vec<TorrentPayload>>,
    pub removed: Mutex<Vec<String>>,
    pub sessions: Mutex<Vec<PlaySession>>,
    /// The only library.
    pub shelf: Mutex<Shelf>,
    pub items: Mutex<Vec<ShelfItem>>,
    /// Ids of locked items.
    pub locked: Mutex<Vec<String>>,
}

impl TorrentLists for Around {
    fn lists(&self) -> Vec<Arc<dyn TorrentList>> {
        self.lists.lock().unwrap().clone()
    }
}

#[async_trait]
impl TorrentPayloads for Around {
    fn touching(&self, paths: &[&Path]) -> Vec<TorrentPayload> {
        let touches = |data: &Path| {
            let mut paths = paths.iter();
            paths.any(|path| path.starts_with(data) || data.starts_with(path))
        };
        let all = self.payloads.lock().unwrap();
        all.iter()
            .filter(|payload| touches(Path::new(&payload.path)))
            .cloned()
            .collect()
    }

    async fn check_removal(&self, _: &[TorrentPayload]) -> Result<(), String> {
        Ok(())
    }

    async fn remove(
        &self,
        payload: &TorrentPayload,
        removal: Removal<'_>,
        _: Caller<'_>,
    ) -> Result<(), String> {
        assert!(!removal.with_data, "the data stays");
        self.removed.lock().unwrap().push(payload.hash.clone());
        Ok(())
    }
}

#[async_trait]
impl MediaShelves for Around {
    async fn find_shelf(&self, path: &str) -> Result<Option<Shelf>, ShelvesUnread> {
        let shelf = self.shelf.lock().unwrap().clone();
        Ok((path == shelf.path).then_some(shelf))
    }

    async fn find_shelf_by_id(&self, id: &str) -> Result<Option<Shelf>, ShelvesUnread> {
        let shelf = self.shelf.lock().unwrap().clone();
        Ok((id == shelf.id).then_some(shelf))
    }

    async fn find_shelf_around(&self, path: &str) -> Result<Option<Shelf>, ShelvesUnread> {
        let shelf = self.shelf.lock().unwrap().clone();
        Ok(Path::new(path).starts_with(&shelf.path).then_some(shelf))
    }

    async fn list_shows(&self, library_id: &str) -> Result<Vec<ShelfShow>, ShelvesUnread> {
        assert_eq!(library_id, "tv");
        Ok(vec![ShelfShow {
            title: "The Wire".to_owned(),
            year: Some(2002),
            folder: "The Wire (2002)".to_owned(),
        }])
    }

    async fn list_episodes(&self, _: &str, most: usize) -> Result<Vec<ShelfItem>, ShelvesUnread> {
        Ok(self.items.lock().unwrap().iter().take(most).cloned().collect())
    }

    async fn list_items(
        &self,
        _: &str,
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<ShelfItem>, ShelvesUnread> {
        let locked = self.locked.lock().unwrap().clone();
        let mut items = self.items.lock().unwrap().clone();
        items.sort_by(|one, other| one.id.cmp(&other.id));
        items.retain(|item| !locked.contains(&item.id) && after.is_none_or(|after| *item.id > *after));
        items.truncate(most);
        Ok(items)
    }

    async fn find_items(&self, ids: &[String]) -> Result<Vec<ShelvedItem>, ShelvesUnread> {
        let locked = self.locked.lock().unwrap().clone();
        let items = self.items.lock().unwrap().clone().into_iter();
        let found = items
            .filter(|item| ids.contains(&item.id))
            .map(|item| ShelvedItem {
                library_id: "tv".to_owned(),
                is_locked: locked.contains(&item.id),
                item,
            });
        Ok(found.collect())
    }

    async fn list_item_files(&self, item_id: &str) -> Result<Option<Vec<String>>, ShelvesUnread> {
        let items = self.items.lock().unwrap();
        let item = items.iter().find(|item| item.id == item_id);
        Ok(item.map(|item| vec![item.path.clone()]))
    }
}

#[async_trait]
impl MediaServers for Around {
    async fn servers(&self) -> Result<Vec<MediaServer>, MediaServerError> {
        Ok(vec![MediaServer {
            id: "m".to_owned(),
            name: "m".to_owned(),
            kind: "plex".to_owned(),
            is_enabled: true,
            is_online: None,
            version: None,
            abilities: ServerAbilities {
                sessions: true,
                ..ServerAbilities::default()
            },
        }])
    }

    async fn refresh_all(&self, _: &Extent) -> Result<Vec<Refreshed>, MediaServerError> {
        Ok(Vec::new())
    }

    async fn refresh(&self, _: &str, _: Extent) -> Result<(), MediaServerError> {
        Ok(())
    }

    async fn sessions(&self, _: &str) -> Result<Vec<PlaySession>, MediaServerError> {
        Ok(self.sessions.lock().unwrap().clone())
    }

    async fn terminate(&self, _: &str, _: &str, _: Option<&str>) -> Result<(), MediaServerError> {
        Ok(())
    }
}

/// A server with the area, and a storage root of its own.
pub struct House {
    pub app: Arc<Rename>,
    pub jobs: Jobs,
    pub around: Arc<Around>,
    pub db: Db,
    /// Storage root, without links.
    pub root: PathBuf,
    roots: Vec<String>,
    folders: Arc<Vec<tempfile::TempDir>>,
}

impl House {
    pub fn new(db: &Db) -> Self {
        Self::with(db, Faults::default())
    }

    pub fn with(db: &Db, faults: Faults) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("data");
        fs::create_dir(&root).unwrap();
        Self::over(db, root, Vec::new(), vec![folder], faults)
    }

    /// A server over a root that is there, and further ones.
    pub fn over(
        db: &Db,
        root: PathBuf,
        further: Vec<PathBuf>,
        folders: Vec<tempfile::TempDir>,
        faults: Faults,
    ) -> Self {
        let around = Arc::new(Around::default());
        *around.shelf.lock().unwrap() = Shelf {
            id: "tv".to_owned(),
            kind: "tv".to_owned(),
            path: root.join("tv").to_str().unwrap().to_owned(),
            preset: "plex".to_owned(),
            template: None,
            mode: "rename_in_place".to_owned(),
            auto_organize: true,
        };
        let all = std::iter::once(&root).chain(&further);
        let roots: Vec<String> = all.map(|root| root.to_str().unwrap().to_owned()).collect();
        let (app, jobs) = start(db, &roots, &around, faults);
        Self {
            app,
            jobs,
            around,
            db: db.clone(),
            root,
            roots,
            folders: Arc::new(folders),
        }
    }

    /// Another server on the same database and disks.
    pub fn again(&self, faults: Faults) -> Self {
        let (app, jobs) = start(&self.db, &self.roots, &self.around, faults);
        Self {
            app,
            jobs,
            around: self.around.clone(),
            db: self.db.clone(),
            root: self.root.clone(),
            roots: self.roots.clone(),
            folders: self.folders.clone(),
        }
    }

    pub fn write(&self, below: &str, content: &str) {
        let path = self.root.join(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub fn place_of(&self, below: &str) -> String {
        self.root.join(below).to_str().unwrap().to_owned()
    }

    /// Request to rename what lies at a path below the root, into the library `tv`.
    pub fn wanted(&self, path: &str, mode: &str) -> Wanted {
        Wanted {
            request: Request {
                library: Some(self.place_of("tv")),
                path: Some(self.place_of(path)),
                preset: "plex".to_owned(),
                mode: qm_rename_plan::Mode::from_word(mode).unwrap(),
                ..Request::default()
            },
            ..Wanted::default()
        }
    }

    /// Contents of all files by their paths below the root; links tell where they lead.
    pub fn inventory(&self) -> BTreeMap<Vec<u8>, String> {
        let mut found = BTreeMap::new();
        for root in &self.roots {
            gather(Path::new(root), &mut found);
        }
        found
    }
}

fn start(db: &Db, roots: &[String], around: &Arc<Around>, faults: Faults) -> (Arc<Rename>, Jobs) {
    let ctx = Ctx::system();
    let (jobs, _) = qm_jobs::testing::worker(db, Pace::default());
    let app = Rename::new(RenameDeps {
        ground: testing::ground(db, &ctx, Arc::new(Claims)),
        jobs: jobs.clone(),
        roots: Roots::open(roots),
        torrents: around.clone(),
        payloads: around.clone(),
        shelves: around.clone(),
        servers: around.clone(),
        faults,
    });
    (app, jobs)
}

fn gather(path: &Path, found: &mut BTreeMap<Vec<u8>, String>) {
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        let meta = path.symlink_metadata().unwrap();
        let content = if meta.is_dir() {
            gather(&path, found);
            continue;
        } else if meta.is_symlink() {
            format!("-> {}", fs::read_link(&path).unwrap().display())
        } else {
            blake3::hash(&fs::read(&path).unwrap()).to_hex().to_string()
        };
        found.insert(path.as_os_str().as_bytes().to_vec(), content);
    }
}

/// Somebody who may do everything here.
pub fn admin() -> Requester {
    Requester {
        principal: principal(Role::Administrator),
        client: client(),
    }
}

/// A torrent with its data.
pub fn payload(hash: &str, path: &str) -> TorrentPayload {
    TorrentPayload {
        engine_id: "e".to_owned(),
        hash: hash.to_owned(),
        name: format!("torrent {hash}"),
        path: path.to_owned(),
        state: "seeding",
        live: true,
    }
}
