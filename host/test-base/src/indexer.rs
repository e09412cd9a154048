//! An indexer on loopback that speaks Torznab and Newznab, and misbehaves in every way that is asked for.
//!
//! The first part of the path of its base URL names its behaviour: `http://127.0.0.1:PORT/good`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use qm_lanes::IgnorePoison;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// The key that it takes.
pub const KEY: &str = "orchard-key";

/// A .torrent file as far as anybody looks here.
pub const TORRENT: &[u8] =
    b"d8:announce14:http://t.test/4:infod6:lengthi1e4:name1:x12:piece lengthi16384e6:pieces0:ee";

const CAPS: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<caps>
  <server title="Orchard Index"/>
  <limits default="50" max="100"/>
  <searching>
    <search available="yes" supportedParams="q"/>
    <tv-search available="yes" supportedParams="q,season,ep"/>
    <movie-search available="no" supportedParams="q"/>
  </searching>
  <categories><category id="5000" name="TV"><subcat id="5040" name="HD"/></category></categories>
</caps>"#;

/// The server.
pub struct FakeIndexer {
    pub port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl FakeIndexer {
    /// # Panics
    /// When nothing on loopback can be bound.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let heard = asked.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, port, heard.clone()));
            }
        });
        Self { port, asked }
    }

    /// The base URL of one way to answer.
    pub fn base(&self, way: &str) -> String {
        format!("http://127.0.0.1:{}/{way}", self.port)
    }

    /// Path and query of what was asked since the last look.
    pub fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().ignore_poison())
    }
}

async fn serve(mut stream: TcpStream, port: u16, heard: Arc<Mutex<Vec<String>>>) {
    let mut bytes = Vec::new();
    while !bytes.windows(4).any(|part| part == b"\r\n\r\n") {
        match stream.read_buf(&mut bytes).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
    }
    let head = String::from_utf8_lossy(&bytes).into_owned();
    let target = head.split_whitespace().nth(1).unwrap_or("/").to_owned();
    heard.lock().ignore_poison().push(target.clone());
    let way = target[1..]
        .split(['/', '?'])
        .next()
        .unwrap_or_default()
        .to_owned();
    match way.as_str() {
        "hang" => tokio::time::sleep(Duration::from_mins(5)).await,
        "trickle" => trickle(stream).await,
        "huge" => huge(stream).await,
        _ => {
            if way == "slow" {
                tokio::time::sleep(Duration::from_millis(400)).await;
            }
            // Whoever has gone needs no answer.
            let _ = stream.write_all(&answer(&way, &target, port)).await;
            let _ = stream.shutdown().await;
        }
    }
}

/// A byte now and then, so that there is never silence.
async fn trickle(mut stream: TcpStream) {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/xml\r\n\r\n<rss><channel>";
    let rest = head.iter().copied().chain(std::iter::repeat_n(b' ', 10_000));
    for byte in rest {
        if stream.write_all(&[byte]).await.is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// 64 MiB of a feed.
async fn huge(mut stream: TcpStream) {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/xml\r\n\r\n<rss><channel><title>";
    let mut going = stream.write_all(head).await.is_ok();
    let piece = vec![b'x'; 1 << 20];
    let mut left = 64;
    while going && left > 0 {
        going = stream.write_all(&piece).await.is_ok();
        left -= 1;
    }
}

pub(crate) fn http(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut all = format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    )
    .into_bytes();
    all.extend_from_slice(body);
    all
}

const XML: &str = "content-type: application/rss+xml; charset=utf-8\r\n";
const HTML: &str = "content-type: text/html\r\n";

pub(crate) fn answer(way: &str, target: &str, port: u16) -> Vec<u8> {
    let param = |name: &str| {
        let query = target.split_once('?').map_or("", |(_, query)| query);
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.to_owned())
    };
    let caps = param("t").as_deref() == Some("caps");
    let file = target.contains("/download/");
    match way {
        "good" | "slow" | "newznab" | "second" => {
            if file {
                return download(target, port);
            }
            if param("apikey").as_deref() != Some(KEY) {
                let body = r#"<error code="100" description="Incorrect user credentials"/>"#;
                return http("200 OK", XML, body.as_bytes());
            }
            if caps {
                return http("200 OK", XML, CAPS.as_bytes());
            }
            http("200 OK", XML, feed(way, port).as_bytes())
        }
        "open" if caps => http("200 OK", XML, b"<caps><server title='Open'/></caps>"),
        "open" => http("200 OK", XML, feed(way, port).as_bytes()),
        "garbage" => http("200 OK", "", &[0x9d, 0xff, 0x00, 0x80].repeat(500)),
        "loop" => http("302 Found", &format!("location: {target}\r\n"), b""),
        "hop" => {
            let there = target.replacen("/hop", "/open", 1);
            http("301 Moved Permanently", &format!("location: {there}\r\n"), b"")
        }
        // As Jackett does to whoever has no key.
        "sign-in" => http("302 Found", "location: /UI/Login?ReturnUrl=%2F\r\n", b""),
        "away" => http("302 Found", "location: http://127.0.0.1:1/elsewhere?apikey=x\r\n", b""),
        "xxe" => http(
            "200 OK",
            XML,
            b"<!DOCTYPE r [<!ENTITY f SYSTEM 'file:///etc/passwd'><!ENTITY h SYSTEM 'http://127.0.0.1:1/'>]>\
              <rss><channel><item><title>Leak &f;&h;</title><link>http://i.test/1</link></item></channel></rss>",
        ),
        "bomb" => http("200 OK", XML, bomb().as_bytes()),
        "charset" => {
            let mut body = b"<?xml version='1.0' encoding='windows-1251'?><rss><channel><item><title>".to_vec();
            // A word of six letters in that encoding.
            body.extend([0xc3, 0xe0, 0xe2, 0xe0, 0xed, 0xfc]);
            body.extend(b" S01E01</title><link>http://i.test/1</link></item></channel></rss>");
            http("200 OK", "content-type: text/xml; charset=utf-8\r\n", &body)
        }
        "cut" => http(
            "200 OK",
            XML,
            b"<rss><channel><item><title>Whole S01E01</title><link>http://i.test/1</link></item><item><tit",
        ),
        "throttled" => http("429 Too Many Requests", "retry-after: 120\r\n", b"slow down"),
        "login" => http(
            "200 OK",
            HTML,
            b"<html><title>Orchard</title><form><input type='password' name='p'></form></html>",
        ),
        "captcha" => http(
            "403 Forbidden",
            HTML,
            b"<!DOCTYPE html><html><title>Just a moment...</title></html>",
        ),
        "html" => http(
            "200 OK",
            HTML,
            b"<html><head><title>502 Bad Gateway</title></head></html>",
        ),
        "refusing" => http("401 Unauthorized", "", b"no"),
        "error" => http(
            "200 OK",
            XML,
            br#"<?xml version="1.0"?><error code="201" description="Incorrect parameter"/>"#,
        ),
        "empty" => http("200 OK", XML, b""),
        "nothing" if caps => http("200 OK", XML, b"<caps/>"),
        "nothing" => http("200 OK", XML, b"<rss version='2.0'><channel><title>x</title></channel></rss>"),
        _ => http("404 Not Found", HTML, b"<html><title>Not found</title></html>"),
    }
}

fn download(target: &str, port: u16) -> Vec<u8> {
    let last = target.split('/').next_back().unwrap_or_default();
    match last.split('?').next().unwrap_or_default() {
        "file" => http("200 OK", "content-type: application/x-bittorrent\r\n", TORRENT),
        "magnet" => http(
            "302 Found",
            "location: magnet:?xt=urn:btih:00112233445566778899aabbccddeeff00112233&dn=x\r\n",
            b"",
        ),
        "hop" => http(
            "302 Found",
            &format!("location: http://127.0.0.1:{port}/good/download/file\r\n"),
            b"",
        ),
        "outside" => http(
            "302 Found",
            "location: https://tracker.test/file.torrent\r\n",
            b"",
        ),
        "page" => http(
            "200 OK",
            HTML,
            b"<html><form><input type=\"password\"></form></html>",
        ),
        _ => http("404 Not Found", "", b""),
    }
}

/// Ten million laughs, if anybody laughed.
fn bomb() -> String {
    let mut text = "<?xml version='1.0'?><!DOCTYPE rss [<!ENTITY a0 'ha'>".to_owned();
    for n in 1..30 {
        let inner = format!("&a{};", n - 1).repeat(10);
        text.extend(["<!ENTITY a", &n.to_string(), " '", &inner, "'>"]);
    }
    text.push_str(
        "]><rss><channel><item><title>&a29;</title><link>http://i.test/1</link></item></channel></rss>",
    );
    text
}

/// Three releases: the first with a hash of its own, the second the same at every indexer, the third without seeders.
fn feed(way: &str, port: u16) -> String {
    let prefix = if way == "newznab" { "newznab" } else { "torznab" };
    let mark = way
        .bytes()
        .fold(0_u32, |sum, byte| (sum * 31 + u32::from(byte)) % 1000);
    let link = format!("http://127.0.0.1:{port}/{way}/download");
    let own = format!("{mark:040x}");
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<rss version="1.0" xmlns:{prefix}="http://{prefix}.test/">
<channel><title>Orchard</title>
<item><title>Harbor Nine S01E02 1080p WEB-DL x264-{way}</title><guid>https://orchard.test/{way}/1</guid>
 <pubDate>Wed, 01 May 2024 08:00:00 +0000</pubDate><link>{link}/file?apikey=k</link>
 <enclosure url="{link}/file?apikey=k" length="1500" type="application/x-bittorrent"/>
 <{prefix}:attr name="category" value="5000"/><{prefix}:attr name="category" value="5040"/>
 <{prefix}:attr name="seeders" value="7"/><{prefix}:attr name="peers" value="9"/><{prefix}:attr name="grabs" value="31"/>
 <{prefix}:attr name="size" value="1610612736"/><{prefix}:attr name="infohash" value="{own}"/></item>
<item><title>Harbor Nine S01E02 720p HDTV x264-SAME</title><link>{link}/magnet</link>
 <{prefix}:attr name="seeders" value="40"/><{prefix}:attr name="infohash" value="00112233445566778899AABBCCDDEEFF00112233"/></item>
<item><title>Unknown {way} release</title><link>{link}/file</link></item>
</channel></rss>"#
    )
}
