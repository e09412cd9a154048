//! Hostile documents: some are made to cost much time or memory, others are files of the corpus changed at random.

#![allow(clippy::unwrap_used, reason = "the whole crate is tests")]

mod sound;

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use qm_feeds::{FeedError, read};
use sound::assert_sound;

fn corpus() -> Vec<(String, Vec<u8>)> {
    let folder =
        PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where")).join("tests/corpus");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    paths
        .iter()
        .map(|path| (name(path), std::fs::read(path).unwrap()))
        .collect()
}

/// Half a megabyte of each: what costs more than its length would take minutes here.
#[test]
fn nothing_costs_more_than_its_length() {
    const FULL: usize = 512 << 10;
    let inside = |part: &str| {
        format!(
            "<rss><channel><item><title>A</title>{}",
            part.repeat((FULL - 64) / part.len())
        )
    };
    for part in [
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
        "<link>http://h/x</link>",
        "<category>a</category>",
        "magnet:?xt",
        "<description>magnet:?xt",
        "<description>magnet:?xt=urn:btih:",
        "<a b=c d=e f=g>",
        "<title>",
        "\u{0}",
        "ä",
        "<br>",
        "<enclosure url='http://h/'/>",
        "<link>http://h/abcdef0123456789abcdef0123456789abcdef01</link></item><item>",
        "]]>",
        "-->",
        "<a b=\"<\" ",
        "<![CDATA[<]]>",
    ] {
        let text = inside(part);
        assert_sound(&read(text.as_bytes(), None), text.len());
        let bare = part.repeat(FULL / part.len());
        assert_sound(&read(bare.as_bytes(), None), bare.len());
    }
    let attributes = format!("<rss><channel><item {}>", "a='b' ".repeat(FULL / 7));
    assert_sound(&read(attributes.as_bytes(), None), FULL);
    let deep = format!(
        "<rss>{}{}<channel><item><guid>1</guid></item>",
        "<a>".repeat(300_000),
        "</a>".repeat(300_000)
    );
    let document = read(deep.as_bytes(), None).unwrap();
    assert_eq!(document.items.len(), 1);
    assert!(
        document
            .warnings
            .iter()
            .any(|text| text.contains("deeper than 64")),
        "{:?}",
        document.warnings
    );
}

/// Numbers that come again, for a run that is the same everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below.max(1)
    }
}

/// Bytes that mean something to a reader.
const ODD: &[u8] = b"<>&;/'\"= ![]?-\x00\xff\xc3a:m";

/// The bounded run of the fuzz target over its seeds.
#[test]
fn nothing_made_of_the_corpus_breaks_the_reader() {
    let corpus = corpus();
    assert!(corpus.len() >= 30, "{} documents", corpus.len());
    let types = [
        None,
        Some("text/xml; charset=windows-1251"),
        Some("a/b; charset=utf-16"),
        Some("x; charset="),
    ];
    let mut dice = Dice(7);
    for (name, bytes) in &corpus {
        for content_type in types {
            assert_sound(&read(bytes, content_type), bytes.len());
        }
        for round in 0..120 {
            let mut changed = bytes.clone();
            match round % 4 {
                0 => changed.truncate(dice.roll(bytes.len())),
                1 => {
                    for _ in 0..=dice.roll(8) {
                        let at = dice.roll(changed.len());
                        changed[at] = ODD[dice.roll(ODD.len())];
                    }
                }
                2 => {
                    let (_, other) = &corpus[dice.roll(corpus.len())];
                    changed.truncate(dice.roll(bytes.len()));
                    changed.extend_from_slice(&other[dice.roll(other.len())..]);
                }
                _ => {
                    let (from, to) = (dice.roll(bytes.len()), dice.roll(bytes.len()));
                    let piece = bytes[from.min(to)..from.max(to)].to_vec();
                    let at = dice.roll(changed.len());
                    changed.splice(at..at, piece);
                }
            }
            let answer = read(&changed, types[round % 4]);
            assert!(!changed.is_empty() || answer == Err(FeedError::Nothing), "{name}");
            assert_sound(&answer, changed.len());
        }
    }
}

proptest! {
    #[test]
    fn no_text_breaks_the_reader(text in "[ -~<>/&;\"'=\u{e4}\n]{0,400}") {
        for whole in [text.clone(), format!("<rss><channel><item>{text}</item>"), format!("<feed><entry><title>{text}")] {
            assert_sound(&read(whole.as_bytes(), None), whole.len());
        }
    }

    #[test]
    fn no_bytes_break_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..600), charset in "[a-z0-9-]{0,12}") {
        let content_type = format!("text/xml; charset={charset}");
        assert_sound(&read(&bytes, Some(&content_type)), bytes.len());
        let inside = [b"<rss><item><title>", bytes.as_slice(), b"</title><link>", &bytes].concat();
        assert_sound(&read(&inside, Some(&content_type)), inside.len());
    }

    #[test]
    fn no_order_of_tags_breaks_the_reader(
        tags in proptest::collection::vec(proptest::sample::select(vec![
            "<rss>", "</rss>", "<channel>", "</channel>", "<item>", "</item>", "<entry>", "</entry>", "<title>", "</title>", "<link>",
            "</link>", "<a", ">", "<![CDATA[", "]]>", "<!--", "-->", "<torrent>", "</torrent>", "<description>", "</description>",
            "http://h/x", "magnet:?xt=urn:btih:abcdef0123456789abcdef0123456789abcdef01", "&amp;", "<", "<br>", "<guid>", "</guid>",
            "<error code='1'/>", "<enclosure url='http://h/e'/>", "x",
        ]), 0..40)
    ) {
        let text = tags.concat();
        assert_sound(&read(text.as_bytes(), None), text.len());
        let text = format!("<rss><channel>{text}");
        assert_sound(&read(text.as_bytes(), None), text.len());
    }
}
