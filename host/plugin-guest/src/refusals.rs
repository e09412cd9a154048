//! Requests of a plugin that nobody granted: kept for the administrator, and said once an origin in the log.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard};

use qm_kernel::Timestamp;
use qm_lanes::IgnorePoison;
use serde::Serialize;

use crate::voice::one_line;

/// Texts that are remembered as said; a plugin that asks for more has said enough.
const SAID: usize = 64;
/// The most of one text that is kept.
const TEXT: usize = 300;

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    /// The refusal as a sentence that names what was asked for.
    pub what: String,
    pub at: Timestamp,
}

/// The refusals of one plugin.
#[derive(Debug, Default)]
pub struct Refusals(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    last: Option<Refusal>,
    said: HashSet<String>,
}

impl Refusals {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().ignore_poison()
    }

    /// Notes that `plugin` was refused `what`.
    pub fn note(&self, plugin: &str, what: &str, at: Timestamp) {
        let what = one_line(what, TEXT);
        let is_new = {
            let mut inner = self.inner();
            let is_new = inner.said.len() < SAID && inner.said.insert(what.clone());
            inner.last = Some(Refusal {
                what: what.clone(),
                at,
            });
            is_new
        };
        if is_new {
            tracing::warn!(target: "plugin", plugin, "refused: {what}");
        }
    }

    pub fn last(&self) -> Option<Refusal> {
        self.inner().last.clone()
    }

    /// Other grants: what is refused under them is said anew.
    pub fn begin_anew(&self) {
        self.inner().said.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_is_kept_and_the_memory_of_what_was_said_is_bounded() {
        let refusals = Refusals::default();
        for n in 0..1000 {
            refusals.note(
                "p",
                &format!("https://{n}.example is not granted"),
                Timestamp::from_secs(n),
            );
        }
        let last = refusals.last().unwrap();
        assert_eq!(
            (last.what.as_str(), last.at),
            ("https://999.example is not granted", Timestamp::from_secs(999))
        );
        assert_eq!(refusals.inner().said.len(), SAID);
    }
}
