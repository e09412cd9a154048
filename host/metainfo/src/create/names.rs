//! Names that all clients find on the disk again: stricter than what is read of others ([`crate::Metainfo`]).
//!
//! libtorrent (checked by hand with 2.1: every character, and lengths to 255) leaves out or replaces some characters
//! of a name, cuts long names, and renames a file whose path differs from another one's in the case of ASCII letters
//! only. A torrent of such files looks for others than those it was made of, and never gets beyond 0 %.

use super::CreateError;
use crate::layout::{MAX_PATH_BYTES, fault_of_name};

/// Folders above a file at most, the torrent's own included: deeper trees are not read by [`crate::Contents`].
pub const MAX_LEVELS: usize = 64;
/// The longest name that libtorrent does not cut, in bytes.
const MAX_NAME_BYTES: usize = 240;
/// Length of a path in a message, in characters.
const SHOWN: usize = 200;

/// Path as people read it, cut to a sensible length.
pub(super) fn show_path(path: &[String]) -> String {
    let path = path.join("/");
    let shown: String = path.chars().take(SHOWN).collect();
    let rest = if shown.len() < path.len() { "…" } else { "" };
    format!("{shown:?}{rest}")
}

/// Refuses a name that some client refuses or changes. `path` ends with it.
pub(super) fn check_name(name: &str, path: &[String]) -> Result<(), CreateError> {
    match fault_of_name(name.as_bytes()).or_else(|| fault_of_new_name(name)) {
        Some(fault) => Err(CreateError::Name {
            path: show_path(path),
            fault,
        }),
        None => Ok(()),
    }
}

/// Refuses a path below the torrent's own folder.
pub(super) fn check_path(path: &[String]) -> Result<(), CreateError> {
    if path.is_empty() {
        let (path, fault) = (show_path(path), "is empty");
        return Err(CreateError::Name { path, fault });
    }
    if path.len() > MAX_LEVELS {
        return Err(CreateError::TooDeep(show_path(path)));
    }
    for (at, name) in path.iter().enumerate() {
        check_name(name, &path[..=at])?;
    }
    let length = path.iter().map(|name| name.len() + 1).sum::<usize>() - 1;
    if length > MAX_PATH_BYTES {
        let (path, fault) = (
            show_path(path),
            "is longer than 4096 bytes with the folders above it",
        );
        return Err(CreateError::Name { path, fault });
    }
    Ok(())
}

fn fault_of_new_name(name: &str) -> Option<&'static str> {
    if name.len() > MAX_NAME_BYTES {
        return Some("is longer than 240 bytes, and torrent clients would cut it");
    }
    name.chars().find_map(|letter| match letter {
        '\\' => Some("has a backslash in it, which torrent clients leave out"),
        letter if letter.is_control() => Some("has a control character in it, which torrent clients replace"),
        '\u{61c}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2064}'
        | '\u{2066}'..='\u{2069}'
        | '\u{feff}' => Some("has an invisible character in it, which torrent clients leave out"),
        _ => None,
    })
}

/// Refuses two paths that cannot be side by side, whatever the case of their letters.
pub(super) fn refuse_clashes<'a>(paths: impl Iterator<Item = &'a [String]>) -> Result<(), CreateError> {
    // A NUL is in no name and sorts first: all that is below a path stands right behind it.
    let mut folded: Vec<(String, &[String])> = paths
        .map(|path| (path.join("\0").to_ascii_lowercase(), path))
        .collect();
    folded.sort_unstable();
    let clash = folded.windows(2).find(|pair| {
        let rest = pair[1].0.strip_prefix(pair[0].0.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('\0'))
    });
    match clash {
        Some(pair) => Err(CreateError::Clash {
            first: show_path(pair[0].1),
            second: show_path(pair[1].1),
        }),
        None => Ok(()),
    }
}
