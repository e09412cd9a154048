//! Subtitles beside the files of items.

use std::collections::BTreeSet;

use qm_kernel::Caller;
use qm_media_names::place::is_within;

use super::list::gone;
use super::{ArtworkArea, NEEDED_FOR_SUBTITLES};
use crate::error::ArtworkError;
use crate::lanes::LOOKS;
use crate::model::Owner;
use crate::model::subtitle::Subtitle;
use crate::ops::look::{look_for_subtitles, path_of};
use crate::repo::subtitles;

impl ArtworkArea {
    /// Subtitles of an item as the last look found them, by language, forced ones last; each with its path.
    pub async fn list_subtitles(&self, id: &str) -> Result<Vec<(Subtitle, String)>, ArtworkError> {
        let item = self.find_item(id).await?;
        let mut tx = self.ground.db.begin_read().await?;
        let rows = subtitles::of_item(&mut tx, &item.id).await?;
        let shown = rows.into_iter().map(|row| {
            let path = path_of(&item.library, &row.place).to_string_lossy().into_owned();
            (row, path)
        });
        Ok(shown.collect())
    }

    /// Looks for the subtitles of an item; returns the numbers of those that are there, and that are new.
    pub async fn scan_subtitles(&self, caller: Caller<'_>, id: &str) -> Result<(usize, usize), ArtworkError> {
        self.check_right(caller, NEEDED_FOR_SUBTITLES).await?;
        let item = self.find_item(id).await?;
        let (roots, library, places) = (self.roots.clone(), item.library.clone(), item.places);
        let looking = LOOKS.run(move |cancel| look_for_subtitles(&roots, &library, &places, &cancel));
        let (found, unread) = looking.await?;
        let owner = Owner::Item(item.id);
        let mut tx = self.ground.db.begin_write().await?;
        let there: BTreeSet<&str> = found.iter().map(|(place, _)| place.as_str()).collect();
        for row in subtitles::of_item(&mut tx, owner.id()).await? {
            let is_known = !unread.iter().any(|directory| is_within(&row.place, directory));
            if is_known && !there.contains(row.place.as_str()) {
                subtitles::remove(&mut tx, &row.id).await?;
            }
        }
        let count = found.len();
        let mut created = 0;
        for (place, tag) in found {
            let row = Subtitle {
                id: self.ground.ctx.ordered_id(),
                item_id: owner.id().to_owned(),
                place,
                tag,
                created_at: self.ground.ctx.now(),
            };
            let added = subtitles::add(&mut tx, &row).await;
            created += usize::from(added.map_err(|error| gone(error, &owner))?);
        }
        tx.commit().await?;
        Ok((count, created))
    }
}
