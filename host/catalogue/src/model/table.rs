//! Items as lines of a table that spreadsheets read: RFC 4180.

use std::borrow::Cow;

use csv::{Terminator, Writer, WriterBuilder};

use qm_media::model::item::{Item, MediaFile};

/// The names of the columns.
const HEADER: [&str; 17] = [
    "id",
    "title",
    "year",
    "mediaType",
    "season",
    "episode",
    "matchStatus",
    "confidence",
    "locked",
    "resolution",
    "videoCodec",
    "hdr",
    "container",
    "sizeBytes",
    "hasArtwork",
    "subtitleCount",
    "addedAt",
];

/// Some lines of a table.
pub struct Lines(Writer<Vec<u8>>);

impl Lines {
    pub fn new() -> Self {
        let mut builder = WriterBuilder::new();
        Self(builder.terminator(Terminator::CRLF).from_writer(Vec::new()))
    }

    /// The line with the names of the columns.
    pub fn header(&mut self) -> Result<(), csv::Error> {
        self.0.write_record(HEADER)
    }

    /// The line of an item.
    pub fn add(&mut self, item: &Item, file: &MediaFile) -> Result<(), csv::Error> {
        let number = |number: Option<i64>| number.map(|number| number.to_string()).unwrap_or_default();
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let cells = [
            item.id.clone(),
            item.title.clone(),
            number(item.year),
            item.media_type.clone(),
            number(item.season),
            number(item.episode),
            item.match_status.clone(),
            (item.confidence as f64 / 100.0).to_string(),
            item.locked.to_string(),
            text(&file.tech.resolution),
            text(&file.tech.video_codec),
            text(&file.tech.hdr),
            text(&file.tech.container),
            file.size.to_string(),
            (item.pictures > 0).to_string(),
            item.subtitles.to_string(),
            item.created_at.to_string(),
        ];
        self.0
            .write_record(cells.iter().map(|cell| guarded(cell).into_owned()))
    }

    pub fn into_bytes(self) -> Result<Vec<u8>, csv::Error> {
        self.0.into_inner().map_err(|error| error.into_error().into())
    }
}

/// A cell that no spreadsheet takes for a formula.
fn guarded(cell: &str) -> Cow<'_, str> {
    if cell.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        Cow::Owned(format!("'{cell}"))
    } else {
        Cow::Borrowed(cell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_no_formulas_and_keep_their_bounds() {
        for (cell, expected) in [
            ("The Wire", "The Wire"),
            ("", ""),
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@a", "'@a"),
            ("\tx", "'\tx"),
            ("\rx", "\"'\rx\""),
            ("a=b", "a=b"),
            ("say \"x\", y", "\"say \"\"x\"\", y\""),
            ("=A1,B1", "\"'=A1,B1\""),
            ("two\nlines", "\"two\nlines\""),
        ] {
            let mut lines = Lines::new();
            lines.0.write_record([&*guarded(cell), "next"]).unwrap();
            let bytes = lines.into_bytes().unwrap();
            assert_eq!(
                String::from_utf8(bytes).unwrap(),
                format!("{expected},next\r\n"),
                "{cell:?}"
            );
        }
    }
}
