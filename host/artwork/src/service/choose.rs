//! Selection among the pictures of an owner.

use qm_kernel::Caller;
use serde_json::json;

use super::{ArtworkArea, Listed, NEEDED};
use crate::error::ArtworkError;
use crate::model::{Artwork, Owner};
use crate::repo;

impl ArtworkArea {
    /// Selects a picture of an item, and returns its pictures.
    pub async fn choose_for_item(
        &self,
        caller: Caller<'_>,
        id: &str,
        artwork_id: &str,
    ) -> Result<Listed, ArtworkError> {
        self.check(caller).await?;
        let item = self.find_item(id).await?;
        let owner = Owner::Item(item.id);
        let artwork = self.choose(caller, &owner, artwork_id, |_| true).await?;
        Ok(Listed::new(owner, &item.library, artwork))
    }

    /// Selects a picture of a show or of a season, and returns the pictures of that.
    pub async fn choose_for_show(
        &self,
        caller: Caller<'_>,
        id: &str,
        season: Option<i64>,
        artwork_id: &str,
    ) -> Result<Listed, ArtworkError> {
        self.check(caller).await?;
        let show = self.find_show(id).await?;
        let owner = Owner::Show(show.id);
        let mut artwork = self
            .choose(caller, &owner, artwork_id, |art| art.season == season)
            .await?;
        artwork.retain(|art| art.season == season);
        Ok(Listed::new(owner, &show.library, artwork))
    }

    /// Selects a picture of an owner, if it may be meant.
    async fn choose(
        &self,
        caller: Caller<'_>,
        owner: &Owner,
        artwork_id: &str,
        may_be: impl Fn(&Artwork) -> bool,
    ) -> Result<Vec<Artwork>, ArtworkError> {
        let mut tx = self.ground.db.begin_write().await?;
        let actor = self
            .ground
            .acting
            .judge(&mut tx, caller.principal, &[NEEDED])
            .await?;
        let found = repo::find(&mut tx, artwork_id).await?;
        let is_it = |art: &Artwork| art.owner == *owner && may_be(art);
        let art = found.filter(is_it).ok_or(ArtworkError::NoSuchArtwork)?;
        repo::clear(&mut tx, owner.id(), art.kind, art.season).await?;
        if !repo::choose(&mut tx, &art.id).await? {
            return Err(ArtworkError::NoSuchArtwork);
        }
        let rows = repo::of_owner(&mut tx, owner.id()).await?;
        let mut metadata = json!({ "type": art.kind.as_str(), "artworkId": art.id });
        if let Some(season) = art.season {
            metadata["seasonNumber"] = season.into();
        }
        self.commit(tx, caller, &actor, ("media.artwork.select", owner), metadata)
            .await?;
        Ok(rows)
    }
}
