//! The store in use: the complete one, until another replaces it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use qm_db::{Access, Backend, Beside, Db, DbError, Tx};
use qm_kernel::as_error;
use qm_lanes::IgnorePoison;

use crate::lanes::FILES;
use crate::model::plan::{Loaded, Stage};
use crate::repo::schema;

const FILE: &str = "titledb.db";
const NEXT_FILE: &str = "titledb.next.db";
/// Number of tries for a lock, and the pause between them.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(100);

/// A complete store.
pub struct Live {
    db: Db,
    pub loaded: Loaded,
}

impl Live {
    pub async fn read(&self) -> Result<Tx, DbError> {
        self.db.begin_read().await
    }
}

/// Cached store in use.
#[derive(Clone, Default)]
struct CachedStore {
    /// True after the first lookup.
    done: bool,
    live: Option<Arc<Live>>,
}

/// Access to the stores.
pub struct Store {
    db: Db,
    directory: PathBuf,
    live: Mutex<CachedStore>,
    /// Held while the store in use is opened or replaced.
    opening: tokio::sync::Mutex<()>,
}

impl Store {
    pub fn new(db: Db, directory: PathBuf) -> Self {
        Self {
            db,
            directory,
            live: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
        }
    }

    fn known(&self) -> CachedStore {
        self.live.lock().ignore_poison().clone()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The store in use; `None` when there is none, or it cannot be read.
    pub async fn live(&self) -> Result<Option<Arc<Live>>, DbError> {
        let known = self.known();
        if known.done {
            return Ok(known.live);
        }
        let _opening = self.opening.lock().await;
        let known = self.known();
        if known.done {
            return Ok(known.live);
        }
        self.look().await
    }

    async fn look(&self) -> Result<Option<Arc<Live>>, DbError> {
        let found = self.open_live().await?.map(Arc::new);
        let before = {
            let mut looked = self.live.lock().ignore_poison();
            looked.done = true;
            std::mem::replace(&mut looked.live, found.clone())
        };
        // Readers still hold it; its last connection closes with the last of them.
        if let Some(before) = before {
            tokio::spawn(async move { before.db.close().await });
        }
        Ok(found)
    }

    async fn open_live(&self) -> Result<Option<Live>, DbError> {
        let file = self.file(FILE);
        match self.db.backend() {
            Backend::Sqlite if !self.is_there(FILE).await? => return Ok(None),
            Backend::Postgres if !schema::has_live(&mut self.db.begin_read().await?).await? => {
                return Ok(None);
            }
            Backend::Sqlite | Backend::Postgres => {}
        }
        let db = self
            .db
            .open_beside(Beside {
                file: &file,
                schema: schema::LIVE,
                access: Access::Read,
            })
            .await?;
        let loaded = async { schema::loaded(&mut db.begin_read().await?).await }.await;
        match (loaded, self.db.backend()) {
            (Ok(Some(loaded)), _) if loaded.stage == Stage::Complete && loaded.names.is_some() => {
                Ok(Some(Live { db, loaded }))
            }
            (Ok(Some(loaded)), _) if loaded.stage == Stage::Complete => {
                tracing::warn!("the titledb data set is that of an earlier version: import it again");
                Ok(None)
            }
            (Ok(_), _) => Ok(None),
            (Err(error), Backend::Sqlite) => {
                tracing::error!(
                    file = %file.display(),
                    error = as_error(&error),
                    "the titledb data set cannot be read: import it again"
                );
                Ok(None)
            }
            (Err(error), Backend::Postgres) => Err(error),
        }
    }

    /// Opens the store to load, with its progress; one with another `fingerprint`, or possibly damaged by a
    /// power cut, is started anew.
    pub async fn next(&self, fingerprint: &str, boot: &str) -> Result<(Db, Loaded), DbError> {
        let fits = |loaded: &Loaded| {
            let is_sound = self.db.backend() == Backend::Postgres || loaded.boot == boot;
            let is_ours = loaded.names.is_some();
            loaded.fingerprint == fingerprint && is_sound && is_ours && loaded.stage != Stage::Complete
        };
        let left = self.left_over().await;
        if let Some((db, loaded)) = left {
            if fits(&loaded) {
                return Ok((db, loaded));
            }
            db.close().await;
        }
        self.discard_next().await?;
        let db = self.open_next().await?;
        let loaded = Loaded {
            fingerprint: fingerprint.to_owned(),
            boot: boot.to_owned(),
            names: Some(0),
            ..Loaded::default()
        };
        let mut tx = db.begin_write().await?;
        schema::make(&mut tx).await?;
        schema::set_loaded(&mut tx, &loaded).await?;
        tx.commit().await?;
        Ok((db, loaded))
    }

    async fn open_next(&self) -> Result<Db, DbError> {
        let file = self.file(NEXT_FILE);
        self.db
            .open_beside(Beside {
                file: &file,
                schema: schema::NEXT,
                access: Access::Load,
            })
            .await
    }

    /// The store of an unfinished import; an unreadable one is ignored.
    async fn left_over(&self) -> Option<(Db, Loaded)> {
        if self.db.backend() == Backend::Sqlite && !self.is_there(NEXT_FILE).await.ok()? {
            return None;
        }
        let db = self.open_next().await.ok()?;
        let loaded = async { schema::loaded(&mut db.begin_read().await?).await }.await;
        match loaded {
            Ok(Some(loaded)) => Some((db, loaded)),
            Ok(None) | Err(_) => {
                db.close().await;
                None
            }
        }
    }

    /// Removes the unfinished store.
    pub async fn discard_next(&self) -> Result<(), DbError> {
        match self.db.backend() {
            Backend::Sqlite => self.remove(NEXT_FILE).await,
            Backend::Postgres => self.tried(Step::DropNext).await,
        }
    }

    /// Replaces the store in use by a completely loaded one.
    pub async fn publish(&self, next: Db) -> Result<(), DbError> {
        next.close().await;
        let _opening = self.opening.lock().await;
        match self.db.backend() {
            Backend::Sqlite => {
                let (from, to) = (self.file(NEXT_FILE), self.file(FILE));
                FILES.run_for(None, move |_| rename(&from, &to)).await??;
            }
            Backend::Postgres => {
                self.tried(Step::DropOld).await?;
                self.tried(Step::Swap).await?;
            }
        }
        self.look().await?;
        if self.db.backend() == Backend::Postgres {
            self.tried(Step::DropOld).await?;
        }
        Ok(())
    }

    /// Removes the store in use.
    pub async fn clear(&self) -> Result<(), DbError> {
        let _opening = self.opening.lock().await;
        match self.db.backend() {
            Backend::Sqlite => self.remove(FILE).await?,
            Backend::Postgres => self.tried(Step::DropLive).await?,
        }
        self.look().await.map(drop)
    }

    async fn remove(&self, name: &str) -> Result<(), DbError> {
        let file = self.file(name);
        FILES.run_for(None, move |_| remove(&file)).await?
    }

    async fn is_there(&self, name: &str) -> Result<bool, DbError> {
        let file = self.file(name);
        Ok(FILES.run_for(None, move |_| file.is_file()).await?)
    }

    /// Runs a step in its own transaction, repeatedly while a lock is held.
    async fn tried(&self, step: Step) -> Result<(), DbError> {
        let mut tries = 0;
        loop {
            let done = self.once(step).await;
            tries += 1;
            match done {
                Err(DbError::Busy(_)) if tries < TRIES => tokio::time::sleep(PAUSE).await,
                done => return done,
            }
        }
    }

    async fn once(&self, step: Step) -> Result<(), DbError> {
        let mut tx = self.db.begin_write().await?;
        match step {
            Step::Swap => schema::swap(&mut tx).await?,
            Step::DropOld => schema::drop_old(&mut tx).await?,
            Step::DropNext => schema::drop_next(&mut tx).await?,
            Step::DropLive => schema::drop_live(&mut tx).await?,
        }
        tx.commit().await
    }
}

/// Change of a schema on PostgreSQL.
#[derive(Clone, Copy)]
enum Step {
    Swap,
    DropOld,
    DropNext,
    DropLive,
}
/// Removes a store on SQLite with its auxiliary files.
fn remove(file: &Path) -> Result<(), DbError> {
    for ending in ["", "-journal", "-wal", "-shm"] {
        let mut name = file.as_os_str().to_owned();
        name.push(ending);
        match std::fs::remove_file(PathBuf::from(name)) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(refused(file, &error)),
        }
    }
    Ok(())
}

/// Syncs the file to disk, and renames it.
fn rename(from: &Path, to: &Path) -> Result<(), DbError> {
    let done = || {
        std::fs::File::open(from)?.sync_all()?;
        std::fs::rename(from, to)?;
        match to.parent() {
            Some(directory) => std::fs::File::open(directory)?.sync_all(),
            None => Ok(()),
        }
    };
    done().map_err(|error| refused(to, &error))?;
    let mut journal = from.as_os_str().to_owned();
    journal.push("-journal");
    // It is empty, because the last transaction has ended.
    let _ = std::fs::remove_file(PathBuf::from(journal));
    Ok(())
}

fn refused(file: &Path, error: &std::io::Error) -> DbError {
    DbError::Open(format!(
        "the titledb store `{}` cannot be written: {error}",
        file.display()
    ))
}
