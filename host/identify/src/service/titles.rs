//! Ids of items and shows in the data set of titles.
//!
//! Each edition of the data set is asked once about each item that has no full answer yet: after a scan, and when a person
//! identifies an item. No question is asked while a transaction is open. Answers of two editions are never stored together,
//! and none of an edition that is gone: an import or a reset leaves every item as it was, or complete.
//!
//! Bounds: [`AT_ONCE`] items a transaction; the episodes of one series, and [`TITLES`] titles, are kept between two items.

use std::collections::HashMap;

use qm_jobs::{JobContext, JobError};
use qm_kernel::as_error;
use qm_media::model::external::{ExternalId, TITLEDB, page};
use qm_media::model::library::MediaLibrary;
use qm_media::model::titles::{Suggestion, is_series, picked, suggested};
use qm_media::repo;
use qm_media::repo::titles::{Answer, AskedShow, Pending};
use qm_media::service::jobs::Stop;
use qm_media_names::place;
use qm_media_names::show::attempts;
use qm_ports::titledb::{EpisodeRecord, SeriesQuestion, TitleDataError, TitleKind, TitleQuestion};
use qm_titles::{Picked, turned};

use super::Identification;

/// Items whose answers are written in one transaction.
const AT_ONCE: usize = 64;
/// Most titles of series in the cache.
const TITLES: usize = 1024;
/// Mark of an item about which nothing is left to ask.
const FOUND: &str = "found";

/// Reason why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unanswered {
    #[error(transparent)]
    Titles(#[from] TitleDataError),
    #[error(transparent)]
    Database(#[from] qm_db::DbError),
}

/// Answer about an item.
#[derive(Debug, Default)]
struct Said {
    series: Option<String>,
    own: Option<String>,
    /// Suggestions, if no title matches.
    suggested: Vec<Suggestion>,
    /// True if nothing is left to ask.
    whole: bool,
}

/// Questions to one edition.
struct Asking<'a> {
    room: &'a Identification,
    of: &'a MediaLibrary,
    edition: String,
    /// Ids of shows, by their folders.
    shows: HashMap<String, Option<String>>,
    /// Episodes of the series that was asked about last.
    episodes: Option<(String, Vec<EpisodeRecord>)>,
    titles: HashMap<SeriesQuestion, Named>,
}

/// Series that a name stands for, or suggestions if none matches.
#[derive(Clone, Debug, Default)]
struct Named {
    id: Option<String>,
    suggested: Vec<Suggestion>,
}

impl Identification {
    /// Asks about all items of a library that this edition has not been asked about. If the data set cannot be asked, or
    /// goes away meanwhile, the rest is left for another time.
    pub async fn ask_titles(&self, of: &MediaLibrary, job: &JobContext) -> Result<(), Stop> {
        let asked = async {
            let Some(edition) = self.titles.edition().await? else {
                return Ok(true);
            };
            let mut asking = Asking::new(self, of, edition);
            Ok(asking.shows(job).await? && asking.items(job).await?)
        };
        match asked.await {
            Ok(true) => Ok(()),
            Ok(false) if job.is_cancelled() => Err(Stop::Stopped),
            // A newer data set has come in between: it is asked the next time.
            Ok(false) => Ok(()),
            Err(AskError::Job(error)) => Err(Stop::Job(error)),
            Err(AskError::Unanswered(Unanswered::Database(error))) => Err(Stop::Database(error)),
            Err(AskError::Unanswered(Unanswered::Titles(error))) => {
                let left = format!("{error}; what it knows of new files is looked for by the next scan");
                Ok(job.warning(&left).await?)
            }
        }
    }

    /// Asks about one item; if the data set cannot be asked, the next scan does it.
    pub async fn ask_title_of(&self, id: &str) -> Result<(), qm_db::DbError> {
        match self.ask_one(id).await {
            Ok(()) => Ok(()),
            Err(Unanswered::Database(error)) => Err(error),
            Err(Unanswered::Titles(error)) => {
                tracing::warn!(item = id, error = as_error(&error), "an item was not asked about");
                Ok(())
            }
        }
    }

    async fn ask_one(&self, id: &str) -> Result<(), Unanswered> {
        let Some(edition) = self.titles.edition().await? else {
            return Ok(());
        };
        let Some(at) = self.place_of(id).await? else {
            return Ok(());
        };
        let (item, ids, of, shows) = at;
        let mut asking = Asking::new(self, &of, edition);
        asking.shows = shows
            .into_iter()
            .map(|show| (show.place, show.titledb_id))
            .collect();
        let said = asking.about(&item, &ids).await?;
        if asking.is_current().await? {
            asking.write(&[(item, said)]).await?;
        }
        Ok(())
    }

    async fn place_of(
        &self,
        id: &str,
    ) -> Result<Option<(Pending, Vec<ExternalId>, MediaLibrary, Vec<AskedShow>)>, qm_db::DbError> {
        let mut tx = self.db.begin_read().await?;
        let (Some(item), Some((whole, _))) = (
            repo::titles::find_pending(&mut tx, id).await?,
            repo::lists::find(&mut tx, id).await?,
        ) else {
            return Ok(None);
        };
        let Some(of) = repo::libraries::find(&mut tx, &whole.library_id).await? else {
            return Ok(None);
        };
        let ids = repo::external::of_item(&mut tx, id).await?;
        let shows = repo::titles::shows(&mut tx, &of.id).await?;
        Ok(Some((item, ids, of, shows)))
    }
}

#[derive(Debug, thiserror::Error)]
enum AskError {
    #[error(transparent)]
    Unanswered(#[from] Unanswered),
    #[error(transparent)]
    Job(#[from] JobError),
}

impl From<TitleDataError> for AskError {
    fn from(error: TitleDataError) -> Self {
        Self::Unanswered(error.into())
    }
}

impl From<qm_db::DbError> for AskError {
    fn from(error: qm_db::DbError) -> Self {
        Self::Unanswered(error.into())
    }
}

impl<'a> Asking<'a> {
    fn new(room: &'a Identification, of: &'a MediaLibrary, edition: String) -> Self {
        Self {
            room,
            of,
            edition,
            shows: HashMap::new(),
            episodes: None,
            titles: HashMap::new(),
        }
    }

    /// True if the edition that was asked is still the current one.
    async fn is_current(&self) -> Result<bool, TitleDataError> {
        let now = self.room.titles.edition().await?;
        Ok(now.as_deref() == Some(&*self.edition))
    }

    /// Finds the ids of shows; `false` if it ends early.
    async fn shows(&mut self, job: &JobContext) -> Result<bool, AskError> {
        let shows = repo::titles::shows(&mut self.room.db.begin_read().await?, &self.of.id).await?;
        for show in shows {
            if job.is_cancelled() {
                return Ok(false);
            }
            let mut id = show.titledb_id.clone();
            if id.is_none() && show.titledb_asked.as_deref() != Some(&*self.edition) {
                let named = self.show(&show).await?;
                if !self.is_current().await? {
                    return Ok(false);
                }
                let mut tx = self.room.db.begin_write().await?;
                let now = self.room.ctx.now();
                let found = named.id.as_deref();
                if repo::titles::show_answered(&mut tx, &show.id, found, &self.edition, now).await? {
                    repo::suggestions::replace_show(&mut tx, &show.id, &named.suggested).await?;
                }
                tx.commit().await?;
                id = named.id;
                job.heartbeat().await?;
            }
            self.shows.insert(show.place, id);
        }
        Ok(true)
    }

    async fn show(&mut self, show: &AskedShow) -> Result<Named, AskError> {
        let mut tx = self.room.db.begin_read().await?;
        let known = repo::titles::series_below(&mut tx, &self.of.id, &show.place).await?;
        let seasons = repo::titles::seasons_below(&mut tx, &self.of.id, &show.place).await?;
        drop(tx);
        if known.is_some() {
            return Ok(Named {
                id: known,
                ..Named::default()
            });
        }
        let (titles, year) = attempts(&place::shown(&show.place));
        Ok(self.series(&titles, year, &seasons).await?)
    }

    /// Series named by the first of these titles that names one; if none does, suggestions for the likeliest title.
    async fn series(
        &mut self,
        titles: &[String],
        year: Option<i64>,
        seasons: &[i64],
    ) -> Result<Named, TitleDataError> {
        let mut first = Named::default();
        for title in titles {
            let question = SeriesQuestion {
                title: title.clone(),
                year,
                seasons: seasons.to_vec(),
            };
            let found = match self.titles.get(&question) {
                Some(known) => known.clone(),
                None => {
                    let answer = self.room.titles.series(&question).await?;
                    let found = Named {
                        suggested: match answer.id {
                            Some(_) => Vec::new(),
                            None => suggested(&answer.found),
                        },
                        id: answer.id,
                    };
                    if self.titles.len() >= TITLES {
                        self.titles.clear();
                    }
                    self.titles.insert(question, found.clone());
                    found
                }
            };
            if found.id.is_some() {
                return Ok(found);
            }
            if first.suggested.is_empty() {
                first = found;
            }
        }
        Ok(first)
    }

    /// Finds the ids of items; `false` if it ends early.
    async fn items(&mut self, job: &JobContext) -> Result<bool, AskError> {
        let mut after = String::new();
        loop {
            let mut tx = self.room.db.begin_read().await?;
            let items =
                repo::titles::pending(&mut tx, &self.of.id, &self.edition, &after, AT_ONCE as i64).await?;
            let ids: Vec<&str> = items.iter().map(|item| &*item.id).collect();
            let mut ids = repo::external::of_items(&mut tx, &ids).await?;
            drop(tx);
            let Some(last) = items.last() else {
                return Ok(true);
            };
            after.clone_from(&last.place);
            let mut said = Vec::with_capacity(items.len());
            for item in items {
                if job.is_cancelled() {
                    return Ok(false);
                }
                let ids = ids.remove(&item.id).unwrap_or_default();
                let about = self.about(&item, &ids).await?;
                said.push((item, about));
            }
            if !self.is_current().await? {
                return Ok(false);
            }
            self.write(&said).await?;
            job.heartbeat().await?;
        }
    }

    async fn about(&mut self, item: &Pending, ids: &[ExternalId]) -> Result<Said, TitleDataError> {
        let known = ids.iter().find(|id| id.provider == TITLEDB && !id.is_derived);
        let known = known.map(|id| &*id.value);
        match &*item.media_type {
            "tv" | "anime" | "episode" => self.episode(item, known).await,
            "movie" => match known {
                Some(_) => Ok(Said {
                    series: item.series_titledb_id.clone(),
                    whole: true,
                    ..Said::default()
                }),
                None => self.film(item).await,
            },
            _ => Ok(Said {
                series: item.series_titledb_id.clone(),
                ..Said::default()
            }),
        }
    }

    async fn film(&self, item: &Pending) -> Result<Said, TitleDataError> {
        let question = TitleQuestion {
            title: turned(&item.title).into_owned(),
            year: item.year,
            kind: Some(TitleKind::Movie),
        };
        let found = self.room.titles.search(&question).await?;
        let (own, suggested) = match picked(&item.title, item.year, &found) {
            Picked::One(at) => (Some(found[at].title.id.clone()), Vec::new()),
            Picked::None | Picked::Ambiguous(_) => (None, suggested(&found)),
        };
        Ok(Said {
            suggested,
            series: item.series_titledb_id.clone(),
            whole: own.is_some(),
            own,
        })
    }

    /// Answer about an episode. `known`: id that a person gave the item, which is that of an episode or of its series.
    async fn episode(&mut self, item: &Pending, known: Option<&str>) -> Result<Said, TitleDataError> {
        let stored = item.series_titledb_id.clone();
        let series = match (known, &stored) {
            (Some(id), _) => self.series_of(id).await?.or(stored),
            (None, Some(_)) => stored,
            (None, None) => self.series_at(item).await?,
        };
        let Some(series) = series else {
            return Ok(Said::default());
        };
        let is_stored = item.series_titledb_id.as_deref() == Some(&*series);
        let episodes = self.episodes(&series).await?;
        let is_of_season =
            item.season.is_none() || episodes.iter().any(|episode| episode.season == item.season);
        if !episodes.is_empty() && !is_of_season && !is_stored {
            // It is another series of the same name.
            return Ok(Said {
                series: item.series_titledb_id.clone(),
                ..Said::default()
            });
        }
        let numbers = (item.season, item.episode);
        let is_it = |episode: &&EpisodeRecord| {
            numbers.0.is_some() && numbers.1.is_some() && (episode.season, episode.episode) == numbers
        };
        let own = episodes.iter().find(is_it).map(|episode| episode.id.clone());
        Ok(Said {
            whole: own.is_some() || known.is_some(),
            series: Some(series),
            own,
            suggested: Vec::new(),
        })
    }

    /// Series of an id, which is that of the series or of one of its episodes.
    async fn series_of(&self, id: &str) -> Result<Option<String>, TitleDataError> {
        let titles = &self.room.titles;
        if let Some(parent) = titles.parent(id).await? {
            return Ok(Some(parent));
        }
        let title = titles.title(id).await?;
        let is_series = title.is_some_and(|title| is_series(&title.kind));
        Ok(is_series.then(|| id.to_owned()))
    }

    /// Series of the show in whose folder an item lies; for an item outside of such folders, by its title.
    async fn series_at(&mut self, item: &Pending) -> Result<Option<String>, TitleDataError> {
        let (folder, lies_below) = place::top(&item.place);
        if let (true, Some(show)) = (lies_below, self.shows.get(&folder)) {
            return Ok(show.clone());
        }
        let (titles, year) = attempts(&item.title);
        let seasons: Vec<i64> = item.season.into_iter().collect();
        Ok(self.series(&titles, item.year.or(year), &seasons).await?.id)
    }

    async fn episodes(&mut self, series: &str) -> Result<&[EpisodeRecord], TitleDataError> {
        if self.episodes.as_ref().is_none_or(|(of, _)| of != series) {
            let found = self.room.titles.episodes(series).await?;
            self.episodes = Some((series.to_owned(), found));
        }
        Ok(self.episodes.as_ref().map_or(&[], |(_, found)| &found[..]))
    }

    async fn write(&self, said: &[(Pending, Said)]) -> Result<(), qm_db::DbError> {
        let (room, now) = (self.room, self.room.ctx.now());
        let mut tx = room.db.begin_write().await?;
        for (item, said) in said {
            let asked = if said.whole { FOUND } else { &self.edition };
            if said.own.is_none()
                && said.series == item.series_titledb_id
                && item.titledb_asked.as_deref() == Some(asked)
            {
                continue;
            }
            let url = said.own.as_deref().and_then(|id| page(TITLEDB, id, false));
            let answer = Answer {
                series: said.series.as_deref(),
                own: said.own.as_deref(),
                new_id: room.ctx.id(),
                url,
                asked,
            };
            if repo::titles::answered(&mut tx, item, &answer, now).await? {
                repo::suggestions::replace(&mut tx, &item.id, &said.suggested).await?;
            }
        }
        tx.commit().await
    }
}
