//! Tracks of subtitles in files, as they are stored with a file.

use serde::{Deserialize, Serialize};

/// A track of subtitles in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Track {
    /// Language as the file names it: two or three letters, maybe with a region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Format, e.g. `UTF-8`, `ASS` or `PGS`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    #[serde(default)]
    pub forced: bool,
    #[serde(default)]
    pub sdh: bool,
    #[serde(default)]
    pub by_default: bool,
}

/// Text of tracks for their column.
pub fn text(tracks: &[Track]) -> String {
    // A list of texts and flags always has a text.
    serde_json::to_string(tracks).unwrap_or_else(|_| "[]".to_owned())
}

/// Tracks of the text of a column; none if it is not one of ours.
pub fn read(text: Option<&str>) -> Vec<Track> {
    let read = text.and_then(|text| serde_json::from_str(text).ok());
    read.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracks_come_back_as_they_were_stored() {
        let tracks = vec![
            Track {
                language: Some("pt-BR".to_owned()),
                title: Some("A \"title\"".to_owned()),
                format: Some("PGS".to_owned()),
                forced: true,
                sdh: true,
                by_default: true,
            },
            Track::default(),
        ];
        assert_eq!(read(Some(&text(&tracks))), tracks);
        assert_eq!(text(&[]), "[]");
        for odd in [None, Some(""), Some("{}"), Some("[1]")] {
            assert_eq!(read(odd), [], "{odd:?}");
        }
    }
}
