//! From a download that completes in a real client to everywhere that people hear of it: a rule moves the torrent and tells a
//! webhook; Telegram, Discord and a mailbox get a message, the inbox a row, the realtime channel an event. Over one server that
//! is killed ten times, each time at another point of that.
//!
//! "Once" is what ADR 29 and ADR 30 promise. An inbox has one row of each download, and the torrent is moved: what is to be done
//! is stored with what caused it, and a move may be done again. A webhook and a message leave once at most. What was on its
//! way when the server died may have arrived, which nobody can tell from here: such a one is not sent again, and says so (a
//! failed line in the rule's log, a delivery that is `interrupted`). So each arrives once, or says that it may not have
//! arrived; and one that was caught by its receiver has arrived and is not repeated.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use qm_db::{Db, sql};
use qm_lanes::IgnorePoison;
use qm_testkit::binary::Binary;
use qm_testkit::qbittorrent::Qbittorrent;
use qm_testkit::receiver::{Moment, Received, Receiver};
use qm_testkit::rtorrent::{Mode, Rtorrent};
use qm_testkit::sample::{Format, Sample};
use qm_testkit::smtp::{Options, PASSWORD, Smtp, USER};
use qm_testkit::tracker::Tracker;
use qm_testkit::wait::{until, until_true};
use qm_testkit::ws::Ws;
use qm_testkit::{Api, TestDb, both_databases, plugins};
use serde_json::{Value, json};
use tokio::sync::Notify;

const PLUGINS: [&str; 6] = [
    "webapi_client.wasm",
    "torrent_actions.wasm",
    "webhook.wasm",
    "chat_app_a.wasm",
    "chat_app_b.wasm",
    "email.wasm",
];
const CHANNELS: &str = "/api/account/notifications/channels";
const TELEGRAM: &str = "https://api.telegram.org";
const DISCORD: &str = "https://discord.com";
const BOT: &str = "123456:AAH-token_of_the_house";
const READER: &str = "jo@example.org";
const SIZE: usize = 600 * 1024;

sql! {
    OF_A_DOWNLOAD = "SELECT d.channel, d.status, d.suppressed_reason, d.last_error FROM notification_deliveries d \
        JOIN notifications n ON n.id = d.notification_id WHERE n.title LIKE $1 AND d.completed_at IS NOT NULL";
}

/// Where the server is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Point {
    /// The download has begun; it completes while no server runs.
    Downloading,
    /// The client says that it is moving.
    Moving,
    Webhook(Moment),
    Telegram(Moment),
    Discord(Moment),
    /// The mail server has the letter, and has not answered yet.
    Letter,
    /// The event of the inbox has come over the socket.
    Event,
    /// It is not killed.
    Never,
}

const POINTS: [Point; 11] = [
    Point::Downloading,
    Point::Moving,
    Point::Webhook(Moment::Taken),
    Point::Webhook(Moment::Answered),
    Point::Telegram(Moment::Taken),
    Point::Telegram(Moment::Answered),
    Point::Discord(Moment::Taken),
    Point::Discord(Moment::Answered),
    Point::Letter,
    Point::Event,
    Point::Never,
];

/// Titles that came over the sockets of all servers.
#[derive(Default)]
struct Heard {
    titles: Mutex<Vec<String>>,
    news: Notify,
}

impl Heard {
    fn count(&self, name: &str) -> usize {
        let titles = self.titles.lock().ignore_poison();
        titles.iter().filter(|title| title.contains(name)).count()
    }

    async fn until(&self, name: &str) {
        while self.count(name) == 0 {
            self.news.notified().await;
        }
    }
}

/// Everything that is not killed.
struct World {
    dir: tempfile::TempDir,
    database: String,
    client: Qbittorrent,
    _seeder: Rtorrent,
    _tracker: Tracker,
    samples: Vec<Sample>,
    smtp: Smtp,
    webhook: Receiver,
    telegram: Receiver,
    discord: Receiver,
    /// The code that a person sends to their bot.
    code: Arc<Mutex<String>>,
    heard: Arc<Heard>,
}

/// Telegram's Bot API, as documented: what a bot is asked for here.
fn bot(received: &Received, code: &Mutex<String>) -> (&'static str, Value) {
    let is_ok = |result: Value| ("200 OK", json!({ "ok": true, "result": result }));
    let Some(method) = received.line.strip_prefix(&format!("POST /bot{BOT}/")) else {
        return (
            "404 Not Found",
            json!({ "ok": false, "error_code": 404, "description": "Not Found" }),
        );
    };
    match method {
        "getMe" => is_ok(json!({ "id": 1, "is_bot": true, "first_name": "House", "username": "House_Bot" })),
        "getUpdates" => {
            let code = code.lock().ignore_poison().clone();
            is_ok(json!([{ "update_id": 7, "message": {
                "message_id": 1, "date": 1_700_000_000, "text": code, "chat": { "id": 99, "type": "private", "username": "jo" },
            } }]))
        }
        "sendMessage" => is_ok(json!({ "message_id": 4711, "chat": { "id": 99 } })),
        _ => (
            "400 Bad Request",
            json!({ "ok": false, "error_code": 400, "description": "Bad Request" }),
        ),
    }
}

/// A webhook of Discord, as documented.
fn hook(received: &Received) -> (&'static str, Value) {
    match &*received.line {
        "GET /api/webhooks/1234567/token-of-the-house" => (
            "200 OK",
            json!({ "id": "1234567", "type": 1, "name": "House", "channel_id": "5" }),
        ),
        "POST /api/webhooks/1234567/token-of-the-house?wait=true" => (
            "200 OK",
            json!({ "id": "99", "channel_id": "5", "embeds": received.body["embeds"] }),
        ),
        _ => (
            "404 Not Found",
            json!({ "message": "Unknown Webhook", "code": 10015 }),
        ),
    }
}

impl World {
    /// Starts everything. `None`: this machine has no mail server to send by.
    async fn new(db: &TestDb) -> Option<World> {
        let options = Options {
            login: true,
            ..Options::default()
        };
        let smtp = Smtp::start(options).await?;
        let code = Arc::<Mutex<String>>::default();
        let sent = code.clone();
        let (tracker, seeder) = (Tracker::start().await, Rtorrent::start(Mode::Tcp).await);
        let mut samples = Vec::new();
        for number in 0..POINTS.len() {
            let name = format!("download{number}end");
            let sample = Sample::new(&name, SIZE, number as u64, Format::V1, &tracker.announce());
            tracker.allow(&sample.hash).await;
            seeder.seed(&sample).await;
            tracker.until_seeded(&sample.hash).await;
            samples.push(sample);
        }
        let dir = tempfile::tempdir().expect("a temporary directory");
        let installed = dir.path().join("plugins");
        std::fs::create_dir(&installed).expect("our own directory");
        for plugin in PLUGINS {
            plugins::install(plugin, &installed);
        }
        Some(World {
            dir,
            database: db.url().to_owned(),
            client: Qbittorrent::start().await,
            _seeder: seeder,
            _tracker: tracker,
            samples,
            smtp,
            webhook: Receiver::start(|_| ("204 No Content", Value::Null)).await,
            telegram: Receiver::start(move |received| bot(received, &sent)).await,
            discord: Receiver::start(hook).await,
            code,
            heard: Arc::default(),
        })
    }

    /// Begins a server, and listens to it.
    async fn boot(&self) -> (Binary, Api) {
        let relays = format!(
            "{TELEGRAM}={},{DISCORD}={}",
            self.telegram.origin(),
            self.discord.origin()
        );
        let roots = [self.client.downloads(), self.client.other_directory()];
        let roots = roots.map(|root| root.display().to_string()).join(",");
        let trusted = self.smtp.certificate_file().display().to_string();
        let env = [
            ("PLUGIN_RELAYS", relays.as_str()),
            ("SSRF_ALLOW_HOSTS", "127.0.0.1,localhost"),
            ("FILE_MANAGER_ROOTS", &roots),
            // The machine's certificates, as far as this process is concerned.
            ("SSL_CERT_FILE", &trusted),
            ("THROTTLE_LIMIT", "1000000"),
        ];
        let server = Binary::start_with(self.dir.path(), &self.database, &env).await;
        let admin = server.admin().await;
        let (mut socket, heard) = (Ws::connect(&admin).await, self.heard.clone());
        socket
            .until("admission", |event, _| (event == "auth:ok").then_some(()))
            .await;
        tokio::spawn(async move {
            while let Some(message) = socket.next().await {
                if message["event"] != "account.notification.created" {
                    continue;
                }
                let title = message["data"]["title"].as_str().unwrap_or_default().to_owned();
                heard.titles.lock().ignore_poison().push(title);
                heard.news.notify_one();
            }
        });
        (server, admin)
    }

    /// The engine, the rule, the mail server and the three channels of one person. Answers the ids of engine and rule.
    async fn set_up(&self, admin: &Api) -> (String, String) {
        for (plugin, hosts, capabilities) in [
            ("torrent_actions", json!([]), json!(["torrents"])),
            ("webhook", json!([]), json!(["http-guarded"])),
            ("chat_app_a", json!([TELEGRAM]), json!([])),
            ("chat_app_b", json!([DISCORD]), json!([])),
            ("email", json!([]), json!(["mail"])),
        ] {
            grant(
                admin,
                plugin,
                &json!({ "hosts": hosts, "capabilities": capabilities }),
            )
            .await;
        }
        let mut mail = self.smtp.settings();
        mail["user"] = json!(USER);
        mail["password"] = json!(PASSWORD);
        admin
            .patch("/api/media-server-analytics/settings/email", mail)
            .await;
        let engine = admin
            .add_engine("client", "webapi_client", self.client.config())
            .await;
        self.connect(admin).await;
        let away = self.client.other_directory();
        let rule = admin
            .post(
                "/api/automation/rules",
                json!({
                    "name": "move and tell", "trigger": "torrent.completed", "conditions": [], "actions": [
                        { "type": "move", "params": { "destination": away } },
                        { "type": "webhook", "params": { "url": format!("{}/hook", self.webhook.origin()) } },
                    ],
                }),
            )
            .await;
        (engine, rule["id"].as_str().expect("an id").to_owned())
    }

    async fn connect(&self, admin: &Api) {
        let letters = admin
            .post(&format!("{CHANNELS}/email"), json!({ "address": READER }))
            .await;
        assert_eq!(letters["verified"], false, "{letters}");
        let code = json!({ "code": self.code_of_letter().await });
        let confirmed = admin.post(&format!("{CHANNELS}/email/confirm"), code).await;
        assert_eq!(confirmed["verified"], true, "{confirmed}");
        let url = format!("{DISCORD}/api/webhooks/1234567/token-of-the-house");
        let hooked = admin
            .post(&format!("{CHANNELS}/chat_app_b"), json!({ "webhookUrl": url }))
            .await;
        assert_eq!(hooked["verified"], true, "{hooked}");
        admin
            .post(&format!("{CHANNELS}/chat_app_a/bot"), json!({ "token": BOT }))
            .await;
        let link = admin.act(&format!("{CHANNELS}/chat_app_a/link")).await;
        let code = link["code"].as_str().expect("a code").to_owned();
        *self.code.lock().ignore_poison() = code;
        let linked = admin.act(&format!("{CHANNELS}/chat_app_a/confirm")).await;
        assert_eq!(linked["verified"], true, "{linked}");
        let wish = json!({ "emailEnabled": true, "chatAppAEnabled": true, "chatAppBEnabled": true });
        let path = "/api/account/notifications/preferences/torrent.completed";
        admin.put(path, wish).await;
    }

    /// Has the server see a download that has not begun.
    async fn add(&self, admin: &Api, engine: &str, sample: &Sample) {
        let fields = [("engineId", engine), ("startPaused", "true")];
        admin.upload_torrent(&fields, &sample.metainfo).await;
        admin
            .until_torrent(engine, &sample.hash, "the torrent to be listed", |torrent| {
                torrent["progress"] == 0.0
            })
            .await;
        // What an edge needs of a torrent is stored with the read that first told of it.
        tokio::time::sleep(Duration::from_millis(300)).await;
    }

    /// Starts a download and waits until the server is to be killed.
    async fn reach(&self, point: Point, admin: &Api, engine: &str, sample: &Sample) {
        let (name, start) = (
            &sample.name,
            format!("/api/torrents/{}/start?engineId={engine}", sample.hash),
        );
        let catching = match point {
            Point::Webhook(moment) => Some(self.webhook.catch(name, moment)),
            Point::Telegram(moment) => Some(self.telegram.catch(name, moment)),
            Point::Discord(moment) => Some(self.discord.catch(name, moment)),
            _ => None,
        };
        self.smtp.hold(point == Point::Letter);
        admin.act(&start).await;
        let reached = async {
            match point {
                Point::Downloading | Point::Never => {}
                Point::Moving => {
                    let away = self.client.other_directory().display().to_string();
                    until_true("the client to move it", || async {
                        let row = self.client.torrent(&sample.hash).await.unwrap_or_default();
                        row["save_path"]
                            .as_str()
                            .is_some_and(|path| path.trim_end_matches('/') == away)
                    })
                    .await;
                }
                Point::Letter => until_true("the letter", || async { self.letters(name) == 1 }).await,
                Point::Event => self.heard.until(name).await,
                Point::Webhook(_) | Point::Telegram(_) | Point::Discord(_) => {
                    if let Some(catching) = catching {
                        catching.await.expect("the receiver lives");
                    }
                }
            }
        };
        let patience = qm_testkit::wait::PATIENCE;
        tokio::time::timeout(patience, reached)
            .await
            .unwrap_or_else(|_| panic!("{point:?} was not reached"));
    }

    /// The code that the only letter brings.
    async fn code_of_letter(&self) -> String {
        let letter = until("the letter with the code", || async { self.smtp.letters().pop() }).await;
        let data = letter["data"].as_str().unwrap_or_default().replace("=\r\n", "");
        let end = data.find(" is the code").expect("the letter brings a code");
        data[end - 6..end].to_owned()
    }

    /// The number of letters that tell of a download.
    fn letters(&self, name: &str) -> usize {
        let letters = self.smtp.letters();
        let tells = |letter: &&Value| {
            let data = letter["data"].as_str().unwrap_or_default();
            data.replace("=\r\n", "").contains(name)
        };
        letters.iter().filter(tells).count()
    }

    /// The number of times that each channel brought the message of a download.
    fn arrived(&self, name: &str) -> BTreeMap<&'static str, usize> {
        [
            ("chat_app_a", self.telegram.count(name)),
            ("chat_app_b", self.discord.count(name)),
            ("email", self.letters(name)),
        ]
        .into()
    }
}

/// Grants a plugin what it needs, where it was built apart from this server.
async fn grant(admin: &Api, plugin: &str, grants: &Value) {
    let plugins = admin.get("/api/plugins").await;
    let mut all = plugins.as_array().into_iter().flatten();
    let listed = all.find(|one| one["id"] == plugin).expect("the plugin is listed");
    if listed["firstParty"] == true {
        return;
    }
    let path = format!("/api/plugins/{plugin}/grants");
    admin.put(&path, grants.clone()).await;
}

/// The end of a message: its status, the reason why it was given up, and the text that its owner is shown.
type Delivery = (String, Option<String>, Option<String>);

/// The messages of a download that have ended, by their channel.
async fn deliveries(db: &Db, name: &str) -> BTreeMap<String, Delivery> {
    let mut tx = db.begin_read().await.expect("a read");
    let pattern = format!("%{name}%");
    let rows = qm_db::all!(
        &mut tx,
        (String, String, Option<String>, Option<String>),
        OF_A_DOWNLOAD,
        &pattern
    )
    .await;
    let rows = rows.expect("the deliveries");
    rows.into_iter()
        .map(|(channel, status, why, told)| (channel, (status, why, told)))
        .collect()
}

/// The line that a rule wrote for a download.
async fn line(admin: &Api, rule: &str, hash: &str) -> Option<Value> {
    let page = admin
        .get(&format!("/api/automation/rules/{rule}/logs?pageSize=200"))
        .await;
    let lines = page["items"].as_array().expect("items");
    let mut of_it = lines.iter().filter(|line| line["context"]["hash"] == hash);
    let first = of_it.next().cloned();
    assert!(of_it.next().is_none(), "one run, one line: {page}");
    first
}

/// The number of entries in the inbox that tell of a download.
async fn count_notices(admin: &Api, name: &str) -> usize {
    let page = admin.get("/api/account/notifications/inbox?pageSize=200").await;
    let items = page["items"].as_array().expect("items");
    let tells = |item: &&Value| item["title"].as_str().is_some_and(|title| title.contains(name));
    items.iter().filter(tells).count()
}

both_databases! {
    async fn a_download_is_moved_and_told_everywhere_once_however_often_the_server_is_killed(db: &TestDb) {
        let Some(world) = World::new(db).await else { return };
        let (mut server, mut admin) = world.boot().await;
        let (engine, rule) = world.set_up(&admin).await;
        for (point, sample) in POINTS.into_iter().zip(&world.samples) {
            world.add(&admin, &engine, sample).await;
            world.reach(point, &admin, &engine, sample).await;
            if point != Point::Never {
                server.kill();
                world.smtp.hold(false);
                until_true("the download to be complete", || async {
                    world.client.torrent(&sample.hash).await.is_some_and(|row| row["progress"] == 1)
                }).await;
                (server, admin) = world.boot().await;
            }
            until_true("the rule to have run", || async { line(&admin, &rule, &sample.hash).await.is_some() }).await;
        }
        let stored = Db::open(&world.database).await.expect("a database");
        for sample in &world.samples {
            let name = &sample.name;
            until_true(&format!("the messages of {name} to have ended"), || async {
                deliveries(&stored, name).await.len() == 3
            }).await;
        }
        // What would come twice comes with the next pass, or the next look.
        tokio::time::sleep(Duration::from_secs(5)).await;
        let mut lost = 0;
        for (point, sample) in POINTS.into_iter().zip(&world.samples) {
            lost += came_once(&world, (&stored, &admin), (point, sample), &rule).await;
        }
        eprintln!("ten kills: {lost} messages were cut off before they arrived");
        assert_eq!(world.heard.count(&world.samples[POINTS.len() - 1].name), 1);
        stored.close().await;
        server.kill();
    }
}

/// Checks a download against the promise. Answers the number of its messages that did not arrive.
async fn came_once(
    world: &World,
    (stored, admin): (&Db, &Api),
    (point, sample): (Point, &Sample),
    rule: &str,
) -> usize {
    let name = &sample.name;
    let moved = world.client.torrent(&sample.hash).await.expect("it is listed");
    let away = world.client.other_directory();
    assert_eq!(
        moved["save_path"].as_str().map(|path| path.trim_end_matches('/')),
        away.to_str(),
        "{point:?}"
    );
    assert!(sample.is_in(&away), "{point:?}: its data is there");
    assert_eq!(
        count_notices(admin, name).await,
        1,
        "{point:?}: one row in the inbox"
    );
    // An event is for who listens: one whose server dies first is in the inbox all the same.
    assert!(world.heard.count(name) <= 1, "{point:?}: one event");
    if matches!(point, Point::Event | Point::Never) {
        assert_eq!(world.heard.count(name), 1, "{point:?}");
    }

    let mut lost = 0;
    let ran = line(admin, rule, &sample.hash).await.expect("a line");
    let posted = world.webhook.count(name);
    assert!(posted <= 1, "{point:?}: the webhook came {posted} times");
    if ran["status"] != "success" {
        let message = ran["message"].as_str().unwrap_or_default();
        assert!(
            message.starts_with("The server ended while the action \"webhook\" ran"),
            "{point:?}: {message}"
        );
    }
    if ran["status"] == "success" || matches!(point, Point::Webhook(_)) {
        assert_eq!(posted, 1, "{point:?}: {ran}");
    }
    if point == Point::Webhook(Moment::Taken) {
        assert_eq!(
            ran["status"], "failed",
            "it may have arrived, and is not sent again"
        );
    }
    lost += 1 - posted;

    let ended = deliveries(stored, name).await;
    for (channel, times) in world.arrived(name) {
        let (status, why, error) = &ended[channel];
        let is_own = matches!(
            (point, channel),
            (Point::Telegram(_), "chat_app_a") | (Point::Discord(_), "chat_app_b") | (Point::Letter, "email")
        );
        assert!(times <= 1, "{point:?}: {channel} brought it {times} times");
        if status == "provider_accepted" || is_own {
            assert_eq!(times, 1, "{point:?} {channel}: {status} {why:?}");
        }
        if status != "provider_accepted" {
            assert_eq!(
                (&**status, why.as_deref()),
                ("failed", Some("interrupted")),
                "{point:?} {channel}: {error:?}"
            );
            assert!(
                error
                    .as_deref()
                    .is_some_and(|told| told.contains("it may have arrived, and is not sent twice"))
            );
        }
        if is_own
            && matches!(
                point,
                Point::Letter | Point::Telegram(Moment::Taken) | Point::Discord(Moment::Taken)
            )
        {
            assert_eq!(
                status, "failed",
                "{point:?}: {channel} never said that it took it"
            );
        }
        lost += 1 - times;
    }
    if point == Point::Never {
        assert_eq!(
            (lost, &ran["status"]),
            (0, &json!("success")),
            "nothing died, and all came"
        );
    }
    lost
}
