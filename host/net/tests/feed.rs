//! Tests of feeds over real connections: conditional, redirected, compressed, slow, and with forbidden
//! targets.

#![allow(clippy::unwrap_used, reason = "the whole crate is tests")]

mod common;

use std::io::Write as _;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::{Listener, Script, ok};
use qm_net::{FeedAnswer, FeedBody, FeedFault, FeedLimits, Nearby, Net, NetConfig, Resolver, SystemResolver};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const LIMITS: FeedLimits = FeedLimits {
    silence: Duration::from_secs(5),
    total: Duration::from_secs(10),
    bytes: 64 << 10,
};

fn net(allow: &[&str], resolver: Arc<dyn Resolver>) -> Net {
    let ssrf_allow_hosts = allow.iter().map(|&entry| entry.to_owned()).collect();
    let config = NetConfig {
        ssrf_allow_hosts,
        ..NetConfig::default()
    };
    // The machine's own addresses must not influence the test.
    Net::with_resolver(config, resolver)
        .unwrap()
        .surrounded_by(Nearby::default())
}

fn local() -> Net {
    net(&["127.0.0.1"], Arc::new(SystemResolver))
}

async fn fetch(net: &Net, url: &str) -> Result<FeedBody, FeedFault> {
    match net.fetch_feed(url, None, None, LIMITS).await? {
        FeedAnswer::Body(body) => Ok(body),
        FeedAnswer::NotModified => panic!("nothing was said about a version"),
    }
}

/// A site with scripted answers that records the requests.
struct Site {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Site {
    async fn new(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer) = (asked.clone(), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (seen, answer) = (seen.clone(), answer.clone());
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    let mut buffer = [0; 4096];
                    while !head.ends_with(b"\r\n\r\n") {
                        match stream.read(&mut buffer).await {
                            Ok(n) if n > 0 => head.extend_from_slice(&buffer[..n]),
                            _ => return,
                        }
                    }
                    let head = String::from_utf8_lossy(&head).into_owned();
                    let bytes = answer(&head);
                    seen.lock().unwrap().push(head);
                    let _ = stream.write_all(&bytes).await;
                    let _ = stream.shutdown().await;
                });
            }
        });
        Self { port, asked }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn with(headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn moved(status: u16, to: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} Moved\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        .into_bytes()
}

fn zipped(text: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(text).unwrap();
    packed.finish().unwrap()
}

#[tokio::test]
async fn what_has_not_changed_is_not_sent_again() {
    let site = Site::new(|head| {
        if head.contains("if-none-match: \"v1\"\r\n") && head.contains("if-modified-since: Wed, 01 May 2024 08:00:00 GMT\r\n") {
            b"HTTP/1.1 304 Not Modified\r\netag: \"v1\"\r\n\r\n".to_vec()
        } else {
            with(
                "content-type: application/rss+xml; charset=utf-8\r\netag: \"v1\"\r\nlast-modified: Wed, 01 May 2024 08:00:00 GMT\r\n",
                b"<rss/>",
            )
        }
    })
    .await;
    let first = fetch(&local(), &site.url("/feed?key=k")).await.unwrap();
    assert_eq!(first.bytes, "<rss/>");
    assert_eq!(
        first.content_type.as_deref(),
        Some("application/rss+xml; charset=utf-8")
    );
    let (etag, date) = (first.etag.as_deref(), first.last_modified.as_deref());
    assert_eq!(
        (etag, date),
        (Some("\"v1\""), Some("Wed, 01 May 2024 08:00:00 GMT"))
    );
    let again = local().fetch_feed(&site.url("/feed"), etag, date, LIMITS).await;
    assert_eq!(again, Ok(FeedAnswer::NotModified));
    let head = &site.asked()[0];
    for line in [
        "GET /feed?key=k HTTP/1.1\r\n",
        "accept-encoding: gzip\r\n",
        "user-agent: quartermaster/",
    ] {
        assert!(head.contains(line), "{head}");
    }
    assert!(!head.contains("if-"), "{head}");
    // Invalid and unrequested headers are left out.
    let odd = local()
        .fetch_feed(&site.url("/feed"), Some("a\r\nx: y"), None, LIMITS)
        .await;
    assert!(matches!(odd, Ok(FeedAnswer::Body(_))), "{odd:?}");
    assert!(!site.asked()[2].contains("x: y"));
    let rude = Site::new(|_| b"HTTP/1.1 304 Not Modified\r\n\r\n".to_vec()).await;
    let fault = fetch(&local(), &rude.url("/")).await.unwrap_err();
    assert!(
        matches!(fault, FeedFault::Status { status: 304, .. }),
        "{fault:?}"
    );
}

#[tokio::test]
async fn redirects_are_followed_as_far_as_is_sane() {
    let site = Site::new(|head| match head.split(' ').nth(1).unwrap() {
        "/end" => ok("<rss/>").into_bytes(),
        path => match path.trim_start_matches('/').parse::<u16>() {
            Ok(0) => moved(308, "end"),
            Ok(left) => moved(
                [301, 302, 303, 307][usize::from(left) % 4],
                &format!("/{}", left - 1),
            ),
            Err(_) => moved(302, path),
        },
    })
    .await;
    for hops in ["/end", "/0", "/4"] {
        assert_eq!(
            fetch(&local(), &site.url(hops)).await.unwrap().bytes,
            "<rss/>",
            "{hops}"
        );
    }
    let before = site.asked().len();
    for endless in ["/5", "/loop"] {
        let fault = fetch(&local(), &site.url(endless)).await.unwrap_err();
        assert_eq!(
            fault,
            FeedFault::Unusable("`127.0.0.1` redirects more than 5 times".to_owned())
        );
    }
    assert_eq!(site.asked().len() - before, 12);
}

#[tokio::test]
async fn a_redirect_to_what_is_no_address_of_a_feed_is_none() {
    for (to, says) in [
        (
            "magnet:?xt=urn:btih:00112233445566778899aabbccddeeff00112233",
            "redirects to a magnet link",
        ),
        (
            "file:///etc/passwd",
            "redirects to an address that is not http(s)",
        ),
        ("ftp://h/", "redirects to an address that is not http(s)"),
        ("http://", "redirects to what is no URL"),
    ] {
        let site = Site::new(move |_| moved(302, to)).await;
        let fault = fetch(&local(), &site.url("/?passkey=hidden"))
            .await
            .unwrap_err()
            .to_string();
        assert!(
            fault.contains(says) && fault.contains("127.0.0.1") && !fault.contains("hidden"),
            "{fault}"
        );
    }
}

#[tokio::test]
async fn a_name_and_password_are_sent_to_their_host_only() {
    let other = Site::new(|_| ok("<rss/>").into_bytes()).await;
    let to = format!("http://127.0.0.1:{}/x", other.port);
    let site = Site::new(move |head| {
        if head.starts_with("GET /away") {
            moved(302, &to)
        } else {
            moved(302, "/away")
        }
    })
    .await;
    let url = format!("http://me:secret@127.0.0.1:{}/feed", site.port);
    assert!(fetch(&local(), &url).await.is_ok());
    let with_password = |heads: Vec<String>| {
        heads
            .iter()
            .filter(|head| head.contains("authorization: Basic bWU6c2VjcmV0"))
            .count()
    };
    assert_eq!((site.asked().len(), with_password(site.asked())), (2, 2));
    assert_eq!((other.asked().len(), with_password(other.asked())), (1, 0));
}

#[tokio::test]
async fn compressed_feeds_are_read_and_bombs_are_not() {
    let text = "<rss>".repeat(1000);
    let once = zipped(text.as_bytes());
    for (headers, body) in [
        ("content-encoding: gzip\r\n", once.clone()),
        ("content-encoding: x-gzip\r\n", once.clone()),
        ("content-type: application/gzip\r\n", once.clone()),
        ("content-encoding: gzip\r\n", zipped(&once)),
        ("content-encoding: gzip\r\n", text.clone().into_bytes()),
        ("content-encoding: identity\r\n", text.clone().into_bytes()),
    ] {
        let site = Site::new(move |_| with(headers, &body)).await;
        assert_eq!(
            fetch(&local(), &site.url("/")).await.unwrap().bytes,
            text,
            "{headers}"
        );
    }
    let bomb = zipped(&vec![b'x'; 64 << 20]);
    assert!(bomb.len() < LIMITS.bytes * 2);
    let cut = once[..once.len() - 12].to_vec();
    for (headers, body, says) in [
        ("content-encoding: gzip\r\n", bomb, "more than a feed may have"),
        (
            "content-encoding: gzip\r\n",
            zipped(&zipped(&vec![0; 1 << 20])),
            "more than a feed may have",
        ),
        ("content-encoding: gzip\r\n", cut, "damaged or ends in the middle"),
        ("content-encoding: br\r\n", b"xyz".to_vec(), "compressed as `br`"),
        ("", vec![b'x'; LIMITS.bytes + 1], "more than a feed may have"),
    ] {
        let site = Site::new(move |_| with(headers, &body)).await;
        let fault = fetch(&local(), &site.url("/?key=hidden"))
            .await
            .unwrap_err()
            .to_string();
        assert!(
            fault.contains(says) && fault.contains("`127.0.0.1`") && !fault.contains("hidden"),
            "{fault}"
        );
    }
}

#[tokio::test]
async fn sixty_four_mebibytes_are_not_taken() {
    let most = 64 << 20;
    let said = Listener::on(
        "127.0.0.1:0",
        format!("HTTP/1.1 200 OK\r\ncontent-length: {most}\r\n\r\n<rss>"),
    )
    .await;
    let mut unsaid = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_vec();
    unsaid.resize(most, b'x');
    let unsaid = Listener::on("127.0.0.1:0", unsaid).await;
    for port in [said.port(), unsaid.port()] {
        let url = format!("http://127.0.0.1:{port}/");
        let fault = local()
            .fetch_feed(&url, None, None, FeedLimits::default())
            .await
            .unwrap_err();
        assert!(matches!(fault, FeedFault::TooLarge(_)), "{fault:?}");
    }
}

#[tokio::test]
async fn errors_bring_what_explains_them() {
    for (answer, status, retry_after, body) in [
        (
            "429 Too Many Requests\r\nretry-after: 120",
            429,
            Some(120),
            "slow down",
        ),
        (
            "503 Service Unavailable\r\ndate: Wed, 01 May 2024 08:00:00 GMT\r\nretry-after: Wed, 01 May 2024 08:02:00 GMT",
            503,
            Some(120),
            "",
        ),
        (
            "403 Forbidden\r\ncontent-type: text/html",
            403,
            None,
            "<title>Just a moment...</title>",
        ),
        ("404 Not Found", 404, None, ""),
        ("500 Internal Server Error", 500, None, "oops"),
        ("302 Found", 302, None, "nowhere"),
    ] {
        let text = format!(
            "HTTP/1.1 {answer}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        let site = Site::new(move |_| text.clone().into_bytes()).await;
        let fault = fetch(&local(), &site.url("/rss/0123456789abcdef?passkey=hidden"))
            .await
            .unwrap_err();
        let words = fault.to_string();
        assert!(
            words.starts_with(&format!("`127.0.0.1` answered HTTP {status} (")),
            "{words}"
        );
        let FeedFault::Status {
            status: told,
            retry_after: after,
            body: explained,
            ..
        } = fault
        else {
            panic!("{fault:?}");
        };
        assert_eq!((told, after, explained.bytes), (status, retry_after, body.into()));
    }
    let long = "x".repeat(1 << 20);
    let site = Site::new(move |_| {
        format!("HTTP/1.1 500 No\r\ncontent-length: {}\r\n\r\n{long}", long.len()).into_bytes()
    })
    .await;
    let Err(FeedFault::Status { body, .. }) = fetch(&local(), &site.url("/")).await else {
        panic!("an error is none")
    };
    assert_eq!(body.bytes.len(), 64 << 10);
}

#[tokio::test]
async fn silence_and_slowness_end() {
    let limits = FeedLimits {
        silence: Duration::from_secs(2),
        total: Duration::from_secs(5),
        ..LIMITS
    };
    let silent = Listener::on("127.0.0.1:0", "").await;
    let halfway = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let dripping = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let ports = [
        silent.port(),
        halfway.local_addr().unwrap().port(),
        dripping.local_addr().unwrap().port(),
    ];
    for (listener, drips) in [(halfway, false), (dripping, true)] {
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let asked = stream.read(&mut [0; 4096]).await;
            assert!(asked.is_ok_and(|n| n > 0));
            let _ = stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 60000\r\n\r\n<rss>")
                .await;
            while drips && stream.write_all(b"x").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            tokio::time::sleep(Duration::from_mins(1)).await;
        });
    }
    let begun = Instant::now();
    let says = [
        "did not answer within 2 s",
        "fell silent for 2 s",
        "took longer than 5 s",
    ];
    let asked = ports.into_iter().zip(says).map(|(port, says)| {
        tokio::spawn(async move {
            let url = format!("http://127.0.0.1:{port}/?key=hidden");
            let fault = local().fetch_feed(&url, None, None, limits).await.unwrap_err();
            assert!(
                matches!(&fault, FeedFault::Timeout(text) if text.contains(says) && text.contains("`127.0.0.1`")),
                "{fault:?}"
            );
        })
    });
    for asked in asked.collect::<Vec<_>>() {
        asked.await.unwrap();
    }
    assert!(begun.elapsed() < Duration::from_mins(1));
    let gone = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let fault = fetch(&local(), &format!("http://{gone}/?key=hidden"))
        .await
        .unwrap_err();
    assert_eq!(
        fault,
        FeedFault::Unreachable("cannot reach `127.0.0.1`: connection refused".to_owned())
    );
    let broken = Listener::on("127.0.0.1:0", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf").await;
    let fault = fetch(&local(), &format!("http://127.0.0.1:{}/", broken.port()))
        .await
        .unwrap_err();
    assert!(matches!(fault, FeedFault::Unreachable(_)), "{fault:?}");
}

/// Spellings of internal addresses; `P` is the port of a listener that must not be reached.
const INSIDE: &[&str] = &[
    "http://127.0.0.1:P/",
    "http://127.1:P/",
    "http://2130706433:P/",
    "http://0x7f.0.0.1:P/",
    "http://0177.0.0.1:P/",
    "http://localhost:P/",
    "http://LOCALHOST.:P/",
    "http://[::1]:P/",
    "http://[::ffff:127.0.0.1]:P/",
    "http://[::127.0.0.1]:P/",
    "http://[64:ff9b::7f00:1]:P/",
    "http://[2002:7f00:1::]:P/",
    "http://[fd00::1]:P/",
    "http://user:password@127.0.0.1:P/",
    "http://example.com:80@127.0.0.1:P/",
    "http://127.0.0.1:P\\@example.com/",
    "https://127.0.0.1:P/",
    "http://10.0.0.1/",
    "http://172.20.0.1/",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://feeds.lan:P/",
];
/// Addresses that no list can allow.
const NEVER: &[&str] = &[
    "http://169.254.169.254/latest/meta-data/",
    "http://169.254.1.1/",
    "http://[fe80::1]:P/",
    "http://[fd00:ec2::254]/",
    "http://[::ffff:169.254.169.254]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://100.100.100.200/",
    "http://0.0.0.0:P/",
    "http://[::]:P/",
    "http://224.0.0.1/",
];
const GUARDED: &str = "resolves to a blocked internal address";

/// Asserts a refusal by the guard whose text names the host, and nothing else of the URL.
fn assert_guarded(fault: &FeedFault, url: &str) {
    let FeedFault::Refused(text) = fault else {
        panic!("{url}: {fault:?}");
    };
    assert!(
        text.contains(GUARDED) && text.contains("SSRF_ALLOW_HOSTS"),
        "{url}: {text}"
    );
    assert!(
        !text.contains("password") && !text.contains("meta-data") && !text.contains("hidden"),
        "{url}: {text}"
    );
}

#[tokio::test]
async fn no_feed_lies_inside() {
    let listener = Listener::on("127.0.0.1:0", ok("secret")).await;
    let closed = net(&[], Script::new(&[&["127.0.0.1"]]));
    for form in INSIDE.iter().chain(NEVER) {
        let url = form.replace('P', &listener.port().to_string());
        assert_guarded(&fetch(&closed, &url).await.unwrap_err(), &url);
    }
    let fault = fetch(&closed, "http://feeds.lan/rss?key=hidden")
        .await
        .unwrap_err()
        .to_string();
    assert_eq!(
        fault,
        "`feeds.lan` resolves to a blocked internal address (an administrator can allow the host in SSRF_ALLOW_HOSTS)"
    );
    assert_eq!(listener.connections(), 0, "something was dialled");
}

#[tokio::test]
async fn metadata_is_never_dialled_whatever_is_listed() {
    let open = net(
        &["0.0.0.0/0", "::/0", "feeds.lan"],
        Script::new(&[&["169.254.169.254"], &["fe80::1"]]),
    );
    for url in NEVER
        .iter()
        .chain(&["http://feeds.lan/rss", "http://feeds.lan/rss"])
    {
        let url = url.replace('P', "1");
        let fault = fetch(&open, &url).await.unwrap_err();
        assert_guarded(&fault, &url);
        assert!(fault.to_string().contains("never dialled"), "{fault}");
    }
    // Of a listed host only allowed addresses are dialled.
    let listener = Listener::on("127.0.0.1:0", ok("<rss/>")).await;
    let mixed = net(&["feeds.lan"], Script::new(&[&["169.254.169.254", "127.0.0.1"]]));
    let url = format!("http://feeds.lan:{}/", listener.port());
    assert_eq!(fetch(&mixed, &url).await.unwrap().bytes, "<rss/>");
}

#[tokio::test]
async fn a_redirect_leads_inside_no_more_than_an_address_does() {
    let inner = Listener::on("127.0.0.1:0", ok("secret")).await;
    let only = net(&["feeds.lan"], Script::new(&[&["127.0.0.1"]]));
    for form in INSIDE.iter().chain(NEVER) {
        if form.contains("feeds.lan") {
            continue;
        }
        let to = form.replace('P', &inner.port().to_string());
        let location = to.clone();
        let outer = Site::new(move |_| moved(302, &location)).await;
        let url = format!("http://feeds.lan:{}/rss?key=hidden", outer.port);
        let fault = fetch(&only, &url).await.unwrap_err();
        assert_guarded(&fault, &to);
        assert!(
            fault.to_string().starts_with("`feeds.lan` redirects: "),
            "{fault}"
        );
        assert_eq!(outer.asked().len(), 1);
    }
    assert_eq!(inner.connections(), 0, "something was dialled");
    // And a listed one does.
    let to = format!("http://feeds.lan:{}/", inner.port());
    let outer = Site::new(move |_| moved(302, &to)).await;
    assert!(
        fetch(&only, &format!("http://feeds.lan:{}/", outer.port))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn one_address_inside_among_others_refuses_a_name() {
    for answer in [
        &["1.1.1.1", "127.0.0.1"][..],
        &["2606:4700::1", "::ffff:10.0.0.1"],
        &["1.1.1.1", "169.254.169.254"],
    ] {
        let mixed = net(&[], Script::new(&[answer]));
        assert_guarded(
            &fetch(&mixed, "http://feed.example:1/").await.unwrap_err(),
            "feed.example",
        );
    }
}

#[tokio::test]
async fn a_name_that_leads_elsewhere_later_is_judged_anew_and_dialled_as_judged() {
    let vetted = Listener::on("127.0.0.2:0", moved(302, "/again")).await;
    let other = Listener::on(&format!("127.0.0.1:{}", vetted.port()), ok("secret")).await;
    let script = Script::new(&[&["127.0.0.2"], &["127.0.0.1"]]);
    let rebinding = net(&["127.0.0.2"], script.clone());
    let url = format!("http://rebind.example:{}/", vetted.port());
    let fault = fetch(&rebinding, &url).await.unwrap_err();
    assert_guarded(&fault, &url);
    assert_eq!(
        (script.asked(), vetted.connections(), other.connections()),
        (2, 1, 0)
    );
}

#[tokio::test]
async fn what_is_no_address_of_a_feed_has_words_of_its_own() {
    let nowhere = net(&[], Script::new(&[]));
    for (url, says) in [
        ("", "the address is no URL"),
        ("nonsense", "the address is no URL"),
        ("http://", "the address is no URL"),
        ("ftp://h/", "only http(s) addresses are allowed"),
        ("file:///etc/passwd", "only http(s) addresses are allowed"),
        ("magnet:?xt=urn:btih:00", "the address is a magnet link"),
        (
            "http://nowhere.example/?key=hidden",
            "cannot resolve `nowhere.example`",
        ),
    ] {
        let fault = fetch(&nowhere, url).await.unwrap_err().to_string();
        assert!(fault.starts_with(says), "{url}: {fault}");
    }
}

#[tokio::test]
async fn this_machine_and_its_networks_are_inside() {
    let near = Nearby::read(
        "|-- 8.20.30.0\n/24 link UNICAST\n|-- 8.20.30.7\n/32 host LOCAL\n",
        "",
    );
    let ips: Vec<IpAddr> = vec!["8.20.30.7".parse().unwrap()];
    assert!(near.contains(ips[0]));
    let here = net(&[], Script::new(&[&["8.20.30.99"]])).surrounded_by(near);
    for url in [
        "http://8.20.30.7/",
        "http://8.20.30.1:8080/",
        "http://neighbour.example/",
    ] {
        assert_guarded(&fetch(&here, url).await.unwrap_err(), url);
    }
}
