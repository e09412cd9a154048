//! Files and folders that people asked the service to ignore.

use std::path::{Component, Path};

use qm_kernel::Timestamp;

/// Most ignored places of one library; no further one is added.
pub const MOST: u64 = 20_000;

/// A place that scans skip, with everything below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignored {
    pub id: String,
    pub library_id: String,
    pub place: String,
    pub created_at: Timestamp,
}

/// Place of a path in a library, by its text alone; `None`: it is not below the library's directory.
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
    fn a_path_is_a_place_below_its_library() {
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
