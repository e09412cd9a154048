//! Release names: what a file or a torrent is called, read as title, episode, year, quality and group.
//!
//! Pure; no I/O. Never fails: what is not recognised is absent. Bounds: every pattern runs in linear time, and of a
//! name the first [`MAX_NAME`] bytes count.

mod episode;
mod identity;
mod model;
mod parse;
mod quick;
mod vocabulary;

#[cfg(test)]
mod tests;

pub use identity::identity;
pub use model::{ContentType, Explanation, QuickView, Release};
pub use parse::parse;
pub use quick::quick;

/// No name of a file system or a feed is longer for a good reason.
pub const MAX_NAME: usize = 4096;

/// The part of a name that counts.
fn clip(name: &str) -> &str {
    &name[..name.floor_char_boundary(MAX_NAME)]
}
