//! Categories and tags: labels of our own, which torrents may carry without being in the list.

use qm_engines::model::paths::{check_category, check_label};
use qm_engines::{TorrentsError, audit_entry};
use qm_torrent_data::count_auto_managed;
use serde_json::json;

use super::{Caller, Torrents};
use crate::dto::taxonomy::{CategoryChange, NewCategory, NewTag};
use crate::model::stored::{CategoryRow, TagRow};
use crate::repo::taxonomy;

const CATEGORY: &str = "torrent_category";
const TAG: &str = "torrent_tag";

impl Torrents {
    /// All categories by name.
    pub async fn categories(&self) -> Result<Vec<CategoryRow>, TorrentsError> {
        Ok(taxonomy::categories(&mut self.db.begin_read().await?).await?)
    }

    pub async fn create_category(
        &self,
        caller: Caller<'_>,
        new: NewCategory,
    ) -> Result<CategoryRow, TorrentsError> {
        check_category(&new.name)?;
        let save_path = match &new.save_path {
            Some(path) => {
                let judged = self.data.places().judge(path, "save path").await;
                Some(judged.map_err(TorrentsError::CategoryPath)?)
            }
            None => None,
        };
        let row = CategoryRow {
            id: self.ctx.id(),
            name: new.name,
            color: new.color,
            save_path,
            created_at: self.ctx.now().ms(),
        };
        let mut tx = self.db.begin_write().await?;
        if !taxonomy::add_category(&mut tx, &row).await? {
            return Err(TorrentsError::CategoryTaken);
        }
        let metadata = json!({ "name": row.name, "savePath": row.save_path });
        let entry = audit_entry(
            caller,
            "categories.create",
            Some((CATEGORY, &row.id)),
            Some(metadata),
        );
        self.audit.record(&mut tx, entry).await?;
        tx.commit().await?;
        Ok(row)
    }

    /// Changes the color or the directory of a category. The directory stays while the category chooses where torrents lie.
    pub async fn change_category(
        &self,
        caller: Caller<'_>,
        id: &str,
        change: CategoryChange,
    ) -> Result<CategoryRow, TorrentsError> {
        let save_path = match change.save_path {
            Some(Some(path)) => {
                let judged = self.data.places().judge(&path, "save path").await;
                Some(Some(judged.map_err(TorrentsError::CategoryPath)?))
            }
            other => other,
        };
        let mut tx = self.db.begin_write().await?;
        let before = taxonomy::find_category(&mut tx, id).await?;
        let before = before.ok_or(TorrentsError::NoSuchCategory)?;
        let row = CategoryRow {
            color: change.color.unwrap_or_else(|| before.color.clone()),
            save_path: save_path.unwrap_or_else(|| before.save_path.clone()),
            ..before.clone()
        };
        if row.save_path != before.save_path {
            let engines = self.engines.all();
            let used = engines
                .iter()
                .map(|engine| count_auto_managed(engine, &row.name))
                .sum();
            if used > 0 {
                return Err(TorrentsError::CategoryInUse {
                    category: row.name,
                    used,
                });
            }
        }
        taxonomy::change_category(&mut tx, &row).await?;
        let metadata = json!({
            "name": row.name, "color": row.color, "savePath": row.save_path, "savePathBefore": before.save_path,
        });
        let entry = audit_entry(
            caller,
            "categories.update",
            Some((CATEGORY, &row.id)),
            Some(metadata),
        );
        self.audit.record(&mut tx, entry).await?;
        tx.commit().await?;
        Ok(row)
    }

    /// Deletes a category; torrents keep their label.
    pub async fn delete_category(&self, caller: Caller<'_>, id: &str) -> Result<CategoryRow, TorrentsError> {
        let mut tx = self.db.begin_write().await?;
        let row = taxonomy::delete_category(&mut tx, id)
            .await?
            .ok_or(TorrentsError::NoSuchCategory)?;
        let metadata = json!({ "name": row.name });
        let entry = audit_entry(
            caller,
            "categories.delete",
            Some((CATEGORY, &row.id)),
            Some(metadata),
        );
        self.audit.record(&mut tx, entry).await?;
        tx.commit().await?;
        Ok(row)
    }

    /// All tags by name.
    pub async fn tags(&self) -> Result<Vec<TagRow>, TorrentsError> {
        Ok(taxonomy::tags(&mut self.db.begin_read().await?).await?)
    }

    pub async fn create_tag(&self, caller: Caller<'_>, new: NewTag) -> Result<TagRow, TorrentsError> {
        check_label(&new.name, "tag")?;
        let row = TagRow {
            id: self.ctx.id(),
            name: new.name,
            color: new.color,
            created_at: self.ctx.now().ms(),
        };
        let mut tx = self.db.begin_write().await?;
        if !taxonomy::add_tag(&mut tx, &row).await? {
            return Err(TorrentsError::TagTaken);
        }
        let metadata = json!({ "name": row.name });
        let entry = audit_entry(caller, "tags.create", Some((TAG, &row.id)), Some(metadata));
        self.audit.record(&mut tx, entry).await?;
        tx.commit().await?;
        Ok(row)
    }

    /// Deletes a tag; torrents keep theirs.
    pub async fn delete_tag(&self, caller: Caller<'_>, id: &str) -> Result<TagRow, TorrentsError> {
        let mut tx = self.db.begin_write().await?;
        let row = taxonomy::delete_tag(&mut tx, id)
            .await?
            .ok_or(TorrentsError::NoSuchTag)?;
        let metadata = json!({ "name": row.name });
        let entry = audit_entry(caller, "tags.delete", Some((TAG, &row.id)), Some(metadata));
        self.audit.record(&mut tx, entry).await?;
        tx.commit().await?;
        Ok(row)
    }
}
