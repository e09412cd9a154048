//! Tests of the URL guard with hostile URLs: a refusal comes before any byte is sent.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use common::{Listener, Script, ok};
use qm_net::{GuardError, GuardKind, Linked, Nearby, Net, NetConfig, Resolver, SystemResolver};

const TOTAL: Duration = Duration::from_mins(1);
const MAX: usize = 1 << 20;

/// Spellings of internal addresses; `P` is the port of a listener.
const BLOCKED: &[&str] = &[
    "http://127.0.0.1:P/",
    "http://127.0.0.1.:P/",
    "http://127.1:P/",
    "http://2130706433:P/",
    "http://017700000001:P/",
    "http://0177.0.0.1:P/",
    "http://0x7f000001:P/",
    "http://0x7f.1:P/",
    "http://0x7F.0x0.0x0.0x1:P/",
    "http://127.0.0.1%2e:P/",
    "http://%31%32%37.0.0.1:P/",
    "http://127。0。0。1:P/",
    "http://①②⑦.⓪.⓪.①:P/",
    "http://0:P/",
    "http://0.0.0.0:P/",
    "http://localhost:P/",
    "http://LOCALHOST:P/",
    "http://localhost.:P/",
    "http://[::1]:P/",
    "http://[::]:P/",
    "http://[0:0:0:0:0:0:0:1]:P/",
    "http://[::127.0.0.1]:P/",
    "http://[::ffff:127.0.0.1]:P/",
    "http://[::ffff:7f00:1]:P/",
    "http://[::ffff:0:7f00:1]:P/",
    "http://[64:ff9b::127.0.0.1]:P/",
    "http://[64:ff9b::7f00:1]:P/",
    "http://[64:ff9b:1::7f00:1]:P/",
    "http://[2002:7f00:1::]:P/",
    "http://[fe80::1]:P/",
    "http://[fd00::1]:P/",
    "http://user:password@127.0.0.1:P/",
    "http://example.com@127.0.0.1:P/",
    "http://example.com:80@127.0.0.1:P/",
    "http://example.com%40@127.0.0.1:P/",
    "http://127.0.0.1:P\\@example.com/",
    "http://127.0.0.1:P#@example.com/",
    "http://127.0.0.1:P?@example.com/",
    "http:127.0.0.1:P/",
    "http:\\\\127.0.0.1:P\\",
    "  http://127.0.0.1:P/  ",
    "ht\ntp://127.0.0.1:P/",
    "https://127.0.0.1:P/",
    "http://169.254.169.254/latest/meta-data/",
    "http://10.0.0.1/",
    "http://192.168.1.1/",
    "http://172.20.0.1/",
    "http://100.64.0.1/",
    "http://198.18.0.1/",
    "http://192.0.2.1/",
];

/// Texts that are no valid URL.
const INVALID: &[&str] = &[
    "",
    "not a url",
    "http://",
    "http://[fe80::1%25eth0]:P/",
    "http://[fe80::1%eth0]:P/",
    "http://[::1",
    "http://127.0.0.1:99999/",
    "http://1.2.3.4.5/",
    "http://256.256.256.256/",
    "http://exa mple.com/",
];

fn net(allow: &[&str], resolver: Arc<dyn Resolver>) -> Net {
    let ssrf_allow_hosts = allow.iter().map(|&entry| entry.to_owned()).collect();
    Net::with_resolver(
        NetConfig {
            ssrf_allow_hosts,
            ..NetConfig::default()
        },
        resolver,
    )
    .unwrap()
}

async fn fetch(net: &Net, url: &str) -> Result<Bytes, GuardError> {
    net.fetch_guarded(url, GuardKind::TorrentUrl, MAX, TOTAL).await
}

#[tokio::test]
async fn no_way_of_writing_an_internal_address_gets_through() {
    let listener = Listener::on("127.0.0.1:0", ok("secret")).await;
    // Independent of the machine's resolver for "localhost.": every name leads to the listener.
    let net = net(&[], Script::new(&[&["127.0.0.1"]]));
    for form in BLOCKED {
        let url = form.replace('P', &listener.port().to_string());
        assert_eq!(
            fetch(&net, &url).await,
            Err(GuardError::Blocked(GuardKind::TorrentUrl)),
            "{url}"
        );
    }
    for form in INVALID {
        let url = form.replace('P', &listener.port().to_string());
        assert_eq!(
            fetch(&net, &url).await,
            Err(GuardError::Invalid(GuardKind::TorrentUrl)),
            "{url}"
        );
    }
    for url in [
        "file:///etc/passwd",
        "ftp://127.0.0.1/",
        "gopher://127.0.0.1:70/",
        "unix:/run/x.sock",
        "magnet:?xt=x",
    ] {
        assert_eq!(
            fetch(&net, url).await,
            Err(GuardError::Scheme(GuardKind::TorrentUrl)),
            "{url}"
        );
    }
    assert_eq!(listener.connections(), 0, "something was dialled");
}

#[tokio::test]
async fn one_internal_answer_among_public_ones_blocks() {
    let listener = Listener::on("127.0.0.1:0", ok("secret")).await;
    for answer in [
        &["1.1.1.1", "127.0.0.1"][..],
        &["2606:4700::1", "::ffff:10.0.0.1"],
        &["64:ff9b::808:808"],
    ] {
        let net = net(&[], Script::new(&[answer]));
        let url = format!("http://feed.example:{}/", listener.port());
        assert_eq!(
            fetch(&net, &url).await,
            Err(GuardError::Blocked(GuardKind::TorrentUrl)),
            "{answer:?}"
        );
    }
    assert_eq!(listener.connections(), 0);
}

#[test]
fn the_host_is_named_where_listing_it_would_help_and_nothing_else_of_the_url() {
    let url = " http://user:word@Seed.Box:81/get?passkey=hidden ";
    let blocked = GuardError::Blocked(GuardKind::TorrentUrl);
    assert_eq!(blocked.about(url), format!("{blocked}: `seed.box`"));
    assert_eq!(blocked.about("http://[::1]/"), format!("{blocked}: `[::1]`"));
    assert_eq!(blocked.about("no url"), blocked.to_string());
    let gone = GuardError::Status {
        kind: GuardKind::TorrentUrl,
        status: 404,
    };
    assert_eq!(gone.about(url), gone.to_string());
}

#[tokio::test]
async fn an_answer_that_changes_is_never_asked_for_again() {
    let vetted = Listener::on("127.0.0.2:0", ok("vetted")).await;
    let other = Listener::on(&format!("127.0.0.1:{}", vetted.port()), ok("other")).await;
    let script = Script::new(&[&["127.0.0.2"], &["127.0.0.1"]]);
    let net = net(&["127.0.0.2"], script.clone());
    let url = format!("http://rebind.example:{}/", vetted.port());
    assert_eq!(fetch(&net, &url).await.unwrap(), "vetted");
    assert_eq!(
        (script.asked(), vetted.connections(), other.connections()),
        (1, 1, 0)
    );
    // The second time the name has another address, which is checked again.
    assert_eq!(
        fetch(&net, &url).await,
        Err(GuardError::Blocked(GuardKind::TorrentUrl))
    );
    assert_eq!((script.asked(), other.connections()), (2, 0));
}

#[tokio::test]
async fn the_allow_list_lifts_the_address_check_and_nothing_else() {
    let listener = Listener::on("127.0.0.1:0", ok("hello")).await;
    let port = listener.port();
    for entry in [
        "tracker.lan",
        "TRACKER.LAN.",
        "127.0.0.1",
        "127.0.0.0/8",
        "0.0.0.0/0",
    ] {
        let net = net(&[entry], Script::new(&[&["127.0.0.1"]]));
        assert_eq!(
            fetch(&net, &format!("http://Tracker.lan:{port}/x"))
                .await
                .unwrap(),
            "hello",
            "{entry}"
        );
        assert_eq!(
            fetch(&net, "file:///etc/passwd").await,
            Err(GuardError::Scheme(GuardKind::TorrentUrl))
        );
    }
    for entry in ["other.lan", "127.0.0.2", "10.0.0.0/8", "::1"] {
        let net = net(&[entry], Script::new(&[&["127.0.0.1"]]));
        let refused = fetch(&net, &format!("http://tracker.lan:{port}/x")).await;
        assert_eq!(
            refused,
            Err(GuardError::Blocked(GuardKind::TorrentUrl)),
            "{entry}"
        );
    }
    assert_eq!(listener.connections(), 5);
}

#[tokio::test]
async fn what_is_never_dialled_is_not_whatever_is_listed() {
    // On Linux 0.0.0.0 is this machine.
    let listener = Listener::on("0.0.0.0:0", ok("secret")).await;
    let port = listener.port();
    let never = Err(GuardError::Never(GuardKind::TorrentUrl));
    for (address, literal) in [
        ("0.0.0.0", "0.0.0.0"),
        ("::", "[::]"),
        ("169.254.169.254", "169.254.169.254"),
        ("fe80::1", "[fe80::1]"),
        ("::ffff:0.0.0.0", "[::ffff:0.0.0.0]"),
        ("224.0.0.1", "224.0.0.1"),
        ("255.255.255.255", "255.255.255.255"),
    ] {
        let net = net(
            &["0.0.0.0/0", "::/0", "named.lan", "0.0.0.0"],
            Script::new(&[&[address]]),
        );
        for host in ["named.lan", literal] {
            assert_eq!(
                fetch(&net, &format!("http://{host}:{port}/x")).await,
                never,
                "{host} {address}"
            );
        }
    }
    // Of several addresses the allowed ones are dialled.
    let net = net(&["named.lan"], Script::new(&[&["fe80::1", "127.0.0.1"]]));
    assert_eq!(
        fetch(&net, &format!("http://named.lan:{port}/x")).await.unwrap(),
        "secret"
    );
    assert_eq!(listener.connections(), 1);
}

#[tokio::test]
async fn redirects_are_refused() {
    let inner = Listener::on("127.0.0.1:0", ok("secret")).await;
    let location = format!("http://127.0.0.1:{}/", inner.port());
    for status in [301, 302, 303, 307, 308] {
        let answer = format!("HTTP/1.1 {status} Moved\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
        let outer = Listener::on("127.0.0.1:0", answer).await;
        let net = net(&["outer.example", "127.0.0.1"], Script::new(&[&["127.0.0.1"]]));
        let error = fetch(&net, &format!("http://outer.example:{}/", outer.port()))
            .await
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "Could not fetch torrent URL: redirects are not followed"
        );
    }
    assert_eq!(inner.connections(), 0);
}

#[tokio::test]
async fn answers_are_bounded_and_worded() {
    let net = net(&["127.0.0.1"], Arc::new(SystemResolver));
    let big = "x".repeat(MAX + 1);
    let chunked = format!(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{big}\r\n0\r\n\r\n",
        big.len()
    );
    let broken = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf".to_owned();
    for (answer, says) in [
        (ok(&big), "Torrent file is too large"),
        (chunked, "Torrent file is too large"),
        (
            "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_owned(),
            "Failed to fetch torrent URL: 404",
        ),
        (
            "HTTP/1.1 304 Not Modified\r\n\r\n".to_owned(),
            "Failed to fetch torrent URL: 304",
        ),
        (broken, "Could not fetch torrent URL: "),
        ("SSH-2.0-OpenSSH\r\n".to_owned(), "Could not fetch torrent URL: "),
    ] {
        let listener = Listener::on("127.0.0.1:0", answer).await;
        let error = fetch(
            &net,
            &format!("http://127.0.0.1:{}/?passkey=hidden", listener.port()),
        )
        .await
        .unwrap_err();
        assert!(error.to_string().starts_with(says), "{error}");
        assert!(!error.to_string().contains("hidden"), "{error}");
    }
    let exact = Listener::on("127.0.0.1:0", ok(&"x".repeat(MAX))).await;
    assert_eq!(
        fetch(&net, &format!("http://127.0.0.1:{}/", exact.port()))
            .await
            .unwrap()
            .len(),
        MAX
    );
}

#[tokio::test]
async fn silence_ends_with_the_total_time() {
    let silent = Listener::on("127.0.0.1:0", "").await;
    let net = net(&["127.0.0.1"], Arc::new(SystemResolver));
    let url = format!("http://127.0.0.1:{}/", silent.port());
    let started = Instant::now();
    let error = net
        .fetch_guarded(&url, GuardKind::TorrentUrl, MAX, Duration::from_millis(200))
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "Could not fetch torrent URL: timed out");
    assert!(started.elapsed() < TOTAL);
    let gone = {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap()
    };
    let error = fetch(&net, &format!("http://{gone}/")).await.unwrap_err();
    assert!(
        error.to_string().starts_with("Could not fetch torrent URL: "),
        "{error}"
    );
}

#[tokio::test]
async fn this_machine_and_its_networks_are_refused_whatever_their_range() {
    let trie = "|-- 8.20.30.0\n/24 link UNICAST\n|-- 8.20.30.7\n/32 host LOCAL\n";
    let inet6 = "2a0104f8000000000000000000000002 04 40 00 82 eth0\n";
    let net = net(&[], Script::new(&[&["1.1.1.1", "8.20.30.99"]])).surrounded_by(Nearby::read(trie, inet6));
    for url in [
        "http://8.20.30.7/",
        "http://8.20.30.1:8080/",
        "http://[::ffff:8.20.30.7]/",
        "http://[2a01:4f8::9]/",
        "http://rebound.example/",
    ] {
        let refused = fetch(&net, url).await.unwrap_err();
        assert_eq!(refused, GuardError::Blocked(GuardKind::TorrentUrl), "{url}");
    }
}

#[tokio::test]
async fn other_urls_have_words_of_their_own() {
    let net = net(&[], Script::new(&[]));
    for (url, says) in [
        ("nonsense", "Invalid URL"),
        ("ftp://x/", "Only http(s) URLs are allowed"),
        ("http://nowhere.example/", "Could not resolve URL host"),
        ("http://127.0.0.1/", "URL resolves to a blocked internal address"),
    ] {
        let error = net
            .fetch_guarded(url, GuardKind::Url, MAX, TOTAL)
            .await
            .unwrap_err();
        assert!(error.to_string().starts_with(says), "{error}");
    }
    for (url, says) in [
        ("nonsense", "Invalid torrent URL"),
        ("ftp://x/", "Only http(s) torrent URLs are allowed"),
        ("http://nowhere.example/", "Could not resolve torrent URL host"),
        (
            "http://127.0.0.1/",
            "Torrent URL resolves to a blocked internal address (an administrator can allow the host in SSRF_ALLOW_HOSTS)",
        ),
    ] {
        assert_eq!(fetch(&net, url).await.unwrap_err().to_string(), says);
    }
}

#[tokio::test]
async fn a_magnet_behind_a_redirect_is_an_answer_where_links_are_fetched() {
    let magnet = "magnet:?xt=urn:btih:00112233445566778899aabbccddeeff00112233";
    let answer = |to: &str| format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n");
    let outer = Listener::on("127.0.0.1:0", answer(magnet)).await;
    let url = format!("http://127.0.0.1:{}/", outer.port());
    let net = net(&["127.0.0.1"], Arc::new(SystemResolver));
    let linked = net.fetch_linked(&url, GuardKind::TorrentUrl, MAX, TOTAL).await;
    assert_eq!(linked, Ok(Linked::Magnet(magnet.to_owned())));
    assert!(
        fetch(&net, &url).await.is_err(),
        "and none where a file is wanted"
    );
    for to in ["http://127.0.0.1:1/", "file:///etc/passwd", "magnet"] {
        let outer = Listener::on("127.0.0.1:0", answer(to)).await;
        let url = format!("http://127.0.0.1:{}/", outer.port());
        let refused = net.fetch_linked(&url, GuardKind::TorrentUrl, MAX, TOTAL).await;
        assert_eq!(refused, Err(GuardError::Redirect(GuardKind::TorrentUrl)), "{to}");
    }
}

#[tokio::test]
async fn a_torrent_is_asked_for_as_browsers_ask_and_may_come_compressed() {
    let torrent = b"d4:infod4:name1:aee";
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut packed, torrent).unwrap();
    let packed = packed.finish().unwrap();
    let mut answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        packed.len()
    )
    .into_bytes();
    answer.extend(&packed);
    let (outer, heard) = Listener::hearing(answer).await;
    let url = format!("http://127.0.0.1:{}/", outer.port());
    let net = net(&["127.0.0.1"], Arc::new(SystemResolver));
    let linked = net.fetch_linked(&url, GuardKind::TorrentUrl, MAX, TOTAL).await;
    assert_eq!(linked, Ok(Linked::Body(Bytes::from_static(torrent))));
    let head = heard.lock().unwrap().to_ascii_lowercase();
    assert!(
        head.contains("user-agent: quartermaster/") && head.contains("accept-encoding: gzip"),
        "{head}"
    );
    let small = net
        .fetch_linked(&url, GuardKind::TorrentUrl, torrent.len() + 30, TOTAL)
        .await;
    assert!(small.is_ok(), "{small:?}");
    // A body that is no torrent is returned unchanged.
    let other = net.fetch_linked(&url, GuardKind::Url, MAX, TOTAL).await;
    assert_eq!(other, Ok(Linked::Body(packed.into())));
}

#[tokio::test]
async fn a_magnet_link_as_the_whole_answer_is_one() {
    let magnet = "magnet:?xt=urn:btih:00112233445566778899aabbccddeeff00112233";
    for (body, is_link) in [
        (format!("{magnet}\n"), true),
        (format!("\u{feff}{magnet}"), true),
        (format!("see {magnet}"), false),
        (format!("{magnet} and {magnet}"), false),
    ] {
        let outer = Listener::on("127.0.0.1:0", ok(&body)).await;
        let url = format!("http://127.0.0.1:{}/", outer.port());
        let net = net(&["127.0.0.1"], Arc::new(SystemResolver));
        let linked = net.fetch_linked(&url, GuardKind::TorrentUrl, MAX, TOTAL).await;
        let expected = if is_link {
            Linked::Magnet(magnet.to_owned())
        } else {
            Linked::Body(body.into())
        };
        assert_eq!(linked, Ok(expected));
    }
}
