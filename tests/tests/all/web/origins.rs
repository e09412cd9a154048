//! A walk over all stored configurations that hold a secret: the address of each is changed, and what the server at the new one is
//! sent is looked at.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use qm_lanes::IgnorePoison;
use qm_testkit::tls::TlsFront;
use qm_testkit::wait::until;
use qm_testkit::{Api, TestServer, both_databases};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

const USER: &str = "jo";
const SECRET: &str = "origin-secret-7d1f5b3a";
/// Silence after which whoever dialled is taken for a client of SMTP, which waits to be greeted.
const GREETED: Duration = Duration::from_millis(300);
pub(super) const PLUGINS: &[&str] = &[
    "scgi_client.wasm",
    "webapi_client.wasm",
    "transmission.wasm",
    "torznab.wasm",
    "plex.wasm",
    "jellyfin.wasm",
    "emby.wasm",
    "kodi.wasm",
];

/// A server that writes down all that it is sent, whoever it is taken for.
pub(super) struct Ear {
    port: u16,
    /// Stands before it, where it is asked by TLS.
    front: Option<TlsFront>,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Ear {
    pub(super) async fn start() -> Ear {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let heard = Arc::<Mutex<Vec<u8>>>::default();
        let keeps = heard.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let keeps = keeps.clone();
                // Whoever hangs up has been heard.
                tokio::spawn(async move { drop(listen(stream, &keeps).await) });
            }
        });
        let front = None;
        Ear { port, front, heard }
    }

    /// One behind TLS.
    pub(super) async fn secure() -> Ear {
        let mut ear = Self::start().await;
        ear.front = Some(TlsFront::start(ear.port).await);
        ear
    }

    pub(super) fn front(&self) -> &TlsFront {
        self.front.as_ref().expect("it is behind TLS")
    }

    fn url(&self) -> String {
        let plain = || format!("http://127.0.0.1:{}", self.port);
        self.front.as_ref().map_or_else(plain, TlsFront::url)
    }

    pub(super) fn forget(&self) {
        self.heard.lock().ignore_poison().clear();
    }

    pub(super) fn heard(&self) -> Vec<u8> {
        self.heard.lock().ignore_poison().clone()
    }

    /// True if the secret was among it, in one of the forms in which it is sent.
    pub(super) fn heard_the_secret(&self) -> bool {
        let heard = self.heard();
        let forms = [
            SECRET.to_owned(),
            STANDARD.encode(SECRET),
            STANDARD.encode(format!("{USER}:{SECRET}")),
            STANDARD.encode(format!("\0{USER}\0{SECRET}")),
        ];
        let has = |form: &String| heard.windows(form.len()).any(|part| part == form.as_bytes());
        forms.iter().any(has)
    }
}

async fn listen(mut stream: TcpStream, heard: &Mutex<Vec<u8>>) -> std::io::Result<()> {
    let mut read = Vec::new();
    let is_smtp = tokio::time::timeout(GREETED, stream.read_buf(&mut read))
        .await
        .is_err();
    let keep = |read: &mut Vec<u8>| heard.lock().ignore_poison().append(read);
    if is_smtp {
        stream.write_all(b"220 ear ESMTP\r\n").await?;
        while stream.read_buf(&mut read).await? > 0 {
            let answer: &[u8] = match read.get(..4) {
                Some(b"EHLO") => b"250-ear\r\n250 AUTH PLAIN LOGIN\r\n",
                Some(b"AUTH") => b"535 no\r\n",
                _ => b"250 so be it\r\n",
            };
            keep(&mut read);
            stream.write_all(answer).await?;
        }
        return Ok(());
    }
    loop {
        keep(&mut read);
        let body = r#"{"ServerName":"Ear","Version":"10.11.2"}"#;
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(answer.as_bytes()).await?;
        // A body that comes behind its head is heard too, and answered once too often: nobody here minds.
        if stream.read_buf(&mut read).await? == 0 {
            return Ok(());
        }
    }
}

/// A configuration that is stored, by what it is told at one address.
pub(super) struct Stored {
    pub(super) name: String,
    /// Method and path of its change.
    change: (&'static str, String),
    /// The body that stores `config` in it.
    body: fn(Value) -> Value,
    /// Its address and all of its rest but for the secret.
    pub(super) at: fn(&Ear) -> Value,
    /// The name of its secret.
    secret: &'static str,
    /// Requests that make the server use it, with a body; none where this version never sends it.
    pub(super) uses: Vec<(&'static str, String, Value)>,
}

const MEDIA: &str = "/api/media/server-integrations";
const PROXY: &str = "/api/integrations/indexer_proxy";
pub(super) const MAIL: &str = "/api/media-server-analytics/settings/email";
const TITLEDB: &str = "/api/media/providers/titledb/settings";

impl Stored {
    /// Makes one of a list of its kind.
    async fn made(
        api: &Api,
        (list, kind, field): (&'static str, &'static str, &str),
        (secret, at, body): (&'static str, fn(&Ear) -> Value, fn(Value) -> Value),
        ear: &Ear,
        uses: &[(&'static str, &str)],
    ) -> Stored {
        let mut asked = body(with_secret(at(ear), secret));
        asked["name"] = json!(kind);
        asked[field] = json!(kind);
        let made = api.post(list, asked).await;
        let path = format!("{list}/{}", made["id"].as_str().expect("an id"));
        let uses = uses
            .iter()
            .map(|(method, tail)| (*method, format!("{path}{tail}"), json!({})));
        Stored {
            name: format!("{list} {kind}"),
            uses: uses.collect(),
            change: ("PATCH", path),
            body,
            at,
            secret,
        }
    }

    /// Stores one that there is once.
    async fn only(
        api: &Api,
        path: &'static str,
        (secret, at): (&'static str, fn(&Ear) -> Value),
        ear: &Ear,
        uses: Vec<(&'static str, String, Value)>,
    ) -> Stored {
        api.patch(path, with_secret(at(ear), secret)).await;
        Stored {
            name: path.to_owned(),
            change: ("PATCH", path.to_owned()),
            body: |config| config,
            at,
            secret,
            uses,
        }
    }

    pub(super) async fn change(&self, api: &Api, config: Value) -> Value {
        let (method, path) = &self.change;
        let reply = api.send(method, path, Some(&(self.body)(config))).await;
        assert_eq!(reply.status, 200, "{}: {}", self.name, reply.text());
        reply.json()
    }

    /// Has the server use it in every way. What it answers is of no interest: the ear is.
    pub(super) async fn use_it(&self, api: &Api) {
        for (method, path, body) in &self.uses {
            let reply = api.send(method, path, Some(body)).await;
            assert!(
                reply.status < 500 || reply.status >= 502,
                "{}: {}",
                self.name,
                reply.text()
            );
            assert!(!reply.text().contains(SECRET), "{}: {}", self.name, reply.text());
        }
    }

    /// The walk's one step: it is stored for `first`, and used there.
    async fn stays_with(&self, api: &Api, first: &Ear) {
        if !self.uses.is_empty() {
            self.use_it(api).await;
            until(
                &format!("{}: the secret where it was entered for", self.name),
                || async { first.heard_the_secret().then_some(()) },
            )
            .await;
        }
        let (second, third) = (Ear::start().await, Ear::start().await);
        for (moved, masked) in [(&second, false), (&third, true)] {
            let mut config = (self.at)(moved);
            if masked {
                config[self.secret] = json!("••••••••");
            }
            let shown = self.change(api, config).await;
            assert_eq!(
                shown["secretsWanted"],
                json!([self.secret]),
                "{}: {shown}",
                self.name
            );
            self.use_it(api).await;
        }
        // Back where it was entered for: it is gone, not hidden.
        let shown = self.change(api, (self.at)(first)).await;
        assert_eq!(
            shown["secretsWanted"],
            json!([self.secret]),
            "{}: {shown}",
            self.name
        );
        let fourth = Ear::start().await;
        let entered = self
            .change(api, with_secret((self.at)(&fourth), self.secret))
            .await;
        assert_eq!(entered["secretsWanted"], Value::Null, "{}: {entered}", self.name);
        if !self.uses.is_empty() {
            self.use_it(api).await;
            // Whatever would have gone to the others by itself has had its time when this arrives.
            until(
                &format!("{}: the secret where it was entered anew", self.name),
                || async { fourth.heard_the_secret().then_some(()) },
            )
            .await;
        }
        for ear in [&second, &third] {
            let heard = String::from_utf8_lossy(&ear.heard()).into_owned();
            assert!(!ear.heard_the_secret(), "{}: {heard}", self.name);
        }
    }
}

pub(super) fn with_secret(mut config: Value, secret: &str) -> Value {
    config[secret] = json!(SECRET);
    config
}

fn in_config(config: Value) -> Value {
    json!({ "config": config })
}

/// Every configuration of this server that holds a secret and an address, stored for `ear`.
pub(super) async fn all(api: &Api, ear: &Ear) -> Vec<Stored> {
    const TEST: &[(&str, &str)] = &[("POST", "/test")];
    let web: fn(&Ear) -> Value = |ear| json!({ "baseUrl": ear.url(), "username": USER });
    let scgi: fn(&Ear) -> Value = |ear| json!({ "mode": "http", "url": ear.url(), "username": USER });
    let box_of: fn(&Ear) -> Value =
        |ear| json!({ "url": format!("{}/transmission/rpc", ear.url()), "username": USER });
    let base: fn(&Ear) -> Value = |ear| json!({ "baseUrl": ear.url() });
    let kodi: fn(&Ear) -> Value = |ear| json!({ "baseUrl": ear.url(), "username": USER });
    let mut all = Vec::new();
    for (kind, at) in [
        ("webapi_client", web),
        ("scgi_client", scgi),
        ("transmission", box_of),
    ] {
        let of = ("/api/engines", kind, "kind");
        all.push(Stored::made(api, of, ("password", at, in_config), ear, TEST).await);
    }
    for (kind, secret, at) in [
        ("plex", "token", base),
        ("jellyfin", "apiKey", base),
        ("emby", "apiKey", base),
        ("kodi", "password", kodi),
    ] {
        let uses = &[("POST", "/test"), ("POST", "/refresh")];
        all.push(Stored::made(api, (MEDIA, kind, "kind"), (secret, at, in_config), ear, uses).await);
    }
    for kind in ["torznab", "newznab"] {
        let of = ("/api/indexers", kind, "implementation");
        all.push(Stored::made(api, of, ("apiKey", base, |config| config), ear, TEST).await);
    }
    let link: fn(&Ear) -> Value = |ear| json!({ "enabled": true, "internalUrl": ear.url() });
    let uses = vec![
        ("POST", format!("{PROXY}/test"), json!({})),
        ("GET", format!("{PROXY}/status"), json!({})),
        ("POST", format!("{PROXY}/import"), json!({})),
    ];
    all.push(Stored::only(api, PROXY, ("apiKey", link), ear, uses).await);
    let mail: fn(&Ear) -> Value = |ear| json!({ "host": "127.0.0.1", "port": ear.port, "secure": false, "user": USER, "fromAddress": "qm@example.org" });
    let uses = vec![(
        "POST",
        format!("{MAIL}/test"),
        json!({ "recipient": "jo@example.org" }),
    )];
    all.push(Stored::only(api, MAIL, ("password", mail), ear, uses).await);
    // This version asks nobody by it.
    let titledb: fn(&Ear) -> Value = |ear| json!({ "apiBaseUrl": ear.url() });
    all.push(Stored::only(api, TITLEDB, ("apiKey", titledb), ear, Vec::new()).await);
    all
}

/// The kinds that installed plugins bring, as far as a person configures them with a secret.
async fn kinds(api: &Api) -> Vec<String> {
    let mut kinds = Vec::new();
    for (list, offered) in [
        ("/api/engines", "/api/engines/kinds"),
        ("/api/indexers", "/api/indexers/implementations"),
    ] {
        for kind in api.get(offered).await.as_array().expect("a list") {
            assert!(kind["configSchema"].is_object(), "{kind}");
            if kind["configSchema"].to_string().contains("\"writeOnly\":true") {
                kinds.push(format!("{list} {}", kind["id"].as_str().expect("an id")));
            }
        }
    }
    let plugins = api.get("/api/plugins").await;
    let servers = plugins.as_array().into_iter().flatten();
    let servers = servers.filter(|plugin| plugin["kind"] == "media-server");
    kinds.extend(servers.map(|plugin| format!("{MEDIA} {}", plugin["id"].as_str().expect("an id"))));
    assert!(kinds.len() >= PLUGINS.len(), "{kinds:?}");
    kinds
}

both_databases! {
    async fn a_stored_secret_is_sent_to_no_other_address(db: &TestDb) {
        let server = TestServer::builder(db).plugins(PLUGINS).start().await;
        server.plugins().settled().await;
        let api = server.admin();
        let first = Ear::start().await;
        let all = all(&api, &first).await;
        for kind in kinds(&api).await {
            assert!(all.iter().any(|stored| stored.name == kind), "{kind} is not walked over");
        }
        for stored in &all {
            stored.stays_with(&api, &first).await;
            first.forget();
        }
    }
}
