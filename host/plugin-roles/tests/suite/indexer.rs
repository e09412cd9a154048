//! The protocols that come with the server, against an indexer that answers well and one that does not.

use std::time::{Duration, Instant};

use qm_plugin_host::{Compiler, Limits};
use qm_ports::indexer::{
    Caps, CapsCategory, CapsLimits, CapsServer, Found, IndexerConfig, IndexerError, Payload, Query,
};
use qm_test_base::FakeIndexer;
use qm_test_base::indexer::{KEY, TORRENT};
use serde_json::json;

use crate::bench::{Bench, first_party, limits};

async fn bench() -> Bench {
    let limits = Limits {
        memory_bytes: 128 << 20,
        cpu: Duration::from_secs(3),
        silence: Duration::from_secs(2),
        ..limits()
    };
    let bench = Bench::at_once(
        &[("torznab.wasm", first_party("torznab.wasm"))],
        limits,
        Compiler::InProcess,
    )
    .await;
    bench.host.settled().await;
    bench
}

fn config(base: String) -> IndexerConfig {
    let fields = json!({ "baseUrl": base, "apiKey": KEY, "unknown": "is left out" });
    IndexerConfig {
        fields: fields.as_object().cloned().unwrap_or_default(),
        timeout_ms: 3000,
    }
}

async fn search(bench: &Bench, base: String) -> Result<Found, IndexerError> {
    let query = Query {
        term: "Harbor's  Nine".to_owned(),
        season: Some(1),
        episode: Some(2),
        categories: vec![5000, 5040],
        tv_search: true,
    };
    bench
        .host
        .protocols()
        .search("torznab", config(base), query)
        .await
}

#[tokio::test]
async fn both_protocols_are_there_with_their_schemas() {
    let bench = bench().await;
    let all = bench.host.protocols().protocols();
    let told: Vec<_> = all
        .iter()
        .map(|kind| (kind.id.as_str(), kind.protocol.as_str(), kind.plugin.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            ("newznab", "usenet", "torznab"),
            ("torznab", "torrent", "torznab")
        ]
    );
    assert_eq!(all[1].config_schema["properties"]["apiKey"]["writeOnly"], true);
    assert_eq!(
        bench.status("torznab.wasm").kind.as_deref(),
        Some("indexer-protocol")
    );
}

#[tokio::test]
async fn an_indexer_says_what_it_can_do_and_what_it_found() {
    let (bench, server) = (bench().await, FakeIndexer::start().await);
    let protocols = bench.host.protocols();
    let caps = protocols.caps("torznab", config(server.base("good/"))).await;
    assert_eq!(
        caps,
        Ok(Caps {
            server: Some(CapsServer {
                title: Some("Orchard Index".to_owned())
            }),
            tv_search: true,
            movie_search: false,
            supported_params: vec!["q".to_owned(), "season".to_owned(), "ep".to_owned()],
            categories: vec![CapsCategory {
                id: 5000,
                name: "TV".to_owned()
            }],
            limits: Some(CapsLimits {
                default: Some(50),
                max: Some(100)
            }),
            warnings: Vec::new(),
        })
    );
    assert_eq!(server.asked(), [format!("/good/api?apikey={KEY}&t=caps")]);
    let found = search(&bench, server.base("good/API/")).await.unwrap();
    assert_eq!(
        server.asked(),
        [format!(
            "/good/API?apikey={KEY}&t=tvsearch&q=Harbors%20Nine&season=1&ep=2&cat=5000,5040"
        )]
    );
    let first = &found.releases[0];
    assert_eq!(first.title, "Harbor Nine S01E02 1080p WEB-DL x264-good");
    assert_eq!(
        (
            first.size,
            first.seeders,
            first.peers,
            first.grabs,
            &*first.categories
        ),
        (Some(1_610_612_736), Some(7), Some(9), Some(31), &[5000, 5040][..])
    );
    assert_eq!(first.published, Some(1_714_550_400_000));
    assert_eq!(
        found.releases[1].info_hash.as_deref(),
        Some("00112233445566778899aabbccddeeff00112233")
    );
    let usenet = protocols
        .search("newznab", config(server.base("newznab")), Query::default())
        .await
        .unwrap();
    assert_eq!(
        usenet.releases[0].seeders,
        Some(7),
        "attributes of either name count"
    );
    let unknown = protocols.caps("other", config(server.base("good"))).await;
    assert!(matches!(unknown, Err(IndexerError::Missing(why)) if why.contains("other")));
}

#[tokio::test]
async fn each_wrong_answer_is_an_error_of_its_own() {
    let (bench, server) = (bench().await, FakeIndexer::start().await);
    for (way, kind, says) in [
        ("throttled", "throttled", "HTTP 429"),
        ("login", "login", "people sign in where"),
        ("captcha", "captcha", "HTTP 403"),
        ("html", "unparsable", "a web page where"),
        ("garbage", "unparsable", "no XML"),
        ("empty", "unparsable", "an empty document"),
        ("error", "api", "201: Incorrect parameter"),
        ("refusing", "auth", "HTTP 401"),
        ("elsewhere", "status", "HTTP 404"),
        ("loop", "redirected", "in a circle"),
        ("away", "redirected", "http://127.0.0.1:1"),
        ("huge", "too large", "5 MiB"),
    ] {
        let error = search(&bench, server.base(way)).await.unwrap_err();
        let told = match &error {
            IndexerError::Throttled { seconds, .. } => {
                assert_eq!(*seconds, Some(120));
                "throttled"
            }
            IndexerError::LoginPage(_) => "login",
            IndexerError::Captcha(_) => "captcha",
            IndexerError::Unparsable(_) => "unparsable",
            IndexerError::Api { .. } => "api",
            IndexerError::Auth(_) => "auth",
            IndexerError::Status { .. } => "status",
            IndexerError::Redirected(_) => "redirected",
            IndexerError::TooLarge(_) => "too large",
            _ => "other",
        };
        assert_eq!(told, kind, "{way}: {error:?}");
        let text = error.to_string();
        assert!(text.contains(says), "{way}: {text}");
        assert!(!text.contains(KEY) && !text.contains("apikey"), "{way}: {text}");
    }
    let status = bench.status("torznab.wasm");
    assert_eq!(
        (status.traps, status.timeouts),
        (0, 0),
        "it is no fault of the plugin's"
    );
}

#[tokio::test]
async fn what_is_odd_is_read_and_said() {
    let (bench, server) = (bench().await, FakeIndexer::start().await);
    let leak = search(&bench, server.base("xxe")).await.unwrap();
    assert_eq!(leak.releases[0].title, "Leak &f;&h;");
    assert!(leak.warnings.iter().any(|text| text.contains("entities")));
    let bomb = search(&bench, server.base("bomb")).await.unwrap();
    assert_eq!(bomb.releases[0].title, "&a29;");
    let other = search(&bench, server.base("charset")).await.unwrap();
    assert_eq!(
        other.releases[0].title,
        "\u{413}\u{430}\u{432}\u{430}\u{43d}\u{44c} S01E01"
    );
    let cut = search(&bench, server.base("cut")).await.unwrap();
    assert_eq!(cut.releases[0].title, "Whole S01E01");
    let is_cut = |text: &String| text.contains("in the middle of its markup");
    assert!(cut.warnings.iter().any(is_cut), "{:?}", cut.warnings);
    let nothing = search(&bench, server.base("nothing")).await;
    assert_eq!(nothing, Ok(Found::default()));
    let hop = search(&bench, server.base("hop")).await.unwrap();
    assert_eq!(hop.releases.len(), 3, "a redirect within the origin is followed");
}

#[tokio::test]
async fn its_own_time_limit_is_kept_also_beyond_the_usual_silence() {
    let (bench, server) = (bench().await, FakeIndexer::start().await);
    for way in ["hang", "trickle"] {
        let began = Instant::now();
        let late = search(&bench, server.base(way)).await;
        assert!(
            matches!(&late, Err(IndexerError::Timeout(why)) if why.contains("3000 ms")),
            "{way}: {late:?}"
        );
        let took = began.elapsed();
        let range = Duration::from_millis(2900)..Duration::from_secs(20);
        assert!(range.contains(&took), "{way}: {took:?}");
    }
    let nobody = search(&bench, "http://127.0.0.1:1/x".to_owned()).await;
    assert!(matches!(nobody, Err(IndexerError::Unreachable(_))), "{nobody:?}");
    let metadata = search(&bench, "http://169.254.169.254/latest".to_owned()).await;
    assert!(matches!(metadata, Err(IndexerError::Denied(_))), "{metadata:?}");
    assert_eq!(bench.status("torznab.wasm").timeouts, 0);
}

#[tokio::test]
async fn links_of_its_own_are_fetched_and_no_others() {
    let (bench, server) = (bench().await, FakeIndexer::start().await);
    let protocols = bench.host.protocols();
    let get = async |link: String| {
        protocols
            .download("torznab", config(server.base("good")), &link)
            .await
    };
    let own = |name: &str| server.base(&format!("good/download/{name}"));
    let magnet = "magnet:?xt=urn:btih:00112233445566778899aabbccddeeff00112233&dn=x";
    assert_eq!(
        get(own("file?apikey=k")).await,
        Ok(Payload::Torrent(TORRENT.to_vec()))
    );
    assert_eq!(get(own("hop")).await, Ok(Payload::Torrent(TORRENT.to_vec())));
    assert_eq!(get(own("magnet")).await, Ok(Payload::Magnet(magnet.to_owned())));
    assert_eq!(
        get(own("outside")).await,
        Ok(Payload::Elsewhere("https://tracker.test/file.torrent".to_owned()))
    );
    server.asked();
    let strange = format!("http://localhost:{}/good/download/file", server.port);
    assert_eq!(get(strange.clone()).await, Ok(Payload::Elsewhere(strange)));
    assert_eq!(server.asked(), Vec::<String>::new());
    assert!(matches!(get(own("page")).await, Err(IndexerError::LoginPage(_))));
    assert!(matches!(
        get(own("gone")).await,
        Err(IndexerError::Status { status: 404, .. })
    ));
}

#[tokio::test]
async fn slow_indexers_do_not_hold_up_others() {
    let (bench, server) = (bench().await, FakeIndexer::start().await);
    let began = Instant::now();
    let hanging = (0..8).map(async |_| {
        let answer = search(&bench, server.base("hang")).await;
        (answer.is_err(), began.elapsed())
    });
    let hanging = futures_util::future::join_all(hanging);
    let healthy = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let found = search(&bench, server.base("open")).await;
        (found, began.elapsed())
    };
    let (hung, (found, took)) = tokio::join!(hanging, healthy);
    assert_eq!(found.unwrap().releases.len(), 3);
    assert!(
        hung.iter().all(|(gave_up, until)| *gave_up && took < *until),
        "{took:?}, {hung:?}"
    );
}

#[tokio::test]
async fn it_passes_its_contract_tests() {
    use qm_plugin_host::CheckOptions;
    use qm_plugin_roles::check;
    let server = FakeIndexer::start().await;
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("torznab.wasm");
    std::fs::write(&file, first_party("torznab.wasm")).unwrap();
    let net = qm_net::Net::new(qm_net::NetConfig::default()).unwrap();
    for (way, passes) in [("good", true), ("error", false)] {
        let options = CheckOptions {
            target: Some(config(server.base(way)).fields),
            judge: |_, _| Ok(()),
            cache_dir: Some(home.path().join("cache")),
        };
        let report = check(&file, options, &net, qm_kernel::Ctx::system())
            .await
            .unwrap();
        assert_eq!(report.passed(), passes, "{way}: {:#?}", report.checks);
        assert_eq!(report.checks.len(), 8, "{way}: {:#?}", report.checks);
    }
}
