//! Parking, probes, and their ends.

use std::time::Duration;

use qm_db::{Db, db_test};
use qm_ports::engine::{Torrent, TorrentState};
use qm_ports::parking::{ParkReason, Parked, Parking as _};
use qm_test_base::blank::hash;
use serde_json::json;

use crate::model::rules::RulesChange;
use crate::testing::House;

/// Nothing happened in a sweep.
const NOTHING: [u64; 4] = [0; 4];

db_test! {
    async fn a_dead_torrent_is_paused_and_probed_less_and_less_often(db: Db) {
        let house = House::new(&db).await;
        house.client.put(house.dead(1, 29));
        house.client.put(Torrent { seeds_connected: 1, ..house.dead(2, 500) });
        assert_eq!((house.sweep().await, house.commands().len()), (NOTHING, 0));
        house.wait(1);
        let parked_at = house.now();
        assert_eq!(house.sweep().await, [1, 0, 1, 0]);
        assert_eq!(house.commands(), ["1 Pause", "1 ForceStart(true)"]);
        let mark = Parked { reason: ParkReason::NoSeeders, parked_at, last_seeders: 0, probe_count: 0, probing: true };
        assert_eq!((house.mark(1).await, house.mark(2).await), (Some(mark.clone()), None));
        house.wait(5);
        assert_eq!(house.sweep().await, [0, 0, 0, 1]);
        assert_eq!(house.commands(), ["1 ForceStart(false)", "1 Pause"]);
        assert_eq!(house.mark(1).await, Some(Parked { probe_count: 1, probing: false, ..mark }));
        // The pause after the first probe, then twice as long.
        for pause in [60, 120] {
            house.wait(pause - 1);
            assert_eq!((house.sweep().await, house.commands().len()), (NOTHING, 0));
            house.wait(1);
            assert_eq!(house.sweep().await, [0, 0, 1, 0]);
            house.wait(5);
            assert_eq!(house.sweep().await, [0, 0, 0, 1]);
            assert_eq!(house.commands().len(), 3);
        }
        let row = house.row(1).await.unwrap();
        assert_eq!((row.probe_count, row.last_probed_at, row.parked_at), (3, Some(house.now()), parked_at));
        let told = house.lot.parked().await.unwrap();
        assert_eq!((told.len(), &*told[0].hash, &*told[0].engine_id), (1, &*hash(1), &*house.engine_id));
        assert_eq!((&*told[0].name, told[0].parked.probe_count), ("torrent 1", 3));
    }

    async fn a_torrent_that_somebody_shares_again_runs_as_before_and_has_time_anew(db: Db) {
        let house = House::new(&db).await;
        house.client.put(house.dead(1, 40));
        assert_eq!(house.sweep().await, [1, 0, 1, 0]);
        house.wait(5);
        house.client.change(&hash(1), |torrent| torrent.seeds_connected = 2);
        let _ = house.commands();
        assert_eq!(house.sweep().await, [0, 1, 0, 0]);
        assert_eq!(house.commands(), ["1 ForceStart(false)", "1 Resume"]);
        assert_eq!((house.state(1), house.mark(1).await), (TorrentState::Downloading, None));
        assert!(house.parked().await.is_empty() && house.lot.parked().await.unwrap().is_empty());
        // The seeder is gone again.
        house.client.change(&hash(1), |torrent| torrent.seeds_connected = 0);
        house.wait(29);
        assert_eq!(house.sweep().await, NOTHING);
        house.wait(1);
        assert_eq!(house.sweep().await, [1, 0, 1, 0]);
        let row = house.row(1).await.unwrap();
        assert_eq!((row.probe_count, row.parked_at), (0, house.now()), "it is parked anew");
    }

    async fn what_a_sweep_did_is_audited_by_engine(db: Db) {
        let house = House::new(&db).await;
        house.client.put(house.dead(1, 40));
        house.client.put(house.dead(2, 40));
        house.client.put(Torrent { peers_connected: 3, ..house.dead(3, 200) });
        assert_eq!(house.sweep().await, [3, 0, 3, 0]);
        house.wait(5);
        house.client.change(&hash(2), |torrent| torrent.download_rate = 1);
        assert_eq!(house.sweep().await, [0, 1, 0, 2]);
        let audited = house.audited().await;
        let actions: Vec<_> = audited.iter().map(|row| &*row.action).collect();
        assert_eq!(actions, ["torrents.parking.parked", "torrents.parking.revived", "torrents.parking.updated"]);
        for row in &audited[..2] {
            assert_eq!((row.object_type.as_deref(), row.object_id.as_deref()), (Some("torrent_engine"), Some(&*house.engine_id)));
            assert_eq!(row.user_id, None, "nobody's work but the server's");
        }
        assert_eq!(audited[0].detail(), json!({ "count": 3, "no_seeders": 2, "stalled": 1 }));
        assert_eq!(audited[1].detail(), json!({ "count": 1 }));
        assert_eq!((audited[2].object_type.as_deref(), audited[2].object_id.as_deref()), (Some("settings"), Some("torrents.parking")));
    }

    async fn those_that_have_waited_longest_are_probed_first(db: Db) {
        let house = House::new(&db).await;
        house.set(RulesChange { probe_batch: Some(1.0), ..RulesChange::default() }).await;
        house.client.put(house.dead(3, 40));
        assert_eq!(house.sweep().await, [1, 0, 1, 0]);
        house.wait(1);
        house.client.put(house.dead(1, 40));
        house.client.put(house.dead(2, 40));
        let _ = house.commands();
        assert_eq!(house.sweep().await, [2, 0, 1, 1]);
        assert_eq!(house.commands(), ["3 ForceStart(false)", "3 Pause", "1 Pause", "2 Pause", "1 ForceStart(true)"]);
        house.wait(5);
        assert_eq!(house.sweep().await, [0, 0, 1, 1]);
        assert_eq!(house.commands(), ["1 ForceStart(false)", "1 Pause", "2 ForceStart(true)"]);
        assert_eq!(house.parked().await, [1, 2, 3]);
    }

    async fn a_probe_has_its_minute_however_often_a_sweep_is_asked_for(db: Db) {
        let house = House::new(&db).await;
        house.client.put(house.dead(1, 40));
        house.client.put(house.dead(2, 40));
        assert_eq!(house.sweep().await, [2, 0, 2, 0]);
        house.clock.advance(Duration::from_secs(59));
        house.client.change(&hash(2), |torrent| torrent.seeds_connected = 1);
        assert_eq!(house.sweep().await, [0, 1, 0, 0], "life is seen at once");
        assert_eq!(house.row(1).await.unwrap().probe_count, 0);
        house.clock.advance(Duration::from_secs(1));
        assert_eq!(house.sweep().await, [0, 0, 0, 1]);
    }

    async fn a_torrent_that_was_completed_while_it_was_parked_is_not_left_paused(db: Db) {
        let house = House::new(&db).await;
        house.client.put(house.dead(1, 40));
        house.sweep().await;
        house.wait(5);
        house.sweep().await;
        // Its files were put in place, and somebody had them checked.
        house.client.change(&hash(1), |torrent| torrent.progress = 1.0);
        let _ = house.commands();
        assert_eq!(house.sweep().await, [0, 1, 0, 0]);
        assert_eq!(house.commands(), ["1 Resume"]);
        assert!(house.parked().await.is_empty());
    }

    async fn one_that_somebody_starts_is_parked_no_longer(db: Db) {
        let house = House::new(&db).await;
        house.client.put(house.dead(1, 40));
        house.sweep().await;
        house.wait(5);
        house.sweep().await;
        house.client.change(&hash(1), |torrent| torrent.state = TorrentState::Downloading);
        let look = async || {
            house.engine().refresh_exactly(Duration::from_mins(1)).await.unwrap();
            house.lot.follow_hands().await.unwrap();
        };
        look().await;
        assert_eq!(house.parked().await, [1], "the list may be older than the pause");
        house.wait(1);
        let _ = house.commands();
        look().await;
        assert_eq!((house.parked().await.len(), house.mark(1).await), (0, None));
        assert_eq!(house.sweep().await, NOTHING);
        house.wait(30);
        assert_eq!(house.sweep().await, [1, 0, 1, 0], "it had its time");
        assert_eq!(house.commands(), ["1 Pause", "1 ForceStart(true)"]);
    }

    async fn while_it_is_switched_off_probes_end_and_none_begins(db: Db) {
        let house = House::switched_off(&db).await;
        house.client.put(house.dead(1, 500));
        assert_eq!((house.sweep().await, house.commands().len()), (NOTHING, 0));
        let switch = |on| RulesChange { enabled: Some(on), ..RulesChange::default() };
        house.set(switch(true)).await;
        assert_eq!(house.sweep().await, [1, 0, 1, 0]);
        house.set(switch(false)).await;
        house.wait(5);
        house.client.put(house.dead(2, 500));
        let _ = house.commands();
        assert_eq!(house.sweep().await, [0, 0, 0, 1]);
        assert_eq!(house.commands(), ["1 ForceStart(false)", "1 Pause"]);
        house.wait(5000);
        assert_eq!((house.sweep().await, house.commands().len()), (NOTHING, 0));
        assert_eq!(house.parked().await, [1], "people see it, and can take it back");
    }
}
