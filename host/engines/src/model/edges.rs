//! When a torrent has become complete, has failed, or has a new ratio: judged between what is stored and what is seen.
//!
//! Two things look like a completion and are none. While a client checks data, its progress says how far the check is;
//! so a torrent that is being checked keeps the progress stored before. And a client that has just restarted may list a
//! finished torrent at 0 before it looked at the disk; so one that was complete before is complete again only if it was
//! seen fetching in between. A client that crashed takes the moment it found the data again for that of the completion;
//! so the first instant that is known stays.

use qm_kernel::Timestamp;
use qm_ports::engine::{Torrent, TorrentState, TrackerStanding};

/// The stored state that edges are judged against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    pub progress: f64,
    pub ratio: f64,
    pub completed_at: Option<Timestamp>,
}

impl Prior {
    /// The state of a torrent before it was handed to its client: it had nothing.
    pub fn of_new(torrent: &Torrent) -> Self {
        Self {
            progress: 0.0,
            ratio: torrent.ratio,
            completed_at: None,
        }
    }
}

/// The progress that is stored for a torrent seen as `now`.
pub fn progress_to_store(prior: Option<&Prior>, now: &Torrent) -> f64 {
    match prior {
        Some(prior) if now.state == TorrentState::Checking => prior.progress,
        _ => now.progress,
    }
}

/// The completion instant that is stored: the first one told of a complete torrent.
/// A client that checks what it has just downloaded tells the instant first and the completion only afterwards.
pub fn completion_to_store(prior: Option<&Prior>, now: &Torrent) -> Option<Timestamp> {
    match prior {
        None => now.completed_at,
        Some(prior) => prior.completed_at.or_else(|| {
            let is_complete = progress_to_store(Some(prior), now) >= 1.0;
            now.completed_at.filter(|_| is_complete)
        }),
    }
}

/// Bytes that it did not have are coming in.
pub fn is_fetching(now: &Torrent) -> bool {
    now.state == TorrentState::Downloading && now.progress < 1.0 && now.download_rate > 0
}

/// It has all that is wanted. One that is being checked does not say so.
pub fn is_complete(now: &Torrent) -> bool {
    now.progress >= 1.0 && now.state != TorrentState::Checking
}

/// It is to be downloaded, and is not complete. One that waits for its turn, or is halted, does not want data now.
pub fn wants_data(now: &Torrent) -> bool {
    matches!(now.state, TorrentState::Downloading | TorrentState::Error) && now.progress < 1.0
}

/// The instant since which a torrent wants data and has got none. `grew`: it has got some since it was seen last.
pub fn stalled_since(
    before: Option<Timestamp>,
    now: &Torrent,
    grew: bool,
    at: Timestamp,
) -> Option<Timestamp> {
    if !wants_data(now) {
        return None;
    }
    Some(before.filter(|_| !grew).unwrap_or(at))
}

/// The torrent was not complete and is now. `fetched`: it was seen fetching since it was complete last. A torrent
/// without a prior state is only recorded.
pub fn has_completed(prior: &Prior, now: &Torrent, fetched: bool) -> bool {
    let rose = prior.progress < 1.0 && progress_to_store(Some(prior), now) >= 1.0;
    rose && (prior.completed_at.is_none() || fetched)
}

/// The torrent fell into an error since it was last seen in this run of the service. An error that is only now known,
/// because the client told its trackers for the first time (as after each start), is not a fall.
pub fn has_failed(before: Option<&Torrent>, now: &Torrent) -> bool {
    before.is_some_and(|before| {
        let is_learned =
            before.tracker_standing.is_none() && now.tracker_standing == Some(TrackerStanding::Unregistered);
        before.state != TorrentState::Error && !is_learned
    }) && now.state == TorrentState::Error
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use qm_test_base::blank::torrent;

    use super::*;

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
        judge_all(sightings).0
    }

    /// The completions, and the instant that is stored in the end.
    fn judge_all(sightings: &[Torrent]) -> (usize, Option<Timestamp>) {
        let mut prior: Option<Prior> = None;
        let (mut count, mut fetched) = (0, false);
        for now in sightings {
            fetched |= is_fetching(now);
            if prior
                .as_ref()
                .is_some_and(|prior| has_completed(prior, now, fetched))
            {
                count += 1;
            }
            fetched &= progress_to_store(prior.as_ref(), now) < 1.0;
            prior = Some(Prior {
                progress: progress_to_store(prior.as_ref(), now),
                ratio: now.ratio,
                completed_at: completion_to_store(prior.as_ref(), now),
            });
        }
        (count, prior.and_then(|prior| prior.completed_at))
    }

    fn fetching(progress: f64, completed_at: Option<i64>) -> Torrent {
        Torrent {
            download_rate: 1,
            ..seen(TorrentState::Downloading, progress, completed_at)
        }
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
                    fetching(0.8, Some(5)),
                    seen(Downloading, 0.9, Some(5)),
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
    fn the_first_instant_of_a_completion_stays() {
        use TorrentState::{Checking, Downloading, Seeding};
        // Killed before it had stored that, it finds the data again and takes the moment for that of the completion.
        let crashed = [
            fetching(0.5, None),
            seen(Seeding, 1.0, Some(5)),
            seen(Downloading, 0.0, None),
            seen(Checking, 0.0, None),
            seen(Downloading, 0.9, Some(9)),
            seen(Seeding, 1.0, Some(9)),
        ];
        assert_eq!(judge_all(&crashed), (1, Some(Timestamp::from_secs(5))));
        for (sightings, expected) in [
            (vec![seen(Seeding, 1.0, Some(5)), seen(Seeding, 1.0, Some(9))], 5),
            (
                vec![
                    seen(Downloading, 0.9, None),
                    seen(Checking, 0.0, Some(4)),
                    seen(Seeding, 1.0, Some(5)),
                    seen(Downloading, 0.0, Some(7)),
                    seen(Seeding, 1.0, Some(9)),
                ],
                5,
            ),
            (vec![seen(Seeding, 1.0, None), seen(Seeding, 1.0, Some(9))], 9),
        ] {
            assert_eq!(judge_all(&sightings).1, Some(Timestamp::from_secs(expected)));
        }
    }

    #[test]
    fn a_stall_begins_with_the_last_byte_and_ends_with_the_next() {
        use TorrentState::{Downloading, Error, Paused, Queued, Seeding};
        let at = Timestamp::from_secs;
        for (before, state, progress, grew, expected) in [
            (None, Downloading, 0.5, false, Some(9)),
            (Some(3), Downloading, 0.5, false, Some(3)),
            (Some(3), Downloading, 0.5, true, Some(9)),
            (Some(3), Error, 0.5, false, Some(3)),
            (Some(3), Paused, 0.5, false, None),
            (Some(3), Queued, 0.5, false, None),
            (Some(3), Seeding, 1.0, false, None),
            (Some(3), Error, 1.0, false, None),
        ] {
            let now = seen(state, progress, None);
            assert_eq!(
                stalled_since(before.map(at), &now, grew, at(9)),
                expected.map(at),
                "{before:?} {state:?} {progress} {grew}"
            );
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
        let lost = Torrent {
            tracker_standing: Some(TrackerStanding::Unregistered),
            ..failed.clone()
        };
        let trusted = Torrent {
            tracker_standing: Some(TrackerStanding::Working),
            ..fine.clone()
        };
        assert!(has_failed(Some(&trusted), &lost));
        assert!(
            !has_failed(Some(&fine), &lost),
            "its trackers were not known before"
        );
        assert!(
            has_failed(Some(&fine), &failed),
            "its client's own error is an edge"
        );
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
