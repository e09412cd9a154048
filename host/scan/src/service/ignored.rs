//! Files and folders that people asked the service to ignore: scans skip them until somebody wants them again.

use qm_db::Tx;
use qm_kernel::{Caller, PageQuery, Permission};
use qm_media::LibraryError;
use qm_media::model::ignored::{Ignored, MOST, place_in};
use qm_media::model::library::MediaLibrary;
use qm_media::model::library::paths;
use qm_media::repo;
use qm_media_names::place;
use qm_platform::Actor;
use serde_json::json;

use super::Scanner;

/// A place that is ignored, with the directory of its library.
pub type Listed = (Ignored, String);

impl Scanner {
    /// A page of ignored places, and their total number.
    pub async fn ignored(
        &self,
        library_id: Option<&str>,
        page: PageQuery,
    ) -> Result<(Vec<Listed>, u64), LibraryError> {
        let mut tx = self.db.begin_read().await?;
        let (found, total) = repo::ignored::page(&mut tx, library_id, page).await?;
        let paths = paths(repo::libraries::all(&mut tx).await?);
        let listed = found.into_iter().map(|one| {
            let path = paths.get(&one.library_id).cloned().unwrap_or_default();
            (one, path)
        });
        Ok((listed.collect(), total))
    }

    /// Ignores a file, or a folder with everything below it, and deletes its items. The files stay.
    pub async fn ignore(
        &self,
        caller: Caller<'_>,
        library_id: &str,
        path: &str,
    ) -> Result<Listed, LibraryError> {
        let mut tx = self.db.begin_write().await?;
        let needed = Permission::MediaManagerDelete;
        let actor = self.rights.judge(&mut tx, caller, needed).await?;
        let found = repo::libraries::find(&mut tx, library_id).await?;
        let library = found.ok_or(LibraryError::NoSuchLibrary)?;
        let place = place_in(&library.path, path).ok_or(LibraryError::OutsideLibrary)?;
        let count = repo::ignored::count(&mut tx, library_id).await?;
        if count >= MOST {
            return Err(LibraryError::TooManyIgnored(count));
        }
        let ignored = Ignored {
            id: self.ctx.ordered_id(),
            library_id: library.id.clone(),
            place,
            created_at: self.ctx.now(),
        };
        let ignored = repo::ignored::put(&mut tx, &ignored).await?;
        // A scan of the folder deletes its items.
        self.rescan_noted(&mut tx, (&actor, caller), "media.ignored.add", &library, &ignored)
            .await?;
        tx.commit().await?;
        Ok((ignored, library.path))
    }

    /// Ends the ignoring of a place, so that scans find it again.
    pub async fn heed(&self, caller: Caller<'_>, id: &str) -> Result<Listed, LibraryError> {
        let mut tx = self.db.begin_write().await?;
        let needed = Permission::MediaManagerDelete;
        let actor = self.rights.judge(&mut tx, caller, needed).await?;
        let found = repo::ignored::find(&mut tx, id).await?;
        let ignored = found.ok_or(LibraryError::NotIgnored)?;
        let library = repo::libraries::find(&mut tx, &ignored.library_id).await?;
        let library = library.ok_or(LibraryError::NotIgnored)?;
        repo::ignored::delete(&mut tx, id).await?;
        self.rescan_noted(
            &mut tx,
            (&actor, caller),
            "media.ignored.remove",
            &library,
            &ignored,
        )
        .await?;
        tx.commit().await?;
        Ok((ignored, library.path))
    }

    /// Asks for a scan of the folder of a place, and records the reason in the audit trail.
    async fn rescan_noted(
        &self,
        tx: &mut Tx,
        (actor, caller): (&Actor, Caller<'_>),
        action: &'static str,
        library: &MediaLibrary,
        ignored: &Ignored,
    ) -> Result<(), LibraryError> {
        let folder = place::parent(&ignored.place).unwrap_or_default();
        self.scan_soon(tx, library, &[folder]).await?;
        let mut entry = actor.entry(action, caller.client);
        entry.object_type = Some("media_library");
        entry.object_id = Some(library.id.clone());
        entry.metadata = Some(json!({ "path": place::absolute(&library.path, &ignored.place) }));
        self.audit.record(tx, entry).await?;
        Ok(())
    }
}
