//! Decisions of people about an item: its identity, that it is unmatched, that it is locked.

use qm_db::Tx;
use qm_kernel::{Caller, Permission};
use qm_media::LibraryError;
use qm_media::model::item::{Edit, Item};
use qm_media::model::view::Listed;
use qm_media::repo;
use qm_media::service::find::listed_item;
use qm_media_names::name::identify;
use qm_media_names::place;
use qm_platform::Actor;
use serde_json::json;

use super::Identification;

/// Decision about an item; it sets the action in the audit trail.
enum Verdict {
    /// A person changed fields of it.
    Edited(Edit),
    /// A person identified it; an empty edit reads its name again.
    Matched(Edit),
    Unmatched,
}

impl Verdict {
    const fn action(&self) -> &'static str {
        match self {
            Verdict::Edited(_) => "media.item.update",
            Verdict::Matched(_) => "media.item.match",
            Verdict::Unmatched => "media.item.unmatch",
        }
    }

    const fn needs(&self) -> Permission {
        match self {
            Verdict::Edited(_) => Permission::MediaManagerEditMetadata,
            Verdict::Matched(_) | Verdict::Unmatched => Permission::MediaManagerMatch,
        }
    }
}

impl Identification {
    /// Changes the title, type and numbers of an item.
    pub async fn edit_item(&self, caller: Caller<'_>, id: &str, edit: Edit) -> Result<Listed, LibraryError> {
        self.judge_item(caller, id, Verdict::Edited(edit)).await
    }

    /// Identifies an item by hand; an empty edit reads its name and folders again.
    pub async fn match_item(&self, caller: Caller<'_>, id: &str, edit: Edit) -> Result<Listed, LibraryError> {
        self.judge_item(caller, id, Verdict::Matched(edit)).await
    }

    /// Marks an item as unmatched. Its metadata stays.
    pub async fn unmatch_item(&self, caller: Caller<'_>, id: &str) -> Result<Listed, LibraryError> {
        self.judge_item(caller, id, Verdict::Unmatched).await
    }

    /// Locks an item against changes, or unlocks it.
    pub async fn lock_item(
        &self,
        caller: Caller<'_>,
        id: &str,
        locked: bool,
    ) -> Result<Listed, LibraryError> {
        let mut tx = self.db.begin_write().await?;
        let needed = Permission::MediaManagerEditMetadata;
        let actor = self.rights.judge(&mut tx, caller, needed).await?;
        let (mut item, file, path) = listed_item(&mut tx, id).await?;
        if item.locked != locked {
            (item.locked, item.updated_at) = (locked, self.ctx.now());
            repo::items::edit(&mut tx, &item).await?;
            let action = if locked {
                "media.item.lock"
            } else {
                "media.item.unlock"
            };
            self.note_item(&mut tx, caller, &actor, action, &item).await?;
            tx.commit().await?;
        }
        Ok((item, file, path))
    }

    async fn judge_item(
        &self,
        caller: Caller<'_>,
        id: &str,
        verdict: Verdict,
    ) -> Result<Listed, LibraryError> {
        let mut tx = self.db.begin_write().await?;
        let actor = self.rights.judge(&mut tx, caller, verdict.needs()).await?;
        let (mut item, file, path) = listed_item(&mut tx, id).await?;
        if item.locked {
            return Err(LibraryError::Locked);
        }
        let action = verdict.action();
        let before = item.clone();
        let asks = !matches!(verdict, Verdict::Unmatched);
        match verdict {
            Verdict::Edited(edit) => item.take(edit),
            Verdict::Matched(edit) if edit.is_empty() => {
                let library = repo::libraries::find(&mut tx, &item.library_id).await?;
                let kind = library.ok_or(LibraryError::NoSuchItem)?.kind;
                let is_alone = repo::names::is_alone(&mut tx, &item.id).await?;
                item.recognised(identify(&place::shown(&item.place), kind, is_alone));
                if item.title != before.title {
                    item.series_titledb_id = None;
                }
            }
            Verdict::Matched(edit) => {
                item.take(edit);
                (item.match_status, item.confidence) = ("manual".to_owned(), 100);
                item.series_titledb_id = None;
            }
            Verdict::Unmatched => (item.match_status, item.confidence) = ("unmatched".to_owned(), 0),
        }
        if !item.is_called(&before) {
            repo::external::forget_derived(&mut tx, &item.id).await?;
        }
        item.updated_at = self.ctx.now();
        repo::items::edit(&mut tx, &item).await?;
        self.note_item(&mut tx, caller, &actor, action, &item).await?;
        tx.commit().await?;
        if asks {
            self.ask_title_of(id).await?;
            return listed_item(&mut self.db.begin_read().await?, id).await;
        }
        Ok((item, file, path))
    }

    async fn note_item(
        &self,
        tx: &mut Tx,
        caller: Caller<'_>,
        actor: &Actor,
        action: &'static str,
        item: &Item,
    ) -> Result<(), LibraryError> {
        let mut entry = actor.entry(action, caller.client);
        entry.object_type = Some("media_item");
        entry.object_id = Some(item.id.clone());
        entry.metadata = Some(json!({
            "title": item.title, "mediaType": item.media_type, "year": item.year, "season": item.season,
            "episode": item.episode, "libraryId": item.library_id,
        }));
        Ok(self.audit.record(tx, entry).await?)
    }
}
