//! Subtitles of items: files beside their videos, and tracks in them.

use std::collections::BTreeSet;

use qm_db::Tx;
use qm_kernel::Caller;
use qm_media_names::place::is_within;
use qm_ports::subjects::SubjectItem;

use super::list::gone;
use super::{ArtworkArea, NEEDED_FOR_SUBTITLES};
use crate::error::ArtworkError;
use crate::lanes::LOOKS;
use crate::model::Owner;
use crate::model::subtitle::{Subtitle, Tag, language_of};
use crate::ops::look::{Listings, look_for_subtitles, path_of};
use crate::repo::subtitles;

/// Subtitles of an item, and where they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sourced {
    pub subtitle: Subtitle,
    /// `sidecar`: a file beside the video; `embedded`: a track in it.
    pub source: &'static str,
}

/// Files beside an item's videos and tracks in them, by language, forced ones last, files first. A track has no id of its own: it is named by
/// that of its file and its number.
pub(super) fn all_of(item: &SubjectItem, files: Vec<Subtitle>) -> Vec<Sourced> {
    let files = files.into_iter().map(|subtitle| Sourced {
        subtitle,
        source: "sidecar",
    });
    let tracks = item.tracks.iter().map(|track| Sourced {
        subtitle: Subtitle {
            id: format!("{}:{}", track.file_id, track.number),
            item_id: item.id.clone(),
            place: track.place.clone(),
            tag: Tag {
                language: language_of(track.language.as_deref()),
                forced: track.forced,
                sdh: track.sdh,
                by_default: track.by_default,
            },
            created_at: track.found_at,
        },
        source: "embedded",
    });
    let mut all: Vec<Sourced> = files.chain(tracks).collect();
    let order = |one: &Sourced| (one.subtitle.tag.language.clone(), one.subtitle.tag.forced);
    all.sort_by_cached_key(order);
    all
}

/// True for a known file that a look did not find where it could read.
pub(super) fn is_gone(row: &Subtitle, found: &[(String, Tag)], unread: &BTreeSet<String>) -> bool {
    let is_known = !unread.iter().any(|directory| is_within(&row.place, directory));
    is_known && found.iter().all(|(place, _)| *place != row.place)
}

impl ArtworkArea {
    /// Subtitles of an item as the last looks found them, by language, forced ones last; each with its path.
    pub async fn list_all_subtitles(&self, id: &str) -> Result<Vec<(Sourced, String)>, ArtworkError> {
        let item = self.find_item(id).await?;
        let mut tx = self.ground.db.begin_read().await?;
        let rows = subtitles::of_item(&mut tx, &item.id).await?;
        let shown = all_of(&item, rows).into_iter().map(|one| {
            let path = path_of(&item.library, &one.subtitle.place);
            (one, path.to_string_lossy().into_owned())
        });
        Ok(shown.collect())
    }

    /// Looks for the subtitles of an item; returns the numbers of those that are there, and that are new.
    pub async fn scan_subtitles(&self, caller: Caller<'_>, id: &str) -> Result<(usize, usize), ArtworkError> {
        self.check_right(caller, NEEDED_FOR_SUBTITLES).await?;
        self.index_subtitles(id).await
    }

    /// Looks for the subtitles of an item, as a scan looks for its files; returns the numbers of those that are there, and that
    /// are new.
    pub(super) async fn index_subtitles(&self, id: &str) -> Result<(usize, usize), ArtworkError> {
        let item = self.find_item(id).await?;
        let (roots, library, places) = (self.roots.clone(), item.library.clone(), item.places);
        let looking = LOOKS.run(move |cancel| {
            look_for_subtitles(&roots, &library, &places, &mut Listings::default(), &cancel)
        });
        let (found, unread) = looking.await?;
        let owner = Owner::Item(item.id);
        let mut tx = self.ground.db.begin_write().await?;
        let count = found.len();
        let created = self.store_subtitles(&mut tx, &owner, found, &unread).await?;
        tx.commit().await?;
        Ok((count, created))
    }

    /// Stores the files that a look found, and forgets those that are gone from directories that it could read. Returns the number of new ones.
    pub(super) async fn store_subtitles(
        &self,
        tx: &mut Tx,
        owner: &Owner,
        found: Vec<(String, Tag)>,
        unread: &BTreeSet<String>,
    ) -> Result<usize, ArtworkError> {
        for row in subtitles::of_item(tx, owner.id()).await? {
            if is_gone(&row, &found, unread) {
                subtitles::remove(tx, &row.id).await?;
            }
        }
        let mut created = 0;
        for (place, tag) in found {
            let row = Subtitle {
                id: self.ground.ctx.ordered_id(),
                item_id: owner.id().to_owned(),
                place,
                tag,
                created_at: self.ground.ctx.now(),
            };
            let added = subtitles::add(tx, &row).await;
            created += usize::from(added.map_err(|error| gone(error, owner))?);
        }
        Ok(created)
    }
}
