//! What is known of torrents because they were added through us: when, and with which tags. A client may not tell (one
//! that was handed a torrent paused has no instant to tell), or have no tags at all.
//!
//! Bounds: one entry a torrent that was added through us, for as long as its engine lists it.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use qm_kernel::Timestamp;
use qm_ports::engine::Torrent;

/// How long a torrent may be missing from the list before what is known of it goes too: what was just handed over is
/// not listed yet, and a magnet link changes into its torrent under one hash.
const MISSING_LIMIT_MS: i64 = 60_000;

/// What is known of one torrent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intake {
    pub added_at: Timestamp,
    /// Empty where the client keeps them itself.
    pub tags: Vec<String>,
}

struct Entry {
    intake: Intake,
    missing_since: Option<Timestamp>,
}

/// What is known of the torrents of one engine, by hash.
#[derive(Default)]
pub struct Intakes(Mutex<HashMap<String, Entry>>);

impl Intakes {
    pub fn new(stored: Vec<(String, Intake)>) -> Self {
        let intakes = Self::default();
        for (hash, intake) in stored {
            intakes.put(hash, intake);
        }
        intakes
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn put(&self, hash: String, intake: Intake) {
        let entry = Entry {
            intake,
            missing_since: None,
        };
        self.entries().insert(hash, entry);
    }

    /// Puts what is known into what the client told. A torrent was added when we added it, whenever the client began with
    /// it.
    pub fn fill(&self, told: &mut [Torrent]) {
        let entries = self.entries();
        if entries.is_empty() {
            return;
        }
        for torrent in told {
            if let Some(Entry { intake, .. }) = entries.get(&*torrent.hash) {
                torrent.added_at = Some(intake.added_at);
                if !intake.tags.is_empty() {
                    torrent.tags.clone_from(&intake.tags);
                }
            }
        }
    }

    /// Those that have been missing from the list for too long, with what tells them from a later add of the same torrent.
    pub fn gone(&self, is_listed: impl Fn(&str) -> bool, at: Timestamp) -> Vec<(String, Timestamp)> {
        let mut gone = Vec::new();
        for (hash, entry) in self.entries().iter_mut() {
            if is_listed(hash) {
                entry.missing_since = None;
                continue;
            }
            let since = *entry.missing_since.get_or_insert(at);
            if at.ms() - since.ms() >= MISSING_LIMIT_MS {
                gone.push((hash.clone(), entry.intake.added_at));
            }
        }
        gone
    }

    /// Forgets what [`Intakes::gone`] returned.
    pub fn forget(&self, gone: &[(String, Timestamp)]) {
        let gone: HashSet<(&str, Timestamp)> = gone.iter().map(|(hash, at)| (hash.as_str(), *at)).collect();
        self.entries()
            .retain(|hash, entry| !gone.contains(&(hash.as_str(), entry.intake.added_at)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::snapshot::tests::{hash, torrent};

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_ms(ms)
    }

    fn intake(ms: i64, tags: &[&str]) -> Intake {
        Intake {
            added_at: at(ms),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        }
    }

    #[test]
    fn what_the_client_does_not_tell_is_filled_in() {
        let intakes = Intakes::new(vec![
            (hash(1).to_string(), intake(5, &["a"])),
            (hash(2).to_string(), intake(6, &[])),
        ]);
        let told = |n| Torrent {
            tags: vec!["its own".into()],
            added_at: Some(at(9)),
            ..torrent(n)
        };
        let mut list = [told(1), told(2), told(3)];
        intakes.fill(&mut list);
        let known: Vec<_> = list.iter().map(|t| (t.added_at, t.tags[0].as_str())).collect();
        assert_eq!(
            known,
            [
                (Some(at(5)), "a"),
                (Some(at(6)), "its own"),
                (Some(at(9)), "its own")
            ]
        );
    }

    #[test]
    fn what_is_missing_for_a_minute_is_forgotten_but_not_what_came_again() {
        let intakes = Intakes::new(vec![
            (hash(1).to_string(), intake(1, &[])),
            (hash(2).to_string(), intake(1, &[])),
        ]);
        let listed = |listed: u8| move |asked: &str| asked == &*hash(listed);
        assert_eq!(intakes.gone(listed(1), at(0)), []);
        assert_eq!(
            intakes.gone(listed(2), at(59_999)),
            [],
            "the other one, since now"
        );
        assert_eq!(intakes.gone(listed(2), at(60_000)), []);
        let gone = intakes.gone(listed(2), at(119_999));
        assert_eq!(gone, [(hash(1).to_string(), at(1))]);
        intakes.put(hash(1).to_string(), intake(7, &[]));
        intakes.forget(&gone);
        assert_eq!(intakes.entries().len(), 2, "added again meanwhile");
        intakes.forget(&[(hash(1).to_string(), at(7))]);
        assert_eq!(intakes.entries().len(), 1);
    }
}
