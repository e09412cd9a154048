//! Port by which other areas query titles.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use async_trait::async_trait;
use qm_ports::titledb::{
    CreditRecord, EpisodeRecord, SeriesAnswer, SeriesQuestion, TitleData, TitleDataError, TitleKind,
    TitleMatch, TitleQuestion, TitleRecord,
};

use super::Titledb;
use super::search::Question;
use crate::error::TitledbError;
use crate::model::file::{Sort, named_title, person_id, title_id};
use crate::model::titles::{Found, Title, Whole};
use crate::repo::titles;

fn fault(error: impl Into<TitledbError>) -> TitleDataError {
    TitleDataError(error.into().to_string())
}

fn record(title: Title) -> TitleRecord {
    TitleRecord {
        id: title_id(title.id),
        kind: title.kind,
        original_title: title.original,
        title: title.title,
        year: title.start_year,
        end_year: title.end_year,
        runtime: title.runtime,
        is_adult: title.adult,
        genres: title.genres,
        directors: Vec::new(),
        writers: Vec::new(),
        rating: title.rating.map(|tenths| tenths as f64 / 10.0),
        votes: title.votes,
    }
}

fn question(asked: &TitleQuestion) -> Question {
    Question {
        title: asked.title.clone(),
        year: asked.year,
        sort: asked.kind.map(|kind| match kind {
            TitleKind::Movie => Sort::Movie,
            TitleKind::Tv => Sort::Tv,
            TitleKind::Episode => Sort::Episode,
        }),
    }
}

fn matched(found: Found) -> TitleMatch {
    TitleMatch {
        title: record(found.title),
        confidence: found.confidence,
        names: found.names,
    }
}

impl Titledb {
    /// Number of a title, if the data set is in use.
    async fn usable(&self, id: &str) -> Result<Option<i64>, TitleDataError> {
        let options = self.options().await.map_err(fault)?;
        Ok(named_title(id).filter(|_| options.mode.uses_dataset()))
    }
}

#[async_trait]
impl TitleData for Titledb {
    async fn edition(&self) -> Result<Option<String>, TitleDataError> {
        let options = self.options().await.map_err(fault)?;
        if !options.mode.uses_dataset() {
            return Ok(None);
        }
        let Some(live) = self.store.live().await.map_err(fault)? else {
            return Ok(None);
        };
        let mut hasher = DefaultHasher::new();
        (&live.loaded.fingerprint, options.include_adult).hash(&mut hasher);
        options.min_votes.hash(&mut hasher);
        Ok(Some(format!("{:016x}", hasher.finish())))
    }

    async fn title(&self, id: &str) -> Result<Option<TitleRecord>, TitleDataError> {
        if self.usable(id).await?.is_none() {
            return Ok(None);
        }
        let whole = self.whole(id).await.map_err(fault)?;
        Ok(whole.map(|whole: Whole| TitleRecord {
            directors: whole.directors,
            writers: whole.writers,
            ..record(whole.title)
        }))
    }

    async fn search(&self, asked: &TitleQuestion) -> Result<Vec<TitleMatch>, TitleDataError> {
        let found = Titledb::search(self, &question(asked)).await.map_err(fault)?;
        Ok(found.into_iter().map(matched).collect())
    }

    async fn best(&self, asked: &TitleQuestion) -> Result<Option<TitleMatch>, TitleDataError> {
        let found = Titledb::search(self, &question(asked)).await.map_err(fault)?;
        Ok(found.into_iter().next().map(matched))
    }

    async fn series(&self, asked: &SeriesQuestion) -> Result<SeriesAnswer, TitleDataError> {
        let (id, found) = self.series_of(asked).await.map_err(fault)?;
        Ok(SeriesAnswer {
            id: id.map(title_id),
            found: found.into_iter().map(matched).collect(),
        })
    }

    async fn episodes(&self, id: &str) -> Result<Vec<EpisodeRecord>, TitleDataError> {
        let (Some(number), Some(live)) = (self.usable(id).await?, self.store.live().await.map_err(fault)?)
        else {
            return Ok(Vec::new());
        };
        let mut tx = live.read().await.map_err(fault)?;
        let episodes = titles::episodes(&mut tx, number).await.map_err(fault)?;
        let record = |episode: crate::model::titles::Episode| EpisodeRecord {
            id: title_id(episode.id),
            season: episode.season,
            episode: episode.episode,
            title: episode.title,
            year: episode.year,
        };
        Ok(episodes.into_iter().map(record).collect())
    }

    async fn parent(&self, id: &str) -> Result<Option<String>, TitleDataError> {
        let (Some(number), Some(live)) = (self.usable(id).await?, self.store.live().await.map_err(fault)?)
        else {
            return Ok(None);
        };
        let mut tx = live.read().await.map_err(fault)?;
        Ok(titles::parent(&mut tx, number)
            .await
            .map_err(fault)?
            .map(title_id))
    }

    async fn credits(&self, id: &str) -> Result<Vec<CreditRecord>, TitleDataError> {
        let (Some(number), Some(live)) = (self.usable(id).await?, self.store.live().await.map_err(fault)?)
        else {
            return Ok(Vec::new());
        };
        let mut tx = live.read().await.map_err(fault)?;
        let credits = titles::credits(&mut tx, number).await.map_err(fault)?;
        let record = |credit: crate::model::titles::Credit| CreditRecord {
            id: person_id(credit.person),
            name: credit.name,
            category: credit.category,
            job: credit.job,
            characters: credit.characters,
        };
        Ok(credits.into_iter().map(record).collect())
    }
}
