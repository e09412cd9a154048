//! Facts that the name of a file gives.

/// Technical details that the name of a file gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tech {
    pub container: Option<String>,
    pub video_codec: Option<String>,
    pub audio_codec: Option<String>,
    pub resolution: Option<String>,
    pub hdr: Option<String>,
    pub language: Option<String>,
    pub release_group: Option<String>,
    pub quality: Option<String>,
}

/// Title and numbers of an item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    pub media_type: String,
    pub title: String,
    pub year: Option<i64>,
    pub season: Option<i64>,
    pub episode: Option<i64>,
    pub episode_end: Option<i64>,
}
