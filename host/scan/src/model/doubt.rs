//! Places whose items a scan must not remove, though it did not see them.
//!
//! A disk that is not mounted leaves an empty directory in its place, or another disk's, or none. Items on another file
//! system than the directory above them are therefore removed only if that file system was seen. It is recognised by its
//! number or, as numbers change when machines start, by something in it that was known before. The library's own directory
//! counts as such a place, and is recognised by its own number too.

use std::collections::HashMap;

/// A directory as the last scan left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownDirectory {
    pub id: String,
    /// Number of its file system, and its own (inode) there; `None`: not known yet.
    pub device: Option<i64>,
    pub inode: Option<i64>,
    /// Nanoseconds since 1970.
    pub mtime: i64,
    /// Time of the last reading, in milliseconds since 1970; `None`: read it again.
    pub read_at: Option<i64>,
    /// Number of times that items came into it other than by a scan.
    pub moves: i64,
    /// Files of items in it, not below it.
    pub items: i64,
    /// Extras in it, not below it.
    pub extras: i64,
}

/// Known directories by their places.
pub type Known = HashMap<String, KnownDirectory>;

/// Present identity of a directory: number of its file system, and its own (inode) there.
pub type Now = (i64, i64);

/// True if a file system must be recognised at this place before anything below counts as removed.
fn is_boundary(known: &Known, place: &str, directory: &KnownDirectory) -> bool {
    let above = qm_media_names::place::parent(place).and_then(|above| known.get(&above));
    above.is_none_or(|above| above.device != directory.device)
}

/// Places where another file system, or none, may be mounted now. At each place with `true` the caller looks for something
/// that was known; below a place with `false` nothing is there to look for.
pub fn suspects(known: &Known, now: impl Fn(&str) -> Option<Now>) -> Vec<(String, bool)> {
    let mut found: Vec<(String, bool)> = Vec::new();
    for (place, directory) in known {
        let Some(device) = directory.device else { continue };
        if !is_boundary(known, place, directory) {
            continue;
        }
        match now(place) {
            None => found.push((place.clone(), false)),
            Some((other, inode)) => {
                let is_other = other != device || (place.is_empty() && directory.inode != Some(inode));
                if is_other {
                    found.push((place.clone(), true));
                }
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(list: &[(&str, i64, i64)]) -> Known {
        list.iter()
            .map(|(place, device, inode)| {
                let directory = KnownDirectory {
                    id: String::new(),
                    device: Some(*device),
                    inode: Some(*inode),
                    mtime: 0,
                    read_at: None,
                    moves: 0,
                    items: 1,
                    extras: 0,
                };
                ((*place).to_owned(), directory)
            })
            .collect()
    }

    #[test]
    fn only_places_of_mounts_are_suspect() {
        let known = known(&[("", 1, 1), ("a", 1, 2), ("a/b", 2, 3), ("a/b/c", 2, 4)]);
        let same = |place: &str| known.get(place).map(|d| (d.device.unwrap(), d.inode.unwrap()));
        assert_eq!(suspects(&known, same), []);
        let removed = |place: &str| same(place).filter(|_| place != "a");
        assert_eq!(
            suspects(&known, removed),
            [],
            "a directory of the same file system"
        );
        let unmounted = |place: &str| match place {
            "a/b" => Some((1, 9)),
            "a/b/c" => None,
            other => same(other),
        };
        assert_eq!(suspects(&known, unmounted), [("a/b".to_owned(), true)]);
        let taken = |place: &str| same(place).filter(|_| !place.starts_with("a/b"));
        assert_eq!(suspects(&known, taken), [("a/b".to_owned(), false)]);
        let renumbered = |place: &str| same(place).map(|(device, inode)| (device + 7, inode));
        assert_eq!(
            suspects(&known, renumbered),
            [(String::new(), true), ("a/b".to_owned(), true)]
        );
        let replaced = |place: &str| {
            if place.is_empty() {
                Some((1, 50))
            } else {
                same(place)
            }
        };
        assert_eq!(suspects(&known, replaced), [(String::new(), true)]);
    }
}
