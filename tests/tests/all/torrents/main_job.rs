//! The main job: 64 MiB of random bytes, seeded by one real client, downloaded by the other through our API, then every
//! command through the API, each checked by asking the client itself. Both kinds, every way to reach rTorrent.

use std::collections::HashMap;
use std::io::{Seek, SeekFrom, Write};

use qm_testkit::files::{self, FileServer};
use qm_testkit::generations::Program;
use qm_testkit::rtorrent::Mode;
use qm_testkit::sample::{Format, MAIN_SIZE, Sample};
use qm_testkit::tracker::Tracker;
use qm_testkit::wait::{until, until_true};
use qm_testkit::ws::{Mirror, Ws};
use qm_testkit::{Api, TestDb, TestServer, every_generation};
use serde_json::{Value, json};

use crate::client::{Client, Doing};

/// Slow enough that several ticks see the download on its way, fast enough not to be waited for.
const SEED_RATE: i64 = 16 * 1024 * 1024;
const PLUGINS: &[&str] = &["scgi_client.wasm", "webapi_client.wasm"];

every_generation! { rtorrent:
    rtorrent_over_tcp,
    rtorrent_over_a_unix_socket,
    rtorrent_over_http,
    data_goes_from_where_a_closed_torrent_was_moved_to,
}

every_generation! { qbittorrent: qbittorrent }

async fn rtorrent_over_tcp(db: &TestDb, program: &Program) {
    let client = Client::rtorrent_of(program, Mode::Tcp).await;
    let job = Job::start(db, Client::qbittorrent().await, client).await;
    job.every_source_and_command().await;
}

async fn rtorrent_over_a_unix_socket(db: &TestDb, program: &Program) {
    let client = Client::rtorrent_of(program, Mode::Unix).await;
    let job = Job::start(db, Client::qbittorrent().await, client).await;
    job.upload_and_commands().await;
    job.remove_with_data().await;
}

async fn rtorrent_over_http(db: &TestDb, program: &Program) {
    let client = Client::rtorrent_of(program, Mode::Http).await;
    let job = Job::start(db, Client::qbittorrent().await, client).await;
    job.upload_and_commands().await;
    job.remove_with_data().await;
}

async fn qbittorrent(db: &TestDb, program: &Program) {
    let client = Client::qbittorrent_of(program).await;
    let job = Job::start(db, Client::rtorrent(Mode::Tcp).await, client).await;
    job.every_source_and_command().await;
}

/// rTorrent goes on naming the old place of a torrent that is moved while it is closed, here after its user carried the data over.
/// What lies there by then is the user's; what the API shows and deletes is the new place.
async fn data_goes_from_where_a_closed_torrent_was_moved_to(db: &TestDb, program: &Program) {
    let client = Client::rtorrent_of(program, Mode::Tcp).await;
    let sample = Sample::new(
        "moved.bin",
        1024 * 1024,
        7,
        Format::V1,
        "http://127.0.0.1:9/announce",
    );
    client.seed(&sample).await;
    let server = TestServer::builder(db).plugins(PLUGINS).start().await;
    let api = server.admin();
    let engine = api.add_engine("under test", client.kind(), client.config()).await;
    let (home, away) = (client.downloads(), client.other_directory());
    let hash = &sample.hash;
    api.act(&format!("/api/torrents/{hash}/stop?engineId={engine}"))
        .await;
    until_true("the torrent to be closed", || async {
        client.doing(hash).await == Doing::Stopped
    })
    .await;
    let (old, new) = (home.join(&sample.name), away.join(&sample.name));
    std::fs::rename(old, new).expect("both directories are the client's");
    let body = json!({ "engineId": engine, "destination": away });
    api.post(&format!("/api/torrents/{hash}/move"), body).await;
    let place = json!(away.join(&sample.name));
    api.until_torrent(&engine, hash, "the API to show the new place", |torrent| {
        torrent["contentPath"] == place && torrent["savePath"] == json!(away)
    })
    .await;
    sample.write_to(&home);
    api.delete(&format!("/api/torrents/{hash}/data?engineId={engine}"))
        .await;
    until_true("the client to forget it", || async { !client.lists(hash).await }).await;
    let gone = away.join(&sample.name);
    until_true("the data in the new place to be gone", || async {
        !gone.exists()
    })
    .await;
    assert!(sample.is_in(&home), "what lies in the old place stays");
    assert!(away.exists(), "the shared directory stays");
    server.end().await;
}

/// A server with one engine, a seeder it knows nothing of, and a torrent between them.
struct Job {
    _tracker: Tracker,
    seeder: Client,
    client: Client,
    sample: Sample,
    server: TestServer,
    api: Api,
    engine: String,
}

/// The way in which the torrent comes to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Upload,
    Magnet,
    Url,
}

impl Job {
    async fn start(db: &TestDb, seeder: Client, client: Client) -> Job {
        let tracker = Tracker::start().await;
        let sample = Sample::new("main.bin", MAIN_SIZE, 1, Format::V1, &tracker.announce());
        tracker.allow(&sample.hash).await;
        seeder.seed(&sample).await;
        seeder.throttle(SEED_RATE).await;
        tracker.until_seeded(&sample.hash).await;

        let server = TestServer::builder(db)
            .plugins(PLUGINS)
            .env("SSRF_ALLOW_HOSTS", "127.0.0.1")
            .start()
            .await;
        let api = server.admin();
        let engine = api.add_engine("under test", client.kind(), client.config()).await;
        Job {
            _tracker: tracker,
            seeder,
            client,
            sample,
            server,
            api,
            engine,
        }
    }

    async fn every_source_and_command(self) {
        self.upload_and_commands().await;
        self.remove_and_keep_data().await;
        self.download(Source::Magnet).await;
        self.remove_with_data().await;
        self.download(Source::Url).await;
        self.remove_with_data().await;
        self.server.end().await;
    }

    async fn upload_and_commands(&self) {
        self.download(Source::Upload).await;
        self.pause_resume_stop_start().await;
        self.limits().await;
        self.trackers().await;
        self.file_priority().await;
        self.rename().await;
        self.recheck_finds_damage().await;
        self.move_there_and_back().await;
    }

    /// Adds the torrent, watches the realtime channel until it is complete, compares the bytes.
    async fn download(&self, source: Source) {
        let hash = &self.sample.hash;
        let mut socket = Ws::connect(&self.api).await;
        let added = self.add(source).await;
        assert_eq!(added, json!({ "hash": hash }), "{source:?}");
        if source != Source::Magnet {
            self.until_doing(self.client.stopped()).await;
            self.until_socket_shows(&mut socket, "progress 0", |torrent| {
                torrent["progress"] == json!(0.0)
            })
            .await;
            self.act("start").await;
        }
        let mut seen = Vec::new();
        self.until_socket_shows(&mut socket, "progress 1", |torrent| {
            let progress = torrent["progress"].as_f64().expect("progress is a number");
            // rTorrent hashes what it has just completed, and has nothing until that is done.
            if torrent["state"] != json!("checking") {
                seen.push(progress);
            }
            progress >= 1.0 && torrent["state"] == json!("seeding")
        })
        .await;
        let first = seen.first().copied().unwrap_or(1.0);
        assert!(
            source != Source::Magnet || first < 1.0,
            "the magnet was seen on its way: {seen:?}"
        );
        assert!(seen.is_sorted(), "progress only grows: {seen:?}");
        assert!(
            self.sample.is_in(&self.client.downloads()),
            "{source:?}: the bytes on disk are the seeded ones"
        );
        self.what_only_some_clients_tell().await;
    }

    /// Fields that qBittorrent knows and rTorrent's list does not have.
    async fn what_only_some_clients_tell(&self) {
        let knows = self.client.kind() == "webapi_client";
        until_true("the torrent to be told whole", || async {
            let torrent = self.api.get(&format!("/api/torrents/{}", self.sample.hash)).await;
            let told = [
                torrent["secondsSeeded"].is_u64() && torrent["secondsSeededAt"].is_string(),
                torrent["lastActivity"].is_string(),
            ];
            torrent["trackerHost"] == json!("127.0.0.1") && told == [knows; 2]
        })
        .await;
    }

    async fn add(&self, source: Source) -> Value {
        let engine = self.engine.as_str();
        match source {
            Source::Upload => {
                let fields = [
                    ("engineId", engine),
                    ("startPaused", "true"),
                    ("category", "proof"),
                ];
                self.api.upload_torrent(&fields, &self.sample.metainfo).await
            }
            Source::Magnet => {
                self.api
                    .post(
                        "/api/torrents",
                        json!({ "engineId": engine, "magnet": self.sample.magnet }),
                    )
                    .await
            }
            Source::Url => {
                let answers = HashMap::from([("/main.torrent".to_owned(), files::ok(&self.sample.metainfo))]);
                let web = FileServer::start(answers).await;
                let body =
                    json!({ "engineId": engine, "url": web.url("/main.torrent"), "startPaused": true });
                self.api.post("/api/torrents", body).await
            }
        }
    }

    /// Follows the socket's deltas until our torrent looks as wanted.
    async fn until_socket_shows(&self, socket: &mut Ws, what: &str, mut wanted: impl FnMut(&Value) -> bool) {
        let mut mirror = Mirror::default();
        socket
            .until(what, |event, data| {
                if event != "torrents:update" || data["engineId"] != json!(self.engine) {
                    return None;
                }
                if mirror.seq.is_some() || data["full"] == json!(true) {
                    mirror.apply(data);
                }
                let changed = data["torrents"]
                    .as_array()?
                    .iter()
                    .find(|t| t["hash"] == json!(self.sample.hash))?;
                wanted(changed).then_some(())
            })
            .await;
    }

    /// A bare action through the API.
    async fn act(&self, action: &str) {
        let path = format!(
            "/api/torrents/{}/{action}?engineId={}",
            self.sample.hash, self.engine
        );
        assert_eq!(self.api.act(&path).await, json!({ "success": true }), "{action}");
    }

    /// An action with a body through the API.
    async fn tell(&self, action: &str, mut body: Value) {
        body["engineId"] = json!(self.engine);
        let path = format!("/api/torrents/{}/{action}", self.sample.hash);
        assert_eq!(
            self.api.post(&path, body).await,
            json!({ "success": true }),
            "{action}"
        );
    }

    async fn until_doing(&self, wanted: Doing) {
        let what = format!("the client to be {wanted:?}");
        until_true(&what, || async {
            self.client.doing(&self.sample.hash).await == wanted
        })
        .await;
    }

    async fn pause_resume_stop_start(&self) {
        let stopped = self.client.stopped();
        let shown = if stopped == Doing::Stopped {
            "stopped"
        } else {
            "paused"
        };
        for (action, doing, state) in [
            ("pause", Doing::Paused, "paused"),
            ("resume", Doing::Running, "seeding"),
            ("stop", stopped, shown),
            ("start", Doing::Running, "seeding"),
        ] {
            self.act(action).await;
            self.until_doing(doing).await;
            let what = format!("the API to show {state} after {action}");
            self.api
                .until_torrent(&self.engine, &self.sample.hash, &what, |torrent| {
                    torrent["state"] == json!(state)
                })
                .await;
        }
    }

    async fn limits(&self) {
        self.tell("limits/upload", json!({ "bytesPerSec": 512 * 1024 }))
            .await;
        self.tell("limits/download", json!({ "bytesPerSec": 768 * 1024 }))
            .await;
        assert_eq!(
            self.client.limits(&self.sample.hash).await,
            (512 * 1024, 768 * 1024)
        );
        self.tell("limits/upload", json!({ "bytesPerSec": 0 })).await;
        self.tell("limits/download", json!({ "bytesPerSec": 0 })).await;
        let (up, down) = self.client.limits(&self.sample.hash).await;
        assert!(up <= 0 && down <= 0, "no limit is left: {up}, {down}");
        self.until_doing(Doing::Running).await;
    }

    async fn trackers(&self) {
        let url = "http://127.0.0.1:9/announce";
        let path = format!("/api/torrents/{}/trackers", self.sample.hash);
        self.tell("trackers", json!({ "url": url })).await;
        until_true("the client to have the tracker", || async {
            self.client
                .trackers(&self.sample.hash)
                .await
                .iter()
                .any(|tracker| tracker == url)
        })
        .await;
        let listed = self.api.get(&format!("{path}?engineId={}", self.engine)).await;
        assert!(
            listed
                .as_array()
                .is_some_and(|all| all.iter().any(|tracker| tracker["url"] == json!(url))),
            "{listed}"
        );
        let body = json!({ "url": url, "engineId": self.engine });
        let removed = self.api.send("DELETE", &path, Some(&body)).await;
        assert_eq!(removed.status, 200, "{}", removed.text());
        until_true("the client to use the tracker no longer", || async {
            self.client
                .trackers(&self.sample.hash)
                .await
                .iter()
                .all(|tracker| tracker != url)
        })
        .await;
    }

    async fn file_priority(&self) {
        for priority in [2, 0, 1] {
            self.tell("files/priority", json!({ "fileIndex": 0, "priority": priority }))
                .await;
            assert_eq!(self.client.file_priority(&self.sample.hash).await, priority);
        }
        let files = self
            .api
            .get(&format!(
                "/api/torrents/{}/files?engineId={}",
                self.sample.hash, self.engine
            ))
            .await;
        assert_eq!(files[0]["path"], json!(self.sample.name));
        assert_eq!(
            (&files[0]["size"], &files[0]["progress"]),
            (&json!(MAIN_SIZE), &json!(1.0))
        );
        let path = format!("/api/torrents/{}/files/priority", self.sample.hash);
        let body = json!({ "fileIndex": 7, "priority": 1, "engineId": self.engine });
        let reply = self.api.send("POST", &path, Some(&body)).await;
        assert_eq!(reply.status, 404, "a file that is not there: {}", reply.text());
    }

    async fn rename(&self) {
        let path = format!("/api/torrents/{}/rename", self.sample.hash);
        let body = json!({ "name": "another name", "engineId": self.engine });
        let reply = self.api.send("POST", &path, Some(&body)).await;
        if let Client::Rtorrent(_) = self.client {
            assert_eq!(reply.status, 400, "{}", reply.text());
            assert_eq!(
                reply.json()["message"],
                json!("This engine cannot rename torrents")
            );
        } else {
            assert_eq!(reply.status, 201, "{}", reply.text());
            assert_eq!(self.client.name(&self.sample.hash).await, "another name");
            self.tell("rename", json!({ "name": self.sample.name })).await;
        }
    }

    /// A byte is changed on disk: only a real recheck finds it.
    async fn recheck_finds_damage(&self) {
        let hash = &self.sample.hash;
        self.act("stop").await;
        self.until_doing(self.client.stopped()).await;
        // Without a seed the lost piece stays lost until we have looked.
        self.seeder.throttle(1024).await;
        let path = self.client.downloads().join(&self.sample.name);
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .open(path)
            .expect("the downloaded file");
        file.seek(SeekFrom::Start(1_000_000)).expect("it is longer");
        file.write_all(&[!self.sample.bytes[1_000_000]])
            .expect("it is ours");
        drop(file);
        self.act("recheck").await;
        let whole = MAIN_SIZE as u64;
        until_true("the client to find the damage", || async {
            self.client.doing(hash).await != Doing::Checking
                && self.client.completed_bytes(hash).await < whole
        })
        .await;
        self.seeder.throttle(0).await;
        self.act("start").await;
        until_true("the client to repair it", || async {
            self.client.completed_bytes(hash).await == whole
        })
        .await;
        until_true("the bytes to be right again", || async {
            self.sample.is_in(&self.client.downloads())
        })
        .await;
        self.seeder.throttle(SEED_RATE).await;
    }

    async fn move_there_and_back(&self) {
        let (home, away) = (self.client.downloads(), self.client.other_directory());
        for destination in [&away, &home] {
            self.tell("move", json!({ "destination": destination })).await;
            let wanted = destination.display().to_string();
            until_true("the client to save elsewhere", || async {
                self.client.directory(&self.sample.hash).await == wanted
            })
            .await;
            // rTorrent looks at what lies in the new place before it goes on.
            self.until_doing(Doing::Running).await;
            until_true("the file to be there", || async {
                self.sample.is_in(destination)
            })
            .await;
        }
        until_true("it to be whole again", || async {
            self.client.completed_bytes(&self.sample.hash).await == MAIN_SIZE as u64
        })
        .await;
    }

    async fn remove_and_keep_data(&self) {
        self.delete("").await;
        assert!(self.sample.is_in(&self.client.downloads()), "the data stays");
        std::fs::remove_file(self.client.downloads().join(&self.sample.name)).expect("the file stayed");
    }

    async fn remove_with_data(&self) {
        self.delete("/data").await;
        let path = self.client.downloads().join(&self.sample.name);
        until_true("the data to be gone", || async { !path.exists() }).await;
        assert!(self.client.downloads().exists(), "the shared directory stays");
    }

    async fn delete(&self, what: &str) {
        let hash = &self.sample.hash;
        let answer = self
            .api
            .delete(&format!("/api/torrents/{hash}{what}?engineId={}", self.engine))
            .await;
        assert_eq!(answer["success"], json!(true), "{answer}");
        until_true("the client to forget it", || async {
            !self.client.lists(hash).await
        })
        .await;
        until("the API to forget it", || async {
            self.api.torrent(&self.engine, hash).await.is_none().then_some(())
        })
        .await;
    }
}
