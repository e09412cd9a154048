//! Tables of this area.

pub mod groups;
pub mod lists;
pub mod plans;

/// A text that PostgreSQL can hold.
pub fn clean(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
