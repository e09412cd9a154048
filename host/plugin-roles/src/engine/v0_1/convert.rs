//! Engine API 0.1 to the words of `ports` and back. Texts move; nothing is copied but info-hashes, which are shared later.

use qm_kernel::Timestamp;
use qm_plugin_host::role::Voice;
use qm_ports::engine as kernel;

use super::wit;
use crate::engine::{errors, sanitize};

pub(super) fn attention(attention: kernel::Attention) -> wit::Attention {
    match attention {
        // There, a watched poll tells every change.
        kernel::Attention::Exact | kernel::Attention::Watched => wit::Attention::Watched,
        kernel::Attention::Quiet => wit::Attention::Quiet,
    }
}

pub(super) fn delta(given: wit::Delta, now: Timestamp) -> (kernel::Delta, usize) {
    let mut delta = kernel::Delta {
        cursor: given.cursor,
        full: given.full,
        changed: given.changed.into_iter().map(|row| torrent(row, now)).collect(),
        removed: if given.full { Vec::new() } else { given.removed },
        stats: stats(&given.stats),
        cut: false, // known once it was looked at
    };
    let dropped = sanitize::delta(&mut delta);
    (delta, dropped)
}

pub(super) fn torrent(given: wit::Torrent, now: Timestamp) -> kernel::Torrent {
    kernel::Torrent {
        hash: given.hash.into(),
        name: given.name,
        state: state(given.state),
        progress: given.progress,
        size: given.size,
        downloaded: given.downloaded,
        uploaded: given.uploaded,
        ratio: given.ratio,
        download_rate: given.download_rate,
        upload_rate: given.upload_rate,
        eta: given.eta,
        seeds_connected: given.seeds_connected,
        // 0 may as well be "unknown" in this version, and says the same of a swarm.
        seeds_total: Some(given.seeds_total),
        peers_connected: given.peers_connected,
        peers_total: Some(given.peers_total),
        priority: given.priority,
        label: given.label,
        tags: given.tags,
        save_path: given.save_path,
        content_path: given.content_path,
        is_private: (!is_unknown(&given.extra, "is-private")).then_some(given.is_private),
        message: given.message,
        added_at: sanitize::instant(given.added_at),
        completed_at: sanitize::instant(given.completed_at),
        tracker_host: given.tracker_host,
        tracker_standing: find_extra(&given.extra, "tracker-status")
            .and_then(kernel::TrackerStanding::from_name),
        tracker_message: find_extra(&given.extra, "tracker-message").map(str::to_owned),
        seeded: given
            .seconds_seeded
            .map(|seconds| kernel::Seeded { seconds, as_of: now }),
        last_activity: sanitize::instant(given.last_activity),
        availability: given.availability,
        ..kernel::Torrent::default()
    }
}

/// The value of a pair, which a plugin gives for what a record has no field for.
fn find_extra<'a>(extra: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let pair = extra.iter().find(|(known, _)| known == name);
    pair.map(|(_, value)| value.as_str())
}

/// A plugin says that it does not know what a record makes it say: by the name of the field among `extra`.
fn is_unknown(extra: &[(String, String)], field: &str) -> bool {
    extra
        .iter()
        .any(|(name, value)| name == field && value == "unknown")
}

const fn state(given: wit::TorrentState) -> kernel::TorrentState {
    match given {
        wit::TorrentState::Downloading => kernel::TorrentState::Downloading,
        wit::TorrentState::Seeding => kernel::TorrentState::Seeding,
        wit::TorrentState::Paused => kernel::TorrentState::Paused,
        wit::TorrentState::Stopped => kernel::TorrentState::Stopped,
        wit::TorrentState::Queued => kernel::TorrentState::Queued,
        wit::TorrentState::Checking => kernel::TorrentState::Checking,
        wit::TorrentState::Error => kernel::TorrentState::Error,
        wit::TorrentState::Completed => kernel::TorrentState::Completed,
        wit::TorrentState::Allocating => kernel::TorrentState::Allocating,
        wit::TorrentState::Unknown => kernel::TorrentState::Unknown,
    }
}

const fn stats(given: &wit::GlobalStats) -> kernel::GlobalStats {
    kernel::GlobalStats {
        download_rate: given.download_rate,
        upload_rate: given.upload_rate,
        download_rate_limit: given.download_rate_limit,
        upload_rate_limit: given.upload_rate_limit,
        total_downloaded: given.total_downloaded,
        total_uploaded: given.total_uploaded,
        torrent_count: given.torrent_count,
        active_count: given.active_count,
        rate_mode: None,
        free_disk_bytes: None,
    }
}

pub(super) fn files(given: Vec<wit::File>) -> Vec<kernel::File> {
    let file = |file: wit::File| kernel::File {
        index: file.index,
        path: file.path,
        size: file.size,
        downloaded: 0, // reckoned from size and progress once both were checked
        progress: file.progress,
        priority: file.priority,
        availability: None,
    };
    let mut files: Vec<_> = given.into_iter().map(file).collect();
    sanitize::files(&mut files);
    files
}

pub(super) fn peers(given: Vec<wit::Peer>) -> Vec<kernel::Peer> {
    let peer = |peer: wit::Peer| kernel::Peer {
        ip: peer.ip,
        port: peer.port,
        client: peer.client,
        country: peer.country,
        progress: peer.progress,
        download_rate: peer.download_rate,
        upload_rate: peer.upload_rate,
        encrypted: peer.encrypted,
    };
    let mut peers: Vec<_> = given.into_iter().map(peer).collect();
    sanitize::peers(&mut peers);
    peers
}

pub(super) fn trackers(given: Vec<wit::Tracker>) -> Vec<kernel::Tracker> {
    let tracker = |tracker: wit::Tracker| kernel::Tracker {
        url: tracker.url,
        tier: tracker.tier,
        status: match tracker.status {
            wit::TrackerStatus::Enabled => kernel::TrackerStatus::Enabled,
            wit::TrackerStatus::Disabled => kernel::TrackerStatus::Disabled,
            wit::TrackerStatus::Working => kernel::TrackerStatus::Working,
            wit::TrackerStatus::Error => kernel::TrackerStatus::Error,
        },
        seeders: tracker.seeders,
        leechers: tracker.leechers,
        message: tracker.message,
    };
    let mut trackers: Vec<_> = given.into_iter().map(tracker).collect();
    sanitize::trackers(&mut trackers);
    trackers
}

/// An error when an option is set that this version does not have.
pub(super) fn add_request(request: kernel::AddRequest) -> Result<wit::AddRequest, kernel::EngineError> {
    let options = request.options;
    let is_later = options.download_path.is_some()
        || options.auto_manage.is_some()
        || options.share_limits.is_some()
        || options.skip_checking
        || options.content_layout.is_some()
        || options.queue_first
        || options.stop_when.is_some();
    if is_later {
        return Err(errors::lacking("such option of an add"));
    }
    Ok(wit::AddRequest {
        hash: request.hash,
        source: match request.source {
            kernel::Source::Magnet(link) => wit::Source::Magnet(link),
            kernel::Source::Metainfo(bytes) => wit::Source::Metainfo(bytes.into()),
        },
        options: wit::AddOptions {
            category: options.category,
            tags: options.tags,
            save_path: options.save_path,
            rename: options.rename,
            start_paused: options.start_paused,
            sequential_download: options.sequential_download,
            first_last_piece_priority: options.first_last_piece_priority,
            upload_limit: options.upload_limit,
            download_limit: options.download_limit,
            extra: Vec::new(),
        },
    })
}

/// A command of the host as those of this version: one for each file.
pub(super) fn commands(command: kernel::Command) -> Result<Vec<wit::Command>, kernel::EngineError> {
    use kernel::Command as C;
    Ok(vec![match command {
        C::Start => wit::Command::Start,
        C::Stop => wit::Command::Stop,
        C::Pause => wit::Command::Pause,
        C::Resume => wit::Command::Resume,
        C::ForceStart(on) => wit::Command::ForceStart(on),
        C::Recheck => wit::Command::Recheck,
        C::Remove { with_data } => wit::Command::Remove(with_data),
        C::Move { destination } => wit::Command::Move(destination),
        C::Detach => wit::Command::Detach,
        C::Attach { save_path } => wit::Command::Attach(save_path),
        C::Rename { name } => wit::Command::Rename(name),
        C::RenameFile { index, name } => wit::Command::RenameFile(wit::RenameFileArgs { index, name }),
        C::FilePriority { indexes, priority } => {
            let one = |index| wit::Command::FilePriority(wit::FilePriorityArgs { index, priority });
            return Ok(indexes.into_iter().map(one).collect());
        }
        C::Priority(priority) => wit::Command::TorrentPriority(priority),
        C::UploadLimit(limit) => wit::Command::UploadLimit(limit),
        C::DownloadLimit(limit) => wit::Command::DownloadLimit(limit),
        C::AddTracker { url } => wit::Command::AddTracker(url),
        C::RemoveTracker { url } => wit::Command::RemoveTracker(url),
        C::SetLabel { label } => wit::Command::SetLabel(label),
        C::AddTags { tags } => wit::Command::AddTags(tags),
        C::RemoveTags { tags } => wit::Command::RemoveTags(tags),
        C::Reannounce
        | C::DownloadPath(_)
        | C::AutoManage(_)
        | C::RenameFolder { .. }
        | C::Queue(_)
        | C::Sequential(_)
        | C::FirstLastPiece(_)
        | C::SuperSeeding(_)
        | C::ShareLimits(_)
        | C::ReplaceTracker { .. }
        | C::BanPeers { .. } => return Err(errors::lacking("such command")),
    }])
}

pub(super) fn outcomes(hashes: &[String], given: Vec<wit::Outcome>, voice: &Voice) -> Vec<kernel::Outcome> {
    let outcome = |outcome: wit::Outcome| kernel::Outcome {
        hash: outcome.hash,
        result: outcome.error.map_or(Ok(()), |why| Err(errors::read(why, voice))),
    };
    sanitize::outcomes(hashes, given.into_iter().map(outcome).collect())
}

pub(super) fn session_stats(given: wit::SessionStats) -> kernel::SessionStats {
    let mut stats = kernel::SessionStats {
        engine_version: given.engine_version,
        peer_id: given.peer_id,
        listen_port: given.listen_port,
        dht_enabled: given.dht_enabled,
        queueing: None,
        default_save_path: None,
        free_disk_bytes: given.free_disk_bytes,
        total_disk_bytes: given.total_disk_bytes,
    };
    sanitize::session_stats(&mut stats);
    stats
}

pub(super) fn transfer(given: wit::Transfer) -> kernel::Transfer {
    let mut transfer = kernel::Transfer {
        downloaded: given.downloaded,
        uploaded: given.uploaded,
    };
    sanitize::transfer(&mut transfer);
    transfer
}

pub(super) fn rate_limits(given: wit::RateLimits) -> kernel::RateLimits {
    let mut limits = kernel::RateLimits {
        download: given.download,
        upload: given.upload,
    };
    sanitize::rate_limits(&mut limits);
    limits
}

pub(super) fn health(given: wit::Health) -> kernel::Health {
    let mut health = kernel::Health {
        version: given.version,
        lacks: Vec::new(),
    };
    sanitize::health(&mut health);
    health
}
