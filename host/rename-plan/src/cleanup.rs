//! Files that a rename removes, if its owner wants that: by patterns of names, and subtitles of other languages.

use crate::file::{self, Class};
use crate::language;

/// Wishes about files that are removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleanup {
    pub enabled: bool,
    /// Patterns of whole names: `*` for any text, `?` for any letter, in any case.
    pub delete_globs: Vec<String>,
    /// Languages of subtitles that stay; empty: all do.
    pub keep_languages: Vec<String>,
}

impl Cleanup {
    /// True for a file that may go once the films beside it have moved: its name fits a pattern, and it is neither a video nor
    /// a subtitle.
    pub fn is_leftover(&self, name: &str) -> bool {
        let is_kept = matches!(file::class(name), Class::Video | Class::Subtitle);
        self.enabled && !is_kept && self.delete_globs.iter().any(|glob| matches_glob(glob, name))
    }

    /// Reason for which a file is removed. `is_real`: a video that is no sample.
    pub(crate) fn reason(&self, name: &str, is_real: bool) -> Option<String> {
        if !self.enabled {
            return None;
        }
        let glob = self.delete_globs.iter().find(|glob| matches_glob(glob, name));
        if let Some(glob) = glob.filter(|_| !is_real) {
            return Some(format!("cleanup: its name fits {glob}"));
        }
        if self.keep_languages.is_empty() || file::class(name) != Class::Subtitle {
            return None;
        }
        let (_, tag) = language::split(file::split(name).0);
        let language = tag.language?;
        let two = language::two_letters(&language)?;
        let is_kept = self
            .keep_languages
            .iter()
            .any(|kept| language::two_letters(kept).unwrap_or(kept) == two);
        (!is_kept).then(|| format!("cleanup: subtitles in {two} are not kept"))
    }
}

/// True if a pattern fits the whole name. Takes at most the product of both lengths, for any pattern.
fn matches_glob(glob: &str, name: &str) -> bool {
    let lower = |text: &str| text.chars().flat_map(char::to_lowercase).collect::<Vec<char>>();
    let (glob, name) = (lower(glob), lower(name));
    let (mut at, mut of) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while of < name.len() {
        match glob.get(at) {
            Some('*') => {
                star = Some((at, of));
                at += 1;
            }
            Some(letter) if *letter == '?' || *letter == name[of] => {
                at += 1;
                of += 1;
            }
            _ => {
                let Some((place, begun)) = star else { return false };
                star = Some((place, begun + 1));
                at = place + 1;
                of = begun + 1;
            }
        }
    }
    glob[at..].iter().all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_whole_names() {
        for (glob, name, fits) in [
            ("*.txt", "READ.TXT", true),
            ("*.txt", "a.txt.bak", false),
            ("rarbg*", "RARBG.com.txt", true),
            ("?.nfo", "a.nfo", true),
            ("?.nfo", "ab.nfo", false),
            ("*", "", true),
            ("", "a", false),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "aXbY", false),
        ] {
            assert_eq!(matches_glob(glob, name), fits, "{glob} {name}");
        }
        let slow = "*a".repeat(60);
        assert!(!matches_glob(&slow, &"a".repeat(59)));
    }

    #[test]
    fn films_and_unknown_languages_stay() {
        let cleanup = Cleanup {
            enabled: true,
            delete_globs: vec!["*.txt".to_owned(), "*.mkv".to_owned()],
            keep_languages: vec!["eng".to_owned()],
        };
        assert!(cleanup.reason("a.txt", false).is_some());
        assert!(cleanup.reason("a.mkv", true).is_none());
        assert!(cleanup.reason("sample.mkv", false).is_some());
        assert!(cleanup.reason("a.de.srt", false).is_some());
        assert!(cleanup.reason("a.en.srt", false).is_none());
        assert!(cleanup.reason("a.srt", false).is_none());
        assert!(
            cleanup.is_leftover("a.TXT")
                && !cleanup.is_leftover("sample.mkv")
                && !cleanup.is_leftover("a.nfo")
        );
        let off = Cleanup {
            enabled: false,
            ..cleanup
        };
        assert!(off.reason("a.txt", false).is_none() && !off.is_leftover("a.txt"));
    }
}
