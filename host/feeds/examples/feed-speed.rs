//! Speed of reading feeds, also of documents made to be slow; time should grow only with their length:
//! `cargo run --release -p qm-feeds --example feed-speed`.

use std::fmt::Write as _;
use std::time::Instant;

const PARTS: &[&str] = &[
    "<item><title>Harbor Nine S01E02 1080p WEB-DL H.264-TIDE</title><link>http://h.example/dl?id=1&amp;key=k</link><guid>http://h.example/1</guid><pubDate>Wed, 01 May 2024 08:00:00 +0000</pubDate><description>&lt;b&gt;1.5 GiB&lt;/b&gt;</description></item>",
    "<a>",
    "<a/>",
    "</a>",
    "<",
    "<a ",
    "<a b='",
    "&",
    "&a;",
    "&amp;",
    "<!--",
    "<![CDATA[",
    "<![CDATA[]]>",
    "<?",
    "<?a?>",
    "<!DOCTYPE a [",
    "<item>",
    "<item><a>",
    "<b><item>",
    "<link>",
    "<category>a</category>",
    "<description>magnet:?xt",
    "<description>magnet:?xt=urn:btih:",
    "<a b=c d=e f=g>",
    "<title>",
    "<br>",
    "<enclosure url='http://h/'/>",
    "<a b=\"<\" ",
    "<![CDATA[<]]>",
    "\u{e4}",
    "a<",
    "<a>&#",
];

fn main() {
    for part in PARTS {
        let mut line = String::new();
        for size in [1_250_000, 2_500_000, 5_000_000] {
            let text = format!("<rss><channel><item>{}", part.repeat(size / part.len()));
            let begun = Instant::now();
            let items = qm_feeds::read(text.as_bytes(), None).map_or(0, |document| document.items.len());
            let seconds = begun.elapsed().as_secs_f64();
            let _ = write!(line, "{:7.0} MB/s ({items})", size as f64 / 1e6 / seconds);
        }
        println!("{line}  {}", part.chars().take(40).collect::<String>());
    }
}
