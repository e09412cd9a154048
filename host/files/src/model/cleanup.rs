//! Entries of a folder that may be cleaned up, judged by name and size.

use qm_file_contents::extension;

/// Reason to clean up an entry. A file gets the first that fits, see [`before_duplicates`] and [`after_duplicates`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Category {
    SampleFiles,
    EmptyFolders,
    ZeroByteFiles,
    DuplicateFiles,
    OrphanSubtitles,
    OrphanArtwork,
    NfoFiles,
    SfvFiles,
    TxtFiles,
    HiddenTempFiles,
    PartialDownloads,
}

impl Category {
    /// All categories, in the order in which a preview shows them.
    pub const ALL: [Category; 11] = [
        Category::SampleFiles,
        Category::EmptyFolders,
        Category::ZeroByteFiles,
        Category::DuplicateFiles,
        Category::OrphanSubtitles,
        Category::OrphanArtwork,
        Category::NfoFiles,
        Category::SfvFiles,
        Category::TxtFiles,
        Category::HiddenTempFiles,
        Category::PartialDownloads,
    ];

    pub const NAMES: &'static [&'static str] = &[
        "sample_files",
        "empty_folders",
        "zero_byte_files",
        "duplicate_files",
        "orphan_subtitles",
        "orphan_artwork",
        "nfo_files",
        "sfv_files",
        "txt_files",
        "hidden_temp_files",
        "partial_downloads",
    ];

    pub fn from_name(name: &str) -> Option<Category> {
        Category::ALL
            .into_iter()
            .find(|category| category.as_str() == name)
    }

    pub const fn as_str(self) -> &'static str {
        Category::NAMES[self as usize]
    }

    pub const fn label(self) -> &'static str {
        match self {
            Category::SampleFiles => "Sample files",
            Category::EmptyFolders => "Empty folders",
            Category::ZeroByteFiles => "Zero-byte files",
            Category::DuplicateFiles => "Duplicate files",
            Category::OrphanSubtitles => "Orphan subtitles",
            Category::OrphanArtwork => "Orphan artwork",
            Category::NfoFiles => "NFO files",
            Category::SfvFiles => "SFV files",
            Category::TxtFiles => "TXT files",
            Category::HiddenTempFiles => "Hidden / temporary files",
            Category::PartialDownloads => "Partial downloads",
        }
    }

    /// Reason shown for one item of the category; duplicates name the file that is kept instead.
    pub const fn reason(self) -> &'static str {
        match self {
            Category::SampleFiles => "A video whose name says it is a sample",
            Category::EmptyFolders => "Nothing is in it",
            Category::ZeroByteFiles => "The file is empty",
            Category::DuplicateFiles => "The same content as another file",
            Category::OrphanSubtitles => "Subtitles without a video beside them",
            Category::OrphanArtwork => "An image without a video beside it",
            Category::NfoFiles => "A release note",
            Category::SfvFiles => "A list of checksums",
            Category::TxtFiles => "A text file",
            Category::HiddenTempFiles => "A hidden or temporary file",
            Category::PartialDownloads => "A download that was not finished",
        }
    }
}

/// True for a name with the extension of a video.
pub fn is_video(name: &str) -> bool {
    matches!(
        extension(name).as_deref(),
        Some("mkv" | "mp4" | "avi" | "mov" | "wmv" | "m4v" | "mpg" | "mpeg" | "ts" | "m2ts" | "flv" | "webm")
    )
}

/// The rules that come before duplicates are looked for.
pub fn before_duplicates(name: &str, size: u64) -> Option<Category> {
    let extension = extension(name);
    if matches!(
        extension.as_deref(),
        Some("part" | "crdownload" | "partial" | "aria2" | "!ut" | "bc!")
    ) {
        Some(Category::PartialDownloads)
    } else if size == 0 {
        Some(Category::ZeroByteFiles)
    } else if is_video(name) && is_sample(name) {
        Some(Category::SampleFiles)
    } else {
        None
    }
}

/// The rules for a file that is no duplicate. `beside_video`: its folder holds a video.
pub fn after_duplicates(name: &str, beside_video: bool) -> Option<Category> {
    let lower = name.to_lowercase();
    match extension(name).as_deref() {
        Some("srt" | "sub" | "ass" | "ssa" | "vtt" | "idx" | "smi") if !beside_video => {
            Some(Category::OrphanSubtitles)
        }
        Some("jpg" | "jpeg" | "png" | "gif" | "bmp" | "tbn" | "webp") if !beside_video => {
            Some(Category::OrphanArtwork)
        }
        Some("nfo") => Some(Category::NfoFiles),
        Some("sfv") => Some(Category::SfvFiles),
        Some("txt") => Some(Category::TxtFiles),
        Some("tmp" | "temp" | "bak") => Some(Category::HiddenTempFiles),
        _ if lower.starts_with('.') || lower.ends_with('~') => Some(Category::HiddenTempFiles),
        _ if matches!(lower.as_str(), "thumbs.db" | "desktop.ini") => Some(Category::HiddenTempFiles),
        _ => None,
    }
}

/// `sample` as a word: no letter touches it.
fn is_sample(name: &str) -> bool {
    const WORD: &str = "sample";
    let lower = name.to_lowercase();
    lower.match_indices(WORD).any(|(at, _)| {
        let letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
        !letter(lower[..at].chars().next_back()) && !letter(lower[at + WORD.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gets_the_first_rule_that_fits() {
        use Category::*;
        for (name, size, beside_video, expected) in [
            ("a.mkv.part", 0, true, Some(PartialDownloads)),
            ("a.!uT", 5, true, Some(PartialDownloads)),
            ("a.nfo", 0, true, Some(ZeroByteFiles)),
            ("a-sample.mkv", 5, true, Some(SampleFiles)),
            ("Sample2.mkv", 5, true, Some(SampleFiles)),
            ("sampler.mkv", 5, true, None),
            ("sample.nfo", 5, true, Some(NfoFiles)),
            ("a.srt", 5, true, None),
            ("a.srt", 5, false, Some(OrphanSubtitles)),
            ("poster.JPG", 5, false, Some(OrphanArtwork)),
            ("poster.jpg", 5, true, None),
            (".hidden.nfo", 5, true, Some(NfoFiles)),
            ("a.sfv", 5, true, Some(SfvFiles)),
            ("readme.txt", 5, true, Some(TxtFiles)),
            (".DS_Store", 5, true, Some(HiddenTempFiles)),
            ("Thumbs.db", 5, true, Some(HiddenTempFiles)),
            ("notes~", 5, true, Some(HiddenTempFiles)),
            ("a.bak", 5, true, Some(HiddenTempFiles)),
            ("a.mkv", 5, false, None),
        ] {
            let found = before_duplicates(name, size).or_else(|| after_duplicates(name, beside_video));
            assert_eq!(found, expected, "{name}");
        }
    }

    #[test]
    fn names_stand_in_the_order_of_the_categories() {
        for category in Category::ALL {
            assert_eq!(Category::from_name(category.as_str()), Some(category));
        }
        assert_eq!(Category::PartialDownloads.as_str(), "partial_downloads");
        assert_eq!(Category::from_name("other"), None);
    }
}
