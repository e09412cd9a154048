//! Documents as sites send them, each with what is read of it.

#![allow(clippy::unwrap_used, reason = "the whole crate is tests")]

use std::fmt::Write as _;
use std::path::PathBuf;

use qm_feeds::{Document, FeedError, Item, MAX_BYTES, MAX_ITEMS, MAX_MAGNET, MAX_TITLE, MAX_URL, read};

const HASH: &str = "abcdef0123456789abcdef0123456789abcdef01";

fn file(name: &str) -> Vec<u8> {
    let folder =
        PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where")).join("tests/corpus");
    std::fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn document(name: &str) -> Document {
    read(&file(name), None).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn feed(items: &str) -> Document {
    let text = format!("<rss version='2.0'><channel><title>F</title>{items}</channel></rss>");
    read(text.as_bytes(), None).unwrap()
}

fn read_item(item: &str) -> Item {
    let document = feed(&format!("<item><title>T</title>{item}</item>"));
    assert_eq!(document.items.len(), 1, "{item}");
    document.items.into_iter().next().unwrap()
}

#[allow(clippy::unnecessary_wraps, reason = "what is compared is one")]
fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// 1 May 2024, 8 o'clock UTC.
const MAY: i64 = 1_714_550_400_000;

#[test]
fn a_tracker_of_anime() {
    let read = document("nyaa.xml");
    assert_eq!(read.title, some("Kitsune - Home - Torrent File RSS"));
    assert_eq!(
        read.items,
        [Item {
            guid: "https://kitsune.example/view/1500001".to_owned(),
            is_told_by_link: false,
            title: "[Kitsune] Paper Lantern - 05 (1080p) [1A2B3C4D].mkv".to_owned(),
            link: some("https://kitsune.example/download/1500001.torrent"),
            magnet: None,
            info_hash: some(HASH),
            size: Some(1_610_612_736),
            published: Some(MAY),
            categories: vec!["Anime - English-translated".to_owned()],
            page: some("https://kitsune.example/view/1500001"),
            attributes: Vec::new(),
        }]
    );
    assert_eq!(read.warnings, Vec::<String>::new());
}

#[test]
fn aggregators() {
    let jackett = document("jackett.xml");
    let link = "http://jackett.lan:9117/dl/orchard/?jackett_apikey=k&path=Q2ZESjh&file=Harbor.Nine.S01E02";
    let magnet = format!(
        "magnet:?xt=urn:btih:{}&dn=Harbor.Nine.S01E02&tr=udp%3A%2F%2Ftracker.example%3A80",
        HASH.to_uppercase()
    );
    assert_eq!(
        jackett.items,
        [Item {
            guid: "https://orchard.example/t/2".to_owned(),
            is_told_by_link: false,
            title: "Harbor.Nine.S01E02.1080p.WEB-DL.H.264-TIDE".to_owned(),
            link: some(link),
            magnet: Some(magnet.clone()),
            info_hash: some(HASH),
            size: Some(1_610_612_736),
            published: Some(MAY),
            categories: ["5000", "100208", "5040"].map(str::to_owned).to_vec(),
            page: jackett.items[0].page.clone(),
            attributes: jackett.items[0].attributes.clone(),
        }]
    );
    assert_eq!(jackett.items[0].download(), Some(magnet.as_str()));
    let prowlarr = document("prowlarr.xml");
    let item = &prowlarr.items[0];
    assert_eq!(
        (item.title.as_str(), item.size),
        ("Orchard Lane S02E07 1080p & more", Some(2_147_483_648))
    );
    assert_eq!(
        item.download(),
        Some("http://prowlarr:9696/4/download?apikey=k&link=bTU5&file=Orchard")
    );
    assert_eq!((item.info_hash.as_deref(), prowlarr.warnings.len()), (None, 0));
}

#[test]
fn feeds_of_magnet_links() {
    let showrss = document("showrss.xml");
    let item = &showrss.items[0];
    assert_eq!(item.guid, "0123456789abcdef0123456789abcdef01234567");
    assert_eq!((item.info_hash.as_deref(), item.size), (Some(HASH), None));
    assert_eq!((&item.link, item.magnet.is_some()), (&item.magnet, true));
    assert_eq!(item.title, "Harbor Nine S01E03 1080p WEB h264 TIDE");
    let ezrss = document("ezrss.xml");
    let [first, second] = ezrss.items.as_slice() else {
        panic!("{ezrss:?}")
    };
    assert_eq!(
        (first.info_hash.as_deref(), first.size),
        (Some(HASH), Some(573_741_824))
    );
    assert!(first.download().unwrap().ends_with("&dn=Nightly"));
    assert_eq!(first.link, some("http://ez.example/1.torrent"));
    assert_eq!(
        (second.title.as_str(), second.guid.as_str()),
        ("A Named One", "http://ez.example/2")
    );
}

#[test]
fn a_private_tracker_whose_key_looks_like_an_info_hash() {
    let read = document("private.xml");
    let titles: Vec<&str> = read.items.iter().map(|item| item.title.as_str()).collect();
    assert_eq!(
        titles,
        [
            "Café Noir 2023 & Friends 1080p BluRay-OAK",
            "Second 720p",
            "Third"
        ]
    );
    assert!(read.items.iter().all(|item| item.info_hash.is_none()), "{read:?}");
    assert_eq!(read.items[1].size, Some(734_003_200));
    assert_eq!(read.warnings, Vec::<String>::new());
}

#[test]
fn digits_of_a_link_are_no_info_hash() {
    for link in [
        format!("http://h.example/{HASH}/x.torrent"),
        format!("http://h.example/t/7.torrent/{HASH}/x.torrent"),
        format!("http://h.example/get/7?t={HASH}"),
        format!("http://h.example/get?hash={HASH}"),
    ] {
        for item in [
            format!("<link>{link}</link>"),
            format!("<guid>{link}</guid>"),
            format!("<enclosure url='{link}' type='application/x-bittorrent'/>"),
        ] {
            let read = read_item(&item);
            assert_eq!((read.info_hash, read.magnet), (None, None), "{item}");
        }
    }
    let told = read_item(&format!(
        "<link>http://h/{}</link><x:attr name='infohash' value='{HASH}'/>",
        "0".repeat(40)
    ));
    assert_eq!(told.info_hash.as_deref(), Some(HASH));
}

#[test]
fn an_info_hash_without_a_link_is_a_magnet_link() {
    let magnet = format!("magnet:?xt=urn:btih:{HASH}&dn=T");
    for item in [
        format!("<nyaa:infoHash>{}</nyaa:infoHash>", HASH.to_uppercase()),
        format!("<guid>7</guid><x:attr name='infohash' value='{HASH}'/>"),
        format!("<guid>http://h/details/7</guid><infoHash>{HASH}</infoHash>"),
    ] {
        let read = read_item(&item);
        assert_eq!(read.download(), Some(magnet.as_str()), "{item}");
        assert_eq!(read.info_hash.as_deref(), Some(HASH), "{item}");
    }
    let linked = read_item(&format!(
        "<link>http://h/7.torrent</link><infoHash>{HASH}</infoHash>"
    ));
    assert_eq!((linked.magnet, linked.link), (None, some("http://h/7.torrent")));
}

#[test]
fn relative_links_are_resolved() {
    let at = |text: &str| {
        let read = qm_feeds::read_at(text.as_bytes(), None, Some("http://h.example/feeds/all.xml?k=1"));
        read.unwrap().items.remove(0)
    };
    for (item, link) in [
        ("<link>/get/1.torrent</link>", "http://h.example/get/1.torrent"),
        ("<link>1.torrent</link>", "http://h.example/feeds/1.torrent"),
        ("<link>//o.example/1</link>", "http://o.example/1"),
        (
            "<enclosure url='?id=1&amp;b=2'/>",
            "http://h.example/feeds/all.xml?id=1&b=2",
        ),
        (
            "<link>http://Whole.example/A b</link>",
            "http://Whole.example/A b",
        ),
    ] {
        let read = at(&format!(
            "<rss><channel><item><title>T</title>{item}</item></channel></rss>"
        ));
        assert_eq!(read.link.as_deref(), Some(link), "{item}");
    }
    let atom = "<feed xmlns='http://www.w3.org/2005/Atom' xml:base='http://b.example/x/'><entry><title>T</title>\
        <link rel='enclosure' href='1.torrent'/></entry></feed>";
    assert_eq!(at(atom).link.as_deref(), Some("http://b.example/x/1.torrent"));
    let inner = atom.replace("<entry>", "<entry xml:base='y/'>");
    assert_eq!(at(&inner).link.as_deref(), Some("http://b.example/x/y/1.torrent"));
    let unnamed =
        "<rss><channel><item><title>T</title><link>mailto:a@b.example</link></item></channel></rss>";
    assert_eq!(at(unnamed).link, None);
}

#[test]
fn a_guid_that_is_a_permalink_is_a_link() {
    for (guid, link) in [
        ("<guid>http://h/1</guid>", some("http://h/1")),
        ("<guid isPermaLink='true'>http://h/1</guid>", some("http://h/1")),
        ("<guid isPermaLink='false'>http://h/1</guid>", None),
        ("<guid>a-1</guid>", None),
        (
            "<guid>http://h/1</guid><link>http://h/2</link>",
            some("http://h/2"),
        ),
    ] {
        assert_eq!(read_item(guid).link, link, "{guid}");
    }
}

#[test]
fn old_and_other_dialects() {
    let old = document("rss091.xml");
    assert_eq!(old.title, some("Old Silo"));
    let guids: Vec<&str> = old.items.iter().map(|item| item.guid.as_str()).collect();
    assert_eq!(guids, ["http://old.example/1.torrent", "No link at all"]);
    assert_eq!(old.items[1].download(), None);
    let later = document("rss092.xml");
    assert_eq!(later.items.len(), 1);
    let item = &later.items[0];
    assert_eq!(
        (item.link.as_deref(), item.size),
        (Some("http://h.example/get/1"), Some(734_003_200))
    );
    assert_eq!(item.categories, ["TV"]);
    assert!(
        later.warnings[0].contains("1 items have neither"),
        "{:?}",
        later.warnings
    );
    let rdf = document("rdf.xml");
    let item = &rdf.items[0];
    assert_eq!(
        (rdf.title.as_deref(), item.title.as_str()),
        (Some("トレント"), "紙の提灯 第05話")
    );
    assert_eq!(
        (item.link.as_deref(), item.guid.as_str()),
        (
            Some("http://rdf.example/1.torrent"),
            "http://rdf.example/1.torrent"
        )
    );
    assert_eq!((item.size, item.published), (Some(300_000_000), Some(MAY)));
    assert_eq!(item.categories, ["アニメ"]);
    for version in ["0.91", "1.0", "2.0", "9", ""] {
        let text = format!("<rss version='{version}'><channel><item><title>A</title></item></channel></rss>");
        assert_eq!(read(text.as_bytes(), None).unwrap().items.len(), 1, "{version}");
    }
}

#[test]
fn atom() {
    let read = document("atom10.xml");
    assert_eq!(read.title, some("Atom Orchard"));
    let [first, second] = read.items.as_slice() else {
        panic!("{read:?}")
    };
    assert_eq!(
        *first,
        Item {
            guid: "urn:uuid:1".to_owned(),
            is_told_by_link: false,
            title: "Atlas & Co S02E03".to_owned(),
            link: some("https://atom.example/1.torrent"),
            magnet: None,
            info_hash: None,
            size: Some(1_000_000),
            published: Some(MAY),
            categories: vec!["tv".to_owned()],
            page: None,
            attributes: Vec::new(),
        }
    );
    assert_eq!(
        second.magnet,
        some("magnet:?xt=urn:btih:00112233445566778899aabbccddeeff00112233&dn=x")
    );
    assert_eq!(second.link, some("https://atom.example/2"));
    let old = document("atom03.xml");
    assert_eq!(old.items[0].title, "A \"quoted\" title");
    assert_eq!(old.items[0].published, Some(1_071_318_569_000));
    let prefixed = document("atom-prefixed.xml");
    assert_eq!(prefixed.title, some("Prefixed"));
    assert_eq!(prefixed.items[0].link, some("http://h.example/1"));
}

#[test]
fn charsets() {
    const TITLE: &str = "Тихая гавань (Сезон 1) 1080p";
    for (name, odd) in [
        ("windows-1251.xml", None),
        ("windows-1251-says-utf8.xml", Some("looks like windows-1251")),
        ("utf-16le.xml", None),
        ("utf-16be-unmarked.xml", None),
    ] {
        let read = document(name);
        assert_eq!(read.items[0].title, TITLE, "{name}");
        assert_eq!(
            read.warnings.is_empty(),
            odd.is_none(),
            "{name}: {:?}",
            read.warnings
        );
        assert!(
            odd.is_none_or(|odd| read.warnings[0].contains(odd)),
            "{name}: {:?}",
            read.warnings
        );
    }
    let by_header = read(
        &file("windows-1251-says-utf8.xml"),
        Some("text/xml; charset=windows-1251"),
    )
    .unwrap();
    assert_eq!(
        (by_header.items[0].title.as_str(), by_header.warnings.len()),
        (TITLE, 0)
    );
}

#[test]
fn texts() {
    let read = document("entities.xml");
    assert_eq!(read.title, some("Café feed"));
    let [first, second] = read.items.as_slice() else {
        panic!("{read:?}")
    };
    assert_eq!(first.title, "Tom & Jerry’s – S01E01 … &unknown; A & B");
    assert_eq!(first.link, some("http://h.example/?a=1&b=2&c=3&copy=4"));
    assert_eq!(first.guid, "<1>");
    assert_eq!(second.title, "I <3 Lists < 5 S01E02");
    assert_eq!(second.link, some("http://h.example/?a=1&b=2"));
    let late = document("white-space-before.xml");
    assert_eq!(late.title, some("Late"));
    assert_eq!(late.items[0].title, "On e two");
    assert_eq!(late.items[0].link, some("http://h.example/ 1"));
}

#[test]
fn sloppy_documents_are_read_as_far_as_they_go() {
    let torn = document("torn.xml");
    let guids: Vec<&str> = torn.items.iter().map(|item| item.guid.as_str()).collect();
    assert_eq!(guids, ["1", "2"]);
    assert!(
        torn.warnings
            .iter()
            .any(|text| text.contains("line 4") && text.contains("what stands before was read")),
        "{:?}",
        torn.warnings
    );
    assert!(torn.torn && torn.is_last_cut);
    let whole = document("nyaa.xml");
    assert!(!whole.torn && !whole.is_last_cut);
    let unclosed = document("unclosed.xml");
    let links: Vec<Option<&str>> = unclosed.items.iter().map(|item| item.link.as_deref()).collect();
    assert_eq!(links, [Some("http://h.example/1"), None], "{unclosed:?}");
    assert_eq!(unclosed.items[1].guid, "two");
    let junk = document("junk-before.xml");
    assert_eq!(
        (junk.title.as_deref(), junk.items.len()),
        (Some("After a warning"), 1)
    );
    assert!(
        junk.warnings
            .iter()
            .any(|text| text.contains("stands before the feed")),
        "{:?}",
        junk.warnings
    );
    let empty = document("empty.xml");
    assert_eq!(
        (empty.items.len(), empty.warnings),
        (0, vec!["the feed lists no items".to_owned()])
    );
}

#[test]
fn entities_that_a_document_declares_are_not_read() {
    let xxe = document("xxe.xml");
    assert_eq!(
        (xxe.title.as_deref(), xxe.items[0].title.as_str()),
        (Some("&x;"), "a&x;b")
    );
    assert!(
        xxe.warnings.iter().any(|text| text.contains("declares entities")),
        "{:?}",
        xxe.warnings
    );
    let laughs = document("laughs.xml");
    assert_eq!(laughs.items[0].title, "&a29;");
}

#[test]
fn each_answer_that_is_no_feed_has_a_sentence_of_its_own() {
    let told = |name: &str| read(&file(name), None).unwrap_err();
    for (name, code, says) in [
        ("login.html", "login_page", "a page on which people sign in"),
        ("challenge.html", "challenge", "wants to see a person"),
        (
            "page.html",
            "web_page",
            "a web page where a feed was expected: it names a feed, /rss.xml",
        ),
        (
            "error.xml",
            "error_document",
            "the error 100: Incorrect user credentials",
        ),
        (
            "error-in-channel.xml",
            "error_document",
            "the error 910: API limit reached, key …",
        ),
        (
            "error-elements.xml",
            "error_document",
            "the error 404: No such feed",
        ),
        ("answer.json", "json", "answered JSON"),
        ("a.torrent", "torrent", "leads to a .torrent file"),
        ("words.txt", "plain_text", "\"Invalid passkey … - please log in\""),
        ("caps.xml", "other_document", "a <caps> document"),
        ("broken.xml", "unparsable", "beyond line 3, column 27"),
    ] {
        let error = told(name);
        assert_eq!(error.code(), code, "{name}: {error}");
        assert!(error.to_string().contains(says), "{name}: {error}");
        assert!(!error.to_string().contains("hidden"), "{name}: {error}");
    }
    for (bytes, code) in [
        (&b""[..], "nothing"),
        (b" \r\n\t", "nothing"),
        (b"\xef\xbb\xbf\n", "nothing"),
        (b"\x1f\x8b\x08\x00\x00", "binary"),
        (b"\x89PNG\r\n\x1a\n", "binary"),
        (b"[1,2]", "json"),
        (b"<rss><channel><title>x", "unparsable"),
        (b"<rss", "unparsable"),
        (b"<opml><body/></opml>", "other_document"),
        (b"<!DOCTYPE html><p>x", "web_page"),
        (b"<html><h1>Log in</h1><title>Log in</title></html>", "login_page"),
        (b"<html>solve this CAPTCHA</html>", "challenge"),
    ] {
        let error = read(bytes, None).unwrap_err();
        assert_eq!(
            error.code(),
            code,
            "{:?}: {error}",
            String::from_utf8_lossy(bytes)
        );
    }
    // Each sentence is another one.
    let mut sentences: Vec<String> = [
        "login.html",
        "challenge.html",
        "page.html",
        "answer.json",
        "a.torrent",
        "words.txt",
        "caps.xml",
        "broken.xml",
        "error.xml",
    ]
    .map(|name| told(name).to_string())
    .to_vec();
    sentences.sort();
    sentences.dedup();
    assert_eq!(sentences.len(), 9);
}

#[test]
fn a_page_within_a_feed_does_not_make_it_one() {
    for item in [
        "<description>&lt;html>&lt;body>login&lt;/body></description>",
        "<description><![CDATA[<!DOCTYPE html><html><input type='password'></html>]]></description>",
        "<description><html><head><title>Other</title></head><body>captcha</body></html></description>",
    ] {
        assert_eq!(read_item(item).title, "T", "{item}");
    }
}

#[test]
fn magnets_go_first_wherever_they_stand() {
    let magnet = format!("magnet:?xt=urn:btih:{}&dn=x", HASH.to_uppercase());
    let raw = magnet.replace('&', "&amp;");
    for item in [
        format!("<enclosure url='{raw}'/><link>http://i/f.torrent</link>"),
        format!("<enclosure url='http://i/f'/><link>{raw}</link>"),
        format!("<link>http://i/f</link><guid isPermaLink='false'>{raw}</guid>"),
        format!("<link>http://i/f</link><torznab:attr name='magneturl' value='{raw}'/>"),
        format!("<link>http://i/f</link><torrent:magnetURI><![CDATA[{magnet}]]></torrent:magnetURI>"),
        format!("<link>http://i/f</link><magneturl>{raw}</magneturl>"),
        format!("<link>http://i/f</link><magnetURI>{raw}</magnetURI>"),
        format!(
            "<link>http://i/f</link><description>&lt;a href=\"{}\"&gt;</description>",
            raw.replace('&', "&amp;")
        ),
        format!(
            "<link>http://i/f</link><content:encoded><![CDATA[<a href='{raw}'>x</a>]]></content:encoded>"
        ),
        format!("<link>http://i/f</link><summary>get {raw} now</summary>"),
    ] {
        let item_read = read_item(&item);
        assert_eq!(item_read.magnet.as_ref(), Some(&magnet), "{item}");
        assert_eq!(item_read.download(), Some(magnet.as_str()), "{item}");
        assert_eq!(item_read.info_hash.as_deref(), Some(HASH), "{item}");
    }
    let both = read_item(&format!(
        "<description>magnet:?xt=urn:btih:{}</description><link>{raw}</link>",
        "0".repeat(40)
    ));
    assert_eq!(both.info_hash.as_deref(), Some(HASH));
}

#[test]
fn what_an_item_is_known_by() {
    for (item, guid) in [
        ("<guid> a </guid><id>b</id><link>http://h/c</link>", "a"),
        ("<id>b</id><link>http://h/c</link>", "b"),
        ("<guid></guid><link>http://h/c</link>", "http://h/c"),
        (
            "<link>http://h/c</link><enclosure url='http://h/d'/>",
            "http://h/d",
        ),
        ("<link>/relative</link>", "T"),
        ("", "T"),
    ] {
        assert_eq!(read_item(item).guid, guid, "{item}");
    }
    assert_eq!(read_item("<link>ftp://h/f</link>").link, None);
    assert_eq!(
        read_item("<enclosure url='http://h/x.jpg' type='image/jpeg'/><link>http://h/l</link>").link,
        some("http://h/l")
    );
    assert_eq!(
        read_item("<media:title>Other</media:title><media:content url='http://h/v'/>").title,
        "T"
    );
}

#[test]
fn numbers() {
    for (item, size) in [
        (
            "<enclosure url='http://h/e' length='9'/><x:attr name='size' value='5'/>",
            Some(5),
        ),
        (
            "<enclosure url='http://h/e' length='0'/><x:attr name='size' value='5'/><size>7</size>",
            Some(5),
        ),
        ("<size>7</size>", Some(7)),
        (
            "<enclosure url='http://h/e' length='20000'/><size>7</size><torrent:contentLength>6</torrent:contentLength>",
            Some(6),
        ),
        (
            "<enclosure url='http://h/e' length='20000'/><size>4.2 GB</size>",
            Some(4_200_000_000),
        ),
        (
            "<enclosure url='http://h/e' length='20000'/><description>Size: 4.2 GB</description>",
            Some(4_200_000_000),
        ),
        (
            "<description>&lt;b&gt;Size&lt;/b&gt;: 700 MB&lt;br&gt;Seeds: 1</description>",
            Some(700_000_000),
        ),
        (
            "<content><div>Size: <b>700 MB</b><br/>Seeds: 1</div></content>",
            Some(700_000_000),
        ),
        ("<enclosure url='http://h/e' length='20000'/>", Some(20_000)),
        ("<enclosure url='http://h/e' length='-1'/>", None),
        (
            "<enclosure url='http://h/e' length='99999999999999999999'/>",
            None,
        ),
        ("<enclosure url='http://h/e' length='9223372036854775808'/>", None),
        ("<x:attr name='size' value='big'/>", None),
    ] {
        assert_eq!(read_item(item).size, size, "{item}");
    }
    assert_eq!(read_item("<pubDate>yesterday</pubDate>").published, None);
}

#[test]
fn texts_and_links_are_bounded() {
    let long = "ä".repeat(2 << 20);
    let item = read_item(&format!("<description>{long}</description>"));
    assert_eq!(item.title, "T");
    let titled = feed(&format!(
        "<item><title>{}</title></item>",
        "a".repeat(MAX_TITLE * 8)
    ));
    assert_eq!(titled.items[0].title.len(), MAX_TITLE);
    let url = format!("http://h/{}", "a".repeat(MAX_URL));
    let document = feed(&format!(
        "<item><title>T</title><link>{url}</link><guid>{url}</guid></item>"
    ));
    assert_eq!(
        (document.items[0].link.as_deref(), document.items[0].guid.as_str()),
        (None, "T")
    );
    assert!(
        document.warnings[0].contains("more than 4 KiB"),
        "{:?}",
        document.warnings
    );
    let trackers = "&amp;tr=http%3A%2F%2Ftracker.example%2Fannounce".repeat(500);
    let magnet = read_item(&format!("<link>magnet:?xt=urn:btih:{HASH}{trackers}</link>"));
    assert!(magnet.magnet.unwrap().len() > MAX_URL);
    let endless = read_item(&format!(
        "<link>magnet:?xt=urn:btih:{HASH}&amp;dn={}</link>",
        "a".repeat(MAX_MAGNET)
    ));
    assert_eq!(endless.magnet, None);
    let categories: String = (0..1000).fold(String::new(), |mut all, n| {
        let _ = write!(all, "<category>{n}</category>");
        all
    });
    assert_eq!(read_item(&categories).categories.len(), 64);
}

#[test]
fn the_rest_of_a_feed_without_end_is_left_out_and_said() {
    let text = format!(
        "<rss><channel>{}</channel></rss>",
        "<item><guid>1</guid></item>".repeat(150_000)
    );
    let document = read(text.as_bytes(), None).unwrap();
    assert_eq!((document.items.len(), document.left_out), (MAX_ITEMS, 140_000));
    assert!(
        document.warnings[0].contains("140000 items more than the 10000"),
        "{:?}",
        document.warnings
    );
    let million = format!(
        "<rss><channel>{}</channel></rss>",
        "<item><guid>1</guid></item>".repeat(1_000_000)
    );
    assert_eq!(
        read(million.as_bytes(), None),
        Err(FeedError::TooLarge { limit: MAX_BYTES })
    );
    assert_eq!(
        read(&vec![b' '; 64 << 20], None),
        Err(FeedError::TooLarge { limit: MAX_BYTES })
    );
    assert_eq!(
        read(&vec![b'<'; MAX_BYTES + 1], None).unwrap_err().to_string(),
        "the feed has more than 5 MB"
    );
}
