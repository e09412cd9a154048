//! From the shapes of `scgi-core` to those of the plugin contract, by moving.

use scgi_core::{Error, Summary, model};
use sdk::{GlobalStats, PluginError, TorrentState, TrackerStatus};

pub fn error(error: Error) -> PluginError {
    match error {
        Error::Unreachable(text) => PluginError::Unreachable(text),
        Error::Timeout(text) => PluginError::Timeout(text),
        Error::Auth(text) => PluginError::Auth(text),
        Error::InvalidConfig(text) => PluginError::InvalidConfig(text),
        Error::NotFound(thing) => PluginError::NotFound(thing.as_str().to_owned()),
        Error::Unsupported(text) => PluginError::Unsupported(text),
        Error::Rejected(text) => PluginError::Rejected(text),
        Error::Protocol(text) => PluginError::Protocol(text),
    }
}

pub fn torrent(torrent: model::Torrent) -> sdk::Torrent {
    sdk::Torrent {
        hash: torrent.hash,
        name: torrent.name,
        state: match torrent.state {
            model::State::Downloading => TorrentState::Downloading,
            model::State::Seeding => TorrentState::Seeding,
            model::State::Paused => TorrentState::Paused,
            model::State::Stopped => TorrentState::Stopped,
            model::State::Checking => TorrentState::Checking,
            model::State::Error => TorrentState::Error,
        },
        progress: torrent.progress,
        size: torrent.size,
        downloaded: torrent.downloaded,
        uploaded: torrent.uploaded,
        ratio: torrent.ratio,
        download_rate: torrent.download_rate,
        upload_rate: torrent.upload_rate,
        eta: torrent.eta,
        seeds_connected: torrent.seeds_connected,
        seeds_total: torrent.seeds_total,
        peers_connected: torrent.peers_connected,
        peers_total: torrent.peers_total,
        priority: torrent.priority,
        label: torrent.label,
        save_path: torrent.save_path,
        content_path: torrent.content_path,
        is_private: torrent.is_private,
        message: torrent.message,
        added_at: torrent.added_at,
        completed_at: torrent.completed_at,
        extra: Vec::new(),
    }
}

pub fn delta(summary: Summary, changed: Vec<sdk::Torrent>) -> sdk::Delta {
    let stats = summary.stats;
    sdk::Delta {
        cursor: summary.cursor,
        full: summary.full,
        changed,
        removed: summary.removed,
        stats: GlobalStats {
            download_rate: stats.download_rate,
            upload_rate: stats.upload_rate,
            download_rate_limit: stats.download_rate_limit,
            upload_rate_limit: stats.upload_rate_limit,
            total_downloaded: stats.total_downloaded,
            total_uploaded: stats.total_uploaded,
            torrent_count: stats.torrent_count,
            active_count: stats.active_count,
        },
        extra: Vec::new(),
    }
}

pub fn file(file: model::File) -> sdk::File {
    sdk::File {
        index: file.index,
        path: file.path,
        size: file.size,
        progress: file.progress,
        priority: file.priority,
        extra: Vec::new(),
    }
}

pub fn peer(peer: model::Peer) -> sdk::Peer {
    sdk::Peer {
        ip: peer.ip,
        port: peer.port,
        client: peer.client,
        country: None,
        progress: peer.progress,
        download_rate: peer.download_rate,
        upload_rate: peer.upload_rate,
        encrypted: peer.encrypted,
        extra: Vec::new(),
    }
}

pub fn tracker(tracker: model::Tracker) -> sdk::Tracker {
    sdk::Tracker {
        url: tracker.url,
        tier: tracker.tier,
        status: if tracker.enabled {
            TrackerStatus::Enabled
        } else {
            TrackerStatus::Disabled
        },
        seeders: tracker.seeders,
        leechers: tracker.leechers,
        message: None,
        extra: Vec::new(),
    }
}

pub fn session_stats(stats: model::SessionStats) -> sdk::SessionStats {
    sdk::SessionStats {
        engine_version: stats.version,
        peer_id: None,
        listen_port: stats.listen_port,
        dht_enabled: stats.dht_enabled,
        free_disk_bytes: None,
        total_disk_bytes: None,
        extra: Vec::new(),
    }
}

pub fn add_request(request: sdk::AddRequest) -> model::AddRequest {
    let options = request.options;
    model::AddRequest {
        hash: request.hash,
        source: match request.source {
            sdk::Source::Magnet(uri) => model::Source::Magnet(uri),
            sdk::Source::Metainfo(bytes) => model::Source::Metainfo(bytes),
        },
        category: options.category,
        save_path: options.save_path,
        start_paused: options.start_paused,
        upload_limit: options.upload_limit,
        download_limit: options.download_limit,
    }
}

pub fn command(command: sdk::Command) -> Result<model::Command, PluginError> {
    Ok(match command {
        sdk::Command::Start => model::Command::Start,
        sdk::Command::Stop => model::Command::Stop,
        sdk::Command::Pause => model::Command::Pause,
        sdk::Command::Resume => model::Command::Resume,
        sdk::Command::ForceStart(on) => model::Command::ForceStart(on),
        sdk::Command::Recheck => model::Command::Recheck,
        sdk::Command::Remove(with_data) => model::Command::Remove(with_data),
        sdk::Command::Move(destination) => model::Command::Move(destination),
        sdk::Command::Rename(_) => model::Command::Rename,
        sdk::Command::RenameFile(_) => model::Command::RenameFile,
        sdk::Command::FilePriority(file) => model::Command::FilePriority {
            index: file.index,
            priority: file.priority,
        },
        sdk::Command::TorrentPriority(priority) => model::Command::Priority(priority),
        sdk::Command::UploadLimit(bytes) => model::Command::UploadLimit(bytes),
        sdk::Command::DownloadLimit(bytes) => model::Command::DownloadLimit(bytes),
        sdk::Command::AddTracker(url) => model::Command::AddTracker(url),
        sdk::Command::RemoveTracker(url) => model::Command::RemoveTracker(url),
        sdk::Command::Other((name, _)) => {
            return Err(PluginError::Unsupported(format!(
                "This engine does not know the command `{name}`"
            )));
        }
    })
}
