//! Reader of XML as sites write it: read as far as it goes, whatever is wrong with it.
//!
//! A [`Walk`] tells of elements and texts in order. Elements that nobody closes are closed with what they lie in; what ends in
//! the middle ends there. Entities that a document declares are not read: an unknown one stays as it is written.
//!
//! Pure: no I/O. Bounds are the caller's [`Options`]; at most 16 warnings. Components of plugins use it too.

mod options;
mod references;
mod walk;

pub use options::{LongValue, Oddity, Options, TooDeep};
pub use references::References;
pub use walk::{Broken, Element, Fault, Node, Walk};

/// The beginning of a text, at most so many bytes of whole characters.
pub fn clip(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}
