//! Between the records of `engine-model` and those of the plugin contract. Texts are moved, never copied.

use sdk::PluginError;

use crate::{
    AddOptions, AddRequest, Attention, Command, File, GlobalStats, Peer, RateLimits, SessionStats, Source,
    Torrent, TorrentState, Tracker, TrackerStatus, Transfer,
};

impl From<Attention> for engine_model::Attention {
    fn from(attention: Attention) -> Self {
        match attention {
            Attention::Watched => Self::Watched,
            Attention::Quiet => Self::Quiet,
        }
    }
}

impl From<engine_model::State> for TorrentState {
    fn from(state: engine_model::State) -> Self {
        use engine_model::State;
        match state {
            State::Downloading => TorrentState::Downloading,
            State::Seeding => TorrentState::Seeding,
            State::Paused => TorrentState::Paused,
            State::Stopped => TorrentState::Stopped,
            State::Queued => TorrentState::Queued,
            State::Checking => TorrentState::Checking,
            State::Error => TorrentState::Error,
            State::Allocating => TorrentState::Allocating,
            State::Unknown => TorrentState::Unknown,
        }
    }
}

impl From<engine_model::Torrent> for Torrent {
    fn from(torrent: engine_model::Torrent) -> Self {
        let pair = |name: &str, value: String| (name.to_owned(), value);
        let unknown = torrent
            .is_private
            .is_none()
            .then(|| pair("is-private", "unknown".to_owned()));
        let standing = torrent
            .tracker_standing
            .map(|standing| pair("tracker-status", standing.as_str().to_owned()));
        let said = torrent
            .tracker_message
            .map(|message| pair("tracker-message", message));
        Self {
            hash: torrent.hash,
            name: torrent.name,
            state: torrent.state.into(),
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
            tags: torrent.tags,
            save_path: torrent.save_path,
            content_path: torrent.content_path,
            is_private: torrent.is_private.unwrap_or(false),
            message: torrent.message,
            added_at: torrent.added_at,
            completed_at: torrent.completed_at,
            tracker_host: torrent.tracker_host,
            seconds_seeded: torrent.seconds_seeded,
            last_activity: torrent.last_activity,
            availability: torrent.availability,
            extra: unknown.into_iter().chain(standing).chain(said).collect(),
        }
    }
}

impl From<engine_model::GlobalStats> for GlobalStats {
    fn from(stats: engine_model::GlobalStats) -> Self {
        Self {
            download_rate: stats.download_rate,
            upload_rate: stats.upload_rate,
            download_rate_limit: stats.download_rate_limit,
            upload_rate_limit: stats.upload_rate_limit,
            total_downloaded: stats.total_downloaded,
            total_uploaded: stats.total_uploaded,
            torrent_count: stats.torrent_count,
            active_count: stats.active_count,
        }
    }
}

impl From<engine_model::File> for File {
    fn from(file: engine_model::File) -> Self {
        Self {
            index: file.index,
            path: file.path,
            size: file.size,
            progress: file.progress,
            priority: file.priority,
            extra: Vec::new(),
        }
    }
}

impl From<engine_model::Peer> for Peer {
    fn from(peer: engine_model::Peer) -> Self {
        Self {
            ip: peer.ip,
            port: peer.port,
            client: peer.client,
            country: peer.country,
            progress: peer.progress,
            download_rate: peer.download_rate,
            upload_rate: peer.upload_rate,
            encrypted: peer.encrypted,
            extra: Vec::new(),
        }
    }
}

impl From<engine_model::Tracker> for Tracker {
    fn from(tracker: engine_model::Tracker) -> Self {
        use engine_model::TrackerStatus as Status;
        Self {
            url: tracker.url,
            tier: tracker.tier,
            status: match tracker.status {
                Status::Enabled => TrackerStatus::Enabled,
                Status::Disabled => TrackerStatus::Disabled,
                Status::Working => TrackerStatus::Working,
                Status::Error => TrackerStatus::Error,
            },
            seeders: tracker.seeders,
            leechers: tracker.leechers,
            message: tracker.message,
            extra: Vec::new(),
        }
    }
}

impl From<engine_model::SessionStats> for SessionStats {
    fn from(stats: engine_model::SessionStats) -> Self {
        Self {
            engine_version: stats.engine_version,
            peer_id: None,
            listen_port: stats.listen_port,
            dht_enabled: stats.dht_enabled,
            free_disk_bytes: stats.free_disk_bytes,
            total_disk_bytes: None,
            extra: Vec::new(),
        }
    }
}

impl From<engine_model::Transfer> for Transfer {
    fn from(transfer: engine_model::Transfer) -> Self {
        Self {
            downloaded: transfer.downloaded,
            uploaded: transfer.uploaded,
        }
    }
}

impl From<engine_model::RateLimits> for RateLimits {
    fn from(limits: engine_model::RateLimits) -> Self {
        Self {
            download: limits.download,
            upload: limits.upload,
        }
    }
}

impl From<RateLimits> for engine_model::RateLimits {
    fn from(limits: RateLimits) -> Self {
        Self {
            download: limits.download,
            upload: limits.upload,
        }
    }
}

impl From<AddRequest> for engine_model::AddRequest {
    fn from(request: AddRequest) -> Self {
        Self {
            hash: request.hash,
            source: match request.source {
                Source::Magnet(link) => engine_model::Source::Magnet(link),
                Source::Metainfo(bytes) => engine_model::Source::Metainfo(bytes),
            },
            options: request.options.into(),
        }
    }
}

impl From<AddOptions> for engine_model::AddOptions {
    fn from(options: AddOptions) -> Self {
        Self {
            category: options.category,
            tags: options.tags,
            save_path: options.save_path,
            rename: options.rename,
            start_paused: options.start_paused,
            sequential_download: options.sequential_download,
            first_last_piece_priority: options.first_last_piece_priority,
            upload_limit: options.upload_limit,
            download_limit: options.download_limit,
        }
    }
}

/// Commands that a later host may know are refused by name.
impl TryFrom<Command> for engine_model::Command {
    type Error = PluginError;

    fn try_from(command: Command) -> Result<Self, PluginError> {
        Ok(match command {
            Command::Start => Self::Start,
            Command::Stop => Self::Stop,
            Command::Pause => Self::Pause,
            Command::Resume => Self::Resume,
            Command::ForceStart(on) => Self::ForceStart(on),
            Command::Recheck => Self::Recheck,
            Command::Remove(with_data) => Self::Remove(with_data),
            Command::Move(destination) => Self::Move(destination),
            Command::Detach => Self::Detach,
            Command::Attach(save_path) => Self::Attach(save_path),
            Command::Rename(name) => Self::Rename(name),
            Command::RenameFile(file) => Self::RenameFile {
                index: file.index,
                name: file.name,
            },
            Command::FilePriority(file) => Self::FilePriority {
                index: file.index,
                priority: file.priority,
            },
            Command::TorrentPriority(priority) => Self::TorrentPriority(priority),
            Command::UploadLimit(bytes) => Self::UploadLimit(bytes),
            Command::DownloadLimit(bytes) => Self::DownloadLimit(bytes),
            Command::AddTracker(url) => Self::AddTracker(url),
            Command::RemoveTracker(url) => Self::RemoveTracker(url),
            Command::SetLabel(label) => Self::SetLabel(label),
            Command::AddTags(tags) => Self::AddTags(tags),
            Command::RemoveTags(tags) => Self::RemoveTags(tags),
            Command::Other((name, _)) => {
                return Err(PluginError::Unsupported(format!(
                    "This engine cannot do `{name}`"
                )));
            }
        })
    }
}
