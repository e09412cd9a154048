//! Results of a bulk.

use std::sync::Arc;

/// Reason why nothing was done with a torrent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub code: &'static str,
    pub text: Arc<str>,
}

/// Result for one of the torrents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemResult {
    /// None: no engine was found for it.
    pub engine_id: Option<Arc<str>>,
    /// The hash as it was given.
    pub hash: String,
    pub failure: Option<Failure>,
}

/// Results in the order in which the torrents were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub results: Vec<ItemResult>,
    pub failed: usize,
}

/// A bulk job as it stands.
pub struct Standing {
    pub action: &'static str,
    pub total: usize,
    /// Torrents that were tried.
    pub done: usize,
    pub has_ended: bool,
    pub succeeded: usize,
    pub failed: usize,
    /// A page of the results.
    pub results: Vec<ItemResult>,
    pub results_total: usize,
}

impl Outcome {
    pub fn new(results: Vec<ItemResult>) -> Self {
        let failed = results.iter().filter(|result| result.failure.is_some()).count();
        Self { results, failed }
    }

    pub fn succeeded(&self) -> usize {
        self.results.len() - self.failed
    }

    /// The reasons of failures with their numbers, the most frequent first; `most` at most.
    pub fn reasons(&self, most: usize) -> Vec<(Arc<str>, usize)> {
        let mut counts: Vec<(Arc<str>, usize)> = Vec::new();
        for failure in self.results.iter().filter_map(|result| result.failure.as_ref()) {
            let known = counts.iter().position(|(text, _)| *text == failure.text);
            match known {
                Some(at) => counts[at].1 += 1,
                // Texts may name the torrent: not all are compared with all.
                None if counts.len() < 100 => counts.push((failure.text.clone(), 1)),
                None => {}
            }
        }
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts.truncate(most);
        counts
    }
}
