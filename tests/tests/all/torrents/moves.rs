//! Torrents of a client that does not move data itself: the server moves it, and whatever happens on the way there is one
//! whole copy, the torrent pointing at it and doing what it did before.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use qm_testkit::binary::Binary;
use qm_testkit::generations::Program;
use qm_testkit::rtorrent::{Mode, Rtorrent};
use qm_testkit::sample::{Format, Sample};
use qm_testkit::wait::{PATIENCE, until, until_true};
use qm_testkit::xmlrpc::Param;
use qm_testkit::{Api, TestDb, TestServer, every_generation, plugins};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use crate::client::{Client, Doing};
use crate::files::site::Site;

const ANNOUNCE: &str = "http://127.0.0.1:9/announce";

fn sample(name: &str, seed: u64) -> Sample {
    Sample::new(name, 3_000_000, seed, Format::V1, ANNOUNCE)
}

/// The client a [`Client`] is.
fn rtorrent(client: &Client) -> &Rtorrent {
    match client {
        Client::Rtorrent(client) => client,
        Client::Qbittorrent(_) => panic!("rTorrent is asked for"),
    }
}

async fn relocate(api: &Api, hash: &str, to: &Path) -> qm_testkit::http::Reply {
    let body = json!({ "destination": to });
    api.send("POST", &format!("/api/torrents/{hash}/move"), Some(&body))
        .await
}

/// Waits until the torrent lies whole in `place`, is pointed there and does this.
async fn assert_at(client: &Client, sample: &Sample, place: &Path, doing: Doing) {
    until_true("the torrent to be as it was, at its place", || async {
        client.doing(&sample.hash).await == doing
    })
    .await;
    assert_eq!(client.directory(&sample.hash).await, place.display().to_string());
    assert!(sample.is_in(place), "whole in {}", place.display());
    assert_eq!(
        client.completed_bytes(&sample.hash).await,
        sample.bytes.len() as u64
    );
}

every_generation! { rtorrent:
    a_torrent_moves_with_its_data,
    what_cannot_be_moved_is_refused_and_nothing_has_changed,
    a_move_that_is_killed_at_any_step_leaves_one_whole_copy,
}

every_generation! { qbittorrent: a_client_that_moves_data_is_told_to }

async fn a_torrent_moves_with_its_data(db: &TestDb, program: &Program) {
    let client = Client::rtorrent_of(program, Mode::Tcp).await;
    let memory = Site::in_memory();
    let roots = format!("{},{}", rtorrent(&client).root().display(), memory.roots());
    let server = TestServer::builder(db)
        .plugins(&["scgi_client.wasm"])
        .env("FILE_MANAGER_ROOTS", roots)
        .start()
        .await;
    let api = server.admin();
    let engine = api.add_engine("seedbox", client.kind(), client.config()).await;
    let whole = sample("whole.bin", 1);
    client.seed(&whole).await;
    api.until_torrent(&engine, &whole.hash, "it to seed", |torrent| {
        torrent["state"] == "seeding"
    })
    .await;

    // Within a file system, to a folder that is made for it; then to another file system, and back.
    let new = client.other_directory().join("made/for it");
    let mut old = client.downloads();
    for place in [new, memory.root.join("far"), client.other_directory()] {
        let moved = relocate(&api, &whole.hash, &place).await;
        assert_eq!(
            (moved.status, moved.json()),
            (201, json!({ "success": true })),
            "{}",
            moved.text()
        );
        assert_at(&client, &whole, &place, Doing::Running).await;
        assert!(
            !old.join(&whole.name).exists(),
            "nothing is left at the old place, and nothing made anew"
        );
        let shown = api.until_torrent(&engine, &whole.hash, "it to seed there", |torrent| {
            torrent["state"] == "seeding" && torrent["savePath"] == place.display().to_string()
        });
        assert_eq!(
            shown.await["contentPath"],
            place.join(&whole.name).display().to_string()
        );
        api.act(&format!("/api/torrents/{}/recheck", whole.hash)).await;
        until_true("the check to end", || async {
            client.doing(&whole.hash).await == Doing::Running
        })
        .await;
        assert_at(&client, &whole, &place, Doing::Running).await;
        old = place;
    }

    // One that has a part of its data and is stopped.
    let part = sample("part.bin", 2);
    let half = part.bytes.len() / 2;
    std::fs::write(client.downloads().join(&part.name), &part.bytes[..half]).expect("our own directory");
    rtorrent(&client).add(&part, false).await;
    rtorrent(&client)
        .call("d.check_hash", &[Param::Text(&part.hash.to_uppercase())])
        .await;
    let had = until("a part of it to be found", || async {
        // In this order: while it is checked it has less.
        let is_checked = client.doing(&part.hash).await == Doing::Stopped;
        let bytes = client.completed_bytes(&part.hash).await;
        (is_checked && bytes > 0).then_some(bytes)
    })
    .await;
    api.until_torrent(&engine, &part.hash, "it to be listed", |torrent| {
        torrent["downloaded"] == had
    })
    .await;
    let moved = relocate(&api, &part.hash, &old).await;
    assert_eq!(moved.status, 201, "{}", moved.text());
    assert_eq!(client.directory(&part.hash).await, old.display().to_string());
    assert!(old.join(&part.name).exists() && !client.downloads().join(&part.name).exists());
    assert_eq!(client.doing(&part.hash).await, Doing::Stopped);
    api.act(&format!("/api/torrents/{}/recheck", part.hash)).await;
    until_true("its part to be there", || async {
        client.completed_bytes(&part.hash).await == had
    })
    .await;
    server.end().await;
}

async fn what_cannot_be_moved_is_refused_and_nothing_has_changed(db: &TestDb, program: &Program) {
    let client = Client::rtorrent_of(program, Mode::Tcp).await;
    let inside = client.other_directory();
    let outside = client.downloads();
    let server = TestServer::builder(db)
        .plugins(&["scgi_client.wasm"])
        .env("FILE_MANAGER_ROOTS", inside.display().to_string())
        .start()
        .await;
    let api = server.admin();
    let engine = api.add_engine("seedbox", client.kind(), client.config()).await;
    let (far, near) = (sample("far.bin", 3), sample("near.bin", 4));
    client.seed(&far).await;
    near.write_to(&inside.join("near"));
    std::fs::create_dir_all(inside.join("taken").join(&near.name)).expect("our own directory");
    let place = inside.join("near").display().to_string();
    let command = format!("d.directory.set=\"{place}\"");
    let load = [
        Param::Text(""),
        Param::Bytes(&near.metainfo),
        Param::Text(&command),
    ];
    rtorrent(&client).call("load.raw_start", &load).await;
    for sample in [&far, &near] {
        api.until_torrent(&engine, &sample.hash, "it to seed", |torrent| {
            torrent["state"] == "seeding"
        })
        .await;
    }
    for (sample, to, status, says) in [
        (&near, outside.as_path(), 403, "outside the allowed storage roots"),
        (&far, inside.as_path(), 403, "outside the allowed storage roots"),
        (&near, &*inside.join("taken"), 409, "Destination already exists"),
    ] {
        let refused = relocate(&api, &sample.hash, to).await;
        assert_eq!(refused.status, status, "{}", refused.text());
        assert!(refused.text().contains(says), "{}", refused.text());
    }
    // A client that sees another folder under this path.
    std::fs::rename(inside.join("near").join(&near.name), inside.join("elsewhere")).expect("our own file");
    let unseen = relocate(&api, &near.hash, &inside.join("new")).await;
    assert_eq!(unseen.status, 409, "{}", unseen.text());
    std::fs::write(inside.join("near").join(&near.name), "something else").expect("our own file");
    let other = relocate(&api, &near.hash, &inside.join("new")).await;
    assert_eq!(other.status, 409, "{}", other.text());
    std::fs::rename(inside.join("elsewhere"), inside.join("near").join(&near.name)).expect("our own file");
    assert!(!inside.join("new").exists());
    assert_at(&client, &far, &outside, Doing::Running).await;
    assert_at(&client, &near, &inside.join("near"), Doing::Running).await;
    server.end().await;
}

async fn a_move_that_is_killed_at_any_step_leaves_one_whole_copy(db: &TestDb, program: &Program) {
    let client = Client::rtorrent_of(program, Mode::Tcp).await;
    let relay = Relay::start(client.config()["port"].as_u64().expect("a port")).await;
    let memory = Site::in_memory();
    let dir = tempfile::tempdir().expect("a temporary directory");
    let roots = format!("{},{}", rtorrent(&client).root().display(), memory.roots());
    // It is asked often.
    let env = [
        ("FILE_MANAGER_ROOTS", roots.as_str()),
        ("THROTTLE_LIMIT", "1000000"),
    ];
    std::fs::create_dir_all(dir.path().join("plugins")).expect("our own directory");
    plugins::install("scgi_client.wasm", &dir.path().join("plugins"));
    let mut server = Binary::start_with(dir.path(), db.url(), &env).await;
    let config = json!({ "mode": "scgi-tcp", "host": "127.0.0.1", "port": relay.port });
    let api = server.admin().await;
    let engine = api.add_engine("seedbox", client.kind(), config).await;
    let sample = Sample::new("killed.bin", 24_000_000, 5, Format::V1, ANNOUNCE);
    client.seed(&sample).await;
    let places = [client.downloads(), memory.root.clone()];
    let scene = Scene {
        client,
        relay,
        engine,
        sample,
        places,
    };
    let mut at = 0;
    for step in STEPS {
        scene.kill_at(step, &mut server, at).await;
        let is_whole = scene.places.iter().any(|place| scene.sample.is_in(place));
        assert!(is_whole, "{step:?}: there is no whole copy");
        server = Binary::start_with(dir.path(), db.url(), &env).await;
        at = scene.settled(&server).await;
    }
    for place in &scene.places {
        until_true("no unfinished copy to be left", || async {
            !has_temporary(place)
        })
        .await;
    }
    server.stop().await;
}

/// A torrent that is moved to and fro; the process that moves it is killed on the way.
struct Scene {
    client: Client,
    relay: Relay,
    engine: String,
    sample: Sample,
    /// On two file systems.
    places: [PathBuf; 2],
}

impl Scene {
    /// Has the torrent moved away from where it is `at`, and kills the server at this step.
    async fn kill_at(&self, step: Step, server: &mut Binary, at: usize) {
        let (api, hash, to) = (server.admin().await, &self.sample.hash, &self.places[1 - at]);
        api.until_torrent(&self.engine, hash, "it to seed", |torrent| {
            torrent["state"] == "seeding"
        })
        .await;
        let reached = self.relay.watch(step);
        let request = api.request("POST", &format!("/api/torrents/{hash}/move"));
        let request = request.json(&json!({ "destination": to }));
        // The server dies over it.
        let asked = tokio::spawn(async move { request.send().await.is_ok() });
        match step {
            Step::Asked(..) => tokio::time::timeout(PATIENCE, reached.notified())
                .await
                .unwrap_or_else(|_| panic!("{step:?} was never reached")),
            Step::Copying => until_true("the copy to begin", || async { has_temporary(to) }).await,
            Step::Copied => {
                let copy = to.join(&self.sample.name);
                until_true("the copy to be there", || async { copy.exists() }).await;
            }
        }
        server.kill();
        self.relay.pass();
        let _ = asked.await;
    }

    /// Waits until the torrent is in one place as it was, and is an ordinary torrent again. Answers the number of that
    /// place.
    async fn settled(&self, server: &Binary) -> usize {
        let (client, hash, name) = (&self.client, &self.sample.hash, &self.sample.name);
        let now = until("the move to be settled", || async {
            let pointed = client.directory(hash).await;
            let mut places = self.places.iter();
            let now = places.position(|place| place.display().to_string() == pointed)?;
            let other = self.places[1 - now].join(name);
            let runs = client.doing(hash).await == Doing::Running;
            (runs && self.places[now].join(name).exists() && !other.exists()).then_some(now)
        })
        .await;
        let place = &self.places[now];
        assert_at(client, &self.sample, place, Doing::Running).await;
        let api = server.admin().await;
        until_true("it to take orders again", || async {
            let path = format!("/api/torrents/{hash}/recheck");
            api.send("POST", &path, None).await.status == 201
        })
        .await;
        until_true("the check to end", || async {
            client.doing(hash).await == Doing::Running
        })
        .await;
        assert_at(client, &self.sample, place, Doing::Running).await;
        now
    }
}

/// By the same route: nothing of it is ours to do.
async fn a_client_that_moves_data_is_told_to(db: &TestDb, program: &Program) {
    let client = Client::qbittorrent_of(program).await;
    let server = TestServer::builder(db)
        .plugins(&["webapi_client.wasm"])
        // Where the data lies is not ours to touch.
        .env("FILE_MANAGER_ROOTS", client.other_directory().display().to_string())
        .start()
        .await;
    let api = server.admin();
    let engine = api.add_engine("seedbox", client.kind(), client.config()).await;
    let sample = sample("whole.bin", 6);
    client.seed(&sample).await;
    api.until_torrent(&engine, &sample.hash, "it to seed", |torrent| {
        torrent["state"] == "seeding"
    })
    .await;
    let place = client.other_directory().join("made for it");
    let moved = relocate(&api, &sample.hash, &place).await;
    assert_eq!((moved.status, moved.json()), (201, json!({ "success": true })));
    until_true("the client to have moved it", || async {
        sample.is_in(&place) && !client.downloads().join(&sample.name).exists()
    })
    .await;
    assert_at(&client, &sample, &place, Doing::Running).await;
    let missing = relocate(&api, &"0".repeat(40), &place).await;
    assert_eq!(missing.status, 404, "{}", missing.text());
    server.end().await;
}

/// Where the server is killed.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// The client is asked this; whether it gets to hear it.
    Asked(&'static str, bool),
    /// A part of the data is at the new place, under a temporary name.
    Copying,
    /// The data is at the new place, and perhaps still at the old one.
    Copied,
}

const STEPS: [Step; 10] = [
    Step::Asked(">d.custom<", false),
    Step::Asked(">d.custom.set<", true),
    Step::Asked(">d.close<", false),
    Step::Asked(">d.close<", true),
    Step::Copying,
    Step::Copied,
    Step::Asked(">d.directory.set<", false),
    Step::Asked(">d.directory.set<", true),
    Step::Asked(">d.start<", false),
    Step::Asked(">d.start<", true),
];

fn has_temporary(place: &PathBuf) -> bool {
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| {
        entry
            .file_name()
            .to_string_lossy()
            .starts_with(".quartermaster-tmp-")
    })
}

/// Stands before an rTorrent and hears what it is asked.
struct Relay {
    port: u16,
    watched: Arc<Mutex<Option<(&'static str, bool)>>>,
    reached: Arc<Notify>,
}

impl Relay {
    async fn start(to: u64) -> Relay {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let relay = Relay {
            port: listener.local_addr().expect("bound").port(),
            watched: Arc::default(),
            reached: Arc::default(),
        };
        let to = u16::try_from(to).expect("a port");
        let (watched, reached) = (relay.watched.clone(), relay.reached.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (watched, reached) = (watched.clone(), reached.clone());
                tokio::spawn(async move {
                    let _ = pass_on(stream, to, &watched, &reached).await;
                });
            }
        });
        relay
    }

    /// From now on a question with these words is told of and never answered.
    fn watch(&self, step: Step) -> Arc<Notify> {
        if let Step::Asked(words, heard) = step {
            *self.watched.lock().expect("no panic") = Some((words, heard));
        }
        self.reached.clone()
    }

    fn pass(&self) {
        *self.watched.lock().expect("no panic") = None;
    }
}

async fn pass_on(
    mut from: TcpStream,
    to: u16,
    watched: &Mutex<Option<(&'static str, bool)>>,
    reached: &Notify,
) -> std::io::Result<()> {
    let request = scgi_request(&mut from).await?;
    let text = String::from_utf8_lossy(&request).into_owned();
    let caught = watched
        .lock()
        .expect("no panic")
        .filter(|(words, _)| text.contains(words));
    let mut client = match caught {
        Some((_, false)) => None,
        _ => Some(TcpStream::connect(("127.0.0.1", to)).await?),
    };
    let mut answer = Vec::new();
    if let Some(client) = &mut client {
        client.write_all(&request).await?;
        client.read_to_end(&mut answer).await?;
    }
    if caught.is_some() {
        reached.notify_one();
        // Until the server is gone.
        return std::future::pending().await;
    }
    from.write_all(&answer).await
}

/// A whole SCGI request: a netstring of headers, then as many bytes as they say.
async fn scgi_request(from: &mut (impl AsyncRead + Unpin)) -> std::io::Result<Vec<u8>> {
    let mut request = Vec::new();
    loop {
        let mut piece = vec![0; 64 * 1024];
        let count = from.read(&mut piece).await?;
        request.extend_from_slice(&piece[..count]);
        let whole = || {
            let colon = request.iter().position(|byte| *byte == b':')?;
            let length: usize = std::str::from_utf8(&request[..colon]).ok()?.parse().ok()?;
            let headers = request.get(colon + 1..colon + 1 + length)?;
            let value = headers.split(|byte| *byte == 0).nth(1)?;
            let body: usize = std::str::from_utf8(value).ok()?.parse().ok()?;
            Some(colon + 2 + length + body)
        };
        if count == 0 || whole().is_some_and(|whole| request.len() >= whole) {
            return Ok(request);
        }
    }
}
