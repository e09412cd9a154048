//! Subtitles beside videos, as they are stored.

use qm_kernel::Timestamp;
pub use qm_media_names::subtitle::{Tag, is_video, language_of, read_name};

/// A file of subtitles beside a video.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subtitle {
    pub id: String,
    pub item_id: String,
    /// Path below the library's directory.
    pub place: String,
    pub tag: Tag,
    pub created_at: Timestamp,
}
