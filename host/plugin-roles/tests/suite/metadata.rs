//! The role `metadata-provider`: what the host makes of a provider that misbehaves, and the provider that comes with the server,
//! against a server that speaks the documented answers and one that does not.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use qm_plugin_host::{CheckOptions, Compiler, Granted, Limits};
use qm_plugin_roles::check;
use qm_ports::metadata::*;
use serde_json::{Map, Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use crate::bench::{Bench, first_party, limits};
use crate::network::{answer, listen};
use crate::webhook::request;

const LIBRARIAN: &[(&str, &str)] = &[("librarian.wasm", "librarian.wasm")];
const KEY: &str = "0123456789abcdef0123456789abcdef";
const TOKEN: &str = "eyJhbGciOiJIUzI1NiJ9.eyJhdWQiOiJoaWRkZW4ifQ.c2lnbmVk";
const ORIGIN: &str = "https://api.themoviedb.org";

pub fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        other => panic!("a configuration is an object: {other}"),
    }
}

pub fn config(value: Value) -> ProviderConfig {
    ProviderConfig {
        fields: object(value),
        timeout_ms: None,
    }
}

pub fn subject(kind: TitleKind, id: &str) -> TitleSubject {
    TitleSubject {
        kind,
        id: id.to_owned(),
        language: Some("en-US".to_owned()),
        country: Some("US".to_owned()),
    }
}

pub fn by_imdb() -> ExternalId {
    ExternalId {
        source: "titledb".to_owned(),
        id: "tt7654321".to_owned(),
    }
}

// The fixture.

#[tokio::test]
async fn a_provider_describes_itself() {
    let bench = Bench::start(LIBRARIAN).await;
    let all = bench.host.providers().providers();
    assert_eq!(all.len(), 1);
    let librarian = &all[0];
    assert_eq!((&*librarian.id, &*librarian.label), ("librarian", "Librarian"));
    assert_eq!(librarian.kinds, [TitleKind::Movie, TitleKind::Show], "each once");
    assert_eq!(
        librarian.abilities,
        [
            Ability::Search,
            Ability::Details,
            Ability::Episodes,
            Ability::Artwork
        ]
    );
    let status = bench.status("librarian.wasm");
    assert_eq!(status.kind.as_deref(), Some("metadata-provider"));
    let providers = bench.host.providers();
    let unknown = providers.verify("nobody", config(json!({}))).await;
    assert!(matches!(unknown, Err(ProviderError::Missing(why)) if why.contains("nobody")));
    let found = providers
        .find("librarian", config(json!({})), by_imdb(), None)
        .await;
    assert!(
        matches!(&found, Err(ProviderError::Unsupported(why)) if why.contains("does not offer")),
        "{found:?}"
    );
    assert!(bench.host.configured_by("librarian").is_ok());
}

#[tokio::test]
async fn what_it_answers_is_bounded_and_cleaned() {
    let bench = Bench::with(
        LIBRARIAN,
        Limits {
            memory_bytes: 128 << 20,
            cpu: Duration::from_secs(3),
            ..limits()
        },
    )
    .await;
    let providers = bench.host.providers();
    let odd = || config(json!({ "mode": "odd", "token": "very-secret" }));
    let query = TitleQuery::first_page(TitleKind::Movie, "x");
    let found = providers.search("librarian", odd(), query).await.unwrap();
    assert_eq!(
        found.hits.len(),
        197,
        "200 are looked at, and three are no titles"
    );
    let first = &found.hits[0];
    assert_eq!(first.title, "[31mRed");
    let original = first.original_title.as_deref().unwrap();
    assert!(
        original.contains("turned") && !original.contains(|c: char| c.is_control() || c == '\u{202e}'),
        "{original:?}"
    );
    assert_eq!(
        (&first.released, first.rating, first.popularity),
        (&None, None, None)
    );
    assert_eq!(first.overview.as_ref().map(String::len), Some(16 << 10));
    assert_eq!((&first.poster, &first.backdrop), (&None, &None));

    let subject = subject(TitleKind::Show, "7");
    let title = providers
        .details("librarian", odd(), subject.clone())
        .await
        .unwrap();
    assert_eq!(title.title, "Harbor Nine");
    assert_eq!(title.overview.as_deref(), Some("First.\n Second."));
    assert_eq!(title.released.as_deref(), Some("2024-02-29"));
    assert_eq!(
        (&title.last_aired, &title.status, title.rating, &title.page),
        (&None, &None, None, &None)
    );
    assert_eq!(title.genres, ["Drama"]);
    assert_eq!(
        (title.tags.len(), title.cast.len(), title.seasons.len()),
        (100, 200, 500)
    );
    assert_eq!(
        (&title.cast[0].id, &title.cast[0].role, &title.seasons[0].aired),
        (&None, &None, &None)
    );
    let last = title.last_episode.unwrap();
    assert_eq!(
        (last.guests.len(), last.crew.len(), last.rating, last.aired),
        (0, 100, None, None)
    );
    assert_eq!(title.ids.len(), 1);
    assert_eq!((&*title.ids[0].source, &*title.ids[0].id), ("titledb", "tt1"));

    let episodes = providers
        .episodes("librarian", odd(), "7", 1, None)
        .await
        .unwrap();
    let numbers: Vec<_> = episodes
        .iter()
        .map(|episode| (episode.season, episode.number))
        .collect();
    assert_eq!(numbers, [(1, 1), (1, 2), (1, 3)]);
    let images = providers
        .artwork("librarian", odd(), subject.clone())
        .await
        .unwrap();
    let urls: Vec<_> = images.iter().map(|image| image.picture.url.as_str()).collect();
    assert_eq!(
        urls,
        ["https://h.example/good.jpg"],
        "no script, no user, no secret"
    );

    let nameless = config(json!({ "mode": "nameless" }));
    let nameless = providers.details("librarian", nameless, subject).await;
    assert!(
        matches!(nameless, Err(ProviderError::Unparsable(_))),
        "{nameless:?}"
    );
    assert_eq!(bench.status("librarian.wasm").traps, 0);
}

#[tokio::test]
async fn one_that_fails_costs_its_call_and_no_secret_is_told() {
    let bench = Bench::start(LIBRARIAN).await;
    let providers = bench.host.providers();
    let ask = async |mode: &str| {
        let asked = config(json!({ "mode": mode, "token": "very-secret" }));
        providers.verify("librarian", asked).await.unwrap_err()
    };
    let leak = ask("leak").await;
    assert_eq!(
        leak,
        ProviderError::Api {
            code: "••••••••".to_owned(),
            description: "https://h/?api_key=•••••••• [31m".to_owned(),
        }
    );
    let long = ask("answer").await.to_string();
    assert!(long.len() <= 1 << 10, "{}", long.len());
    assert!(matches!(ask("trap").await, ProviderError::Plugin(why) if why.contains("told to")));
    let fine = providers.verify("librarian", config(json!({}))).await;
    assert_eq!(fine, Ok(()), "the next call is one of its own");
    assert!(matches!(ask("loop").await, ProviderError::Plugin(why) if why.contains("computed")));
    let status = bench.status("librarian.wasm");
    assert_eq!(status.traps, 2, "{status:#?}");
    // Two failures cost a pause of a second.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    // Sleeping is silence: that of the time limit, however long the host waits for other roles.
    let asked = ProviderConfig {
        timeout_ms: Some(1000),
        ..config(json!({ "mode": "sleep" }))
    };
    let began = Instant::now();
    let late = providers.verify("librarian", asked).await;
    assert!(matches!(late, Err(ProviderError::Timeout(_))), "{late:?}");
    assert!(began.elapsed() < Duration::from_mins(1));
}

#[tokio::test]
async fn what_is_entered_for_the_plugin_lies_under_what_the_caller_names() {
    let bench = Bench::start(LIBRARIAN).await;
    let providers = bench.host.providers();
    let told = async |fields: Value, timeout_ms| {
        let asked = ProviderConfig {
            fields: object(fields),
            timeout_ms,
        };
        match providers.verify("librarian", asked).await {
            Err(ProviderError::Unsupported(text)) => text,
            other => panic!("not an answer of the fixture: {other:?}"),
        }
    };
    let entered = json!({ "mode": "configured", "own": "entered", "of_an_older_file": 1 });
    bench.values.configure("librarian", object(entered));
    assert_eq!(
        told(json!({}), None).await,
        "url= own=entered mode=configured timeoutMs=8000"
    );
    assert_eq!(
        told(json!({ "own": "named", "unknown": 1 }), Some(5)).await,
        "url= own=named mode=configured timeoutMs=1000"
    );
    assert_eq!(
        told(json!({ "own": null }), Some(9000)).await,
        "url= own= mode=configured timeoutMs=9000"
    );
    let wrong = config(json!({ "own": 7 }));
    let wrong = providers.is_configured("librarian", wrong).await;
    assert!(
        matches!(&wrong, Err(ProviderError::InvalidConfig(why)) if why.contains("own")),
        "{wrong:?}"
    );
}

#[tokio::test]
async fn a_base_url_leads_inside_and_own_hosts_by_grant_outside_only() {
    let (port, count) = listen(vec![answer("204 No Content", "")], Duration::ZERO).await;
    let bench = Bench::start(LIBRARIAN).await;
    let providers = bench.host.providers();
    let ask = async |fields: Value| providers.verify("librarian", config(fields)).await.unwrap_err();
    let inside = format!("http://127.0.0.1:{port}/");
    assert_eq!(
        ask(json!({ "url": inside })).await,
        ProviderError::Unsupported("status 204".to_owned())
    );
    assert_eq!(count.load(Ordering::SeqCst), 1);
    let own = "https://librarian.example/";
    for own in [own, &*inside, "http://169.254.169.254/"] {
        let refused = ask(json!({ "own": own })).await;
        assert!(matches!(refused, ProviderError::Denied(_)), "{own}: {refused:?}");
    }
    let metadata = ask(json!({ "url": "http://169.254.169.254/" })).await;
    assert!(matches!(metadata, ProviderError::Denied(_)), "{metadata:?}");
    let wanted = Granted {
        hosts: vec!["https://librarian.example".to_owned()],
        ..Granted::default()
    };
    assert!(bench.host.may_grant("librarian", &wanted).is_ok());
    bench.pins.grant("librarian", &["https://librarian.example"]);
    bench.host.follow_grants("librarian").await.unwrap();
    // Its name leads to this machine, which no grant allows.
    let refused = ask(json!({ "own": own })).await;
    assert!(matches!(&refused, ProviderError::Denied(_)), "{refused:?}");
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

// TMDB.

/// Requests that came: the line, and the whole head.
type Asked = Arc<Mutex<Vec<(String, String)>>>;

fn show() -> Value {
    json!({
        "id": 81123, "name": "Harbor Nine", "original_name": "Harbor Nine", "first_air_date": "2023-02-01",
        "last_air_date": "2026-04-01", "status": "Returning Series", "number_of_seasons": 3, "number_of_episodes": 24,
        "overview": "A port.", "vote_average": 7.9, "vote_count": 210, "popularity": 12.5, "poster_path": "/p.jpg",
        "genres": [{ "id": 18, "name": "Drama" }], "networks": [{ "name": "Channel Nine" }],
        "last_episode_to_air": { "id": 5, "name": "Tide", "season_number": 3, "episode_number": 8, "air_date": "2026-04-01" },
        "next_episode_to_air": { "id": 6, "season_number": 4, "episode_number": 1, "air_date": "2026-09-01" },
        "external_ids": { "imdb_id": "tt7654321", "tvdb_id": 361_753 },
        "content_ratings": { "results": [{ "iso_3166_1": "US", "rating": "TV-14" }] },
    })
}

pub fn json_answer(head: &str, body: &Value) -> Vec<u8> {
    answer(
        &format!("{head}\r\ncontent-type: application/json"),
        &body.to_string(),
    )
}

fn not_found() -> Vec<u8> {
    let body =
        json!({ "success": false, "status_code": 34, "status_message": "The resource could not be found." });
    json_answer("404 Not Found", &body)
}

/// TMDB, as far as anybody asks here. The first part of the path says how it answers.
fn tmdb(way: &str, path: &str) -> Vec<u8> {
    match way {
        "html" => {
            return answer(
                "200 OK\r\ncontent-type: text/html",
                "<!DOCTYPE html><html>Sign in</html>",
            );
        }
        "broken" => return json_answer("502 Bad Gateway", &json!("oops")),
        "cut" => return answer("200 OK", "{\"results\":[{\"id\":1,"),
        "list" => return answer("200 OK", "[]"),
        "throttled" => return answer("429 Too Many Requests\r\nretry-after: 17", "{}"),
        "away" => {
            return answer(
                "302 Found\r\nlocation: https://elsewhere.test/x?api_key=hidden",
                "",
            );
        }
        "huge" => return answer("200 OK", &" ".repeat(5 << 20)),
        "refusing" => {
            let body = json!({ "status_code": 7, "status_message": format!("Invalid API key {KEY}"), "success": false });
            return json_answer("401 Unauthorized", &body);
        }
        _ => {}
    }
    let hits = |hits: Value| {
        json_answer(
            "200 OK",
            &json!({ "page": 1, "results": hits, "total_pages": 1, "total_results": 1 }),
        )
    };
    match path {
        "/authentication" => json_answer("200 OK", &json!({ "success": true, "status_code": 1 })),
        "/search/tv" => hits(json!([show(), { "odd": true }])),
        "/search/movie" => hits(json!([{ "id": 603, "title": "Orchard", "release_date": "1999-03-31" }])),
        "/tv/81123" => json_answer("200 OK", &show()),
        "/movie/603" => json_answer(
            "200 OK",
            &json!({ "id": 603, "title": "Orchard", "runtime": 136, "status": "Released", "imdb_id": "tt0133093" }),
        ),
        "/tv/81123/season/1" => json_answer(
            "200 OK",
            &json!({ "episodes": [{ "episode_number": 2 }, { "episode_number": 1, "name": "Tide", "runtime": 48 }] }),
        ),
        "/tv/81123/images" => json_answer(
            "200 OK",
            &json!({ "posters": [{ "file_path": "/de.jpg", "iso_639_1": "de" }, { "file_path": "/en.jpg", "iso_639_1": "en" }] }),
        ),
        "/find/tt7654321" => json_answer("200 OK", &json!({ "movie_results": [], "tv_results": [show()] })),
        _ => not_found(),
    }
}

/// A server on loopback: `/WAY/3/…` is answered the way it says. With `slow` a second passes between the bytes of an answer.
async fn server() -> (u16, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Asked::default();
    let seen = asked.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let seen = seen.clone();
            tokio::spawn(async move {
                let (head, _) = request(&mut stream).await;
                let line = head.lines().next().unwrap_or_default();
                let line = line.trim_end_matches(" http/1.1").to_owned();
                let target = line.strip_prefix("get /").unwrap_or_default().to_owned();
                seen.lock().unwrap().push((line, head));
                let (way, rest) = target.split_once('/').unwrap_or(("", &target));
                let path = rest.split('?').next().unwrap_or_default();
                let path = path.strip_prefix('3').unwrap_or(path);
                if way == "hang" {
                    tokio::time::sleep(Duration::from_mins(5)).await;
                }
                let bytes = tmdb(way, path);
                for piece in bytes.chunks(if way == "slow" { 20 } else { bytes.len() }) {
                    // Whoever has gone needs no answer.
                    if stream.write_all(piece).await.is_err() {
                        return;
                    }
                    if way == "slow" {
                        tokio::time::sleep(Duration::from_millis(300)).await;
                    }
                }
            });
        }
    });
    (port, asked)
}

/// A host with the provider, whose origin is asked for at `port`.
async fn bench(port: u16) -> Bench {
    let limits = Limits {
        memory_bytes: 128 << 20,
        cpu: Duration::from_secs(3),
        silence: Duration::from_secs(2),
        ..limits()
    };
    let files = [("provider_a.wasm", first_party("provider_a.wasm"))];
    let relays = vec![format!("{ORIGIN}=http://127.0.0.1:{port}")];
    let bench = Bench::relaying(&files, limits, Compiler::InProcess, relays).await;
    bench.host.settled().await;
    bench
}

fn config_for(port: u16, way: &str) -> ProviderConfig {
    ProviderConfig {
        fields: object(json!({ "apiKey": KEY, "baseUrl": format!("http://127.0.0.1:{port}/{way}/3/") })),
        timeout_ms: Some(2000),
    }
}

fn lines(asked: &Asked) -> Vec<String> {
    asked.lock().unwrap().drain(..).map(|(line, _)| line).collect()
}

#[tokio::test]
async fn titles_are_searched_and_told_about() {
    let (port, asked) = server().await;
    let bench = bench(port).await;
    let providers = bench.host.providers();
    let kind = &providers.providers()[0];
    assert_eq!((&*kind.id, &*kind.label), ("provider_a", "TMDB"));
    assert_eq!(kind.abilities.len(), 5);
    assert_eq!(kind.config_schema["properties"]["apiKey"]["writeOnly"], true);
    let good = || config_for(port, "good");
    assert_eq!(providers.verify("provider_a", good()).await, Ok(()));
    let query = TitleQuery {
        year: Some(2023),
        language: Some("en-US".to_owned()),
        ..TitleQuery::first_page(TitleKind::Show, "Harbor Nine")
    };
    let found = providers.search("provider_a", good(), query).await.unwrap();
    assert_eq!((found.hits.len(), found.total), (1, Some(1)));
    assert_eq!(found.hits[0].id, "81123");
    assert_eq!(
        lines(&asked),
        [
            format!("get /good/3/authentication?api_key={KEY}"),
            format!(
                "get /good/3/search/tv?api_key={KEY}&query=harbor%20nine&include_adult=false&language=en-us&first_air_date_year=2023"
            ),
        ]
    );
    let films = TitleQuery::first_page(TitleKind::Movie, "Orchard");
    let films = providers.search("provider_a", good(), films).await.unwrap();
    assert_eq!(films.hits[0].kind, TitleKind::Movie);

    let show = subject(TitleKind::Show, "81123");
    let title = providers
        .details("provider_a", good(), show.clone())
        .await
        .unwrap();
    assert_eq!(
        (title.status.as_deref(), title.standing),
        (Some("Returning Series"), Standing::Returning)
    );
    assert_eq!(title.next_episode.unwrap().aired.as_deref(), Some("2026-09-01"));
    assert_eq!((title.season_count, title.episode_count), (Some(3), Some(24)));
    assert_eq!(title.certification.as_deref(), Some("TV-14"));
    assert_eq!(
        title.poster,
        Some(Picture {
            url: "https://image.tmdb.org/t/p/original/p.jpg".to_owned(),
            preview: Some("https://image.tmdb.org/t/p/w342/p.jpg".to_owned()),
        })
    );
    let ids: Vec<_> = title.ids.iter().map(|id| (&*id.source, &*id.id)).collect();
    assert_eq!(
        ids,
        [
            ("provider_a", "81123"),
            ("titledb", "tt7654321"),
            ("provider_b", "361753")
        ]
    );
    let film = providers
        .details("provider_a", good(), subject(TitleKind::Movie, "603"))
        .await
        .unwrap();
    assert_eq!((film.runtime, film.standing), (Some(136), Standing::Released));

    let episodes = providers
        .episodes("provider_a", good(), "81123", 1, None)
        .await
        .unwrap();
    assert_eq!(episodes[0].title.as_deref(), Some("Tide"));
    assert_eq!((episodes.len(), episodes[1].number), (2, 2));
    let images = providers.artwork("provider_a", good(), show).await.unwrap();
    assert_eq!(images[0].language.as_deref(), Some("en"));
    let found = providers.find("provider_a", good(), by_imdb(), None).await;
    assert_eq!(found.unwrap()[0].title, "Harbor Nine");

    let other = subject(TitleKind::Show, "82");
    let unknown = providers.details("provider_a", good(), other).await;
    assert!(matches!(unknown, Err(ProviderError::NotFound(_))), "{unknown:?}");
    let season = providers.episodes("provider_a", good(), "81123", 9, None).await;
    assert!(matches!(season, Err(ProviderError::NotFound(_))), "{season:?}");
}

#[tokio::test]
async fn each_wrong_answer_of_tmdb_is_an_error_of_its_own() {
    let (port, _) = server().await;
    let bench = bench(port).await;
    let providers = bench.host.providers();
    for (way, kind, says) in [
        ("html", "unparsable", "a web page"),
        ("cut", "unparsable", "no JSON"),
        ("list", "unparsable", "other JSON"),
        ("broken", "status", "HTTP 502"),
        ("refusing", "auth", "refuses the key"),
        ("throttled", "throttled", "HTTP 429"),
        ("away", "redirected", "https://elsewhere.test"),
        ("huge", "too large", "4 MiB"),
        ("hang", "timeout", "2000 ms"),
        ("slow", "timeout", "2000 ms"),
    ] {
        let began = Instant::now();
        let query = TitleQuery::first_page(TitleKind::Show, "x");
        let error = providers
            .search("provider_a", config_for(port, way), query)
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
        assert!(
            !text.contains(KEY) && !text.contains("api_key") && !text.contains("hidden"),
            "{way}: {text}"
        );
        assert!(began.elapsed() < Duration::from_mins(1), "{way}");
    }
    let nobody = providers.verify("provider_a", config_for(1, "good")).await;
    assert!(matches!(nobody, Err(ProviderError::Unreachable(_))), "{nobody:?}");
    let status = bench.status("provider_a.wasm");
    assert_eq!(
        (status.traps, status.timeouts),
        (0, 0),
        "it is no fault of the plugin's"
    );
}

#[tokio::test]
async fn its_own_host_wants_a_grant_and_a_token_goes_into_a_header() {
    let (port, asked) = server().await;
    let bench = bench(port).await;
    let providers = bench.host.providers();
    let with = |key: &str| config(json!({ "apiKey": key }));
    for bad in [json!({}), json!({ "apiKey": "" }), json!({ "apiKey": 7 })] {
        let refused = providers.is_configured("provider_a", config(bad.clone())).await;
        assert!(
            matches!(refused, Err(ProviderError::InvalidConfig(_))),
            "{bad}: {refused:?}"
        );
    }
    let odd = providers.verify("provider_a", with("a&b=c")).await;
    assert!(
        matches!(&odd, Err(ProviderError::InvalidConfig(why)) if !why.contains("a&b")),
        "{odd:?}"
    );
    let denied = providers.verify("provider_a", with(TOKEN)).await;
    assert!(
        matches!(&denied, Err(ProviderError::Denied(why)) if !why.contains(TOKEN)),
        "{denied:?}"
    );
    let refusal = bench.status("provider_a.wasm").last_refusal.unwrap().what;
    assert!(
        refusal.contains("api.themoviedb.org") && !refusal.contains("api_key"),
        "{refusal}"
    );
    assert!(lines(&asked).is_empty());

    bench.pins.grant("provider_a", &[ORIGIN]);
    bench.host.follow_grants("provider_a").await.unwrap();
    // The relay keeps the path, so that the way is `3`.
    let _ = providers.verify("provider_a", with(TOKEN)).await;
    let _ = providers.verify("provider_a", with(KEY)).await;
    let asked = asked.lock().unwrap();
    assert_eq!(asked[0].0, "get /3/authentication");
    let bearer = format!("authorization: bearer {}", TOKEN.to_ascii_lowercase());
    assert!(asked[0].1.contains(&bearer), "{}", asked[0].1);
    assert_eq!(asked[1].0, format!("get /3/authentication?api_key={KEY}"));
    assert!(!asked[1].1.contains("authorization"));
}

#[tokio::test]
async fn it_passes_its_contract_tests() {
    let (port, _) = server().await;
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("provider_a.wasm");
    std::fs::write(&file, first_party("provider_a.wasm")).unwrap();
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
        if passes {
            assert_eq!(report.checks.len(), 9, "{:#?}", report.checks);
        }
    }
}
