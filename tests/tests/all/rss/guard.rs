//! Feeds and their links never lead inside: whichever way an internal address comes in, not a byte is sent there, and people
//! are told which host could be listed.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use qm_test_base::engine::FakeKinds;
use qm_testkit::files::{self, FileServer};
use qm_testkit::names::Names;
use qm_testkit::{Api, TestDb, TestServer, both_databases};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The one address that is listed: sites that people may follow are there.
const LISTED: &str = "127.0.0.1";
const SENTENCE: &str =
    "resolves to a blocked internal address (an administrator can allow the host in SSRF_ALLOW_HOSTS)";
const NEVER: &str = "resolves to a blocked internal address that is never dialled, such as a link-local one or a cloud's \
                     metadata, whatever SSRF_ALLOW_HOSTS lists";

/// The info-hash of the only link that is taken: it redirects to a magnet link, for which no host is dialled.
const HASH: &str = "00112233445566778899aabbccddeeff00112233";

/// A service inside that nobody may reach, and a feed for whoever does.
struct Inside {
    port: u16,
    reached: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Inside {
    async fn start() -> Inside {
        let listener = TcpListener::bind("127.0.0.2:0").await.expect("a free port");
        let port = listener
            .local_addr()
            .expect("a bound socket has an address")
            .port();
        let reached = Arc::new(AtomicUsize::new(0));
        let counter = reached.clone();
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::SeqCst);
                let mut head = [0; 8192];
                // A client that hangs up early is its own affair.
                let _ = stream.read(&mut head).await;
                let _ = stream
                    .write_all(&feed(&[("Secret", "magnet:?xt=urn:btih:00")]))
                    .await;
                let _ = stream.shutdown().await;
            }
        });
        Inside { port, reached, task }
    }

    fn reached(&self) -> usize {
        self.reached.load(Ordering::SeqCst)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A feed of items, each a title and a link.
fn feed(items: &[(&str, &str)]) -> Vec<u8> {
    let items: String = items
        .iter()
        .map(|(title, link)| {
            let link = link.replace('&', "&amp;");
            format!("<item><guid>{title}</guid><title>{title}</title><link>{link}</link></item>")
        })
        .collect();
    let text = format!("<rss version=\"2.0\"><channel><title>t</title>{items}</channel></rss>");
    files::ok(text.as_bytes())
}

async fn server(db: &TestDb, listed: &str, names: &Arc<Names>) -> TestServer {
    TestServer::builder(db)
        .kinds(FakeKinds::first_party())
        .env("SSRF_ALLOW_HOSTS", listed)
        .resolver(names.clone())
        .start()
        .await
}

/// A feed that is read only when it is told to: what a name leads to is asked for as often as the test says.
async fn follow(api: &Api, url: &str) -> String {
    let new = json!({ "name": url, "url": url, "isEnabled": false });
    let feed = api.post("/api/rss/feeds", new).await;
    feed["id"].as_str().expect("an id").to_owned()
}

/// Why a feed cannot be read; the feed itself says the same.
async fn refusal(api: &Api, id: &str) -> String {
    let reply = api
        .send("POST", &format!("/api/rss/feeds/{id}/refresh"), Some(&json!({})))
        .await;
    assert_eq!(reply.status, 400, "{}", reply.text());
    let message = reply.json()["message"].as_str().expect("a sentence").to_owned();
    let reason = message.strip_prefix("Could not fetch feed: ").expect(&message);
    let feeds = api.get("/api/rss/feeds").await;
    let feeds = feeds.as_array().expect("a list");
    let shown = feeds.iter().find(|feed| feed["id"] == id).expect("it stays");
    assert_eq!(
        (&shown["status"], &shown["lastError"]),
        (&json!("error"), &json!(reason))
    );
    reason.to_owned()
}

/// Nothing of a URL but its host is told.
fn names(reason: &str, host: &str, sentence: &str) {
    assert!(
        reason.ends_with(&format!("`{host}` {sentence}")),
        "{host}: {reason}"
    );
    assert!(!reason.contains("hidden"), "{reason}");
}

both_databases! {
    async fn feeds_that_lead_inside_are_not_read(db: &TestDb) {
        let inside = Inside::start().await;
        let port = inside.port;
        let resolver = Names::new(&[
            ("inside.example", &[&["127.0.0.2"]]),
            ("private.example", &[&["10.0.0.1"]]),
            ("six.example", &[&["::ffff:127.0.0.2"]]),
            ("mixed.example", &[&[LISTED, "127.0.0.2"]]),
            ("metadata.example", &[&["169.254.169.254"]]),
        ]);
        let server = server(db, LISTED, &resolver).await;
        let api = server.admin();
        for (written, named, sentence) in [
            ("127.0.0.2", "127.0.0.2", SENTENCE),
            ("2130706434", "127.0.0.2", SENTENCE),
            ("0x7f.0.0.2", "127.0.0.2", SENTENCE),
            ("user:hidden@127.0.0.2", "127.0.0.2", SENTENCE),
            ("[::1]", "[::1]", SENTENCE),
            ("[::ffff:127.0.0.2]", "[::ffff:7f00:2]", SENTENCE),
            ("10.0.0.1", "10.0.0.1", SENTENCE),
            ("172.16.0.1", "172.16.0.1", SENTENCE),
            ("192.168.1.1", "192.168.1.1", SENTENCE),
            ("[fd00::1]", "[fd00::1]", SENTENCE),
            ("inside.example", "inside.example", SENTENCE),
            ("INSIDE.example", "inside.example", SENTENCE),
            ("private.example", "private.example", SENTENCE),
            ("six.example", "six.example", SENTENCE),
            ("mixed.example", "mixed.example", SENTENCE),
            ("169.254.169.254", "169.254.169.254", NEVER),
            ("[fe80::1]", "[fe80::1]", NEVER),
            ("[fd00:ec2::254]", "[fd00:ec2::254]", NEVER),
            ("metadata.example", "metadata.example", NEVER),
        ] {
            let id = follow(&api, &format!("http://{written}:{port}/rss?passkey=hidden")).await;
            names(&refusal(&api, &id).await, named, sentence);
        }
        assert_eq!(inside.reached(), 0, "not a byte was sent");
        server.end().await;
    }

    async fn a_redirect_leads_a_feed_nowhere_inside(db: &TestDb) {
        let inside = Inside::start().await;
        let port = inside.port;
        let secret = format!("http://127.0.0.2:{port}/?passkey=hidden");
        let sites = FileServer::start(HashMap::from([
            ("/literal".to_owned(), files::redirect(&secret)),
            ("/name".to_owned(), files::redirect(&format!("http://inside.example:{port}/?passkey=hidden"))),
            ("/metadata".to_owned(), files::redirect("http://169.254.169.254/latest/meta-data/hidden")),
            ("/twice".to_owned(), files::redirect("/literal")),
        ]))
        .await;
        let resolver = Names::new(&[("inside.example", &[&["127.0.0.2"]])]);
        let server = server(db, LISTED, &resolver).await;
        let api = server.admin();
        for (path, named, sentence) in [
            ("/literal", "127.0.0.2", SENTENCE),
            ("/name", "inside.example", SENTENCE),
            ("/metadata", "169.254.169.254", NEVER),
            ("/twice", "127.0.0.2", SENTENCE),
        ] {
            let id = follow(&api, &sites.url(path)).await;
            let reason = refusal(&api, &id).await;
            assert!(reason.starts_with("`127.0.0.1` redirects: "), "{reason}");
            names(&reason, named, sentence);
        }
        assert_eq!((sites.connections(), inside.reached()), (5, 0));
        server.end().await;
    }

    async fn a_name_that_turns_inside_is_judged_at_each_look(db: &TestDb) {
        let inside = Inside::start().await;
        let sites = FileServer::start(HashMap::from([
            ("/rss".to_owned(), feed(&[("One", "http://example.org/1")])),
            ("/moved".to_owned(), files::redirect("/rss")),
        ]))
        .await;
        let port = sites.port();
        // Whoever asked a second time between judging and dialling would be led inside.
        let resolver = Names::new(&[
            ("later.example", &[&[LISTED], &["127.0.0.2"]]),
            ("hop.example", &[&[LISTED], &["127.0.0.2"]]),
            ("inside.example", &[&["127.0.0.2"]]),
        ]);
        let first = server(db, LISTED, &resolver).await;
        let api = first.admin();
        let later = follow(&api, &format!("http://later.example:{port}/rss")).await;
        let rule = api.post("/api/rss/rules", json!({ "feedId": later, "name": "kept" })).await;
        let read = api.post(&format!("/api/rss/feeds/{later}/refresh"), json!({})).await;
        assert_eq!((&read["newItems"], resolver.asked("later.example")), (&json!(1), 1), "{read}");
        names(&refusal(&api, &later).await, "later.example", SENTENCE);
        let rules = api.get("/api/rss/rules").await;
        assert_eq!(rules[0]["id"], rule["id"], "a feed that cannot be read keeps its rules: {rules}");
        // Within one look: the redirect stays with the name, and the name leads elsewhere by then.
        let hop = follow(&api, &format!("http://hop.example:{port}/moved")).await;
        names(&refusal(&api, &hop).await, "hop.example", SENTENCE);
        assert_eq!((resolver.asked("hop.example"), inside.reached()), (2, 0));
        let named = follow(&api, &format!("http://inside.example:{}/", inside.port)).await;
        names(&refusal(&api, &named).await, "inside.example", SENTENCE);
        first.end().await;
        // What the sentence names is what helps.
        let second = server(db, "127.0.0.1, inside.example", &resolver).await;
        let read = second.admin().post(&format!("/api/rss/feeds/{named}/refresh"), json!({})).await;
        assert_eq!((&read["newItems"], inside.reached()), (&json!(1), 1), "{read}");
        second.end().await;
    }

    async fn links_of_items_lead_nowhere_inside(db: &TestDb) {
        let inside = Inside::start().await;
        let port = inside.port;
        let moved = format!("http://127.0.0.2:{port}/x.torrent?passkey=hidden");
        let magnet = format!("magnet:?xt=urn:btih:{HASH}&dn=x");
        let downloads = FileServer::start(HashMap::from([
            ("/moved".to_owned(), files::redirect(&moved)),
            ("/magnet".to_owned(), files::redirect(&magnet)),
        ]))
        .await;
        let site = downloads.port();
        let link = |host: &str| format!("http://{host}:{port}/x.torrent?passkey=hidden");
        let links = [
            ("Literal", link("127.0.0.2")),
            ("Private", link("10.0.0.1")),
            ("Metadata", link("169.254.169.254")),
            ("Name", link("inside.example")),
            ("Mixed", link("mixed.example")),
            ("Redirect", downloads.url("/moved")),
            ("Magnet", downloads.url("/magnet")),
            ("Later", format!("http://later.example:{site}/gone?passkey=hidden")),
        ];
        let items: Vec<(&str, &str)> = links.iter().map(|(title, link)| (*title, link.as_str())).collect();
        let sites = FileServer::start(HashMap::from([("/rss".to_owned(), feed(&items))])).await;
        let resolver = Names::new(&[
            ("inside.example", &[&["127.0.0.2"]]),
            ("mixed.example", &[&[LISTED, "127.0.0.2"]]),
            ("later.example", &[&[LISTED], &["127.0.0.2"]]),
        ]);
        let server = server(db, LISTED, &resolver).await;
        let api = server.admin();
        api.add_engine("fake", "scgi_client", json!({ "host": "one" })).await;
        let followed = follow(&api, &sites.url("/rss")).await;
        let rule = api.post("/api/rss/rules", json!({ "feedId": followed, "name": "all" })).await;
        let path = format!("/api/rss/rules/{}/match-candidates", rule["id"].as_str().expect("an id"));
        api.post(&path, json!({ "name": "any", "matchType": "wildcard", "pattern": "*" })).await;
        let read = api.post(&format!("/api/rss/feeds/{followed}/refresh"), json!({})).await;
        assert_eq!((&read["newItems"], &read["downloaded"]), (&json!(links.len()), &json!(1)), "{read}");
        let history = api.get(&format!("/api/rss/feeds/{followed}/history")).await;
        let of = |title: &str| -> &Value {
            let items = history["items"].as_array().expect("items");
            items.iter().find(|item| item["title"] == title).expect(title)
        };
        for (title, host) in [
            ("Literal", "127.0.0.2"),
            ("Private", "10.0.0.1"),
            ("Metadata", "169.254.169.254"),
            ("Name", "inside.example"),
            ("Mixed", "mixed.example"),
        ] {
            let told = format!("Torrent URL {SENTENCE}: `{host}`");
            let grab = &of(title)["grab"];
            assert_eq!((&grab["state"], &grab["error"]), (&json!("failed"), &json!(told)), "{title}: {grab}");
        }
        // A magnet link behind a redirect is an answer: nothing is dialled for it.
        assert_eq!(of("Magnet")["grab"]["state"], "done", "{history}");
        // A redirect that is refused is refused again: it is not asked for ever.
        let grab = &of("Redirect")["grab"];
        let told = "Could not fetch torrent URL: redirects are not followed";
        assert_eq!((&grab["state"], &grab["error"]), (&json!("failed"), &json!(told)), "{grab}");
        let grab = &of("Later")["grab"];
        assert_eq!((&grab["state"], resolver.asked("later.example")), (&json!("failed"), 1), "{grab}");
        assert_eq!(grab["error"], "Failed to fetch torrent URL: 404");
        // Whoever asks for it themselves is judged by where the name leads now.
        let item = of("Later")["id"].as_str().expect("an id");
        let reply = api.send("POST", &format!("/api/rss/history/{item}/download"), Some(&json!({}))).await;
        let told = format!("Download failed: Torrent URL {SENTENCE}: `later.example`");
        assert_eq!((reply.status, &reply.json()["message"]), (400, &json!(told)), "{}", reply.text());
        assert_eq!((resolver.asked("later.example"), inside.reached()), (2, 0), "not a byte was sent");
        let list = api.get("/api/torrents").await;
        assert_eq!((&list["total"], &list["items"][0]["hash"]), (&json!(1), &json!(HASH)), "{list}");
        server.end().await;
    }
}
