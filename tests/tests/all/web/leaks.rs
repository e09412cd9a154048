//! No secret leaves the server. Known secrets are put wherever one can be kept, every GET of the document is walked with
//! ids that exist, mistakes are made on every route that takes a body; then every answer, header, live message and line
//! of the log (both formats, talkative) is searched for any of the secrets and for what is stored of them.

use std::path::Path;
use std::sync::{Arc, Mutex};

use qm_db::{Db, Json, all, exec, sql};
use qm_testkit::binary::{self, Binary};
use qm_testkit::http::Reply;
use qm_testkit::server::PASSWORD;
use qm_testkit::wait::until_true;
use qm_testkit::ws::Ws;
use qm_testkit::{Api, TestDb, both_databases, plugins, totp};
use serde_json::{Value, json};

use crate::document::{Kind, Operation, fresh, operations};
use crate::table::TABLE;

const JWT_SECRET: &str = "leak-jwt-3f9c1e7a5b2d4860-not-used-anywhere";
const ENCRYPTION_KEY: &str = "leak-sealing-8d2b6f4a0c1e3957-not-used-anywhere";
const PREVIOUS_KEY: &str = "leak-previous-5a7c9e1b3d2f4068-not-used-anywhere";
const DATABASE_PASSWORD: &str = "leak-database-1b3d5f7a9c2e4608";
const USER_PASSWORD: &str = "leak-user-6e8a0c2b4d1f3579";
const ENGINE_PASSWORDS: [&str; 3] = [
    "leak-engine-2c4e6a8b0d1f3597",
    "leak-engine-9b7d5f3a1c2e4806",
    "leak-engine-4a6c8e0b2d1f3795",
];
const CHANNEL_TOKEN: &str = "leak-channel-3e5a7c9b1d2f4860";
const PROVIDER_KEY: &str = "leak-provider-7f9b1d3a5c2e4068";
/// Secrets that areas keep beside those: for an indexer, the link to an aggregator, a media server, the mail server,
/// and the titles.
const INDEXER_KEY: &str = "leak-indexer-9a1c3e5b7d2f4068";
const LINK_KEY: &str = "leak-link-5d7f9b1a3c2e4860";
const MEDIA_KEY: &str = "leak-media-1f3b5d7a9c2e4608";
const MAIL_PASSWORD: &str = "leak-mail-8b0d2f4a6c1e3579";
const TITLES_KEY: &str = "leak-titles-2e4a6c8f0b1d3597";
/// Keys in the addresses of feeds. A user who sees feeds sees their addresses; nobody else learns of them.
const FEED_KEYS: [&str; 2] = ["leak-feed-6c8e0a2d4b1f3795", "leak-feed-0d2b4f6e8a1c3957"];
/// Talkative about everything, most so about what is ours: a directive covers all targets that begin with its own.
const FILTER: &str = "debug,quartermaster=trace,qm_=trace";

sql! {
    STORED_USERS = "SELECT password_hash, totp_secret, recovery_codes FROM users";
    STORED_TOKENS = "SELECT token_hash FROM refresh_tokens";
    STORED_KEYS = "SELECT key_hash FROM api_keys";
    STORED_ENGINES = "SELECT config FROM torrent_engines";
    STORED_CHANNELS = "SELECT config, state FROM notification_channels";
    STORED_INDEXERS = "SELECT api_key, config FROM indexers";
    STORED_SERVERS = "SELECT config FROM media_server_integrations";
    STORED_SETTINGS = "SELECT value FROM settings \
        WHERE key IN ('indexer_proxy.settings', 'media.titledb', 'media_server_analytics.email')";
    PUT_SETTING = "INSERT INTO settings (key, value, updated_at) VALUES ($1, $2, 0)";
}

/// Secrets that must not be seen, each with a name of what it is.
#[derive(Default)]
struct Secrets(Vec<(String, String)>);

impl Secrets {
    fn add(&mut self, what: &str, secret: impl Into<String>) {
        let secret = secret.into();
        assert!(secret.len() >= 8, "{what} is too short to search for: {secret:?}");
        self.0.push((what.to_owned(), secret));
    }

    fn absent(&self, place: &str, text: &str) {
        for (what, secret) in &self.0 {
            if let Some(at) = text.find(secret.as_str()) {
                let around: String = text[text.floor_char_boundary(at.saturating_sub(200))..]
                    .chars()
                    .take(400)
                    .collect();
                panic!("{what} is in {place}: …{around}…");
            }
        }
    }

    fn absent_from(&self, place: &str, reply: &Reply) {
        self.absent(place, &reply.text());
        for (name, value) in &reply.headers {
            self.absent(
                &format!("header {name} of {place}"),
                &String::from_utf8_lossy(value.as_bytes()),
            );
        }
    }

    /// The tokens of a session, and whom they belong to.
    fn session(&mut self, api: &Api, session: &Value) -> Api {
        let text = |key: &str| session[key].as_str().expect("a token").to_owned();
        self.add("an access token", text("accessToken"));
        let refresh = text("refreshToken");
        let (_, secret) = refresh.split_once('.').expect("family and secret");
        self.add("a refresh token", secret);
        api.with_token(Some(text("accessToken")))
    }
}

/// The address with a password in it; the test servers ask for none and take any.
fn with_password(url: &str) -> String {
    url.replacen("postgres@", &format!("postgres:{DATABASE_PASSWORD}@"), 1)
}

/// The environment of the server and of the operator's commands.
fn environment(dir: &Path, format: &'static str) -> Vec<(&'static str, String)> {
    vec![
        ("JWT_ACCESS_SECRET", JWT_SECRET.to_owned()),
        ("ENCRYPTION_KEY", ENCRYPTION_KEY.to_owned()),
        ("ENCRYPTION_KEY_PREVIOUS", PREVIOUS_KEY.to_owned()),
        ("FILE_MANAGER_ROOTS", dir.join("files").display().to_string()),
        ("THROTTLE_LIMIT", "1000000".to_owned()),
        ("LOG_FORMAT", format.to_owned()),
        ("RUST_LOG", FILTER.to_owned()),
    ]
}

async fn start(dir: &Path, db: &TestDb, format: &'static str) -> Binary {
    let plugins_dir = dir.join("plugins");
    std::fs::create_dir_all(&plugins_dir).expect("our own directory");
    let installed = [
        "webapi_client.wasm",
        "misbehave.wasm",
        "courier.wasm",
        "torznab.wasm",
        "jellyfin.wasm",
    ];
    for plugin in installed {
        plugins::install(plugin, &plugins_dir);
    }
    let files = dir.join("files");
    std::fs::create_dir_all(&files).expect("our own directory");
    std::fs::write(files.join("note.txt"), "nothing secret").expect("our own directory");
    let env = environment(dir, format);
    let env: Vec<(&str, &str)> = env.iter().map(|(name, value)| (*name, value.as_str())).collect();
    Binary::start_with(dir, &with_password(db.url()), &env).await
}

/// The output of the operator's commands.
fn commands(dir: &Path, db: &TestDb, format: &'static str) -> String {
    let commands: [&[&str]; 3] = [&["user", "list"], &["secrets", "rotate"], &["migrate"]];
    let mut printed = String::new();
    for arguments in commands {
        let mut command = binary::command(dir, &with_password(db.url()));
        let output = command
            .envs(environment(dir, format))
            .args(arguments)
            .output()
            .expect("the binary is there");
        for stream in [&output.stdout, &output.stderr] {
            printed.push_str(&String::from_utf8_lossy(stream));
        }
        assert!(output.status.success(), "{arguments:?}: {printed}");
    }
    assert!(printed.contains("leaky"), "the users are listed: {printed}");
    printed
}

async fn log_in(api: &Api, body: Value) -> Value {
    let reply = fresh(api, "POST", "/api/auth/login")
        .json(&body)
        .send()
        .await
        .expect("an answer");
    assert_eq!(reply.status, 201, "{}", reply.text());
    reply.json()
}

/// Puts secrets everywhere. Answers the administrator.
async fn seed(binary: &Binary, db: &Db, secrets: &mut Secrets) -> Api {
    for (what, secret) in [
        ("the signing key", JWT_SECRET),
        ("the encryption key", ENCRYPTION_KEY),
        ("the previous encryption key", PREVIOUS_KEY),
        ("the database's password", DATABASE_PASSWORD),
        ("the administrator's password", PASSWORD),
        ("a user's password", USER_PASSWORD),
        ("a provider's key", PROVIDER_KEY),
        ("a channel's token", CHANNEL_TOKEN),
        ("an indexer's key", INDEXER_KEY),
        ("the key of the link to an aggregator", LINK_KEY),
        ("a media server's key", MEDIA_KEY),
        ("the mail server's password", MAIL_PASSWORD),
        ("the key of titles", TITLES_KEY),
    ] {
        secrets.add(what, secret);
    }
    let anonymous = binary.anonymous();
    let session = log_in(&anonymous, json!({ "username": "admin", "password": PASSWORD })).await;
    let admin = secrets.session(&anonymous, &session);
    second_factor(&anonymous, &admin, secrets).await;

    let key = admin.post("/api/api-keys", json!({ "name": "a script" })).await;
    let (_, secret) = key["key"]
        .as_str()
        .and_then(|key| key.split_once('.'))
        .expect("prefix and secret");
    secrets.add("an API key", secret);

    for password in ENGINE_PASSWORDS {
        secrets.add("an engine's password", password);
    }
    let nowhere =
        json!({ "baseUrl": "http://127.0.0.1:9", "username": "somebody", "password": ENGINE_PASSWORDS[0] });
    admin
        .add_engine("unreachable", "webapi_client", nowhere.clone())
        .await;
    let steady = json!({ "mode": "ok", "torrents": 3, "password": ENGINE_PASSWORDS[0] });
    let engine = admin.add_engine("steady", "misbehave", steady).await;
    let changed = json!({ "config": { "mode": "ok", "torrents": 3, "password": ENGINE_PASSWORDS[1] } });
    admin.patch(&format!("/api/engines/{engine}"), changed).await;
    let mut tested = nowhere;
    tested["password"] = json!(ENGINE_PASSWORDS[2]);
    admin
        .post(
            "/api/engines/test",
            json!({ "kind": "webapi_client", "config": tested }),
        )
        .await;

    leaking_channel(&admin).await;
    outside(&admin).await;
    // As the routes of later areas will store it.
    let mut tx = db.begin_write().await.expect("a write");
    let written = exec!(
        &mut tx,
        PUT_SETTING,
        "media.providerAApiKey",
        Json(json!(PROVIDER_KEY))
    )
    .await;
    written.and_then(|rows| rows.exactly(1)).expect("a setting");
    tx.commit().await.expect("a commit");
    stored(db, secrets).await;
    admin
}

/// Signs in to every outside service once, at an address where nobody answers.
async fn outside(admin: &Api) {
    const NOBODY: &str = "http://127.0.0.1:9";
    let id = |made: Value| made["id"].as_str().expect("an id").to_owned();
    let indexer = json!({ "name": "Orchard", "baseUrl": NOBODY, "apiKey": INDEXER_KEY });
    let indexer = id(admin.post("/api/indexers", indexer).await);
    let told = admin.act(&format!("/api/indexers/{indexer}/test")).await;
    assert!(told["error"].is_string(), "{told}");
    let found = admin.post("/api/indexers/search", json!({ "q": "Harbor" })).await;
    assert_eq!(found["failed"], json!(1), "{found}");

    let link = json!({ "enabled": true, "internalUrl": NOBODY, "apiKey": LINK_KEY });
    admin.patch("/api/integrations/indexer_proxy", link).await;
    let told = admin
        .post("/api/integrations/indexer_proxy/test", json!({}))
        .await;
    assert_eq!(told["ok"], json!(false), "{told}");

    let den =
        json!({ "name": "Den", "kind": "jellyfin", "config": { "baseUrl": NOBODY, "apiKey": MEDIA_KEY } });
    let den = id(admin.post("/api/media/server-integrations", den).await);
    let told = admin
        .act(&format!("/api/media/server-integrations/{den}/test"))
        .await;
    assert_eq!(told["ok"], json!(false), "{told}");

    let mail = json!({
        "host": "127.0.0.1", "port": 9, "auth": true, "user": "house", "password": MAIL_PASSWORD, "fromAddress": "house@example.org",
    });
    admin
        .patch("/api/media-server-analytics/settings/email", mail)
        .await;
    let trial = json!({ "recipient": "jo@example.org" });
    let refused = admin
        .send(
            "POST",
            "/api/media-server-analytics/settings/email/test",
            Some(&trial),
        )
        .await;
    assert!(
        (400..600).contains(&refused.status) && refused.status != 500,
        "{}",
        refused.text()
    );

    let titles = json!({ "apiBaseUrl": NOBODY, "apiKey": TITLES_KEY, "mode": "official_api" });
    admin.patch("/api/media/providers/titledb/settings", titles).await;
    admin.act("/api/media/providers/titledb/test").await;

    let [password, key] = FEED_KEYS;
    let feed =
        json!({ "name": "News", "url": format!("http://jo:{password}@127.0.0.1:9/rss?passkey={key}") });
    let feed = id(admin.post("/api/rss/feeds", feed).await);
    let refused = admin
        .send("POST", &format!("/api/rss/feeds/{feed}/refresh"), None)
        .await;
    assert_eq!(refused.status, 400, "{}", refused.text());
    let feeds = admin.get("/api/rss/feeds").await;
    let why = [&refused.json()["message"], &feeds[0]["lastError"]]
        .map(|why| why.as_str().unwrap_or_default().to_owned());
    assert!(
        !why[1].is_empty() && !why.concat().contains("leak-feed"),
        "{why:?}"
    );
}

/// A channel that tells its secrets to the log and in its errors, whenever it is to send.
async fn leaking_channel(admin: &Api) {
    const CHANNEL: &str = "/api/account/notifications/channels/courier";
    let config = json!({ "mode": "leak", "on": "send", "code": "any", "token": CHANNEL_TOKEN });
    admin.post(CHANNEL, json!({ "config": config })).await;
    admin.act(&format!("{CHANNEL}/link")).await;
    admin.act(&format!("{CHANNEL}/confirm")).await;
    let refused = admin.send("POST", &format!("{CHANNEL}/test"), None).await;
    assert_eq!(
        (refused.status, &refused.json()["message"]),
        (400, &json!("Courier refused it: •••••••• is not liked"))
    );
}

/// A user with two-factor on, signed in with a code, with a recovery code, and by refreshing.
async fn second_factor(anonymous: &Api, admin: &Api, secrets: &mut Secrets) {
    let body = json!({ "username": "leaky", "email": "leaky@example.org", "password": USER_PASSWORD, "roleNames": ["SUPER_ADMIN"] });
    admin.post("/api/users", body).await;
    let credentials =
        |code: Option<&str>| json!({ "username": "leaky", "password": USER_PASSWORD, "totp": code });
    let session = log_in(anonymous, credentials(None)).await;
    let leaky = secrets.session(anonymous, &session);
    let setup = leaky.act("/api/account/2fa/setup").await;
    let seed = setup["secret"].as_str().expect("a seed");
    secrets.add("a TOTP seed", seed);
    let enabled = leaky
        .post("/api/account/2fa/enable", json!({ "code": totp::code(seed) }))
        .await;
    let codes: Vec<&str> = enabled["recoveryCodes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(codes.len(), 10);
    for code in &codes {
        secrets.add("a recovery code", *code);
        secrets.add("a recovery code", code.replace('-', ""));
    }
    let session = log_in(anonymous, credentials(Some(codes[0]))).await;
    secrets.session(anonymous, &session);
    let refreshed = anonymous
        .post(
            "/api/auth/refresh",
            json!({ "refreshToken": session["refreshToken"] }),
        )
        .await;
    secrets.session(anonymous, &refreshed);
    // Used again: told apart from one that never was, and logged.
    let reused = json!({ "refreshToken": session["refreshToken"] });
    assert_eq!(
        anonymous
            .send("POST", "/api/auth/refresh", Some(&reused))
            .await
            .status,
        401
    );
    let reused = fresh(anonymous, "POST", "/api/auth/login")
        .json(&credentials(Some(codes[0])))
        .send()
        .await;
    assert_eq!(reused.expect("an answer").status, 401);
}

/// The secrets as the database keeps them: they must not be seen either.
async fn stored(db: &Db, secrets: &mut Secrets) {
    let mut tx = db.begin_read().await.expect("a read");
    type Row = (String, Option<String>, Json<Vec<String>>);
    for (hash, seed, Json(codes)) in all!(&mut tx, Row, STORED_USERS).await.expect("users") {
        secrets.add("a password's hash", hash);
        if let Some(seed) = seed {
            secrets.add("a sealed TOTP seed", seed);
        }
        for code in codes {
            secrets.add("a recovery code's hash", code);
        }
    }
    for (hash,) in all!(&mut tx, (String,), STORED_TOKENS).await.expect("tokens") {
        secrets.add("a refresh token's hash", hash);
    }
    for (hash,) in all!(&mut tx, (String,), STORED_KEYS).await.expect("keys") {
        secrets.add("an API key's hash", hash);
    }
    type Sealed = (Option<String>, Option<String>);
    let channels = all!(&mut tx, Sealed, STORED_CHANNELS).await.expect("channels");
    assert_eq!(channels.len(), 1);
    for (config, state) in channels {
        secrets.add(
            "a channel's sealed configuration",
            config.expect("a configuration"),
        );
        secrets.add("a channel's sealed destination", state.expect("a destination"));
    }
    for (key, config) in all!(&mut tx, Sealed, STORED_INDEXERS).await.expect("indexers") {
        for sealed in key.into_iter().chain(config) {
            secrets.add("an indexer's sealed secret", sealed);
        }
    }
    for (config,) in all!(&mut tx, (String,), STORED_SERVERS).await.expect("servers") {
        secrets.add("a media server's sealed configuration", config);
    }
    let settings = all!(&mut tx, (Json<Value>,), STORED_SETTINGS)
        .await
        .expect("settings");
    assert_eq!(settings.len(), 3, "those with a secret in them");
    for (Json(members),) in settings {
        let sealed = members["apiKey"].as_str().or(members["password"].as_str());
        secrets.add("a setting's sealed secret", sealed.expect("a secret"));
    }
    for (Json(config),) in all!(&mut tx, (Json<Value>,), STORED_ENGINES)
        .await
        .expect("engines")
    {
        let Some(sealed) = config["password"].as_str() else {
            continue;
        };
        assert!(!ENGINE_PASSWORDS.contains(&sealed), "it is stored sealed");
        secrets.add("an engine's sealed password", sealed);
    }
}

/// A path of an operation that names things that exist.
async fn existing(admin: &Api, operation: &Operation) -> String {
    let first = async |list: &str, key: &str| {
        let list = admin.get(list).await;
        let items = list.get("items").unwrap_or(&list);
        items[0][key].as_str().unwrap_or("none").to_owned()
    };
    let hash = if operation.path.contains("{hash}") {
        first("/api/torrents?engineId=all", "hash").await
    } else {
        String::new()
    };
    let id = match operation.path.split('/').nth(2) {
        Some("engines") => first("/api/engines", "id").await,
        Some("users") => first("/api/users", "id").await,
        Some("plugins") => first("/api/plugins", "id").await,
        Some("settings") => "media.providerAApiKey".to_owned(),
        Some("indexers") => first("/api/indexers", "id").await,
        Some("rss") => first("/api/rss/feeds", "id").await,
        Some("media") if operation.path.contains("/server-integrations/") => {
            first("/api/media/server-integrations", "id").await
        }
        _ => "none".to_owned(),
    };
    operation.with(|name| if name == "hash" { hash.clone() } else { id.clone() })
}

/// Values under which the query's parameters find something.
fn query(operation: &Operation) -> String {
    let value = |name: &str| match name {
        "engineId" => Some("all"),
        "path" => Some("note.txt"),
        "q" | "search" => Some("e"),
        "pageSize" | "limit" => Some("200"),
        _ => None,
    };
    let pairs = operation
        .query
        .iter()
        .filter_map(|name| Some(format!("{name}={}", value(name)?)));
    pairs.collect::<Vec<_>>().join("&")
}

/// Bodies with mistakes in them, and secrets where secrets go.
fn mistakes(operation: &Operation) -> Vec<String> {
    let Some(row) = TABLE.iter().find(|row| row.route == operation.name()) else {
        return Vec::new();
    };
    // A body of free keys is the caller's own words, and is given back.
    let Some(good) = row.body.filter(|_| row.loose.is_none()) else {
        return Vec::new();
    };
    let mut secretive: Value = serde_json::from_str(good).expect("JSON");
    for property in operation.body.iter().flatten() {
        let name = property.name.to_lowercase();
        let keeps_secrets = ["password", "totp", "code", "token", "secret", "key"]
            .iter()
            .any(|word| name.contains(word));
        if property.kind == Kind::Text && keeps_secrets {
            secretive[&property.name] = json!(USER_PASSWORD);
        } else if property.kind == Kind::Object {
            secretive[&property.name]["password"] = json!(ENGINE_PASSWORDS[0]);
        }
    }
    let mut unknown = secretive.clone();
    unknown["noSuchProperty"] = json!({ "password": USER_PASSWORD });
    let mut mistyped = secretive.clone();
    for (_, value) in mistyped.as_object_mut().into_iter().flatten() {
        *value = json!([{ "password": USER_PASSWORD }]);
    }
    let cut = format!("{{\"password\":\"{USER_PASSWORD}\",\"token\":{USER_PASSWORD}");
    vec![
        secretive.to_string(),
        unknown.to_string(),
        mistyped.to_string(),
        cut,
    ]
}

/// Listens until the server ends, and keeps what it hears.
fn listen(mut socket: Ws) -> (Arc<Mutex<Vec<String>>>, tokio::task::JoinHandle<()>) {
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = heard.clone();
    let task = tokio::spawn(async move {
        while let Some(message) = socket.next().await {
            kept.lock()
                .expect("no test panics holding it")
                .push(message.to_string());
        }
    });
    (heard, task)
}

async fn nothing_leaks(test_db: &TestDb, format: &'static str) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut binary = start(dir.path(), test_db, format).await;
    let db = Db::open(test_db.url()).await.expect("the database is open to us");
    let mut secrets = Secrets::default();
    let admin = seed(&binary, &db, &mut secrets).await;
    let (heard, listener) = listen(Ws::connect(&admin).await);
    let page = "/api/torrents?engineId=all";
    until_true("the torrents", || async {
        admin.get(page).await["total"] == json!(3)
    })
    .await;

    let operations = operations(&admin).await;
    for operation in operations.iter().filter(|operation| operation.method == "GET") {
        let path = existing(&admin, operation).await;
        for path in [path.clone(), format!("{path}?{}", query(operation))] {
            let reply = fresh(&admin, "GET", &path).send().await.expect("an answer");
            secrets.absent_from(&format!("GET {path}"), &reply);
        }
    }
    for operation in operations.iter().filter(|operation| operation.body.is_some()) {
        let path = existing(&admin, operation).await;
        for body in mistakes(operation) {
            for api in [&admin, &binary.anonymous()] {
                let request = fresh(api, &operation.method, &path).body("application/json", body.clone());
                let reply = request.send().await.expect("an answer");
                assert_ne!(reply.status, 500, "{} {path}: {}", operation.method, reply.text());
                secrets.absent_from(&format!("{} {path}", operation.method), &reply);
            }
        }
    }
    let mask = "••••••••";
    let settings = admin.get("/api/settings").await;
    assert_eq!(settings["media.providerAApiKey"], json!(mask), "{settings}");

    // What those requests stored is searched for as well.
    stored(&db, &mut secrets).await;
    assert!(binary.stop().await.success());
    listener.await.expect("the listener ends with the server");
    let heard = heard.lock().expect("no test panics holding it");
    assert!(!heard.is_empty(), "the live channel said something");
    heard
        .iter()
        .for_each(|message| secrets.absent("a live message", message));
    // Answers about feeds were searched already, and say where they are.
    for key in FEED_KEYS {
        secrets.add("a feed's secret", key);
        heard
            .iter()
            .for_each(|message| secrets.absent("a live message", message));
    }
    let log = binary.process().output();
    readable(&log, format);
    secrets.absent("the log", &log);
    secrets.absent("the commands' output", &commands(dir.path(), test_db, format));
}

/// The log is one, and talkative: nothing would leak into an empty one.
fn readable(log: &str, format: &str) {
    let requests = log
        .lines()
        .filter(|line| line.contains("request.id") || line.contains("request_id"));
    assert!(requests.count() > 100, "requests are in the log: {log}");
    if format == "json" {
        let lines = log.lines().filter(|line| line.starts_with('{'));
        for line in lines {
            let parsed: Result<Value, _> = serde_json::from_str(line);
            assert!(parsed.is_ok_and(|line| line["level"].is_string()), "{line}");
        }
    }
}

#[test]
#[should_panic(expected = "an engine's password is in the log: …")]
fn a_secret_that_leaks_is_found() {
    let mut secrets = Secrets::default();
    secrets.add("an engine's password", ENGINE_PASSWORDS[1]);
    secrets.absent("the log", "nothing to see here");
    secrets.absent(
        "the log",
        &format!("•{{\"password\":\"{}\"}}", ENGINE_PASSWORDS[1]),
    );
}

both_databases! {
    async fn nothing_leaks_into_answers_or_a_readable_log(db: &TestDb) {
        nothing_leaks(db, "pretty").await;
    }

    async fn nothing_leaks_into_answers_or_a_structured_log(db: &TestDb) {
        nothing_leaks(db, "json").await;
    }
}
