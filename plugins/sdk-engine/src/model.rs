//! Between the records of `engine-model` and those of the plugin contract. Texts are moved, never copied.

use sdk::PluginError;

use crate::{
    AddOptions, AddRequest, Attention, Category, Command, ContentLayout, File, GlobalStats, Health, Peer,
    QueueMove, RateLimits, RateMode, RatioLimit, SessionStats, ShareAction, ShareLimits, Source, StopWhen,
    TimeLimit, Torrent, TorrentState, Tracker, TrackerStanding, TrackerStatus, Transfer,
};

impl From<Attention> for engine_model::Attention {
    fn from(attention: Attention) -> Self {
        match attention {
            Attention::Exact => Self::Exact,
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

impl From<engine_model::Standing> for TrackerStanding {
    fn from(standing: engine_model::Standing) -> Self {
        use engine_model::Standing;
        match standing {
            Standing::Working => TrackerStanding::Working,
            Standing::Updating => TrackerStanding::Updating,
            Standing::Failing => TrackerStanding::Failing,
            Standing::Unregistered => TrackerStanding::Unregistered,
        }
    }
}

impl From<engine_model::Torrent> for Torrent {
    fn from(torrent: engine_model::Torrent) -> Self {
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
            download_path: torrent.download_path,
            is_private: torrent.is_private,
            has_metadata: torrent.has_metadata,
            message: torrent.message,
            added_at: torrent.added_at,
            completed_at: torrent.completed_at,
            tracker_host: torrent.tracker_host,
            trackers_count: torrent.trackers_count,
            tracker_status: torrent.tracker_standing.map(TrackerStanding::from),
            tracker_message: torrent.tracker_message,
            seconds_seeded: torrent.seconds_seeded,
            last_activity: torrent.last_activity,
            availability: torrent.availability,
            queue_position: torrent.queue_position,
            sequential: torrent.sequential,
            first_last_piece: torrent.first_last_piece,
            super_seeding: torrent.super_seeding,
            force_started: torrent.force_started,
            auto_managed: torrent.auto_managed,
            upload_limit: torrent.upload_limit,
            download_limit: torrent.download_limit,
            share_limits: torrent.share_limits.map(ShareLimits::from),
            extra: Vec::new(),
        }
    }
}

impl From<engine_model::ShareLimits> for ShareLimits {
    fn from(limits: engine_model::ShareLimits) -> Self {
        use engine_model::{Limit, ShareAction as Action};
        let time = |limit| match limit {
            Limit::Inherit => TimeLimit::Inherit,
            Limit::Unlimited => TimeLimit::Unlimited,
            Limit::At(seconds) => TimeLimit::Limit(seconds),
        };
        Self {
            ratio: match limits.ratio {
                Limit::Inherit => RatioLimit::Inherit,
                Limit::Unlimited => RatioLimit::Unlimited,
                Limit::At(ratio) => RatioLimit::Limit(ratio),
            },
            seeding_time: time(limits.seeding_seconds),
            inactive_time: time(limits.inactive_seconds),
            action: match limits.action {
                Action::Inherit => ShareAction::Inherit,
                Action::Stop => ShareAction::Stop,
                Action::Remove => ShareAction::Remove,
                Action::RemoveWithData => ShareAction::RemoveWithData,
                Action::SuperSeed => ShareAction::SuperSeed,
            },
            extra: Vec::new(),
        }
    }
}

impl From<ShareLimits> for engine_model::ShareLimits {
    fn from(limits: ShareLimits) -> Self {
        use engine_model::{Limit, ShareAction as Action};
        let time = |limit| match limit {
            TimeLimit::Inherit => Limit::Inherit,
            TimeLimit::Unlimited => Limit::Unlimited,
            TimeLimit::Limit(seconds) => Limit::At(seconds),
        };
        Self {
            ratio: match limits.ratio {
                RatioLimit::Inherit => Limit::Inherit,
                RatioLimit::Unlimited => Limit::Unlimited,
                RatioLimit::Limit(ratio) => Limit::At(ratio),
            },
            seeding_seconds: time(limits.seeding_time),
            inactive_seconds: time(limits.inactive_time),
            action: match limits.action {
                ShareAction::Inherit => Action::Inherit,
                ShareAction::Stop => Action::Stop,
                ShareAction::Remove => Action::Remove,
                ShareAction::RemoveWithData => Action::RemoveWithData,
                ShareAction::SuperSeed => Action::SuperSeed,
            },
        }
    }
}

impl From<engine_model::RateMode> for RateMode {
    fn from(mode: engine_model::RateMode) -> Self {
        match mode {
            engine_model::RateMode::Normal => RateMode::Normal,
            engine_model::RateMode::Alternative => RateMode::Alternative,
        }
    }
}

impl From<RateMode> for engine_model::RateMode {
    fn from(mode: RateMode) -> Self {
        match mode {
            RateMode::Normal => Self::Normal,
            RateMode::Alternative => Self::Alternative,
        }
    }
}

impl From<engine_model::Category> for Category {
    fn from(category: engine_model::Category) -> Self {
        Self {
            name: category.name,
            save_path: category.save_path,
            download_path: category.download_path,
            extra: Vec::new(),
        }
    }
}

impl From<Category> for engine_model::Category {
    fn from(category: Category) -> Self {
        Self {
            name: category.name,
            save_path: category.save_path,
            download_path: category.download_path,
        }
    }
}

impl From<engine_model::Health> for Health {
    fn from(health: engine_model::Health) -> Self {
        Self {
            version: health.version,
            lacks: health.lacks.into_iter().map(str::to_owned).collect(),
            extra: Vec::new(),
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
            rate_mode: stats.rate_mode.map(RateMode::from),
            free_disk_bytes: stats.free_disk_bytes,
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
            availability: file.availability,
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
            queueing: stats.queueing,
            default_save_path: stats.default_save_path,
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
            download_path: options.download_path,
            auto_manage: options.auto_manage,
            share_limits: options.share_limits.map(engine_model::ShareLimits::from),
            skip_checking: options.skip_checking,
            content_layout: options.content_layout.map(|layout| match layout {
                ContentLayout::Original => engine_model::ContentLayout::Original,
                ContentLayout::Subfolder => engine_model::ContentLayout::Subfolder,
                ContentLayout::NoSubfolder => engine_model::ContentLayout::NoSubfolder,
            }),
            queue_first: options.queue_first,
            stop_when: options.stop_when.map(|when| match when {
                StopWhen::MetadataReceived => engine_model::StopWhen::MetadataReceived,
                StopWhen::FilesChecked => engine_model::StopWhen::FilesChecked,
            }),
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
            Command::Reannounce => Self::Reannounce,
            Command::Remove(with_data) => Self::Remove(with_data),
            Command::Move(destination) => Self::Move(destination),
            Command::DownloadPath(path) => Self::DownloadPath(path),
            Command::AutoManage(on) => Self::AutoManage(on),
            Command::Detach => Self::Detach,
            Command::Attach(save_path) => Self::Attach(save_path),
            Command::Rename(name) => Self::Rename(name),
            Command::RenameFile(file) => Self::RenameFile {
                index: file.index,
                name: file.name,
            },
            Command::RenameFolder(folder) => Self::RenameFolder {
                old_path: folder.old_path,
                new_path: folder.new_path,
            },
            Command::FilePriority(files) => Self::FilePriority {
                indexes: files.indexes,
                priority: files.priority,
            },
            Command::TorrentPriority(priority) => Self::TorrentPriority(priority),
            Command::QueuePosition(way) => Self::Queue(match way {
                QueueMove::Top => engine_model::QueueMove::Top,
                QueueMove::Up => engine_model::QueueMove::Up,
                QueueMove::Down => engine_model::QueueMove::Down,
                QueueMove::Bottom => engine_model::QueueMove::Bottom,
            }),
            Command::Sequential(on) => Self::Sequential(on),
            Command::FirstLastPiece(on) => Self::FirstLastPiece(on),
            Command::SuperSeeding(on) => Self::SuperSeeding(on),
            Command::UploadLimit(bytes) => Self::UploadLimit(bytes),
            Command::DownloadLimit(bytes) => Self::DownloadLimit(bytes),
            Command::AddTracker(url) => Self::AddTracker(url),
            Command::RemoveTracker(url) => Self::RemoveTracker(url),
            Command::ReplaceTracker(urls) => Self::ReplaceTracker {
                old_url: urls.old_url,
                new_url: urls.new_url,
            },
            Command::BanPeers(peers) => Self::BanPeers(peers),
            Command::ShareLimits(limits) => Self::ShareLimits(limits.into()),
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
