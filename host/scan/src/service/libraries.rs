//! Libraries as people keep them.

use std::path::Path;

use qm_db::Tx;
use qm_kernel::{Caller, Permission};
use qm_media::LibraryError;
use qm_media::lanes::LOOKS;
use qm_media::model::library::{LibraryChange, MAX_LIBRARIES, MediaLibrary};
use qm_media::model::view::Asked;
use qm_media::ops::guard::guarded;
use qm_media::repo;
use qm_media::service::jobs::MODULE;
use qm_platform::Actor;
use serde_json::{Value, json};

use super::Scanner;
use super::scan::{Reason, ScanRequest, scan_asked};
use crate::repo::directories;

/// Most items that are deleted in one transaction.
const AT_ONCE: i64 = 500;

/// Refuses the directory of another library, and warns about libraries inside or above it: files in both have two items.
async fn overlaps(tx: &mut Tx, library: &MediaLibrary) -> Result<Vec<String>, LibraryError> {
    let mut warnings = Vec::new();
    let path = Path::new(&library.path);
    for other in repo::libraries::all(tx).await? {
        let there = Path::new(&other.path);
        if other.id == library.id {
            continue;
        }
        if there == path {
            return Err(LibraryError::SamePath(other.name));
        }
        if path.starts_with(there) {
            warnings.push(format!(
                "It lies inside of library `{}` ({}): its files are in both",
                other.name, other.path
            ));
        } else if there.starts_with(path) {
            warnings.push(format!(
                "Library `{}` ({}) lies inside of it: its files are in both",
                other.name, other.path
            ));
        }
    }
    Ok(warnings)
}

impl Scanner {
    pub async fn list(&self) -> Result<Vec<MediaLibrary>, LibraryError> {
        Ok(repo::libraries::all(&mut self.db.begin_read().await?).await?)
    }

    pub async fn library(&self, id: &str) -> Result<MediaLibrary, LibraryError> {
        let found = repo::libraries::find(&mut self.db.begin_read().await?, id).await?;
        found.ok_or(LibraryError::NoSuchLibrary)
    }

    /// Creates a library and asks for its first scan; returns the id of that job. `mode`: an unknown mode word.
    pub async fn create(
        &self,
        caller: Caller<'_>,
        change: LibraryChange,
        mode: Option<String>,
    ) -> Result<Asked, LibraryError> {
        // Links are read before the transaction: a disk that hangs holds up no writer.
        let path = self.look_at(change.path.as_deref()).await?;
        let now = self.ctx.now();
        let mut tx = self.db.begin_write().await?;
        let actor = self
            .rights
            .judge(&mut tx, caller, Permission::MediaManagerManageLibraries)
            .await?;
        known_mode(mode)?;
        let is_named = change.name.as_deref().is_some_and(|name| !name.trim().is_empty());
        let Some(path) = path.filter(|_| is_named) else {
            return Err(LibraryError::NameAndPath);
        };
        let path = path?;
        let count = repo::libraries::count(&mut tx).await?;
        if count >= MAX_LIBRARIES {
            return Err(LibraryError::TooMany(count));
        }
        let mut library = MediaLibrary::new(now);
        library.apply(change);
        (library.id, library.path) = (self.ctx.id(), path);
        library.author = Some(actor.user_id().to_owned());
        let warnings = overlaps(&mut tx, &library).await?;
        repo::libraries::insert(&mut tx, &library).await?;
        self.note(&mut tx, caller, &actor, "media.library.create", &library)
            .await?;
        let job = scan_asked(&library, Reason::Changed, Some(actor.user_id()));
        let job = self.jobs.enqueue(&mut tx, job).await?;
        tx.commit().await?;
        self.jobs.announce(&job);
        self.watching.changed.notify_one();
        Ok(Asked {
            library,
            scan_job_id: job.id().to_owned(),
            warnings,
        })
    }

    /// Changes a library and asks for a scan; returns the id of that job.
    pub async fn update(
        &self,
        caller: Caller<'_>,
        id: &str,
        change: LibraryChange,
        mode: Option<String>,
    ) -> Result<Asked, LibraryError> {
        let path = self.look_at(change.path.as_deref()).await?;
        let mut tx = self.db.begin_write().await?;
        let actor = self
            .rights
            .judge(&mut tx, caller, Permission::MediaManagerManageLibraries)
            .await?;
        known_mode(mode)?;
        let found = repo::libraries::find(&mut tx, id).await?;
        let mut library = found.ok_or(LibraryError::NoSuchLibrary)?;
        if change.name.as_deref().is_some_and(|name| name.trim().is_empty()) {
            return Err(LibraryError::NameAndPath);
        }
        let before = library.path.clone();
        if change.is_about_its_doing() {
            library.author = Some(actor.user_id().to_owned());
        }
        library.apply(change);
        library.path = match path {
            Some(path) => path?,
            None => before.clone(),
        };
        let warnings = if library.path == before {
            Vec::new()
        } else {
            overlaps(&mut tx, &library).await?
        };
        library.updated_at = self.ctx.now();
        repo::libraries::update(&mut tx, &library).await?;
        if library.path != before {
            directories::forget(&mut tx, id).await?;
            repo::libraries::unscanned(&mut tx, id).await?;
            library.last_scan_at = None;
        }
        self.note(&mut tx, caller, &actor, "media.library.update", &library)
            .await?;
        let job = scan_asked(&library, Reason::Changed, Some(actor.user_id()));
        let job = self.jobs.enqueue(&mut tx, job).await?;
        tx.commit().await?;
        self.jobs.announce(&job);
        self.watching.changed.notify_one();
        Ok(Asked {
            library,
            scan_job_id: job.id().to_owned(),
            warnings,
        })
    }

    /// Deletes a library with its items and metadata; the files stay.
    pub async fn delete(&self, caller: Caller<'_>, id: &str) -> Result<MediaLibrary, LibraryError> {
        loop {
            let mut tx = self.db.begin_write().await?;
            let actor = self
                .rights
                .judge(&mut tx, caller, Permission::MediaManagerManageLibraries)
                .await?;
            let found = repo::libraries::find(&mut tx, id).await?;
            let library = found.ok_or(LibraryError::NoSuchLibrary)?;
            // Many items take a while: other writers have their turn in between.
            if repo::items::delete_some(&mut tx, id, AT_ONCE).await? == AT_ONCE.unsigned_abs() {
                tx.commit().await?;
                continue;
            }
            if !repo::libraries::delete(&mut tx, id).await? {
                return Err(LibraryError::NoSuchLibrary);
            }
            self.note(&mut tx, caller, &actor, "media.library.delete", &library)
                .await?;
            tx.commit().await?;
            self.watching.changed.notify_one();
            return Ok(library);
        }
    }

    /// Asks for a scan that looks at every file; returns the id of the job. For an unknown library, the job reports it.
    pub async fn scan(&self, caller: Caller<'_>, id: &str) -> Result<String, LibraryError> {
        let mut tx = self.db.begin_write().await?;
        let actor = self
            .rights
            .judge(&mut tx, caller, Permission::MediaManagerScan)
            .await?;
        let found = repo::libraries::find(&mut tx, id).await?;
        let asked = ScanRequest {
            library_id: id,
            name: found.as_ref().map(|library| library.name.as_str()),
            reason: Reason::Asked,
            created_by: Some(actor.user_id()),
            places: None,
        };
        let job = self.jobs.enqueue(&mut tx, asked.into_job()).await?;
        tx.commit().await?;
        self.jobs.announce(&job);
        Ok(job.id().to_owned())
    }

    /// Asks for a scan after folders were put together, whose order was judged elsewhere. `None`: there is no such library.
    pub async fn scan_after_merge(&self, id: &str, by: Option<&str>) -> Result<Option<String>, LibraryError> {
        let mut tx = self.db.begin_write().await?;
        let Some(library) = repo::libraries::find(&mut tx, id).await? else {
            return Ok(None);
        };
        let asked = ScanRequest {
            library_id: id,
            name: Some(&library.name),
            reason: Reason::Asked,
            created_by: by,
            places: None,
        };
        let job = self.jobs.enqueue(&mut tx, asked.into_job()).await?;
        tx.commit().await?;
        self.jobs.announce(&job);
        Ok(Some(job.id().to_owned()))
    }

    /// Asks a job of this area to end; true if one was running or waiting.
    pub async fn cancel_job(&self, caller: Caller<'_>, id: &str) -> Result<bool, LibraryError> {
        let mut tx = self.db.begin_write().await?;
        self.rights
            .judge(&mut tx, caller, Permission::MediaManagerScan)
            .await?;
        let is_asked = self.jobs.cancel_of(&mut tx, caller, MODULE, id).await?;
        tx.commit().await?;
        Ok(is_asked)
    }

    /// Normal form of a path if it is allowed, or the refusal. The caller sees neither before the permission check.
    async fn look_at(
        &self,
        path: Option<&str>,
    ) -> Result<Option<Result<String, LibraryError>>, LibraryError> {
        let Some(path) = path.map(str::to_owned) else {
            return Ok(None);
        };
        let (roots, own) = (self.file_roots.clone(), self.own.clone());
        Ok(Some(LOOKS.run(move |_| guarded(&path, &roots, &own)).await?))
    }

    async fn note(
        &self,
        tx: &mut Tx,
        caller: Caller<'_>,
        actor: &Actor,
        action: &'static str,
        library: &MediaLibrary,
    ) -> Result<(), LibraryError> {
        let mut entry = actor.entry(action, caller.client);
        entry.object_type = Some("media_library");
        entry.object_id = Some(library.id.clone());
        let folder = Path::new(&library.path);
        let told: Value = json!({ "name": library.name, "kind": library.kind.as_str(), "path": folder });
        entry.metadata = Some(told);
        Ok(self.audit.record(tx, entry).await?)
    }
}

/// Refuses an unknown mode word.
fn known_mode(word: Option<String>) -> Result<(), LibraryError> {
    match word {
        None => Ok(()),
        Some(word) if word == "preview" => Err(LibraryError::PreviewMode),
        Some(word) => Err(LibraryError::UnknownMode(word)),
    }
}
