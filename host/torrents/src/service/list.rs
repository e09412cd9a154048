//! Torrents from the last snapshots; no client is asked.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use qm_engines::{Engine, TorrentsError};
use qm_kernel::Timestamp;
use qm_lanes::IgnorePoison;
use qm_ports::engine::EngineError;
use qm_torrent_lists::{ListQuery, Pages, RenderedPage, Snapshot, TorrentEntry};

use super::Torrents;
use crate::lanes::CHOICES;
use crate::model::answers::EngineChoice;

/// Time limit on finding the torrents that a filter chooses.
const PATIENCE: Duration = Duration::from_secs(2);

/// A page, and the instant at which the engine last confirmed its content; of several engines, the earliest instant.
pub struct ListedPage {
    pub page: RenderedPage,
    pub at: Timestamp,
}

/// One torrent of a list.
pub struct Found {
    pub entry: Arc<TorrentEntry>,
    /// The instant at which its engine last confirmed it.
    pub at: Timestamp,
    /// The engine is offline.
    pub stale: bool,
}

/// The merged list of all engines, kept while none of their snapshots changes.
#[derive(Default)]
pub struct MergedList(Mutex<Option<Merged>>);

struct Merged {
    of: Vec<Arc<Snapshot>>,
    pages: Arc<Pages>,
}

impl MergedList {
    fn pages(&self, of: Vec<Arc<Snapshot>>) -> Arc<Pages> {
        let mut kept = self.0.lock().ignore_poison();
        if let Some(merged) = kept.as_ref() {
            let same =
                merged.of.len() == of.len() && merged.of.iter().zip(&of).all(|(a, b)| Arc::ptr_eq(a, b));
            if same {
                return merged.pages.clone();
            }
        }
        let entries: Vec<Arc<TorrentEntry>> = of
            .iter()
            .flat_map(|snapshot| snapshot.entries().iter().cloned())
            .collect();
        let pages = Arc::new(Pages::new(Arc::new(entries)));
        *kept = Some(Merged {
            of,
            pages: pages.clone(),
        });
        pages
    }
}

impl Torrents {
    pub async fn list(&self, choice: &EngineChoice, query: ListQuery) -> Result<ListedPage, TorrentsError> {
        let query = if query.filter.has_conditions() {
            query.judged_at(self.ctx.now())
        } else {
            query
        };
        match choice {
            EngineChoice::One(id) => {
                let engine = self.resolve(id.as_deref())?;
                let snapshot = listed(&engine).await?;
                let down = engine.is_down().then(|| engine.id.clone()).into_iter().collect();
                let at = confirmed_at(&engine, &snapshot);
                Ok(ListedPage {
                    page: self.page(snapshot, query, down).await?,
                    at,
                })
            }
            EngineChoice::All => self.list_all(query).await,
        }
    }

    async fn list_all(&self, query: ListQuery) -> Result<ListedPage, TorrentsError> {
        let engines = self.engines.all();
        let mut of = Vec::with_capacity(engines.len());
        let mut down = Vec::new();
        let mut at: Option<Timestamp> = None;
        let mut error = self.engines.no_engine();
        for (engine, snapshot) in engines
            .iter()
            .zip(join_all(engines.iter().map(|engine| listed(engine))).await)
        {
            match snapshot {
                Ok(snapshot) => {
                    let confirmed = confirmed_at(engine, &snapshot);
                    at = Some(at.map_or(confirmed, |at| at.min(confirmed)));
                    if engine.is_down() {
                        down.push(engine.id.clone());
                    }
                    of.push(snapshot);
                }
                Err(reason) => error = reason,
            }
        }
        let at = at.ok_or(error)?;
        Ok(ListedPage {
            page: self.page(self.merged.pages(of), query, down).await?,
            at,
        })
    }

    /// A page; on a thread of its own, a few at a time, where finding out what matches may take long.
    async fn page<P>(
        &self,
        pages: Arc<P>,
        query: ListQuery,
        down: Vec<Arc<str>>,
    ) -> Result<RenderedPage, TorrentsError>
    where
        P: AsRef<Pages> + Send + Sync + 'static,
    {
        let page = if query.filter.has_conditions() {
            let choosing = CHOICES.run(move |_| (*pages).as_ref().page(&query, &down, PATIENCE));
            choosing.await?
        } else {
            (*pages).as_ref().page(&query, &down, Duration::MAX)
        };
        page.map_err(|slow| TorrentsError::SlowFilter {
            judged: slow.judged,
            seconds: PATIENCE.as_secs(),
        })
    }

    /// One torrent, and what is known of the moment it was confirmed.
    pub async fn find(&self, engine_id: Option<&str>, hash: &str) -> Result<Found, TorrentsError> {
        let engine = self.resolve(engine_id)?;
        let snapshot = listed(&engine).await?;
        let entry = snapshot
            .get(&hash.to_ascii_lowercase())
            .cloned()
            .ok_or(TorrentsError::NoSuchTorrent)?;
        Ok(Found {
            entry,
            at: confirmed_at(&engine, &snapshot),
            stale: engine.is_down(),
        })
    }
}

async fn listed(engine: &Engine) -> Result<Arc<Snapshot>, TorrentsError> {
    engine
        .listed()
        .await
        .map_err(|error: EngineError| TorrentsError::blame_engine(&engine.name())(error))
}

fn confirmed_at(engine: &Engine, snapshot: &Snapshot) -> Timestamp {
    engine.confirmed_at().unwrap_or(snapshot.changed_at)
}
