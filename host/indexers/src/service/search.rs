//! One query to all indexers, or to some.

use async_trait::async_trait;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use qm_ports::indexer::{
    Candidate, Fetched, Found, IndexerError, Indexers as Port, IndexersError, Query, SearchFailure,
    SearchResult, Wanted,
};
use tokio::sync::Semaphore;

use super::ask::Why;
use super::{AT_ONCE, Indexers};
use crate::error::{IndexerAreaError, word};
use crate::model::indexer::Indexer;
use crate::model::merge::{merge, passes};
use crate::repo;

impl Indexers {
    /// Asks the wanted indexers that are enabled, all at once.
    pub async fn search_all(&self, wanted: &Wanted) -> Result<SearchResult, IndexerAreaError> {
        let mut indexers = repo::indexers::all(&mut self.db.begin_read().await?).await?;
        indexers.retain(|indexer| {
            let named = wanted
                .indexers
                .as_ref()
                .is_none_or(|ids| ids.contains(&indexer.id));
            indexer.is_enabled && named
        });
        self.some_settled(&indexers)?;
        let turns = Semaphore::new(AT_ONCE);
        let asked: FuturesUnordered<_> = indexers
            .iter()
            .enumerate()
            .map(|(place, indexer)| {
                let turns = &turns;
                async move {
                    let _turn = turns.acquire().await;
                    let query = Query {
                        term: wanted.term.clone(),
                        season: wanted.season,
                        episode: wanted.episode,
                        categories: wanted.categories.clone(),
                        tv_search: true,
                    };
                    (place, self.search_by(indexer, Why::Search, query).await)
                }
            })
            .collect();
        let mut answers: Vec<(usize, Result<Found, IndexerError>)> = asked.collect().await;
        // Back in the order of priority, whoever was the quickest.
        answers.sort_by_key(|(place, _)| *place);
        Ok(result(&indexers, answers))
    }
}

impl Indexers {
    /// Fails when no indexer can be asked yet because plugins are still being compiled: an empty answer would
    /// mean "nothing found". If some can be asked, the failures name the others.
    fn some_settled(&self, indexers: &[Indexer]) -> Result<(), IndexerAreaError> {
        let mut unsettled = indexers
            .iter()
            .map(|indexer| self.settled(&indexer.implementation).err());
        match unsettled.next() {
            Some(Some(first)) if unsettled.all(|error| error.is_some()) => Err(first),
            _ => Ok(()),
        }
    }
}

fn result(indexers: &[Indexer], answers: Vec<(usize, Result<Found, IndexerError>)>) -> SearchResult {
    let mut result = SearchResult {
        queried: indexers.len(),
        ..SearchResult::default()
    };
    let mut candidates = Vec::new();
    for (indexer, (_, answer)) in indexers.iter().zip(answers) {
        match answer {
            Ok(found) => {
                let warnings = found.warnings.into_iter();
                result
                    .warnings
                    .extend(warnings.map(|warning| format!("{}: {warning}", indexer.name)));
                let releases = found.releases.into_iter();
                let kept = releases.filter(|release| passes(indexer, release));
                candidates.extend(kept.map(|release| Candidate {
                    indexer_id: indexer.id.clone(),
                    indexer_name: indexer.name.clone(),
                    release,
                }));
            }
            Err(error) => {
                result.failed += 1;
                result.failures.push(SearchFailure {
                    indexer_id: indexer.id.clone(),
                    name: indexer.name.clone(),
                    message: indexer.complaint(&error),
                    code: word(&error),
                });
            }
        }
    }
    result.candidates = merge(candidates);
    result
}

#[async_trait]
impl Port for Indexers {
    async fn search(&self, wanted: Wanted) -> Result<SearchResult, IndexersError> {
        Ok(self.search_all(&wanted).await?)
    }

    async fn fetch(&self, link: &str, indexer: Option<&str>) -> Result<Fetched, IndexersError> {
        Ok(self.fetch_release(link, indexer).await?)
    }
}

impl From<IndexerAreaError> for IndexersError {
    fn from(error: IndexerAreaError) -> Self {
        Self {
            kind: error.kind(),
            code: error.code(),
            message: error.to_string(),
        }
    }
}
