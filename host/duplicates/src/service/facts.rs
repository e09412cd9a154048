//! Items as the pure rules see them.

use qm_duplicate_groups::{Evidence, Facts};
use qm_ports::inventory::{StockFile, StockItem};

/// Facts of an item.
pub fn facts_of(item: &StockItem) -> Facts {
    Facts {
        id: item.id.clone(),
        media_type: item.media_type.clone(),
        title: item.title.clone(),
        year: item.year,
        season: item.season,
        episode: item.episode,
        episode_end: item.episode_end,
        series_titledb_id: item.series_titledb_id.clone(),
        external_ids: item.external_ids.clone(),
        path: item.path().to_owned(),
        size: item.size(),
        updated_at: item.updated_at.ms(),
        files: item.files.iter().map(evidence_of).collect(),
    }
}

fn evidence_of(file: &StockFile) -> Evidence {
    Evidence {
        size: file.size,
        height: file.height,
        bitrate_kbps: file.bitrate_kbps,
        audio_channels: file.audio_channels,
        duration_sec: file.duration_sec,
        resolution: file.resolution.clone(),
        video_codec: file.video_codec.clone(),
    }
}
