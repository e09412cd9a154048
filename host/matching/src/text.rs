//! Names and patterns as words: lower case, without separators, and with the words of the title marked.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// Alphabet used for words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    /// `a` to `z` and digits; every other character separates words.
    Latin,
    /// Letters of every script, for patterns that would have no letters left otherwise.
    Any,
}

impl Script {
    /// Alphabet of a pattern or term: one with letters but none from `a` to `z` would be empty, or a bare
    /// number, in Latin, and would match unintended names.
    pub(crate) fn of_text(text: &str) -> Self {
        let has_latin = text.bytes().any(|letter| letter.is_ascii_alphabetic());
        if !has_latin
            && text
                .chars()
                .any(|letter| !letter.is_ascii() && letter.is_alphanumeric())
        {
            Self::Any
        } else {
            Self::Latin
        }
    }

    fn has(self, letter: char) -> bool {
        match self {
            Self::Latin => letter.is_ascii_alphanumeric(),
            Self::Any => letter.is_alphanumeric(),
        }
    }
}

/// A normalized text, with the letters of a script.
pub(crate) fn normalize(text: &str, script: Script) -> String {
    qm_titles::folded_by(text, |letter| script.has(letter), qm_release::MAX_NAME)
}

/// [`normalize`] for Latin letters, without spaces.
pub(crate) fn compact(text: &str) -> String {
    let mut text = normalize(text, Script::Latin);
    text.retain(|letter| letter != ' ');
    text
}

/// Words about a release's format that occur in no title, sorted.
const FORMAT: &[&str] = &[
    "1080i", "1080p", "10bit", "2160p", "480p", "720p", "av1", "avc", "bdrip", "bluray", "brrip", "dvd",
    "dvdrip", "h264", "h265", "hdr", "hdr10", "hdrip", "hdtv", "hevc", "multi", "proper", "remux", "repack",
    "web", "webdl", "webrip", "x264", "x265", "xvid",
];

/// True for a normalized word about the format, or an episode number: `s01e02`, `1x02`.
pub(crate) fn is_format(word: &str) -> bool {
    FORMAT.binary_search(&word).is_ok() || is_episode(word)
}

/// `s01e02` or `1x02`.
pub(crate) fn is_episode(word: &str) -> bool {
    let digits = |text: &str, most: usize| {
        (1..=most).contains(&text.len()) && text.bytes().all(|digit| digit.is_ascii_digit())
    };
    let parted = |text: &str, at: char| {
        text.split_once(at)
            .is_some_and(|(season, episode)| digits(season, 2) && digits(episode, 4))
    };
    word.strip_prefix('s').is_some_and(|rest| parted(rest, 'e')) || parted(word, 'x')
}

/// 1900 to 2099.
fn is_year(word: &str) -> bool {
    word.len() == 4
        && (word.starts_with("19") || word.starts_with("20"))
        && word.bytes().all(|digit| digit.is_ascii_digit())
}

/// Words without one leading article; a lone article stays.
pub(crate) fn without_article<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let from = usize::from(words.len() > 1 && matches!(words[0], "the" | "a" | "an"));
    words[from..].to_vec()
}

/// First marker of an episode in a normalized name: the show's title stands before it.
static MARKER: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"s[0-9]{1,2} ?e[0-9]|(?-u:\b)[0-9]{1,2}x[0-9]|(?-u:\b)season(?-u:\b)";
    Regex::new(pattern).unwrap_or_else(|error| unreachable!("{pattern}: {error}"))
});

/// Byte range of a word.
type Place = Range<usize>;

/// A name, normalized once and used many times.
#[derive(Debug)]
pub(crate) struct Text {
    letters: String,
    /// All words in order.
    words: Vec<Place>,
    /// All words, sorted alphabetically.
    sorted: Vec<Place>,
    /// Words before the first marker, sorted; all words without a marker.
    region: Vec<Place>,
    /// Words of the title: from the start without an article up to a year or a format word.
    title: Vec<Place>,
    pub(crate) has_marker: bool,
}

fn places(text: &str) -> Vec<Place> {
    let mut from = 0;
    text.split(' ')
        .map(|word| {
            let place = from..from + word.len();
            from = place.end + 1;
            place
        })
        .filter(|place| !place.is_empty())
        .collect()
}

impl Text {
    pub(crate) fn new(name: &str, script: Script) -> Self {
        let text = normalize(name, script);
        let words = places(&text);
        let marker = MARKER.find(&text).map(|marker| marker.start());
        let region = places(text[..marker.unwrap_or(text.len())].trim_end());
        let word = |place: &Place| &text[place.clone()];
        let article = region.len() > 1 && matches!(word(&region[0]), "the" | "a" | "an");
        let title: Vec<Place> = region[usize::from(article)..]
            .iter()
            .enumerate()
            .take_while(|(at, place)| *at == 0 || !(is_year(word(place)) || is_format(word(place))))
            .map(|(_, place)| place.clone())
            .collect();
        let by_word = |mut places: Vec<Place>| {
            places.sort_unstable_by(|a, b| word(a).cmp(word(b)));
            places
        };
        let (sorted, region) = (by_word(words.clone()), by_word(region));
        Self {
            words,
            sorted,
            region,
            title,
            has_marker: marker.is_some(),
            letters: text,
        }
    }

    /// The whole name, normalized.
    pub(crate) fn text(&self) -> &str {
        &self.letters
    }

    pub(crate) fn has(&self, word: &str) -> bool {
        self.is_among(&self.sorted, word)
    }

    /// True when the word occurs before the first marker.
    pub(crate) fn has_in_region(&self, word: &str) -> bool {
        self.is_among(&self.region, word)
    }

    fn is_among(&self, sorted: &[Place], word: &str) -> bool {
        sorted
            .binary_search_by(|place| self.letters[place.clone()].cmp(word))
            .is_ok()
    }

    fn is_word(&self, place: &Place, word: &str) -> bool {
        &self.letters[place.clone()] == word
    }

    /// The title as it was read.
    pub(crate) fn title(&self) -> String {
        let words: Vec<&str> = self
            .title
            .iter()
            .map(|place| &self.letters[place.clone()])
            .collect();
        words.join(" ")
    }

    fn title_is(&self, title: &[String]) -> bool {
        self.title.len() == title.len()
            && self
                .title
                .iter()
                .zip(title)
                .all(|(place, word)| self.is_word(place, word))
    }

    /// True when the name begins with these words, apart from an article, and an end of a title follows.
    fn begins_with(&self, title: &[String]) -> bool {
        let article = self.words.len() > 1
            && ["the", "a", "an"]
                .iter()
                .any(|article| self.is_word(&self.words[0], article));
        let words = &self.words[usize::from(article)..];
        words.len() >= title.len()
            && words
                .iter()
                .zip(title)
                .all(|(place, word)| self.is_word(place, word))
            && words.get(title.len()).is_none_or(|place| {
                let next = &self.letters[place.clone()];
                next == "season" || is_year(next) || is_format(next)
            })
    }
}

/// Title of a show or movie, for comparison with names.
#[derive(Clone, Debug)]
pub(crate) struct Title {
    words: Vec<String>,
    /// True when it contains a year or a format word, so that no title extracted from a name could equal it.
    holds_a_cut: bool,
}

impl Title {
    /// `normalized` is the normalized text.
    pub(crate) fn new(normalized: &str) -> Self {
        let words: Vec<&str> = normalized.split(' ').filter(|word| !word.is_empty()).collect();
        let words: Vec<String> = without_article(&words).into_iter().map(str::to_owned).collect();
        let cuts = |word: &String| word == "season" || is_year(word) || is_format(word);
        Self {
            holds_a_cut: words.iter().skip(1).any(cuts) || words.first().is_some_and(|word| word == "season"),
            words,
        }
    }

    /// True when a name has this title: the words before the marker, up to a year or a format word, are
    /// exactly these. A title with such a word (`Charlotte's Web`, `Atlas 2023`) must begin the name,
    /// followed by nothing, a year, a format word or a marker.
    pub(crate) fn is_of(&self, name: &Text) -> bool {
        name.title_is(&self.words) || (self.holds_a_cut && name.begins_with(&self.words))
    }

    /// True when another normalized title is the same.
    pub(crate) fn equals(&self, normalized: &str) -> bool {
        let words: Vec<&str> = normalized.split(' ').filter(|word| !word.is_empty()).collect();
        without_article(&words) == self.words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalized() {
        for (text, expected) in [
            ("A.B.'s_Corner - S01E02!", "abs corner s01e02"),
            ("  Don’t  Look-Up ", "dont look up"),
            ("進撃 Élan", "elan"),
            ("Tide & Moth", "tide and moth"),
            ("S.W.O.P.", "swop"),
            ("", ""),
        ] {
            assert_eq!(normalize(text, Script::Latin), expected);
        }
        assert_eq!(normalize("進撃の巨人.第2期", Script::Any), "進撃の巨人 第2期");
        assert_eq!(compact("WEB-DL"), "webdl");
    }

    #[test]
    fn the_words_of_format_are_sorted() {
        assert!(FORMAT.is_sorted());
    }

    #[test]
    fn titles() {
        for (pattern, name, expected) in [
            ("Rise", "The Rise of Morning S01E01", false),
            ("9-1-1", "9-1-1.Lone.Star.S01E01", false),
            ("9-1-1", "9-1-1.2018.S01E01", true),
            ("The Keeper", "Keeper 2021 S01E01", true),
            ("1944", "1944.S01E01", true),
            ("The 1944", "1944.2021.1080p", true),
            ("The", "The S01E01", true),
            ("Harbor Nine", "harbor_nine.1x05.avi", true),
            ("Harbor Nine", "Harbor Nine Season 2 Episode 4", true),
            ("Harbor Nine", "Harbor.Nine.S02.E04", true),
            ("Harbor Nine", "Harbor.Nine.1080p.WEB", true),
            ("Harbor Nine", "Harbor.Nine.Returns.1080p.WEB", false),
            ("Harbor", "Harbor.Nine.S01E01", false),
            // Words that end a title and occur in it.
            ("Charlotte's Web", "Charlottes.Web.2006.1080p.BluRay", true),
            ("Charlotte's Web", "Charlottes.Web.Diaries.2006", false),
            ("Atlas 2023", "Atlas.2023.S02E03.1080p", true),
            ("Atlas 2023", "Atlas.2024.S02E03.1080p", false),
            ("Open Season", "Open.Season.2006.1080p", true),
            ("Open Season", "Open.Season.S01E02", true),
            ("Season", "Season.S01E02", true),
            ("Open Season", "Open.Seas.2006", false),
            // Titles as users write them.
            ("Tide & Moth", "Tide.and.Moth.S01E02", true),
            ("Tide and Moth", "Tide.&.Moth.S01E02", true),
            ("S.W.O.P.", "SWOP.S01E02.1080p", true),
            ("SWOP", "S.W.O.P.S01E02.1080p", true),
            ("Pokéhouse", "Pokehouse.S01E02", true),
            ("Pokehouse", "Pokéhouse.S01E02", true),
            ("Grey's Harbor", "Greys.Harbor.S01E02", true),
            ("Greys Harbor", "Grey´s Harbor 1x02", true),
            ("Tide & Moth", "Tide.Moth.S01E02", false),
        ] {
            let title = Title::new(&normalize(pattern, Script::Latin));
            let name_read = Text::new(name, Script::Latin);
            assert_eq!(
                title.is_of(&name_read),
                expected,
                "{pattern} in {name}: {}",
                name_read.title()
            );
        }
    }

    #[test]
    fn the_region_is_cut_at_the_first_marker() {
        for (name, expected) in [
            ("Harbor.Nine.S01E02.Tide", "harbor nine"),
            ("Harbor.Nine.1920x1080", "harbor nine 1920x1080"),
            ("ShowS01E02", "show"),
        ] {
            assert_eq!(Text::new(name, Script::Latin).title(), expected);
        }
    }
}
