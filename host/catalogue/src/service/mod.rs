//! Use cases of this crate.

mod beside;
mod export;
mod folders;
mod items;
mod notes;
mod owned;
mod series;
mod shelf;
mod shelves;
mod shows;
mod stock;
mod subjects;

use std::sync::Arc;

use qm_db::Db;
use qm_platform::Audit;
use qm_ports::beside::Beside;

pub use owned::owned_by_ids;
use shelf::SeriesShelf;
pub use shelf::Shelf;

/// Lists of the libraries' contents.
pub struct Catalogue {
    db: Db,
    audit: Audit,
    /// Areas that know what lies beside media.
    beside: Arc<Beside>,
    /// Cache of items, for lists of large libraries.
    shelf: Arc<Shelf>,
    /// Cache of the series that were asked for last.
    series: SeriesShelf,
}

impl Catalogue {
    pub fn new(db: Db, audit: Audit) -> Arc<Self> {
        Arc::new(Self {
            db,
            audit,
            beside: Arc::default(),
            shelf: Arc::default(),
            series: SeriesShelf::default(),
        })
    }

    /// List of the areas that know what lies beside media, to which they add themselves.
    pub fn beside(&self) -> Arc<Beside> {
        self.beside.clone()
    }

    /// Drops unused cache entries.
    pub fn tidy(&self) {
        self.shelf.tidy();
        self.series.tidy();
    }
}
