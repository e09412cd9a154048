//! Shows, told from the folders that episodes lie in; and what items are, told from their paths.

use std::collections::{BTreeMap, HashMap, HashSet};

use qm_db::DbError;
use qm_jobs::{JobContext, JobError};

use super::Library;
use super::index::Stop;
use crate::model::library::{Kind, MediaLibrary};
use crate::model::name::identify;
use crate::model::place;
use crate::model::show::{Show, canonical_key, named};
use crate::repo;

/// Shows, or items, that are written in one transaction.
const AT_ONCE: usize = 256;

impl Library {
    /// Makes the shows of a library what its folders say: how many there are, and how many families of more than one.
    pub(super) async fn refresh_shows(&self, library: &MediaLibrary) -> Result<(u64, u64), DbError> {
        let mut tx = self.db.begin_read().await?;
        let stored = repo::shows::of_library(&mut tx, &library.id).await?;
        let mut counts: BTreeMap<String, i64> = BTreeMap::new();
        if library.kind.has_shows() {
            for (place, episodes) in repo::items::episodes(&mut tx, &library.id).await? {
                // What lies right in the library's directory has no show.
                if !place.is_empty() {
                    *counts.entry(place::top(&place).0).or_default() += episodes;
                }
            }
        }
        drop(tx);
        let media_type = if library.kind == Kind::Anime {
            "anime"
        } else {
            "tv"
        };
        let now = self.ctx.now();
        let mut before: HashMap<String, Show> = stored
            .into_iter()
            .map(|show| (show.place.clone(), show))
            .collect();
        let mut families: HashMap<String, u64> = HashMap::new();
        let (mut new, mut other) = (Vec::new(), Vec::new());
        for (place, episodes) in &counts {
            let folder = place::shown(place);
            let key = canonical_key(&folder);
            *families.entry(key.clone()).or_default() += 1;
            match before.remove(place) {
                Some(show) if show.episode_count == *episodes && show.media_type == media_type => {}
                Some(show) => other.push(Show {
                    episode_count: *episodes,
                    media_type: media_type.to_owned(),
                    updated_at: now,
                    ..show
                }),
                None => {
                    let (title, year) = named(&folder);
                    new.push(Show {
                        id: self.ctx.id(),
                        library_id: library.id.clone(),
                        place: place.clone(),
                        media_type: media_type.to_owned(),
                        title,
                        year,
                        titledb_id: None,
                        provider_a_id: None,
                        canonical_key: key,
                        episode_count: *episodes,
                        created_at: now,
                        updated_at: now,
                    });
                }
            }
        }
        for some in new.chunks(AT_ONCE) {
            let mut tx = self.db.begin_write().await?;
            if repo::libraries::find(&mut tx, &library.id).await?.is_none() {
                return Ok((0, 0));
            }
            for show in some {
                repo::shows::insert(&mut tx, show).await?;
            }
            tx.commit().await?;
        }
        for some in other.chunks(AT_ONCE) {
            let mut tx = self.db.begin_write().await?;
            for show in some {
                repo::shows::counted(&mut tx, show).await?;
            }
            tx.commit().await?;
        }
        let gone: Vec<&Show> = before.values().collect();
        // A disk that is gone takes no shows along: their items stay, and so they are counted above.
        for some in gone.chunks(AT_ONCE) {
            let mut tx = self.db.begin_write().await?;
            for show in some {
                repo::shows::delete(&mut tx, show).await?;
            }
            tx.commit().await?;
        }
        let duplicate = families.values().filter(|folders| **folders > 1).count();
        Ok((counts.len() as u64, duplicate as u64))
    }

    /// Looks at the paths of all unlocked items that are not matched; which are now.
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
            drop(tx);
            let Some(last) = items.last() else {
                return Ok(matched);
            };
            after.clone_from(&last.id);
            let reading = tokio::task::spawn_blocking(move || {
                let found = items.into_iter().map(|item| {
                    let found = identify(&place::shown(&item.place), kind);
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
}
