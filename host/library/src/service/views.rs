//! What is in the libraries, as people look at it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use qm_db::Tx;
use qm_kernel::PageQuery;
use qm_media::LibraryError;
use qm_media::lanes::{COMPUTE, LOOKS};
use qm_media::model::extra::{Extra, folder_of};
use qm_media::model::item::Filter;
use qm_media::model::library::MediaLibrary;
use qm_media::model::show::Show;
use qm_media::model::view::{Detail, Health, Listed};
use qm_media::ops::reach::Reach;
use qm_media::repo;
use qm_media_names::place;

use super::Library;
use crate::model::catalog::Catalog;
use crate::repo::catalog;

/// What was added later counts as recent.
const RECENT: Duration = Duration::from_hours(7 * 24);

/// Libraries that are named in one list of problems.
const MOST_NAMED: usize = 50;
/// Time limit on directories of libraries that are asked.
const PATIENCE: Duration = Duration::from_secs(3);

impl Library {
    pub async fn health(&self) -> Result<Health, LibraryError> {
        let mut problems: Vec<String> = self.probing.problem().into_iter().collect();
        problems.extend(self.places_missing().await?);
        problems.extend(self.watches_degraded().await?);
        let mut tx = self.db.begin_read().await?;
        Ok(Health {
            counts: repo::lists::counts(&mut tx, self.ctx.now().minus(RECENT)).await?,
            failed_jobs: self.jobs.failed(&mut tx, "media_manager").await?,
            problems,
        })
    }

    /// Libraries whose directories are not there, each with the way out.
    async fn places_missing(&self) -> Result<Vec<String>, LibraryError> {
        let libraries = self.list().await?;
        let looked: Vec<(String, String)> = libraries
            .into_iter()
            .filter(|library| library.is_enabled)
            .map(|library| (library.name, library.path))
            .collect();
        if looked.is_empty() {
            return Ok(Vec::new());
        }
        let looking = LOOKS.run(move |cancel| {
            let missing = looked.into_iter().take_while(|_| !cancel.is_set());
            let missing = missing.filter(|(_, path)| Reach::open(Path::new(path)).is_err());
            let told = missing.map(|(name, path)| {
                format!(
                    "The directory {path} of library `{name}` cannot be opened: mount its disk, or name another directory"
                )
            });
            told.take(MOST_NAMED).collect::<Vec<_>>()
        });
        // A disk that hangs holds up nobody who asks how things are.
        match tokio::time::timeout(PATIENCE, looking).await {
            Ok(told) => Ok(told?),
            Err(_) => Ok(vec![
                "The directories of libraries do not answer: a disk of theirs may hang".to_owned(),
            ]),
        }
    }

    /// Libraries that should be watched and are not, each with the reason.
    async fn watches_degraded(&self) -> Result<Vec<String>, LibraryError> {
        let states = self.watch_status().await?;
        let degraded = states.into_iter().filter_map(|(library, state)| {
            let why = state.degraded?;
            Some(format!("Library `{}` is not watched: {why}", library.name))
        });
        Ok(degraded.take(MOST_NAMED).collect())
    }

    /// Every library with the number of its items, the oldest first.
    pub async fn counted(&self) -> Result<Vec<(MediaLibrary, i64)>, LibraryError> {
        let mut tx = self.db.begin_read().await?;
        let counts: HashMap<String, i64> = repo::libraries::item_counts(&mut tx).await?.into_iter().collect();
        let libraries = repo::libraries::all(&mut tx).await?.into_iter().map(|library| {
            let count = counts.get(&library.id).copied().unwrap_or(0);
            (library, count)
        });
        Ok(libraries.collect())
    }

    /// A page of items, and how many there are of them.
    pub async fn items(&self, filter: &Filter, page: PageQuery) -> Result<(Vec<Listed>, u64), LibraryError> {
        let mut tx = self.db.begin_read().await?;
        let (mut items, total) = match self.shelved(&mut tx, filter).await? {
            Some(catalog) => {
                let filter = filter.clone();
                let paging = move |_| catalog.page(&filter, page.offset(), page.page_size);
                let (ids, total) = COMPUTE.run(paging).await?;
                (repo::lists::named(&mut tx, &ids).await?, total)
            }
            None => repo::lists::page(&mut tx, filter, page).await?,
        };
        repo::external::fill(&mut tx, &mut items).await?;
        repo::metadata::fill(&mut tx, &mut items).await?;
        repo::copies::fill(&mut tx, &mut items).await?;
        let paths = paths(repo::libraries::all(&mut tx).await?);
        let listed = items.into_iter().map(|(item, file)| {
            let path = paths.get(&item.library_id).cloned().unwrap_or_default();
            (item, file, path)
        });
        Ok((listed.collect(), total))
    }

    pub async fn item(&self, id: &str) -> Result<Detail, LibraryError> {
        let mut tx = self.db.begin_read().await?;
        let found = repo::lists::find(&mut tx, id).await?;
        let mut found = [found.ok_or(LibraryError::NoSuchItem)?];
        repo::copies::fill(&mut tx, &mut found).await?;
        let [(mut item, file)] = found;
        item.external_ids = repo::external::of_item(&mut tx, id).await?;
        item.metadata = repo::metadata::find(&mut tx, id).await?.map(Box::new);
        let library = repo::libraries::find(&mut tx, &item.library_id).await?;
        let library = library.ok_or(LibraryError::NoSuchItem)?;
        let suggestions = repo::suggestions::of_item(&mut tx, id).await?;
        let mut extras = Vec::new();
        if let Some(folder) = folder_of(&item) {
            extras = repo::extras::of_owner(&mut tx, &item.library_id, &folder).await?;
            extras.retain(|extra| extra.is_of(&item));
        }
        Ok(Detail {
            suggestions,
            extras,
            item,
            file,
            library,
        })
    }

    /// Extras of a show and of its seasons.
    pub async fn show_extras(&self, show: &Show) -> Result<Vec<Extra>, LibraryError> {
        let folder = place::shown(&show.place);
        let mut tx = self.db.begin_read().await?;
        Ok(repo::extras::of_owner(&mut tx, &show.library_id, &folder).await?)
    }

    /// Items by the letters of the alphabet, `#` first for what begins with none.
    pub async fn alphabet(&self, filter: &Filter) -> Result<Vec<(String, i64)>, LibraryError> {
        let mut tx = self.db.begin_read().await?;
        let counts = match self.shelved(&mut tx, filter).await? {
            Some(catalog) => {
                let filter = filter.clone();
                COMPUTE.run(move |_| catalog.alphabet(&filter)).await?
            }
            None => repo::lists::alphabet(&mut tx, filter).await?,
        };
        let counts: HashMap<String, i64> = counts.into_iter().collect();
        let letters = std::iter::once('#')
            .chain('A'..='Z')
            .map(|letter| letter.to_string());
        let rows = letters.map(|letter| {
            let count = counts.get(&letter).copied().unwrap_or(0);
            (letter, count)
        });
        Ok(rows.collect())
    }

    /// Items of a library, or of all: all, unmatched, duplicate.
    pub async fn issues(&self, library_id: Option<&str>) -> Result<(i64, i64, i64), LibraryError> {
        let mut tx = self.db.begin_read().await?;
        let filter = Filter {
            library_id: library_id.map(str::to_owned),
            ..Filter::default()
        };
        match self.shelved(&mut tx, &filter).await? {
            Some(catalog) => {
                let counting = move |_| catalog.issues(filter.library_id.as_deref());
                Ok(COMPUTE.run(counting).await?)
            }
            None => Ok(repo::lists::issues(&mut tx, library_id).await?),
        }
    }

    /// All items as the transaction sees them, where they are kept.
    async fn shelved(&self, tx: &mut Tx, filter: &Filter) -> Result<Option<Arc<Catalog>>, LibraryError> {
        if !filter.is_of_columns() {
            return Ok(None);
        }
        let stamps = catalog::stamps(tx).await?;
        let kept = self.shelf.at(stamps, filter);
        if kept.is_none() {
            self.shelf.ask(&self.db, stamps);
        }
        Ok(kept)
    }
}

/// The directories of libraries, by their ids.
pub(super) fn paths(libraries: Vec<MediaLibrary>) -> HashMap<String, String> {
    libraries
        .into_iter()
        .map(|library| (library.id, library.path))
        .collect()
}
