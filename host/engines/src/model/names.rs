//! Placeholder names: what clients call a torrent whose metadata they did not have when it was added.

use qm_metainfo::info_hash::is_info_hash;

/// True if `name` says nothing: it is blank, the hash itself, or 40 hex digits with an optional `.meta`.
pub fn is_placeholder(name: &str, hash: &str) -> bool {
    let name = name.trim();
    if name.is_empty() || name.eq_ignore_ascii_case(hash) {
        return true;
    }
    let digits = name.strip_suffix(".meta").unwrap_or(name);
    is_info_hash(digits)
}

/// The name a torrent's file paths suggest: the single file's, else the folder all of them share.
pub fn suggested<'a>(paths: &[&'a str]) -> Option<&'a str> {
    let root = |path: &&'a str| path.split_once('/').map(|(folder, _)| folder);
    let name = match paths {
        [] => return None,
        [only] if !only.contains('/') => only,
        [first, rest @ ..] => {
            let folder = root(first)?;
            rest.iter()
                .all(|path| root(path) == Some(folder))
                .then_some(folder)?
        }
    };
    (!name.trim().is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "c9e15763f722f23e98a29decdfae341b98d53056";

    #[test]
    fn placeholders() {
        for name in [
            "",
            "  ",
            HASH,
            &HASH.to_uppercase(),
            &format!("{HASH}.meta"),
            "0000000000000000000000000000000000000000",
        ] {
            assert!(is_placeholder(name, HASH), "{name}");
        }
        for name in [
            "debian.iso",
            "c9e15763",
            &format!("{HASH}.iso"),
            &format!("x{HASH}"),
        ] {
            assert!(!is_placeholder(name, HASH), "{name}");
        }
    }

    #[test]
    fn names_come_from_the_files() {
        for (paths, name) in [
            (&[][..], None),
            (&["a.iso"][..], Some("a.iso")),
            (&["Show/a.mkv"][..], Some("Show")),
            (&["Show/a.mkv", "Show/sub/b.srt"][..], Some("Show")),
            (&["Show/a.mkv", "Other/b.srt"][..], None),
            (&["a.mkv", "b.mkv"][..], None),
            (&["Show/a.mkv", "b.mkv"][..], None),
            (&["/a.mkv"][..], None),
        ] {
            assert_eq!(suggested(paths), name, "{paths:?}");
        }
    }
}
