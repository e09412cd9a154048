//! Choice of a title of the data set for an item, made by a person.

use qm_db::Tx;
use qm_kernel::{Caller, Permission};
use qm_media::LibraryError;
use qm_media::model::external::{ExternalId, TITLEDB, page};
use qm_media::model::item::Item;
use qm_media::model::metadata::{ItemMetadata, question};
use qm_media::model::titles::{Titled, TitledNews, is_series};
use qm_media::repo;
use qm_media::service::find::listed_item;
use qm_ports::metadata::{Metadata, Told as Said};
use qm_ports::titledb::TitleRecord;
use qm_realtime::Room;
use qm_titles::is_titledb_id;
use serde_json::{Map, json};

use super::Identification;
use super::cross::{ADDED, Added, Crossed};
use super::metadata::asked;

const NEEDED: Permission = Permission::MediaManagerTitledbMatch;

/// A title; for an episode, also its series and its numbers there.
struct Told {
    title: TitleRecord,
    series: Option<TitleRecord>,
    series_id: Option<String>,
    numbers: Option<(Option<i64>, Option<i64>)>,
}

impl Told {
    /// Metadata of the title.
    fn metadata(&self) -> Metadata {
        let title = &self.title;
        let number = |number: Option<i64>| number.and_then(|number| u32::try_from(number).ok());
        let series = self.series.as_ref().map(|series| series.title.clone());
        Metadata {
            provider: TITLEDB.to_owned(),
            title: Some(title.title.clone()),
            original_title: series.or_else(|| title.original_title.clone()),
            year: number(title.year),
            runtime: number(title.runtime),
            genres: title.genres.clone(),
            directors: title.directors.clone(),
            writers: title.writers.clone(),
            rating: title.rating,
            ..Metadata::default()
        }
    }

    /// Names the item after the title. An episode gets the title of its series.
    fn name(&self, item: &mut Item) {
        let named = self.series.as_ref().unwrap_or(&self.title);
        item.title.clone_from(&named.title);
        item.year = named.year;
        if matches!(&*item.media_type, "tv" | "anime" | "episode") {
            item.series_titledb_id.clone_from(&self.series_id);
        }
        if let Some(numbers) = self.numbers
            && numbers != (item.season, item.episode)
        {
            (item.season, item.episode) = numbers;
            item.episode_end = None;
        }
    }
}

impl Identification {
    /// Identifies an item, locked or not, as a title of the data set. An unknown title is stored by its id alone.
    pub async fn entitle_item(
        &self,
        caller: Caller<'_>,
        id: &str,
        titledb_id: &str,
        confidence: Option<f64>,
    ) -> Result<Titled, LibraryError> {
        let mut tx = self.db.begin_write().await?;
        self.rights.judge(&mut tx, caller, NEEDED).await?;
        drop(tx);
        let titledb_id = titledb_id.trim();
        if !is_titledb_id(titledb_id) {
            return Err(LibraryError::NoTitledbId);
        }
        listed_item(&mut self.db.begin_read().await?, id).await?;
        // Nothing is asked while a transaction is open.
        let told = self.title_told(titledb_id).await?;
        let title = told.as_ref().map(|told| &told.title);
        let crossed = self.cross(titledb_id, title, false).await;
        let mut tx = self.db.begin_write().await?;
        let actor = self.rights.judge(&mut tx, caller, NEEDED).await?;
        let (mut item, file, path) = listed_item(&mut tx, id).await?;
        let (before, now) = (item.title.clone(), self.ctx.now());
        if let Some(told) = &told {
            told.name(&mut item);
        }
        let confidence = confidence.unwrap_or(1.0).clamp(0.0, 1.0);
        item.confidence = (confidence * 100.0).round() as i64;
        "manual".clone_into(&mut item.match_status);
        item.updated_at = now;
        let stored = repo::external::of_item(&mut tx, id).await?;
        let is_same = stored
            .iter()
            .any(|known| known.provider == TITLEDB && known.value == titledb_id);
        repo::external::forget_derived(&mut tx, id).await?;
        let external = ExternalId {
            id: self.ctx.id(),
            item_id: item.id.clone(),
            provider: TITLEDB.to_owned(),
            value: titledb_id.to_owned(),
            url: page(TITLEDB, titledb_id, false),
            is_derived: false,
        };
        repo::external::put(&mut tx, &external).await?;
        repo::suggestions::replace(&mut tx, id, &[]).await?;
        repo::items::edit(&mut tx, &item).await?;
        let mut entry = actor.entry("media.titledb.match.applied", caller.client);
        entry.object_type = Some("media_item");
        entry.object_id = Some(item.id.clone());
        entry.metadata = Some(json!({
            "titledbId": titledb_id, "title": item.title, "confidence": confidence, "known": told.is_some(),
        }));
        self.audit.record(&mut tx, entry).await?;
        let title = told.as_ref().map(Told::metadata);
        let added = self
            .describe_titled(&mut tx, &item, title, is_same, crossed)
            .await?;
        if let Some(added) = added {
            self.tell_added(&mut tx, &item.id, &added);
            let entry = actor.entry(ADDED, caller.client);
            self.note_added(&mut tx, entry, &item.id, &added).await?;
        }
        let context = Map::from_iter([("name".to_owned(), before.into())]);
        self.triggers.fire(&mut tx, "media.matched", &context).await?;
        tx.commit().await?;
        let news = TitledNews {
            item_id: &item.id,
            titledb_id,
            status: if told.is_some() { "matched" } else { "unknown" },
            at: now,
        };
        let room = Room::Perm(Permission::MediaManagerTitledbView);
        self.hub.emit_json(room, "titledb.match.completed", &news);
        Ok(Titled {
            item: (item, file, path),
            titledb_id: titledb_id.to_owned(),
            rating: told.as_ref().and_then(|told| told.title.rating),
            is_known: told.is_some(),
        })
    }

    /// Stores metadata of the data set for an item, with the additions. Values of people stay, and so do those of providers
    /// about the same title where the data set has none.
    async fn describe_titled(
        &self,
        tx: &mut Tx,
        item: &Item,
        title: Option<Metadata>,
        is_same: bool,
        crossed: Crossed,
    ) -> Result<Option<Added>, LibraryError> {
        let now = self.ctx.now();
        let stored = repo::metadata::find(tx, &item.id).await?;
        if stored.is_none() && title.is_none() {
            // Only its id is known.
            let mut none = ItemMetadata::new(self.ctx.id(), item, now);
            return self.add_crossed(tx, item, &mut none, crossed).await;
        }
        let mut metadata = stored.unwrap_or_else(|| ItemMetadata::new(self.ctx.id(), item, now));
        if title.is_some() {
            let (_, asked) = asked(tx, &item.id).await?;
            let question = question(&asked);
            if is_same {
                metadata.question = Some(question.clone());
            }
            let said = Said {
                metadata: title,
                ..Said::default()
            };
            metadata.hear(item, &question, said, !is_same, now);
        }
        let added = self.add_crossed(tx, item, &mut metadata, crossed).await?;
        repo::metadata::put(tx, &metadata).await?;
        Ok(added)
    }

    /// Record of the data set for an id; `None`: it does not know the id.
    async fn title_told(&self, id: &str) -> Result<Option<Told>, LibraryError> {
        let titles = &self.titles;
        let Some(title) = titles.title(id).await? else {
            return Ok(None);
        };
        if is_series(&title.kind) {
            return Ok(Some(Told {
                series_id: Some(title.id.clone()),
                title,
                series: None,
                numbers: None,
            }));
        }
        let parent = titles.parent(id).await?;
        let (mut series, mut numbers) = (None, None);
        if let Some(parent) = &parent {
            series = titles.title(parent).await?;
            let episodes = titles.episodes(parent).await?;
            let own = episodes.iter().find(|episode| episode.id == title.id);
            numbers = own.map(|own| (own.season, own.episode));
        }
        Ok(Some(Told {
            title,
            series,
            series_id: parent,
            numbers,
        }))
    }
}
