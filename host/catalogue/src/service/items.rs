//! Contents of the libraries, as people look at them.

use std::collections::HashMap;
use std::sync::Arc;

use qm_db::Tx;
use qm_kernel::PageQuery;
use qm_media::LibraryError;
use qm_media::lanes::COMPUTE;
use qm_media::model::extra::folder_of;
use qm_media::model::item::Filter;
use qm_media::model::library::paths;
use qm_media::model::view::{Detail, Faults, Listed};
use qm_media::repo;

use super::Catalogue;
use crate::model::catalog::Catalog;
use crate::repo::catalog;

impl Catalogue {
    /// A page of items, and their total number.
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
        drop(tx);
        self.fill_posters(&mut items).await?;
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
        drop(tx);
        let mut detail = Detail {
            suggestions,
            extras,
            subtitles: Vec::new(),
            notes: Vec::new(),
            item,
            file,
            library,
        };
        self.fill_detail(&mut detail).await?;
        Ok(detail)
    }

    /// Number of items for each letter, `#` first for titles that begin with no letter.
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

    /// Numbers of items of a library, or of all libraries, that have each fault.
    pub async fn issues(&self, library_id: Option<&str>) -> Result<Faults, LibraryError> {
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

    /// Cached catalog of the state that the transaction sees, if there is one.
    async fn shelved(&self, tx: &mut Tx, filter: &Filter) -> Result<Option<Arc<Catalog>>, LibraryError> {
        if !filter.is_of_columns() {
            return Ok(None);
        }
        let stamps = catalog::stamps(tx).await?;
        let kept = self.shelf.cached_catalog(stamps, filter);
        if kept.is_none() {
            self.shelf.ask(&self.db, stamps);
        }
        Ok(kept)
    }
}
