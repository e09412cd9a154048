//! An index of where data lies: which places are one, or lie in one another, by their paths and by what the file system says.
//!
//! Cost: a sort of all, then for each question a few look-ups a level of its path beside what it finds.

use std::collections::HashMap;

use qm_ports::carry::{DirectoryId, Sighting};

/// A place of data.
#[derive(Clone, Debug)]
pub struct Place {
    /// Absolute and normalised, as a client tells it.
    pub path: String,
    /// Sight that the server has of it.
    pub seen: Option<Sighting>,
}

/// The reason why two places count as one, or as one in the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meeting {
    /// Their paths say so.
    Path,
    /// Only the file system does.
    Identity,
}

/// Places by number.
#[derive(Debug, Default)]
pub struct Places {
    all: Vec<Place>,
    /// Keys of the paths, in order.
    keys: Vec<(String, usize)>,
    /// Directory and name.
    by_entry: HashMap<(DirectoryId, Vec<u8>), Vec<usize>>,
    /// By the directory that they are.
    by_own: HashMap<DirectoryId, Vec<usize>>,
    /// By the directory that they lie in.
    by_parent: HashMap<DirectoryId, Vec<usize>>,
    /// Directories that hold places, by each directory above them.
    below: HashMap<DirectoryId, Vec<DirectoryId>>,
}

impl Places {
    pub fn new(all: Vec<Place>) -> Self {
        let mut keys: Vec<(String, usize)> = all
            .iter()
            .enumerate()
            .map(|(at, place)| (key(&place.path), at))
            .collect();
        keys.sort_unstable();
        let mut places = Self {
            keys,
            ..Self::default()
        };
        for (at, place) in all.iter().enumerate() {
            let Some(seen) = &place.seen else { continue };
            let Some(parent) = seen.above.first() else {
                continue;
            };
            places
                .by_entry
                .entry((*parent, seen.name.clone()))
                .or_default()
                .push(at);
            if let Some(own) = seen.own {
                places.by_own.entry(own).or_default().push(at);
            }
            let siblings = places.by_parent.entry(*parent).or_default();
            siblings.push(at);
            if siblings.len() == 1 {
                for above in seen.above.iter() {
                    places.below.entry(*above).or_default().push(*parent);
                }
            }
        }
        places.all = all;
        places
    }

    pub fn place(&self, at: usize) -> Option<&Place> {
        self.all.get(at)
    }

    /// The other places that are this one, contain it or lie in it, in their order.
    pub fn meeting(&self, at: usize) -> Vec<(usize, Meeting)> {
        let Some(place) = self.all.get(at) else {
            return Vec::new();
        };
        let mut found: HashMap<usize, Meeting> = HashMap::new();
        if let Some(seen) = &place.seen {
            self.by_identity(seen, &mut found);
        }
        self.by_path(&place.path, &mut found);
        found.remove(&at);
        let mut found: Vec<(usize, Meeting)> = found.into_iter().collect();
        found.sort_unstable_by_key(|(at, _)| *at);
        found
    }

    fn by_path(&self, path: &str, found: &mut HashMap<usize, Meeting>) {
        let own = key(path);
        let begin = self.keys.partition_point(|(key, _)| *key < own);
        let is_in = |key: &str| {
            key.strip_prefix(own.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('\0'))
        };
        let within = self.keys[begin..].iter().take_while(|(key, _)| is_in(key));
        let mut alike: Vec<usize> = within.map(|(_, at)| *at).collect();
        for (end, _) in own.match_indices('\0').skip(1) {
            let above = &own[..end];
            let begin = self.keys.partition_point(|(key, _)| key.as_str() < above);
            let same = self.keys[begin..].iter().take_while(|(key, _)| key == above);
            alike.extend(same.map(|(_, at)| *at));
        }
        for at in alike {
            if agree(path, &self.all[at].path) {
                found.insert(at, Meeting::Path);
            }
        }
    }

    fn by_identity(&self, seen: &Sighting, found: &mut HashMap<usize, Meeting>) {
        let mut find = |list: Option<&Vec<usize>>| {
            for at in list.into_iter().flatten() {
                found.insert(*at, Meeting::Identity);
            }
        };
        if let Some(parent) = seen.above.first() {
            find(self.by_entry.get(&(*parent, seen.name.clone())));
        }
        for above in seen.above.iter() {
            find(self.by_own.get(above));
        }
        if let Some(own) = seen.own {
            find(self.by_own.get(&own));
            for parent in self.below.get(&own).into_iter().flatten() {
                find(self.by_parent.get(parent));
            }
        }
    }
}

/// A path as it is sorted: what lies in a directory stands right behind it, and every run of what a client may be unable to
/// write is one `?`.
fn key(path: &str) -> String {
    let mut key = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(letter) = rest.chars().next() {
        let escaped = is_escape(rest.as_bytes());
        let letter_of_key = match letter {
            '/' => '\0',
            letter if letter.is_ascii() && !escaped => letter,
            _ => '?',
        };
        if letter_of_key != '?' || !key.ends_with('?') {
            key.push(letter_of_key);
        }
        rest = &rest[if escaped { ESCAPE } else { letter.len_utf8() }..];
    }
    key
}

/// Bytes of an escape.
const ESCAPE: usize = 3;

/// True if a text begins with a byte that is no ASCII, as rTorrent tells it since 0.15: `%F0`.
fn is_escape(text: &[u8]) -> bool {
    matches!(text, [b'%', b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F', low, ..] if low.is_ascii_hexdigit())
}

/// True if a name may stand for another one, because a client could not write that.
pub fn is_garbled(name: &str) -> bool {
    name.contains(['?', '\u{fffd}']) || name.as_bytes().windows(ESCAPE).any(is_escape)
}

/// True if two paths with one key agree as far as both go.
fn agree(a: &str, b: &str) -> bool {
    let mut names = a.split('/').zip(b.split('/'));
    names.all(|(a, b)| a == b || is_garbled(a) || is_garbled(b))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;

    fn places(paths: &[&str]) -> Places {
        let place = |path: &&str| Place {
            path: (*path).to_owned(),
            seen: None,
        };
        Places::new(paths.iter().map(place).collect())
    }

    #[test]
    fn what_a_client_escapes_may_be_any_other_name() {
        for (told, true_one) in [
            ("/d/%F0%9F%8E%AC film", "/d/\u{1f3ac} film"),
            ("/d/caf%E9.bin", "/d/caf\u{fffd}.bin"),
            ("/d/caf?.bin", "/d/caf\u{e9}.bin"),
        ] {
            assert_eq!(key(told), key(true_one));
            let both = places(&[told, true_one]);
            assert_eq!(met(&both, 0), [1], "{told}");
            assert!(is_garbled(told), "{told}");
        }
        for plain in ["/d/100% real", "/d/50%20off", "/d/%4", "/d/%", "/d/%zz"] {
            assert!(!is_garbled(plain), "{plain}");
            assert_eq!(key(plain), plain.replace('/', "\0"), "{plain}");
        }
    }

    fn met(places: &Places, at: usize) -> Vec<usize> {
        places.meeting(at).into_iter().map(|(at, _)| at).collect()
    }

    fn seen(path: &str, above: &[u64], name: &str, own: Option<u64>) -> Place {
        let id = |inode: u64| (7, inode);
        let above: Vec<DirectoryId> = above.iter().map(|inode| id(*inode)).collect();
        Place {
            path: path.to_owned(),
            seen: Some(Sighting {
                above: Arc::from(above),
                name: name.as_bytes().to_vec(),
                own: own.map(id),
            }),
        }
    }

    #[test]
    fn equal_above_and_below_meet_and_names_that_begin_alike_do_not() {
        let places = places(&[
            "/d/Show",
            "/d/Show/S01",
            "/d/Show 2",
            "/d/Show",
            "/d",
            "/d/Sho",
            "/d/Show/S01/e1",
        ]);
        assert_eq!(met(&places, 0), [1, 3, 4, 6]);
        assert_eq!(met(&places, 1), [0, 3, 4, 6]);
        assert_eq!(met(&places, 2), [4]);
        assert_eq!(met(&places, 5), [4]);
    }

    #[test]
    fn a_name_that_a_client_could_not_write_may_be_any_that_looks_so() {
        let places = places(&[
            "/d/caf?",
            "/d/caf\u{e9}",
            "/d/caf\u{e8}",
            "/d/cafe",
            "/d/\u{fffd}\u{fffd} 1",
            "/d/\u{1f3ac} 1",
            "/d/\u{1f3ac} 2",
        ]);
        assert_eq!(met(&places, 0), [1, 2]);
        assert_eq!(met(&places, 1), [0], "two names that are written whole are two");
        assert_eq!(met(&places, 3), Vec::<usize>::new());
        assert_eq!(met(&places, 4), [5]);
    }

    #[test]
    fn one_place_under_two_paths_is_one_and_a_second_link_to_a_file_is_another() {
        // /data is /downloads on a second mount: directory 3 in 2 in 1; Show is 4, S01 in it 5.
        let places = Places::new(vec![
            seen("/downloads/tv/Show", &[3, 2, 1], "Show", Some(4)),
            seen("/data/tv/Show", &[3, 2, 9], "Show", Some(4)),
            seen("/data/tv/Show/S01/e1", &[5, 4, 3, 2, 9], "e1", None),
            seen("/data/tv", &[2, 9], "tv", Some(3)),
            seen("/data/linked/e1", &[6, 9], "e1", None),
            seen("/data/tv/Other", &[3, 2, 9], "Other", Some(8)),
        ]);
        assert_eq!(met(&places, 0), [1, 2, 3]);
        assert_eq!(met(&places, 2), [0, 1, 3]);
        assert_eq!(met(&places, 3), [0, 1, 2, 5]);
        assert_eq!(met(&places, 4), Vec::<usize>::new());
        assert_eq!(places.meeting(0)[0], (1, Meeting::Identity));
        assert_eq!(places.meeting(1)[2], (3, Meeting::Path));
    }

    proptest! {
        /// As comparing each with each would find it.
        #[test]
        fn the_index_finds_what_comparing_all_finds(paths in prop::collection::vec("(/(a|ab|b|a b|ü|[?])){1,4}", 1..12)) {
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            let places = places(&paths);
            for (at, path) in paths.iter().enumerate() {
                let plain = |other: &&str| Path::new(other).starts_with(path) || Path::new(path).starts_with(other);
                let expected: Vec<usize> = (0..paths.len()).filter(|n| *n != at && plain(&paths[*n])).collect();
                let found = met(&places, at);
                prop_assert!(expected.iter().all(|n| found.contains(n)), "{found:?} {expected:?}");
                let garbled = |n: &usize| is_garbled(path) || is_garbled(paths[*n]);
                prop_assert!(found.iter().all(|n| expected.contains(n) || garbled(n)), "{found:?} {expected:?}");
            }
        }
    }
}
