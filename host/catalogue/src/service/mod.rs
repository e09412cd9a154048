//! The use cases of this room.

mod export;
mod items;
mod owned;
mod series;
mod shelf;
mod shows;

use std::sync::Arc;

use qm_db::Db;
use qm_platform::Audit;

pub use owned::owned_by_ids;
use shelf::SeriesShelf;
pub use shelf::Shelf;

/// Lists of what lies in the libraries.
pub struct Catalogue {
    db: Db,
    audit: Audit,
    /// Items in memory, for lists of large libraries.
    shelf: Arc<Shelf>,
    /// Series that were asked for last.
    series: SeriesShelf,
}

impl Catalogue {
    pub fn new(db: Db, audit: Audit) -> Arc<Self> {
        Arc::new(Self {
            db,
            audit,
            shelf: Arc::default(),
            series: SeriesShelf::default(),
        })
    }

    /// Lets go of what nobody has asked for lately.
    pub fn tidy(&self) {
        self.shelf.tidy();
        self.series.tidy();
    }
}
