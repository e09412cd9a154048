//! Answers of an indexer: RSS of any version, or Atom, with the attributes of Torznab and Newznab, by the reader of feeds.

use qm_feeds::{FeedError, Item};
use qm_loose_xml::{Element, Walk};

use crate::model::{Fault, Found, Release};
use crate::verdict::{api_fault, fault_of};

const MAX_CATEGORIES: usize = 64;
/// Attributes of one release that are kept as they are, and their bytes.
const MAX_EXTRA: usize = 32;
const MAX_EXTRA_TEXT: usize = 256;
/// Attributes that have a field of their own.
const READ: &[&str] = &[
    "category",
    "size",
    "seeders",
    "peers",
    "grabs",
    "infohash",
    "magneturl",
];

/// Reads a feed, as far as it goes. `address`: that of the indexer, to which relative links are relative.
pub fn feed(text: &str, address: Option<&str>) -> Result<Found, Fault> {
    let document = qm_feeds::read_text(text, address).map_err(fault)?;
    let mut warnings = document.warnings;
    // No result is no oddity.
    warnings.retain(|warning| warning != qm_feeds::NO_ITEMS);
    Ok(Found {
        releases: document.items.into_iter().map(release).collect(),
        warnings,
    })
}

fn fault(error: FeedError) -> Fault {
    match error {
        FeedError::Told { code, description } => fault_of(code, description),
        FeedError::LoginPage { .. } => Fault::LoginPage(error.to_string()),
        FeedError::Challenge { .. } => Fault::Captcha(error.to_string()),
        FeedError::OtherDocument(name) => {
            Fault::Unparsable(format!("answered <{name}> where a feed was expected"))
        }
        FeedError::PlainText(_) | FeedError::Nothing => {
            Fault::Unparsable("answered something that is no XML where a feed was expected".to_owned())
        }
        other => Fault::Unparsable(other.to_string()),
    }
}

/// The fault of a document that begins with another element than it should.
pub(crate) fn other_root(element: &Element, walk: &mut Walk<'_>, expected: &str) -> Fault {
    if element.name == "error" {
        return api_fault(element);
    }
    walk.stop();
    let name: String = element.name.chars().take(40).collect();
    Fault::Unparsable(format!("answered <{name}> where {expected} was expected"))
}

fn release(item: Item) -> Release {
    let number = |name: &str| {
        let mut found = item.attributes.iter().filter(|(known, _)| known == name);
        found.next().and_then(|(_, value)| value.parse().ok())
    };
    let categories = item.attributes.iter().filter(|(name, _)| name == "category");
    let others = item
        .attributes
        .iter()
        .filter(|(name, value)| !READ.contains(&name.as_str()) && name.len() + value.len() <= MAX_EXTRA_TEXT);
    let is_named = !item.is_told_by_link && item.guid != item.title;
    Release {
        download_url: item.download().map(str::to_owned),
        seeders: number("seeders"),
        peers: number("peers"),
        grabs: number("grabs"),
        categories: categories
            .filter_map(|(_, value)| value.parse().ok())
            .take(MAX_CATEGORIES)
            .collect(),
        extra: others.take(MAX_EXTRA).cloned().collect(),
        info_hash: item.info_hash,
        size: item.size,
        published: item.published,
        page: item.page,
        guid: Some(item.guid).filter(|_| is_named),
        title: item.title,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read_item(item: &str) -> Release {
        let text = format!("<rss version='2.0'><channel><item>{item}<title>T</title></item></channel></rss>");
        let found = feed(&text, None).unwrap();
        assert_eq!(found.releases.len(), 1, "{item}");
        found.releases.into_iter().next().unwrap()
    }

    #[test]
    fn a_release_as_an_aggregator_lists_it() {
        let found = feed(
            r#"<?xml version="1.0" encoding="UTF-8"?>
<rss version="1.0" xmlns:atom="http://www.w3.org/2005/Atom" xmlns:torznab="http://torznab.com/schemas/2015/feed">
 <channel>
  <atom:link href="http://prowlarr:9696/" rel="self" type="application/rss+xml" />
  <title>Orchard</title>
  <item>
   <title> Harbor Nine S01E02 1080p WEB-DL &amp; more </title>
   <guid>https://orchard.example/t/1</guid>
   <type>public</type>
   <comments>https://orchard.example/t/1#c</comments>
   <pubDate>Wed, 01 May 2024 08:00:00 +0000</pubDate>
   <size>1</size>
   <link>http://prowlarr:9696/1/download?apikey=k&amp;link=abc&amp;file=x</link>
   <category>5000</category>
   <enclosure url="http://prowlarr:9696/1/download?apikey=k&amp;link=abc" length="1500" type="application/x-bittorrent" />
   <torznab:attr name="category" value="5000" />
   <torznab:attr name="category" value="5040" />
   <torznab:attr name="category" value="tv" />
   <torznab:attr name="seeders" value="7" />
   <newznab:attr name="peers" value="9" />
   <torznab:attr name="grabs" value="31" />
   <torznab:attr name="size" value="1610612736" />
   <torznab:attr name="infohash" value="ABCDEF0123456789ABCDEF0123456789ABCDEF01" />
   <torznab:attr name="downloadvolumefactor" value="0" />
  </item>
 </channel>
</rss>"#,
            None,
        )
        .unwrap();
        assert_eq!(found.warnings, Vec::<String>::new());
        assert_eq!(
            found.releases,
            [Release {
                title: "Harbor Nine S01E02 1080p WEB-DL & more".to_owned(),
                download_url: Some("http://prowlarr:9696/1/download?apikey=k&link=abc".to_owned()),
                info_hash: Some("abcdef0123456789abcdef0123456789abcdef01".to_owned()),
                size: Some(1_610_612_736),
                seeders: Some(7),
                peers: Some(9),
                grabs: Some(31),
                categories: vec![5000, 5040],
                published: Some(1_714_550_400_000),
                guid: Some("https://orchard.example/t/1".to_owned()),
                page: Some("https://orchard.example/t/1#c".to_owned()),
                extra: vec![("downloadvolumefactor".to_owned(), "0".to_owned())],
            }]
        );
    }

    #[test]
    fn magnets_go_first_wherever_they_stand() {
        const MAGNET: &str = "magnet:?xt=urn:btih:ABCDEF0123456789ABCDEF0123456789ABCDEF01&dn=x";
        let raw = MAGNET.replace('&', "&amp;");
        for item in [
            format!("<enclosure url='{raw}'/><link>http://i/f.torrent</link>"),
            format!("<enclosure url='http://i/f'/><link>{raw}</link>"),
            format!("<link>http://i/f</link><guid isPermaLink='false'>{raw}</guid>"),
            format!("<link>http://i/f</link><torznab:attr name='magneturl' value='{raw}'/>"),
            format!("<link>http://i/f</link><torrent:magnetURI><![CDATA[{MAGNET}]]></torrent:magnetURI>"),
            format!("<link>http://i/f</link><magneturl>{raw}</magneturl>"),
            format!("<link>http://i/f</link><magnetURI>{raw}</magnetURI>"),
        ] {
            let release = read_item(&item);
            assert_eq!(release.download_url.as_deref(), Some(MAGNET), "{item}");
            assert_eq!(
                release.info_hash.as_deref(),
                Some("abcdef0123456789abcdef0123456789abcdef01"),
                "{item}"
            );
        }
        let both = read_item(&format!(
            "<link>{raw}</link><a:attr name='infohash' value='FF00'/>"
        ));
        assert_eq!(
            both.info_hash.as_deref(),
            Some("abcdef0123456789abcdef0123456789abcdef01"),
            "what is no info-hash is none"
        );
        let wide = read_item("<link>magnet:?xt=urn:btih:VPG66AJDIVTYTK6N54ASGRLHRGV433YB</link>");
        assert_eq!(
            wide.info_hash.as_deref(),
            Some("abcdef0123456789abcdef0123456789abcdef01")
        );
    }

    #[test]
    fn a_link_is_one_of_the_web() {
        assert_eq!(read_item("<link>ftp://i/f</link>").download_url, None);
        assert_eq!(
            read_item("<guid>http://i/f</guid>").download_url.as_deref(),
            Some("http://i/f"),
            "a permalink"
        );
        assert_eq!(
            read_item("<guid isPermaLink='false'>http://i/f</guid>").download_url,
            None
        );
        assert_eq!(
            read_item("<link>HTTP://i/f</link>").download_url.as_deref(),
            Some("HTTP://i/f")
        );
        assert_eq!(
            read_item("<enclosure url='http://i/e'/><link>http://i/f</link>")
                .download_url
                .as_deref(),
            Some("http://i/e")
        );
    }

    #[test]
    fn numbers_that_are_none_are_left_out() {
        let size = |item: &str| read_item(item).size;
        assert_eq!(
            size("<enclosure url='http://i' length='9'/><x:attr name='size' value='0'/>"),
            Some(9)
        );
        assert_eq!(
            size("<enclosure url='http://i' length='-1'/><x:attr name='size' value='big'/>"),
            None
        );
        assert_eq!(size("<enclosure url='http://i' length='0'/>"), None);
        assert_eq!(read_item("<x:attr name='seeders' value='many'/>").seeders, None);
        assert_eq!(read_item("<x:attr name='seeders' value='0'/>").seeders, Some(0));
    }

    #[test]
    fn what_feeds_are_read_by_reads_indexers_too() {
        let spelt = read_item("<title>Tom &amp;amp; Jerry   S01E02\n 720p</title>");
        assert_eq!(spelt.title, "Tom & Jerry S01E02 720p");
        let nested = read_item(
            "<link>http://i/1</link><torrent xmlns='http://xmlns.ezrss.it/0.1/'><contentLength>5</contentLength>\
             <infoHash>ABCDEF0123456789ABCDEF0123456789ABCDEF01</infoHash></torrent>",
        );
        let hash = "abcdef0123456789abcdef0123456789abcdef01";
        assert_eq!((nested.size, nested.info_hash.as_deref()), (Some(5), Some(hash)));
        let told =
            read_item("<enclosure url='http://i/e' length='9000'/><description>Size: 4.2 GB</description>");
        assert_eq!(told.size, Some(4_200_000_000));
        let alone = read_item(&format!("<x:attr name='infohash' value='{hash}'/>"));
        assert_eq!(
            alone.download_url,
            Some(format!("magnet:?xt=urn:btih:{hash}&dn=T"))
        );
        let key = read_item(&format!("<link>http://i/{hash}/1.torrent</link>"));
        assert_eq!(key.info_hash, None);
        let text = "<rss><channel><item><title>T</title><link>/dl/1</link></item></channel></rss>";
        let found = feed(text, Some("http://i.example:9117/x/api")).unwrap();
        assert_eq!(
            found.releases[0].download_url.as_deref(),
            Some("http://i.example:9117/dl/1")
        );
    }

    #[test]
    fn a_charset_that_lies_is_found_out() {
        let answer = |body: &[u8], content_type| {
            let answer = crate::Answer {
                status: 200,
                content_type,
                retry_after: None,
                body,
                now: 0,
            };
            crate::document(answer, "a feed").unwrap().0
        };
        let whole =
            |title: &str| format!("<rss><channel><item><title>{title}</title></item></channel></rss>");
        let title = |text: &str| feed(text, None).unwrap().releases[0].title.clone();
        let utf8 = format!(
            "<?xml version='1.0' encoding='windows-1251'?>{}",
            whole("Тихая гавань")
        );
        assert_eq!(title(&answer(utf8.as_bytes(), None)), "Тихая гавань");
        let named = whole("Тихая гавань");
        assert_eq!(
            title(&answer(named.as_bytes(), Some("text/xml; charset=iso-8859-1"))),
            "Тихая гавань"
        );
    }

    #[test]
    fn atom_and_rss_1_are_feeds() {
        let found = feed(
            "<feed xmlns='http://www.w3.org/2005/Atom'><title>no</title><entry><title type='text'>A</title><id>urn:1</id>\
             <link href='http://i/page'/><link rel='enclosure' href='http://i/f.torrent' length='5'/>\
             <updated>2024-05-01T08:00:00Z</updated><source><title>B</title></source></entry></feed>",
            None,
        )
        .unwrap();
        let release = &found.releases[0];
        assert_eq!(
            (
                release.title.as_str(),
                release.download_url.as_deref(),
                release.size
            ),
            ("A", Some("http://i/f.torrent"), Some(5))
        );
        assert_eq!(release.published, Some(1_714_550_400_000));
        let found = feed(
            "<rdf:RDF><channel/><item><title>A</title><link>http://i</link></item></rdf:RDF>",
            None,
        )
        .unwrap();
        assert_eq!(found.releases[0].download_url.as_deref(), Some("http://i"));
    }

    #[test]
    fn no_result_is_no_error() {
        for text in ["<rss><channel></channel></rss>", "<rss/>", "<feed/>"] {
            assert_eq!(feed(text, None), Ok(Found::default()), "{text}");
        }
    }

    #[test]
    fn errors_of_the_protocol_are_told() {
        for text in [
            "<error code='201' description='Incorrect parameter'/>",
            "<?xml version='1.0'?>\n<error code='201' description='Incorrect parameter'></error>",
            "<rss><channel><error code='201' description='Incorrect parameter'/></channel></rss>",
        ] {
            assert_eq!(
                feed(text, None),
                Err(Fault::Api {
                    code: "201".to_owned(),
                    description: "Incorrect parameter".to_owned()
                })
            );
        }
    }

    #[test]
    fn what_ends_in_the_middle_is_read_so_far() {
        let whole =
            "<rss><channel><item><title>A</title><link>http://i/1</link></item><item><title>B</title><li";
        let found = feed(whole, None).unwrap();
        let titles: Vec<&str> = found
            .releases
            .iter()
            .map(|release| release.title.as_str())
            .collect();
        assert_eq!(titles, ["A", "B"]);
        assert_eq!(found.warnings.len(), 1, "{:?}", found.warnings);
        let sloppy = feed(
            "<rss><channel><item><title>A & B</title><description><b>x<br></description><link>http://i/1</link></item>\
             <item><title>C</channel></rss>",
            None,
        )
        .unwrap();
        assert_eq!(sloppy.releases[0].title, "A & B");
        assert_eq!(sloppy.releases[0].download_url.as_deref(), Some("http://i/1"));
        assert_eq!(sloppy.releases[1].title, "C");
        assert!(!sloppy.warnings.is_empty());
    }

    #[test]
    fn no_more_than_ten_thousand() {
        let text = format!(
            "<rss><channel>{}</channel></rss>",
            "<item><title>A</title></item>".repeat(10_001)
        );
        let found = feed(&text, None).unwrap();
        assert_eq!(found.releases.len(), 10_000);
        assert!(found.warnings[0].contains("10000"), "{:?}", found.warnings);
    }

    #[test]
    fn bombs_do_not_grow() {
        let mut text = "<?xml version='1.0'?><!DOCTYPE rss [<!ENTITY a0 'ha'>".to_owned();
        for n in 1..30 {
            let inner = format!("&a{};", n - 1).repeat(10);
            text.extend(["<!ENTITY a", &n.to_string(), " '", &inner, "'>"]);
        }
        text += "<!ENTITY f SYSTEM 'file:///etc/passwd'>]><rss><channel><item><title>&a29;&f;</title></item></channel></rss>";
        let found = feed(&text, None).unwrap();
        assert_eq!(found.releases[0].title, "&a29;&f;");
    }

    proptest! {
        #[test]
        fn nothing_breaks_the_reader(text in "[ -~<>/&;\"'=\u{e4}\n]{0,400}") {
            let _ = feed(&text, None);
            let _ = feed(&format!("<rss><channel><item>{text}</item>"), None);
            let _ = crate::caps::caps(&format!("<caps>{text}"));
        }
    }
}
