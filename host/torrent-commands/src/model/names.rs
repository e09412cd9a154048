//! Names of files and folders inside of a torrent, as people choose them.
//!
//! Such a name ends up in a path below the torrent's directory, on whichever system its client runs. Here it is judged as text.

/// Bytes of one part; file systems take no more.
const LONGEST_PART: usize = 255;
/// Bytes of all parts together.
const LONGEST: usize = 2_000;

/// Checks a relative path in a torrent. The error is a sentence that names `label`.
pub fn check_path(label: &str, path: &str) -> Result<(), String> {
    let refuse = |why: &str| Err(format!("{label} {why}"));
    if path.is_empty() {
        return refuse("must not be empty");
    }
    if path.len() > LONGEST {
        return refuse("is too long: it may have 2000 bytes");
    }
    if path.starts_with('/') {
        return refuse("must be relative to the torrent, without a slash at its start");
    }
    // A client may run where a backslash parts folders.
    if path.chars().any(|letter| letter.is_control() || letter == '\\') {
        return refuse("must not contain control characters or backslashes");
    }
    for part in path.split('/') {
        match part {
            "" => return refuse("has a part without a name: remove doubled slashes and one at its end"),
            "." | ".." => return refuse("must not contain `.` or `..` as a part"),
            long if long.len() > LONGEST_PART => {
                return refuse("has a part that is too long: each may have 255 bytes");
            }
            _ => {}
        }
    }
    Ok(())
}

/// The new path of a file: a bare name stays in the folder of the file, a path is used whole, as clients take them.
pub fn place_file(old: &str, name: &str) -> String {
    match old.rsplit_once('/') {
        Some((folder, _)) if !name.contains('/') => format!("{folder}/{name}"),
        _ => name.to_owned(),
    }
}

/// Part of `path` below `folder`; `None`: it lies elsewhere.
pub fn below<'a>(folder: &str, path: &'a str) -> Option<&'a str> {
    path.strip_prefix(folder)?.strip_prefix('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_below_the_torrent() {
        for fine in ["film.mkv", "Show/S01/e 1.mkv", "...", "ü", &"x".repeat(255)] {
            assert_eq!(check_path("name", fine), Ok(()), "{fine}");
        }
        for bad in [
            "",
            "/etc/passwd",
            "..",
            "a/../b",
            "./a",
            "a//b",
            "a/",
            "a\\b",
            "a\nb",
            "a\0",
            "a\u{7f}",
            &"x".repeat(256),
            &"x/".repeat(1_001),
        ] {
            let refused = check_path("name", bad);
            assert!(refused.is_err_and(|why| why.starts_with("name ")), "{bad:?}");
        }
        // 255 bytes, not letters.
        assert!(check_path("name", &"ü".repeat(128)).is_err());
    }

    #[test]
    fn a_bare_name_stays_in_its_folder() {
        assert_eq!(place_file("Show/e1.mkv", "e2.mkv"), "Show/e2.mkv");
        assert_eq!(place_file("e1.mkv", "e2.mkv"), "e2.mkv");
        assert_eq!(place_file("Show/e1.mkv", "Other/e1.mkv"), "Other/e1.mkv");
        assert_eq!(below("Show", "Show/e1"), Some("e1"));
        assert_eq!((below("Show", "Shows/e1"), below("Show", "Show")), (None, None));
    }
}
