use axum::body::Body;
use axum::http::{Request, header};
use http_body_util::BodyExt;
use qm_db::{Db, db_test};
use serde_json::json;
use std::time::Duration;

use super::{Answer, Site, path};

impl Site {
    async fn ticket(&self, file: &str) -> String {
        let ticket = self.done("/api/files/media-ticket", path(file)).await;
        ticket["token"].as_str().unwrap().to_owned()
    }

    async fn stream(&self, file: &str, ticket: &str, headers: &[(header::HeaderName, &str)]) -> Answer {
        self.send(stream_request("GET", file, ticket, headers)).await
    }
}

fn stream_request(
    method: &str,
    file: &str,
    ticket: &str,
    headers: &[(header::HeaderName, &str)],
) -> Request<Body> {
    let uri = format!("/api/files/stream?path={file}&ticket={ticket}");
    let mut request = Request::builder().method(method).uri(uri);
    for (name, value) in headers {
        request = request.header(name, *value);
    }
    request.body(Body::empty()).unwrap()
}

/// Recognisable bytes.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index % 251) as u8).collect()
}

db_test! {
    async fn a_ticket_fits_however_long_the_path(db: Db) {
        let site = Site::new(&db).await;
        // Four names of 84 letters: short for a person, nine bytes a letter when percent-encoded.
        let long = ["\u{6620}"; 4].map(|letter| letter.repeat(84)).join("/");
        site.put(&long, "bytes");
        let ticket = site.done("/api/files/media-ticket", json!({ "path": long })).await;
        let token = ticket["token"].as_str().unwrap();
        assert!(token.len() <= 4096, "{}", token.len());
        let shown = percent_encoding::utf8_percent_encode(&long, percent_encoding::NON_ALPHANUMERIC);
        let streamed = site.get(&format!("/api/files/stream?path={shown}&ticket={token}")).await;
        assert_eq!((streamed.status, &streamed.bytes[..]), (200, &b"bytes"[..]));
        let other = site.get(&format!("/api/files/stream?path={shown}x&ticket={token}")).await;
        assert_eq!(other.status, 403);
    }

    async fn a_ticket_is_good_as_long_as_its_user_may_see_files(db: Db) {
        let site = Site::new(&db).await;
        site.put("a.mkv", "content");
        let ticket = site.ticket("a.mkv").await;
        assert_eq!(site.stream("a.mkv", &ticket, &[]).await.status, 200);
        *site.users.0.lock().unwrap() = Ok(false);
        let refused = (401, "Invalid or expired media ticket".to_owned());
        assert_eq!(site.stream("a.mkv", &ticket, &[]).await.refusal(), refused);
        *site.users.0.lock().unwrap() = Err("the database is away".into());
        assert_eq!(site.stream("a.mkv", &ticket, &[]).await.refusal().0, 503);
    }

    async fn a_ticket_is_for_the_file_it_was_issued_for(db: Db) {
        let site = Site::new(&db).await;
        site.put("a.mkv", "content");
        let ticket = site.ticket("a.mkv").await;
        site.put("b.mkv", "other content");
        std::fs::rename(site.path_to("b.mkv"), site.path_to("a.mkv")).unwrap();
        let (status, message) = site.stream("a.mkv", &ticket, &[]).await.refusal();
        assert_eq!((status, message.contains("ask for a new ticket")), (403, true), "{message}");
    }

    async fn a_ticket_opens_one_file_for_four_hours(db: Db) {
        let site = Site::new(&db).await;
        site.put("films/a.mkv", "content");
        site.put("b.mkv", "other");
        let ticket = site.ticket("//films/a.mkv").await;
        assert_eq!(&site.stream("/films/a.mkv", &ticket, &[]).await.bytes[..], b"content");
        assert_eq!(site.stream("films//a.mkv", &ticket, &[]).await.status, 200);
        let bad = (401, "Invalid or expired media ticket".to_owned());
        assert_eq!(site.stream("/b.mkv", &ticket, &[]).await.refusal(), (403, "Ticket does not authorise this path".into()));
        assert_eq!(site.stream("/films/a.mkv", "", &[]).await.refusal(), bad);
        assert_eq!(site.stream("/films/a.mkv", &format!("{ticket}x"), &[]).await.refusal(), bad);
        site.clock.advance(Duration::from_hours(4));
        assert_eq!(site.stream("/films/a.mkv", &ticket, &[]).await.refusal(), bad);
        for (file, status) in [("/none", 404), ("/films", 400), ("../outside/secret.txt", 403)] {
            assert_eq!(site.post("/api/files/media-ticket", path(file)).await.status, status, "{file}");
        }
        assert_eq!(site.post("/api/files/media-ticket", json!({ "path": {} })).await.status, 400);
        let ticket = site.ticket("b.mkv").await;
        std::fs::remove_file(site.path_to("b.mkv")).unwrap();
        assert_eq!(site.stream("b.mkv", &ticket, &[]).await.status, 404);
    }

    async fn a_stream_carries_what_a_player_needs_and_a_browser_must_not_run(db: Db) {
        let site = Site::new(&db).await;
        site.put("\u{fc} x.mp4", "0123456789");
        site.put("logo.svg", "<svg/>");
        let ticket = site.ticket("\u{fc} x.mp4").await;
        let answer = site.stream("%C3%BC%20x.mp4", &ticket, &[]).await;
        let of = |name: &str| answer.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(of("content-type").as_deref(), Some("video/mp4"));
        assert_eq!(of("content-length").as_deref(), Some("10"));
        assert_eq!(of("accept-ranges").as_deref(), Some("bytes"));
        assert_eq!(of("cache-control").as_deref(), Some("private, max-age=0, no-store"));
        assert_eq!(of("x-content-type-options").as_deref(), Some("nosniff"));
        assert_eq!(of("x-frame-options"), None);
        assert_eq!(of("content-security-policy").as_deref(), Some("frame-ancestors 'self' https://box.example"));
        assert_eq!(of("content-disposition").as_deref(), Some("inline; filename=\"_ x.mp4\"; filename*=UTF-8''%C3%BC%20x.mp4"));
        let head = site.send(stream_request("HEAD", "%C3%BC%20x.mp4", &ticket, &[])).await;
        assert_eq!((head.status, head.bytes.len()), (200, 0));
        assert_eq!(head.headers["content-length"], "10");
        let ticket = site.ticket("logo.svg").await;
        let svg = site.stream("logo.svg", &ticket, &[]).await;
        let policy = svg.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'self'"), "{policy}");
        let refused = site.stream("logo.svg", "x", &[]).await;
        assert_eq!(refused.headers["x-frame-options"], "SAMEORIGIN", "an error is like any other");
    }

    async fn ranges_are_cut_out_of_the_file(db: Db) {
        let site = Site::new(&db).await;
        let content = pattern(1_000_000);
        site.put("a.mkv", &content);
        site.put("empty.mkv", "");
        let ticket = site.ticket("a.mkv").await;
        let whole = site.stream("a.mkv", &ticket, &[]).await;
        assert!(whole.status == 200 && whole.bytes == content);
        for (range, start, end) in [("bytes=0-0", 0, 1), ("bytes=300000-700000", 300_000, 700_001), ("bytes=-10", 999_990, 1_000_000)] {
            let part = site.stream("a.mkv", &ticket, &[(header::RANGE, range)]).await;
            assert_eq!(part.status, 206, "{range}");
            assert_eq!(part.headers["content-range"], format!("bytes {start}-{}/1000000", end - 1));
            assert_eq!(part.headers["content-length"], (end - start).to_string());
            assert!(part.bytes == content[start..end], "{range}");
        }
        let beyond = site.stream("a.mkv", &ticket, &[(header::RANGE, "bytes=1000000-")]).await;
        assert_eq!((beyond.status, beyond.bytes.len()), (416, 0));
        assert_eq!(beyond.headers["content-range"], "bytes */1000000");
        let empty = site.ticket("empty.mkv").await;
        assert_eq!(site.stream("empty.mkv", &empty, &[(header::RANGE, "bytes=0-")]).await.status, 416);
        assert_eq!(site.stream("empty.mkv", &empty, &[]).await.status, 200);
        let etag = whole.headers["etag"].to_str().unwrap().to_owned();
        let range = (header::RANGE, "bytes=0-9");
        assert_eq!(site.stream("a.mkv", &ticket, &[range.clone(), (header::IF_RANGE, &etag)]).await.status, 206);
        site.put("a.mkv", "another");
        let changed = site.stream("a.mkv", &ticket, &[range, (header::IF_RANGE, &etag)]).await;
        assert_eq!((changed.status, &changed.bytes[..]), (200, &b"another"[..]));
    }

    async fn several_ranges_come_as_parts(db: Db) {
        let site = Site::new(&db).await;
        let content = pattern(600_000);
        site.put("a.mkv", &content);
        let ticket = site.ticket("a.mkv").await;
        let answer = site.stream("a.mkv", &ticket, &[(header::RANGE, "bytes=500000-500009,0-4")]).await;
        assert_eq!(answer.status, 206);
        assert_eq!(answer.headers["content-length"], answer.bytes.len().to_string());
        let kind = answer.headers["content-type"].to_str().unwrap();
        let boundary = kind.strip_prefix("multipart/byteranges; boundary=").expect("multipart");
        let part = |range: &str, bytes: &[u8]| {
            let head = format!("--{boundary}\r\nContent-Type: video/x-matroska\r\nContent-Range: bytes {range}/600000\r\n\r\n");
            [head.as_bytes(), bytes, b"\r\n"].concat()
        };
        let expected = [
            part("0-4", &content[..5]),
            part("500000-500009", &content[500_000..500_010]),
            format!("--{boundary}--\r\n").into_bytes(),
        ];
        assert!(answer.bytes == expected.concat(), "{}", String::from_utf8_lossy(&answer.bytes));
        let absurd = format!("bytes={}", vec!["0-0"; 100].join(","));
        assert_eq!(site.stream("a.mkv", &ticket, &[(header::RANGE, &absurd)]).await.status, 200, "ignored");
    }

    async fn a_file_that_shrinks_while_it_is_sent_ends_the_answer(db: Db) {
        let site = Site::new(&db).await;
        site.put("a.mkv", pattern(1_000_000));
        let ticket = site.ticket("a.mkv").await;
        let response = tower::ServiceExt::oneshot(site.router.clone(), stream_request("GET", "a.mkv", &ticket, &[])).await.unwrap();
        let mut body = response.into_body();
        let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert!(first.len() < 1_000_000);
        std::fs::OpenOptions::new().write(true).open(site.path_to("a.mkv")).unwrap().set_len(300_000).unwrap();
        let mut ended = None;
        while let Some(frame) = body.frame().await {
            ended = Some(frame.is_err());
        }
        assert_eq!(ended, Some(true), "an error, not an end");
    }

    async fn downloads_are_files_and_attachments(db: Db) {
        let site = Site::new(&db).await;
        site.put("a.mkv", "content");
        let answer = site.get("/api/files/download?path=/a.mkv").await;
        assert_eq!((answer.status, &answer.bytes[..]), (200, &b"content"[..]));
        assert_eq!(answer.headers["content-type"], "application/octet-stream");
        assert!(answer.headers["content-disposition"].to_str().unwrap().starts_with("attachment; filename=\"a.mkv\""));
        assert_eq!(site.get("/api/files/download?path=/").await.refusal(), (400, "Cannot download a directory".into()));
        assert_eq!(site.get("/api/files/download?path=/none").await.status, 404);
        rustix::fs::mknodat(rustix::fs::CWD, site.path_to("fifo"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
        let fifo = tokio::time::timeout(Duration::from_mins(1), site.get("/api/files/download?path=/fifo")).await;
        assert_eq!(fifo.expect("never opened").status, 400);
    }
}
