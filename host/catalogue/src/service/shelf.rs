//! Cache of all items, for lists of large libraries: databases count and skip the rows before a page one by one.
//!
//! The cache is used only if the stamps of the database, in the reader's transaction, are those of the cached reading: an
//! answer is the one that the statements of `repo::lists` would give (see the test). It is read anew in the background, once
//! nothing has changed between two readers. Until then, and for libraries that are small or too large, statements answer.
//! Bounds: from 2,000 items to 500,000, about 100 bytes each; at most a twentieth of the time is spent on reading. A cache
//! unused for 15 minutes is dropped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use qm_db::Db;
use qm_kernel::as_error;
use qm_lanes::IgnorePoison;
use qm_media::LibraryError;
use qm_media::model::item::{Filter, Sort};
use qm_media::model::series::Series;

use crate::model::catalog::Catalog;
use crate::repo::catalog;
use crate::repo::catalog::Stamps;

const LEAST: i64 = 2_000;
const MOST: i64 = 500_000;
/// Pause between two readings, as a multiple of the time that the last one took.
const PAUSE: u32 = 20;
const UNUSED: Duration = Duration::from_mins(15);

/// Cache of all items for lists.
#[derive(Default)]
pub struct Shelf(Mutex<State>);

#[derive(Default)]
struct State {
    kept: Option<Kept>,
    /// Stamps of the last reader for whom the cache had no answer.
    asked: Option<Stamps>,
    /// Stamps for which no catalog can be made.
    unfit: Option<Stamps>,
    is_reading: bool,
    /// Earliest time of the next reading.
    not_before: Option<Instant>,
}

struct Kept {
    stamps: Stamps,
    catalog: Arc<Catalog>,
    used: Instant,
}

impl Shelf {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().ignore_poison()
    }

    /// Catalog for a reader with these stamps and this filter, if it is cached.
    pub fn cached_catalog(&self, stamps: Stamps, filter: &Filter) -> Option<Arc<Catalog>> {
        let mut state = self.state();
        let kept = state.kept.as_mut().filter(|kept| {
            kept.stamps == stamps || (kept.stamps.items == stamps.items && filter.sort != Sort::UpdatedDesc)
        })?;
        kept.used = Instant::now();
        Some(kept.catalog.clone())
    }

    /// Starts reading all items in the background, if that is worth it, for later readers.
    pub fn ask(self: &Arc<Self>, db: &Db, stamps: Stamps) {
        if !self.state().begins(stamps) {
            return;
        }
        let (reading, db) = (Reading(self.clone(), Instant::now()), db.clone());
        tokio::spawn(async move {
            if let Err(error) = reading.0.read(&db).await {
                tracing::debug!(
                    error = as_error(&error),
                    "the items of the libraries could not be read for their lists"
                );
            }
            drop(reading);
        });
    }

    /// Reads all items into the cache.
    pub async fn read(&self, db: &Db) -> Result<(), LibraryError> {
        let mut tx = db.begin_read().await?;
        let stamps = catalog::stamps(&mut tx).await?;
        let is_fit = (LEAST..=MOST).contains(&catalog::count(&mut tx).await?);
        self.put(
            stamps,
            if is_fit {
                catalog::all(&mut tx).await?
            } else {
                None
            },
        );
        Ok(())
    }

    fn put(&self, stamps: Stamps, catalog: Option<Catalog>) {
        let mut state = self.state();
        state.unfit = catalog.is_none().then_some(stamps);
        state.kept = catalog.map(|catalog| Kept {
            stamps,
            catalog: Arc::new(catalog),
            used: Instant::now(),
        });
    }

    /// Drops the cache if it is unused.
    pub fn tidy(&self) {
        let mut state = self.state();
        if state
            .kept
            .as_ref()
            .is_some_and(|kept| kept.used.elapsed() > UNUSED)
        {
            state.kept = None;
        }
    }
}

impl State {
    fn begins(&mut self, stamps: Stamps) -> bool {
        let is_calm = self.asked.replace(stamps) == Some(stamps);
        let may = self.not_before.is_none_or(|at| at <= Instant::now());
        let begins = is_calm && may && !self.is_reading && self.unfit != Some(stamps);
        self.is_reading |= begins;
        begins
    }
}

/// Bounds of the cache of series: filters, and series for each.
const FILTERS: usize = 8;
const SERIES: usize = 20_000;

/// Conditions by which series are gathered from items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Of {
    pub library_id: Option<String>,
    pub media_type: Option<String>,
    pub match_status: Option<String>,
    /// Directories of the libraries.
    pub paths: HashMap<String, String>,
}

/// Cache of the series that were asked for last, in no order, valid as long as nothing changes.
#[derive(Default)]
pub(super) struct SeriesShelf(Mutex<Option<KeptSeries>>);

struct KeptSeries {
    stamps: Stamps,
    /// Cached series by their conditions; the last used ones come last.
    series: Vec<(Of, Arc<Vec<Series>>)>,
    used: Instant,
}

impl SeriesShelf {
    fn kept(&self) -> MutexGuard<'_, Option<KeptSeries>> {
        self.0.lock().ignore_poison()
    }

    /// Cached series for a reader with these stamps.
    pub fn cached_series(&self, stamps: Stamps, of: &Of) -> Option<Arc<Vec<Series>>> {
        let mut kept = self.kept();
        let kept = kept.as_mut().filter(|kept| kept.stamps == stamps)?;
        let at = kept.series.iter().position(|(known, _)| known == of)?;
        let found = kept.series.remove(at);
        let series = found.1.clone();
        kept.series.push(found);
        kept.used = Instant::now();
        Some(series)
    }

    pub fn put(&self, stamps: Stamps, of: Of, series: Arc<Vec<Series>>) {
        if series.len() > SERIES {
            return;
        }
        let mut kept = self.kept();
        let mut all = kept
            .take()
            .filter(|kept| kept.stamps == stamps)
            .map(|kept| kept.series);
        let all = all.get_or_insert_default();
        all.retain(|(known, _)| *known != of);
        if all.len() >= FILTERS {
            all.remove(0);
        }
        all.push((of, series));
        *kept = Some(KeptSeries {
            stamps,
            series: std::mem::take(all),
            used: Instant::now(),
        });
    }

    /// Drops the cache if it is unused.
    pub fn tidy(&self) {
        self.kept().take_if(|kept| kept.used.elapsed() > UNUSED);
    }
}

/// One reading in the background. When it is dropped, the pause before the next one begins.
struct Reading(Arc<Shelf>, Instant);

impl Drop for Reading {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.is_reading = false;
        state.not_before = Some(Instant::now() + self.1.elapsed() * PAUSE);
    }
}
