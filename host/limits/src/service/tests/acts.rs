//! Acting on torrents that reached a limit.

use std::sync::Arc;
use std::time::Duration;

use qm_db::{Db, db_test};
use qm_kernel::{Permission, PermissionSet, Timestamp};
use qm_ports::action::ActionError;
use qm_ports::engine::{
    EngineError, Limit, Seeded, ShareAction, ShareLimits, Torrent, TorrentState, capability,
};
use qm_test_base::START_MS;
use qm_test_base::blank::hash;

use crate::model::ledger::State;
use crate::model::share::{Layer, Scope};
use crate::model::views::{Asked, TorrentShare};
use crate::testing::{House, seeding};

fn limits(
    ratio: Option<f64>,
    seeding: Option<u64>,
    inactive: Option<u64>,
    action: ShareAction,
) -> ShareLimits {
    let time = |limit: Option<u64>| limit.map_or(Limit::Inherit, Limit::At);
    ShareLimits {
        ratio: ratio.map_or(Limit::Inherit, Limit::At),
        seeding_time: time(seeding),
        inactive_time: time(inactive),
        action,
    }
}

impl House {
    async fn limit_engine(&self, limits: ShareLimits) {
        let asked = Asked::Engine(self.engine_id.clone());
        let _ = self
            .limits
            .set_share(self.caller(), &asked, limits, false)
            .await
            .unwrap();
    }

    async fn limit_torrent(&self, number: u8, limits: ShareLimits) {
        let asked = Asked::Torrent {
            engine_id: None,
            hash: hash(number).to_string(),
        };
        let _ = self
            .limits
            .set_share(self.caller(), &asked, limits, false)
            .await
            .unwrap();
    }

    async fn standing(&self, number: u8) -> TorrentShare {
        let asked = Asked::Torrent {
            engine_id: None,
            hash: hash(number).to_string(),
        };
        self.limits.show_share(&asked).await.unwrap().torrent.unwrap()
    }

    fn start(&self, number: u8) {
        self.client
            .change(&hash(number), |torrent| torrent.state = TorrentState::Seeding);
    }
}

const STOP: ShareAction = ShareAction::Stop;

db_test! {
    async fn a_ratio_stops_a_torrent_once_and_once_more_when_it_changes(db: Db) {
        let mut house = House::new(&db).await;
        house.client.put(seeding(1, 1.9));
        house.client.put(Torrent { state: TorrentState::Downloading, progress: 0.5, ..seeding(2, 9.0) });
        house.limit_engine(limits(Some(2.0), None, None, STOP)).await;
        house.pass().await;
        assert!(house.commands().is_empty());
        house.client.change(&hash(1), |torrent| torrent.ratio = 2.0);
        house.pass().await;
        assert_eq!(house.commands(), ["Stop"]);
        let entry = house.standing(1).await.entry.unwrap();
        assert_eq!((entry.state, &*entry.reached, &*entry.action), (State::Done, "ratio", "stop"));
        let told = house.heard.take_payloads();
        let told: Vec<_> = told.into_iter().filter(|(key, _)| key.starts_with("torrent.limit")).collect();
        assert_eq!(told.len(), 1);
        assert_eq!((told[0].0, &told[0].1["limit"], &told[0].1["action"]), ("torrent.limit_reached", &"ratio".into(), &"stop".into()));
        let audited = house.audited().await;
        let acts: Vec<_> = audited.iter().filter(|row| row.action == "torrents.limits.act").collect();
        assert_eq!((acts.len(), &*acts[0].result, acts[0].user_id.as_deref()), (1, "success", Some("u")));

        // Somebody starts it again, and it goes on; also after a restart.
        house.start(1);
        house.pass().await;
        house.restart().await;
        house.client.change(&hash(1), |torrent| torrent.ratio = 2.1);
        house.pass().await;
        assert_eq!(house.commands(), ["Stop"]);
        // Other limits count anew, and so do the first ones after them.
        house.limit_engine(limits(Some(2.05), None, None, STOP)).await;
        house.pass().await;
        assert_eq!(house.commands(), ["Stop", "Stop"]);
        house.start(1);
        house.limit_engine(limits(Some(5.0), None, None, STOP)).await;
        house.pass().await;
        house.limit_engine(limits(Some(2.05), None, None, STOP)).await;
        house.pass().await;
        assert_eq!(house.commands().len(), 3);
        // The same limits set anew on the torrent itself count anew too.
        house.limit_torrent(1, limits(Some(1.0), None, None, STOP)).await;
        house.start(1);
        house.pass().await;
        assert_eq!(house.commands().len(), 4);
        house.engines.shutdown().await;
    }

    async fn a_removal_takes_what_is_kept_of_the_torrent_along(db: Db) {
        let house = House::new(&db).await;
        for number in [1, 2, 3] {
            house.client.put(seeding(number, 1.0));
        }
        house.pass().await;
        house.limit_torrent(1, limits(Some(1.0), Some(999), None, ShareAction::RemoveWithData)).await;
        house.limit_torrent(2, limits(Some(1.0), None, None, ShareAction::Remove)).await;
        house.limit_torrent(3, limits(Some(2.0), None, None, ShareAction::Remove)).await;
        house.pass().await;
        assert_eq!(*house.hands.removals.lock().unwrap(), [(true, false), (false, false)]);
        assert!(house.client.torrent(&hash(3)).is_some());
        assert_eq!(house.count_rows().await, (0, 1, 0), "the third torrent's limits alone");
        house.engines.shutdown().await;
    }

    async fn the_action_is_that_of_its_author_as_they_are_now(db: Db) {
        let house = House::new(&db).await;
        house.client.put(seeding(1, 1.0));
        house.limit_engine(limits(Some(1.0), None, None, ShareAction::RemoveWithData)).await;
        let all: PermissionSet = PermissionSet::all();
        let few: PermissionSet = all.iter().filter(|held| *held != Permission::TorrentsDeleteData).collect();
        *house.powers.0.lock().unwrap() = few;
        house.pass().await;
        house.clock.advance(Duration::from_secs(10));
        house.pass().await;
        assert!(house.commands().is_empty(), "nothing is done");
        let entry = house.standing(1).await.entry.unwrap();
        assert_eq!((entry.state, entry.attempts), (State::Failed, 2));
        assert!(entry.error.as_ref().unwrap().contains("torrents.delete_data"), "{entry:?}");
        let failures = house.audited().await.into_iter().filter(|row| row.result == "failure").count();
        assert_eq!(failures, 1, "it is told once");
        *house.powers.0.lock().unwrap() = all;
        house.clock.advance(Duration::from_hours(1));
        house.pass().await;
        assert_eq!(*house.hands.removals.lock().unwrap(), [(true, false)]);
        house.engines.shutdown().await;
    }

    async fn times_are_counted_here_where_the_client_does_not_count(db: Db) {
        let mut house = House::new(&db).await;
        house.client.put(seeding(1, 0.0));
        house.client.put(seeding(2, 0.0));
        house.pass().await;
        house.limit_torrent(1, limits(None, Some(300), None, STOP)).await;
        house.limit_torrent(2, limits(None, None, Some(100), STOP)).await;
        house.pass().await;
        house.watch_for(90).await;
        // A byte that is sent ends idleness.
        house.client.change(&hash(2), |torrent| torrent.uploaded += 1);
        house.pass().await;
        house.watch_for(60).await;
        assert!(house.commands().is_empty());
        // Time without the server does not count; the time before it does.
        house.restart().await;
        house.clock.advance(Duration::from_hours(50));
        house.pass().await;
        assert_eq!(house.standing(1).await.facts.seeded, Some(150));
        assert_eq!(house.standing(2).await.facts.idle, Some(60));
        house.watch_for(30).await;
        assert!(house.commands().is_empty());
        house.watch_for(30).await;
        assert_eq!(house.client.torrent(&hash(2)).unwrap().state, TorrentState::Paused);
        // Time while it is stopped does not count either.
        house.client.change(&hash(1), |torrent| torrent.state = TorrentState::Stopped);
        house.pass().await;
        house.watch_for(600).await;
        house.start(1);
        house.pass().await;
        house.watch_for(60).await;
        assert_eq!(house.commands(), ["Stop"]);
        house.watch_for(60).await;
        assert_eq!(house.commands(), ["Stop", "Stop"]);
        house.engines.shutdown().await;
    }

    async fn times_that_the_client_tells_come_due_without_a_change_of_the_list(db: Db) {
        let house = House::new(&db).await;
        let as_of = Timestamp::from_ms(START_MS);
        house.client.put(Torrent { seeded: Some(Seeded { seconds: 50, as_of }), ..seeding(1, 0.0) });
        house.client.put(Torrent { last_activity: Some(as_of), ..seeding(2, 0.0) });
        house.limit_engine(limits(None, Some(100), Some(200), STOP)).await;
        house.pass().await;
        let list = house.engine().snapshot().unwrap().seq;
        house.clock.advance(Duration::from_secs(49));
        house.pass().await;
        assert!(house.commands().is_empty());
        house.clock.advance(Duration::from_secs(1));
        house.pass().await;
        assert_eq!(house.engine().snapshot().unwrap().seq, list, "nothing was told of it");
        assert_eq!(house.client.commands()[0].0, *hash(1));
        house.watch_for(149).await;
        // The second one's seeding time is counted here, from its first sight on: 150 s by then.
        assert_eq!(house.commands().len(), 2);
        house.engines.shutdown().await;
    }

    async fn what_is_unknown_reaches_nothing(db: Db) {
        let house = House::new(&db).await;
        house.client.put(Torrent { ratio: f64::NAN, ..seeding(1, 0.0) });
        house.client.put(Torrent { force_started: Some(true), ..seeding(2, 9.0) });
        house.client.put(Torrent { state: TorrentState::Unknown, ..seeding(3, 9.0) });
        house.limit_engine(limits(Some(0.5), Some(1000), Some(1000), STOP)).await;
        house.pass().await;
        house.watch_for(600).await;
        assert!(house.commands().is_empty());
        house.engines.shutdown().await;
    }

    async fn a_failure_is_told_once_and_tried_again_later(db: Db) {
        let house = House::new(&db).await;
        house.client.put(seeding(1, 1.0));
        house.limit_engine(limits(Some(1.0), None, None, STOP)).await;
        let away = || ActionError::Unreachable("no route".into());
        house.hands.faults.lock().unwrap().extend([away(), away(), away(), ActionError::Rejected("shared".into())]);
        let failures = async || {
            let audited = house.audited().await;
            audited.iter().filter(|row| row.result == "failure").map(|row| row.detail("error")).collect::<Vec<_>>()
        };
        house.pass().await;
        house.pass().await;
        assert_eq!(house.standing(1).await.entry.unwrap().attempts, 1, "not before its time");
        house.clock.advance(Duration::from_secs(4));
        house.pass().await;
        assert!(failures().await.is_empty(), "a client that is away for a moment is no news");
        house.clock.advance(Duration::from_secs(8));
        house.pass().await;
        assert_eq!(failures().await, ["no route"]);
        house.clock.advance(Duration::from_secs(16));
        house.pass().await;
        assert_eq!(failures().await, ["no route", "shared"]);
        house.clock.advance(Duration::from_hours(1));
        house.pass().await;
        assert_eq!(house.commands(), ["Stop"]);
        assert_eq!(house.standing(1).await.entry.unwrap().state, State::Done);
        house.engines.shutdown().await;
    }

    async fn what_a_crash_cut_off_is_neither_lost_nor_done_twice(db: Db) {
        let mut house = House::new(&db).await;
        for number in [1, 2, 3] {
            house.client.put(seeding(number, 1.0));
        }
        house.limit_engine(limits(Some(1.0), None, None, STOP)).await;
        house.pass().await;
        assert_eq!(house.commands().len(), 3);
        // As if the process had died between the order and its note: the first is stopped, the second was not.
        let mut tx = house.ground.db.begin_write().await.unwrap();
        for number in [1, 2] {
            let mut entry = house.standing(number).await.entry.unwrap();
            entry.state = State::Acting;
            crate::repo::ledger::put(&mut tx, &house.engine_id, &entry).await.unwrap();
        }
        tx.commit().await.unwrap();
        house.start(2);
        house.crash().await;
        let before = house.audited().await.len();
        house.pass().await;
        assert_eq!(house.commands().len(), 4, "the second one alone");
        for number in [1, 2, 3] {
            assert_eq!(house.standing(number).await.entry.unwrap().state, State::Done);
        }
        assert_eq!(house.audited().await.len() - before, 2, "both are audited");
        house.engines.shutdown().await;
    }

    async fn a_removal_that_a_crash_cut_off_is_done_only_if_the_client_says_so(db: Db) {
        let mut house = House::new(&db).await;
        house.limit_engine(limits(Some(9.0), None, None, STOP)).await;
        house.client.put(seeding(1, 1.0));
        house.pass().await;
        house.limit_torrent(1, limits(Some(1.0), None, None, ShareAction::Remove)).await;
        house.hands.faults.lock().unwrap().push_back(ActionError::Unreachable("no route".into()));
        house.pass().await;
        let mut entry = house.standing(1).await.entry.unwrap();
        entry.state = State::Acting;
        let mut tx = house.ground.db.begin_write().await.unwrap();
        crate::repo::ledger::put(&mut tx, &house.engine_id, &entry).await.unwrap();
        tx.commit().await.unwrap();
        // A client that starts lists its torrents one by one: this one is not listed yet.
        house.client.forget(&hash(1));
        house.engine().refresh(Duration::from_mins(1)).await;
        house.client.put(seeding(1, 1.0));
        house.crash().await;
        house.limits.pass_engine(&house.engine()).await.unwrap();
        assert_eq!(house.count_rows().await.1, 2, "its limits are kept");
        house.pass().await;
        assert_eq!(*house.hands.removals.lock().unwrap(), [(false, false)], "it is removed once it is listed");
        house.engines.shutdown().await;
    }

    async fn limits_that_are_taken_away_are_no_reason_to_act_again(db: Db) {
        let house = House::new(&db).await;
        house.client.put(seeding(1, 1.0));
        house.pass().await;
        house.limit_engine(limits(Some(1.0), None, None, STOP)).await;
        house.limit_torrent(1, limits(Some(1.0), None, None, STOP)).await;
        house.pass().await;
        let take_away = async |asked: Asked| drop(house.limits.clear_share(house.caller(), &asked).await.unwrap());
        take_away(Asked::Torrent { engine_id: None, hash: hash(1).to_string() }).await;
        house.start(1);
        house.pass().await;
        assert_eq!(house.commands(), ["Stop"], "the engine's are the same");
        assert_eq!(house.standing(1).await.entry.unwrap().state, State::Done);
        // Without any limits there are no passes, and yet nothing is shown of those there were.
        take_away(Asked::Engine(house.engine_id.clone())).await;
        assert_eq!(house.standing(1).await.entry, None);
        house.engines.shutdown().await;
    }

    async fn nobody_lends_an_action_to_the_same_limits_of_somebody_else(db: Db) {
        let house = House::new(&db).await;
        house.client.put(seeding(1, 1.0));
        house.add_category("c", "films").await;
        let removes = limits(Some(1.0), None, None, ShareAction::Remove);
        house.limit_engine(removes).await;
        let theirs = Layer {
            scope: Scope::Category("c".into()),
            limits: removes,
            set_by: "gone".into(),
            set_at: Timestamp::from_ms(START_MS),
        };
        let mut tx = house.ground.db.begin_write().await.unwrap();
        crate::repo::share::put(&mut tx, &theirs).await.unwrap();
        tx.commit().await.unwrap();
        house.limits.read_book().await.unwrap();
        // The list is read before the torrent comes into the category.
        house.engine().refresh(Duration::from_mins(1)).await;
        house.client.change(&hash(1), |torrent| torrent.label = Some("films".into()));
        house.limits.pass_engine(&house.engine()).await.unwrap();
        assert!(house.commands().is_empty());
        house.clock.advance(Duration::from_mins(1));
        house.pass().await;
        let entry = house.standing(1).await.entry.unwrap();
        assert!(entry.error.as_ref().is_some_and(|error| error.contains("gone or deactivated")), "{entry:?}");
        assert!(house.commands().is_empty());
        house.engines.shutdown().await;
    }

    async fn what_a_pass_has_in_its_hands_is_kept_and_the_rest_goes(db: Db) {
        let house = House::new(&db).await;
        house.client.put(seeding(1, 0.5));
        house.pass().await;
        let under_way = house.limits.watch_of(&house.engine_id);
        let is_same = || Arc::ptr_eq(&under_way, &house.limits.watch_of(&house.engine_id));
        house.limit_torrent(1, limits(Some(1.0), None, None, STOP)).await;
        house.limits.drop_watches(|_| false);
        assert!(is_same() && !house.limits.renewed.lock().unwrap().is_empty());
        let before = Arc::downgrade(&under_way);
        drop(under_way);
        house.limits.drop_watches(|id| id == house.engine_id);
        assert!(before.upgrade().is_some());
        house.limits.drop_watches(|_| false);
        assert!(before.upgrade().is_none() && house.limits.renewed.lock().unwrap().is_empty());
        house.engines.shutdown().await;
    }

    async fn a_torrent_that_is_added_again_is_another_one(db: Db) {
        let house = House::new(&db).await;
        house.client.put(seeding(1, 1.0));
        house.limit_engine(limits(Some(1.0), None, None, STOP)).await;
        house.pass().await;
        assert_eq!(house.commands(), ["Stop"]);
        let added_at = Some(Timestamp::from_secs(1_999_000_000));
        house.client.put(Torrent { added_at, ..seeding(1, 1.0) });
        house.pass().await;
        assert_eq!(house.commands(), ["Stop", "Stop"]);
        house.engines.shutdown().await;
    }

    async fn what_is_kept_of_a_torrent_goes_some_time_after_it(db: Db) {
        let house = House::new(&db).await;
        house.client.put(seeding(1, 1.0));
        house.client.put(seeding(2, 1.0));
        house.pass().await;
        house.limit_torrent(1, limits(Some(1.0), Some(9999), None, STOP)).await;
        house.limit_torrent(2, limits(Some(1.0), Some(9999), None, STOP)).await;
        house.pass().await;
        assert_eq!(house.count_rows().await, (2, 2, 2));
        house.clock.advance(Duration::from_secs(1));
        house.client.forget(&hash(1));
        house.pass().await;
        let later = async |by: Duration| house.limits.forget_gone(Timestamp::from_ms(START_MS).plus(by)).await.unwrap();
        later(Duration::from_mins(5)).await;
        assert_eq!(house.count_rows().await, (2, 2, 2), "a client that starts lists its torrents one by one");
        later(Duration::from_mins(11)).await;
        assert_eq!(house.count_rows().await, (1, 1, 1));
        house.engines.shutdown().await;
    }

    async fn the_client_is_asked_once_more_before_anything_is_done(db: Db) {
        let house = House::new(&db).await;
        house.client.put(Torrent { label: Some("films".into()), ..seeding(1, 1.0) });
        house.add_category("c", "films").await;
        let asked = Asked::Category("c".into());
        let removes = limits(Some(1.0), None, None, ShareAction::Remove);
        // The list is read before the torrent gets another label in the client itself.
        house.engine().refresh(Duration::from_mins(1)).await;
        let _ = house.limits.set_share(house.caller(), &asked, removes, false).await.unwrap();
        house.client.fail(Some(EngineError::Unreachable("gone".into())));
        house.limits.pass_engine(&house.engine()).await.unwrap();
        assert!(house.client.torrent(&hash(1)).is_some());
        house.client.fail(None);
        house.client.change(&hash(1), |torrent| torrent.label = Some("kept".into()));
        house.clock.advance(Duration::from_mins(1));
        house.pass().await;
        assert!(house.commands().is_empty());
        // A category that is renamed takes its limits to other torrents.
        house.rename_category("c", "kept").await;
        house.limits.follow_categories().await.unwrap();
        house.pass().await;
        assert_eq!(house.hands.removals.lock().unwrap().len(), 1);
        house.engines.shutdown().await;
    }

    async fn super_seeding_is_an_action_of_its_own(db: Db) {
        let house = House::offering(&db, &[capability::SUPER_SEEDING]).await;
        house.client.put(seeding(1, 1.0));
        house.limit_engine(limits(Some(1.0), None, None, ShareAction::SuperSeed)).await;
        house.pass().await;
        house.pass().await;
        assert_eq!(house.commands(), ["SuperSeeding(true)"]);
        assert_eq!(house.client.torrent(&hash(1)).unwrap().state, TorrentState::Seeding);
        house.engines.shutdown().await;
    }
}
