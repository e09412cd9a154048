//! The data set as a provider of shows: years of the first and the last episode.

use async_trait::async_trait;
use qm_kernel::as_error;
use qm_ports::shows::{ShowDetails, ShowError, ShowHit, ShowProvider};

use super::Titledb;
use super::names::{Names, Way};
use crate::error::TitledbError;
use crate::model::file::{Sort, named_title, title_id};
use crate::model::titles::Title;
use crate::model::trigrams::Narrow;
use crate::repo::titles;
use qm_titles::normalise;

/// Largest number of equal names, those of titles with more votes first.
const NAMES: usize = 120;
/// Largest number of shows in an answer.
const HITS: usize = 5;
/// Type of series that may get more episodes.
const RUNNING: &str = "tvSeries";

fn fault(error: impl Into<TitledbError>) -> ShowError {
    ShowError(error.into().to_string())
}

fn year(year: Option<i64>) -> Option<u32> {
    year.and_then(|year| u32::try_from(year).ok())
}

fn to_details(title: Title) -> ShowDetails {
    let date = |year: Option<i64>, day: &str| year.map(|year| format!("{year:04}-{day}"));
    ShowDetails {
        // The data set has years only.
        first_air_date: date(title.start_year, "01-01"),
        last_air_date: date(title.end_year, "12-31"),
        end_year: year(title.end_year),
        is_running_series: title.kind == RUNNING && title.end_year.is_none(),
        title: title.title,
        ..ShowDetails::default()
    }
}

impl Titledb {
    /// True when the settings use the data set.
    async fn is_wanted(&self) -> Result<bool, TitledbError> {
        Ok(self.options().await?.mode.uses_dataset())
    }

    /// True when, in addition, a store exists.
    async fn is_there(&self) -> Result<bool, TitledbError> {
        Ok(self.is_wanted().await? && self.store.live().await?.is_some())
    }

    /// Series whose own title equals this one, ignoring case and punctuation, the newest first. The year is
    /// that of the first episode.
    async fn series_named(&self, title: &str, began: Option<i64>) -> Result<Vec<Title>, TitledbError> {
        let name = normalise(title);
        if name.is_empty() || !self.is_wanted().await? {
            return Ok(Vec::new());
        }
        let Some(live) = self.store.live().await? else {
            return Ok(Vec::new());
        };
        let narrow = Narrow {
            year: began,
            sort: Some(Sort::Tv),
        };
        let mut tx = live.read().await?;
        let names = Names::new(&mut tx, &live.loaded, &name, narrow).await?;
        let mut ids: Vec<i64> = names
            .find(&mut tx, Way::Same, NAMES)
            .await?
            .into_iter()
            .map(|hit| hit.title_id)
            .collect();
        ids.sort_unstable();
        ids.dedup();
        let mut found = titles::find_all(&mut tx, &ids).await?;
        // The names include those of other countries, and the index matches adjacent years.
        found.retain(|title| {
            normalise(&title.title) == name && began.is_none_or(|began| title.start_year == Some(began))
        });
        found.sort_by_key(|title| std::cmp::Reverse((title.start_year, title.votes, title.id)));
        found.truncate(HITS);
        Ok(found)
    }
}

#[async_trait]
impl ShowProvider for Titledb {
    fn id(&self) -> &'static str {
        "titledb"
    }

    fn confidence(&self) -> f64 {
        0.6
    }

    async fn is_ready(&self) -> bool {
        self.is_there().await.unwrap_or_else(|error| {
            tracing::warn!(error = as_error(&error), "titledb cannot be asked for shows");
            false
        })
    }

    async fn search(&self, title: &str, year: Option<u32>) -> Result<Vec<ShowHit>, ShowError> {
        let found = self.series_named(title, year.map(i64::from)).await;
        let hit = |title: Title| ShowHit {
            id: title_id(title.id),
            year: self::year(title.start_year),
            title: title.title,
        };
        Ok(found.map_err(fault)?.into_iter().map(hit).collect())
    }

    async fn details(&self, id: &str) -> Result<Option<ShowDetails>, ShowError> {
        let Some(number) = named_title(id) else {
            return Ok(None);
        };
        if !self.is_wanted().await.map_err(fault)? {
            return Err(ShowError(
                "the titledb data set is switched off (setting media.titledb, member mode)".to_owned(),
            ));
        }
        let Some(live) = self.store.live().await.map_err(fault)? else {
            return Err(ShowError("no titledb data set is imported".to_owned()));
        };
        let mut tx = live.read().await.map_err(fault)?;
        let found = titles::find(&mut tx, number).await.map_err(fault)?;
        Ok(found.filter(|title| title.sort() == Sort::Tv).map(to_details))
    }
}
