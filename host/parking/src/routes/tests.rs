//! Routes over both databases.

use std::sync::Arc;

use qm_db::{Db, db_test};
use qm_ports::engine::{EngineError, Subject, TorrentState};
use qm_test_base::blank::hash;
use qm_test_base::{Answer, Visitor};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::routes;
use crate::testing::House;

struct Site {
    house: House,
    visitor: Visitor,
}

impl Site {
    fn over(house: House) -> Self {
        let ctx = house.ground.ctx.clone();
        let visitor = Visitor::new(
            "/api/torrents/parking",
            routes().with_state(house.lot.clone()),
            ctx,
        );
        Self { house, visitor }
    }

    async fn ask(&self, role: &str, method: &str, path: &str, body: Option<Value>) -> Answer {
        self.visitor.ask(role, method, path, body).await
    }

    async fn admin(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        self.ask("ADMINISTRATOR", method, path, body)
            .await
            .status_and_json()
    }

    /// A torrent that is parked and probed.
    async fn park(&self, number: u8) {
        self.house.client.put(self.house.dead(number, 40));
        self.house.sweep().await;
        let _ = self.house.commands();
    }

    async fn unpark(&self, number: u8) -> (u16, Value) {
        let body = json!({ "engineId": self.house.engine_id });
        self.admin(
            "POST",
            &format!("/{}/unpark", hash(number).to_uppercase()),
            Some(body),
        )
        .await
    }
}

db_test! {
    async fn rules_are_shown_changed_and_clamped(db: Db) {
        let site = Site::over(House::switched_off(&db).await);
        let mut rules = json!({
            "enabled": false, "minSeeders": 1, "deadAfterMinutes": 30, "stalledAfterMinutes": 180, "probeBatchSize": 20,
            "probeIntervalMinutes": 60, "maxProbeIntervalMinutes": 1440,
        });
        assert_eq!(site.ask("READ_ONLY", "GET", "/settings", None).await.status_and_json(), (200, rules.clone()));
        let change = json!({ "enabled": true, "deadAfterMinutes": 0.9, "probeIntervalMinutes": 2000, "minSeeders": -1 });
        for (name, value) in [("enabled", json!(true)), ("deadAfterMinutes", json!(1)), ("probeIntervalMinutes", json!(2000)),
            ("maxProbeIntervalMinutes", json!(2000)), ("minSeeders", json!(0))] {
            rules[name] = value;
        }
        assert_eq!(site.admin("PATCH", "/settings", Some(change)).await, (200, rules.clone()));
        assert_eq!(site.admin("GET", "/settings", None).await, (200, rules.clone()));
        assert_eq!(site.admin("PATCH", "/settings", Some(json!({}))).await, (200, rules.clone()));
        for wrong in [json!({ "deadAfterMinutes": "soon" }), json!({ "colour": 1 }), json!({ "enabled": 3 })] {
            let answer = site.ask("ADMINISTRATOR", "PATCH", "/settings", Some(wrong.clone())).await;
            assert_eq!(answer.status, 400, "{wrong}");
        }
        assert_eq!(site.admin("GET", "/settings", None).await.1, rules);
        assert_eq!(site.ask("READ_ONLY", "PATCH", "/settings", Some(json!({}))).await.status, 403);
        let audited = site.house.audited().await;
        assert_eq!((&*audited[0].action, audited[0].user_id.as_deref()), ("torrents.parking.updated", Some("u")));
        assert_eq!(audited[0].detail()["deadAfterMinutes"], 1);
    }

    async fn parked_torrents_are_listed_as_they_are_stored(db: Db) {
        let site = Site::over(House::new(&db).await);
        assert_eq!(site.ask("READ_ONLY", "GET", "", None).await.status_and_json(), (200, json!([])));
        site.park(1).await;
        let at = site.house.now().to_string();
        site.house.wait(5);
        site.park(2).await;
        let now = site.house.now().to_string();
        let id = &site.house.engine_id;
        let first = json!({
            "hash": *hash(1), "engineId": id, "name": "torrent 1", "reason": "no_seeders", "parkedAt": at, "probingSince": null,
            "lastProbedAt": now, "probeCount": 1, "lastSeeders": 0, "updatedAt": now,
        });
        let second = json!({
            "hash": *hash(2), "engineId": id, "name": "torrent 2", "reason": "no_seeders", "parkedAt": now, "probingSince": now,
            "lastProbedAt": null, "probeCount": 0, "lastSeeders": 0, "updatedAt": now,
        });
        for path in ["", "?engineId=", &format!("?engineId={id}")] {
            assert_eq!(site.admin("GET", path, None).await, (200, json!([second, first])), "{path}");
        }
        let other = site.house.add_engine("b").await;
        assert_eq!(site.admin("GET", &format!("?engineId={other}"), None).await, (200, json!([])));
        let answer = site.ask("READ_ONLY", "GET", "?engineId=nobody", None).await;
        assert_eq!(answer.refusal(), (404, "not_found.engine".into(), "Engine not found".into()));
    }

    async fn a_sweep_is_made_for_those_who_ask(db: Db) {
        let house = House::switched_off(&db).await;
        house.client.put(house.dead(1, 40));
        let stop = CancellationToken::new();
        let looping = tokio::spawn(Arc::clone(&house.lot).sweeps_loop(stop.clone()));
        let site = Site::over(house);
        let zeros = json!({ "parked": 0, "revived": 0, "probed": 0, "stillDead": 0 });
        assert_eq!(site.admin("POST", "/run", None).await, (201, zeros.clone()), "it is switched off");
        let on = json!({ "enabled": true });
        assert_eq!(site.admin("PATCH", "/settings", Some(on)).await.0, 200);
        let parked = json!({ "parked": 1, "revived": 0, "probed": 1, "stillDead": 0 });
        assert_eq!(site.admin("POST", "/run", None).await, (201, parked));
        assert_eq!(site.admin("POST", "/run", None).await, (201, zeros.clone()), "the probe has its minute");
        let (one, two) = tokio::join!(site.admin("POST", "/run", None), site.admin("POST", "/run", None));
        assert_eq!((one.0, two.0), (201, 201));
        assert_eq!(site.ask("READ_ONLY", "POST", "/run", None).await.status, 403);
        let runs = site.house.audited().await.iter().filter(|row| row.action == "torrents.parking.run").count();
        assert_eq!(runs, 5);
        stop.cancel();
        looping.await.unwrap();
        site.house.lot.stop();
        let answer = site.ask("ADMINISTRATOR", "POST", "/run", None).await;
        assert_eq!((answer.status, answer.refusal().1), (503, "unavailable.stopping".into()));
    }

    async fn a_parked_torrent_is_taken_back(db: Db) {
        let site = Site::over(House::new(&db).await);
        site.park(1).await;
        let success = || (201, json!({ "success": true }));
        assert_eq!(site.unpark(1).await, success());
        assert_eq!(site.house.commands(), ["1 ForceStart(false)", "1 Resume"]);
        assert_eq!((site.house.parked().await.len(), site.house.mark(1).await), (0, None));
        assert_eq!(site.unpark(1).await, success(), "it is parked no longer");
        assert_eq!(site.unpark(9).await, success(), "it never was");
        assert!(site.house.commands().is_empty());
        assert_eq!(site.house.sweep().await, [0; 4], "its age counts from now");
        // One that rests was not forced.
        site.park(2).await;
        site.house.wait(5);
        site.house.sweep().await;
        let _ = site.house.commands();
        assert_eq!(site.unpark(2).await, success());
        assert_eq!(site.house.commands(), ["2 Resume"]);
        assert_eq!(site.house.state(2), TorrentState::Downloading);
        let audited = site.house.audited().await;
        let unparked: Vec<_> = audited.iter().filter(|row| row.action == "torrents.parking.unparked").collect();
        assert_eq!(unparked.len(), 2);
        assert_eq!((unparked[0].object_type.as_deref(), unparked[0].user_id.as_deref()), (Some("torrent"), Some("u")));
        assert_eq!(unparked[0].detail()["engineId"], *site.house.engine_id);
    }

    async fn what_cannot_be_taken_back_stays_parked(db: Db) {
        let site = Site::over(House::new(&db).await);
        site.park(1).await;
        site.house.client.fail(Some(EngineError::Unreachable("no route".into())));
        assert_eq!(site.unpark(1).await.0, 502);
        site.house.client.fail(None);
        assert_eq!(site.house.parked().await, [1]);
        let path = format!("/{}/unpark", hash(1));
        for (path, body, status) in [
            (&*path, json!({ "engineId": "nobody" }), 404),
            (&*path, json!({}), 400),
            (&*path, json!({ "engineId": "" }), 400),
            ("/nothing/unpark", json!({ "engineId": site.house.engine_id }), 404),
        ] {
            assert_eq!(site.admin("POST", path, Some(body.clone())).await.0, status, "{path} {body}");
        }
        let body = json!({ "engineId": site.house.engine_id });
        assert_eq!(site.ask("READ_ONLY", "POST", &path, Some(body)).await.status, 403);
        assert_eq!(site.house.parked().await, [1]);
        // Its client has it no more.
        site.house.client.refusals.lock().unwrap().push((false, EngineError::NotFound(Subject::Torrent)));
        assert_eq!(site.unpark(1).await.0, 201);
        assert_eq!(site.house.row(1).await, None);
    }
}
