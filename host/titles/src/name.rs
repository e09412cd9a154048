//! Normal forms of names for comparison: without case, diacritics and punctuation.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use crate::score::part_number;

/// Most characters of a name that are compared.
pub const MAX_NAME: usize = 200;

/// Signs of elision, however they are written.
const APOSTROPHES: [char; 6] = ['\'', '’', '‘', '`', '´', 'ʼ'];

/// Letters that cannot be split into a letter and a mark, with the spelling of people who do not have them.
const PLAIN: &[(char, &str)] = &[
    ('ß', "ss"),
    ('æ', "ae"),
    ('œ', "oe"),
    ('ø', "o"),
    ('ł', "l"),
    ('đ', "d"),
    ('ð', "d"),
    ('þ', "th"),
    ('ı', "i"),
    ('ħ', "h"),
];

/// Normal form of a text: compatibility forms, no diacritics, lower case, `&` as `and`, anything but letters and digits as
/// one space; the first [`MAX_NAME`] characters of that.
pub fn normalise(text: &str) -> String {
    normalise_by(text, char::is_alphanumeric, MAX_NAME)
}

/// Normal form with `is_letter` as the test for letters and digits, and at most `most` characters.
fn normalise_by(text: &str, is_letter: impl Fn(char) -> bool, most: usize) -> String {
    let mut name = String::with_capacity(text.len());
    let mut length = 0;
    let mut push = |letter: char, name: &mut String| {
        if length >= most {
            return;
        }
        if is_letter(letter) {
            name.push(letter);
            length += 1;
        } else if !name.is_empty() && !name.ends_with(' ') {
            name.push(' ');
            length += 1;
        }
    };
    for letter in text.nfkd().filter(|letter| !is_combining_mark(*letter)) {
        if letter == '&' {
            for letter in " and ".chars() {
                push(letter, &mut name);
            }
            continue;
        }
        for lower in letter.to_lowercase().filter(|lower| !is_combining_mark(*lower)) {
            push(lower, &mut name);
        }
    }
    let end = name.trim_end().len();
    name.truncate(end);
    name
}

/// Form that is equal for two spellings of one title: [`normalise`]d, without apostrophes, initials as one word.
pub fn folded(title: &str) -> String {
    folded_by(title, char::is_alphanumeric, MAX_NAME)
}

/// Normal form with `is_letter` as the test for letters and digits, and at most `most` characters.
pub fn folded_by(title: &str, is_letter: impl Fn(char) -> bool, most: usize) -> String {
    let mut plain = String::with_capacity(title.len());
    let letters = title.chars().take(2 * most).flat_map(char::to_lowercase);
    for letter in letters.filter(|letter| !APOSTROPHES.contains(letter)) {
        match PLAIN.iter().find(|(known, _)| *known == letter) {
            Some((_, written)) => plain.push_str(written),
            None => plain.push(letter),
        }
    }
    let name = normalise_by(&plain, is_letter, most);
    let mut folded = String::with_capacity(name.len());
    let mut before = false;
    for word in name.split(' ') {
        let initial = word.len() == 1 && word.bytes().all(|letter| letter.is_ascii_alphabetic());
        let joins = initial && before;
        if !joins && !folded.is_empty() {
            folded.push(' ');
        }
        folded.push_str(word);
        before = initial;
    }
    folded
}

/// Key of a series' title: [`normalise`]d, only letters and digits, of every script.
pub fn key(title: &str) -> String {
    let mut key = normalise(title);
    key.retain(char::is_alphanumeric);
    key
}

/// Articles that lists put behind the title.
const ARTICLES: &[&str] = &[
    "the", "a", "an", "le", "la", "les", "l'", "un", "une", "der", "die", "das", "ein", "eine", "el", "los",
    "las", "una", "il", "lo", "i", "gli", "de", "het", "een", "den", "det", "en", "ett", "o", "os", "as",
    "um", "uma",
];

/// Title with its article moved to the front, if it is behind: `Title, The`.
pub fn turned(title: &str) -> Cow<'_, str> {
    let title = title.trim();
    let turned = title.rsplit_once(',').and_then(|(rest, last)| {
        let article = last.trim().to_lowercase().replace('’', "'");
        ARTICLES
            .contains(&&*article)
            .then(|| format!("{} {rest}", last.trim()))
    });
    turned.map_or(Cow::Borrowed(title), Cow::Owned)
}

/// Form that is equal for two titles that count as one: [`folded`], an article at the end moved to the front, numbers of
/// parts as digits, without spaces.
pub fn canonical(title: &str) -> String {
    let name = folded(&turned(title));
    let words: Vec<&str> = name.split(' ').collect();
    let mut joined = String::with_capacity(name.len());
    for (at, word) in words.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| words[before]);
        match part_number(before, word, at + 1 == words.len()) {
            Some(number) => joined.push_str(&number.to_string()),
            None => joined.push_str(word),
        }
    }
    joined
}

/// Likeness of two normalised names, 0 to 1.
pub fn similarity(one: &str, other: &str) -> f64 {
    if one == other {
        return 1.0;
    }
    let longest = one.chars().count().max(other.chars().count());
    if longest == 0 {
        return 0.0;
    }
    1.0 - strsim::levenshtein(one, other) as f64 / longest as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_without_what_people_leave_out() {
        for (text, name) in [
            ("Amélie", "amelie"),
            ("  Tom & Jerry!! ", "tom and jerry"),
            ("M*A*S*H", "m a s h"),
            ("ｗｉｄｅ", "wide"),
            ("Ⅳ", "iv"),
            ("Wall·E", "wall e"),
            ("İstanbul", "istanbul"),
            ("千と千尋の神隠し", "千と千尋の神隠し"),
            ("???", ""),
            ("", ""),
        ] {
            assert_eq!(normalise(text), name, "{text}");
        }
        assert_eq!(normalise(&"ab ".repeat(500)).chars().count(), MAX_NAME);
        assert_eq!(key("The Office (US)"), "theofficeus");
        assert_eq!(
            (key("千"), key("Тайна 24")),
            ("千".to_owned(), "таина24".to_owned())
        );
    }

    #[test]
    fn spellings_of_one_title_are_folded_together() {
        for (one, other) in [
            ("S.W.A.T.", "SWAT"),
            ("S W A T", "swat"),
            ("Tom & Jerry", "Tom and Jerry"),
            ("Pokémon", "pokemon"),
            ("Grey’s Harbor", "Greys Harbor"),
            ("L'Été Indien", "LEte Indien"),
            ("The A.B.C. Canals", "The ABC Canals"),
            ("Søren’s Straße", "Sorens Strasse"),
        ] {
            assert_eq!(folded(one), folded(other), "{one}");
        }
        assert_eq!(folded("Plan B"), "plan b");
        assert_eq!(folded("7-4-2"), "7 4 2");
        assert_eq!(folded("!!!"), "");
        assert!(folded(&"é".repeat(5000)).chars().count() <= MAX_NAME);
    }

    #[test]
    fn titles_are_one_or_not() {
        for (one, other) in [
            ("The Red House", "Red House, The"),
            ("Les Oiseaux", "Oiseaux, Les"),
            ("Tom & Jerry", "Tom and Jerry"),
            ("Spider-Fox", "Spider Fox"),
            ("Café Noir", "Cafe noir"),
            ("S.W.A.T.", "SWAT"),
            ("Тайна 24", "ТАЙНА 24"),
            ("Tide II", "Tide 2"),
            ("Tide: Part Two", "Tide Part 2"),
            ("Harbor Episode IV - A Ship", "Harbor: Episode 4 A Ship"),
        ] {
            assert_eq!(canonical(one), canonical(other), "{one}");
        }
        for (one, other) in [
            ("The Red House", "The Red Horse"),
            ("Тайна 24", "24"),
            ("Tide 2", "Tide"),
            ("Before, After", "After Before"),
            ("Malcolm X", "Malcolm 10"),
            ("Tide II", "Tide"),
            ("Ii and Tide", "2 and Tide"),
        ] {
            assert_ne!(canonical(one), canonical(other), "{one}");
        }
    }

    #[test]
    fn likeness_counts_letters() {
        assert!((similarity("heat", "heat") - 1.0).abs() < 1e-9);
        assert!((similarity("heat", "heap") - 0.75).abs() < 1e-9);
        assert!(similarity("", "").abs() > 0.9, "both are the same");
        assert!(similarity("a", "zzzz").abs() < 1e-9);
    }
}
