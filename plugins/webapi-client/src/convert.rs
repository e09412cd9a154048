//! Between the records of `webapi-core` and those of the plugin contract. Texts are moved, never copied.

use sdk::{
    AddOptions, AddRequest, Command, Delta, File, GlobalStats, Outcome, Peer, PluginError, SessionStats,
    Source, Torrent, TorrentState, Tracker, TrackerStatus,
};
use webapi_core::{Error, State, Subject};

pub fn plugin_error(error: Error) -> PluginError {
    match error {
        Error::Unreachable(text) => PluginError::Unreachable(text),
        Error::Timeout(text) => PluginError::Timeout(text),
        Error::Auth(text) => PluginError::Auth(text),
        Error::InvalidConfig(text) => PluginError::InvalidConfig(text),
        Error::NotFound(Subject::Torrent) => PluginError::NotFound("torrent".into()),
        Error::NotFound(Subject::File) => PluginError::NotFound("file".into()),
        Error::NotFound(Subject::Tracker) => PluginError::NotFound("tracker".into()),
        Error::Unsupported(text) => PluginError::Unsupported(text),
        Error::Rejected(text) => PluginError::Rejected(text),
        Error::Protocol(text) => PluginError::Protocol(text),
    }
}

pub fn delta(delta: webapi_core::Delta) -> Delta {
    let stats = delta.stats;
    Delta {
        cursor: delta.cursor,
        full: delta.full,
        changed: delta.changed.into_iter().map(torrent).collect(),
        removed: delta.removed,
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

pub fn torrent(t: webapi_core::Torrent) -> Torrent {
    Torrent {
        hash: t.hash,
        name: t.name,
        state: state(t.state),
        progress: t.progress,
        size: t.size,
        downloaded: t.downloaded,
        uploaded: t.uploaded,
        ratio: t.ratio,
        download_rate: t.download_rate,
        upload_rate: t.upload_rate,
        eta: t.eta,
        seeds_connected: t.seeds_connected,
        seeds_total: t.seeds_total,
        peers_connected: t.peers_connected,
        peers_total: t.peers_total,
        priority: t.priority,
        label: t.label,
        save_path: t.save_path,
        content_path: t.content_path,
        is_private: t.is_private,
        message: None, // the client has none for a torrent
        added_at: t.added_at,
        completed_at: t.completed_at,
        extra: Vec::new(),
    }
}

fn state(state: State) -> TorrentState {
    match state {
        State::Downloading => TorrentState::Downloading,
        State::Seeding => TorrentState::Seeding,
        State::Paused => TorrentState::Paused,
        State::Queued => TorrentState::Queued,
        State::Checking => TorrentState::Checking,
        State::Error => TorrentState::Error,
        State::Allocating => TorrentState::Allocating,
        State::Unknown => TorrentState::Unknown,
    }
}

pub fn file(f: webapi_core::File) -> File {
    File {
        index: f.index,
        path: f.path,
        size: f.size,
        progress: f.progress,
        priority: f.priority,
        extra: Vec::new(),
    }
}

pub fn peer(p: webapi_core::Peer) -> Peer {
    Peer {
        ip: p.ip,
        port: p.port,
        client: p.client,
        country: p.country,
        progress: p.progress,
        download_rate: p.download_rate,
        upload_rate: p.upload_rate,
        encrypted: p.encrypted,
        extra: Vec::new(),
    }
}

pub fn tracker(t: webapi_core::Tracker) -> Tracker {
    let status = match t.status {
        webapi_core::TrackerStatus::Enabled => TrackerStatus::Enabled,
        webapi_core::TrackerStatus::Disabled => TrackerStatus::Disabled,
        webapi_core::TrackerStatus::Working => TrackerStatus::Working,
        webapi_core::TrackerStatus::Error => TrackerStatus::Error,
    };
    let (seeders, leechers) = (t.seeders, t.leechers);
    Tracker {
        url: t.url,
        tier: t.tier,
        status,
        seeders,
        leechers,
        message: t.message,
        extra: Vec::new(),
    }
}

pub fn session_stats(s: webapi_core::SessionStats) -> SessionStats {
    SessionStats {
        engine_version: s.engine_version,
        peer_id: None,
        listen_port: s.listen_port,
        dht_enabled: s.dht_enabled,
        free_disk_bytes: s.free_disk_bytes,
        total_disk_bytes: None,
        extra: Vec::new(),
    }
}

pub fn add_request(request: AddRequest) -> webapi_core::AddRequest {
    webapi_core::AddRequest {
        hash: request.hash,
        source: match request.source {
            Source::Magnet(link) => webapi_core::Source::Magnet(link),
            Source::Metainfo(bytes) => webapi_core::Source::Metainfo(bytes),
        },
        options: add_options(request.options),
    }
}

fn add_options(o: AddOptions) -> webapi_core::AddOptions {
    webapi_core::AddOptions {
        category: o.category,
        tags: o.tags,
        save_path: o.save_path,
        rename: o.rename,
        start_paused: o.start_paused,
        sequential_download: o.sequential_download,
        first_last_piece_priority: o.first_last_piece_priority,
        upload_limit: o.upload_limit,
        download_limit: o.download_limit,
    }
}

pub fn command(command: Command) -> Result<webapi_core::Command, PluginError> {
    Ok(match command {
        Command::Start => webapi_core::Command::Start,
        Command::Stop => webapi_core::Command::Stop,
        Command::Pause => webapi_core::Command::Pause,
        Command::Resume => webapi_core::Command::Resume,
        Command::ForceStart(on) => webapi_core::Command::ForceStart(on),
        Command::Recheck => webapi_core::Command::Recheck,
        Command::Remove(with_data) => webapi_core::Command::Remove(with_data),
        Command::Move(to) => webapi_core::Command::Move(to),
        Command::Rename(name) => webapi_core::Command::Rename(name),
        Command::RenameFile(args) => webapi_core::Command::RenameFile {
            index: args.index,
            name: args.name,
        },
        Command::FilePriority(args) => webapi_core::Command::FilePriority {
            index: args.index,
            priority: args.priority,
        },
        Command::TorrentPriority(priority) => webapi_core::Command::TorrentPriority(priority),
        Command::UploadLimit(limit) => webapi_core::Command::UploadLimit(limit),
        Command::DownloadLimit(limit) => webapi_core::Command::DownloadLimit(limit),
        Command::AddTracker(url) => webapi_core::Command::AddTracker(url),
        Command::RemoveTracker(url) => webapi_core::Command::RemoveTracker(url),
        Command::Other((name, _)) => {
            return Err(PluginError::Unsupported(format!(
                "This engine cannot do `{name}`"
            )));
        }
    })
}

pub fn outcome(outcome: webapi_core::Outcome) -> Outcome {
    Outcome {
        hash: outcome.hash,
        error: outcome.error.map(plugin_error),
    }
}
