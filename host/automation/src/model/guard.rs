//! Guard against loops: rules that undo each other's effects for ever, and rules whose effects bring about their own events.
//!
//! Within [`WINDOW`] a rule runs for a torrent [`MOST_EDGES`] times at most because of events, and at most [`MOST_VISITS`] times
//! from the same place (directory, label and tags) to which something else brought the torrent back. A rule that changes nothing
//! of these, or whose effect lasts, may run as often as its time table says. With one run more it is stopped for that torrent for
//! [`REST`]; any change of a rule begins anew. Kept in memory alone, so a restart begins anew too.
//! Bounds: one visit a rule and place of a torrent, [`MOST_KEPT`] of a torrent; [`MOST_TORRENTS`] torrents, and
//! [`MOST_IN_ALL`] visits of them: some 50 MB.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use qm_kernel::Timestamp;
use qm_ports::action::TorrentRef;
use serde_json::{Map, Value};

/// Time within which runs are counted.
pub const WINDOW: Duration = Duration::from_hours(24);
/// Time for which a rule is stopped for a torrent.
pub const REST: Duration = Duration::from_hours(24);
/// Runs of a rule for a torrent that events may cause.
pub const MOST_EDGES: usize = 12;
/// Runs of a rule for a torrent from the same place.
pub const MOST_VISITS: usize = 4;
/// Torrents whose visits are kept; with one more, those of the last hours alone, or none.
const MOST_TORRENTS: usize = 100_000;
/// Visits and stops that are kept of all torrents; with one more, as above.
const MOST_IN_ALL: usize = 500_000;
/// Visits of a torrent that are kept; the oldest go first.
const MOST_KEPT: usize = 128;

/// Cause of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// An event of the torrent.
    Edge,
    /// A time table.
    Time,
    /// A completion that is found by passes, or an event that rests between two runs: they are bounded elsewhere.
    Bounded,
}

/// A run of a rule.
#[derive(Clone, Copy, Debug)]
struct Visit {
    rule: u32,
    place: u64,
    cause: Cause,
    at: Timestamp,
}

/// Reason why a run is not begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    pub cause: Cause,
    /// Number of runs before it.
    pub runs: usize,
    /// Numbers of other rules that brought the torrent back meanwhile; empty for a rule that events run.
    pub others: Vec<u32>,
    pub until: Timestamp,
    /// True for the first run that is not begun.
    pub is_news: bool,
}

#[derive(Debug, Default)]
struct Seen {
    visits: Vec<Visit>,
    stopped: Vec<(u32, Stop)>,
}

#[derive(Debug, Default)]
pub struct Guard {
    torrents: HashMap<TorrentRef, Seen>,
    /// Number of visits and stops of all torrents.
    kept: usize,
}

/// Place of a torrent, as a run's context has it: what moving and naming it changes.
pub fn place_of(context: &Map<String, Value>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for name in ["savePath", "label", "tags"] {
        context.get(name).map(ToString::to_string).hash(&mut hasher);
    }
    hasher.finish()
}

impl Guard {
    /// Notes that a rule is about to run for a torrent.
    ///
    /// # Errors
    /// When it must not: it would go on for ever.
    pub fn admit(
        &mut self,
        rule: u32,
        torrent: &TorrentRef,
        (place, cause): (u64, Cause),
        now: Timestamp,
    ) -> Result<(), Stop> {
        self.make_room(now);
        let seen = self.torrents.entry(torrent.clone()).or_default();
        let before = seen.len();
        seen.forget_old(now);
        let admitted = seen.admit(rule, place, cause, now);
        self.kept = self.kept + seen.len() - before;
        admitted
    }

    /// Begins anew, because a rule was changed.
    pub fn clear(&mut self) {
        self.torrents.clear();
        self.kept = 0;
    }

    fn make_room(&mut self, now: Timestamp) {
        if self.torrents.len() < MOST_TORRENTS && self.kept < MOST_IN_ALL {
            return;
        }
        self.torrents.retain(|_, seen| {
            seen.forget_old(now);
            seen.len() > 0
        });
        self.kept = self.torrents.values().map(Seen::len).sum();
        // A quarter must be free, or each of the next runs would look through all of them again.
        if self.torrents.len() > MOST_TORRENTS / 4 * 3 || self.kept > MOST_IN_ALL / 4 * 3 {
            self.clear();
        }
    }
}

impl Seen {
    fn len(&self) -> usize {
        self.visits.len() + self.stopped.len()
    }

    fn admit(&mut self, rule: u32, place: u64, cause: Cause, now: Timestamp) -> Result<(), Stop> {
        if let Some((_, stop)) = self.stopped.iter().find(|(of, _)| *of == rule) {
            return Err(Stop {
                is_news: false,
                ..stop.clone()
            });
        }
        self.judge(rule, place, cause, now)
            .inspect_err(|stop| self.stopped.push((rule, stop.clone())))
    }

    fn forget_old(&mut self, now: Timestamp) {
        self.visits.retain(|visit| visit.at.plus(WINDOW) > now);
        self.stopped.retain(|(_, stop)| stop.until > now);
    }

    fn judge(&mut self, rule: u32, place: u64, cause: Cause, now: Timestamp) -> Result<(), Stop> {
        let stop = |runs, others| Stop {
            cause,
            runs,
            others,
            until: now.plus(REST),
            is_news: true,
        };
        let of_rule = self.visits.iter().filter(|visit| visit.rule == rule);
        if cause == Cause::Edge {
            let runs = of_rule.clone().filter(|visit| visit.cause == Cause::Edge).count();
            if runs >= MOST_EDGES {
                return Err(stop(runs, Vec::new()));
            }
        }
        // Runs since the torrent was seen at another place are one visit, whoever ran.
        let moved = self.visits.iter().rposition(|visit| visit.place != place);
        let stay = &mut self.visits[moved.map_or(0, |at| at + 1)..];
        if let Some(visit) = stay
            .iter_mut()
            .find(|visit| visit.rule == rule && cause != Cause::Edge)
        {
            visit.at = now;
            return Ok(());
        }
        let of_rule = self.visits.iter().filter(|visit| visit.rule == rule);
        let here = of_rule.filter(|visit| visit.place == place && visit.cause != Cause::Edge);
        let runs = here.count();
        if cause == Cause::Time && runs >= MOST_VISITS {
            // Whoever brings it back begins elsewhere, and has nothing to do here.
            let is_here = |other: u32| {
                let mut visits = self.visits.iter();
                visits.any(|visit| visit.rule == other && visit.place == place)
            };
            let mut others: Vec<u32> = self.visits.iter().map(|visit| visit.rule).collect();
            others.retain(|other| *other != rule && !is_here(*other));
            others.sort_unstable();
            others.dedup();
            return Err(stop(runs, others));
        }
        if self.visits.len() >= MOST_KEPT {
            self.visits.remove(0);
        }
        self.visits.push(Visit {
            rule,
            place,
            cause,
            at: now,
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn minutes_on(minute: i64) -> Timestamp {
        Timestamp::from_secs(1_900_000_000 + minute * 60)
    }

    fn torrent(n: u8) -> TorrentRef {
        TorrentRef {
            engine_id: "e".into(),
            hash: format!("{n:02x}").repeat(20),
        }
    }

    fn admit(guard: &mut Guard, rule: u32, place: u64, cause: Cause, minute: i64) -> Result<(), Stop> {
        guard.admit(rule, &torrent(1), (place, cause), minutes_on(minute))
    }

    #[test]
    fn two_rules_that_undo_each_other_are_stopped() {
        let mut guard = Guard::default();
        let (mut place, mut runs, mut told) = (10, 0, Vec::new());
        for minute in 0..1000 {
            // Each takes it to the place where the other one finds it.
            let rule = if place == 10 { 1 } else { 2 };
            match admit(&mut guard, rule, place, Cause::Time, minute) {
                Ok(()) => (place, runs) = (30 - place, runs + 1),
                Err(stop) if stop.is_news => told.push((rule, minute, stop)),
                Err(stop) => assert_eq!((rule, stop.runs), (1, MOST_VISITS)),
            }
        }
        assert_eq!(runs, 2 * MOST_VISITS);
        let [(1, minute, stop)] = told.as_slice() else {
            panic!("{told:?}");
        };
        assert_eq!(
            (*minute, stop.runs, stop.others.as_slice()),
            (2 * MOST_VISITS as i64, MOST_VISITS, [2].as_slice())
        );
        assert!(
            guard
                .admit(1, &torrent(2), (10, Cause::Time), minutes_on(1000))
                .is_ok(),
            "another torrent is not concerned"
        );
        guard.clear();
        assert!(admit(&mut guard, 1, 10, Cause::Time, 1000).is_ok());
    }

    #[test]
    fn a_time_table_whose_effect_lasts_runs_for_ever() {
        let mut guard = Guard::default();
        for minute in 0..5000 {
            for rule in 0..4 {
                assert!(
                    admit(&mut guard, rule, 10, Cause::Time, minute).is_ok(),
                    "{minute} {rule}"
                );
            }
        }
        assert_eq!(
            guard.torrents[&torrent(1)].visits.len(),
            4,
            "one visit a rule is kept"
        );
        // By day here, by night there, for a week.
        let mut guard = Guard::default();
        for day in 0..7 {
            assert!(admit(&mut guard, 1, 10, Cause::Time, day * 1440 + 480).is_ok());
            assert!(admit(&mut guard, 2, 20, Cause::Time, day * 1440 + 1200).is_ok());
        }
    }

    #[test]
    fn events_run_a_rule_a_bounded_number_of_times_a_day() {
        let mut guard = Guard::default();
        for minute in 0..MOST_EDGES as i64 {
            assert!(admit(&mut guard, 1, 10, Cause::Edge, minute).is_ok());
        }
        let stop = admit(&mut guard, 1, 10, Cause::Edge, 60).expect_err("stopped");
        assert_eq!(
            (stop.runs, stop.is_news, stop.until),
            (MOST_EDGES, true, minutes_on(60 + 1440))
        );
        assert!(
            !admit(&mut guard, 1, 11, Cause::Edge, 61)
                .expect_err("stopped")
                .is_news
        );
        assert!(
            admit(&mut guard, 2, 10, Cause::Edge, 61).is_ok(),
            "another rule is not concerned"
        );
        assert!(
            admit(&mut guard, 1, 10, Cause::Edge, 60 + 1440).is_ok(),
            "the next day"
        );
        for minute in 0..100 {
            assert!(admit(&mut guard, 3, minute as u64 % 2, Cause::Bounded, minute).is_ok());
        }
    }

    #[test]
    fn all_torrents_together_have_bounds() {
        let mut guard = Guard::default();
        for rule in 0..3 {
            assert!(admit(&mut guard, rule, 10, Cause::Time, 0).is_ok());
        }
        for minute in 0..=MOST_EDGES as i64 {
            let _ = admit(&mut guard, 3, 10, Cause::Edge, minute);
        }
        assert_eq!(guard.kept, 3 + MOST_EDGES + 1, "with the stop");
        // As if there were as many as there may be: those of yesterday go.
        guard.kept = MOST_IN_ALL;
        let later = minutes_on(2 * 1440);
        assert!(guard.admit(1, &torrent(2), (10, Cause::Time), later).is_ok());
        assert_eq!((guard.torrents.len(), guard.kept), (1, 1));
        for number in 0..=MOST_TORRENTS {
            let torrent = TorrentRef {
                engine_id: "e".into(),
                hash: number.to_string(),
            };
            assert!(guard.admit(1, &torrent, (10, Cause::Time), later).is_ok());
            assert!(guard.torrents.len() <= MOST_TORRENTS && guard.kept <= MOST_TORRENTS);
        }
        guard.clear();
        assert_eq!(guard.kept, 0);
    }

    #[test]
    fn a_place_is_what_moving_and_naming_changes() {
        let place = |context: Value| place_of(context.as_object().expect("an object"));
        let here = json!({ "savePath": "/a", "label": "x", "tags": ["t"], "ratio": 1.0, "state": "seeding" });
        let mut same = here.clone();
        (same["ratio"], same["state"]) = (json!(2.0), json!("paused"));
        assert_eq!(place(here.clone()), place(same));
        for (name, value) in [
            ("savePath", json!("/b")),
            ("label", json!(null)),
            ("tags", json!([])),
        ] {
            let mut other = here.clone();
            other[name] = value;
            assert_ne!(place(here.clone()), place(other), "{name}");
        }
    }
}
