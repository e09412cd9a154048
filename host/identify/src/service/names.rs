//! Identification of items by their names.

use std::collections::HashSet;

use qm_jobs::{JobContext, JobError};
use qm_media::LibraryError;
use qm_media::lanes::COMPUTE;
use qm_media::model::library::MediaLibrary;
use qm_media::repo;
use qm_media::service::jobs::Stop;
use qm_media_names::name::identify;
use qm_media_names::place;

use super::Identification;

/// Most items that are written in one transaction.
const AT_ONCE: usize = 256;

impl Identification {
    /// Reads the paths of all unlocked, unmatched items; returns those that match now.
    pub(super) async fn identify_all(
        &self,
        library: &MediaLibrary,
        job: &JobContext,
    ) -> Result<HashSet<String>, Stop> {
        let (mut after, mut matched) = (String::new(), HashSet::new());
        let kind = library.kind;
        loop {
            if job.is_cancelled() {
                return Err(Stop::Stopped);
            }
            let mut tx = self.db.begin_read().await?;
            let items = repo::names::unmatched(&mut tx, &library.id, &after, AT_ONCE as i64).await?;
            let ids: Vec<&str> = items.iter().map(|item| &*item.id).collect();
            let alone = repo::names::alone(&mut tx, kind, &ids).await?;
            drop(tx);
            let Some(last) = items.last() else {
                return Ok(matched);
            };
            after.clone_from(&last.id);
            let reading = COMPUTE.run(move |_| {
                let found = items.into_iter().map(|item| {
                    let found = identify(&place::shown(&item.place), kind, alone.contains(&item.id));
                    (item, found)
                });
                found
                    .filter(|(item, found)| item.is_otherwise(found))
                    .collect::<Vec<_>>()
            });
            let found = reading
                .await
                .map_err(|error| JobError::new("names", error.to_string()))?;
            if found.is_empty() {
                continue;
            }
            let now = self.ctx.now();
            let mut tx = self.db.begin_write().await?;
            for (item, found) in &found {
                let is_written = repo::names::identified(&mut tx, item, found, now).await?;
                if is_written && found.is_matched() {
                    matched.insert(item.id.clone());
                }
            }
            tx.commit().await?;
            job.heartbeat().await?;
        }
    }

    /// Reads the name of an item again, in the job that a rule waits for; returns its status.
    pub(super) async fn read_one(&self, id: &str) -> Result<&'static str, LibraryError> {
        let ids = [id.to_owned()];
        loop {
            let (item, _) = repo::lists::find(&mut self.db.begin_read().await?, id)
                .await?
                .ok_or(LibraryError::NoSuchItem)?;
            let library = repo::libraries::find(&mut self.db.begin_read().await?, &item.library_id).await?;
            let kind = library.ok_or(LibraryError::NoSuchItem)?.kind;
            let at = item.place;
            let shown = place::shown(&at);
            let is_alone = repo::names::is_alone(&mut self.db.begin_read().await?, id).await?;
            let found = COMPUTE.run(move |_| identify(&shown, kind, is_alone)).await?;
            let mut tx = self.db.begin_write().await?;
            repo::metadata::hold(&mut tx, id).await?;
            let arrived = repo::downloads::find_arrived(&mut tx, &ids).await?.pop();
            let arrived = arrived.ok_or(LibraryError::NoSuchItem)?;
            if arrived.locked {
                return Err(LibraryError::Locked);
            }
            if arrived.item.place != at || arrived.item.library_id != item.library_id {
                // It was moved meanwhile, so its name may have changed.
                continue;
            }
            if arrived.item.is_otherwise(&found) {
                repo::names::identified(&mut tx, &arrived.item, &found, self.ctx.now()).await?;
                tx.commit().await?;
            } else {
                drop(tx);
            }
            self.ask_title_of(id).await?;
            return Ok(found.status());
        }
    }
}
