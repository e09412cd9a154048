//! Tables of libraries, items and shows.

pub mod bulk;
pub mod copies;
pub mod details;
pub mod downloads;
pub mod external;
pub mod extras;
pub mod ignored;
pub mod items;
pub mod libraries;
pub mod lists;
pub mod metadata;
pub mod names;
pub mod series;
pub mod show_lists;
pub mod shows;
pub mod suggestions;
pub mod titles;

/// Keys for [`qm_db::each`], filled up for as few statements as possible: it asks for 64, for 8 and for single ones. No row
/// has the filling key.
pub fn filled<'a>(keys: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut keys: Vec<&str> = keys.collect();
    match keys.len() {
        0 | 1 => {}
        2..=8 => keys.resize(8, ""),
        many => keys.resize(many.next_multiple_of(64), ""),
    }
    keys
}

/// A text that PostgreSQL can hold.
pub fn clean(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// Pattern of LIKE that finds a part of a text; special characters get a `\` before them.
pub fn part(text: &str) -> String {
    let mut pattern = String::from("%");
    for c in clean(text).chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}
