//! Files and folders that people have had forgotten.

use std::collections::HashSet;
use std::path::{Component, Path};

use qm_kernel::Timestamp;

use super::place;

/// Places of one library that are ignored; beyond them none is added.
pub const MOST: u64 = 20_000;

/// A place that scans pass over, with all that lies below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignored {
    pub id: String,
    pub library_id: String,
    pub place: String,
    pub created_at: Timestamp,
}

/// True if a place, or one above it, is among those that are ignored.
pub fn is_ignored(ignored: &HashSet<String>, place: &str) -> bool {
    if ignored.is_empty() {
        return false;
    }
    let mut at = Some(place.to_owned());
    while let Some(place) = at.filter(|place| !place.is_empty()) {
        if ignored.contains(&place) {
            return true;
        }
        at = place::parent(&place);
    }
    false
}

/// The place of a path in a library, by its text alone; `None`: it is not below the library's directory.
pub fn place_in(library: &str, path: &str) -> Option<String> {
    let below = Path::new(path).strip_prefix(library).ok()?;
    let is_plain = !path.contains('\0')
        && below
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
    let place: Vec<&str> = below.iter().filter_map(|part| part.to_str()).collect();
    (is_plain && !place.is_empty()).then(|| place.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_ignored_with_what_lies_below() {
        let ignored: HashSet<String> = ["a/b.mkv", "c"].map(str::to_owned).into();
        for (place, expected) in [
            ("a/b.mkv", true),
            ("a/b.mkv.mkv", false),
            ("a", false),
            ("c", true),
            ("c/d/e.mkv", true),
            ("cd/e.mkv", false),
            ("", false),
        ] {
            assert_eq!(is_ignored(&ignored, place), expected, "{place}");
        }
        for (path, expected) in [
            ("/films/a/b.mkv", Some("a/b.mkv")),
            ("/films/a//b/", Some("a/b")),
            ("/films", None),
            ("/films/../x", None),
            ("/filmsx/a", None),
            ("a/b.mkv", None),
            ("/films/a\0", None),
        ] {
            assert_eq!(place_in("/films", path).as_deref(), expected, "{path}");
        }
    }
}
