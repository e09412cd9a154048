//! The tables of this area.

pub mod bulk;
pub mod details;
pub mod directories;
pub mod downloads;
pub mod enrich;
pub mod external;
pub mod items;
pub mod libraries;
pub mod lists;
pub mod metadata;
pub mod moves;
pub mod names;
pub mod owned;
pub mod probes;
pub mod repair;
pub mod series;
pub mod shows;
pub mod titles;

/// A text that PostgreSQL can hold.
fn clean(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// A pattern of LIKE that finds a part of a text, with `\` before what it would take for a pattern.
fn part(text: &str) -> String {
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
