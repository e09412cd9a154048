//! Events of the server, as they arrive in the inboxes of the people they concern.

use std::sync::{Arc, Mutex};

use qm_kernel::Role;
use qm_ports::engine::TorrentState;
use qm_test_base::engine::{FakeKinds, torrent};
use qm_testkit::server::PASSWORD;
use qm_testkit::wait::until;
use qm_testkit::ws::Ws;
use qm_testkit::{Api, TestServer, both_databases};
use serde_json::{Value, json};

use super::Telling;

const NOTIFICATIONS: &str = "/api/account/notifications";

async fn titles(api: &Api) -> Vec<String> {
    let page = api.get(&format!("{NOTIFICATIONS}/inbox")).await;
    let items = page["items"].as_array().expect("items").iter();
    items
        .map(|item| item["title"].as_str().expect("a title").to_owned())
        .collect()
}

async fn until_told(api: &Api, title: &str) {
    until("the notification", || async {
        titles(api).await.contains(&title.to_owned()).then_some(())
    })
    .await;
}

both_databases! {
    async fn a_torrent_that_completes_is_told_to_all_who_see_torrents(db: &TestDb) {
        let told = Arc::new(Mutex::new(Vec::new()));
        let channels = {
            let told = told.clone();
            Telling::new(move |line| {
                told.lock().expect("a lock").push(line.to_owned());
                true
            })
        };
        let kinds = FakeKinds::first_party();
        let engine = kinds.engine("one");
        engine.put(torrent(1));
        let server = TestServer::builder(db).kinds(kinds).channels(channels).start().await;
        let admin = server.admin();
        let reader = server.user(Role::ReadOnly);
        let id = admin.add_engine("fake", "scgi_client", json!({ "host": "one" })).await;
        admin.until_torrent(&id, &torrent(1).hash, "the torrent to be listed", |_| true).await;

        let connected = reader.post(&format!("{NOTIFICATIONS}/channels/plain"), json!({ "config": {} })).await;
        assert_eq!((&connected["verified"], &connected["maskedDestination"]), (&json!(true), &json!("masked plain")));
        let preference = reader
            .send("PUT", &format!("{NOTIFICATIONS}/preferences/torrent.completed"), Some(&json!({ "otherChannels": ["plain"] })))
            .await;
        assert_eq!((preference.status, &preference.json()["inAppEnabled"]), (200, &json!(true)));
        let mut socket = Ws::connect(&reader).await;
        socket.until("admission", |event, _| (event == "auth:ok").then_some(())).await;
        engine.change(&torrent(1).hash, |torrent| torrent.progress = 1.0);
        let message: Value = socket
            .until("the notification", |event, data| (event == "account.notification.created").then(|| data.clone()))
            .await;
        let title = format!("{} finished downloading", torrent(1).name);
        assert_eq!((&message["title"], &message["eventKey"], &message["category"], &message["severity"]),
            (&json!(title), &json!("torrent.completed"), &json!("downloads"), &json!("success")));
        let page = reader.get(&format!("{NOTIFICATIONS}/inbox")).await;
        assert_eq!((&page["items"][0]["id"], &page["total"]), (&message["id"], &json!(1)));
        until_told(&admin, &title).await;
        until("the message", || async {
            let told = told.lock().expect("a lock");
            (told.len() == 2 && told[1].ends_with("Download completed")).then_some(())
        })
        .await;
    }

    async fn what_concerns_an_account_is_told_to_its_owner(db: &TestDb) {
        let server = TestServer::builder(db).start().await;
        let (admin, user) = (server.admin(), server.user(Role::User));
        let change = json!({ "currentPassword": PASSWORD, "newPassword": "another good password" });
        user.post("/api/account/password", change).await;
        until_told(&user, "The password of your account was changed").await;
        assert!(titles(&admin).await.is_empty());
        let new = json!({
            "username": "ada", "email": "ada@example.org", "password": PASSWORD, "roleNames": ["USER"],
        });
        admin.post("/api/users", new).await;
        until_told(&admin, "An account was created for ada").await;
        assert_eq!(titles(&user).await.len(), 1, "that is for those who manage users");
    }

    async fn what_goes_wrong_is_told(db: &TestDb) {
        let kinds = FakeKinds::first_party();
        let engine = kinds.engine("one");
        engine.put(torrent(1));
        let server = TestServer::builder(db).kinds(kinds).start().await;
        let (admin, user, reader) = (server.admin(), server.user(Role::User), server.user(Role::ReadOnly));
        let id = admin.add_engine("fake", "scgi_client", json!({ "host": "one" })).await;
        admin.until_torrent(&id, &torrent(1).hash, "the torrent to be listed", |_| true).await;
        engine.change(&torrent(1).hash, |torrent| torrent.state = TorrentState::Error);
        until_told(&reader, &format!("{} failed", torrent(1).name)).await;

        admin.post("/api/api-keys", json!({ "name": "a script" })).await;
        until_told(&admin, "An API key was created: a script").await;
        let wrong = json!({ "username": "user", "password": "not the password" });
        for _ in 0..5 {
            let refused = server.anonymous().send("POST", "/api/auth/login", Some(&wrong)).await;
            assert_eq!(refused.status, 401, "{}", refused.text());
        }
        until_told(&user, "5 attempts to sign in to your account failed in a row").await;
        let path = format!("/api/users/{}", server.user_id(Role::User));
        admin.patch(&path, json!({ "roleNames": ["READ_ONLY"] })).await;
        until_told(&admin, "Other roles were given to user").await;
        assert_eq!(titles(&reader).await.len(), 1, "the rest is nobody else's business");
    }

    async fn a_token_that_outlives_its_account_reads_nothing_of_its_own(db: &TestDb) {
        let server = TestServer::builder(db).start().await;
        let (admin, user) = (server.admin(), server.user(Role::User));
        let path = format!("/api/users/{}", server.user_id(Role::User));
        admin.patch(&path, json!({ "isActive": false })).await;
        for path in ["preferences", "channels"] {
            let reply = user.send("GET", &format!("{NOTIFICATIONS}/{path}"), None).await;
            assert_eq!((reply.status, &reply.json()["code"]), (403, &json!("forbidden.account_inactive")), "{path}");
        }
    }
}
