//! Libraries and shows, for the area that names files.

use std::path::Path;

use async_trait::async_trait;
use qm_db::DbError;
use qm_media::model::library::{MediaLibrary, paths};
use qm_media::repo;
use qm_media_names::place::{absolute, shown};
use qm_ports::shelves::{MediaShelves, Shelf, ShelfItem, ShelfShow, ShelvedItem, ShelvesUnread};

use super::Catalogue;
use crate::repo::episodes::{self, Episode};

impl Catalogue {
    async fn list_libraries(&self) -> Result<Vec<MediaLibrary>, ShelvesUnread> {
        let mut tx = self.db.begin_read().await.map_err(unread)?;
        repo::libraries::all(&mut tx).await.map_err(unread)
    }
}

#[async_trait]
impl MediaShelves for Catalogue {
    async fn find_shelf(&self, path: &str) -> Result<Option<Shelf>, ShelvesUnread> {
        let path = path.trim_end_matches('/');
        let mut libraries = self.list_libraries().await?.into_iter();
        let found = libraries.find(|library| library.path.trim_end_matches('/') == path);
        Ok(found.map(shelf))
    }

    async fn find_shelf_by_id(&self, id: &str) -> Result<Option<Shelf>, ShelvesUnread> {
        let mut libraries = self.list_libraries().await?.into_iter();
        Ok(libraries.find(|library| library.id == id).map(shelf))
    }

    async fn find_shelf_around(&self, path: &str) -> Result<Option<Shelf>, ShelvesUnread> {
        let libraries = self.list_libraries().await?.into_iter();
        let around = libraries.filter(|library| Path::new(path).starts_with(&library.path));
        Ok(around.max_by_key(|library| library.path.len()).map(shelf))
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

    async fn list_episodes(&self, library_id: &str, most: usize) -> Result<Vec<ShelfItem>, ShelvesUnread> {
        let mut tx = self.db.begin_read().await.map_err(unread)?;
        let library = repo::libraries::find(&mut tx, library_id).await.map_err(unread)?;
        let Some(library) = library else {
            return Ok(Vec::new());
        };
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let items = episodes::episodes(&mut tx, library_id, most)
            .await
            .map_err(unread)?;
        let items = items.into_iter().map(|item| shelf_item(&library.path, item));
        Ok(items.collect())
    }

    async fn list_items(
        &self,
        library_id: &str,
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<ShelfItem>, ShelvesUnread> {
        let mut tx = self.db.begin_read().await.map_err(unread)?;
        let library = repo::libraries::find(&mut tx, library_id).await.map_err(unread)?;
        let Some(library) = library else {
            return Ok(Vec::new());
        };
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let items = episodes::unlocked(&mut tx, library_id, after.unwrap_or_default(), most)
            .await
            .map_err(unread)?;
        let items = items.into_iter().map(|item| shelf_item(&library.path, item));
        Ok(items.collect())
    }

    async fn find_items(&self, ids: &[String]) -> Result<Vec<ShelvedItem>, ShelvesUnread> {
        let libraries = paths(self.list_libraries().await?);
        let mut tx = self.db.begin_read().await.map_err(unread)?;
        let mut found = Vec::new();
        // No database keeps a NUL, and no id has one.
        for id in ids.iter().filter(|id| !id.contains('\0')) {
            let Some(stocked) = episodes::item(&mut tx, id).await.map_err(unread)? else {
                continue;
            };
            let Some(library) = libraries.get(&stocked.library_id) else {
                continue;
            };
            found.push(ShelvedItem {
                item: shelf_item(library, stocked.item),
                library_id: stocked.library_id,
                is_locked: stocked.locked,
            });
        }
        Ok(found)
    }

    async fn list_item_files(&self, item_id: &str) -> Result<Option<Vec<String>>, ShelvesUnread> {
        // No database keeps a NUL, and no id has one.
        if item_id.contains('\0') {
            return Ok(None);
        }
        let libraries = paths(self.list_libraries().await?);
        let mut tx = self.db.begin_read().await.map_err(unread)?;
        let places = episodes::places(&mut tx, item_id).await.map_err(unread)?;
        let files = places
            .iter()
            .filter_map(|(library, place)| Some(absolute(libraries.get(library)?, place)));
        Ok((!places.is_empty()).then(|| files.collect()))
    }
}

fn shelf_item(library: &str, item: Episode) -> ShelfItem {
    ShelfItem {
        path: absolute(library, &item.place),
        id: item.id,
        title: item.title,
        year: item.year,
    }
}

fn shelf(library: MediaLibrary) -> Shelf {
    Shelf {
        id: library.id,
        kind: library.kind.as_str().to_owned(),
        path: library.path,
        preset: library.preset.as_str().to_owned(),
        template: library.template,
        mode: library.mode.as_str().to_owned(),
        auto_organize: library.auto_organize,
    }
}

fn unread(error: DbError) -> ShelvesUnread {
    ShelvesUnread(error.to_string())
}
