//! Digest of values, one after another.

/// Digest in which no two sequences of values look the same.
#[derive(Clone, Debug, Default)]
pub struct Digest(blake3::Hasher);

impl Digest {
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.number(text.len() as i64);
        self.0.update(text.as_bytes());
        self
    }

    pub fn number(&mut self, number: i64) -> &mut Self {
        self.0.update(&number.to_le_bytes());
        self
    }

    pub fn flag(&mut self, flag: bool) -> &mut Self {
        self.0.update(&[u8::from(flag)]);
        self
    }

    pub fn maybe_text(&mut self, text: Option<&str>) -> &mut Self {
        self.flag(text.is_some());
        if let Some(text) = text {
            self.text(text);
        }
        self
    }

    pub fn maybe_number(&mut self, number: Option<i64>) -> &mut Self {
        self.flag(number.is_some());
        if let Some(number) = number {
            self.number(number);
        }
        self
    }

    /// Adds everything that groups and verdicts follow from. The time of the last change is left out: it breaks ties alone,
    /// and changes without a change of anything that is shown.
    pub fn facts(&mut self, item: &crate::Facts) -> &mut Self {
        self.text(&item.id)
            .text(&item.media_type)
            .text(&item.title)
            .maybe_number(item.year)
            .maybe_number(item.season)
            .maybe_number(item.episode)
            .maybe_number(item.episode_end)
            .maybe_text(item.series_titledb_id.as_deref())
            .text(&item.path)
            .number(item.size)
            .number(item.external_ids.len() as i64);
        for (provider, id) in &item.external_ids {
            self.text(provider).text(id);
        }
        self.number(item.files.len() as i64);
        for file in &item.files {
            self.number(file.size)
                .maybe_number(file.height)
                .maybe_number(file.bitrate_kbps)
                .maybe_number(file.audio_channels)
                .maybe_number(file.duration_sec)
                .maybe_text(file.resolution.as_deref())
                .maybe_text(file.video_codec.as_deref());
        }
        self
    }

    /// The digest so far, in hexadecimal.
    pub fn hex(&self) -> String {
        self.0.finalize().to_hex().to_string()
    }
}
