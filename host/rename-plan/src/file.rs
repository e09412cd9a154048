//! Classes of files, by their endings.

use qm_media_names::name::is_video;

/// Endings of music.
const AUDIO: &[&str] = &["mp3", "flac", "m4a", "aac", "ogg", "opus", "wav", "wma"];
/// Endings of audiobooks.
const AUDIOBOOK: &[&str] = &["m4b", "aa", "aax"];
/// Endings of subtitles.
const SUBTITLE: &[&str] = &["srt", "ass", "ssa", "sub", "idx", "vtt", "sup", "smi"];
const IMAGE: &[&str] = &["jpg", "jpeg", "png", "webp", "tbn", "gif"];
/// Most bytes of a sample: 50 MiB.
const SAMPLE: u64 = 50 * 1024 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Video,
    Audio,
    Audiobook,
    Subtitle,
    Other,
}

/// Class of a file of this name.
pub(crate) fn class(name: &str) -> Class {
    let (_, ext) = split(name);
    let is_in = |list: &[&str]| list.iter().any(|known| ext.eq_ignore_ascii_case(known));
    match () {
        () if is_video(name.as_bytes()) => Class::Video,
        () if is_in(AUDIO) => Class::Audio,
        () if is_in(AUDIOBOOK) => Class::Audiobook,
        () if is_in(SUBTITLE) => Class::Subtitle,
        () => Class::Other,
    }
}

/// Name without its ending, and the ending without its dot.
pub(crate) fn split(name: &str) -> (&str, &str) {
    match name.rsplit_once('.') {
        Some((stem, ext)) if !stem.is_empty() => (stem, ext),
        _ => (name, ""),
    }
}

/// Directory of a path, and the name in it.
pub(crate) fn place(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// True if a video of this size may be a sample; one of unknown size may.
pub(crate) fn is_sample_size(size: Option<u64>) -> bool {
    size.is_none_or(|size| size <= SAMPLE)
}

/// True for the music, or the moving background, of a show.
pub(crate) fn is_theme(name: &str) -> bool {
    let (stem, _) = split(name);
    let stem = stem.to_lowercase();
    let bare = stem.trim_end_matches(|letter: char| letter.is_ascii_digit());
    stem.starts_with("theme") || matches!(bare, "backdrop" | "background")
}

/// True for a file about a whole folder: the NFO or a picture of a film, a show or a season.
pub(crate) fn is_about_folder(name: &str) -> bool {
    const PICTURES: &[&str] = &[
        "poster",
        "folder",
        "cover",
        "fanart",
        "backdrop",
        "background",
        "banner",
        "clearlogo",
        "logo",
        "clearart",
        "landscape",
        "thumb",
        "disc",
        "discart",
        "keyart",
        "characterart",
        "art",
        "movie",
        "show",
        "default",
    ];
    let (stem, ext) = split(name);
    let (stem, ext) = (stem.to_lowercase(), ext.to_lowercase());
    if ext == "nfo" {
        return matches!(&*stem, "tvshow" | "movie" | "season");
    }
    let bare = stem.trim_end_matches(|letter: char| letter.is_ascii_digit());
    IMAGE.contains(&&*ext) && (PICTURES.contains(&bare) || is_of_season(&stem))
}

/// True for a picture of a season beside the seasons: `season01-poster`, `season-specials-banner`.
fn is_of_season(stem: &str) -> bool {
    stem.strip_prefix("season").is_some_and(|rest| {
        let kind = rest.rsplit('-').next().unwrap_or_default();
        matches!(
            kind,
            "poster" | "banner" | "fanart" | "landscape" | "thumb" | "clearlogo"
        ) || rest.bytes().all(|byte| byte.is_ascii_digit()) && !rest.is_empty()
    })
}

/// True for a folder that holds the subtitles of what lies above it.
pub(crate) fn is_subtitle_folder(name: &str) -> bool {
    matches!(
        &*name.to_lowercase(),
        "subs" | "sub" | "subtitles" | "subtitle" | "vobsubs" | "vobsub"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_apart() {
        for (name, expected) in [
            ("a.MKV", Class::Video),
            ("a.flac", Class::Audio),
            ("a.M4B", Class::Audiobook),
            ("a.en.SRT", Class::Subtitle),
            ("a.nfo", Class::Other),
            ("mkv", Class::Other),
            (".mkv", Class::Video),
        ] {
            assert_eq!(class(name), expected, "{name}");
        }
        for name in [
            "poster.jpg",
            "Fanart2.png",
            "season01-poster.jpg",
            "season-specials-banner.jpg",
            "tvshow.nfo",
        ] {
            assert!(is_about_folder(name), "{name}");
        }
        for name in ["The Film.nfo", "holiday.jpg", "poster.txt", "seasoned.jpg"] {
            assert!(!is_about_folder(name), "{name}");
        }
        assert!(is_theme("theme.mp3") && is_theme("backdrop2.mp4") && !is_theme("The Theme.mkv"));
    }
}
