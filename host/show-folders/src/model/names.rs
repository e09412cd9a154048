//! Files beside videos: whose they are, and the language of subtitles.

use qm_media_names::subtitle::{UNKNOWN, read_name};

use super::contents::stem_of;

/// Stems that a file may be named after: its own name up to each `.` and `-`, the longest first.
pub fn stems_of(name: &str) -> impl Iterator<Item = &str> {
    let ends = name.rmatch_indices(['.', '-']);
    ends.map(|(at, _)| &name[..at]).filter(|stem| !stem.is_empty())
}

/// Rest of a file's name behind that of its video.
pub fn rest_behind<'a>(name: &'a str, video: &str) -> &'a str {
    name.strip_prefix(stem_of(video)).unwrap_or(name)
}

/// Language of a file of subtitles beside a video: two letters, or `und`.
pub fn language_of(name: &str, video: &str) -> String {
    let videos = [stem_of(video).to_lowercase()];
    let read = read_name(&name.to_lowercase(), &videos).map(|(_, tag)| tag.language);
    read.unwrap_or_else(|| UNKNOWN.to_owned())
}

/// Language for people; `None`: the name does not say it.
pub fn said_language(language: &str) -> Option<String> {
    (language != UNKNOWN).then(|| language.to_owned())
}
