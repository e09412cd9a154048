//! When a torrent has become complete, has failed, or has a new ratio: judged between what is stored and what is seen.
//!
//! Two things look like a completion and are none. While a client checks data, its progress says how far the check is;
//! so a torrent that is being checked keeps the progress stored before. And a client that has just restarted may list a
//! finished torrent at 0 before it looked at the disk; so a completion instant that was known before is not a new one.

use qm_kernel::Timestamp;
use qm_kernel::engine::{Torrent, TorrentState};

/// What edges are judged against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    pub progress: f64,
    pub ratio: f64,
    pub completed_at: Option<Timestamp>,
}

/// The progress that is stored for a torrent seen as `now`.
pub fn progress_to_store(prior: Option<&Prior>, now: &Torrent) -> f64 {
    match prior {
        Some(prior) if now.state == TorrentState::Checking => prior.progress,
        _ => now.progress,
    }
}

/// The completion instant that is stored: one that was known stays until a new one is told of a complete torrent.
/// A client that checks what it has just downloaded tells the instant first and the completion only afterwards.
pub fn completion_to_store(prior: Option<&Prior>, now: &Torrent) -> Option<Timestamp> {
    match prior {
        Some(prior) if progress_to_store(Some(prior), now) < 1.0 => prior.completed_at,
        Some(prior) => now.completed_at.or(prior.completed_at),
        None => now.completed_at,
    }
}

/// The torrent was not complete and is now. A torrent without a prior only sets the line.
pub fn has_completed(prior: &Prior, now: &Torrent) -> bool {
    let rose = prior.progress < 1.0 && progress_to_store(Some(prior), now) >= 1.0;
    let known_before =
        prior.completed_at.is_some() && completion_to_store(Some(prior), now) == prior.completed_at;
    rose && !known_before
}

/// The torrent fell into an error since it was last seen in this run of the service.
pub fn has_failed(before: Option<&Torrent>, now: &Torrent) -> bool {
    before.is_some_and(|before| before.state != TorrentState::Error) && now.state == TorrentState::Error
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sync::snapshot::tests::torrent;

    fn seen(state: TorrentState, progress: f64, completed_at: Option<i64>) -> Torrent {
        Torrent {
            state,
            progress,
            completed_at: completed_at.map(Timestamp::from_secs),
            ..torrent(1)
        }
    }

    /// Stores one sighting after another and counts completions.
    fn completions(sightings: &[Torrent]) -> usize {
        let mut prior: Option<Prior> = None;
        let mut count = 0;
        for now in sightings {
            if prior.as_ref().is_some_and(|prior| has_completed(prior, now)) {
                count += 1;
            }
            prior = Some(Prior {
                progress: progress_to_store(prior.as_ref(), now),
                ratio: now.ratio,
                completed_at: completion_to_store(prior.as_ref(), now),
            });
        }
        count
    }

    #[test]
    fn completions_are_told_once_and_only_when_real() {
        use TorrentState::{Checking, Downloading, Paused, Seeding};
        for (what, sightings, expected) in [
            ("first sighting", vec![seen(Seeding, 1.0, Some(5))], 0),
            (
                "downloaded",
                vec![
                    seen(Downloading, 0.9, None),
                    seen(Seeding, 1.0, Some(5)),
                    seen(Seeding, 1.0, Some(5)),
                ],
                1,
            ),
            (
                "checked after the download, the instant being told already",
                vec![
                    seen(Downloading, 0.9, None),
                    seen(Checking, 0.0, Some(5)),
                    seen(Seeding, 1.0, Some(5)),
                ],
                1,
            ),
            (
                "without an instant",
                vec![seen(Downloading, 0.9, None), seen(Paused, 1.0, None)],
                1,
            ),
            (
                "recheck of a complete one",
                vec![
                    seen(Seeding, 1.0, Some(5)),
                    seen(Checking, 0.2, Some(5)),
                    seen(Seeding, 1.0, Some(5)),
                ],
                0,
            ),
            (
                "recheck that reaches its end, then finds a hole, then fills it",
                vec![
                    seen(Seeding, 1.0, Some(5)),
                    seen(Checking, 1.0, Some(5)),
                    seen(Downloading, 0.8, Some(5)),
                    seen(Seeding, 1.0, Some(9)),
                ],
                1,
            ),
            (
                "recheck of an incomplete one shows the check's progress",
                vec![
                    seen(Downloading, 0.5, None),
                    seen(Checking, 1.0, None),
                    seen(Downloading, 0.5, None),
                ],
                0,
            ),
            (
                "a client restarts and lists it at 0 for a while",
                vec![
                    seen(Seeding, 1.0, Some(5)),
                    seen(Downloading, 0.0, Some(5)),
                    seen(Seeding, 1.0, Some(5)),
                ],
                0,
            ),
            (
                "a client restarts and forgets the instant for a while",
                vec![
                    seen(Seeding, 1.0, Some(5)),
                    seen(Downloading, 0.0, None),
                    seen(Seeding, 1.0, Some(5)),
                ],
                0,
            ),
            (
                "data was there already",
                vec![seen(Checking, 0.0, None), seen(Seeding, 1.0, Some(5))],
                1,
            ),
        ] {
            assert_eq!(completions(&sightings), expected, "{what}");
        }
    }

    #[test]
    fn failing_is_an_edge_with_a_before() {
        let (fine, failed) = (
            seen(TorrentState::Downloading, 0.0, None),
            seen(TorrentState::Error, 0.0, None),
        );
        assert!(has_failed(Some(&fine), &failed));
        assert!(!has_failed(Some(&failed), &failed));
        assert!(!has_failed(None, &failed));
        assert!(!has_failed(Some(&failed), &fine));
    }

    proptest! {
        /// Between two completions the torrent was seen incomplete, and never is one told while data is being checked.
        #[test]
        fn a_completion_needs_an_incomplete_sighting_before(
            steps in prop::collection::vec((prop::sample::select(TorrentState::ALL), 0u8..=4, prop::option::of(1i64..4)), 1..20)
        ) {
            let sightings: Vec<Torrent> = steps.into_iter().map(|(state, p, at)| seen(state, f64::from(p) / 4.0, at)).collect();
            let incomplete = sightings.iter().filter(|t| t.progress < 1.0).count();
            prop_assert!(completions(&sightings) <= incomplete);
            let checking: Vec<Torrent> = sightings.into_iter().map(|t| Torrent { state: TorrentState::Checking, ..t }).collect();
            prop_assert_eq!(completions(&checking), 0);
        }
    }
}
