//! Names of files that lie in folders of downloads.

use super::*;

#[test]
fn folders_of_downloads_name_no_show() {
    check_names(
        Preset::Plex,
        None,
        &[
            (
                "downloads/The.Wire.S01E02.1080p.mkv",
                "The Wire/Season 1/The Wire - S01E02.mkv",
            ),
            (
                "complete/tv/the_wire-s01e03.mkv",
                "The Wire/Season 1/The Wire - S01E03.mkv",
            ),
            (
                "Ебб (2002)/Tide.S01E04.mkv",
                "Ебб (2002)/Season 1/Ебб - S01E04.mkv",
            ),
            (
                "The Wire/Season 2/wire.s02e04.mkv",
                "The Wire/Season 2/The Wire - S02E04.mkv",
            ),
            (
                "The Amber Ox/S01E05.mkv",
                "The Amber Ox/Season 1/The Amber Ox - S01E05.mkv",
            ),
        ],
    );
}
