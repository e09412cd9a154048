//! Shows and their folders, for the area that puts the folders of one show together.

use std::collections::HashMap;

use qm_db::DbError;
use qm_media::model::library::MediaLibrary;
use qm_media::model::show::Show;
use qm_media::repo;
use qm_media_names::place::absolute;
use qm_ports::folders::{FolderShow, FoldersUnread};

use super::Catalogue;

impl Catalogue {
    /// Shows of a library, or of all, in the order of their libraries and folders.
    pub async fn list_folders(&self, library_id: Option<&str>) -> Result<Vec<FolderShow>, FoldersUnread> {
        // No database keeps a NUL, and no id has one.
        if library_id.is_some_and(|id| id.contains('\0')) {
            return Ok(Vec::new());
        }
        let mut tx = self.db.begin_read().await.map_err(unread)?;
        let shows = match library_id {
            Some(id) => repo::shows::of_library(&mut tx, id).await,
            None => repo::shows::all(&mut tx).await,
        };
        let libraries = repo::libraries::all(&mut tx).await.map_err(unread)?;
        Ok(join(shows.map_err(unread)?, &libraries))
    }

    /// Directories of all libraries.
    pub async fn list_directories(&self) -> Result<Vec<String>, FoldersUnread> {
        let mut tx = self.db.begin_read().await.map_err(unread)?;
        let libraries = repo::libraries::all(&mut tx).await.map_err(unread)?;
        Ok(libraries.into_iter().map(|library| library.path).collect())
    }

    /// Those of the shows that exist, in the order of the ids.
    pub async fn find_folders(&self, ids: &[String]) -> Result<Vec<FolderShow>, FoldersUnread> {
        let mut tx = self.db.begin_read().await.map_err(unread)?;
        let mut shows = Vec::with_capacity(ids.len());
        for id in ids.iter().filter(|id| !id.contains('\0')) {
            shows.extend(repo::shows::find(&mut tx, id).await.map_err(unread)?);
        }
        let libraries = repo::libraries::all(&mut tx).await.map_err(unread)?;
        Ok(join(shows, &libraries))
    }

    /// Paths of files of locked items below the folder of a show.
    pub async fn list_locked_files(&self, show: &FolderShow) -> Result<Vec<String>, FoldersUnread> {
        let mut tx = self.db.begin_read().await.map_err(unread)?;
        let Some(row) = repo::shows::find(&mut tx, &show.id).await.map_err(unread)? else {
            return Ok(Vec::new());
        };
        let places = repo::shows::locked_below(&mut tx, &row).await.map_err(unread)?;
        let files = places.iter().map(|place| absolute(&show.library, place));
        Ok(files.collect())
    }

    /// Deletes the rows of shows that are still where they were.
    pub async fn forget_folders(&self, shows: &[FolderShow]) -> Result<(), FoldersUnread> {
        let mut tx = self.db.begin_write().await.map_err(unread)?;
        for show in shows {
            let row = repo::shows::find(&mut tx, &show.id).await.map_err(unread)?;
            // Somebody else may have been quicker, or the folder was moved.
            if let Some(row) = row.filter(|row| row.place == show.place) {
                repo::shows::delete(&mut tx, &row).await.map_err(unread)?;
            }
        }
        tx.commit().await.map_err(unread)
    }
}

fn unread(error: DbError) -> FoldersUnread {
    FoldersUnread(error.to_string())
}

fn join(shows: Vec<Show>, libraries: &[MediaLibrary]) -> Vec<FolderShow> {
    let libraries: HashMap<&str, &MediaLibrary> = libraries
        .iter()
        .map(|library| (library.id.as_str(), library))
        .collect();
    let joined = shows.into_iter().filter_map(|show| {
        let library = libraries.get(show.library_id.as_str())?;
        Some(FolderShow {
            library_kind: library.kind.as_str().to_owned(),
            library: library.path.clone(),
            path: absolute(&library.path, &show.place),
            id: show.id,
            library_id: show.library_id,
            place: show.place,
            title: show.title,
            year: show.year,
            titledb_id: show.titledb_id,
            canonical_key: show.canonical_key,
        })
    });
    joined.collect()
}
