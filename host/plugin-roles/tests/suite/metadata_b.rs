//! The provider `provider_b` that comes with the server: TheTVDB, against a server that speaks the documented answers and one that
//! does not.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use qm_plugin_host::{CheckOptions, Compiler, Limits, Values as _};
use qm_plugin_roles::check;
use qm_ports::metadata::*;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use crate::bench::{Bench, first_party, limits};
use crate::metadata::{by_imdb, config, json_answer, object, subject};
use crate::network::answer;
use crate::webhook::request;

const KEY: &str = "01234567-89ab-cdef-0123-456789abcdef";
const PIN: &str = "PINPIN42";
const ORIGIN: &str = "https://api4.thetvdb.com";

/// TheTVDB, as far as anybody asks here.
#[derive(Default)]
struct Site {
    /// Lines of requests with the token they came with, or the body of a login.
    asked: Mutex<Vec<String>>,
    logins: AtomicUsize,
    /// The number of the oldest login whose token is taken.
    lives: AtomicUsize,
}

impl Site {
    fn lines(&self) -> Vec<String> {
        self.asked.lock().unwrap().drain(..).collect()
    }

    fn login(&self, way: &str, body: &[u8]) -> Vec<u8> {
        let sent: Value = serde_json::from_slice(body).unwrap();
        if way == "refusing" || sent["apikey"] != KEY {
            let text = format!("InvalidAPIKey: {} not valid", sent["apikey"]);
            return json_answer(
                "401 Unauthorized",
                &json!({ "status": "failure", "message": text, "data": null }),
            );
        }
        let number = self.logins.fetch_add(1, Ordering::SeqCst);
        let token = if way == "tokenless" {
            Value::Null
        } else {
            json!(format!("token.{number}"))
        };
        json_answer(
            "200 OK",
            &json!({ "status": "success", "data": { "token": token } }),
        )
    }

    fn answer(&self, way: &str, path: &str, head: &str) -> Vec<u8> {
        let number = head
            .lines()
            .find_map(|line| line.strip_prefix("authorization: bearer token."))
            .and_then(|number| number.parse::<usize>().ok());
        let lives = number.is_some_and(|number| number >= self.lives.load(Ordering::SeqCst));
        if !lives || way == "fickle" {
            return json_answer(
                "401 Unauthorized",
                &json!({ "status": "failure", "message": "Unauthorized", "data": null }),
            );
        }
        let page = "<!DOCTYPE html><html>Sign in</html>";
        match way {
            "html" => return answer("200 OK\r\ncontent-type: text/html", page),
            "broken" => return json_answer("502 Bad Gateway", &json!("oops")),
            "cut" => return answer("200 OK", "{\"data\":[{\"id\":1,"),
            "list" => return answer("200 OK", "[]"),
            "dataless" => return answer("200 OK", "{\"status\":\"success\",\"data\":null}"),
            "throttled" => return answer("429 Too Many Requests\r\nretry-after: 17", "{}"),
            "away" => return answer("302 Found\r\nlocation: https://elsewhere.test/x?token=hidden", ""),
            "huge" => return answer("200 OK", &" ".repeat(5 << 20)),
            _ => {}
        }
        let data = match path {
            "/search" => json!([
                { "id": "series-361753", "tvdb_id": "361753", "name": "Harbor Nine", "type": "series", "year": "2023" },
                { "odd": true }
            ]),
            "/series/361753/extended" => show(),
            "/movies/603/extended" => {
                json!({ "id": 603, "name": "Orchard", "runtime": 136, "status": { "name": "Released" },
                "remoteIds": [{ "id": "tt0133093", "sourceName": "IMDB" }] })
            }
            "/series/361753/episodes/default/eng" => json!({ "episodes": [
                { "id": 2, "seasonNumber": 1, "number": 2 },
                { "id": 1, "seasonNumber": 1, "number": 1, "name": "Tide", "runtime": 48 } ] }),
            "/series/361753/artworks" => json!({ "artworks": [
                { "type": 2, "image": "/banners/de.jpg", "language": "deu" }, { "type": 2, "image": "/banners/en.jpg", "language": "eng" } ] }),
            "/search/remoteid/tt7654321" => json!([{ "series": { "id": 361_753, "name": "Harbor Nine" } }]),
            _ => {
                return json_answer(
                    "404 Not Found",
                    &json!({ "status": "failure", "message": "Not Found", "data": null }),
                );
            }
        };
        json_answer(
            "200 OK",
            &json!({ "status": "success", "data": data, "links": { "next": null, "total_items": 1 } }),
        )
    }
}

fn show() -> Value {
    json!({
        "id": 361_753, "name": "Harbor Nine", "slug": "harbor-nine", "firstAired": "2023-02-01", "status": { "name": "Continuing" },
        "image": "https://artworks.thetvdb.com/banners/p.jpg", "companies": [{ "name": "Channel Nine", "companyType": { "companyTypeName": "Network" } }],
        "translations": { "overviewTranslations": [{ "language": "eng", "overview": "A port." }] },
        "contentRatings": [{ "name": "TV-14", "country": "usa" }], "originalCountry": "gbr",
        "remoteIds": [{ "id": "tt7654321", "sourceName": "IMDB" }, { "id": "81123", "sourceName": "TheMovieDB.com" }],
        "seasons": [{ "number": 1, "type": { "type": "official" } }],
    })
}

/// A server on loopback: `/WAY/v4/…` is answered the way it says.
async fn server() -> (u16, Arc<Site>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let site = Arc::<Site>::default();
    let ours = site.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let site = ours.clone();
            tokio::spawn(async move {
                let (head, body) = request(&mut stream).await;
                let line = head.lines().next().unwrap_or_default();
                let line = line.trim_end_matches(" http/1.1").to_owned();
                site.asked.lock().unwrap().push(line.clone());
                let target = line.split_once(" /").unwrap_or_default().1;
                let (way, rest) = target.split_once('/').unwrap_or(("", target));
                let path = rest.split('?').next().unwrap_or_default();
                let path = path.strip_prefix("v4").unwrap_or(path);
                if way == "hang" {
                    tokio::time::sleep(Duration::from_mins(5)).await;
                }
                // What a relay leads here has no way.
                let bytes = if path == "/login" || target == "v4/login" {
                    site.login(way, &body)
                } else {
                    site.answer(way, path, &head)
                };
                // Whoever has gone needs no answer.
                let _ = stream.write_all(&bytes).await;
            });
        }
    });
    (port, site)
}

/// A host with the provider, whose origin is asked for at `port`.
async fn bench(port: u16) -> Bench {
    let limits = Limits {
        memory_bytes: 128 << 20,
        cpu: Duration::from_secs(3),
        silence: Duration::from_secs(2),
        ..limits()
    };
    let files = [("provider_b.wasm", first_party("provider_b.wasm"))];
    let relays = vec![format!("{ORIGIN}=http://127.0.0.1:{port}")];
    let bench = Bench::relaying(&files, limits, Compiler::InProcess, relays).await;
    bench.host.settled().await;
    bench
}

fn config_for(port: u16, way: &str) -> ProviderConfig {
    ProviderConfig {
        fields: object(
            json!({ "apiKey": KEY, "pin": PIN, "baseUrl": format!("http://127.0.0.1:{port}/{way}/v4/") }),
        ),
        timeout_ms: Some(2000),
    }
}

#[tokio::test]
async fn titles_are_searched_and_told_about_with_one_login() {
    let (port, site) = server().await;
    let bench = bench(port).await;
    let providers = bench.host.providers();
    let kind = &providers.providers()[0];
    assert_eq!((&*kind.id, &*kind.label), ("provider_b", "TheTVDB"));
    assert_eq!(
        (kind.abilities.len(), &*kind.find_sources),
        (5, &["titledb".to_owned()][..])
    );
    assert_eq!(kind.config_schema["properties"]["pin"]["writeOnly"], true);
    let good = || config_for(port, "good");
    assert_eq!(providers.verify("provider_b", good()).await, Ok(()));
    let query = TitleQuery {
        year: Some(2023),
        ..TitleQuery::first_page(TitleKind::Show, "Harbor Nine")
    };
    let found = providers
        .search("provider_b", good(), query.clone())
        .await
        .unwrap();
    assert_eq!((found.hits.len(), &*found.hits[0].id), (1, "361753"));
    providers.search("provider_b", good(), query).await.unwrap();
    let search = "get /good/v4/search?query=harbor%20nine&type=series&year=2023&limit=50";
    assert_eq!(
        site.lines(),
        ["post /good/v4/login", "post /good/v4/login", search, search],
        "a check proves the key; after it one login is enough"
    );
    let kept = bench.values.get("provider_b", "session").await.unwrap().unwrap();
    assert!(!kept.contains("token"), "it is sealed: {kept}");

    let show = subject(TitleKind::Show, "361753");
    let title = providers
        .details("provider_b", good(), show.clone())
        .await
        .unwrap();
    assert_eq!(
        (title.status.as_deref(), title.standing),
        (Some("Continuing"), Standing::Continuing)
    );
    assert_eq!(
        (title.certification.as_deref(), title.overview.as_deref()),
        (Some("TV-14"), Some("A port."))
    );
    assert_eq!(
        (title.networks, title.countries),
        (vec!["Channel Nine".to_owned()], vec!["GB".to_owned()])
    );
    let ids: Vec<_> = title.ids.iter().map(|id| (&*id.source, &*id.id)).collect();
    assert_eq!(
        ids,
        [
            ("provider_b", "361753"),
            ("titledb", "tt7654321"),
            ("provider_a", "81123")
        ]
    );
    let film = subject(TitleKind::Movie, "movie-603");
    let film = providers.details("provider_b", good(), film).await.unwrap();
    assert_eq!((film.runtime, film.standing), (Some(136), Standing::Released));
    let episodes = providers
        .episodes("provider_b", good(), "361753", 1, None)
        .await
        .unwrap();
    assert_eq!((episodes.len(), episodes[0].title.as_deref()), (2, Some("Tide")));
    let images = providers.artwork("provider_b", good(), show).await.unwrap();
    assert_eq!(images[0].language.as_deref(), Some("en"));
    let found = providers.find("provider_b", good(), by_imdb(), None).await;
    assert_eq!(found.unwrap()[0].id, "361753");
    let unknown = providers
        .details("provider_b", good(), subject(TitleKind::Show, "82"))
        .await;
    assert!(matches!(unknown, Err(ProviderError::NotFound(_))), "{unknown:?}");
    let season = providers.episodes("provider_b", good(), "361753", 9, None).await;
    assert!(matches!(season, Err(ProviderError::NotFound(_))), "{season:?}");
    assert_eq!(site.logins.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_token_that_is_refused_is_given_up_and_belongs_to_its_key() {
    let (port, site) = server().await;
    let bench = bench(port).await;
    let providers = bench.host.providers();
    let search = async |config| {
        let query = TitleQuery::first_page(TitleKind::Show, "x");
        providers.search("provider_b", config, query).await.map(|_| ())
    };
    assert_eq!(search(config_for(port, "good")).await, Ok(()));
    site.lines();
    // The first token has been revoked.
    site.lives.store(1, Ordering::SeqCst);
    assert_eq!(search(config_for(port, "good")).await, Ok(()));
    let lines = site.lines();
    let starts: Vec<_> = lines.iter().map(|line| &line[..line.len().min(16)]).collect();
    assert_eq!(
        starts,
        ["get /good/v4/sea", "post /good/v4/lo", "get /good/v4/sea"]
    );
    // Another key never uses the token of the first one.
    let mut other = config_for(port, "good");
    other.fields.insert("apiKey".to_owned(), json!("another"));
    let refused = search(other).await;
    assert!(matches!(refused, Err(ProviderError::Auth(_))), "{refused:?}");
    assert_eq!(site.lines(), ["post /good/v4/login"]);
    // Nor is it sent to another base URL.
    assert_eq!(search(config_for(port, "elsewhere")).await, Ok(()));
    assert!(site.lines()[0].starts_with("post /elsewhere"));
    // One that refuses what it has just given is asked no third time.
    let refused = search(config_for(port, "fickle")).await;
    assert!(matches!(refused, Err(ProviderError::Auth(_))), "{refused:?}");
    assert_eq!(site.lines().len(), 2);
}

#[tokio::test]
async fn each_wrong_answer_of_thetvdb_is_an_error_of_its_own() {
    let (port, _) = server().await;
    let bench = bench(port).await;
    let providers = bench.host.providers();
    for (way, kind, says) in [
        ("html", "unparsable", "a web page"),
        ("cut", "unparsable", "no JSON"),
        ("list", "unparsable", "other JSON"),
        ("dataless", "unparsable", "other JSON"),
        ("tokenless", "unparsable", "a token"),
        ("broken", "status", "HTTP 502"),
        ("refusing", "auth", "refuses the key"),
        ("throttled", "throttled", "HTTP 429"),
        ("away", "redirected", "https://elsewhere.test"),
        ("huge", "too large", "4 MiB"),
        ("hang", "timeout", "2000 ms"),
    ] {
        let began = Instant::now();
        let query = TitleQuery::first_page(TitleKind::Show, "x");
        let error = providers
            .search("provider_b", config_for(port, way), query)
            .await
            .unwrap_err();
        let told = match &error {
            ProviderError::Throttled { seconds, .. } => {
                assert_eq!(*seconds, Some(17));
                "throttled"
            }
            ProviderError::Unparsable(_) => "unparsable",
            ProviderError::Status { status: 502, .. } => "status",
            ProviderError::Auth(_) => "auth",
            ProviderError::Redirected(_) => "redirected",
            ProviderError::TooLarge(_) => "too large",
            ProviderError::Timeout(_) => "timeout",
            _ => "other",
        };
        assert_eq!(told, kind, "{way}: {error:?}");
        let text = error.to_string();
        assert!(text.contains(says), "{way}: {text}");
        for secret in [KEY, PIN, "token.", "hidden"] {
            assert!(!text.contains(secret), "{way}: {text}");
        }
        assert!(began.elapsed() < Duration::from_mins(1), "{way}");
    }
    let nobody = providers.verify("provider_b", config_for(1, "good")).await;
    assert!(matches!(nobody, Err(ProviderError::Unreachable(_))), "{nobody:?}");
    let status = bench.status("provider_b.wasm");
    assert_eq!(
        (status.traps, status.timeouts),
        (0, 0),
        "it is no fault of the plugin's"
    );
}

#[tokio::test]
async fn its_own_host_wants_a_grant_and_no_secret_stands_in_a_url() {
    let (port, site) = server().await;
    let bench = bench(port).await;
    let providers = bench.host.providers();
    for bad in [json!({}), json!({ "apiKey": "" }), json!({ "apiKey": 7 })] {
        let refused = providers.is_configured("provider_b", config(bad.clone())).await;
        assert!(
            matches!(refused, Err(ProviderError::InvalidConfig(_))),
            "{bad}: {refused:?}"
        );
    }
    let odd = providers
        .verify("provider_b", config(json!({ "apiKey": "a b" })))
        .await;
    assert!(
        matches!(&odd, Err(ProviderError::InvalidConfig(why)) if !why.contains("a b")),
        "{odd:?}"
    );
    let denied = providers
        .verify("provider_b", config(json!({ "apiKey": KEY })))
        .await;
    assert!(
        matches!(&denied, Err(ProviderError::Denied(why)) if !why.contains(KEY)),
        "{denied:?}"
    );
    assert!(site.lines().is_empty());
    bench.pins.grant("provider_b", &[ORIGIN]);
    bench.host.follow_grants("provider_b").await.unwrap();
    // The relay keeps the path, so that the way is `v4`.
    let verified = providers
        .verify("provider_b", config(json!({ "apiKey": KEY, "pin": PIN })))
        .await;
    assert_eq!(verified, Ok(()));
    assert_eq!(site.lines(), ["post /v4/login"]);
}

#[tokio::test]
async fn it_passes_its_contract_tests() {
    let (port, _) = server().await;
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("provider_b.wasm");
    std::fs::write(&file, first_party("provider_b.wasm")).unwrap();
    let net = qm_net::Net::new(qm_net::NetConfig::default()).unwrap();
    for (way, passes) in [("good", true), ("refusing", false)] {
        let options = CheckOptions {
            target: Some(config_for(port, way).fields),
            judge: |_, _| Ok(()),
            cache_dir: Some(home.path().join("cache")),
        };
        let report = check(&file, options, &net, qm_kernel::Ctx::system())
            .await
            .unwrap();
        assert_eq!(report.passed(), passes, "{way}: {:#?}", report.checks);
    }
}
