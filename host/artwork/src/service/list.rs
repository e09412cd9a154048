//! Lists of pictures. Files beside the media are looked for when a list is asked for, and their rows are brought in line.

use qm_db::{DbError, Tx};
use qm_ports::subjects::SubjectItem;

use super::{ArtworkArea, is_episode, no_such};
use crate::error::ArtworkError;
use crate::lanes::LOOKS;
use crate::model::local::Look;
use crate::model::{ArtKind, Artwork, Difference, Lies, Owner, Source};
use crate::ops::look::{Listings, look_for_item, look_for_show, path_of};
use crate::repo;

/// A picture with the path of its file, as people see it.
pub type Shown = (Artwork, Option<String>);

/// Pictures of an owner as they are shown.
#[derive(Debug)]
pub struct Listed {
    pub owner: Owner,
    pub artwork: Vec<Shown>,
}

impl Listed {
    pub(super) fn new(owner: Owner, library: &str, artwork: Vec<Artwork>) -> Self {
        let shown = artwork.into_iter().map(|art| {
            let path = shown_path(library, &art);
            (art, path)
        });
        Self {
            owner,
            artwork: shown.collect(),
        }
    }
}

/// Path of a picture's file, as people see it.
pub(super) fn shown_path(library: &str, art: &Artwork) -> Option<String> {
    match &art.lies {
        Lies::Beside { place, .. } => Some(path_of(library, place).to_string_lossy().into_owned()),
        Lies::Stored(path) => Some(path.clone()),
        Lies::Elsewhere => None,
    }
}

impl ArtworkArea {
    /// Pictures of an item, by type, the selected one first.
    pub async fn list_of_item(&self, id: &str) -> Result<Listed, ArtworkError> {
        let item = self.find_item(id).await?;
        let artwork = self.rows_of_item(&item).await?;
        Ok(Listed::new(Owner::Item(item.id), &item.library, artwork))
    }

    /// Pictures of a show as a whole, or of a season.
    pub async fn list_of_show(&self, id: &str, season: Option<i64>) -> Result<Listed, ArtworkError> {
        let show = self.find_show(id).await?;
        let (roots, library, folder) = (self.roots.clone(), show.library.clone(), show.place.clone());
        let look = LOOKS
            .run(move |cancel| look_for_show(&roots, &library, &folder, &mut Listings::default(), &cancel))
            .await?;
        let owner = Owner::Show(show.id);
        let mut artwork = self.bring_in_line(&owner, &look).await?;
        artwork.retain(|art| art.season == season);
        Ok(Listed::new(owner, &show.library, artwork))
    }

    /// Types that an item has, and required ones that it lacks.
    pub async fn list_missing(&self, id: &str) -> Result<(Vec<ArtKind>, Vec<ArtKind>), ArtworkError> {
        let item = self.find_item(id).await?;
        let artwork = self.rows_of_item(&item).await?;
        let mut present: Vec<ArtKind> = artwork.iter().map(|art| art.kind).collect();
        present.dedup();
        let missing = ArtKind::REQUIRED
            .into_iter()
            .filter(|kind| !present.contains(kind));
        let missing = missing.collect();
        Ok((present, missing))
    }

    pub(super) async fn rows_of_item(&self, item: &SubjectItem) -> Result<Vec<Artwork>, ArtworkError> {
        let (roots, library, places) = (self.roots.clone(), item.library.clone(), item.places.clone());
        let is_episode = is_episode(item);
        let look = LOOKS
            .run(move |cancel| {
                look_for_item(
                    &roots,
                    &library,
                    &places,
                    is_episode,
                    &mut Listings::default(),
                    &cancel,
                )
            })
            .await?;
        self.bring_in_line(&Owner::Item(item.id.clone()), &look).await
    }

    /// Stores what a look found, and returns the rows of the owner.
    async fn bring_in_line(&self, owner: &Owner, look: &Look) -> Result<Vec<Artwork>, ArtworkError> {
        let mut tx = self.ground.db.begin_read().await?;
        let rows = repo::of_owner(&mut tx, owner.id()).await?;
        drop(tx);
        if Difference::between(&rows, look).is_empty() {
            return Ok(rows);
        }
        let mut tx = self.ground.db.begin_write().await?;
        // Another request may have stored the same meanwhile.
        let rows = repo::of_owner(&mut tx, owner.id()).await?;
        let change = Difference::between(&rows, look);
        let stored = self.store_difference(&mut tx, owner, rows, change).await;
        stored.map_err(|error| gone(error, owner))?;
        let rows = repo::of_owner(&mut tx, owner.id()).await?;
        tx.commit().await?;
        Ok(rows)
    }

    pub(super) async fn store_difference(
        &self,
        tx: &mut Tx,
        owner: &Owner,
        mut rows: Vec<Artwork>,
        change: Difference,
    ) -> Result<(), DbError> {
        for (id, place) in &change.moved {
            repo::relocate(tx, id, place).await?;
        }
        for id in &change.gone {
            repo::remove(tx, id).await?;
        }
        rows.retain(|row| !change.gone.contains(&row.id));
        for found in change.found {
            let of_type = |row: &&Artwork| (row.kind, row.season) == (found.kind, found.season);
            let is_selected = !rows.iter().filter(of_type).any(|row| row.is_selected);
            let art = Artwork {
                id: self.ground.ctx.ordered_id(),
                owner: owner.clone(),
                season: found.season,
                kind: found.kind,
                source: Source::Local,
                is_selected,
                url: None,
                lies: Lies::Beside {
                    place: found.place,
                    slot: found.slot,
                },
                width: None,
                height: None,
                created_at: self.ground.ctx.now(),
            };
            if repo::add(tx, &art).await? {
                rows.push(art);
            }
        }
        Ok(())
    }
}

/// An owner that was deleted meanwhile has no rows any more.
pub(super) fn gone(error: DbError, owner: &Owner) -> ArtworkError {
    if error.is_foreign_key_violation() {
        no_such(owner)
    } else {
        error.into()
    }
}
