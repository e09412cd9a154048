//! Libraries and shows, for the area that names files.

use async_trait::async_trait;
use qm_db::DbError;
use qm_media::repo;
use qm_media_names::place::shown;
use qm_ports::shelves::{MediaShelves, Shelf, ShelfShow, ShelvesUnread};

use super::Catalogue;

#[async_trait]
impl MediaShelves for Catalogue {
    async fn find_shelf(&self, path: &str) -> Result<Option<Shelf>, ShelvesUnread> {
        let mut tx = self.db.begin_read().await.map_err(unread)?;
        let libraries = repo::libraries::all(&mut tx).await.map_err(unread)?;
        let path = path.trim_end_matches('/');
        let found = libraries
            .into_iter()
            .find(|library| library.path.trim_end_matches('/') == path);
        Ok(found.map(|library| Shelf {
            id: library.id,
            kind: library.kind.as_str().to_owned(),
            path: library.path,
        }))
    }

    async fn list_shows(&self, library_id: &str) -> Result<Vec<ShelfShow>, ShelvesUnread> {
        let mut tx = self.db.begin_read().await.map_err(unread)?;
        let shows = repo::shows::of_library(&mut tx, library_id)
            .await
            .map_err(unread)?;
        let shows = shows.into_iter().map(|show| ShelfShow {
            title: show.title,
            year: show.year,
            folder: shown(&show.place),
        });
        Ok(shows.collect())
    }
}

fn unread(error: DbError) -> ShelvesUnread {
    ShelvesUnread(error.to_string())
}
