//! Tests of the routes, and of the ports for other areas.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, header};
use http_body_util::BodyExt;
use qm_db::{Db, db_test};
use qm_kernel::secret::MASK;
use qm_platform::SealedValues as _;
use qm_ports::action::{ActionCall, Actions as _, Occasion};
use qm_ports::media_server::{Extent, MediaServerError, MediaServers};
use qm_test_base::RoleTokens;
use qm_web::{Docs, WebConfig};
use serde_json::{Value, json};
use tower::ServiceExt;

use super::routes;
use crate::repo::sealed::MediaServerSecrets;
use crate::testing::House;

struct Site {
    house: House,
    router: Router,
}

impl Site {
    fn new(db: &Db) -> Self {
        let house = House::new(db);
        let config = WebConfig {
            throttle_limit: 0,
            docs: Docs::Hidden,
            ..WebConfig::default()
        };
        let state = routes().with_state(house.app.clone());
        let router = qm_web::finish(state, config, Arc::new(RoleTokens), house.clock.ctx());
        Self { house, router }
    }

    async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("/api/media/server-integrations{path}"))
            .header(header::AUTHORIZATION, "Bearer ADMINISTRATOR");
        let body = match body {
            Some(body) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                Body::from(body.to_string())
            }
            None => Body::empty(),
        };
        let response = self
            .router
            .clone()
            .oneshot(request.body(body).unwrap())
            .await
            .unwrap();
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    /// Connects a server at `http://HOST`; returns its id.
    async fn make(&self, host: &str, more: Value) -> String {
        let mut body = json!({
            "name": host, "kind": "plex", "config": { "baseUrl": format!("http://{host}"), "token": "s3cret" },
        });
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        // Servers are listed in order of creation.
        self.house.clock.advance(Duration::from_secs(1));
        let (status, made) = self.ask("POST", "", Some(body)).await;
        assert_eq!(status, 201, "{made}");
        made["id"].as_str().unwrap().to_owned()
    }

    async fn shown_server(&self, id: &str) -> Value {
        let (_, all) = self.ask("GET", "", None).await;
        all.as_array()
            .unwrap()
            .iter()
            .find(|one| one["id"] == id)
            .cloned()
            .unwrap()
    }
}

fn down() -> MediaServerError {
    MediaServerError::Unreachable("nobody listens at the address of Plex".to_owned())
}

db_test! {
    async fn a_server_is_made_changed_and_deleted_and_its_secrets_never_shown(db: Db) {
        let site = Site::new(&db);
        let body = json!({ "name": " Den ", "kind": "plex", "config": {
            "url": "http://den:32400/", "token": "s3cret", "password": "", "librarySectionId": "2", "odd": "kept",
        } });
        let (status, made) = site.ask("POST", "", Some(body)).await;
        let id = made["id"].as_str().unwrap().to_owned();
        let at = made["createdAt"].clone();
        let config = json!({ "url": "http://den:32400/", "token": MASK, "password": "", "librarySectionId": "2", "odd": MASK });
        let wanted = json!({
            "id": id, "name": "Den", "kind": "plex", "isEnabled": true, "lastRefreshAt": null, "status": "unknown",
            "lastHealthCheckAt": null, "createdAt": at, "updatedAt": at, "config": config,
        });
        assert_eq!((status, &made), (201, &wanted));
        assert!(site.house.stored().await.iter().all(|stored| !stored.contains("s3cret") && !stored.contains("den")));
        // Sent values replace stored ones; bullets keep a secret.
        let path = format!("/{id}");
        let change = json!({ "isEnabled": false, "config": { "token": "••••", "odd": MASK, "librarySectionId": 3 } });
        let (status, changed) = site.ask("PATCH", &path, Some(change)).await;
        assert_eq!((status, &changed["config"]["librarySectionId"], &changed["isEnabled"]), (200, &json!(3), &json!(false)));
        site.ask("POST", &format!("{path}/test"), None).await;
        let wanted = json!({ "baseUrl": "http://den:32400/", "token": "s3cret", "password": "", "librarySectionId": 3, "odd": "kept" });
        let (_, asked) = site.house.servers.asked().remove(0);
        assert_eq!(Value::Object(asked), wanted, "a disabled one is tested too, by the older name of its address");
        site.make("second", json!({})).await;
        let (_, all) = site.ask("GET", "", None).await;
        let names: Vec<_> = all.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["Den", "second"]);
        assert_eq!(site.ask("DELETE", &path, None).await, (200, json!({ "id": id, "deleted": true })));
        for (method, path) in [("PATCH", path.clone()), ("DELETE", path.clone()), ("POST", format!("{path}/test")), ("POST", format!("{path}/refresh"))] {
            let body = (method == "PATCH").then(|| json!({ "name": "x" }));
            let (status, gone) = site.ask(method, &path, body).await;
            assert_eq!((status, gone["message"].as_str()), (404, Some("Integration not found")), "{method}");
        }
        let audited = site.house.audited().await;
        for action in ["create", "update", "delete"] {
            assert!(audited.iter().any(|line| line.starts_with(&format!("media.integration.{action} success"))), "{audited:?}");
        }
        assert!(!audited.join("").contains("s3cret"));
    }

    async fn a_token_stays_with_the_address_it_was_entered_for(db: Db) {
        let site = Site::new(&db);
        let id = site.make("den", json!({})).await;
        let path = format!("/{id}");
        for (url, kept) in [("http://DEN./plex", true), ("http://den:80", true), ("http://den:81", false), ("http://den", false)] {
            let body = json!({ "config": { "url": null, "baseUrl": url, "token": MASK } });
            let (status, moved) = site.ask("PATCH", &path, Some(body)).await;
            assert_eq!(status, 200, "{moved}");
            let wanted = if kept { Value::Null } else { json!(["token"]) };
            assert_eq!((moved["config"].get("token").is_some(), &moved["secretsWanted"]), (kept, &wanted), "{url}");
        }
        let (_, tested) = site.ask("POST", &format!("{path}/test"), None).await;
        assert!(tested["message"].as_str().unwrap().contains("enter `token` again"), "{tested}");
        let (_, refused) = site.ask("POST", &format!("{path}/refresh"), None).await;
        assert!(refused["message"].as_str().unwrap().contains("enter `token` again"), "{refused}");
        assert!(site.house.servers.asked().is_empty());
        let (_, anew) = site.ask("PATCH", &path, Some(json!({ "config": { "token": "new" } }))).await;
        assert_eq!(anew["secretsWanted"], Value::Null, "{anew}");
        site.ask("POST", &format!("{path}/test"), None).await;
        assert_eq!(Value::from(site.house.servers.asked().remove(0).1), json!({ "baseUrl": "http://den", "token": "new" }));
    }

    async fn what_cannot_be_is_refused(db: Db) {
        let site = Site::new(&db);
        for (body, says) in [
            (json!({}), "name and kind are required."),
            (json!({ "name": " ", "kind": "plex" }), "name and kind are required."),
            (json!({ "name": "x" }), "name and kind are required."),
            (json!({ "name": "x", "kind": "winamp" }), "Unsupported kind \"winamp\""),
        ] {
            let (status, refused) = site.ask("POST", "", Some(body.clone())).await;
            assert_eq!(status, 400, "{body}");
            assert!(refused["message"].as_str().unwrap().contains(says), "{body}: {refused}");
        }
        for body in [
            json!({ "name": [], "kind": "plex" }),
            json!({ "name": "x", "kind": "plex", "config": [] }),
            json!({ "name": "x", "kind": "plex", "config": { "baseUrl": 5 } }),
            json!({ "name": "x", "kind": "plex", "config": { "odd": "x".repeat(17 << 10) } }),
            json!({ "name": "x", "kind": "plex", "config": { "baseUrl": "http://jo:secret@den:32400", "token": "t" } }),
            json!({ "name": "x", "kind": "plex", "config": { "url": "http://jo@den:32400", "token": "t" } }),
            json!({ "name": "x", "kind": "plex", "config": { "baseUrl": "http://den:32400/?X-Plex-Token=t" } }),
            json!({ "name": "x", "kind": "plex", "config": { "url": "http://den:32400/#t" } }),
        ] {
            let (status, told) = site.ask("POST", "", Some(body)).await;
            assert_eq!(status, 400, "{told}");
        }
        // An additional kind is usable at once.
        *site.house.servers.dropped_in.lock().unwrap() = Some("winamp".to_owned());
        let id = site.make("x", json!({ "kind": "winamp" })).await;
        // Without its plugin it can still be renamed, and shows nothing that may be a secret.
        *site.house.servers.dropped_in.lock().unwrap() = None;
        let (status, renamed) = site.ask("PATCH", &format!("/{id}"), Some(json!({ "name": "y" }))).await;
        assert_eq!((status, &renamed["config"]["token"]), (200, &json!(MASK)));
        let (status, _) = site.ask("PATCH", &format!("/{id}"), Some(json!({ "config": { "token": "z" } }))).await;
        assert_eq!(status, 400);
    }

    async fn tests_and_refreshes_are_told_and_stored(db: Db) {
        let site = Site::new(&db);
        let id = site.make("den", json!({})).await;
        let (test, refresh) = (format!("/{id}/test"), format!("/{id}/refresh"));
        let told = site.ask("POST", &test, None).await;
        assert_eq!(told, (201, json!({ "ok": true, "message": "Den answers.", "serverName": "Den", "version": "1.41.0" })));
        let (status, refreshed) = site.ask("POST", &refresh, None).await;
        assert_eq!((status, &refreshed["id"]), (201, &json!(id)));
        let one = site.shown_server(&id).await;
        assert_eq!((&one["status"], &one["lastRefreshAt"]), (&json!("online"), &refreshed["lastRefreshAt"]));
        assert!(one["lastHealthCheckAt"].is_string());
        site.house.servers.fail("http://den", Some(down()));
        let told = site.ask("POST", &test, None).await;
        assert_eq!(told, (201, json!({ "ok": false, "message": "nobody listens at the address of Plex" })));
        let (status, failed) = site.ask("POST", &refresh, None).await;
        assert_eq!((status, failed["message"].as_str()), (400, Some("Refresh failed: nobody listens at the address of Plex")));
        let one = site.shown_server(&id).await;
        assert_eq!((&one["status"], &one["lastRefreshAt"]), (&json!("offline"), &refreshed["lastRefreshAt"]));
        // A missing plugin says nothing about the server.
        site.house.servers.fail("http://den", Some(MediaServerError::Busy));
        site.ask("PATCH", &format!("/{id}"), Some(json!({ "config": { "token": "another" } }))).await;
        site.ask("POST", &test, None).await;
        assert_eq!(site.shown_server(&id).await["status"], "unknown", "what was learnt with another secret is forgotten");
        site.ask("PATCH", &format!("/{id}"), Some(json!({ "isEnabled": false }))).await;
        let (status, disabled) = site.ask("POST", &refresh, None).await;
        assert_eq!((status, disabled["message"].as_str()), (400, Some("Integration is disabled.")));
        let audited = site.house.audited().await;
        for action in ["test_failed failure", "refresh success", "refresh_failed failure"] {
            assert!(audited.iter().any(|line| line.starts_with(&format!("media.integration.{action}"))), "{action}: {audited:?}");
        }
    }

    async fn enabled_servers_are_looked_after_and_other_areas_ask_them(db: Db) {
        let site = Site::new(&db);
        let (up, dead) = (site.make("up", json!({})).await, site.make("dead", json!({})).await);
        let off = site.make("off", json!({ "isEnabled": false })).await;
        site.house.servers.fail("http://dead", Some(down()));
        site.house.app.look_after().await.unwrap();
        for (id, status) in [(&up, "online"), (&dead, "offline"), (&off, "unknown")] {
            assert_eq!(site.shown_server(id).await["status"], status);
        }
        site.house.servers.asked();
        let app: &dyn MediaServers = &*site.house.app;
        let servers = app.servers().await.unwrap();
        let told: Vec<_> = servers.iter().map(|one| (one.name.as_str(), one.is_online, one.version.as_deref())).collect();
        assert_eq!(told, [("up", Some(true), Some("1.41.0")), ("dead", Some(false), None), ("off", None, None)]);
        assert!(servers[0].abilities.sessions);
        let all = app.refresh_all(&Extent::default()).await.unwrap();
        let went: Vec<_> = all.iter().map(|one| (one.name.as_str(), one.outcome.is_ok())).collect();
        assert_eq!(went, [("up", true), ("dead", false)], "one that fails holds up no other, and a disabled one is left alone");
        assert_eq!(app.sessions(&up).await.unwrap()[0].title, "Tide");
        assert_eq!(app.terminate(&up, "s1", None).await, Ok(()));
        assert_eq!(app.refresh(&off, Extent::default()).await, Err(MediaServerError::Disabled));
        assert!(matches!(app.sessions("nobody").await, Err(MediaServerError::Missing(_))));
    }

    async fn a_rule_has_a_server_refreshed_and_fails_with_it(db: Db) {
        let site = Site::new(&db);
        let (up, dead) = (site.make("up", json!({})).await, site.make("dead", json!({})).await);
        let off = site.make("off", json!({ "isEnabled": false })).await;
        site.house.servers.fail("http://dead", Some(down()));
        site.house.jobs.start().await.unwrap();
        let run = async |params: Value| {
            let call = ActionCall {
                author: None,
                run_id: "r".into(), occasion: Occasion::Media, params: params.as_object().unwrap().clone(),
                context: serde_json::Map::new(), torrent: None, powers: qm_kernel::PermissionSet::all(),
            };
            site.house.app.run("media_server_refresh", call).await.map_err(|error| error.to_string())
        };
        assert_eq!(run(json!({ "integrationId": up })).await, Ok(()));
        assert_eq!(site.house.servers.asked().len(), 1);
        for (params, why) in [
            (json!({}), "integrationId is required"), (json!({ "integrationId": " " }), "integrationId is required"),
            (json!({ "integrationId": "nobody" }), "Integration not found"),
            (json!({ "integrationId": dead }), "Refresh failed: nobody listens at the address of Plex"),
            (json!({ "integrationId": off }), "Refresh failed: Integration is disabled."),
        ] {
            assert_eq!(run(params).await, Err(why.to_owned()));
        }
        let kinds: Vec<_> = site.house.app.actions().into_iter().map(|kind| (kind.id, kind.occasions)).collect();
        assert_eq!(kinds, [("media_server_refresh".to_owned(), vec![Occasion::Torrent, Occasion::Media, Occasion::Event])]);
        site.house.jobs.shutdown().await;
        site.house.background.shutdown().await;
    }

    async fn sealed_values_are_listed_and_replaced(db: Db) {
        let site = Site::new(&db);
        site.make("den", json!({})).await;
        let mut tx = db.begin_write().await.unwrap();
        let page = MediaServerSecrets.list(&mut tx, None, 10).await.unwrap();
        let row = page.rows.into_iter().next().unwrap();
        assert!(MediaServerSecrets.replace(&mut tx, &row, "another").await.unwrap());
        assert!(!MediaServerSecrets.replace(&mut tx, &row, "late").await.unwrap(), "it is not what was read");
        tx.commit().await.unwrap();
        assert_eq!(site.house.stored().await, ["another"]);
        let (status, told) = site.ask("GET", "", None).await;
        assert_eq!((status, &told[0]["config"]), (200, &json!({})), "what cannot be read is shown as nothing");
    }
}
