//! Release names: what a file or a torrent is called, read as title, episode, year, quality and group.
//!
//! Pure; no I/O. Never fails: what is not recognised is absent. Bounds: the work grows with the name's length and with
//! nothing else, and of a name the first [`MAX_NAME`] bytes count.
//!
//! The words and the shapes of numbers are tables (`words.rs`, `rules.rs`); the rest is how to choose among what they
//! find.

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

/// No name of a file system or a feed is longer for a good reason.
pub const MAX_NAME: usize = 4096;

/// Reads a release name.
pub fn parse(name: &str) -> Release {
    read::read(clip(name)).release
}

/// What each part of a name was taken for, and by which rule.
pub fn explain(name: &str) -> Vec<Decision> {
    read::read(clip(name)).decisions()
}

/// The part of a name that counts.
fn clip(name: &str) -> &str {
    &name[..name.floor_char_boundary(MAX_NAME)]
}
