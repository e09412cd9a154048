//! Notes: which file one is, and what stands in it.

pub mod found;
pub mod keep;
pub mod text;

use qm_kernel::Timestamp;
use qm_ports::notes::NotedItem;

/// Most items of an order.
pub const MAX_ITEMS: usize = 1000;
/// Most notes of a request for a library.
pub const MAX_OF_LIBRARY: usize = 10_000;

/// Kind of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteKind {
    Movie,
    Show,
    Episode,
}

impl NoteKind {
    /// Kind of the note about an item.
    pub fn for_item(item: &NotedItem) -> Self {
        if item.media_type == "movie" {
            Self::Movie
        } else if item.episode.is_some() {
            Self::Episode
        } else {
            Self::Show
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Movie => "movie",
            Self::Show => "tvshow",
            Self::Episode => "episode",
        }
    }

    /// Kind of this word. The table holds no others.
    pub fn from_word(word: &str) -> Self {
        match word {
            "movie" => Self::Movie,
            "episode" => Self::Episode,
            _ => Self::Show,
        }
    }

    /// Name of the root element.
    pub const fn root(self) -> &'static str {
        match self {
            Self::Movie => "movie",
            Self::Show => "tvshow",
            Self::Episode => "episodedetails",
        }
    }

    /// Name of the file beside a video of this name.
    pub fn file_name(self, video: &[u8]) -> Vec<u8> {
        if self == Self::Show {
            return b"tvshow.nfo".to_vec();
        }
        let stem = match video.iter().rposition(|byte| *byte == b'.') {
            Some(at) if at > 0 => &video[..at],
            _ => video,
        };
        [stem, b".nfo"].concat()
    }
}

/// A note that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub id: String,
    pub item_id: String,
    pub kind: NoteKind,
    /// Path below the library's directory.
    pub place: String,
    /// Hash of its content.
    pub hash: String,
    /// Hash of what was there before, if that was written here too.
    pub earlier: Option<String>,
    pub generated_at: Timestamp,
}

#[cfg(test)]
mod tests;
