//! Facts in `.nfo` files, as Kodi, Jellyfin, Radarr and Sonarr write them: what a film, a show or an episode is called and about.
//! The ids are read by [`crate::nfo`].
//!
//! Strangers write these files. One is read as far as possible; only the references of XML itself are replaced, so that no
//! entity grows, and from one with a document type nothing is taken. Bounds: the size that the caller hands over ([`crate::nfo::MOST`]),
//! elements [`DEPTH`] deep, [`MAX_TEXT`] bytes a value and [`MAX_TEXTS`] a note, [`MAX_LIST`] values of a kind, [`MAX_NOTES`] notes a file.

use quick_xml::Reader;
use quick_xml::events::{BytesRef, BytesStart, Event};

use crate::nfo::plain;

const DEPTH: usize = 64;
const MAX_TEXT: usize = 32 << 10;
/// Most bytes of the texts of a note: lists answer pages of items with all of them.
const MAX_TEXTS: usize = 64 << 10;
const MAX_LIST: usize = 200;
/// A file may hold the notes of several episodes, one after another.
const MAX_NOTES: usize = 50;
const MOST_RATED: f64 = 10.0;

/// Subject of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    Film,
    Show,
    Episode,
}

impl About {
    fn from_root(name: &[u8]) -> Option<Self> {
        match name {
            b"movie" => Some(Self::Film),
            b"tvshow" => Some(Self::Show),
            b"episodedetails" => Some(Self::Episode),
            _ => None,
        }
    }
}

/// Facts of a note. What it does not say is empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    pub about: About,
    pub title: Option<String>,
    pub original_title: Option<String>,
    pub sort_title: Option<String>,
    pub plot: Option<String>,
    /// `YYYY-MM-DD`.
    pub released: Option<String>,
    pub year: Option<i64>,
    /// Minutes.
    pub runtime: Option<i64>,
    /// 0 to 10.
    pub rating: Option<f64>,
    pub certification: Option<String>,
    pub genres: Vec<String>,
    pub studios: Vec<String>,
    pub tags: Vec<String>,
    pub directors: Vec<String>,
    pub writers: Vec<String>,
    /// Name and role.
    pub cast: Vec<(String, Option<String>)>,
    pub season: Option<i64>,
    pub episode: Option<i64>,
}

impl Note {
    fn new(about: About) -> Self {
        Self {
            about,
            title: None,
            original_title: None,
            sort_title: None,
            plot: None,
            released: None,
            year: None,
            runtime: None,
            rating: None,
            certification: None,
            genres: Vec::new(),
            studios: Vec::new(),
            tags: Vec::new(),
            directors: Vec::new(),
            writers: Vec::new(),
            cast: Vec::new(),
            season: None,
            episode: None,
        }
    }
}

/// Notes of a file, in its order; none from what is no note, or declares entities. The last one may be cut off.
pub fn read(text: &[u8]) -> Vec<Note> {
    let text = plain(text);
    let mut reader = Reader::from_reader(&*text);
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    let mut reading = Reading::default();
    while reading.notes.len() < MAX_NOTES {
        match reader.read_event() {
            Ok(Event::Start(start)) => {
                if !reading.begin(&start) {
                    break;
                }
            }
            Ok(Event::End(_)) => reading.end(),
            Ok(Event::Text(text)) => reading.add(&String::from_utf8_lossy(&text)),
            Ok(Event::CData(text)) => reading.add(&String::from_utf8_lossy(&text)),
            Ok(Event::GeneralRef(name)) => reading.add(&resolve(&name)),
            // No program writes one into a note.
            Ok(Event::DocType(_)) => return Vec::new(),
            Ok(Event::Eof) | Err(_) => break,
            Ok(_) => {}
        }
    }
    reading.finish()
}

/// Text of a reference of XML itself; empty for any other.
fn resolve(name: &BytesRef<'_>) -> String {
    match &**name {
        b"amp" => "&".to_owned(),
        b"lt" => "<".to_owned(),
        b"gt" => ">".to_owned(),
        b"quot" => "\"".to_owned(),
        b"apos" => "'".to_owned(),
        _ => match name.resolve_char_ref() {
            Ok(Some(letter)) => letter.to_string(),
            _ => String::new(),
        },
    }
}

/// A rating among several, on the scale that it names.
#[derive(Clone, Copy, Debug)]
struct Rated {
    most: f64,
    is_default: bool,
    value: Option<f64>,
}

/// A note while it is read.
#[derive(Default)]
struct Reading {
    notes: Vec<Note>,
    note: Option<Note>,
    /// Names of the open elements, in small letters.
    open: Vec<Vec<u8>>,
    text: String,
    /// Bytes of texts that may still be taken.
    room: usize,
    outline: Option<String>,
    ratings: Vec<Rated>,
    flat: Option<f64>,
    actor: (Option<String>, Option<String>),
}

impl Reading {
    /// Opens an element; false if there are too many in each other.
    fn begin(&mut self, start: &BytesStart<'_>) -> bool {
        let name = start.local_name().as_ref().to_ascii_lowercase();
        if self.open.is_empty() {
            self.note = About::from_root(&name).map(Note::new);
            self.room = MAX_TEXTS;
            self.outline = None;
            self.ratings.clear();
            self.flat = None;
        }
        if self.open.len() == 1 && name == b"actor" {
            self.actor = (None, None);
        }
        if self.open.len() == 2
            && name == b"rating"
            && self.open[1] == b"ratings"
            && self.ratings.len() < MAX_LIST
        {
            self.ratings.push(rated(start));
        }
        self.text.clear();
        self.open.push(name);
        self.open.len() <= DEPTH
    }

    fn add(&mut self, text: &str) {
        let room = MAX_TEXT.saturating_sub(self.text.len());
        let mut end = text.len().min(room);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        self.text.push_str(&text[..end]);
    }

    fn end(&mut self) {
        let Some(name) = self.open.pop() else { return };
        let text = std::mem::take(&mut self.text);
        let text = text.trim();
        match self.open.len() {
            0 => self.close(),
            1 if name == b"actor" => self.close_actor(),
            1 if !text.is_empty() => self.take(&name, text),
            2 if self.open[1] == b"actor" && !text.is_empty() => match &*name {
                b"name" => self.actor.0 = Some(text.to_owned()),
                b"role" => self.actor.1 = Some(text.to_owned()),
                _ => {}
            },
            3 if name == b"value" && self.open[1] == b"ratings" => {
                if let Some(last) = self.ratings.last_mut() {
                    last.value = number(text);
                }
            }
            _ => {}
        }
    }

    /// Takes room for a text; false if too little is left.
    fn fits(&mut self, bytes: usize) -> bool {
        let left = self.room.checked_sub(bytes);
        self.room = left.unwrap_or(self.room);
        left.is_some()
    }

    /// Takes an element that stands right in the note.
    fn take(&mut self, name: &[u8], text: &str) {
        if is_text(name) && !self.fits(text.len()) {
            return;
        }
        let Some(note) = &mut self.note else { return };
        let first = |field: &mut Option<String>| {
            if field.is_none() {
                *field = Some(text.to_owned());
            }
        };
        match name {
            b"title" => first(&mut note.title),
            b"originaltitle" => first(&mut note.original_title),
            b"sorttitle" => first(&mut note.sort_title),
            b"plot" => first(&mut note.plot),
            b"outline" => first(&mut self.outline),
            b"mpaa" | b"certification" => first(&mut note.certification),
            b"premiered" | b"releasedate" | b"aired" => {
                note.released = note.released.take().or_else(|| day(text));
            }
            b"year" => {
                note.year = note
                    .year
                    .or_else(|| digits(text).filter(|year| (1000..=9999).contains(year)));
            }
            b"runtime" => {
                note.runtime = note
                    .runtime
                    .or_else(|| digits(text).filter(|minutes| *minutes > 0));
            }
            b"season" => note.season = note.season.or_else(|| digits(text)),
            b"episode" => note.episode = note.episode.or_else(|| digits(text)),
            b"rating" => self.flat = self.flat.or_else(|| number(text)),
            b"genre" => text
                .split(" / ")
                .for_each(|genre| add_to(&mut note.genres, genre)),
            b"studio" => text
                .split(" / ")
                .for_each(|studio| add_to(&mut note.studios, studio)),
            b"tag" => add_to(&mut note.tags, text),
            b"director" => add_to(&mut note.directors, text),
            b"credits" | b"writer" => add_to(&mut note.writers, text),
            _ => {}
        }
    }

    fn close_actor(&mut self) {
        let (name, role) = std::mem::take(&mut self.actor);
        let bytes = [&name, &role].map(|text| text.as_ref().map_or(0, String::len));
        if !self.fits(bytes.iter().sum()) {
            return;
        }
        if let (Some(note), Some(name)) = (&mut self.note, name)
            && note.cast.len() < MAX_LIST
        {
            note.cast.push((name, role));
        }
    }

    /// Closes a note.
    fn close(&mut self) {
        let Some(mut note) = self.note.take() else { return };
        note.plot = note.plot.or(self.outline.take());
        let chosen = self.ratings.iter().filter(|rated| rated.value.is_some());
        let chosen = chosen.min_by_key(|rated| !rated.is_default).copied();
        let scaled = chosen.and_then(|rated| Some(rated.value? * MOST_RATED / rated.most));
        let rating = scaled.or(self.flat);
        note.rating = rating.filter(|rating| *rating > 0.0 && *rating <= MOST_RATED);
        self.notes.push(note);
    }

    /// All notes; one that is cut off counts as far as it goes.
    fn finish(mut self) -> Vec<Note> {
        if self.notes.len() < MAX_NOTES {
            self.close();
        }
        self.notes
    }
}

/// True for an element whose text is kept.
fn is_text(name: &[u8]) -> bool {
    const TEXTS: [&[u8]; 13] = [
        b"title",
        b"originaltitle",
        b"sorttitle",
        b"plot",
        b"outline",
        b"mpaa",
        b"certification",
        b"genre",
        b"studio",
        b"tag",
        b"director",
        b"credits",
        b"writer",
    ];
    TEXTS.contains(&name)
}

/// Scale of a rating, and whether it is the one to show.
fn rated(start: &BytesStart<'_>) -> Rated {
    let mut rated = Rated {
        most: MOST_RATED,
        is_default: false,
        value: None,
    };
    let mut attributes = start.html_attributes();
    for attribute in attributes.with_checks(false).flatten() {
        let value = String::from_utf8_lossy(&attribute.value).into_owned();
        match attribute.key.as_ref() {
            b"max" => rated.most = number(&value).unwrap_or(MOST_RATED),
            b"default" => rated.is_default = value.trim().eq_ignore_ascii_case("true"),
            _ => {}
        }
    }
    rated
}

fn add_to(list: &mut Vec<String>, text: &str) {
    let text = text.trim();
    if !text.is_empty() && list.len() < MAX_LIST && list.iter().all(|known| known != text) {
        list.push(text.to_owned());
    }
}

/// A finite number above zero; a comma may stand for its point.
fn number(text: &str) -> Option<f64> {
    let number: f64 = text.trim().replace(',', ".").parse().ok()?;
    (number.is_finite() && number > 0.0).then_some(number)
}

/// Digits at the beginning of a text, as a number.
fn digits(text: &str) -> Option<i64> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    let digits = &text[..end];
    (digits.len() <= 6).then(|| digits.parse().ok()).flatten()
}

/// Day at the beginning of a text: `YYYY-MM-DD`.
fn day(text: &str) -> Option<String> {
    let day = text.get(..10)?;
    let is_day = day.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    is_day.then(|| day.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read_one(text: &str) -> Note {
        let mut notes = read(text.as_bytes());
        assert_eq!(notes.len(), 1, "{text}");
        notes.remove(0)
    }

    #[test]
    fn notes_of_kodi_are_read() {
        let note = read_one(
            r#"<?xml version="1.0" encoding="UTF-8" standalone="yes" ?>
<movie>
    <title>Salt &amp; River</title><originaltitle>Sel &#233;t&#xE9;</originaltitle><sorttitle>Salt</sorttitle>
    <ratings>
        <rating name="imdb" max="10"><value>6.1</value><votes>12</votes></rating>
        <rating name="tmdb" max="100" default="true"><value>74</value></rating>
    </ratings>
    <userrating>9</userrating><outline>Short.</outline><plot><![CDATA[A <long> one.]]></plot>
    <runtime>136</runtime><mpaa>PG-13</mpaa><genre>Action / Drama</genre><genre>Action</genre><tag>sea</tag>
    <set><name>Others</name><overview>No plot.</overview></set><credits>Jo</credits><director>Ada</director>
    <premiered>2011-03-04</premiered><year>2011</year><studio>One</studio>
    <fileinfo><streamdetails><video><title>No title</title></video></streamdetails></fileinfo>
    <actor><name>Kim</name><role>The &quot;cook&quot;</role><order>0</order><thumb>http://x</thumb></actor>
    <actor><name>Lee</name></actor>
</movie>"#,
        );
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(note.about, About::Film);
        assert_eq!(
            (note.title, note.original_title),
            (text("Salt & River"), text("Sel été"))
        );
        assert_eq!(
            (note.sort_title, note.plot),
            (text("Salt"), text("A <long> one."))
        );
        assert_eq!(
            (note.year, note.runtime, note.rating),
            (Some(2011), Some(136), Some(7.4))
        );
        assert_eq!(
            (note.certification, note.released),
            (text("PG-13"), text("2011-03-04"))
        );
        assert_eq!(
            (note.genres, note.tags),
            (
                vec!["Action".to_owned(), "Drama".to_owned()],
                vec!["sea".to_owned()]
            )
        );
        assert_eq!(
            (note.directors, note.writers, note.studios),
            (
                vec!["Ada".to_owned()],
                vec!["Jo".to_owned()],
                vec!["One".to_owned()]
            )
        );
        let cast = vec![("Kim".to_owned(), text("The \"cook\"")), ("Lee".to_owned(), None)];
        assert_eq!(note.cast, cast);
    }

    #[test]
    fn notes_of_others_are_read() {
        let jellyfin = read_one(
            "\u{feff}<movie><plot /><outline>It begins.</outline><lockdata>false</lockdata><title>Tide</title>\
             <writer>Jo</writer><credits>Jo</credits><rating>7,6</rating><year>2003</year><releasedate>2003-01-02T00:00:00</releasedate>\
             <runtime>91 min</runtime><certification>12</certification><tmdbid>603</tmdbid></movie>",
        );
        assert_eq!(
            (jellyfin.plot.as_deref(), jellyfin.rating),
            (Some("It begins."), Some(7.6))
        );
        assert_eq!(
            (
                jellyfin.writers.len(),
                jellyfin.runtime,
                jellyfin.released.as_deref()
            ),
            (1, Some(91), Some("2003-01-02"))
        );
        assert_eq!(jellyfin.certification.as_deref(), Some("12"));
        let sonarr = read(
            b"<episodedetails><title>One</title><season>1</season><episode>1</episode><aired>2002-06-02</aired></episodedetails>\
              <episodedetails><title>Two</title><season>1</season><episode>2</episode><plot>B</plot></episodedetails>",
        );
        let told: Vec<_> = sonarr
            .iter()
            .map(|note| (note.about, note.title.as_deref(), note.episode))
            .collect();
        assert_eq!(
            told,
            [
                (About::Episode, Some("One"), Some(1)),
                (About::Episode, Some("Two"), Some(2))
            ]
        );
        assert_eq!(
            (sonarr[0].plot.as_deref(), sonarr[1].released.as_deref()),
            (None, None)
        );
        assert_eq!(
            read_one("<tvshow><title>Show</title></tvshow>").about,
            About::Show
        );
    }

    #[test]
    fn what_is_torn_odd_or_hostile_is_read_as_far_as_it_goes() {
        assert_eq!(
            read_one("<movie><title>A</title><plot>It be").title.as_deref(),
            Some("A")
        );
        for none in [
            "",
            "<",
            "text",
            "<html><title>A</title></html>",
            "https://www.imdb.com/title/tt1/",
        ] {
            assert_eq!(read(none.as_bytes()), [], "{none}");
        }
        let bomb = "<!DOCTYPE x [<!ENTITY a \"b\"><!ENTITY c SYSTEM \"file:///etc/passwd\">]><movie><title>A&a;&c;B</title></movie>";
        assert_eq!(read(bomb.as_bytes()), [], "it declares entities");
        assert_eq!(
            read_one("<movie><title>A&a;&lt;&#x42;&#0;</title></movie>")
                .title
                .as_deref(),
            Some("A<B")
        );
        let odd = read_one(
            "<movie><rating>NaN</rating><year>99999</year><runtime>-5</runtime><premiered>soon</premiered><title> </title></movie>",
        );
        assert_eq!(
            (odd.rating, odd.year, odd.runtime, odd.released, odd.title),
            (None, None, None, None, None)
        );
        let long = format!(
            "<movie><plot>{}</plot>{}</movie>",
            "é".repeat(MAX_TEXT),
            "<tag>x</tag><genre>y</genre>".repeat(5)
        );
        let long = read_one(&long);
        assert_eq!(
            (long.plot.map(|plot| plot.len()), long.tags.len()),
            (Some(MAX_TEXT), 1)
        );
        let many: String = (0..500).map(|number| format!("<tag>{number}</tag>")).collect();
        assert_eq!(read_one(&format!("<movie>{many}</movie>")).tags.len(), MAX_LIST);
        let large: String = (0..100)
            .map(|number| format!("<tag>{number}{}</tag>", "x".repeat(2 << 10)))
            .collect();
        let large = read_one(&format!("<movie>{large}<title>A</title></movie>"));
        let bytes: usize = large.tags.iter().map(String::len).sum();
        assert!((MAX_TEXTS / 2..=MAX_TEXTS).contains(&bytes), "{bytes}");
        assert_eq!(large.title.as_deref(), Some("A"), "there was room for it");
        assert_eq!(
            read("<movie/><movie></movie>".repeat(99).as_bytes()).len(),
            MAX_NOTES
        );
        let deep = format!("<movie><title>A</title>{}<title>B</title>", "<a>".repeat(1000));
        assert_eq!(read_one(&deep).title.as_deref(), Some("A"));
    }

    #[test]
    fn notes_in_other_encodings_are_read() {
        let title = |text: &[u8]| read(text).remove(0).title.unwrap_or_default();
        let western = b"<movie><title>Am\xe9lie \x96 caf\xe9</title></movie>";
        assert_eq!(title(western), "Am\u{e9}lie \u{2013} caf\u{e9}");
        let (cyrillic, ..) =
            encoding_rs::WINDOWS_1251.encode("<title>\u{42f} \u{43d}\u{435}</title></movie>");
        for declaration in [
            "<?xml version=\"1.0\" encoding=\"windows-1251\"?>",
            "\n<?xml version='1.0' encoding = 'CP1251' standalone='yes' ?>",
        ] {
            let text = [declaration.as_bytes(), b"<movie>", &*cyrillic].concat();
            assert_eq!(title(&text), "\u{42f} \u{43d}\u{435}", "{declaration}");
        }
        // What says that it is something else and is UTF-8 is UTF-8; a letter that is cut off changes nothing before it.
        let wide = "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><movie><title>\u{e9}t\u{e9}</title>";
        assert_eq!(title(wide.as_bytes()), "\u{e9}t\u{e9}");
        assert_eq!(title(&[wide.as_bytes(), b"<plot>\xc3"].concat()), "\u{e9}t\u{e9}");
        for odd in [
            "<?xml encoding",
            "<?xml encoding=\"",
            "<?xml encoding=\"utf-16\"?>",
            "<?xml encoding=?>",
        ] {
            let text = [odd.as_bytes(), b"<movie><title>\xe9</title></movie>"].concat();
            let _ = read(&text);
        }
    }

    #[test]
    fn the_largest_nonsense_costs_little() {
        let began = std::time::Instant::now();
        let most = usize::try_from(crate::nfo::MOST).unwrap();
        for part in [
            "&",
            "<",
            "<a>",
            "</a>",
            "<a/>",
            "<!--",
            "<![CDATA[",
            "<?",
            "<!",
            "&#x",
            "<a b='",
            "\u{e9}",
            "<genre>a / b / c</genre>",
            "<tag>a</tag>",
            "<actor><name>a</name></actor>",
            "<ratings><rating max='5'><value>1</value></rating></ratings>",
            "</movie><movie>",
        ] {
            let text = format!("<movie><title>A</title>{}", part.repeat(most / part.len()));
            assert_eq!(read(text.as_bytes())[0].title.as_deref(), Some("A"), "{part}");
            let mut torn = text.into_bytes();
            torn.push(b'\xff');
            assert_eq!(read(&torn)[0].title.as_deref(), Some("A"), "{part}");
        }
        // Far more than it needs, and far less than what grows with the square of the size.
        assert!(began.elapsed() < std::time::Duration::from_mins(1));
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in proptest::collection::vec(any::<u8>(), 0..400), cut in 0..60_usize) {
            read(&text);
            let good = b"<movie><ratings><rating max=\"5\"><value>4</value></rating></ratings></movie>";
            read(&[&good[..cut.min(good.len())], &text].concat());
        }
    }
}
