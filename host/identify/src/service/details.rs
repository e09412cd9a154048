//! Changes that people make to shows and seasons.

use qm_db::Tx;
use qm_kernel::{Caller, Permission};
use qm_media::LibraryError;
use qm_media::model::details::{IdentityEdit, MANUAL, Season, SeasonEdit, ShowEdit, ShowMetadata};
use qm_media::model::show::Show;
use qm_media::repo;
use qm_media::service::find::show as find_show;
use qm_media::service::find::show_with_directory;
use qm_media_names::place;
use qm_platform::{Actor, AuditEntry};
use serde_json::{Value, json};

use super::Identification;

/// Largest number of a season; years are seasons too.
const MAX_SEASON: i64 = 99_999;

impl Identification {
    /// Stores the ids of a show; returns the show with the directory of its library, and the number of items of its series.
    pub async fn identify_show(
        &self,
        caller: Caller<'_>,
        id: &str,
        edit: IdentityEdit,
    ) -> Result<(Show, String, usize), LibraryError> {
        let mut tx = self.db.begin_write().await?;
        let actor = self.may_edit(&mut tx, caller).await?;
        let (mut show, path) = show_with_directory(&mut tx, id).await?;
        let before = show.titledb_id.clone();
        if let Some(titledb_id) = edit.titledb_id {
            show.titledb_id = titledb_id;
        }
        let is_other = show.titledb_id != before;
        for (own, said) in [
            (&mut show.provider_a_id, edit.provider_a_id),
            (&mut show.provider_b_id, edit.provider_b_id),
        ] {
            match said {
                Some(said) => *own = said,
                // The id belongs to the earlier show.
                None if is_other => *own = None,
                None => {}
            }
        }
        let now = self.ctx.now();
        show.updated_at = now;
        repo::details::identify(&mut tx, &show).await?;
        let below = repo::bulk::below(&mut tx, &show.library_id, &show.place).await?;
        let mut episodes = 0;
        for (item, at) in below {
            if place::is_within(&at, &show.place) {
                repo::details::identify_episode(&mut tx, &item, show.titledb_id.as_deref(), now).await?;
                repo::external::forget_derived(&mut tx, &item).await?;
                episodes += 1;
            }
        }
        let told = json!({
            "titledbId": show.titledb_id, "providerAId": show.provider_a_id, "providerBId": show.provider_b_id,
            "episodes": episodes,
        });
        self.note_show(&mut tx, caller, &actor, "media.show.identity_set", &show, told)
            .await?;
        tx.commit().await?;
        Ok((show, path, episodes))
    }

    /// Stores changes to the metadata of a show.
    pub async fn describe_show(
        &self,
        caller: Caller<'_>,
        id: &str,
        edit: ShowEdit,
    ) -> Result<ShowMetadata, LibraryError> {
        let mut tx = self.db.begin_write().await?;
        let actor = self.may_edit(&mut tx, caller).await?;
        let show = find_show(&mut tx, id).await?;
        let now = self.ctx.now();
        let stored = repo::details::metadata(&mut tx, id).await?;
        let mut metadata = stored.unwrap_or_else(|| ShowMetadata::new(self.ctx.id(), show.id.clone(), now));
        metadata.take(edit, now);
        repo::details::put_metadata(&mut tx, &metadata).await?;
        let told = json!({ "title": metadata.title, "year": metadata.year });
        self.note_show(&mut tx, caller, &actor, "media.show.metadata_update", &show, told)
            .await?;
        tx.commit().await?;
        Ok(metadata)
    }

    /// Stores changes to the metadata of a season. `number`: as the caller wrote it.
    pub async fn describe_season(
        &self,
        caller: Caller<'_>,
        id: &str,
        number: &str,
        edit: SeasonEdit,
    ) -> Result<Season, LibraryError> {
        let mut tx = self.db.begin_write().await?;
        let actor = self.may_edit(&mut tx, caller).await?;
        let number = number
            .parse()
            .ok()
            .filter(|number| (0..=MAX_SEASON).contains(number));
        let number = number.ok_or(LibraryError::NoSeason)?;
        let show = find_show(&mut tx, id).await?;
        let now = self.ctx.now();
        let stored = repo::details::season(&mut tx, id, number).await?;
        let mut season = stored.unwrap_or_else(|| Season {
            id: self.ctx.id(),
            show_id: show.id.clone(),
            number,
            title: None,
            overview: None,
            first_aired_at: None,
            provider_name: None,
            created_at: now,
            updated_at: now,
        });
        if let Some(title) = edit.title {
            season.title = title;
        }
        if let Some(overview) = edit.overview {
            season.overview = overview;
        }
        (season.provider_name, season.updated_at) = (Some(MANUAL.to_owned()), now);
        repo::details::put_season(&mut tx, &season).await?;
        let told = json!({ "seasonNumber": number, "title": season.title });
        self.note_show(&mut tx, caller, &actor, "media.show.season_update", &show, told)
            .await?;
        tx.commit().await?;
        Ok(season)
    }

    pub(super) async fn may_edit(&self, tx: &mut Tx, caller: Caller<'_>) -> Result<Actor, LibraryError> {
        self.rights
            .judge(tx, caller, Permission::MediaManagerEditMetadata)
            .await
    }

    async fn note_show(
        &self,
        tx: &mut Tx,
        caller: Caller<'_>,
        actor: &Actor,
        action: &'static str,
        show: &Show,
        told: Value,
    ) -> Result<(), LibraryError> {
        let entry = actor.entry(action, caller.client);
        self.note_about(tx, entry, show, told).await
    }

    pub(super) async fn note_about(
        &self,
        tx: &mut Tx,
        mut entry: AuditEntry<'_>,
        show: &Show,
        told: Value,
    ) -> Result<(), LibraryError> {
        entry.object_type = Some("media_show");
        entry.object_id = Some(show.id.clone());
        entry.metadata = Some(told);
        Ok(self.audit.record(tx, entry).await?)
    }
}
