//! Folders of seasons: `Season 2`, `3. Staffel`, `S04`, `시즌 1`, a number, a release's name.

use std::collections::HashSet;
use std::sync::LazyLock;

use qm_release::parse;
use qm_titles::normalise;

use super::tag;

/// Form in which a folder names its season.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A word that is hardly ever a title: `Season 2`, `S02`, `Specials`.
    Word,
    /// A word that also ends titles: `Series 7`, `Volume 2`.
    Loose,
    /// A number alone.
    Bare,
    /// After the title of a show, or in the name of a release.
    Titled,
}

/// A folder of a season.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Season {
    pub number: i64,
    pub form: Form,
    /// Title of the show, if the folder names it.
    pub title: Option<String>,
}

/// Words for a season, in some forty languages.
const WORDS: &[&str] = &[
    "season",
    "seasons",
    "saison",
    "staffel",
    "temporada",
    "stagione",
    "seizoen",
    "säsong",
    "sæson",
    "sesong",
    "kausi",
    "tuotantokausi",
    "сезон",
    "сезона",
    "sezon",
    "sezonul",
    "sezona",
    "sezóna",
    "sezone",
    "sezóny",
    "séria",
    "évad",
    "hooaeg",
    "sezonas",
    "sezons",
    "σεζόν",
    "κύκλος",
    "עונה",
    "الموسم",
    "موسم",
    "فصل",
    "सीज़न",
    "সিজন",
    "சீசன்",
    "ซีซั่น",
    "ซีซัน",
    "mùa",
    "musim",
    "시즌",
    "シーズン",
    "季",
    "þáttaröð",
    "sería",
    "denboraldia",
    "tempada",
    "série",
    "seria",
    "сезони",
    "мавсим",
    "маусым",
    "հատված",
    "სეზონი",
    "sraith",
    "cyfres",
    "panahon",
    "vuosi",
    "reeks",
];
/// Words that also end titles.
const LOOSE: &[&str] = &[
    "series", "serie", "volume", "vol", "book", "year", "cycle", "livre", "serien",
];
const SPECIALS: &[&str] = &[
    "special",
    "specials",
    "spezial",
    "spezials",
    "sonderfolgen",
    "especiales",
    "especiais",
    "especial",
    "speciali",
    "spéciaux",
    "épisodes spéciaux",
    "hors série",
    "specialer",
    "спецвыпуски",
    "спешл",
    "specjalne",
    "odcinki specjalne",
    "speciály",
    "extra",
    "extras",
    "bonus",
    "ova",
    "ovas",
    "スペシャル",
    "特典",
    "特别篇",
    "番外編",
    "番外篇",
    "스페셜",
    "특별편",
];
const NUMBERS: &[&str] = &[
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
];
const ROMAN: &[&str] = &[
    "", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii",
];
const HAN: &str = "零一二三四五六七八九十";
/// Endings of ordinal numbers.
const ORDINALS: &[&str] = &[
    "st", "nd", "rd", "th", "a", "o", "e", "er", "eme", "ª", "º", "ra", "da", "ta", "ste", "de",
];

fn set(words: &[&str]) -> HashSet<String> {
    words.iter().map(|word| normalise(word)).collect()
}

static WORD_SET: LazyLock<HashSet<String>> = LazyLock::new(|| set(WORDS));
static LOOSE_SET: LazyLock<HashSet<String>> = LazyLock::new(|| set(LOOSE));
static SPECIAL_SET: LazyLock<HashSet<String>> = LazyLock::new(|| set(SPECIALS));

/// Season that a folder names.
pub fn season(folder: &str) -> Option<Season> {
    let (name, _) = tag::split(folder);
    let plain = normalise(&name);
    if SPECIAL_SET.contains(&plain) {
        return Some(new_season(0, Form::Word, None));
    }
    let tokens: Vec<&str> = plain.split(' ').filter(|token| !token.is_empty()).collect();
    plain_form(&tokens, name.contains(" - "))
        .or_else(|| titled(&name, &tokens))
        .or_else(|| of_release(&name))
}

/// Season of a folder that holds only one season, whatever is above it. `is_called`: a hyphen is before the name of the
/// season.
fn plain_form(tokens: &[&str], is_called: bool) -> Option<Season> {
    let (number, form, used) = numbered(tokens)?;
    let rest = &tokens[used..];
    let is_dated = matches!(rest, [] | [_]) && rest.iter().all(|token| is_year(token));
    match form {
        // What follows is what the season is called.
        Form::Word if tokens.len() > 1 && used > 1 => Some(new_season(number, form, None)),
        Form::Loose if is_called => Some(new_season(number, form, None)),
        _ if is_dated => Some(new_season(number, form, None)),
        _ => None,
    }
}

/// Number with its word at the beginning of a name, its form, and the count of tokens used.
fn numbered(tokens: &[&str]) -> Option<(i64, Form, usize)> {
    let first = *tokens.first()?;
    let word = |token: &str| match () {
        () if WORD_SET.contains(token) => Some(Form::Word),
        () if LOOSE_SET.contains(token) => Some(Form::Loose),
        () => None,
    };
    if let Some(form) = word(first)
        && let Some(number) = tokens.get(1).and_then(|token| counted(token))
    {
        return Some((number, form, 2));
    }
    if let Some(second) = tokens.get(1)
        && let (Some(number), Some(form)) = (ordinal(first), word(second))
    {
        return Some((number, form, 2));
    }
    if let Some(number) = short(first).or_else(|| eastern(first)) {
        return Some((number, Form::Word, 1));
    }
    // Word and number in one.
    let digits = first.find(|letter: char| letter.is_ascii_digit());
    if let Some(at) = digits.filter(|at| *at > 0)
        && let (Some(form), Some(number)) = (word(&first[..at]), number(&first[at..]))
    {
        return Some((number, form, 1));
    }
    number(first).map(|number| (number, Form::Bare, 1))
}

/// Season behind the title of a show.
fn titled(name: &str, tokens: &[&str]) -> Option<Season> {
    for at in 1..tokens.len() {
        let Some((number, form, used)) = numbered(&tokens[at..]) else {
            continue;
        };
        let rest = &tokens[at + used..];
        let is_end = rest.iter().all(|token| is_year(token)) && rest.len() < 2;
        if form == Form::Word && is_end {
            let title = before(name, at);
            let title = Some(title).filter(|title| !title.is_empty());
            return Some(new_season(number, Form::Titled, title));
        }
    }
    None
}

/// The first words of a name, as they are written.
fn before(name: &str, words: usize) -> String {
    let (mut seen, mut inside, mut end) = (0, false, name.len());
    for (at, letter) in name.char_indices() {
        let is_word = !normalise(&letter.to_string()).is_empty()
            || (inside && !letter.is_whitespace() && "'’".contains(letter));
        if is_word && !inside {
            seen += 1;
            if seen > words {
                end = at;
                break;
            }
        }
        inside = is_word;
    }
    let title = name[..end].replace(['.', '_'], " ");
    title.trim_matches([' ', '-', '(', '[', ',']).to_owned()
}

fn of_release(name: &str) -> Option<Season> {
    let release = parse(name);
    let season = release
        .season
        .filter(|_| release.episode.is_none() && release.seasons.len() < 2)?;
    let title = release.named().map(std::borrow::Cow::into_owned);
    Some(new_season(i64::from(season), Form::Titled, title))
}

fn new_season(number: i64, form: Form, title: Option<String>) -> Season {
    Season { number, form, title }
}

fn is_year(token: &str) -> bool {
    token.len() == 4 && number(token).is_some_and(|year| (1900..2100).contains(&year))
}

/// A number of at most four digits.
fn number(token: &str) -> Option<i64> {
    let fits = (1..=4).contains(&token.len()) && token.bytes().all(|digit| digit.is_ascii_digit());
    token.parse().ok().filter(|_| fits)
}

/// Number behind a word, in any way to write one.
fn counted(token: &str) -> Option<i64> {
    let at = |list: &[&str]| list.iter().position(|word| !word.is_empty() && *word == token);
    number(token)
        .or_else(|| {
            at(NUMBERS)
                .or_else(|| at(ROMAN))
                .and_then(|at| i64::try_from(at).ok())
        })
        .or_else(|| han(token))
}

/// Number before a word: `3`, `2nd`, `1ª`.
fn ordinal(token: &str) -> Option<i64> {
    let end = token
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(token.len());
    let rest = &token[end..];
    number(&token[..end]).filter(|_| rest.is_empty() || ORDINALS.contains(&rest))
}

/// Number of a token such as `s02`.
fn short(token: &str) -> Option<i64> {
    number(token.strip_prefix('s')?)
}

fn han(token: &str) -> Option<i64> {
    let mut letters = token.chars();
    let value = |letter: char| HAN.chars().position(|known| known == letter);
    let first = value(letters.next()?)?;
    let number = match (first, letters.next()) {
        (first, None) => first,
        (10, Some(second)) => 10 + value(second)?,
        _ => return None,
    };
    i64::try_from(number).ok().filter(|_| letters.next().is_none())
}

/// Number of a token such as `第2季`, `2기`, `第二期`, `시즌1`, without a space.
fn eastern(token: &str) -> Option<i64> {
    const ENDS: [&str; 7] = ["季", "期", "기", "部", "シーズン", "시즌", "シリース"];
    let is_counted = token.starts_with('第') || token.starts_with(&normalise("제"));
    let rest = token.strip_prefix('第').unwrap_or(token);
    let start = normalise("제");
    let rest = rest.strip_prefix(start.as_str()).unwrap_or(rest);
    let number_of = |text: &str| number(text).or_else(|| han(text));
    ENDS.iter()
        .find_map(|end| rest.strip_suffix(normalise(end).as_str()).and_then(number_of))
        .or_else(|| is_counted.then(|| number_of(rest)).flatten())
}
