//! Items with all that duplicates are found by, for the area that looks for them.

use std::collections::HashMap;

use async_trait::async_trait;
use qm_db::{DbError, Tx};
use qm_media::model::item::{Filter, Item, MediaFile};
use qm_media::repo;
use qm_media_names::place::absolute;
use qm_ports::inventory::{MediaStock, StockFile, StockItem, StockLibrary, StockUnread};

use super::Catalogue;

#[async_trait]
impl MediaStock for Catalogue {
    async fn list_behind(&self, after: &str, most: usize) -> Result<Vec<StockItem>, StockUnread> {
        let mut tx = self.db.begin_read().await.map_err(unread)?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        page_behind(&mut tx, after, most).await.map_err(unread)
    }

    async fn find_items(&self, ids: &[String]) -> Result<Vec<StockItem>, StockUnread> {
        let mut tx = self.db.begin_read().await.map_err(unread)?;
        let items = repo::lists::named(&mut tx, ids).await.map_err(unread)?;
        complete(&mut tx, items).await.map_err(unread)
    }

    async fn list_with(&self, part: &str, after: &str, most: usize) -> Result<Vec<StockItem>, StockUnread> {
        let mut tx = self.db.begin_read().await.map_err(unread)?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let ids = repo::bulk::with(&mut tx, part, after, most)
            .await
            .map_err(unread)?;
        let items = repo::lists::named(&mut tx, &ids).await.map_err(unread)?;
        complete(&mut tx, items).await.map_err(unread)
    }

    async fn list_libraries(&self) -> Result<Vec<StockLibrary>, StockUnread> {
        let mut tx = self.db.begin_read().await.map_err(unread)?;
        let libraries = repo::libraries::all(&mut tx).await.map_err(unread)?;
        let libraries = libraries.into_iter().map(|library| StockLibrary {
            id: library.id,
            name: library.name,
            path: library.path,
        });
        Ok(libraries.collect())
    }

    async fn put_groups(&self, links: &[(String, Option<String>)]) -> Result<(), StockUnread> {
        let mut tx = self.db.begin_write().await.map_err(unread)?;
        for (id, group) in links {
            repo::bulk::set_group(&mut tx, id, group.as_deref())
                .await
                .map_err(unread)?;
        }
        tx.commit().await.map_err(unread)
    }
}

fn unread(error: DbError) -> StockUnread {
    StockUnread(error.to_string())
}

/// Items behind `after`. All ids and further files of a page are read by two statements.
async fn page_behind(tx: &mut Tx, after: &str, most: i64) -> Result<Vec<StockItem>, DbError> {
    let mut items = repo::lists::behind(tx, &Filter::default(), after, most).await?;
    repo::external::fill_page(tx, after, &mut items).await?;
    repo::copies::fill_page(tx, after, &mut items).await?;
    place(tx, items).await
}

/// Items with their ids, their further files and their paths.
async fn complete(tx: &mut Tx, mut items: Vec<(Item, MediaFile)>) -> Result<Vec<StockItem>, DbError> {
    repo::external::fill(tx, &mut items).await?;
    repo::copies::fill(tx, &mut items).await?;
    place(tx, items).await
}

/// Items with their paths.
async fn place(tx: &mut Tx, items: Vec<(Item, MediaFile)>) -> Result<Vec<StockItem>, DbError> {
    let libraries = repo::libraries::all(tx).await?;
    let paths: HashMap<&str, &str> = libraries
        .iter()
        .map(|library| (&*library.id, &*library.path))
        .collect();
    let stock = items.into_iter().map(|(item, file)| {
        let path = paths.get(&*item.library_id).copied().unwrap_or_default();
        to_stock(item, file, path)
    });
    Ok(stock.collect())
}

fn to_stock(item: Item, file: MediaFile, library: &str) -> StockItem {
    let first = to_file(absolute(library, &item.place), file);
    let further = item
        .copies
        .into_iter()
        .map(|(place, file)| to_file(absolute(library, &place), file));
    StockItem {
        files: std::iter::once(first).chain(further).collect(),
        external_ids: item
            .external_ids
            .into_iter()
            .map(|id| (id.provider, id.value))
            .collect(),
        id: item.id,
        library_id: item.library_id,
        media_type: item.media_type,
        title: item.title,
        year: item.year,
        season: item.season,
        episode: item.episode,
        episode_end: item.episode_end,
        match_status: item.match_status,
        is_locked: item.locked,
        series_titledb_id: item.series_titledb_id,
        group_id: item.duplicate_group_id,
        created_at: item.created_at,
        updated_at: item.updated_at,
    }
}

fn to_file(path: String, file: MediaFile) -> StockFile {
    let (tech, measured) = (file.tech, file.measured);
    StockFile {
        path,
        size: file.size,
        mtime: file.mtime,
        container: tech.container,
        resolution: tech.resolution,
        video_codec: tech.video_codec,
        audio_codec: tech.audio_codec,
        hdr: tech.hdr,
        release_group: tech.release_group,
        quality: tech.quality,
        language: tech.language,
        width: measured.width,
        height: measured.height,
        bitrate_kbps: measured.bitrate_kbps,
        duration_sec: measured.duration_sec,
        audio_channels: measured.audio_channels,
        frame_rate: measured.frame_rate,
    }
}
