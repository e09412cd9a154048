//! Items and shows, for the area that keeps their pictures.

use async_trait::async_trait;
use qm_db::{DbError, Tx};
use qm_media::model::tracks;
use qm_media::repo;
use qm_media_names::place;
use qm_ports::subjects::{
    ChangeReader, MediaSubjects, SubjectChange, SubjectItem, SubjectShow, SubjectTrack, SubjectsUnread,
};

use super::Catalogue;
use crate::repo::beside;

/// Most folders above a change in which a show is looked for.
const MOST_ABOVE: usize = 8;

#[async_trait]
impl MediaSubjects for Catalogue {
    async fn find_item(&self, id: &str) -> Result<Option<SubjectItem>, SubjectsUnread> {
        let mut tx = self.db.begin_read().await.map_err(unread)?;
        read_item(&mut tx, id).await.map_err(unread)
    }

    async fn find_show(&self, id: &str) -> Result<Option<SubjectShow>, SubjectsUnread> {
        let mut tx = self.db.begin_read().await.map_err(unread)?;
        read_show(&mut tx, id).await.map_err(unread)
    }

    async fn list_changes(
        &self,
        reader: ChangeReader,
        most: usize,
    ) -> Result<Vec<SubjectChange>, SubjectsUnread> {
        let mut tx = self.db.begin_read().await.map_err(unread)?;
        let changes = beside::changes(&mut tx, reader, limit(most)).await;
        let changes = changes.map_err(unread)?;
        let changes = changes.into_iter().map(|change| SubjectChange {
            number: change.number,
            library_id: change.library_id,
            directory_id: change.directory_id,
            place: change.place,
            below: change.below,
        });
        Ok(changes.collect())
    }

    async fn list_changed_items(
        &self,
        change: &SubjectChange,
        after: &str,
        most: usize,
    ) -> Result<Vec<SubjectItem>, SubjectsUnread> {
        let mut tx = self.db.begin_read().await.map_err(unread)?;
        changed_items(&mut tx, change, after, limit(most))
            .await
            .map_err(unread)
    }

    async fn list_changed_shows(&self, change: &SubjectChange) -> Result<Vec<SubjectShow>, SubjectsUnread> {
        let mut tx = self.db.begin_read().await.map_err(unread)?;
        changed_shows(&mut tx, change).await.map_err(unread)
    }

    async fn forget_changes(&self, numbers: &[i64]) -> Result<(), SubjectsUnread> {
        let mut tx = self.db.begin_write().await.map_err(unread)?;
        for number in numbers {
            beside::forget_change(&mut tx, *number).await.map_err(unread)?;
        }
        tx.commit().await.map_err(unread)
    }
}

fn limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}

async fn changed_items(
    tx: &mut Tx,
    change: &SubjectChange,
    after: &str,
    most: i64,
) -> Result<Vec<SubjectItem>, DbError> {
    let ids = if change.below && !change.place.is_empty() {
        let directory = (&*change.library_id, &*change.place);
        beside::items_below(tx, directory, after, most).await?
    } else {
        beside::items_in(tx, &change.directory_id, after, most).await?
    };
    // A few statements, whatever the number of items: a directory of 10,000 videos changes with each new one.
    let items = repo::lists::named(tx, &ids).await?;
    let mut copies = beside::copies(tx, &ids).await?;
    let found: Vec<&str> = items.iter().map(|(item, _)| &*item.id).collect();
    let mut external = repo::external::of_items(tx, &found).await?;
    let libraries = repo::libraries::all(tx).await?;
    let subjects = items.into_iter().filter_map(|(item, _)| {
        let library = libraries.iter().find(|library| library.id == item.library_id)?;
        let further = copies.remove(&item.id).unwrap_or_default();
        let ids = external.remove(&item.id).unwrap_or_default();
        Some(SubjectItem {
            library: library.path.clone(),
            media_type: item.media_type,
            season: item.season,
            episode: item.episode,
            places: std::iter::once(item.place).chain(further).collect(),
            ids: ids.into_iter().map(|id| (id.provider, id.value)).collect(),
            tracks: Vec::new(),
            id: item.id,
        })
    });
    Ok(subjects.collect())
}

async fn changed_shows(tx: &mut Tx, change: &SubjectChange) -> Result<Vec<SubjectShow>, DbError> {
    let mut folders = Vec::new();
    let mut next = Some(change.place.clone());
    while let Some(folder) = next.filter(|folder| !folder.is_empty()) {
        if folders.len() >= MOST_ABOVE {
            break;
        }
        next = place::parent(&folder);
        folders.push(folder);
    }
    let mut shows = Vec::new();
    for id in beside::shows_lying(tx, &change.library_id, &folders).await? {
        shows.extend(read_show(tx, &id).await?);
    }
    Ok(shows)
}

async fn read_tracks(tx: &mut Tx, item: &str) -> Result<Vec<SubjectTrack>, DbError> {
    let mut all = Vec::new();
    for file in beside::tracks(tx, item).await? {
        let found_at = file.found_at();
        let tracks = tracks::read(file.tracks.as_deref());
        all.extend(
            tracks
                .into_iter()
                .enumerate()
                .map(|(number, track)| SubjectTrack {
                    file_id: file.id.clone(),
                    place: file.place.clone(),
                    number,
                    language: track.language,
                    title: track.title,
                    forced: track.forced,
                    sdh: track.sdh,
                    by_default: track.by_default,
                    found_at,
                }),
        );
    }
    Ok(all)
}

async fn read_item(tx: &mut Tx, id: &str) -> Result<Option<SubjectItem>, DbError> {
    let Some((item, _)) = repo::lists::find(tx, id).await? else {
        return Ok(None);
    };
    let Some(library) = read_library(tx, &item.library_id).await? else {
        return Ok(None);
    };
    let copies = repo::copies::lying(tx, id, &item.library_id).await?;
    let ids = repo::external::of_item(tx, id).await?;
    let tracks = read_tracks(tx, id).await?;
    let places = std::iter::once(item.place).chain(copies.into_iter().map(|copy| copy.place));
    Ok(Some(SubjectItem {
        id: item.id,
        library,
        media_type: item.media_type,
        season: item.season,
        episode: item.episode,
        places: places.collect(),
        ids: ids.into_iter().map(|id| (id.provider, id.value)).collect(),
        tracks,
    }))
}

async fn read_show(tx: &mut Tx, id: &str) -> Result<Option<SubjectShow>, DbError> {
    let Some(show) = repo::shows::find(tx, id).await? else {
        return Ok(None);
    };
    let library = read_library(tx, &show.library_id).await?;
    Ok(library.map(|library| SubjectShow {
        id: show.id,
        library,
        place: show.place,
        provider_a_id: show.provider_a_id,
    }))
}

/// Directory of a library.
async fn read_library(tx: &mut Tx, id: &str) -> Result<Option<String>, DbError> {
    let library = repo::libraries::find(tx, id).await?;
    Ok(library.map(|library| library.path))
}

fn unread(error: DbError) -> SubjectsUnread {
    SubjectsUnread(error.to_string())
}
