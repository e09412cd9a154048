//! The tracker over a database in memory: what is written when, what is told how often, and that nothing is lost.

use std::collections::BTreeMap;

use proptest::prelude::*;
use qm_ports::engine::Delta;
use qm_test_base::blank::torrent;
use qm_test_base::engine::numbered;
use qm_torrent_lists::{Admission, Limits};

use super::*;
use crate::model::intake::Intake;
use crate::model::ledger::Ledger;

/// Room for everything.
const fn endless() -> Admission<'static> {
    Admission {
        limits: Limits {
            torrents: usize::MAX,
            bytes: usize::MAX,
        },
        is_known: &|_| false,
    }
}

/// A database that holds what batches say, and a tracker on top of it, as the sync loop drives them.
struct World {
    ctx: Ctx,
    snapshot: Snapshot,
    tracker: Tracker,
    intakes: Intakes,
    rows: BTreeMap<String, StoredRow>,
    ledger: Ledger,
    completed: Vec<String>,
    failed: Vec<String>,
    /// Where the ratio changes that were told have led, by hash.
    ratios: BTreeMap<String, f64>,
    /// Every change that was told began where the one before ended.
    ratios_follow: bool,
    first: bool,
}

impl World {
    fn new() -> Self {
        Self {
            ctx: Ctx::system(),
            snapshot: Snapshot::empty(&"e".into(), 0, Timestamp::from_ms(0)),
            tracker: Tracker::default(),
            intakes: Intakes::default(),
            rows: BTreeMap::new(),
            ledger: Ledger {
                baseline: Counters::default(),
                accrued: Growth::default(),
            },
            completed: Vec::new(),
            failed: Vec::new(),
            ratios: BTreeMap::new(),
            ratios_follow: true,
            first: true,
        }
    }

    fn tick(&mut self, torrents: Vec<Torrent>, database_works: bool) {
        let delta = Delta {
            cursor: 1,
            full: true,
            changed: torrents,
            ..Delta::default()
        };
        let (version, changes) = self.snapshot.apply(delta, Timestamp::from_ms(0), &endless());
        self.snapshot = version.unwrap_or_else(|| self.snapshot.successor(Timestamp::from_ms(0)));
        let look = Look {
            at: Timestamp::from_ms(0),
            is_news: true,
        };
        if std::mem::take(&mut self.first) {
            self.tracker
                .observe(&self.snapshot.as_changes(), &self.intakes, look);
            self.tracker.reconcile(&self.snapshot, &changes.left_out, look);
        } else {
            self.tracker.observe(&changes, &self.intakes, look);
        }
        if database_works {
            self.write();
        }
    }

    fn write(&mut self) {
        while let Some(batch) = self.tracker.next_batch(&self.ctx) {
            for row in &batch.rows {
                let torrent = &row.entry.torrent;
                let hash = torrent.hash.to_string();
                if row.completed {
                    self.completed.push(hash.clone());
                }
                if row.failed {
                    self.failed.push(hash.clone());
                }
                // What a torrent did last before it went is stored, not told.
                if !batch.retired.contains(&torrent.hash) {
                    let known = self.ratios.insert(hash.clone(), torrent.ratio);
                    let before = row.ratio_was.unwrap_or(torrent.ratio);
                    self.ratios_follow &= known.is_none_or(|known| known.total_cmp(&before).is_eq());
                }
                let stored = StoredRow {
                    hash: hash.clone(),
                    name: torrent.name.clone(),
                    state: torrent.state.as_str().into(),
                    progress: row.prior.progress,
                    size: torrent.size,
                    downloaded: torrent.downloaded,
                    uploaded: torrent.uploaded,
                    ratio: torrent.ratio,
                    save_path: torrent.save_path.clone(),
                    label: torrent.label.clone(),
                    added_at: torrent.added_at,
                    completed_at: row.prior.completed_at,
                    stalled_since: row.stalled_since,
                };
                self.rows.insert(hash, stored);
            }
            for hash in &batch.retired {
                self.rows.remove(&**hash);
                self.ratios.remove(&**hash);
            }
            self.ledger = self.ledger.grown(batch.growth);
            self.tracker.written(&batch);
        }
    }

    /// Kill and start again: memory is lost, the database stays.
    fn restart(&mut self) {
        self.snapshot = Snapshot::empty(&"e".into(), 0, Timestamp::from_ms(0));
        self.tracker = Tracker::from_rows(self.rows.values().cloned().collect());
        self.first = true;
    }

    fn totals(&self) -> Growth {
        self.ledger.accrued.plus(self.tracker.unwritten())
    }
}

fn handed_over(world: &World, n: u8) {
    let intake = Intake {
        noted_at: Timestamp::from_ms(0),
        added_at: Some(Timestamp::from_ms(0)),
        tags: Vec::new(),
        is_private: None,
        auto_managed: None,
    };
    world.intakes.put_new(torrent(n).hash.to_string(), intake);
}

#[test]
fn what_was_handed_over_here_has_no_state_before() {
    let complete = |n: u8| Torrent {
        state: TorrentState::Seeding,
        progress: 1.0,
        ..torrent(n)
    };
    let checking = |n: u8, progress: f64| Torrent {
        state: TorrentState::Checking,
        progress,
        ..torrent(n)
    };
    let told = |world: &mut World| {
        let mut told = std::mem::take(&mut world.completed);
        told.sort();
        told
    };
    let hash = |n: u8| torrent(n).hash.to_string();
    let mut world = World::new();
    world.tick(vec![complete(1)], true);
    assert!(
        told(&mut world).is_empty(),
        "nobody knows since when it is complete"
    );
    for n in 2..6 {
        handed_over(&world, n);
    }
    // Complete before anybody looked, checked first, and stored only by the second try.
    world.tick(
        vec![complete(1), complete(2), checking(3, 0.7), checking(4, 1.0)],
        true,
    );
    assert_eq!(told(&mut world), [hash(2)]);
    let all = |more: Vec<Torrent>| [vec![complete(1), complete(2), complete(3), complete(4)], more].concat();
    world.tick(all(vec![]), true);
    assert_eq!(told(&mut world), [hash(3), hash(4)]);
    world.tick(all(vec![complete(5)]), false);
    assert!(told(&mut world).is_empty());
    world.tick(all(vec![complete(5)]), true);
    assert_eq!(told(&mut world), [hash(5)]);
    // One that a client loses and finds again is complete since then.
    world.tick(vec![complete(1)], true);
    world.tick(all(vec![complete(5)]), true);
    assert!(told(&mut world).is_empty());
    handed_over(&world, 6);
    world.tick(all(vec![complete(5), moved(6, 500)]), true);
    assert!(told(&mut world).is_empty());
    world.tick(all(vec![complete(5), complete(6)]), true);
    world.tick(all(vec![complete(5), complete(6)]), true);
    assert_eq!(told(&mut world), [hash(6)]);
}

fn moved(n: u8, downloaded: u64) -> Torrent {
    Torrent {
        downloaded,
        progress: downloaded as f64 / 1000.0,
        ..torrent(n)
    }
}

#[test]
fn counters_wait_and_states_do_not() {
    let mut world = World::new();
    world.tick(vec![moved(1, 0)], true);
    assert!(!world.tracker.has_due() && !world.tracker.has_dirty());
    world.tick(vec![moved(1, 10)], true);
    assert_eq!(world.rows[&*torrent(1).hash].downloaded, 0, "growth may wait");
    assert!(world.tracker.has_dirty());
    assert_eq!(world.totals().moved.downloaded, 10, "but totals know it");
    world.tick(
        vec![Torrent {
            state: TorrentState::Paused,
            ..moved(1, 20)
        }],
        true,
    );
    assert_eq!(world.rows[&*torrent(1).hash].downloaded, 20, "a state does not");
    world.tick(
        vec![Torrent {
            state: TorrentState::Paused,
            ..moved(1, 5)
        }],
        true,
    );
    assert_eq!(
        world.rows[&*torrent(1).hash].downloaded,
        5,
        "nor does a counter that fell"
    );
    assert_eq!(
        world.totals(),
        Growth {
            moved: Counters {
                downloaded: 25,
                uploaded: 0
            },
            resets: 1
        }
    );
}

#[test]
fn rates_and_peers_write_nothing() {
    let mut world = World::new();
    world.tick(vec![moved(1, 10)], true);
    let busy = Torrent {
        download_rate: 7,
        peers_connected: 3,
        eta: Some(4),
        message: Some("m".into()),
        ..moved(1, 10)
    };
    world.tick(vec![busy], true);
    assert!(!world.tracker.has_due() && !world.tracker.has_dirty());
}

#[test]
fn a_row_not_listed_after_a_restart_goes_to_the_archive() {
    let mut world = World::new();
    world.tick(vec![moved(1, 10), moved(2, 10)], true);
    world.restart();
    world.tick(vec![moved(2, 10)], true);
    assert_eq!(
        world.rows.keys().collect::<Vec<_>>(),
        [&torrent(2).hash.to_string()]
    );
}

#[test]
fn an_edge_is_told_after_a_restart_and_only_once() {
    let mut world = World::new();
    world.tick(vec![moved(1, 900)], true);
    world.restart();
    world.tick(vec![moved(1, 1000)], true);
    assert_eq!(world.completed.len(), 1);
    world.restart();
    world.tick(vec![moved(1, 1000)], true);
    world.tick(vec![moved(1, 1000)], true);
    assert_eq!(world.completed.len(), 1);
}

#[test]
fn an_edge_waits_for_the_database() {
    let mut world = World::new();
    world.tick(vec![moved(1, 900)], true);
    world.tick(vec![moved(1, 1000)], false);
    assert!(world.completed.is_empty() && world.tracker.has_due());
    world.tick(vec![moved(1, 1000)], true);
    assert_eq!(world.completed.len(), 1);
}

#[test]
fn more_than_a_batch_is_written_whole() {
    let mut world = World::new();
    let many: Vec<Torrent> = (0..1200u32)
        .map(|n| Torrent {
            hash: format!("{n:040x}").into(),
            ..torrent(1)
        })
        .collect();
    world.tick(many, true);
    assert_eq!(world.rows.len(), 1200);
    world.tick(vec![], true);
    assert!(world.rows.is_empty(), "an empty list is a list");
}

#[derive(Clone, Debug)]
enum Step {
    /// The database works, and per torrent: absent, or its counters.
    Tick(bool, Vec<Option<(u64, u64)>>),
    Flush,
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    let counters = prop::option::weighted(0.9, (0u64..20, 0u64..20));
    prop_oneof![
        6 => (prop::bool::weighted(0.8), prop::collection::vec(counters, 4)).prop_map(|(works, c)| Step::Tick(works, c)),
        1 => Just(Step::Flush),
        1 => Just(Step::Crash),
    ]
}

#[test]
fn a_torrent_that_left_twice_before_its_row_was_gone_is_one_row() {
    let mut world = World::new();
    world.tick(vec![moved(1, 100)], true);
    world.tick(vec![moved(1, 150)], false);
    world.tick(vec![], false);
    world.tick(vec![moved(1, 200)], false);
    world.tick(vec![moved(1, 230)], false);
    world.tick(vec![], false);
    let batch = world.tracker.next_batch(&world.ctx).expect("a batch");
    assert_eq!((batch.rows.len(), batch.retired.len()), (1, 1));
    assert_eq!(batch.growth.moved.downloaded, 50 + 30);
    world.write();
    assert!(world.rows.is_empty() && !world.tracker.has_due());
    assert_eq!(world.totals().moved.downloaded, 80);
}

#[test]
fn rows_of_many_torrents_go_in_batches_of_a_few_hundred() {
    let mut world = World::new();
    world.tick((0..1700).map(numbered).collect(), true);
    assert_eq!(world.rows.len(), 1700);
    world.tick(vec![], false);
    let mut sizes = Vec::new();
    while let Some(batch) = world.tracker.next_batch(&world.ctx) {
        sizes.push(batch.retired.len());
        world.tracker.written(&batch);
    }
    assert_eq!(sizes, [500, 500, 500, 200]);
    assert!(world.tracker.retiring.is_empty() && world.tracker.leaving.is_empty());
}

proptest! {
    /// Whatever the order of growth, resets, additions, removals, refused writes, flushes and crashes: the ledger ends
    /// at what somebody would have counted who watched every tick and never forgot, ratio changes follow on one
    /// another without gap or overlap, and the database ends equal to the last list.
    #[test]
    fn the_ledger_counts_like_one_who_never_forgets(steps in prop::collection::vec(step(), 1..40)) {
        let mut world = World::new();
        let mut seen: BTreeMap<u8, Counters> = BTreeMap::new();
        let mut oracle = Growth::default();
        let mut crashed = false;
        for step in steps {
            match step {
                Step::Flush => { world.tracker.flush(); world.write(); }
                // What a refused write would have told is out of anybody's reach after a crash.
                Step::Crash if world.tracker.has_due() => {}
                Step::Crash => { world.restart(); crashed = true; }
                Step::Tick(works, given) => {
                    let mut listed = BTreeMap::new();
                    for (n, counters) in (0u8..).zip(given) {
                        let counters = counters.map(|(downloaded, uploaded)| Counters { downloaded, uploaded });
                        let before = seen.get(&n).copied();
                        // While nobody watches, nothing falls and nothing goes: that is the case nobody can see.
                        let now = match (before, counters) {
                            (Some(before), now) if crashed => Some(Counters {
                                downloaded: now.map_or(0, |now| now.downloaded).max(before.downloaded),
                                uploaded: now.map_or(0, |now| now.uploaded).max(before.uploaded),
                            }),
                            (_, now) => now,
                        };
                        if let Some(now) = now { listed.insert(n, now); }
                    }
                    crashed = false;
                    for (n, now) in &listed {
                        if let Some(before) = seen.get(n) { oracle = oracle.plus(Growth::between(*before, *now)); }
                    }
                    seen = listed;
                    let torrents = seen.iter().map(|(n, now)| Torrent {
                        downloaded: now.downloaded,
                        uploaded: now.uploaded,
                        ratio: now.uploaded as f64,
                        ..torrent(*n)
                    });
                    world.tick(torrents.collect(), works);
                }
            }
            if !crashed { prop_assert_eq!(world.totals(), oracle); }
        }
        world.tracker.flush();
        world.write();
        if !crashed {
            prop_assert_eq!(world.ledger.accrued, oracle);
            let stored: Vec<_> = world.rows.values().map(|row| (row.downloaded, row.uploaded)).collect();
            let expected: Vec<_> = seen.values().map(|now| (now.downloaded, now.uploaded)).collect();
            prop_assert_eq!(stored, expected);
        }
        prop_assert!(world.ratios_follow);
    }

    /// Completions and failures are told exactly as often as somebody would who judged every tick, over restarts too.
    #[test]
    fn edges_are_told_once(
        steps in prop::collection::vec((0u64..=4, prop::sample::select(TorrentState::ALL), prop::option::of(0i64..3), any::<bool>(), 0u64..2), 1..30)
    ) {
        let mut world = World::new();
        let mut prior: Option<Prior> = None;
        let mut before: Option<Torrent> = None;
        let (mut completed, mut failed, mut fetched) = (0, 0, false);
        for (progress, state, completed_at, restarts, download_rate) in steps {
            if restarts { world.restart(); before = None; fetched = false; }
            let now = Torrent {
                progress: progress as f64 / 4.0,
                state,
                completed_at: completed_at.map(Timestamp::from_secs),
                download_rate,
                ..torrent(1)
            };
            fetched |= edges::is_fetching(&now);
            completed += usize::from(prior.is_some_and(|prior| edges::has_completed(&prior, &now, fetched)));
            failed += usize::from(edges::has_failed(before.as_ref(), &now));
            prior = Some(next_prior(prior.as_ref(), &now));
            fetched &= edges::progress_to_store(prior.as_ref(), &now) < 1.0;
            world.tick(vec![now.clone()], true);
            before = Some(now);
        }
        prop_assert_eq!(world.completed.len(), completed);
        prop_assert_eq!(world.failed.len(), failed);
    }
}
