//! Messages of the file manager while it works: to whom and how often they go. And the torrents whose data it takes
//! away.

use std::time::Instant;

use bytes::Bytes;
use qm_kernel::{Permission, Role};
use qm_ports::engine::{Command, TorrentState};
use qm_realtime::Room;
use qm_test_base::engine::{FakeKinds, torrent};
use qm_testkit::wait::{until, until_true};
use qm_testkit::ws::Ws;
use qm_testkit::{Api, TestDb, TestServer, both_databases, token};
use serde_json::{Value, json};

use super::site::Site;

/// Enough small files to be copied for some seconds.
const MANY: usize = 80_000;

async fn start(db: &TestDb, site: &Site) -> TestServer {
    TestServer::builder(db)
        .env("FILE_MANAGER_ROOTS", site.roots())
        .start()
        .await
}

/// Everything `role` may do, but see files.
fn who_sees_no_files(api: &Api) -> Api {
    let mut claims = token::claims(Role::Administrator, 4_000_000_000);
    let all = claims["permissions"].as_array().expect("permissions");
    let kept: Vec<Value> = all
        .iter()
        .filter(|key| **key != json!(Permission::FilesView.key()))
        .cloned()
        .collect();
    assert_eq!(kept.len() + 1, all.len());
    claims["permissions"] = json!(kept);
    claims["roles"] = json!([]);
    api.with_token(Some(token::good(&claims)))
}

/// Every message about files until the one for everybody.
async fn heard(socket: &mut Ws) -> Vec<(String, Value)> {
    let mut heard = Vec::new();
    socket
        .until("what is for all", |event, data| {
            if event.starts_with("files.") {
                heard.push((event.to_owned(), data.clone()));
            }
            (event == "jobs.for-all").then_some(())
        })
        .await;
    heard
}

/// The job, once it has ended.
async fn ended(api: &Api, id: &str) -> Value {
    until("the job to end", || async {
        let job = api.get(&format!("/api/jobs/{id}")).await;
        let is_active = ["running", "cancelling"]
            .iter()
            .any(|status| job["status"] == *status);
        (!is_active).then_some(job)
    })
    .await
}

fn events(heard: &[(String, Value)]) -> Vec<&str> {
    heard.iter().map(|(event, _)| event.as_str()).collect()
}

fn millis(message: &Value) -> i64 {
    let at: qm_kernel::Timestamp = serde_json::from_value(message["at"].clone()).expect("an instant");
    at.ms()
}

both_databases! {
    async fn who_may_see_files_is_told_of_operations_and_nobody_else(db: &TestDb) {
        let site = Site::new();
        let server = start(db, &site).await;
        let api = server.admin();
        let mut sockets = [Ws::connect(&server.user(Role::ReadOnly)).await, Ws::connect(&who_sees_no_files(&api)).await];
        until_true("both to be in", || async { server.hub().counters().authenticated == 2 }).await;
        site.write("a.txt", "123");
        api.post("/api/files/copy", json!({ "source": "a.txt", "destination": "/to" })).await;
        api.post("/api/files/delete", json!({ "path": "a.txt" })).await;
        let trash = api.get("/api/files/trash").await;
        let id = &trash[0]["id"];
        api.post("/api/files/trash/restore", json!({ "id": id })).await;
        let reply = api.send("POST", "/api/files/move", Some(&json!({ "source": "to", "destination": "/to/below" }))).await;
        assert_eq!(reply.status, 400, "{}", reply.text());
        let clean = json!({ "path": "/", "paths": ["a.txt"], "permanent": true });
        api.post("/api/files/cleanup-execute", clean).await;
        server.hub().emit(Room::Authenticated, "jobs.for-all", Bytes::from_static(b"{}"));

        let [seer, other] = &mut sockets;
        let mut told = heard(seer).await;
        // What a busy machine is slow at tells how far it is.
        told.retain(|(event, _)| event != "files.operation.progress");
        assert_eq!(
            events(&told),
            [
                "files.operation.started", "files.operation.completed",
                "files.operation.started", "files.operation.completed", "files.trash.updated",
                "files.operation.started", "files.operation.completed", "files.trash.updated",
                "files.operation.started", "files.operation.failed",
                "files.operation.started", "files.operation.completed", "files.cleanup.completed",
            ],
            "{told:#?}"
        );
        let data = |number: usize| &told[number].1;
        assert_eq!((&data(0)["operation"], &data(0)["source"], &data(0)["destination"]), (&json!("copy"), &json!("a.txt"), &json!("/to")));
        assert_eq!((&data(1)["result"], &data(1)["bytes"], &data(1)["operationId"]), (&json!("success"), &json!(3), &data(0)["operationId"]));
        assert_eq!((&data(4)["action"], &data(4)["id"]), (&json!("added"), id));
        assert_eq!((&data(7)["action"], &data(7)["id"]), (&json!("restored"), id));
        assert_eq!(data(9)["result"], json!("failure"));
        assert!(data(9)["message"].as_str().is_some_and(|message| message.contains("into itself")), "{}", data(9));
        assert_eq!((&data(12)["removed"], &data(12)["mode"]), (&json!(1), &json!("permanent")));
        assert_eq!(heard(other).await, [], "nothing of it");
    }

    async fn a_long_copy_tells_how_far_it_is_four_times_a_second_at_most(db: &TestDb) {
        let site = Site::in_memory();
        let server = start(db, &site).await;
        let api = server.admin();
        for number in 0..MANY {
            site.write(format!("many/{}/{number}", number / 1000), [7; 64]);
        }
        let mut socket = Ws::connect(&api).await;
        socket.until("the greeting", |event, _| (event == "auth:ok").then_some(())).await;
        let begin = Instant::now();
        let accepted = api.post("/api/files/copy", json!({ "source": "many", "destination": "/copy", "background": true })).await;
        let id = accepted["operationId"].clone();
        assert!(id.is_string(), "{accepted}");
        let mut progress: Vec<Value> = Vec::new();
        let end = socket
            .until("the end of the copy", |event, data| {
                if data["operationId"] != id {
                    return None;
                }
                if event == "files.operation.progress" {
                    progress.push(data.clone());
                }
                (event == "files.operation.completed").then(|| data.clone())
            })
            .await;
        let seconds = begin.elapsed().as_secs_f64();
        println!("{} progress messages in {seconds:.1} s", progress.len());
        assert_eq!(end["result"], json!("success"), "{end}");
        assert!(progress.len() >= 2, "{MANY} files in {seconds} s without a word");
        assert!(progress.len() as f64 <= seconds * 4.0 + 1.0, "{} in {seconds} s", progress.len());
        for pair in progress.windows(2) {
            // The instant is taken after it was decided that one is due, on a busy machine some milliseconds after.
            assert!(millis(&pair[1]) - millis(&pair[0]) >= 200, "{pair:?}");
            assert!(pair[0]["doneItems"].as_u64() <= pair[1]["doneItems"].as_u64(), "{pair:?}");
        }
        let last = progress.last().expect("there is one");
        assert!(last["doneItems"].as_u64() <= last["totalItems"].as_u64() && last["totalItems"].as_u64() >= Some(MANY as u64), "{last}");
    }

    /// A copy that is stopped leaves nothing behind, and everything where it was.
    async fn a_long_copy_can_be_cancelled(db: &TestDb) {
        let site = Site::in_memory();
        let server = start(db, &site).await;
        let api = server.admin();
        for number in 0..MANY {
            site.write(format!("many/{}/{number}", number / 1000), [7; 64]);
        }
        let mut socket = Ws::connect(&api).await;
        let body = json!({ "source": "many", "destination": "/copy", "background": true });
        let id = api.post("/api/files/copy", body).await["operationId"].clone();
        let id = id.as_str().expect("an id");
        let listed = api.get("/api/files/operations").await;
        assert!(listed.as_array().is_some_and(|all| all.iter().any(|one| one["id"] == *id)), "{listed}");
        let reply = api.send("DELETE", &format!("/api/files/operations/{id}"), None).await;
        assert!(reply.status < 300, "{}", reply.text());
        let failed = socket
            .until("the end of the copy", |event, data| {
                (data["operationId"] == *id && event == "files.operation.failed").then(|| data.clone())
            })
            .await;
        assert!(failed["message"].as_str().is_some_and(|message| message.contains("Cancelled")), "{failed}");
        let job = ended(&api, id).await;
        let seen = (&job["status"], &job["type"], &job["name"], &job["visibilityScope"]);
        assert_eq!(seen, (&json!("cancelled"), &json!("files.copy"), &json!("copy"), &json!("own")));
        assert!(job["inputSummary"]["source"].as_str().is_some_and(|source| source.ends_with("many")), "{job}");
        assert!(!site.path_of("copy/many").exists());
        // The same by its job.
        let body = json!({ "source": "many", "destination": "/copy", "background": true });
        let id = api.post("/api/files/copy", body).await["operationId"].clone();
        let id = id.as_str().expect("an id");
        let hidden = server.user(qm_kernel::Role::User).send("GET", &format!("/api/jobs/{id}"), None).await;
        assert_eq!(hidden.status, 404, "it is somebody else's");
        assert_eq!(api.act(&format!("/api/jobs/{id}/cancel")).await["ok"], true);
        assert_eq!(ended(&api, id).await["status"], "cancelled");
        assert_eq!(api.get("/api/files/operations").await, json!([]));
        assert!(!site.path_of("copy/many").exists());
        assert_eq!(crate::files::site::temporaries(&site.root), Vec::<std::path::PathBuf>::new());
        assert_eq!(std::fs::read_dir(site.path_of("many")).expect("it is there").count(), MANY / 1000);
    }

    async fn previews_name_the_torrents_and_deletes_end_them(db: &TestDb) {
        let site = Site::new();
        let kinds = FakeKinds::first_party();
        let fake = kinds.engine("one");
        for number in 1..=3 {
            let mut seeding = torrent(number);
            seeding.state = TorrentState::Seeding;
            seeding.save_path = site.roots();
            seeding.content_path = site.path_of(&seeding.name).display().to_string();
            site.write(format!("{}/film.mkv", seeding.name), "payload");
            fake.put(seeding);
        }
        let server = TestServer::builder(db).kinds(kinds).env("FILE_MANAGER_ROOTS", site.roots()).start().await;
        let api = server.admin();
        let engine = api.add_engine("fake", "scgi_client", json!({ "host": "one" })).await;
        let hash = |number: u32| torrent(number).hash.to_string();
        for number in 1..=3 {
            api.until_torrent(&engine, &hash(number), "the torrent to be listed", |_| true).await;
        }
        // The payload, a file in it, and a folder around it.
        for path in ["torrent-1", "torrent-1/film.mkv"] {
            let preview = api.post("/api/files/delete/preview", json!({ "path": path })).await;
            assert_eq!((&preview["exists"], &preview["sizeBytes"], &preview["freesBytes"]), (&json!(true), &json!(7), &json!(7)), "{preview}");
            assert_eq!(preview["torrents"].as_array().map(Vec::len), Some(1), "{preview}");
            let named = &preview["torrents"][0];
            assert_eq!((&named["torrentHash"], &named["engineId"], &named["live"]), (&json!(hash(1)), &json!(engine), &json!(true)), "{preview}");
            assert_eq!((&named["name"], &named["state"]), (&json!("torrent-1"), &json!("seeding")), "{preview}");
        }
        let bulk = api.post("/api/files/bulk/delete-preview", json!({ "paths": ["torrent-1", "torrent-2/film.mkv", "absent"] })).await;
        assert_eq!((&bulk["paths"], &bulk["sizeBytes"]), (&json!(2), &json!(14)), "{bulk}");
        assert_eq!(bulk["torrents"].as_array().map(Vec::len), Some(2), "{bulk}");

        // A plain delete leaves the torrent alone; `stop` removes it and `stop_and_delete` its data too.
        let removals = || -> Vec<(String, bool)> {
            let commands = fake.commands();
            commands.into_iter().filter_map(|(hash, command)| match command {
                Command::Remove { with_data } => Some((hash, with_data)),
                _ => None,
            }).collect()
        };
        api.post("/api/files/delete", json!({ "path": "torrent-3" })).await;
        assert_eq!(removals(), []);
        api.post("/api/files/delete", json!({ "path": "torrent-1", "torrentAction": "stop" })).await;
        assert_eq!(removals(), [(hash(1), false)]);
        assert!(fake.torrent(&hash(1)).is_none());
        let both = json!({ "path": "torrent-2/film.mkv", "permanent": true, "torrentAction": "stop_and_delete" });
        api.post("/api/files/delete", both).await;
        assert_eq!(removals(), [(hash(1), false), (hash(2), true)]);
        until_true("the list to be without them", || async {
            api.torrent(&engine, &hash(1)).await.is_none() && api.torrent(&engine, &hash(2)).await.is_none()
        })
        .await;
        assert!(api.torrent(&engine, &hash(3)).await.is_some());
        // Both are in the audit trail, each under its own action.
        for (action, number) in [("torrents.delete", 1), ("torrents.delete_data", 2)] {
            let rows = api.get(&format!("/api/audit?action={action}")).await;
            assert_eq!((&rows["total"], &rows["items"][0]["objectId"]), (&json!(1), &json!(hash(number))), "{action}: {rows}");
        }
        let preview = api.post("/api/files/delete/preview", json!({ "path": "/torrent-1" })).await;
        assert_eq!((&preview["exists"], &preview["torrents"]), (&json!(false), &json!([])), "{preview}");
        // Who may delete files but no torrents is told before anything happens.
        site.write("torrent-3/film.mkv", "payload");
        let mut claims = token::claims(Role::Administrator, 4_000_000_000);
        claims["roles"] = json!([]);
        claims["permissions"] = json!([Permission::FilesView.key(), Permission::FilesDelete.key()]);
        let files_only = api.with_token(Some(token::good(&claims)));
        for action in ["stop", "stop_and_delete"] {
            let body = json!({ "path": "torrent-3", "torrentAction": action });
            let reply = files_only.send("POST", "/api/files/delete", Some(&body)).await;
            assert_eq!(reply.status, 403, "{}", reply.text());
            assert!(site.path_of("torrent-3/film.mkv").exists());
        }
        assert_eq!(removals().len(), 2);
    }
}
