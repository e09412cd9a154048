//! Items as lines of a table that spreadsheets read: RFC 4180.

use super::item::{Item, MediaFile};

/// The names of the columns.
pub const HEADER: &str = "id,title,year,mediaType,season,episode,matchStatus,confidence,locked,resolution,videoCodec,hdr,container,\
    sizeBytes,hasArtwork,subtitleCount,addedAt\r\n";

/// Adds the line of an item.
pub fn line(lines: &mut String, item: &Item, file: &MediaFile) {
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
        // None has any: nothing looks for artwork and subtitles yet.
        false.to_string(),
        0.to_string(),
        item.created_at.to_string(),
    ];
    for (place, cell) in cells.iter().enumerate() {
        if place > 0 {
            lines.push(',');
        }
        push(lines, cell);
    }
    lines.push_str("\r\n");
}

/// A cell that no spreadsheet takes for a formula, in quotes where it needs them.
fn push(lines: &mut String, cell: &str) {
    let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let guard = if is_formula { "'" } else { "" };
    if cell.contains(['"', ',', '\r', '\n']) {
        lines.push('"');
        lines.push_str(guard);
        lines.push_str(&cell.replace('"', "\"\""));
        lines.push('"');
    } else {
        lines.push_str(guard);
        lines.push_str(cell);
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
            let mut lines = String::new();
            push(&mut lines, cell);
            assert_eq!(lines, expected, "{cell:?}");
        }
    }
}
