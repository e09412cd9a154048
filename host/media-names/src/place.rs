//! Places: paths below a library's directory as texts.
//!
//! Names on a disk are bytes. A UTF-8 path is its own text; another one is percent-encoded after a slash, with which no
//! relative path begins. So every path has one text, and every text one path.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, percent_encode};

/// The text of a path's bytes.
pub fn encode(path: &[u8]) -> String {
    match std::str::from_utf8(path) {
        // PostgreSQL keeps no NUL, and no path has one.
        Ok(text) => text.to_owned(),
        Err(_) => format!("/{}", percent_encode(path, NON_ALPHANUMERIC)),
    }
}

/// The bytes of a path's text.
pub fn decode(place: &str) -> Vec<u8> {
    match place.strip_prefix('/') {
        None => place.as_bytes().to_vec(),
        Some(encoded) => percent_decode_str(encoded).collect(),
    }
}

/// Path as people see it: bytes that are not UTF-8 become U+FFFD.
pub fn shown(place: &str) -> String {
    if place.starts_with('/') {
        String::from_utf8_lossy(&decode(place)).into_owned()
    } else {
        place.to_owned()
    }
}

/// The whole path of a place in a library, as people are shown it.
pub fn absolute(library: &str, place: &str) -> String {
    if place.is_empty() {
        library.to_owned()
    } else {
        format!("{}/{}", library.trim_end_matches('/'), shown(place))
    }
}

/// The directory above; `None` for the library's own. Both as texts.
pub fn parent(place: &str) -> Option<String> {
    if place.is_empty() {
        return None;
    }
    let path = decode(place);
    let end = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    Some(encode(&path[..end]))
}

/// The first folder of a path and whether anything lies below it.
pub fn top(place: &str) -> (String, bool) {
    let path = decode(place);
    match path.iter().position(|byte| *byte == b'/') {
        Some(end) => (encode(&path[..end]), true),
        None => (place.to_owned(), false),
    }
}

/// True if `place` is `above` or lies below it.
pub fn is_within(place: &str, above: &str) -> bool {
    if above.is_empty() || place == above {
        return true;
    }
    if !place.starts_with('/') && !above.starts_with('/') {
        return place
            .strip_prefix(above)
            .is_some_and(|rest| rest.starts_with('/'));
    }
    let (place, above) = (decode(place), decode(above));
    place
        .strip_prefix(&above[..])
        .is_some_and(|rest| rest.first() == Some(&b'/'))
}

/// Two ranges of texts that hold all places below a directory and no others: of UTF-8 paths, and of other paths. The upper
/// ends are not included.
pub fn ranges(directory: &str) -> [(String, String); 2] {
    let mut path = decode(directory);
    path.push(b'/');
    // The text of a slash ends with an F, behind which the G stands; and a zero stands behind the slash itself.
    let odd = format!("/{}", percent_encode(&path, NON_ALPHANUMERIC));
    let odd = (odd.clone(), format!("{}G", &odd[..odd.len() - 1]));
    let plain = String::from_utf8(path).map(|path| (path.clone(), format!("{}0", &path[..path.len() - 1])));
    [plain.unwrap_or_else(|_| odd.clone()), odd]
}

/// Place of something after its directory has moved from `from` to `to`; `None` if it is not in `from`.
pub fn rebased(place: &str, from: &str, to: &str) -> Option<String> {
    let (path, from, to) = (decode(place), decode(from), decode(to));
    let rest = path.strip_prefix(&from[..])?;
    let is_there = rest.first().is_none_or(|byte| *byte == b'/');
    is_there.then(|| encode(&[&to, rest].concat()))
}

/// The path of `name` in the directory of these bytes.
pub fn join(directory: &[u8], name: &OsStr) -> Vec<u8> {
    let name = name.as_bytes();
    let mut path = Vec::with_capacity(directory.len() + 1 + name.len());
    path.extend_from_slice(directory);
    if !directory.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_path_has_one_text(path in proptest::collection::vec(1u8.., 1..80)) {
            prop_assume!(path[0] != b'/');
            prop_assert_eq!(decode(&encode(&path)), path);
        }

        #[test]
        fn above_is_above(a in "[^/\0]{1,6}", b in "[^/\0]{1,6}", bad in any::<bool>()) {
            let mut path = format!("{a}/{b}").into_bytes();
            if bad {
                path.push(0xff);
            }
            let place = encode(&path);
            prop_assert_eq!(parent(&place), Some(a.clone()));
            prop_assert_eq!(top(&place), (a.clone(), true));
            prop_assert!(is_within(&place, &a) && is_within(&place, "") && is_within(&place, &place));
            prop_assert!(!is_within(&a, &place));
            let beside = encode(format!("{a}x/{b}").as_bytes());
            prop_assert!(!is_within(&beside, &a));
            let is_below = |place: &String| ranges(&a).iter().any(|(from, to)| place >= from && place < to);
            prop_assert!(is_below(&place) && !is_below(&beside) && !is_below(&a));
            prop_assert_eq!(rebased(&place, &a, "other/folder").map(|place| decode(&place)), Some({
                let mut path = format!("other/folder/{b}").into_bytes();
                if bad {
                    path.push(0xff);
                }
                path
            }));
            prop_assert_eq!(rebased(&beside, &a, "x"), None);
        }
    }

    #[test]
    fn people_see_a_whole_path() {
        assert_eq!(absolute("/data/", "a/b.mkv"), "/data/a/b.mkv");
        assert_eq!(absolute("/data", &encode(b"a/\xff.mkv")), "/data/a/\u{fffd}.mkv");
        assert_eq!((parent("a"), parent("")), (Some(String::new()), None));
    }
}
