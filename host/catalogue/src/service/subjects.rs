//! Items and shows, for the area that keeps their pictures.

use async_trait::async_trait;
use qm_db::{DbError, Tx};
use qm_media::repo;
use qm_ports::subjects::{MediaSubjects, SubjectItem, SubjectShow, SubjectsUnread};

use super::Catalogue;

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
    let places = std::iter::once(item.place).chain(copies.into_iter().map(|copy| copy.place));
    Ok(Some(SubjectItem {
        id: item.id,
        library,
        media_type: item.media_type,
        season: item.season,
        episode: item.episode,
        places: places.collect(),
        ids: ids.into_iter().map(|id| (id.provider, id.value)).collect(),
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
