//! What an indexer found: RSS of any version, or Atom, with the attributes of Torznab and Newznab.

use crate::date::unix_ms;
use crate::model::{Fault, Found, Release};
use crate::verdict::api_fault;
use crate::xml::{Element, MAX_TEXT, Node, Walk};

/// Releases of one answer that are read.
const MAX_RELEASES: usize = 10_000;
const MAX_CATEGORIES: usize = 64;
/// Attributes of one release that are kept as they are, and their bytes.
const MAX_EXTRA: usize = 32;
const MAX_EXTRA_TEXT: usize = 256;

/// Reads a feed, as far as it goes.
pub fn feed(text: &str) -> Result<Found, Fault> {
    let mut walk = Walk::new(text);
    let mut found = Found::default();
    let mut any = false;
    while let Some(node) = walk.next() {
        let Node::Open(element) = node else { continue };
        let name = element.name.as_str();
        if !any {
            any = true;
            if !matches!(name, "rss" | "feed" | "rdf") {
                return Err(other_root(&element, &mut walk, "a feed"));
            }
        } else if name == "error" && found.releases.is_empty() && element.attribute("code").is_some() {
            // Some servers wrap it.
            return Err(api_fault(&element));
        } else if matches!(name, "item" | "entry") {
            if found.releases.len() == MAX_RELEASES {
                walk.warn(format!(
                    "lists more than {MAX_RELEASES} releases: the rest was left out"
                ));
                walk.stop();
                break;
            }
            found.releases.push(item(&mut walk));
        }
    }
    if !any {
        return Err(Fault::Unparsable(
            "answered something that is no XML where a feed was expected".to_owned(),
        ));
    }
    found.warnings = walk.warnings();
    Ok(found)
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

/// A release that is being read.
#[derive(Default)]
struct Draft {
    title: Option<String>,
    guid: Option<String>,
    link: Option<String>,
    page: Option<String>,
    date: Option<String>,
    /// URL and length, the first first.
    enclosures: Vec<(String, Option<u64>)>,
    /// Of elements of their own.
    magnet: Option<String>,
    attributes: Vec<(String, String)>,
}

/// Reads an item whose beginning was read, to its end.
fn item(walk: &mut Walk<'_>) -> Release {
    let level = walk.depth();
    let mut draft = Draft::default();
    // The child that is open, and its text so far.
    let mut field: Option<(String, String)> = None;
    while let Some(node) = walk.next() {
        match node {
            Node::Open(element) if walk.depth() == level + 1 => {
                draft.element(&element);
                let plain =
                    element.prefix.is_empty() || matches!(element.prefix.as_str(), "atom" | "torrent" | "dc");
                field = plain.then(|| (element.name, String::new()));
            }
            Node::Text(text) if walk.depth() == level + 1 => {
                if let Some((_, whole)) = &mut field
                    && whole.len() < MAX_TEXT
                {
                    whole.push_str(&text);
                }
            }
            Node::Close if walk.depth() == level => {
                if let Some((name, text)) = field.take() {
                    draft.text(&name, text.trim());
                }
            }
            Node::Close if walk.depth() < level => break,
            _ => {}
        }
    }
    draft.release()
}

impl Draft {
    fn element(&mut self, element: &Element) {
        match element.name.as_str() {
            "enclosure" => {
                let length = element.attribute("length").and_then(|text| text.parse().ok());
                self.enclosures
                    .extend(element.attribute("url").map(|url| (url.to_owned(), length)));
            }
            // Atom's.
            "link" => {
                let Some(href) = element.attribute("href") else {
                    return;
                };
                let length = element.attribute("length").and_then(|text| text.parse().ok());
                match element.attribute("rel").unwrap_or("alternate") {
                    "enclosure" => self.enclosures.push((href.to_owned(), length)),
                    "alternate" => first(&mut self.link, href),
                    _ => {}
                }
            }
            "attr" if self.attributes.len() < 4 * MAX_CATEGORIES => {
                let name = element.attribute("name").map(str::to_ascii_lowercase);
                let value = element.attribute("value").map(str::to_owned);
                self.attributes.extend(name.zip(value));
            }
            _ => {}
        }
    }

    fn text(&mut self, name: &str, text: &str) {
        let field = match name {
            "title" => &mut self.title,
            "guid" | "id" => &mut self.guid,
            "link" => &mut self.link,
            "comments" => &mut self.page,
            "pubdate" | "published" | "date" => &mut self.date,
            "updated" if self.date.is_none() => &mut self.date,
            "magneturi" | "magneturl" if is_magnet(text) => &mut self.magnet,
            _ => return,
        };
        first(field, text);
    }

    fn attribute(&self, name: &str) -> Option<&str> {
        let mut found = self.attributes.iter().filter(|(known, _)| known == name);
        found.next().map(|(_, value)| value.as_str())
    }

    fn number(&self, name: &str) -> Option<u32> {
        self.attribute(name)?.parse().ok()
    }

    fn magnet(&self) -> Option<&str> {
        let enclosures = self.enclosures.iter().map(|(url, _)| url.as_str());
        enclosures
            .chain(self.link.as_deref())
            .chain(self.guid.as_deref())
            .chain(self.attribute("magneturl"))
            .chain(self.magnet.as_deref())
            .find(|text| is_magnet(text))
    }

    fn release(self) -> Release {
        let magnet = self.magnet();
        let is_web = |link: &&str| {
            let lower = link.get(..8).unwrap_or(link).to_ascii_lowercase();
            lower.starts_with("http://") || lower.starts_with("https://")
        };
        let link = self.link.as_deref().filter(is_web);
        let download_url = magnet
            .or_else(|| self.enclosures.first().map(|(url, _)| url.as_str()))
            .or(link);
        let info_hash = match self.attribute("infohash") {
            Some(hash) => Some(hash.to_ascii_lowercase()),
            None => magnet.and_then(btih),
        };
        let size = self.attribute("size").and_then(|text| text.parse().ok());
        let size = size.filter(|size| *size > 0);
        let length = self.enclosures.first().and_then(|(_, length)| *length);
        let page = self.page.as_deref().filter(is_web);
        let page = page.or_else(|| self.guid.as_deref().filter(is_web));
        Release {
            title: self.title.clone().unwrap_or_default(),
            download_url: download_url.map(str::to_owned),
            info_hash,
            size: size.or_else(|| length.filter(|length| *length > 0)),
            seeders: self.number("seeders"),
            peers: self.number("peers"),
            grabs: self.number("grabs"),
            categories: self.categories(),
            published: self.date.as_deref().and_then(unix_ms).or_else(|| {
                let usenet = self.attribute("usenetdate")?;
                unix_ms(usenet)
            }),
            page: page.map(str::to_owned),
            extra: self.extra(),
            guid: self.guid,
        }
    }

    fn categories(&self) -> Vec<u32> {
        let all = self.attributes.iter().filter(|(name, _)| name == "category");
        all.filter_map(|(_, value)| value.parse().ok())
            .take(MAX_CATEGORIES)
            .collect()
    }

    /// What has no field of its own.
    fn extra(&self) -> Vec<(String, String)> {
        const READ: &[&str] = &[
            "category",
            "size",
            "seeders",
            "peers",
            "grabs",
            "infohash",
            "magneturl",
        ];
        let others = self
            .attributes
            .iter()
            .filter(|(name, _)| !READ.contains(&name.as_str()));
        others
            .filter(|(name, value)| name.len() + value.len() <= MAX_EXTRA_TEXT)
            .take(MAX_EXTRA)
            .cloned()
            .collect()
    }
}

fn first(field: &mut Option<String>, text: &str) {
    if field.is_none() && !text.is_empty() {
        *field = Some(text.to_owned());
    }
}

fn is_magnet(text: &str) -> bool {
    text.get(..7)
        .is_some_and(|start| start.eq_ignore_ascii_case("magnet:"))
}

/// The info-hash of a magnet link, lower case; one in base 32 as hexadecimal.
fn btih(magnet: &str) -> Option<String> {
    let lower = magnet.to_ascii_lowercase();
    let start = lower.find("urn:btih:")? + "urn:btih:".len();
    let hash: String = lower[start..]
        .chars()
        .take_while(char::is_ascii_alphanumeric)
        .take(64)
        .collect();
    if hash.len() == 32 {
        return base32(&hash).or(Some(hash));
    }
    (!hash.is_empty()).then_some(hash)
}

fn base32(text: &str) -> Option<String> {
    let (mut hex, mut bits, mut held) = (String::new(), 0_u32, 0_u32);
    for byte in text.bytes() {
        let value = match byte {
            b'a'..=b'z' => byte - b'a',
            b'2'..=b'7' => byte - b'2' + 26,
            _ => return None,
        };
        held = (held << 5) | u32::from(value);
        bits += 5;
        while bits >= 4 {
            bits -= 4;
            hex.push(char::from_digit((held >> bits) & 15, 16)?);
        }
        held &= 15;
    }
    Some(hex)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one(item: &str) -> Release {
        let text = format!("<rss version='2.0'><channel><item>{item}</item></channel></rss>");
        let found = feed(&text).unwrap();
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
            let release = one(&item);
            assert_eq!(release.download_url.as_deref(), Some(MAGNET), "{item}");
            assert_eq!(
                release.info_hash.as_deref(),
                Some("abcdef0123456789abcdef0123456789abcdef01"),
                "{item}"
            );
        }
        let both = one(&format!(
            "<link>{raw}</link><a:attr name='infohash' value='FF00'/>"
        ));
        assert_eq!(both.info_hash.as_deref(), Some("ff00"));
        let wide = one("<link>magnet:?xt=urn:btih:VPG66AJDIVTYTK6N54ASGRLHRGV433YB</link>");
        assert_eq!(
            wide.info_hash.as_deref(),
            Some("abcdef0123456789abcdef0123456789abcdef01")
        );
    }

    #[test]
    fn a_link_is_one_of_the_web() {
        assert_eq!(one("<link>ftp://i/f</link>").download_url, None);
        assert_eq!(one("<guid>http://i/f</guid>").download_url, None);
        assert_eq!(
            one("<link>HTTP://i/f</link>").download_url.as_deref(),
            Some("HTTP://i/f")
        );
        assert_eq!(
            one("<enclosure url='http://i/e'/><link>http://i/f</link>")
                .download_url
                .as_deref(),
            Some("http://i/e")
        );
        assert_eq!(one("<title></title>").title, "");
    }

    #[test]
    fn numbers_that_are_none_are_left_out() {
        let size = |item: &str| one(item).size;
        assert_eq!(
            size("<enclosure url='http://i' length='9'/><x:attr name='size' value='0'/>"),
            Some(9)
        );
        assert_eq!(
            size("<enclosure url='http://i' length='-1'/><x:attr name='size' value='big'/>"),
            None
        );
        assert_eq!(size("<enclosure url='http://i' length='0'/>"), None);
        assert_eq!(one("<x:attr name='seeders' value='many'/>").seeders, None);
        assert_eq!(one("<x:attr name='seeders' value='0'/>").seeders, Some(0));
    }

    #[test]
    fn atom_and_rss_1_are_feeds() {
        let found = feed(
            "<feed xmlns='http://www.w3.org/2005/Atom'><title>no</title><entry><title type='text'>A</title><id>urn:1</id>\
             <link href='http://i/page'/><link rel='enclosure' href='http://i/f.torrent' length='5'/>\
             <updated>2024-05-01T08:00:00Z</updated><source><title>B</title></source></entry></feed>",
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
        let found =
            feed("<rdf:RDF><channel/><item><title>A</title><link>http://i</link></item></rdf:RDF>").unwrap();
        assert_eq!(found.releases[0].download_url.as_deref(), Some("http://i"));
    }

    #[test]
    fn no_result_is_no_error() {
        for text in ["<rss><channel></channel></rss>", "<rss/>", "<feed/>"] {
            assert_eq!(feed(text), Ok(Found::default()), "{text}");
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
                feed(text),
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
        let found = feed(whole).unwrap();
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
        let found = feed(&text).unwrap();
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
        let found = feed(&text).unwrap();
        assert_eq!(found.releases[0].title, "&a29;&f;");
    }

    proptest! {
        #[test]
        fn nothing_breaks_the_reader(text in "[ -~<>/&;\"'=\u{e4}\n]{0,400}") {
            let _ = feed(&text);
            let _ = feed(&format!("<rss><channel><item>{text}</item>"));
            let _ = crate::caps::caps(&format!("<caps>{text}"));
        }
    }
}
