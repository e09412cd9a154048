//! Rules for the directories and labels a user may hand to a torrent client.
//!
//! The path names a place in the *client's* file system, and the directory need not exist. Here it is judged as text, and
//! nothing touches a disk; where it leads on this machine is judged by `qm_torrent_data`.

use std::path::Path;

use qm_confined::{FsError, is_system};
use qm_kernel::ErrorKind;
use qm_ports::payload::normalise;
pub use qm_ports::payload::normalised;

/// Why a path or a label is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Characters that could break out of a quoted client command.
    #[error("Invalid {0}: illegal characters")]
    IllegalCharacters(&'static str),
    /// A name that clients would take for a path, or not take at all.
    #[error(
        "Invalid category `{0}`: it must not begin or end with `/`, nor contain `//`, `\\`, control characters, or `.` or `..` as a name; \
         name it like `films` or `films/new`"
    )]
    CategoryName(String),
    #[error("A path is required.")]
    Blank,
    #[error("Path is a protected system directory.")]
    SystemDirectory,
    #[error("Path is outside the allowed storage roots ({0}).")]
    OutsideRoots(String),
    /// A link in it leads elsewhere.
    #[error(
        "Path is outside the allowed storage roots ({roots}): `{path}` goes through a link that leads out of them; name the \
         directory that is meant, or one inside the roots."
    )]
    LeadsOut { path: String, roots: String },
    /// The disk says no.
    #[error("Path `{path}` cannot be used: {why}.")]
    Unusable {
        path: String,
        why: String,
        kind: ErrorKind,
        /// A word that never changes.
        code: &'static str,
    },
}

impl PathError {
    /// The value of `code` in an answer; it never changes.
    pub const fn code(&self) -> &'static str {
        match self {
            PathError::IllegalCharacters(_) => "bad_request.path_characters",
            PathError::CategoryName(_) => "bad_request.category",
            PathError::Blank => "bad_request.path",
            PathError::SystemDirectory => "forbidden.system_directory",
            PathError::OutsideRoots(_) | PathError::LeadsOut { .. } => "forbidden.outside_roots",
            PathError::Unusable { code, .. } => code,
        }
    }

    pub const fn kind(&self) -> ErrorKind {
        match self {
            PathError::IllegalCharacters(_) | PathError::CategoryName(_) | PathError::Blank => {
                ErrorKind::BadRequest
            }
            PathError::SystemDirectory | PathError::OutsideRoots(_) | PathError::LeadsOut { .. } => {
                ErrorKind::Forbidden
            }
            PathError::Unusable { kind, .. } => *kind,
        }
    }

    /// The refusal of a path by what was found on the disk.
    pub fn of_place(path: String, error: &FsError) -> Self {
        PathError::Unusable {
            why: error.to_string(),
            kind: error.kind(),
            code: error.code(),
            path,
        }
    }
}

/// The hard outer boundary of every path (`FILE_MANAGER_ROOTS`), normalised once.
#[derive(Clone, Debug, Default)]
pub struct Roots(Vec<String>);

impl Roots {
    pub fn new<S: AsRef<str>>(roots: impl IntoIterator<Item = S>) -> Self {
        Self(
            roots
                .into_iter()
                .filter(|root| !root.as_ref().trim().is_empty())
                .map(|root| normalise(root.as_ref().trim()))
                .collect(),
        )
    }

    /// The refusal of a path that a link leads out of the roots.
    pub fn leads_out(&self, path: String) -> PathError {
        PathError::LeadsOut {
            path,
            roots: self.0.join(", "),
        }
    }

    fn contain(&self, path: &str) -> bool {
        self.0.iter().any(|root| {
            root == "/"
                || path
                    .strip_prefix(root.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

/// Checks a directory a user chose and returns it absolute and normalised. `label` names the field in messages.
pub fn check_directory(path: &str, label: &'static str, roots: &Roots) -> Result<String, PathError> {
    if has_illegal_characters(path) {
        return Err(PathError::IllegalCharacters(label));
    }
    if path.trim().is_empty() {
        return Err(PathError::Blank);
    }
    let path = normalise(path);
    if is_system(Path::new(&path)) {
        return Err(PathError::SystemDirectory);
    }
    if !roots.contain(&path) {
        return Err(PathError::OutsideRoots(roots.0.join(", ")));
    }
    Ok(path)
}

/// Checks a category: it ends up in a quoted client command like a path does, and clients make directories of it. None is none.
pub fn check_category(category: &str) -> Result<(), PathError> {
    check_label(category, "category")?;
    let is_path = |name: &str| matches!(name, "" | "." | "..");
    let is_fit = category.is_empty()
        || !(category.contains('\\')
            || category.contains(char::is_control)
            || category.split('/').any(is_path));
    if is_fit {
        Ok(())
    } else {
        Err(PathError::CategoryName(category.escape_debug().to_string()))
    }
}

/// Checks a name that clients may be told. `label` names the field in messages.
pub fn check_label(text: &str, label: &'static str) -> Result<(), PathError> {
    if has_illegal_characters(text) {
        Err(PathError::IllegalCharacters(label))
    } else {
        Ok(())
    }
}

fn has_illegal_characters(text: &str) -> bool {
    text.contains(['"', '\r', '\n', '\t', '\0'])
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use proptest::prelude::*;

    use super::*;

    fn check(path: &str) -> Result<String, PathError> {
        check_directory(
            path,
            "save path",
            &Roots::new(["/downloads/", " /data/media", ""]),
        )
    }

    #[test]
    fn accepted_paths_come_back_normalised() {
        for (given, kept) in [
            ("/downloads", "/downloads"),
            ("/downloads/", "/downloads"),
            ("/downloads//a/./b/", "/downloads/a/b"),
            ("/downloads/a/../b", "/downloads/b"),
            ("/data/media/tv ", "/data/media/tv "),
            ("downloads/x", "/downloads/x"),
        ] {
            assert_eq!(check(given).as_deref(), Ok(kept), "{given}");
        }
    }

    #[test]
    fn refusals_have_the_contract_s_words() {
        let outside = "Path is outside the allowed storage roots (/downloads, /data/media).";
        for (given, message) in [
            ("/downloads/\"; rm", "Invalid save path: illegal characters"),
            ("/downloads/a\nb", "Invalid save path: illegal characters"),
            ("/downloads/a\0", "Invalid save path: illegal characters"),
            ("\t", "Invalid save path: illegal characters"),
            ("", "A path is required."),
            ("   ", "A path is required."),
            ("/", "Path is a protected system directory."),
            ("/downloads/..", "Path is a protected system directory."),
            ("/etc/", "Path is a protected system directory."),
            ("/etc/x", outside),
            ("/downloads2", outside),
            ("/downloads/../data", outside),
            ("/data/mediathek", outside),
        ] {
            assert_eq!(
                check(given).map_err(|e| e.to_string()),
                Err(message.to_owned()),
                "{given:?}"
            );
        }
        assert_eq!(
            check_category("tv\"").map_err(|e| e.to_string()),
            Err("Invalid category: illegal characters".into())
        );
        for name in ["TV shows/1080p", "", "a.b", "..a", "caf\u{e9}"] {
            assert_eq!(check_category(name), Ok(()), "{name}");
        }
        for name in [
            "..",
            "a/../b",
            ".",
            "/etc",
            "a/",
            "a//b",
            "C:\\x",
            "a\u{7f}b",
            "a\u{1b}[m",
        ] {
            assert!(
                matches!(check_category(name), Err(PathError::CategoryName(_))),
                "{name:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_path_is_copied_only_when_that_changes_it(path in "[a./ ]{0,12}") {
            let normal = normalised(&path);
            prop_assert_eq!(&*normal, &normalise(&path));
            prop_assert_eq!(matches!(normal, Cow::Borrowed(_)), *normal == *path && path != "/");
        }

        /// Whatever is let through is inside a root, absolute, and stays what it is when checked again.
        #[test]
        fn nothing_escapes_the_roots(path in "[a-z./ ]{0,30}", prefix in prop_oneof![Just(""), Just("/downloads/")]) {
            if let Ok(kept) = check(&format!("{prefix}{path}")) {
                prop_assert!(kept == "/downloads" || kept.starts_with("/downloads/") || kept.starts_with("/data/media"));
                prop_assert!(!kept.split('/').any(|segment| segment == ".." || segment == "."));
                prop_assert_eq!(check(&kept), Ok(kept.clone()));
            }
        }
    }
}
