//! Streams as their readers use them: a real browser that seeks in a video, curl and ffprobe; and tickets that were not
//! issued for what they are used for.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use qm_kernel::Role;
use qm_testkit::binary::Binary;
use qm_testkit::process::Process;
use qm_testkit::wait::until;
use qm_testkit::{Api, Backend, TestServer, both_databases, database, token};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::site::Site;

/// Length of the video, in seconds: it is red at first, and blue from the middle on.
const SECONDS: u32 = 30;

/// Runs a program to its end; answers what it printed.
fn run(command: &mut Command) -> Vec<u8> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().unwrap_or_else(|error| {
        panic!("cannot start {program}: {error}; `cargo xtask setup test` installs it")
    });
    assert!(
        output.status.success(),
        "{program}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

/// A WebM of some MiB whose every frame tells by its colour which half it is from.
fn film(path: &Path) {
    let half = |colour: &str| format!("color=c={colour}:size=640x360:rate=25:duration={}", SECONDS / 2);
    let mut command = Command::new("ffmpeg");
    command
        .args(["-v", "error", "-f", "lavfi", "-i", &half("red")])
        .args(["-f", "lavfi", "-i", &half("blue")])
        // Noise keeps the file from shrinking to nothing.
        .args(["-filter_complex", "[0][1]concat=n=2:v=1,noise=alls=30:allf=t"])
        .args(["-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8"])
        .args(["-b:v", "1500k", "-g", "25"])
        .arg(path);
    run(&mut command);
}

async fn ticket(api: &Api, path: &str) -> String {
    let ticket = api.post("/api/files/media-ticket", json!({ "path": path })).await;
    ticket["token"].as_str().expect("a ticket").to_owned()
}

/// The heads of requests and answers that came over the wire, in two lists.
#[derive(Clone, Default)]
struct Heard {
    requests: Arc<Mutex<Vec<String>>>,
    answers: Arc<Mutex<Vec<String>>>,
}

impl Heard {
    /// Keeps what was read if it begins a request or an answer.
    fn note(kept: &Mutex<Vec<String>>, begins: &str, bytes: &[u8]) {
        if !bytes.starts_with(begins.as_bytes()) {
            return;
        }
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]);
        let head = text.split("\r\n\r\n").next().unwrap_or_default();
        kept.lock()
            .expect("no test panics holding it")
            .push(head.to_lowercase());
    }

    /// Values of a header in the order they came.
    fn values(kept: &Mutex<Vec<String>>, header: &str) -> Vec<String> {
        let kept = kept.lock().expect("no test panics holding it");
        let lines = kept.iter().flat_map(|head| head.lines());
        lines
            .filter_map(|line| line.strip_prefix(header)?.strip_prefix(": "))
            .map(str::to_owned)
            .collect()
    }
}

/// A server of a test's own; it ends when dropped.
struct Listening {
    port: u16,
    task: JoinHandle<()>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Listening {
    async fn start<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> Listening
    where
        F: Future<Output = std::io::Result<()>> + Send + 'static,
    {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let serving = serve(stream);
                // A browser hangs up when it has heard enough.
                tokio::spawn(async move { drop(serving.await) });
            }
        });
        Listening { port, task }
    }

    /// Passes everything on to `upstream`, and keeps the heads.
    async fn relay(upstream: std::net::SocketAddr, heard: Heard) -> Listening {
        Self::start(move |browser| {
            let heard = heard.clone();
            async move {
                let (mut from, mut to) = browser.into_split();
                let (mut answers, mut requests) = TcpStream::connect(upstream).await?.into_split();
                let ask = async {
                    let mut buffer = vec![0; 64 * 1024];
                    loop {
                        let read = from.read(&mut buffer).await?;
                        if read == 0 {
                            return Ok(());
                        }
                        Heard::note(&heard.requests, "GET ", &buffer[..read]);
                        requests.write_all(&buffer[..read]).await?;
                    }
                };
                let answer = async {
                    let mut buffer = vec![0; 64 * 1024];
                    loop {
                        let read = answers.read(&mut buffer).await?;
                        if read == 0 {
                            return Ok(());
                        }
                        Heard::note(&heard.answers, "HTTP/1.1 ", &buffer[..read]);
                        to.write_all(&buffer[..read]).await?;
                    }
                };
                tokio::select! { ended = ask => ended, ended = answer => ended }
            }
        })
        .await
    }

    /// Serves the page at `/`, and keeps what it reports.
    async fn page(html: Arc<Mutex<String>>, reports: Arc<Mutex<Vec<String>>>) -> Listening {
        Self::start(move |mut browser| {
            let (html, reports) = (html.clone(), reports.clone());
            async move {
                let mut head = vec![0; 16 * 1024];
                let read = browser.read(&mut head).await?;
                let head = String::from_utf8_lossy(&head[..read]).into_owned();
                let path = head.split(' ').nth(1).unwrap_or_default();
                let body = match path.strip_prefix("/report?") {
                    Some(report) => {
                        reports
                            .lock()
                            .expect("no test panics holding it")
                            .push(report.replace('+', " "));
                        String::new()
                    }
                    None => html.lock().expect("no test panics holding it").clone(),
                };
                let answer = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                    body.len()
                );
                browser.write_all(answer.as_bytes()).await?;
                browser.shutdown().await
            }
        })
        .await
    }
}

/// Seeks to three quarters, then back to one, and reports time and colour; first without, then with CORS.
const PAGE: &str = r"<!doctype html><title>seek</title><body><script>
const report = (what) => fetch('/report?' + new URLSearchParams(what));
const event = (target, name) => new Promise((done, failed) => {
  target.addEventListener(name, done, { once: true });
  target.addEventListener('error', () => failed(`${name}: ${target.error.code} ${target.error.message}`), { once: true });
});
async function watch(manner) {
  const video = document.createElement('video');
  video.muted = true;
  video.preload = 'auto';
  if (manner === 'cors') video.crossOrigin = 'anonymous';
  video.src = 'SOURCE';
  document.body.append(video);
  await event(video, 'loadedmetadata');
  const seen = { manner, duration: video.duration, width: video.videoWidth };
  for (const part of [0.75, 0.25]) {
    const seeked = event(video, 'seeked');
    video.currentTime = video.duration * part;
    await seeked;
    seen['at' + part] = video.currentTime;
    if (manner === 'cors') {
      const canvas = document.createElement('canvas');
      canvas.width = canvas.height = 1;
      const context = canvas.getContext('2d');
      context.drawImage(video, 0, 0, 1, 1);
      const [red, , blue] = context.getImageData(0, 0, 1, 1).data;
      seen['colour' + part] = red > blue ? 'red' : 'blue';
    }
  }
  await report(seen);
  video.remove();
}
watch('plain').then(() => watch('cors')).catch((error) => report({ failed: error }));
</script>";

fn browser(dir: &Path, url: &str) -> Process {
    let mut command = Command::new("chromium");
    command
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
        ])
        .args([
            "--no-first-run",
            "--mute-audio",
            "--disable-background-networking",
        ])
        .arg(format!("--user-data-dir={}", dir.join("profile").display()))
        .arg(url)
        .env("HOME", dir);
    Process::start("chromium", dir, &mut command)
}

/// The value of a report's field.
fn field<'a>(report: &'a str, name: &str) -> &'a str {
    let pairs = report.split('&').filter_map(|pair| pair.split_once('='));
    let mut values = pairs.filter(|(key, _)| *key == name).map(|(_, value)| value);
    values.next().unwrap_or_else(|| panic!("no {name} in {report}"))
}

async fn seek_in_a_browser(db: &qm_testkit::TestDb) {
    let (site, dir) = (Site::new(), tempfile::tempdir().expect("a temporary directory"));
    film(&site.path_of("a film.webm"));
    let size = std::fs::metadata(site.path_of("a film.webm"))
        .expect("it was made")
        .len();
    assert!(size > 2 << 20, "{size} bytes are too few to seek in");
    let (html, reports): (Arc<Mutex<String>>, Arc<Mutex<Vec<String>>>) = Default::default();
    let page = Listening::page(html.clone(), reports.clone()).await;
    let origin = format!("http://127.0.0.1:{}", page.port);
    let server = TestServer::builder(db)
        .env("FILE_MANAGER_ROOTS", site.roots())
        .env("CORS_ORIGIN", &origin)
        .start()
        .await;
    let heard = Heard::default();
    let relay = Listening::relay(server.address(), heard.clone()).await;
    let token = ticket(&server.admin(), "/a film.webm").await;
    let source = format!(
        "http://127.0.0.1:{}/api/files/stream?path=/a%20film.webm&ticket={token}",
        relay.port
    );
    *html.lock().expect("no test panics holding it") = PAGE.replace("SOURCE", &source);
    let mut chromium = browser(dir.path(), &origin);
    let seen = until("the browser to have sought", || {
        chromium.assert_running();
        let reports = reports.lock().expect("no test panics holding it").clone();
        let ended = reports.len() == 2 || reports.iter().any(|report| report.starts_with("failed"));
        async move { ended.then_some(reports) }
    })
    .await;
    println!("{seen:?}");
    for (report, manner) in seen.iter().zip(["plain", "cors"]) {
        let number = |name: &str| -> f64 { field(report, name).parse().expect("a number") };
        assert_eq!(field(report, "manner"), manner);
        assert!((number("duration") - f64::from(SECONDS)).abs() < 0.2, "{report}");
        assert_eq!(field(report, "width"), "640");
        assert!(
            (number("at0.75") - f64::from(SECONDS) * 0.75).abs() < 0.1,
            "{report}"
        );
        assert!(
            (number("at0.25") - f64::from(SECONDS) * 0.25).abs() < 0.1,
            "{report}"
        );
    }
    assert_eq!(
        (field(&seen[1], "colour0.75"), field(&seen[1], "colour0.25")),
        ("blue", "red"),
        "the frames are those of the time"
    );
    let ranges = Heard::values(&heard.requests, "range");
    let parts = Heard::values(&heard.answers, "content-range");
    println!("asked for {ranges:?}, got {parts:?}");
    let starts = |range: &String| range.split(['=', '-']).nth(1)?.parse::<u64>().ok();
    assert!(
        ranges.iter().filter_map(starts).any(|start| start > size / 4),
        "it sought over the network: {ranges:?}"
    );
    assert!(
        parts.iter().all(|part| part.ends_with(&format!("/{size}"))),
        "{parts:?}"
    );
    let answers = heard.answers.lock().expect("no test panics holding it").clone();
    assert!(
        answers
            .iter()
            .filter(|head| head.starts_with("http/1.1 206"))
            .count()
            >= 2,
        "{answers:?}"
    );
    let allowed = Heard::values(&heard.answers, "access-control-allow-origin");
    assert!(allowed.iter().all(|allowed| *allowed == origin), "{allowed:?}");
}

/// The streamed bytes are the same whichever database keeps the users.
#[test]
fn a_browser_seeks_in_a_video() {
    database::run(Backend::Sqlite, async |db| seek_in_a_browser(db).await);
}

#[test]
fn curl_and_ffprobe_read_a_stream() {
    database::run(Backend::Sqlite, async |db| {
        let site = Site::new();
        film(&site.path_of("film.webm"));
        let bytes = std::fs::read(site.path_of("film.webm")).expect("it was made");
        let server = TestServer::builder(db)
            .env("FILE_MANAGER_ROOTS", site.roots())
            .start()
            .await;
        let token = ticket(&server.admin(), "film.webm").await;
        let url = format!(
            "http://{}/api/files/stream?path=film.webm&ticket={token}",
            server.address()
        );
        let curl = |args: &[&str]| run(Command::new("curl").args(["-sS", "--fail"]).args(args).arg(&url));
        let whole = bytes.len();
        assert!(curl(&[]) == bytes, "the whole file");
        for (range, wanted) in [
            ("0-0", 0..1),
            ("1000-1999", 1000..2000),
            ("1000000-", 1_000_000..whole),
            ("-500", whole - 500..whole),
            ("0-99999999999", 0..whole),
        ] {
            assert!(curl(&["-r", range]) == bytes[wanted], "{range}");
        }
        // Cut short and gone on with, as after a lost connection.
        let part = site.beside("part");
        std::fs::write(&part, &bytes[..123_456]).expect("our own directory");
        let part = part.display().to_string();
        curl(&["-C", "-", "-o", &part]);
        assert!(std::fs::read(&part).expect("it is there") == bytes, "resumed");
        let head = String::from_utf8(curl(&["-I"]))
            .expect("headers are text")
            .to_lowercase();
        for line in [
            format!("content-length: {whole}"),
            "content-type: video/webm".to_owned(),
            "accept-ranges: bytes".to_owned(),
        ] {
            assert!(head.contains(&line), "{line} in {head}");
        }
        let mut ffprobe = Command::new("ffprobe");
        ffprobe
            .args([
                "-v",
                "error",
                "-show_entries",
                "format=duration",
                "-of",
                "csv=p=0",
            ])
            .arg(&url);
        let duration = String::from_utf8(run(&mut ffprobe)).expect("a number");
        let duration: f64 = duration.trim().parse().expect("a number");
        assert!((duration - f64::from(SECONDS)).abs() < 0.2, "{duration}");
    });
}

fn stream(path: &str, ticket: &str) -> String {
    format!("/api/files/stream?path={path}&ticket={ticket}")
}

both_databases! {
    async fn a_ticket_is_good_for_what_it_says_and_nothing_else(db: &TestDb) {
        let site = Site::new();
        site.write("mine.mkv", "mine");
        site.write("yours.mkv", "yours");
        let server = TestServer::builder(db).env("FILE_MANAGER_ROOTS", site.roots()).start().await;
        let api = server.admin();
        let anybody = server.anonymous();
        let good = ticket(&api, "mine.mkv").await;
        let answer = async |path: &str, ticket: &str| {
            let reply = anybody.send("GET", &stream(path, ticket), None).await;
            assert!(reply.status == 200 || !reply.text().contains("yours"), "{}", reply.text());
            reply.status
        };
        assert_eq!(answer("mine.mkv", &good).await, 200);
        for other in ["yours.mkv", "/", "mine.mkv/../yours.mkv", "../root/mine.mkv"] {
            assert_eq!(answer(other, &good).await, 403, "{other}");
        }
        // Its claims as we read them: what is changed in them is no longer signed.
        let now = qm_kernel::Ctx::system().now().ms();
        let somebody = server.user_id(Role::User);
        let mine = site.path_of("mine.mkv");
        let says = |path: &str, user: &str, until: i64| token::ticket(&token::ticket_claims(&site.root, path, &mine, user, until));
        let (body, signature) = good.split_once('.').expect("body and signature");
        let foreign = |path: &str, user: &str, until: i64| {
            let forged = says(path, user, until);
            let (forged, _) = forged.split_once('.').expect("body and signature");
            format!("{forged}.{signature}")
        };
        assert_eq!(answer("mine.mkv", &says("/mine%2Emkv", somebody, now + 60_000)).await, 200, "we sign as the server does");
        for (what, bad) in [
            ("another path", foreign("/yours%2Emkv", somebody, now + 60_000)),
            ("another user", foreign("/mine%2Emkv", "somebody else", now + 60_000)),
            ("a longer life", foreign("/mine%2Emkv", somebody, i64::MAX)),
            ("expired", says("/mine%2Emkv", somebody, now - 1)),
            ("expired long ago", says("/mine%2Emkv", somebody, 0)),
            ("no signature", format!("{body}.")),
            ("half a signature", format!("{body}.{}", &signature[..signature.len() / 2])),
            ("an access token", api.token().to_owned()),
            ("nothing", String::new()),
        ] {
            for path in ["mine.mkv", "yours.mkv"] {
                assert_eq!(answer(path, &bad).await, 401, "{what}");
            }
        }
        assert_eq!(answer("mine.mkv", &says("/mine%2Emkv", "nobody", now + 60_000)).await, 401);
        assert_eq!(answer("../root-canary/secret", &says("/secret", somebody, now + 60_000)).await, 403);
        // A bearer token is no ticket, and a ticket no bearer token.
        let reply = api.send("GET", "/api/files/stream?path=mine.mkv", None).await;
        assert_eq!(reply.status, 401, "{}", reply.text());
        let reply = anybody.with_token(Some(good)).send("GET", "/api/files/download?path=mine.mkv", None).await;
        assert_eq!(reply.status, 401, "{}", reply.text());
    }

    async fn a_ticket_ends_with_its_users_right_and_with_its_file(db: &TestDb) {
        let site = Site::new();
        site.write("film.mkv", "the film");
        site.write("folder/film.mkv", "another film");
        let server = TestServer::builder(db).env("FILE_MANAGER_ROOTS", site.roots()).start().await;
        let (admin, anybody) = (server.admin(), server.anonymous());
        let answer = async |ticket: &str| anybody.send("GET", &stream("film.mkv", ticket), None).await.status;
        let change = async |user: &str, body: Value| {
            let reply = admin.send("PATCH", &format!("/api/users/{user}"), Some(&body)).await;
            assert_eq!(reply.status, 200, "{}", reply.text());
        };
        let user = server.user_id(Role::User);
        let tickets = [ticket(&server.user(Role::User), "film.mkv").await, ticket(&server.user(Role::PowerUser), "film.mkv").await];
        assert_eq!((answer(&tickets[0]).await, answer(&tickets[1]).await), (200, 200));
        change(user, json!({ "isActive": false })).await;
        assert_eq!((answer(&tickets[0]).await, answer(&tickets[1]).await), (401, 200), "only one was deactivated");
        change(user, json!({ "isActive": true })).await;
        assert_eq!(answer(&tickets[0]).await, 200);
        let reply = admin.send("DELETE", &format!("/api/users/{user}"), None).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        assert_eq!((answer(&tickets[0]).await, answer(&tickets[1]).await), (401, 200));

        let mut good = ticket(&admin, "film.mkv").await;
        // Written on while it is downloaded: it is the same file.
        std::fs::OpenOptions::new().append(true).open(site.path_of("film.mkv")).and_then(|mut file| file.write_all(b", longer")).expect("our own file");
        assert_eq!(answer(&good).await, 200);
        let root = async |path: String| {
            admin.put("/api/files/root", json!({ "path": path })).await;
        };
        root(site.path_of("folder").display().to_string()).await;
        let reply = anybody.send("GET", &stream("film.mkv", &good), None).await;
        assert!(reply.status == 403 && !reply.text().contains("another film"), "{}", reply.text());
        root(site.roots()).await;
        assert_eq!(answer(&good).await, 200);
        for replace in [true, false] {
            if replace {
                site.write("new", "another film");
                std::fs::rename(site.path_of("new"), site.path_of("film.mkv")).expect("our own file");
            } else {
                // The number of the inode may be the one that became free.
                std::fs::remove_file(site.path_of("film.mkv")).expect("our own file");
                site.write("film.mkv", "another film");
            }
            let reply = anybody.send("GET", &stream("film.mkv", &good), None).await;
            assert!(reply.status == 403 && !reply.text().contains("another film"), "{}", reply.text());
            good = ticket(&admin, "film.mkv").await;
            assert_eq!(answer(&good).await, 200);
        }
    }

    async fn tickets_stay_out_of_the_logs_and_the_audit(db: &TestDb) {
        let (site, dir) = (Site::new(), tempfile::tempdir().expect("a temporary directory"));
        site.write("film.mkv", "content");
        let roots = site.roots();
        let filter = "debug,quartermaster=trace,qm_server=trace,qm_web=trace,qm_files=trace,qm_file_contents=trace,qm_file_operations=trace,qm_platform=trace,qm_realtime=trace,hyper=trace";
        let env = [("FILE_MANAGER_ROOTS", roots.as_str()), ("RUST_LOG", filter)];
        let mut binary = Binary::start_with(dir.path(), db.url(), &env).await;
        let (api, anybody) = (binary.admin().await, binary.anonymous());
        let good = ticket(&api, "film.mkv").await;
        let expired = token::ticket(&token::ticket_claims(&site.root, "/film%2Emkv", &site.path_of("film.mkv"), "u", 1));
        for (ticket, path, status) in [(&good, "film.mkv", 200), (&good, "other", 403), (&expired, "film.mkv", 401)] {
            for method in ["GET", "HEAD"] {
                let reply = anybody.send(method, &stream(path, ticket), None).await;
                assert_eq!(reply.status, status, "{}", reply.text());
                assert!(!reply.text().contains(ticket.as_str()), "{}", reply.text());
            }
        }
        std::fs::remove_file(site.path_of("film.mkv")).expect("our own file");
        assert_eq!(anybody.send("GET", &stream("film.mkv", &good), None).await.status, 404);
        let audit = api.get("/api/audit?pageSize=200").await.to_string();
        assert!(binary.stop().await.success());
        let log = binary.process().output();
        assert!(log.contains("/api/files/stream"), "the requests are in the log: {log}");
        for ticket in [&good, &expired] {
            for part in ticket.split('.') {
                assert!(!log.contains(part), "{part} is in the log: {log}");
                assert!(!audit.contains(part), "{part} is in the audit: {audit}");
            }
        }
    }
}
