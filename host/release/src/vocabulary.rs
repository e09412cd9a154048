//! The words of release names, each table in its order of precedence.
//!
//! Word boundaries are ASCII ones: a name in another script runs right up to its markers.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// Terms with what each is called.
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

    /// The term that comes first in the table, and where it stands first.
    pub(crate) fn first(&self, text: &str) -> Option<(&'static str, Range<usize>)> {
        self.0
            .iter()
            .find_map(|(name, pattern)| Some((*name, pattern.find(text)?.range())))
    }

    /// Every term of the table that the text holds, and where it stands first.
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
        ("1080i", "1080i"),
        ("720p", "720p"),
        ("480p", "480p"),
    ])
});

pub(crate) static SOURCES: LazyLock<Terms> = LazyLock::new(|| {
    Terms::new(&[
        ("WEB-DL", WEB_DL),
        ("WEBRip", WEB_RIP),
        ("BluRay", BLU_RAY),
        ("Remux", "remux"),
        ("HDTV", "hdtv"),
        ("DVD", DVD),
        ("HDRip", "hdrip"),
        // By itself "web" is a word of titles: it is a source only where a release goes on after it.
        ("WEB", RELEASE_AFTER_WEB),
    ])
});

const RELEASE_AFTER_WEB: &str = concat!(
    r"web[ -]+(?:2160p|1080[pi]|720p|480p|4k|uhd|x26[45]|h[ .]?26[45]|hevc|avc|av1|xvid",
    r"|atmos|truehd|dts|ddp|dd|e?ac3|aac|flac|opus|mp3|hdr|dv|remux|repack|proper|(?:8|10|12)[ -]?bit|rip|dl)[0-9]{0,2}",
);

pub(crate) static CODECS: LazyLock<Terms> =
    LazyLock::new(|| Terms::new(&[("x265", X265), ("x264", X264), ("AV1", "av1"), ("XviD", "xvid")]));

/// Number of channels after the format, e.g. `5.1`, which is `5 1` once dots are spaces.
macro_rules! with_channels {
    ($format:literal) => {
        concat!(r"(?:", $format, r")(?:[ ]?[1-9](?:[ .]?[0-9])?)?")
    };
}

pub(crate) static AUDIO: LazyLock<Terms> = LazyLock::new(|| {
    Terms::new(&[
        ("Atmos", "atmos"),
        ("TrueHD", with_channels!("true[ -]?hd")),
        ("DTS-HD", r"dts[ -]?hd"),
        ("DTS", with_channels!(r"dts(?:[ -]?hd)?")),
        ("DDP", with_channels!(r"ddp|dd\+|eac3")),
        ("AC3", r"ac3|dd[ ]?[1-9][ .]?[0-9]"),
        ("AAC", with_channels!("aac")),
        ("FLAC", with_channels!("flac")),
        ("Opus", with_channels!("opus")),
        ("MP3", "mp3"),
    ])
});

pub(crate) static LANGUAGES: LazyLock<Terms> = LazyLock::new(|| {
    Terms::new(&[
        ("MULTI", "multi"),
        ("VOSTFR", "vostfr"),
        ("TRUEFRENCH", "truefrench"),
        ("FRENCH", "french"),
        ("GERMAN", "german"),
        ("ITA", "ita"),
        ("ITALIAN", "italian"),
        ("SPANISH", "spanish"),
        ("DUAL", "dual"),
        ("JAPANESE", "japanese"),
        ("JPN", "jpn"),
        ("NORDIC", "nordic"),
        ("DUTCH", "dutch"),
        ("KOREAN", "korean"),
        ("KOR", "kor"),
    ])
});

/// A plus sign ends no word, so these bring their own boundaries.
pub(crate) static HDR: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?-u:\b)(?:(hdr10(?:\+|plus(?-u:\b)))|(hdr10)(?-u:\b)|(hdr)(?-u:\b)|(dv|dovi|dolby ?vision)(?-u:\b))",
    )
});

/// What [`HDR`]'s groups are called.
pub(crate) const HDR_NAMES: [&str; 4] = ["HDR10+", "HDR10", "HDR", "DV"];

pub(crate) static PROPER: LazyLock<Regex> = LazyLock::new(|| words("proper"));
pub(crate) static REPACK: LazyLock<Regex> = LazyLock::new(|| words("repack"));
pub(crate) static YEAR: LazyLock<Regex> = LazyLock::new(|| words("(?:19|20)[0-9]{2}"));

/// The tables of the quick view: fewer terms, other names.
pub(crate) mod quick {
    use super::{BLU_RAY, DVD, LazyLock, Terms, UHD, WEB_DL, WEB_RIP, X264, X265};

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

    /// Terms that are called what they are.
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
}
