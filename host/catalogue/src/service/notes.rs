//! Items with what is known of them, for the area that writes notes about them.

use async_trait::async_trait;
use qm_db::{DbError, Tx};
use qm_media::model::item::Filter;
use qm_media::model::library::MediaLibrary;
use qm_media::model::metadata::ItemMetadata;
use qm_media::repo;
use qm_ports::notes::{MediaNotes, NotedFacts, NotedItem, NotedLibrary, NotesUnread};
use serde_json::Value;

use super::Catalogue;

/// Items that are read at once.
const PAGE: i64 = 500;

#[async_trait]
impl MediaNotes for Catalogue {
    async fn find_noted(&self, id: &str) -> Result<Option<NotedItem>, NotesUnread> {
        let mut tx = self.db.begin_read().await.map_err(unread)?;
        read_item(&mut tx, id).await.map_err(unread)
    }

    async fn find_noted_library(&self, id: &str) -> Result<Option<NotedLibrary>, NotesUnread> {
        let mut tx = self.db.begin_read().await.map_err(unread)?;
        let found = repo::libraries::find(&mut tx, id).await.map_err(unread)?;
        Ok(found.map(noted))
    }

    async fn list_unlocked(&self, library_id: &str, most: usize) -> Result<Vec<String>, NotesUnread> {
        let filter = Filter {
            library_id: Some(library_id.to_owned()),
            ..Filter::default()
        };
        let (mut ids, mut after) = (Vec::new(), String::new());
        while ids.len() < most {
            let mut tx = self.db.begin_read().await.map_err(unread)?;
            let page = repo::lists::behind(&mut tx, &filter, &after, PAGE).await;
            let page = page.map_err(unread)?;
            let Some((last, _)) = page.last() else { break };
            after.clone_from(&last.id);
            let unlocked = page.into_iter().filter(|(item, _)| !item.locked);
            ids.extend(unlocked.map(|(item, _)| item.id));
        }
        ids.truncate(most);
        Ok(ids)
    }

    async fn list_known(&self, ids: &[String]) -> Result<Vec<String>, NotesUnread> {
        let mut tx = self.db.begin_read().await.map_err(unread)?;
        let known = repo::bulk::lying(&mut tx, ids).await.map_err(unread)?;
        Ok(ids.iter().filter(|id| known.contains_key(*id)).cloned().collect())
    }
}

async fn read_item(tx: &mut Tx, id: &str) -> Result<Option<NotedItem>, DbError> {
    let Some((item, _)) = repo::lists::find(tx, id).await? else {
        return Ok(None);
    };
    let Some(library) = repo::libraries::find(tx, &item.library_id).await? else {
        return Ok(None);
    };
    let ids = repo::external::of_item(tx, id).await?;
    let metadata = repo::metadata::find(tx, id).await?;
    Ok(Some(NotedItem {
        id: item.id,
        library: noted(library),
        media_type: item.media_type,
        title: item.title,
        year: item.year,
        season: item.season,
        episode: item.episode,
        locked: item.locked,
        place: item.place,
        ids: ids.into_iter().map(|id| (id.provider, id.value)).collect(),
        facts: metadata.map(facts).unwrap_or_default(),
    }))
}

fn noted(library: MediaLibrary) -> NotedLibrary {
    NotedLibrary {
        id: library.id,
        path: library.path,
        nfo_enabled: library.nfo_enabled,
    }
}

fn facts(metadata: ItemMetadata) -> NotedFacts {
    let member = |person: &Value| {
        let name = person["name"].as_str()?.to_owned();
        Some((name, person["role"].as_str().map(str::to_owned)))
    };
    let day = |at: qm_kernel::Timestamp| at.to_string().get(..10).map(str::to_owned);
    NotedFacts {
        title: metadata.title,
        original_title: metadata.original_title,
        sort_title: metadata.sort_title,
        overview: metadata.overview,
        release_date: metadata.release_date.and_then(day),
        year: metadata.year,
        runtime: metadata.runtime,
        genres: metadata.genres,
        studios: metadata.studios,
        cast: metadata.cast.iter().filter_map(member).collect(),
        directors: metadata.directors,
        writers: metadata.writers,
        rating: metadata.rating,
        certification: metadata.certification,
        tags: metadata.tags,
    }
}

fn unread(error: DbError) -> NotesUnread {
    NotesUnread(error.to_string())
}
