//! Fields of requests that several rooms read alike.

use qm_web::Fields;

use crate::model::item::{KnownAs, Sort};

/// Most characters of a text.
pub const MAX_TEXT: usize = 512;
/// Greatest year.
pub const MAX_YEAR: i64 = 9999;
/// Greatest number of a season or an episode.
pub const MAX_NUMBER: i64 = 99_999;
/// Description of the form of an outside id, for people.
const IDS: &str =
    "must be SOURCE:ID, with imdb (titledb), tmdb (provider_a) or tvdb (provider_b) as its source";

/// A number from 0 to `most`; `Some(None)`: it is null.
pub fn number(f: &mut Fields<'_>, name: &'static str, most: i64) -> Option<Option<i64>> {
    let is_null = f.is_null(name);
    let number = f.integer(name).min(0).max(most).optional();
    number.map(Some).or(is_null.then_some(None))
}

/// A text; `Some(None)`: it is null.
pub fn nullable_text(f: &mut Fields<'_>, name: &'static str, most: usize) -> Option<Option<String>> {
    let is_null = f.is_null(name);
    let text = f.string(name).max(most).optional();
    text.map(Some).or(is_null.then_some(None))
}

pub fn text(f: &mut Fields<'_>, name: &'static str) -> Option<String> {
    let text = f.string(name).max(MAX_TEXT).optional();
    text.filter(|text| !text.trim().is_empty())
}

/// Order of a list; an unknown word is refused, and the refusal lists the known ones.
pub fn sort(f: &mut Fields<'_>) -> Sort {
    let word = f.string("sort").one_of(&Sort::WORDS).optional();
    word.map(|word| Sort::of(&word)).unwrap_or_default()
}

/// First and last year: `year` is both, `yearFrom` and `yearTo` are one each.
pub fn years(f: &mut Fields<'_>) -> (Option<i64>, Option<i64>) {
    let mut year = |name| f.integer(name).min(0).max(MAX_YEAR).optional();
    let (one, from, to) = (year("year"), year("yearFrom"), year("yearTo"));
    (one.or(from), one.or(to))
}

/// An outside id, as `SOURCE:ID`.
pub fn external(f: &mut Fields<'_>) -> Option<KnownAs> {
    let is_id = |text: &str| text.trim().is_empty() || KnownAs::of(text).is_some();
    let field = f.string("externalId").max(MAX_TEXT).check(is_id, IDS);
    KnownAs::of(&field.optional()?)
}
