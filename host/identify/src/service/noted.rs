//! Facts that notes (NFO) beside items and in the folders of shows give: they fill what nobody else said.

use async_trait::async_trait;
use qm_media::LibraryError;
use qm_media::model::details::ShowMetadata;
use qm_media::model::metadata::ItemMetadata;
use qm_media::repo;
use qm_ports::notes::{NoteTaker, NotedFacts, NotesUnread};

use super::Identification;

#[async_trait]
impl NoteTaker for Identification {
    async fn take_item_note(&self, item: &str, facts: NotedFacts) -> Result<bool, NotesUnread> {
        self.fill_item(item, facts).await.map_err(unread)
    }

    async fn take_show_note(&self, show: &str, facts: NotedFacts) -> Result<bool, NotesUnread> {
        self.fill_show(show, facts).await.map_err(unread)
    }
}

impl Identification {
    async fn fill_item(&self, id: &str, facts: NotedFacts) -> Result<bool, LibraryError> {
        // Most notes give nothing new: no other writer waits for those.
        let mut tx = self.db.begin_read().await?;
        let Some((item, _)) = repo::lists::find(&mut tx, id).await? else {
            return Ok(false);
        };
        let stored = repo::metadata::find(&mut tx, id).await?;
        drop(tx);
        let now = self.ctx.now();
        let begin = || ItemMetadata::new(self.ctx.id(), &item, now);
        if item.locked || !stored.unwrap_or_else(begin).take_note(facts.clone(), now) {
            return Ok(false);
        }
        let mut tx = self.db.begin_write().await?;
        repo::metadata::hold(&mut tx, id).await?;
        let Some((item, _)) = repo::lists::find(&mut tx, id).await? else {
            return Ok(false);
        };
        let stored = repo::metadata::find(&mut tx, id).await?;
        let begin = || ItemMetadata::new(self.ctx.id(), &item, now);
        let mut metadata = stored.unwrap_or_else(begin);
        if item.locked || !metadata.take_note(facts, now) {
            return Ok(false);
        }
        repo::metadata::put(&mut tx, &metadata).await?;
        tx.commit().await?;
        Ok(true)
    }

    async fn fill_show(&self, id: &str, facts: NotedFacts) -> Result<bool, LibraryError> {
        let now = self.ctx.now();
        let begin = || ShowMetadata::new(self.ctx.id(), id.to_owned(), now);
        let mut tx = self.db.begin_read().await?;
        if repo::shows::find(&mut tx, id).await?.is_none() {
            return Ok(false);
        }
        let stored = repo::details::metadata(&mut tx, id).await?;
        drop(tx);
        if !stored.unwrap_or_else(begin).take_note(facts.clone(), now) {
            return Ok(false);
        }
        let mut tx = self.db.begin_write().await?;
        repo::details::hold(&mut tx, id).await?;
        if repo::shows::find(&mut tx, id).await?.is_none() {
            return Ok(false);
        }
        let stored = repo::details::metadata(&mut tx, id).await?;
        let mut metadata = stored.unwrap_or_else(begin);
        if !metadata.take_note(facts, now) {
            return Ok(false);
        }
        repo::details::put_metadata(&mut tx, &metadata).await?;
        tx.commit().await?;
        Ok(true)
    }
}

fn unread(error: LibraryError) -> NotesUnread {
    NotesUnread(error.to_string())
}
