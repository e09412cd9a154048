//! Judgement on torrents: which are dead, which are alive again, and which somebody has taken up by hand.

use std::time::Duration;

use qm_kernel::Timestamp;
use qm_ports::engine::{Torrent, TorrentState};
use qm_ports::parking::ParkReason;

use super::row::Row;
use super::rules::Rules;

/// Shortest probe: a sweep that somebody asks for right after another must not take a torrent for dead that had no time to find
/// anybody.
pub const SHORTEST_PROBE: Duration = Duration::from_mins(1);
/// Time after a pause in which a list may still show the torrent as it was.
const LIST_DELAY: Duration = Duration::from_secs(30);

/// True if somebody shares the torrent, or nothing of it is missing.
pub fn is_alive(torrent: &Torrent) -> bool {
    torrent.seeds_connected > 0 || torrent.download_rate > 0 || torrent.progress >= 1.0
}

/// True if its client runs it, or would as soon as there is room.
pub const fn is_running(state: TorrentState) -> bool {
    matches!(
        state,
        TorrentState::Downloading | TorrentState::Seeding | TorrentState::Queued | TorrentState::Allocating
    )
}

/// True if its client does not run it until it is told to.
pub const fn is_at_rest(state: TorrentState) -> bool {
    matches!(state, TorrentState::Paused | TorrentState::Stopped)
}

/// Seeders that are known of; a client that has not heard of any says the same as one that knows of none.
pub fn known_seeders(torrent: &Torrent) -> u32 {
    torrent.seeds_total.unwrap_or(0)
}

/// Reason to park a torrent; none to leave it. `released_at`: when it was parked before and let go.
pub fn find_reason(
    torrent: &Torrent,
    released_at: Option<Timestamp>,
    rules: &Rules,
    now: Timestamp,
) -> Option<ParkReason> {
    let added_at = torrent.added_at?;
    if torrent.state != TorrentState::Downloading || is_alive(torrent) {
        return None;
    }
    let since = released_at.map_or(added_at, |released_at| released_at.max(added_at));
    let age = now.since(since);
    let has_nobody = torrent.peers_connected == 0 && known_seeders(torrent) < rules.min_seeders;
    if has_nobody && age >= rules.dead_age() {
        Some(ParkReason::NoSeeders)
    } else if rules.stalled_age().is_some_and(|limit| age >= limit) {
        Some(ParkReason::Stalled)
    } else {
        None
    }
}

/// Result of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    Alive,
    Dead,
    /// Its client does not run it: the probe never began, or somebody ended it.
    Idle,
    /// It goes on.
    Early,
}

/// Judges a torrent that is probed.
pub fn judge_probe(row: &Row, torrent: &Torrent, now: Timestamp) -> Probe {
    let began = row.probing_since.unwrap_or(now);
    if is_alive(torrent) {
        Probe::Alive
    } else if torrent.state == TorrentState::Checking || now.since(began) < SHORTEST_PROBE {
        Probe::Early
    } else if is_at_rest(torrent.state) {
        Probe::Idle
    } else {
        Probe::Dead
    }
}

/// True if somebody has started a torrent that rests. `confirmed_at`: when its client told so.
pub fn is_taken_up(row: &Row, torrent: &Torrent, confirmed_at: Timestamp) -> bool {
    let is_sure = |rests_since: Timestamp| confirmed_at >= rests_since.plus(LIST_DELAY);
    row.is_resting() && row.rests_since.is_some_and(is_sure) && is_running(torrent.state)
}

/// True if a torrent is another one than was parked: it was removed and added once more.
pub fn is_another(row: &Row, torrent: &Torrent) -> bool {
    torrent.added_at.is_some_and(|added_at| added_at > row.parked_at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use qm_test_base::blank::torrent;

    use super::*;

    const NOW: Timestamp = Timestamp::from_secs(1_900_000_000);

    fn minutes_ago(minutes: u64) -> Timestamp {
        NOW.minus(Duration::from_secs(minutes * 60))
    }

    /// A torrent that nobody shares, added some minutes ago.
    fn dead(minutes: u64) -> Torrent {
        Torrent {
            added_at: Some(minutes_ago(minutes)),
            ..torrent(1)
        }
    }

    fn row() -> Row {
        Row {
            hash: torrent(1).hash.to_string(),
            name: "torrent 1".into(),
            reason: ParkReason::NoSeeders,
            parked_at: minutes_ago(100),
            rests_since: Some(minutes_ago(100)),
            probing_since: None,
            last_probed_at: None,
            probe_count: 0,
            last_seeders: 0,
            released_at: None,
            updated_at: minutes_ago(100),
        }
    }

    fn reason(torrent: &Torrent) -> Option<ParkReason> {
        find_reason(torrent, None, &Rules::default(), NOW)
    }

    #[test]
    fn a_torrent_is_parked_for_the_reason_that_it_has() {
        use ParkReason::{NoSeeders, Stalled};
        assert_eq!(reason(&dead(29)), None);
        assert_eq!(reason(&dead(30)), Some(NoSeeders));
        // A leecher who has nothing that is missing.
        let with_peer = |minutes| Torrent {
            peers_connected: 1,
            ..dead(minutes)
        };
        assert_eq!(
            (reason(&with_peer(179)), reason(&with_peer(180))),
            (None, Some(Stalled))
        );
        // The tracker knows a seeder that does not answer.
        let with_known = |minutes| Torrent {
            seeds_total: Some(1),
            ..dead(minutes)
        };
        assert_eq!(
            (reason(&with_known(179)), reason(&with_known(180))),
            (None, Some(Stalled))
        );
        let unknown = Torrent {
            seeds_total: None,
            ..dead(30)
        };
        assert_eq!(reason(&unknown), Some(NoSeeders));
        for kept in [
            Torrent {
                added_at: None,
                ..dead(0)
            },
            Torrent {
                download_rate: 1,
                ..dead(9999)
            },
            Torrent {
                seeds_connected: 1,
                ..dead(9999)
            },
            Torrent {
                progress: 1.0,
                ..dead(9999)
            },
        ] {
            assert_eq!(reason(&kept), None, "{kept:?}");
        }
        for state in TorrentState::ALL
            .iter()
            .filter(|state| **state != TorrentState::Downloading)
        {
            let kept = Torrent {
                state: *state,
                ..dead(9999)
            };
            assert_eq!(reason(&kept), None, "{state:?}");
        }
    }

    #[test]
    fn a_rule_can_be_off_or_ask_for_more_seeders() {
        let judge = |torrent: &Torrent, rules: Rules| find_reason(torrent, None, &rules, NOW);
        let off = Rules {
            stalled_after: 0,
            ..Rules::default()
        };
        let stalled = Torrent {
            peers_connected: 1,
            ..dead(99_999)
        };
        assert_eq!(judge(&stalled, off), None);
        let none = Rules {
            min_seeders: 0,
            stalled_after: 0,
            ..Rules::default()
        };
        assert_eq!(judge(&dead(99_999), none), None);
        let many = Rules {
            min_seeders: 3,
            ..off
        };
        let two = Torrent {
            seeds_total: Some(2),
            ..dead(30)
        };
        assert_eq!(judge(&two, many), Some(ParkReason::NoSeeders));
    }

    #[test]
    fn one_that_was_let_go_has_time_again() {
        let judge = |minutes| find_reason(&dead(99_999), Some(minutes_ago(minutes)), &Rules::default(), NOW);
        assert_eq!((judge(29), judge(30)), (None, Some(ParkReason::NoSeeders)));
        let later = find_reason(&dead(29), Some(minutes_ago(500)), &Rules::default(), NOW);
        assert_eq!(later, None, "it was added since");
    }

    #[test]
    fn a_probe_ends_when_somebody_is_there_or_when_it_had_its_time() {
        let probing = |seconds| Row {
            rests_since: None,
            probing_since: Some(NOW.minus(Duration::from_secs(seconds))),
            ..row()
        };
        let judge = |torrent: &Torrent| judge_probe(&probing(60), torrent, NOW);
        assert_eq!(judge(&dead(500)), Probe::Dead);
        assert_eq!(judge_probe(&probing(59), &dead(500), NOW), Probe::Early);
        let seen = Torrent {
            seeds_connected: 1,
            ..dead(500)
        };
        assert_eq!(judge_probe(&probing(1), &seen, NOW), Probe::Alive);
        let stopped = |state| Torrent { state, ..dead(500) };
        assert_eq!(judge(&stopped(TorrentState::Paused)), Probe::Idle);
        assert_eq!(judge(&stopped(TorrentState::Checking)), Probe::Early);
        assert_eq!(judge(&stopped(TorrentState::Error)), Probe::Dead);
        // Peers who have nothing that is missing are no life.
        let peers = Torrent {
            peers_connected: 9,
            ..dead(500)
        };
        assert_eq!(judge(&peers), Probe::Dead);
    }

    #[test]
    fn one_that_runs_though_it_rests_was_taken_up() {
        let running = dead(500);
        let at = |seconds: u64| minutes_ago(100).plus(Duration::from_secs(seconds));
        assert!(!is_taken_up(&row(), &running, at(29)), "the list may be older");
        assert!(is_taken_up(&row(), &running, at(30)));
        let paused = Torrent {
            state: TorrentState::Paused,
            ..dead(500)
        };
        assert!(!is_taken_up(&row(), &paused, NOW));
        let mut probing = row();
        probing.probe(minutes_ago(50));
        assert!(!is_taken_up(&probing, &running, NOW));
        let mut released = row();
        released.release(minutes_ago(50));
        assert!(!is_taken_up(&released, &running, NOW));
    }

    #[test]
    fn one_that_was_added_later_is_another() {
        assert!(!is_another(&row(), &dead(100)) && is_another(&row(), &dead(99)));
        let unknown = Torrent {
            added_at: None,
            ..dead(0)
        };
        assert!(!is_another(&row(), &unknown));
    }

    proptest! {
        /// A row is in one of five conditions, whatever happens to it in whatever order.
        #[test]
        fn a_row_is_never_in_two_conditions(steps in prop::collection::vec(0..4_u8, 0..30)) {
            let mut row = row();
            for (number, step) in steps.into_iter().enumerate() {
                let now = NOW.plus(Duration::from_secs(number as u64));
                match step {
                    0 => row.rest(now),
                    1 => row.probe(now),
                    2 => row.count_probe(1, now),
                    _ => row.release(now),
                }
                let conditions = [row.is_probing(), row.is_unsettled(), row.is_resting(), !row.is_parked()];
                prop_assert_eq!(conditions.iter().filter(|holds| **holds).count(), 1);
                prop_assert_eq!(row.mark().is_some(), row.is_parked());
            }
        }
    }
}
