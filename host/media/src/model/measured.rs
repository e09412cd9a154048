//! Properties of a file that a program has measured.

/// Properties that the name of a file does not give.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    pub width: Option<i64>,
    pub height: Option<i64>,
    /// Bit rate of all streams together, in kbit/s.
    pub bitrate_kbps: Option<i64>,
    pub duration_sec: Option<i64>,
    pub audio_channels: Option<i64>,
    /// Frames per second.
    pub frame_rate: Option<f64>,
    pub video_bit_depth: Option<i64>,
    pub chroma_subsampling: Option<String>,
    pub color_primaries: Option<String>,
    pub color_transfer: Option<String>,
    pub color_space: Option<String>,
    pub hdr_format: Option<String>,
}
