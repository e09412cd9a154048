//! Vocabulary of the quick view, each table in its order of precedence.
//!
//! Word boundaries are ASCII ones: words in other scripts touch markers without a separator.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// Terms with their values.
pub(crate) struct Terms(Vec<(&'static str, Regex)>);

impl Terms {
    fn new(terms: &[(&'static str, &str)]) -> Self {
        Self(
            terms
                .iter()
                .map(|&(name, pattern)| (name, words(pattern)))
                .collect(),
        )
    }

    /// The first matching term of the table, and its first place.
    pub(crate) fn first(&self, text: &str) -> Option<(&'static str, Range<usize>)> {
        self.0
            .iter()
            .find_map(|(name, pattern)| Some((*name, pattern.find(text)?.range())))
    }

    /// All matching terms of the table, each with its first place.
    pub(crate) fn all(&self, text: &str) -> Vec<(&'static str, Range<usize>)> {
        self.0
            .iter()
            .filter_map(|(name, pattern)| Some((*name, pattern.find(text)?.range())))
            .collect()
    }

    pub(crate) fn names(&self, text: &str) -> Vec<&'static str> {
        self.all(text).into_iter().map(|(name, _)| name).collect()
    }
}

/// The patterns are constants, and a test compiles them all.
pub(crate) fn pattern(pattern: &str) -> Regex {
    Regex::new(&format!("(?i){pattern}")).unwrap_or_else(|error| unreachable!("{pattern}: {error}"))
}

/// A pattern of whole words.
pub(crate) fn words(pattern_of_words: &str) -> Regex {
    pattern(&format!(r"(?-u:\b)(?:{pattern_of_words})(?-u:\b)"))
}

const X265: &str = r"x265|h[ ._]?265|hevc";
const X264: &str = r"x264|h[ ._]?264|avc";
const UHD: &str = "2160p|4k|uhd";
const WEB_DL: &str = r"web[ ._-]?dl";
const WEB_RIP: &str = r"web[ ._-]?rip";
const BLU_RAY: &str = r"blu[ ._-]?ray|bd[ -]?rip|br[ -]?rip|bdmux";
const DVD: &str = r"dvd(?:[ -]?rip)?";

pub(crate) static RESOLUTIONS: LazyLock<Terms> = LazyLock::new(|| {
    Terms::new(&[
        ("2160p", UHD),
        ("1080p", "1080p"),
        ("720p", "720p"),
        ("480p", "480p"),
    ])
});

pub(crate) static SOURCES: LazyLock<Terms> = LazyLock::new(|| {
    Terms::new(&[
        ("webdl", WEB_DL),
        ("webrip", WEB_RIP),
        ("bluray", BLU_RAY),
        ("remux", "remux"),
        ("hdtv", "hdtv"),
        ("dvd", DVD),
        ("hdrip", "hdrip"),
        ("web", "web"),
    ])
});

pub(crate) static CODECS: LazyLock<Terms> =
    LazyLock::new(|| Terms::new(&[("x265", X265), ("x264", X264), ("av1", "av1"), ("xvid", "xvid")]));

/// Terms whose value is the term itself.
fn plain(terms: &[&'static str]) -> Terms {
    let named: Vec<_> = terms.iter().map(|&term| (term, term)).collect();
    Terms::new(&named)
}

pub(crate) static LANGUAGES: LazyLock<Terms> = LazyLock::new(|| {
    plain(&[
        "multi",
        "vostfr",
        "truefrench",
        "french",
        "german",
        "ita",
        "italian",
        "spanish",
        "dual",
        "nordic",
        "dutch",
    ])
});

pub(crate) static BAD_QUALITY: LazyLock<Terms> = LazyLock::new(|| {
    plain(&[
        "cam",
        "ts",
        "telesync",
        "telecine",
        "hdcam",
        "hdts",
        "screener",
        "scr",
        "workprint",
        "dubbed",
        "hardsub",
        "hardcoded",
        "hc",
    ])
});

pub(crate) static PROPER: LazyLock<Regex> = LazyLock::new(|| words("proper"));
pub(crate) static REPACK: LazyLock<Regex> = LazyLock::new(|| words("repack"));
pub(crate) static YEAR: LazyLock<Regex> = LazyLock::new(|| words("(?:19|20)[0-9]{2}"));
