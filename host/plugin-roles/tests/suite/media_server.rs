//! The media servers that come with the server, against servers that answer as each product does, and against misbehaving ones.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use qm_plugin_host::{CheckOptions, Compiler, Limits};
use qm_plugin_roles::check;
use qm_ports::media_server::*;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use crate::bench::{Bench, first_party, limits};
use crate::metadata::{json_answer, object};
use crate::network::answer;
use crate::webhook::request;

const KINDS: [&str; 4] = ["emby", "jellyfin", "kodi", "plex"];
const SECRET: &str = "s3cret-T0ken_0123456789";

/// Lines of requests with the secret they came with and their bodies.
type Asked = Arc<Mutex<Vec<String>>>;

fn lines(asked: &Asked) -> Vec<String> {
    asked.lock().unwrap().drain(..).collect()
}

/// Answer of a product to `line`; `None`: nothing is there.
fn product(line: &str) -> Option<Value> {
    Some(match line {
        "get /identity" => {
            json!({ "MediaContainer": { "version": "1.41.0.8994", "machineIdentifier": "x" } })
        }
        "get /library/sections" => {
            json!({ "MediaContainer": { "Directory": [{ "key": "2", "title": "TV", "type": "show" }] } })
        }
        "get /status/sessions?includeguids=1" => {
            json!({ "MediaContainer": { "size": 2, "Metadata": [plex_episode(), { "odd": true }] } })
        }
        "get /system/info/public" => json!({ "ServerName": "Den", "Version": "10.11.2", "Id": "x" }),
        "get /library/virtualfolders" => {
            json!([{ "Name": "TV", "ItemId": "a1", "CollectionType": "tvshows" }])
        }
        "get /sessions" => json!([{ "Id": "idle" }, home_film()]),
        _ => return None,
    })
}

fn plex_episode() -> Value {
    json!({
        "sessionKey": "12", "ratingKey": "900", "type": "episode", "title": "Tide", "grandparentTitle": "Harbor Nine",
        "parentIndex": 1, "index": 2, "year": 2023, "librarySectionTitle": "TV", "viewOffset": 600_000, "duration": 2_400_000,
        "grandparentThumb": "/library/metadata/890/thumb/1", "Guid": [{ "id": "imdb://tt7654321" }, { "id": "tvdb://55" }, { "id": "plex://x" }],
        "User": { "id": "7", "title": "jo" }, "Session": { "id": "abc-1" },
        "Player": { "device": "Shield", "product": "Plex for Android", "address": "10.0.0.9", "state": "paused" },
        "Media": [{ "videoCodec": "hevc", "audioCodec": "eac3", "videoResolution": "1080", "bitrate": 8000, "container": "mkv",
            "Part": [{ "decision": "transcode", "container": "mpegts" }] }],
        "TranscodeSession": { "videoDecision": "copy", "audioDecision": "copy" },
    })
}

fn home_film() -> Value {
    json!({
        "Id": "s1", "UserId": "u1", "UserName": "jo", "Client": "Web", "DeviceName": "Firefox", "RemoteEndPoint": "[fe80::1]:5123",
        "PlayState": { "PositionTicks": 10, "IsPaused": false, "PlayMethod": "DirectPlay" },
        "NowPlayingItem": { "Id": "i1", "Name": "Orchard", "Type": "Movie", "ProductionYear": 1999, "RunTimeTicks": 40,
            "Container": "mov,mp4,m4a", "ProviderIds": { "Imdb": "tt0133093", "TMDB": "603" }, "ImageTags": { "Primary": "t1" },
            "MediaStreams": [{ "Type": "Audio", "Codec": "aac" }, { "Type": "Video", "Codec": "h264", "Height": 1080, "BitRate": 4_000_400, "VideoRange": "SDR" }] },
    })
}

/// Tells whether a request proves itself; a part of each product answers whoever asks.
fn proves(head: &str) -> bool {
    let secret = SECRET.to_ascii_lowercase();
    let line = |wanted: &str| head.lines().any(|line| line == wanted);
    line(&format!("x-plex-token: {secret}"))
        || line(&format!("x-emby-token: {secret}"))
        // "den:" and the secret.
        || head.contains("authorization: basic zgvuonmzy3jldc1umgtlbl8wmtizndu2nzg5")
}

/// A server on loopback: `/WAY/…` is answered the way it says.
async fn server() -> (u16, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Asked::default();
    let ours = asked.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let asked = ours.clone();
            tokio::spawn(async move {
                let (head, body) = request(&mut stream).await;
                let line = head
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .trim_end_matches(" http/1.1");
                let (method, target) = line.split_once(" /").unwrap_or_default();
                let (way, path) = target.split_once('/').unwrap_or((target, ""));
                let line = format!("{method} /{path}");
                let body = String::from_utf8(body).unwrap();
                asked
                    .lock()
                    .unwrap()
                    .push(format!("{line} {body}").trim_end().to_owned());
                if way == "hang" {
                    tokio::time::sleep(Duration::from_mins(5)).await;
                }
                let bytes = way_of(way, &line, &head, &body);
                // Whoever has gone needs no answer.
                let _ = stream.write_all(&bytes).await;
            });
        }
    });
    (port, asked)
}

fn way_of(way: &str, line: &str, head: &str, body: &str) -> Vec<u8> {
    match way {
        "html" => {
            return answer(
                "200 OK\r\ncontent-type: text/html",
                "<!DOCTYPE html><html>Sign in</html>",
            );
        }
        "torn" => return answer("200 OK", "{\"MediaContainer\":{\"version\":\"1.4"),
        "list" => return answer("200 OK", "[1]"),
        "broken" => return json_answer("503 Service Unavailable", &json!("maintenance")),
        "away" => return answer("302 Found\r\nlocation: https://elsewhere.test/x?token=hidden", ""),
        "huge" => return answer("200 OK", &" ".repeat(64 << 20)),
        "endless" => return endless(),
        _ => {}
    }
    let open = matches!(line, "get /identity" | "get /system/info/public");
    if !open && !proves(head) {
        return answer("401 Unauthorized", "");
    }
    if line == "post /jsonrpc" {
        let sent: Value = serde_json::from_str(body).unwrap();
        let result = match sent["method"].as_str().unwrap() {
            "JSONRPC.Ping" => "pong",
            _ => "OK",
        };
        return json_answer("200 OK", &json!({ "jsonrpc": "2.0", "id": 1, "result": result }));
    }
    if line.contains("sessionid=gone") || line.contains("/sessions/gone/playing") {
        return answer("404 Not Found", "");
    }
    match product(line) {
        Some(document) => json_answer("200 OK", &document),
        None => answer("204 No Content", ""),
    }
}

/// 16 MiB in chunks, of which nobody told before.
fn endless() -> Vec<u8> {
    let mut all = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    for _ in 0..16 {
        all.extend_from_slice(b"100000\r\n");
        all.resize(all.len() + (1 << 20), b' ');
        all.extend_from_slice(b"\r\n");
    }
    all
}

async fn bench() -> Bench {
    let limits = Limits {
        memory_bytes: 128 << 20,
        cpu: Duration::from_secs(3),
        silence: Duration::from_secs(2),
        ..limits()
    };
    let names = KINDS.map(|kind| format!("{kind}.wasm"));
    let files: Vec<_> = names
        .iter()
        .map(|name| (name.as_str(), first_party(name)))
        .collect();
    let bench = Bench::at_once(&files, limits, Compiler::InProcess).await;
    bench.host.settled().await;
    bench
}

fn fields(kind: &str, port: u16, way: &str) -> Value {
    let base = format!("http://127.0.0.1:{port}/{way}//");
    match kind {
        "plex" => json!({ "baseUrl": base, "token": SECRET, "unknown": "is left out" }),
        "kodi" => json!({ "baseUrl": base, "username": "den", "password": SECRET }),
        _ => json!({ "baseUrl": base, "apiKey": SECRET }),
    }
}

fn config(fields: Value) -> MediaServerConfig {
    MediaServerConfig {
        fields: object(fields),
        timeout_ms: Some(1500),
    }
}

#[tokio::test]
async fn four_products_tell_what_they_offer_and_who_they_are() {
    let (bench, (port, asked)) = (bench().await, server().await);
    let servers = bench.host.media_servers();
    let kinds = servers.kinds();
    let told: Vec<_> = kinds
        .iter()
        .map(|kind| (kind.id.as_str(), kind.platform.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            ("emby", "Emby"),
            ("jellyfin", "Jellyfin"),
            ("kodi", "Kodi"),
            ("plex", "Plex Media Server")
        ]
    );
    let kodi = kinds[2].abilities;
    assert!(
        kodi.refresh && kodi.recently_added && !kodi.sessions && !kodi.libraries && !kodi.terminate_sessions
    );
    assert!(kinds[3].abilities.terminate_sessions && kinds[3].abilities.watch_history);
    assert_eq!(kinds[3].config_schema["properties"]["token"]["writeOnly"], true);
    for (kind, name, version, requests) in [
        (
            "plex",
            None,
            Some("1.41.0.8994"),
            vec!["get /identity", "get /library/sections"],
        ),
        (
            "jellyfin",
            Some("Den"),
            Some("10.11.2"),
            vec!["get /system/info/public", "get /library/virtualfolders"],
        ),
        (
            "emby",
            Some("Den"),
            Some("10.11.2"),
            vec!["get /system/info/public", "get /library/virtualfolders"],
        ),
        (
            "kodi",
            None,
            None,
            vec![r#"post /jsonrpc {"id":1,"jsonrpc":"2.0","method":"JSONRPC.Ping"}"#],
        ),
    ] {
        let about = servers.test(kind, config(fields(kind, port, "good"))).await;
        let wanted = ServerAbout {
            name: name.map(str::to_owned),
            version: version.map(str::to_owned),
        };
        assert_eq!(about, Ok(wanted), "{kind}");
        assert_eq!(lines(&asked), requests, "{kind}");
        // A wrong secret is found out, whoever answers without one.
        let mut wrong = fields(kind, port, "good");
        for name in ["token", "apiKey", "password"] {
            if let Some(secret) = wrong.get_mut(name) {
                *secret = "wrong".into();
            }
        }
        let refused = servers.test(kind, config(wrong)).await;
        assert!(
            matches!(&refused, Err(MediaServerError::Auth(why)) if why.ends_with("responded with HTTP 401.")),
            "{kind}: {refused:?}"
        );
        lines(&asked);
    }
    let other = servers.test("other", config(json!({}))).await;
    assert!(matches!(other, Err(MediaServerError::Missing(why)) if why.contains("other")));
}

#[tokio::test]
async fn libraries_and_folders_are_looked_through() {
    let (bench, (port, asked)) = (bench().await, server().await);
    let servers = bench.host.media_servers();
    let of = |library: Option<&str>, path: Option<&str>| Extent {
        library: library.map(str::to_owned),
        path: path.map(str::to_owned),
    };
    let all = of(None, None);
    let folder = of(Some("2"), Some("/tv/A & B"));
    for (kind, extent, request) in [
        ("plex", all.clone(), "get /library/sections/all/refresh"),
        ("plex", of(Some("2"), None), "get /library/sections/2/refresh"),
        (
            "plex",
            folder.clone(),
            "get /library/sections/2/refresh?path=%2ftv%2fa%20%26%20b",
        ),
        ("jellyfin", all.clone(), "post /library/refresh"),
        (
            "emby",
            folder.clone(),
            r#"post /library/media/updated {"Updates":[{"Path":"/tv/A & B","UpdateType":"Modified"}]}"#,
        ),
        (
            "kodi",
            all,
            r#"post /jsonrpc {"id":1,"jsonrpc":"2.0","method":"VideoLibrary.Scan"}"#,
        ),
        (
            "kodi",
            folder,
            r#"post /jsonrpc {"id":1,"jsonrpc":"2.0","method":"VideoLibrary.Scan","params":{"directory":"/tv/A & B","showdialogs":false}}"#,
        ),
    ] {
        let done = servers
            .refresh(kind, config(fields(kind, port, "good")), extent)
            .await;
        assert_eq!(done, Ok(()), "{request}");
        assert_eq!(lines(&asked), [request]);
    }
    let mut chosen = fields("plex", port, "good");
    chosen["librarySectionId"] = 3.into();
    assert_eq!(
        servers.refresh("plex", config(chosen), Extent::default()).await,
        Ok(())
    );
    assert_eq!(lines(&asked), ["get /library/sections/3/refresh"]);
}

#[tokio::test]
async fn sessions_are_told_alike_and_ended() {
    let (bench, (port, asked)) = (bench().await, server().await);
    let servers = bench.host.media_servers();
    let good = |kind| config(fields(kind, port, "good"));
    let of = |text: &str| Some(text.to_owned());
    let plex = servers.sessions("plex", good("plex")).await.unwrap();
    let wanted = PlaySession {
        id: "abc-1".to_owned(),
        user_id: of("7"),
        user_name: of("jo"),
        title: "Harbor Nine \u{2014} Tide".to_owned(),
        show_title: of("Harbor Nine"),
        episode_title: of("Tide"),
        season: Some(1),
        episode: Some(2),
        year: Some(2023),
        media_type: of("episode"),
        library_name: of("TV"),
        device: of("Shield"),
        client: of("Plex for Android"),
        ip_address: of("10.0.0.9"),
        playback_state: of("paused"),
        progress_percent: Some(25),
        playback_method: of("directstream"),
        video_codec: of("hevc"),
        audio_codec: of("eac3"),
        resolution: of("1080"),
        dynamic_range: None,
        container: of("mpegts"),
        bitrate: Some(8000),
        art_path: of("/library/metadata/890/thumb/1"),
        external_ids: vec![
            ("titledb".to_owned(), "tt7654321".to_owned()),
            ("provider_b".to_owned(), "55".to_owned()),
        ],
    };
    assert_eq!(plex, [wanted]);
    for kind in ["jellyfin", "emby"] {
        let playing = servers.sessions(kind, good(kind)).await.unwrap();
        assert_eq!(playing.len(), 1, "{kind}: one session plays nothing");
        let one = &playing[0];
        assert_eq!(
            (&*one.id, &*one.title, one.progress_percent),
            ("s1", "Orchard", Some(25))
        );
        assert_eq!(
            (one.ip_address.as_deref(), one.container.as_deref()),
            (Some("fe80::1"), Some("mp4"))
        );
        assert_eq!(
            (one.resolution.as_deref(), one.bitrate),
            (Some("1080p"), Some(4000))
        );
        assert_eq!(one.art_path.as_deref(), Some("/Items/i1/Images/Primary?tag=t1"));
        assert_eq!(one.external_ids.len(), 2, "{:?}", one.external_ids);
    }
    lines(&asked);
    assert_eq!(
        servers
            .terminate("plex", good("plex"), "a b", Some("Bye now"))
            .await,
        Ok(())
    );
    assert_eq!(
        lines(&asked),
        ["get /status/sessions/terminate?sessionid=a%20b&reason=bye%20now"]
    );
    assert_eq!(
        servers.terminate("emby", good("emby"), "s1", Some("Bye")).await,
        Ok(())
    );
    let message = r#"post /sessions/s1/message {"Header":"Quartermaster","Text":"Bye","TimeoutMs":5000}"#;
    assert_eq!(lines(&asked), [message, "post /sessions/s1/playing/stop"]);
    for (kind, says) in [
        ("plex", "Plex terminate failed with HTTP 404."),
        ("jellyfin", "Session stop failed with HTTP 404."),
    ] {
        let gone = servers.terminate(kind, good(kind), "gone", None).await;
        assert_eq!(
            gone,
            Err(MediaServerError::Status {
                status: 404,
                message: says.to_owned()
            })
        );
    }
    let kodi = servers.sessions("kodi", good("kodi")).await;
    assert!(matches!(kodi, Err(MediaServerError::Unsupported(_))), "{kodi:?}");
}

#[tokio::test]
async fn each_wrong_answer_is_an_error_of_its_own() {
    let (bench, (port, _)) = (bench().await, server().await);
    let servers = bench.host.media_servers();
    for kind in KINDS {
        for (way, word, says) in [
            ("html", "unparsable", "a page or XML"),
            ("torn", "unparsable", "JSON that breaks off"),
            ("list", "unparsable", ""),
            ("broken", "status", "responded with HTTP 503."),
            ("away", "redirected", "https://elsewhere.test"),
            ("huge", "too large", "8 MiB"),
            ("endless", "too large", "8 MiB"),
            ("hang", "timeout", "1500 ms"),
        ] {
            let began = Instant::now();
            let error = servers
                .test(kind, config(fields(kind, port, way)))
                .await
                .unwrap_err();
            let told = match &error {
                MediaServerError::Unparsable(_) => "unparsable",
                MediaServerError::Status { status: 503, .. } => "status",
                MediaServerError::Redirected(_) => "redirected",
                MediaServerError::TooLarge(_) => "too large",
                MediaServerError::Timeout(_) => "timeout",
                _ => "other",
            };
            let text = error.to_string();
            assert_eq!(told, word, "{kind}, {way}: {error:?}");
            assert!(text.contains(says), "{kind}, {way}: {text}");
            assert!(
                !text.contains(SECRET) && !text.contains("hidden"),
                "{kind}, {way}: {text}"
            );
            assert!(began.elapsed() < Duration::from_mins(1), "{kind}, {way}");
        }
        let status = bench.status(&format!("{kind}.wasm"));
        assert_eq!(
            (status.traps, status.timeouts),
            (0, 0),
            "{kind}: it is no fault of the plugin's"
        );
    }
}

#[tokio::test]
async fn what_is_not_configured_is_said_and_nothing_else_is_reached() {
    let (bench, (port, asked)) = (bench().await, server().await);
    let servers = bench.host.media_servers();
    let base = format!("http://127.0.0.1:{port}/good");
    for (kind, fields, says) in [
        ("plex", json!({ "token": SECRET }), "baseUrl is required"),
        ("plex", json!({ "baseUrl": base }), "Plex token is required."),
        (
            "jellyfin",
            json!({ "baseUrl": base, "apiKey": " " }),
            "API key is required.",
        ),
        (
            "emby",
            json!({ "baseUrl": base, "apiKey": "a\r\nx: y" }),
            "API key is wrong.",
        ),
    ] {
        let error = servers.test(kind, config(fields)).await.unwrap_err();
        assert!(
            matches!(&error, MediaServerError::InvalidConfig(why) if why.contains(says)),
            "{kind}: {error:?}"
        );
    }
    let nobody = json!({ "baseUrl": "http://127.0.0.1:1", "token": SECRET });
    let nobody = servers.test("plex", config(nobody)).await;
    assert!(
        matches!(nobody, Err(MediaServerError::Unreachable(_))),
        "{nobody:?}"
    );
    let metadata = json!({ "baseUrl": "http://169.254.169.254", "token": SECRET });
    let metadata = servers.test("plex", config(metadata)).await;
    assert!(
        matches!(metadata, Err(MediaServerError::Denied(_))),
        "{metadata:?}"
    );
    assert_eq!(lines(&asked), Vec::<String>::new());
}

#[tokio::test]
async fn they_pass_their_contract_tests() {
    let (port, _) = server().await;
    let home = tempfile::tempdir().unwrap();
    let net = qm_net::Net::new(qm_net::NetConfig::default()).unwrap();
    for (kind, checks) in [("plex", 3), ("jellyfin", 3), ("emby", 3), ("kodi", 4)] {
        let file = home.path().join(format!("{kind}.wasm"));
        std::fs::write(&file, first_party(&format!("{kind}.wasm"))).unwrap();
        let options = CheckOptions {
            target: Some(object(fields(kind, port, "good"))),
            judge: |_, _| Ok(()),
            cache_dir: Some(home.path().join("cache")),
        };
        let report = check(&file, options, &net, qm_kernel::Ctx::system())
            .await
            .unwrap();
        assert!(report.passed(), "{kind}: {:#?}", report.checks);
        assert!(report.checks.len() >= checks, "{kind}: {:#?}", report.checks);
    }
}
