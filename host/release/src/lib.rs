//! Parser of release names (names of files and torrents): title, episode, year, quality and group.
//!
//! Pure; no I/O. Never fails: unrecognised parts are left out. Bounds: time is linear in the length of the
//! name, and only the first [`MAX_NAME`] bytes are read.
//!
//! Words and forms of numbers are tables (`words.rs`, `rules.rs`); the other modules choose among the
//! matches.

mod around;
mod dates;
mod group;
mod identity;
mod judge;
mod lex;
mod marks;
mod model;
mod numbers;
mod pattern;
mod quality;
mod quick;
mod read;
mod rules;
mod seasons;
mod title;
mod words;

#[cfg(test)]
mod tests;

pub use identity::identity;
pub use model::{Assumed, ContentType, Decision, Explanation, QuickView, Release};
pub use quick::quick;

/// Largest number of bytes read; no file system or feed has longer names for a good reason.
pub const MAX_NAME: usize = 4096;

/// Parses a release name.
pub fn parse(name: &str) -> Release {
    read::read(clip(name)).release
}

/// Meaning of each part of a name, and the rule that decided.
pub fn explain(name: &str) -> Vec<Decision> {
    read::read(clip(name)).decisions()
}

/// Results of [`parse`] and [`explain`] from one reading of the name.
pub fn parse_with_reasons(name: &str) -> (Release, Vec<Decision>) {
    let reader = read::read(clip(name));
    let decisions = reader.decisions();
    (reader.release, decisions)
}

/// The first [`MAX_NAME`] bytes of a name.
fn clip(name: &str) -> &str {
    &name[..name.floor_char_boundary(MAX_NAME)]
}
