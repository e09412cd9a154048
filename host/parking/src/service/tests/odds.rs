//! Clients that fail, processes that end, torrents that go.

use std::time::Duration;

use qm_db::{Db, db_test};
use qm_ports::engine::{EngineError, Subject, Torrent, TorrentState};
use qm_ports::parking::ParkReason;
use qm_test_base::blank::hash;

use crate::model::row::Row;
use crate::testing::House;

const NOTHING: [u64; 4] = [0; 4];

fn unreachable() -> EngineError {
    EngineError::Unreachable("no route".into())
}

/// Row of a torrent whose pause nobody knows the end of.
fn unsettled(house: &House, number: u8) -> Row {
    Row {
        hash: hash(number).to_string(),
        name: "torrent".into(),
        reason: ParkReason::NoSeeders,
        parked_at: house.now(),
        rests_since: None,
        probing_since: None,
        last_probed_at: None,
        probe_count: 0,
        last_seeders: 0,
        released_at: None,
        updated_at: house.now(),
    }
}

/// A torrent that rests after its first probe.
async fn rest(house: &House, number: u8) {
    house.client.put(house.dead(number, 40));
    house.sweep().await;
    house.wait(5);
    house.sweep().await;
    let _ = house.commands();
}

db_test! {
    async fn what_a_process_began_to_park_the_next_one_settles(db: Db) {
        let mut house = House::new(&db).await;
        house.client.put(house.dead(1, 40));
        house.client.put(Torrent { state: TorrentState::Paused, ..house.dead(2, 40) });
        house.client.put(Torrent { seeds_connected: 1, ..house.dead(3, 40) });
        for number in 1..=3 {
            house.put_row(unsettled(&house, number)).await;
        }
        house.restart().await;
        assert_eq!(house.sweep().await, [2, 0, 2, 0]);
        assert_eq!(house.commands(), ["1 Pause", "1 ForceStart(true)", "2 ForceStart(true)"]);
        let parked: std::collections::BTreeSet<u64> = house.parked().await.into_iter().collect();
        assert_eq!(parked, [1, 2].into());
        assert_eq!(house.state(3), TorrentState::Downloading, "somebody shares it by now");
    }

    async fn a_probe_that_never_began_is_not_counted(db: Db) {
        let mut house = House::new(&db).await;
        rest(&house, 1).await;
        let mut row = house.row(1).await.unwrap();
        row.probe(house.now());
        house.put_row(row).await;
        house.restart().await;
        house.wait(5);
        assert_eq!((house.sweep().await, house.commands().len()), (NOTHING, 0), "it rests already");
        let row = house.row(1).await.unwrap();
        assert_eq!((row.probe_count, row.is_resting()), (1, true));
    }

    async fn a_torrent_that_its_client_refuses_to_pause_is_not_parked(db: Db) {
        let house = House::new(&db).await;
        house.client.put(house.dead(1, 40));
        let refuse = |error| house.client.refusals.lock().unwrap().push((false, error));
        refuse(EngineError::Rejected("no".into()));
        assert_eq!(house.sweep().await, NOTHING);
        assert_eq!((house.row(1).await, house.mark(1).await), (None, None));
        // Of this one nobody knows.
        refuse(unreachable());
        assert_eq!(house.sweep().await, NOTHING);
        assert!(house.row(1).await.unwrap().is_unsettled());
        assert_eq!(house.sweep().await, [1, 0, 1, 0]);
    }

    async fn a_client_that_cannot_force_a_start_is_probed_all_the_same(db: Db) {
        let house = House::new(&db).await;
        rest(&house, 1).await;
        house.wait(60);
        let refuse = || {
            let unsupported = EngineError::Unsupported("This engine has no queue".into());
            house.client.refusals.lock().unwrap().push((false, unsupported));
        };
        refuse();
        assert_eq!(house.sweep().await, [0, 0, 1, 0]);
        assert_eq!(house.commands(), ["1 ForceStart(true)", "1 Resume"]);
        house.wait(5);
        refuse();
        assert_eq!(house.sweep().await, [0, 0, 0, 1]);
        assert_eq!(house.commands(), ["1 ForceStart(false)", "1 Pause"]);
        assert_eq!(house.row(1).await.unwrap().probe_count, 2);
    }

    async fn a_probe_that_a_client_refuses_to_begin_is_tried_again(db: Db) {
        let house = House::new(&db).await;
        rest(&house, 1).await;
        house.wait(60);
        for _ in 0..2 {
            let gone = EngineError::NotFound(Subject::Torrent);
            house.client.refusals.lock().unwrap().push((false, gone));
        }
        assert_eq!(house.sweep().await, NOTHING);
        assert!(house.row(1).await.unwrap().is_resting());
        assert_eq!(house.sweep().await, [0, 0, 1, 0]);
    }

    async fn an_engine_that_cannot_be_read_is_left_out_and_delays_no_other(db: Db) {
        let house = House::new(&db).await;
        let other = house.add_engine("b").await;
        house.client.put(house.dead(1, 40));
        house.kinds.engine("b").put(house.dead(2, 40));
        house.client.fail(Some(unreachable()));
        assert_eq!(house.sweep().await, [1, 0, 1, 0]);
        let parked = house.lot.list(None).await.unwrap();
        assert_eq!((parked.len(), &parked[0].0), (1, &other));
        house.client.fail(None);
        assert_eq!(house.sweep().await[0], 1);
        // Nothing is forgotten of an engine that is away.
        house.client.fail(Some(unreachable()));
        house.wait(5000);
        house.sweep().await;
        assert_eq!(house.parked().await, [1]);
    }

    async fn a_torrent_that_is_gone_is_forgotten_but_not_one_that_its_client_lost_for_a_moment(db: Db) {
        let house = House::new(&db).await;
        rest(&house, 1).await;
        let torrent = house.client.torrent(&hash(1)).unwrap();
        house.client.forget(&hash(1));
        assert_eq!(house.sweep().await, NOTHING);
        house.wait(9);
        house.sweep().await;
        house.client.put(torrent.clone());
        house.sweep().await;
        house.client.forget(&hash(1));
        house.sweep().await;
        house.wait(9);
        house.sweep().await;
        assert_eq!(house.parked().await, [1], "it was back in between");
        house.wait(1);
        house.sweep().await;
        assert_eq!((house.parked().await.len(), house.row(1).await), (0, None));
    }

    async fn a_torrent_that_was_removed_and_added_again_is_another_one(db: Db) {
        let house = House::new(&db).await;
        rest(&house, 1).await;
        house.client.forget(&hash(1));
        house.engine().refresh_exactly(Duration::from_mins(1)).await.unwrap();
        house.client.put(Torrent { state: TorrentState::Paused, ..house.dead(1, 0) });
        assert_eq!(house.mark(1).await, None, "at once, also before a sweep");
        assert_eq!((house.sweep().await, house.commands().len()), (NOTHING, 0));
        assert_eq!((house.row(1).await, house.state(1)), (None, TorrentState::Paused));
    }

    async fn marks_outlive_the_process_and_a_change_of_the_engine(db: Db) {
        let mut house = House::new(&db).await;
        rest(&house, 1).await;
        let mark = house.mark(1).await;
        assert!(mark.is_some());
        house.restart().await;
        assert_eq!(house.mark(1).await, mark);
        // A new engine of the same row knows nothing until it is told.
        let engine = house.engine();
        let none = std::sync::Arc::default();
        assert!(engine.intakes.set_parked(&none));
        assert_eq!(house.mark(1).await, None);
        house.lot.follow_hands().await.unwrap();
        assert_eq!(house.mark(1).await, mark);
    }

    async fn whatever_happens_nothing_is_left_paused_that_nobody_knows_of(db: Db) {
        let mut house = House::new(&db).await;
        let mut paused_by_hand = [false; 5];
        for number in 1..=4 {
            house.client.put(house.dead(number, 40));
        }
        // The same steps in each run.
        let mut seed = 7_u64;
        let mut draw = move |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for step in 0..60 {
            let number = 1 + draw(4) as u8;
            match draw(8) {
                0 => house.client.change(&hash(number), |torrent| torrent.seeds_connected = 1),
                1 | 2 => house.client.change(&hash(number), |torrent| torrent.seeds_connected = 0),
                3 => {
                    house.client.change(&hash(number), |torrent| torrent.state = TorrentState::Paused);
                    paused_by_hand[number as usize] = true;
                }
                4 => {
                    house.client.change(&hash(number), |torrent| torrent.state = TorrentState::Downloading);
                    paused_by_hand[number as usize] = false;
                }
                5 => house.restart().await,
                6 => {
                    let errors = [unreachable(), EngineError::Timeout("silent".into()), EngineError::Rejected("no".into())];
                    let error = errors[draw(3) as usize].clone();
                    // A client that fell silent may have done it all the same.
                    let is_done = matches!(error, EngineError::Timeout(_));
                    house.client.refusals.lock().unwrap().push((is_done, error));
                }
                _ => house.wait(draw(40)),
            }
            if draw(2) == 0 {
                house.wait(draw(6));
                house.sweep().await;
            }
            for number in 1..=4_u8 {
                let is_known = house.row(number).await.is_some_and(|row| row.is_parked());
                let is_paused = house.state(number) == TorrentState::Paused;
                assert!(!is_paused || is_known || paused_by_hand[number as usize], "step {step}, torrent {number}");
            }
        }
        house.client.refusals.lock().unwrap().clear();
        for number in 1..=4 {
            house.client.change(&hash(number), |torrent| torrent.seeds_connected = 1);
        }
        // Each is probed in its turn, and runs again.
        for _ in 0..4 {
            house.wait(2000);
            house.sweep().await;
            house.wait(5);
            house.sweep().await;
        }
        assert!(house.parked().await.is_empty());
    }
}
