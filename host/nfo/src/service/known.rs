//! Answers to the media library about the notes of its items.

use async_trait::async_trait;
use qm_db::DbError;
use qm_kernel::Timestamp;
use qm_ports::beside::{BesideUnread, KnownFile, KnownNote, MediaNotesWritten};

use super::Nfo;
use crate::model::NoteKind;
use crate::repo;

#[async_trait]
impl MediaNotesWritten for Nfo {
    async fn list_notes(&self, item: &str) -> Result<Vec<KnownNote>, BesideUnread> {
        let mut tx = self.ground.db.begin_read().await.map_err(unread)?;
        let notes = repo::of_item(&mut tx, item).await.map_err(unread)?;
        let known = notes.into_iter().map(|note| KnownNote {
            kind: NoteKind::from_word(&note.kind).as_str(),
            id: note.id,
            place: note.place,
            generated_at: Timestamp::from_ms(note.generated_at),
        });
        let mut known: Vec<KnownNote> = known.collect();
        // Databases do not agree on the order of texts.
        known.sort_by(|a, b| (&a.place, &a.id).cmp(&(&b.place, &b.id)));
        Ok(known)
    }

    async fn list_files(&self, items: &[String]) -> Result<Vec<KnownFile>, BesideUnread> {
        let mut tx = self.ground.db.begin_read().await.map_err(unread)?;
        let notes = repo::of_items(&mut tx, items).await.map_err(unread)?;
        let mut files: Vec<KnownFile> = notes
            .into_iter()
            .map(|(id, place)| KnownFile {
                id,
                kind: "nfo",
                place,
            })
            .collect();
        files.sort_by(|a, b| (&a.place, &a.id).cmp(&(&b.place, &b.id)));
        Ok(files)
    }
}

fn unread(error: DbError) -> BesideUnread {
    BesideUnread(error.to_string())
}
