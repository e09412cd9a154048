//! Facts about an item.

/// Item of a library, as far as duplicates are found and judged by it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    pub id: String,
    /// `movie`, `tv`, `anime`, … ; empty: unknown.
    pub media_type: String,
    /// Title; for an episode, the title of its series.
    pub title: String,
    pub year: Option<i64>,
    pub season: Option<i64>,
    pub episode: Option<i64>,
    pub episode_end: Option<i64>,
    /// Id of the series in the data set of titles.
    pub series_titledb_id: Option<String>,
    /// Provider and id, one a provider.
    pub external_ids: Vec<(String, String)>,
    /// Path of the first file, as people see it.
    pub path: String,
    /// Bytes of all its files.
    pub size: i64,
    /// Milliseconds since 1970.
    pub updated_at: i64,
    /// Evidence of quality, one entry a file.
    pub files: Vec<Evidence>,
}

/// Evidence of a file's quality.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Bytes.
    pub size: i64,
    /// Lines, as a program measured them.
    pub height: Option<i64>,
    pub bitrate_kbps: Option<i64>,
    pub audio_channels: Option<i64>,
    pub duration_sec: Option<i64>,
    /// As the name says, e.g. `1080p`.
    pub resolution: Option<String>,
    pub video_codec: Option<String>,
}

impl Facts {
    /// True if the type says it is a film, or there is no type.
    pub fn is_film(&self) -> bool {
        matches!(self.media_type.as_str(), "movie" | "")
    }

    /// True if it belongs to a series by its type.
    pub fn is_of_series(&self) -> bool {
        matches!(self.media_type.as_str(), "tv" | "anime" | "episode")
    }

    /// Season and episode, if both are known.
    pub fn numbers(&self) -> Option<(i64, i64)> {
        self.season.zip(self.episode)
    }
}
