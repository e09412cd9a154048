//! Tests of the text of notes, and of what is kept of those of others.

use qm_ports::notes::{NotedFacts, NotedItem};

use super::keep::{Kept, MOST, Unkept, read};
use super::text::{compose, list_elements};
use super::*;

fn film() -> NotedItem {
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    NotedItem {
        media_type: "movie".to_owned(),
        title: "Tide".to_owned(),
        year: Some(1999),
        ids: vec![
            ("provider_a".to_owned(), "603".to_owned()),
            ("provider_b".to_owned(), "81".to_owned()),
            ("titledb".to_owned(), "tt0133093".to_owned()),
            ("odd".to_owned(), "5".to_owned()),
        ],
        facts: NotedFacts {
            title: Some("Tide & <Ebb> \"2\"\u{7}".to_owned()),
            overview: Some("Water.\nMore water.".to_owned()),
            rating: Some(7.5),
            runtime: Some(136),
            release_date: Some("1999-03-31".to_owned()),
            genres: texts(&["Drama", " "]),
            directors: texts(&["Di"]),
            writers: texts(&["Wy"]),
            cast: vec![
                ("Jo".to_owned(), Some("Mate".to_owned())),
                ("Al".to_owned(), None),
            ],
            ..NotedFacts::default()
        },
        ..NotedItem::default()
    }
}

fn note(item: &NotedItem, kept: &Kept) -> String {
    let kind = NoteKind::for_item(item);
    compose(kind, &list_elements(item, kind), kept)
}

#[test]
fn a_film_is_written_as_media_servers_read_it() {
    let expected = r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<movie>
  <title>Tide &amp; &lt;Ebb&gt; &quot;2&quot;</title>
  <rating>7.5</rating>
  <year>1999</year>
  <plot>Water.
More water.</plot>
  <runtime>136</runtime>
  <premiered>1999-03-31</premiered>
  <genre>Drama</genre>
  <director>Di</director>
  <credits>Wy</credits>
  <uniqueid type="tmdb" default="true">603</uniqueid>
  <uniqueid type="tvdb">81</uniqueid>
  <uniqueid type="imdb" default="true">tt0133093</uniqueid>
  <actor>
    <name>Jo</name>
    <role>Mate</role>
  </actor>
  <actor>
    <name>Al</name>
  </actor>
</movie>
"#;
    assert_eq!(note(&film(), &Kept::default()), expected);
    let ids = qm_media_names::nfo::film_ids(expected.as_bytes());
    assert_eq!(
        (ids.titledb.as_deref(), ids.provider_a.as_deref()),
        (Some("tt0133093"), Some("603"))
    );
    // It reads back as it is, and again.
    let kept = read(expected.as_bytes(), NoteKind::Movie).unwrap();
    assert_eq!(note(&film(), &kept), expected);
}

#[test]
fn an_episode_has_numbers_and_a_day() {
    let episode = NotedItem {
        media_type: "tv".to_owned(),
        title: "Harbor".to_owned(),
        season: Some(0),
        episode: Some(3),
        facts: NotedFacts {
            title: Some("Quay".to_owned()),
            release_date: Some("2002-06-02".to_owned()),
            ..NotedFacts::default()
        },
        ..NotedItem::default()
    };
    let text = note(&episode, &Kept::default());
    assert!(text.contains("<episodedetails>\n  <title>Quay</title>\n  <aired>2002-06-02</aired>\n  <season>0</season>\n  <episode>3</episode>\n"), "{text}");
    let names = |kind: NoteKind| String::from_utf8(kind.file_name(b"Harbor.S00E03.mkv")).unwrap();
    assert_eq!(
        (names(NoteKind::Episode), names(NoteKind::Show)),
        ("Harbor.S00E03.nfo".to_owned(), "tvshow.nfo".to_owned())
    );
    assert_eq!(NoteKind::Movie.file_name(b".hidden"), b".hidden.nfo");
    let show = NotedItem {
        episode: None,
        ..episode
    };
    assert!(note(&show, &Kept::default()).contains("<tvshow>"));
}

/// Notes as other programs write them, and what must still stand in them.
#[test]
fn elements_of_others_stay() {
    let kodi = r#"<?xml version="1.0" encoding="UTF-8" standalone="yes" ?>
<movie>
    <title>Old</title>
    <ratings>
        <rating name="themoviedb" max="10" default="true"><value>8.1</value><votes>7</votes></rating>
    </ratings>
    <outline>A &amp; B &#228;</outline>
    <thumb aspect="poster" preview="http://x/?a=1&amp;b=2">http://x/p.jpg</thumb>
    <fanart><thumb>http://x/f.jpg</thumb></fanart>
    <playcount>3</playcount>
    <set><name>Tides</name><overview></overview></set>
    <tag>mine</tag>
    <uniqueid type="trakt">12</uniqueid>
    <uniqueid type="imdb">tt1</uniqueid>
    <!-- by hand -->
    <fileinfo><streamdetails><video><codec>h264</codec></video></streamdetails></fileinfo>
    <lockdata>true</lockdata>
</movie>
https://www.themoviedb.org/movie/603
"#;
    let kept = read(kodi.as_bytes(), NoteKind::Movie).unwrap();
    let text = note(&film(), &kept);
    for stays in [
        "<rating name=\"themoviedb\" max=\"10\" default=\"true\"><value>8.1</value><votes>7</votes></rating>",
        "<outline>A &amp; B &#228;</outline>",
        "<thumb aspect=\"poster\" preview=\"http://x/?a=1&amp;b=2\">http://x/p.jpg</thumb>",
        "<fanart><thumb>http://x/f.jpg</thumb></fanart>",
        "<playcount>3</playcount>",
        "<set><name>Tides</name><overview></overview></set>",
        "<tag>mine</tag>",
        "<uniqueid type=\"trakt\">12</uniqueid>",
        "<!-- by hand -->",
        "<codec>h264</codec>",
        "<lockdata>true</lockdata>",
        "</movie>\nhttps://www.themoviedb.org/movie/603\n",
    ] {
        assert!(text.contains(stays), "{stays}: {text}");
    }
    assert!(!text.contains("Old") && !text.contains(">tt1<"), "{text}");
    // Written again, it is the same.
    let again = note(&film(), &read(text.as_bytes(), NoteKind::Movie).unwrap());
    assert_eq!(again, text);

    let jellyfin = "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\" standalone=\"yes\"?>\n<movie xmlns:x=\"y\">\n  <plot><![CDATA[It & is]]></plot>\n  <dateadded>2020-01-01 00:00:00</dateadded>\n  <empty />\n</movie>";
    let text = note(
        &NotedItem {
            facts: NotedFacts::default(),
            ..film()
        },
        &read(jellyfin.as_bytes(), NoteKind::Movie).unwrap(),
    );
    assert!(
        text.contains("<movie xmlns:x=\"y\">") && text.contains("<plot><![CDATA[It & is]]></plot>"),
        "{text}"
    );
    assert!(
        text.contains("  <dateadded>2020-01-01 00:00:00</dateadded>\n  <empty />\n"),
        "{text}"
    );
    let radarr = "<movie><title>x</title><id>tt5</id><tmdbid>603</tmdbid></movie>";
    assert!(
        note(&film(), &read(radarr.as_bytes(), NoteKind::Movie).unwrap()).contains("<tmdbid>603</tmdbid>")
    );
    assert_eq!(read(b"<movie/>", NoteKind::Movie), Ok(Kept::default()));
}

#[test]
fn attacks_and_what_is_no_xml_are_refused() {
    let deep = format!("<movie>{}{}</movie>", "<a>".repeat(100), "</a>".repeat(100));
    let large = format!("<movie><plot>{}</plot></movie>", "x".repeat(MOST));
    for (text, expected) in [
        (
            "<!DOCTYPE lolz [<!ENTITY lol \"lol\">]><movie><title>&lol;</title></movie>",
            Unkept::DocumentType,
        ),
        (
            "<!DOCTYPE movie SYSTEM \"file:///etc/passwd\"><movie/>",
            Unkept::DocumentType,
        ),
        ("<movie><title>&xxe;</title></movie>", Unkept::Entity),
        ("<movie><title a=\"&xxe;\">x</title></movie>", Unkept::Entity),
        ("<movie>&amp;</movie>", Unkept::Malformed),
        ("<movie><title>x</movie>", Unkept::Malformed),
        ("<movie><title>x</title>", Unkept::Malformed),
        ("<movie a=\"1\" a=\"2\"></movie>", Unkept::Malformed),
        ("<movie></movie><movie></movie>", Unkept::Malformed),
        ("https://www.imdb.com/title/tt0133093/", Unkept::Malformed),
        ("", Unkept::Malformed),
        ("<tvshow></tvshow>", Unkept::OtherRoot("movie")),
        (&deep, Unkept::TooDeep),
        (&large, Unkept::TooLarge),
    ] {
        let found = read(text.as_bytes(), NoteKind::Movie);
        assert_eq!(found, Err(expected), "{}", &text[..text.len().min(80)]);
    }
    assert_eq!(
        read(b"<movie>\xff</movie>", NoteKind::Movie),
        Err(Unkept::NotUtf8)
    );
}

proptest::proptest! {
    /// Whatever is kept reads again as the same.
    #[test]
    fn what_is_kept_stays(inner in "[ a-z<>/&;\"=!-]{0,60}", texts in "\\PC{0,30}") {
        let whole = format!("<movie>{inner}</movie>");
        let item = NotedItem {
            facts: NotedFacts { title: Some(texts), ..NotedFacts::default() },
            ..film()
        };
        if let Ok(kept) = read(whole.as_bytes(), NoteKind::Movie) {
            let text = note(&item, &kept);
            let again = read(text.as_bytes(), NoteKind::Movie);
            proptest::prop_assert!(again.is_ok(), "{} {:?}", text, again);
            proptest::prop_assert_eq!(note(&item, &again.unwrap()), text);
        }
    }
}
