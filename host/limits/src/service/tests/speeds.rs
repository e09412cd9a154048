//! Limits of speed: what a client is told, and when.

use std::sync::Arc;
use std::time::Duration;

use qm_db::{Db, db_test};
use qm_kernel::{ErrorKind, Timestamp};
use qm_ports::engine::{EngineError, RateLimits, RateMode, capability};

use crate::error::LimitsError;
use crate::model::schedule::{Entry, Schedule};
use crate::model::speed::{Chosen, SpeedInput};
use crate::testing::House;

/// 22:00 to 06:00, every day.
fn nights() -> Schedule {
    let night = Entry {
        days: (0..7).collect(),
        from: 22 * 60,
        to: 6 * 60,
        alternative: true,
    };
    Schedule::new(vec![night]).unwrap()
}

fn rates(download: u64, upload: u64) -> RateLimits {
    RateLimits {
        download: Some(download),
        upload: Some(upload),
    }
}

fn input() -> SpeedInput {
    SpeedInput {
        normal: rates(9000, 3000),
        alternative: rates(100, 50),
        schedule: nights(),
    }
}

impl House {
    async fn pass_speed(&self) {
        let engine = self.engine();
        engine.refresh(Duration::from_mins(1)).await;
        let speed = self.limits.speed_of(&self.engine_id).unwrap();
        self.limits.pass_speed(&engine, &speed).await;
    }

    /// Orders to the client since the last call.
    fn take_told(&self) -> Vec<String> {
        std::mem::take(&mut self.client.rates.lock().unwrap().told)
    }

    fn asked(&self) -> usize {
        self.client.rates.lock().unwrap().asked
    }

    async fn set_clock(&self, text: &str) {
        let at: Timestamp = serde_json::from_value(text.into()).unwrap();
        self.clock.set(at.ms());
    }
}

db_test! {
    async fn a_client_with_two_sets_is_told_both_and_the_mode(db: Db) {
        let house = House::offering(&db, &[capability::GLOBAL_LIMITS, capability::ALTERNATIVE_LIMITS]).await;
        house.set_zone("Europe/Berlin").await;
        house.set_clock("2026-11-27T12:00:00.000Z").await;
        let view = house.limits.set_speed(house.caller(), &house.engine_id, input()).await.unwrap();
        let until: Timestamp = serde_json::from_value("2026-11-27T21:00:00.000Z".into()).unwrap();
        assert_eq!((view.mode, view.until), (Some(RateMode::Normal), Some(until)));
        house.pass_speed().await;
        assert_eq!(house.take_told(), ["Normal 9000 3000", "Alternative 100 50"]);
        let asked = house.asked();
        house.pass_speed().await;
        assert_eq!((house.take_told().len(), house.asked()), (0, asked), "nothing changed: it is not even asked");
        house.set_clock("2026-11-27T21:00:00.000Z").await;
        house.pass_speed().await;
        assert_eq!(house.take_told(), ["mode Alternative"]);

        // A choice goes before the time table.
        let view = house.limits.choose_mode(house.caller(), &house.engine_id, Chosen::Normal).await.unwrap();
        assert_eq!((view.mode, view.until), (Some(RateMode::Normal), None));
        house.pass_speed().await;
        assert_eq!(house.take_told(), ["mode Normal"]);
        let view = house.limits.show_speed(&house.engine_id).await.unwrap();
        let standing = view.standing.unwrap();
        assert_eq!((standing.mode, standing.limits, standing.problem), (RateMode::Normal, rates(9000, 3000), None));
        let _ = house.limits.choose_mode(house.caller(), &house.engine_id, Chosen::Auto).await.unwrap();
        house.pass_speed().await;
        assert_eq!(house.take_told(), ["mode Alternative"]);
        // The clock was set by hand: it does not order them.
        let mut actions: Vec<String> = house.audited().await.into_iter().map(|row| row.action).collect();
        actions.sort_unstable();
        assert_eq!(actions, ["engines.speed.mode", "engines.speed.mode", "engines.speed.set"]);
        house.engines.shutdown().await;
    }

    async fn a_client_with_one_set_is_told_what_is_in_force(db: Db) {
        let house = House::offering(&db, &[capability::GLOBAL_LIMITS]).await;
        house.client.rates.lock().unwrap().unit = 1024;
        house.set_zone("Europe/Berlin").await;
        house.set_clock("2026-11-27T12:00:00.000Z").await;
        let _ = house.limits.set_speed(house.caller(), &house.engine_id, input()).await.unwrap();
        house.pass_speed().await;
        assert_eq!(house.take_told(), ["Normal 9000 3000"]);
        // It rounded what it was told, and is not told that again and again.
        house.clock.advance(Duration::from_mins(2));
        house.pass_speed().await;
        assert_eq!(house.take_told().len(), 0);
        house.set_clock("2026-11-27T23:00:00.000Z").await;
        house.pass_speed().await;
        assert_eq!(house.take_told(), ["Normal 100 50"]);
        house.set_clock("2026-11-28T05:00:00.000Z").await;
        house.pass_speed().await;
        assert_eq!(house.take_told(), ["Normal 9000 3000"]);
        house.engines.shutdown().await;
    }

    async fn a_client_that_lost_its_limits_is_told_again(db: Db) {
        let house = House::offering(&db, &[capability::GLOBAL_LIMITS]).await;
        let plain = SpeedInput { normal: rates(9000, 3000), ..SpeedInput::default() };
        let _ = house.limits.set_speed(house.caller(), &house.engine_id, plain).await.unwrap();
        house.pass_speed().await;
        let _ = house.take_told();
        // Quietly: it is looked for once a minute.
        house.client.rates.lock().unwrap().normal = RateLimits::default();
        house.pass_speed().await;
        assert_eq!(house.take_told().len(), 0);
        house.clock.advance(Duration::from_mins(1));
        house.pass_speed().await;
        assert_eq!(house.take_told(), ["Normal 9000 3000"]);
        // When it was away, at once.
        house.client.fail(Some(EngineError::Unreachable("away".into())));
        house.pass_speed().await;
        house.client.rates.lock().unwrap().normal = RateLimits::default();
        house.client.fail(None);
        house.clock.advance(Duration::from_secs(1));
        house.pass_speed().await;
        assert_eq!(house.take_told(), ["Normal 9000 3000"]);
        house.engines.shutdown().await;
    }

    async fn a_new_process_tells_only_what_differs(db: Db) {
        let mut house = House::offering(&db, &[capability::GLOBAL_LIMITS]).await;
        let plain = SpeedInput { normal: rates(9000, 3000), ..SpeedInput::default() };
        let _ = house.limits.set_speed(house.caller(), &house.engine_id, plain).await.unwrap();
        house.pass_speed().await;
        let _ = house.take_told();
        house.crash().await;
        house.pass_speed().await;
        assert_eq!(house.take_told().len(), 0);
        house.engines.shutdown().await;
    }

    async fn limits_are_forgotten_and_what_is_missing_is_named(db: Db) {
        let house = House::new(&db).await;
        let id = house.engine_id.clone();
        let limits: &Arc<_> = &house.limits;
        let refused = limits.set_speed(house.caller(), &id, input()).await.err().expect("refused");
        assert_eq!((refused.kind(), refused.code()), (ErrorKind::Unsupported, "unsupported.global-limits"));
        assert!(refused.to_string().starts_with("seedbox cannot limit the speed "), "{refused}");
        house.client.offer(capability::GLOBAL_LIMITS);
        let refused = limits.choose_mode(house.caller(), &id, Chosen::Normal).await.err().expect("refused");
        assert!(matches!(refused, LimitsError::NoSpeed(_)), "{refused}");
        let _ = limits.set_speed(house.caller(), &id, input()).await.unwrap();
        let view = limits.clear_speed(house.caller(), &id).await.unwrap();
        assert!(view.speed.is_none() && view.mode.is_none());
        assert!(limits.speed_of(&id).is_none());
        for refused in [
            limits.show_speed("x").await.err(),
            limits.set_speed(house.caller(), "x", input()).await.err(),
            limits.choose_mode(house.caller(), "x", Chosen::Auto).await.err(),
            limits.clear_speed(house.caller(), "x").await.err(),
        ] {
            assert!(matches!(refused, Some(LimitsError::NoSuchEngine)));
        }
        house.engines.shutdown().await;
    }
}
