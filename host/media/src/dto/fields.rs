//! Bounds of the fields that several rooms read alike.

/// Most characters of a text.
pub const MAX_TEXT: usize = 512;
/// Greatest year.
pub const MAX_YEAR: i64 = 9999;
/// Greatest number of a season or an episode.
pub const MAX_NUMBER: i64 = 99_999;

/// The text, unless it is blank.
pub fn keep_filled(text: &str) -> Option<String> {
    (!text.trim().is_empty()).then(|| text.to_owned())
}
