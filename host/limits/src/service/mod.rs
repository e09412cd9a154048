//! Use cases of this area. [`Limits`] is what the area wires.

mod act;
mod book;
mod enforce;
mod share;
mod speed;
#[cfg(test)]
mod tests;
mod watch;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use qm_engines::Engines;
use qm_lanes::IgnorePoison;
use qm_platform::Ground;
use qm_ports::action::TorrentHands;
use qm_realtime::Hub;

use crate::error::LimitsError;
use crate::model::share::Scope;
use crate::repo;
use book::Book;
use speed::Speeds;
use watch::Watch;

pub use act::EVENTS;
pub use speed::{TO_CHOOSE, TO_SET};

/// Parts of the server that this area works with.
pub struct LimitsDeps {
    pub ground: Ground,
    pub engines: Arc<Engines>,
    pub hands: Arc<dyn TorrentHands>,
    pub hub: Hub,
}

/// Limits on sharing and of speed.
pub struct Limits {
    ground: Ground,
    engines: Arc<Engines>,
    hands: Arc<dyn TorrentHands>,
    hub: Hub,
    book: Book,
    /// One a loaded engine; held while the engine is passed over.
    watches: Mutex<HashMap<String, Arc<tokio::sync::Mutex<Watch>>>>,
    /// Torrents by engine whose limits somebody set anew: what was done for the old ones is forgotten by the next pass.
    renewed: Mutex<HashMap<String, HashSet<String>>>,
    speeds: Speeds,
}

impl Limits {
    /// Reads what is stored.
    pub async fn start(deps: LimitsDeps) -> Result<Arc<Self>, LimitsError> {
        let limits = Arc::new(Self {
            ground: deps.ground,
            engines: deps.engines,
            hands: deps.hands,
            hub: deps.hub,
            book: Book::default(),
            watches: Mutex::default(),
            renewed: Mutex::default(),
            speeds: Speeds::default(),
        });
        limits.read_book().await?;
        limits.read_speeds().await?;
        Ok(limits)
    }

    /// Reads the limits on sharing again.
    async fn read_book(&self) -> Result<(), LimitsError> {
        let _turn = self.book.reading.lock().await;
        let mut tx = self.ground.db.begin_read().await?;
        let stored = repo::share::list(&mut tx).await?;
        let names = repo::share::list_categories(&mut tx).await?;
        self.book.replace(stored, names);
        Ok(())
    }

    /// Reads the limits on one thing again.
    async fn read_layer(&self, scope: &Scope) -> Result<(), LimitsError> {
        let _turn = self.book.reading.lock().await;
        let mut tx = self.ground.db.begin_read().await?;
        let stored = repo::share::find(&mut tx, scope).await?;
        let names = repo::share::list_categories(&mut tx).await?;
        self.book.change(scope, stored, names);
        Ok(())
    }

    fn watch_of(&self, engine_id: &str) -> Arc<tokio::sync::Mutex<Watch>> {
        let mut watches = self.watches.lock().ignore_poison();
        watches.entry(engine_id.to_owned()).or_default().clone()
    }
}
