//! Engine API 0.2 to the words of `ports` and back. Texts move; nothing is copied but info-hashes, which are shared later.

use qm_kernel::Timestamp;
use qm_plugin_host::role::Voice;
use qm_ports::engine as kernel;
use serde_json::{Map, Value};

use super::wit;
use crate::engine::{errors, sanitize};

/// The most of preferences, or of their schema, as text.
const OBJECT: usize = 1 << 20;

pub(super) fn attention(attention: kernel::Attention) -> wit::Attention {
    match attention {
        kernel::Attention::Exact => wit::Attention::Exact,
        kernel::Attention::Watched => wit::Attention::Watched,
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
        size: given.size.unwrap_or(0),
        downloaded: given.downloaded,
        uploaded: given.uploaded,
        ratio: given.ratio,
        download_rate: given.download_rate,
        upload_rate: given.upload_rate,
        eta: given.eta,
        seeds_connected: given.seeds_connected,
        seeds_total: given.seeds_total,
        peers_connected: given.peers_connected,
        peers_total: given.peers_total,
        priority: given.priority,
        label: given.label,
        tags: given.tags,
        save_path: given.save_path,
        content_path: given.content_path,
        download_path: given.download_path,
        is_private: given.is_private,
        // One without a size has no metadata, whatever else is told.
        has_metadata: given.has_metadata.or(given.size.is_none().then_some(false)),
        message: given.message,
        added_at: sanitize::instant(given.added_at),
        completed_at: sanitize::instant(given.completed_at),
        tracker_host: given.tracker_host,
        trackers_count: given.trackers_count,
        tracker_standing: given.tracker_status.map(standing),
        tracker_message: given.tracker_message,
        seeded: given
            .seconds_seeded
            .map(|seconds| kernel::Seeded { seconds, as_of: now }),
        last_activity: sanitize::instant(given.last_activity),
        availability: given.availability,
        queue_position: given.queue_position,
        sequential: given.sequential,
        first_last_piece: given.first_last_piece,
        super_seeding: given.super_seeding,
        force_started: given.force_started,
        auto_managed: given.auto_managed,
        upload_limit: given.upload_limit,
        download_limit: given.download_limit,
        share_limits: given.share_limits.map(|limits| share_limits(&limits)),
        parked: None,
    }
}

const fn standing(given: wit::TrackerStanding) -> kernel::TrackerStanding {
    match given {
        wit::TrackerStanding::Working => kernel::TrackerStanding::Working,
        wit::TrackerStanding::Updating => kernel::TrackerStanding::Updating,
        wit::TrackerStanding::Failing => kernel::TrackerStanding::Failing,
        wit::TrackerStanding::Unregistered => kernel::TrackerStanding::Unregistered,
    }
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
        rate_mode: match given.rate_mode {
            Some(mode) => Some(rate_mode(mode)),
            None => None,
        },
        free_disk_bytes: given.free_disk_bytes,
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
        availability: file.availability,
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

pub(super) fn add_request(request: kernel::AddRequest) -> wit::AddRequest {
    let options = request.options;
    wit::AddRequest {
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
            download_path: options.download_path,
            auto_manage: options.auto_manage,
            share_limits: options.share_limits.map(|limits| limits_for_plugin(&limits)),
            skip_checking: options.skip_checking,
            content_layout: options.content_layout.map(|layout| match layout {
                kernel::ContentLayout::Original => wit::ContentLayout::Original,
                kernel::ContentLayout::Subfolder => wit::ContentLayout::Subfolder,
                kernel::ContentLayout::NoSubfolder => wit::ContentLayout::NoSubfolder,
            }),
            queue_first: options.queue_first,
            stop_when: options.stop_when.map(|when| match when {
                kernel::StopWhen::MetadataReceived => wit::StopWhen::MetadataReceived,
                kernel::StopWhen::FilesChecked => wit::StopWhen::FilesChecked,
            }),
            extra: Vec::new(),
        },
    }
}

pub(super) fn command(command: kernel::Command) -> wit::Command {
    use kernel::Command as C;
    match command {
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
            wit::Command::FilePriority(wit::FilePriorityArgs { indexes, priority })
        }
        C::Priority(priority) => wit::Command::TorrentPriority(priority),
        C::UploadLimit(limit) => wit::Command::UploadLimit(limit),
        C::DownloadLimit(limit) => wit::Command::DownloadLimit(limit),
        C::AddTracker { url } => wit::Command::AddTracker(url),
        C::RemoveTracker { url } => wit::Command::RemoveTracker(url),
        C::SetLabel { label } => wit::Command::SetLabel(label),
        C::AddTags { tags } => wit::Command::AddTags(tags),
        C::RemoveTags { tags } => wit::Command::RemoveTags(tags),
        C::Reannounce => wit::Command::Reannounce,
        C::DownloadPath(path) => wit::Command::DownloadPath(path),
        C::AutoManage(on) => wit::Command::AutoManage(on),
        C::RenameFolder { old_path, new_path } => {
            wit::Command::RenameFolder(wit::RenameFolderArgs { old_path, new_path })
        }
        C::Queue(way) => wit::Command::QueuePosition(match way {
            kernel::QueueMove::Top => wit::QueueMove::Top,
            kernel::QueueMove::Up => wit::QueueMove::Up,
            kernel::QueueMove::Down => wit::QueueMove::Down,
            kernel::QueueMove::Bottom => wit::QueueMove::Bottom,
        }),
        C::Sequential(on) => wit::Command::Sequential(on),
        C::FirstLastPiece(on) => wit::Command::FirstLastPiece(on),
        C::SuperSeeding(on) => wit::Command::SuperSeeding(on),
        C::ShareLimits(limits) => wit::Command::ShareLimits(limits_for_plugin(&limits)),
        C::ReplaceTracker { old_url, new_url } => {
            wit::Command::ReplaceTracker(wit::ReplaceTrackerArgs { old_url, new_url })
        }
        C::BanPeers { peers } => wit::Command::BanPeers(peers),
    }
}

fn share_limits(given: &wit::ShareLimits) -> kernel::ShareLimits {
    let time = |limit: &wit::TimeLimit| match limit {
        wit::TimeLimit::Inherit => kernel::Limit::Inherit,
        wit::TimeLimit::Unlimited => kernel::Limit::Unlimited,
        wit::TimeLimit::Limit(seconds) => kernel::Limit::At(*seconds),
    };
    kernel::ShareLimits {
        ratio: match given.ratio {
            wit::RatioLimit::Inherit => kernel::Limit::Inherit,
            wit::RatioLimit::Unlimited => kernel::Limit::Unlimited,
            wit::RatioLimit::Limit(ratio) => kernel::Limit::At(ratio),
        },
        seeding_time: time(&given.seeding_time),
        inactive_time: time(&given.inactive_time),
        action: match given.action {
            wit::ShareAction::Inherit => kernel::ShareAction::Inherit,
            wit::ShareAction::Stop => kernel::ShareAction::Stop,
            wit::ShareAction::Remove => kernel::ShareAction::Remove,
            wit::ShareAction::RemoveWithData => kernel::ShareAction::RemoveWithData,
            wit::ShareAction::SuperSeed => kernel::ShareAction::SuperSeed,
        },
    }
}

fn limits_for_plugin(limits: &kernel::ShareLimits) -> wit::ShareLimits {
    let time = |limit| match limit {
        kernel::Limit::Inherit => wit::TimeLimit::Inherit,
        kernel::Limit::Unlimited => wit::TimeLimit::Unlimited,
        kernel::Limit::At(seconds) => wit::TimeLimit::Limit(seconds),
    };
    wit::ShareLimits {
        ratio: match limits.ratio {
            kernel::Limit::Inherit => wit::RatioLimit::Inherit,
            kernel::Limit::Unlimited => wit::RatioLimit::Unlimited,
            kernel::Limit::At(ratio) => wit::RatioLimit::Limit(ratio),
        },
        seeding_time: time(limits.seeding_time),
        inactive_time: time(limits.inactive_time),
        action: match limits.action {
            kernel::ShareAction::Inherit => wit::ShareAction::Inherit,
            kernel::ShareAction::Stop => wit::ShareAction::Stop,
            kernel::ShareAction::Remove => wit::ShareAction::Remove,
            kernel::ShareAction::RemoveWithData => wit::ShareAction::RemoveWithData,
            kernel::ShareAction::SuperSeed => wit::ShareAction::SuperSeed,
        },
        extra: Vec::new(),
    }
}

pub(super) const fn rate_mode(given: wit::RateMode) -> kernel::RateMode {
    match given {
        wit::RateMode::Normal => kernel::RateMode::Normal,
        wit::RateMode::Alternative => kernel::RateMode::Alternative,
    }
}

pub(super) const fn mode_for_plugin(mode: kernel::RateMode) -> wit::RateMode {
    match mode {
        kernel::RateMode::Normal => wit::RateMode::Normal,
        kernel::RateMode::Alternative => wit::RateMode::Alternative,
    }
}

pub(super) fn categories(given: Vec<wit::Category>, voice: &Voice) -> Vec<kernel::Category> {
    let category = |category: wit::Category| kernel::Category {
        name: category.name,
        save_path: category.save_path,
        download_path: category.download_path,
    };
    let mut categories: Vec<_> = given.into_iter().map(category).collect();
    note_left_out(sanitize::categories(&mut categories), "categories", voice);
    categories
}

pub(super) fn category_for_plugin(category: kernel::Category) -> wit::Category {
    wit::Category {
        name: category.name,
        save_path: category.save_path,
        download_path: category.download_path,
        extra: Vec::new(),
    }
}

pub(super) fn tags(mut given: Vec<String>, voice: &Voice) -> Vec<String> {
    note_left_out(sanitize::tags(&mut given), "tags", voice);
    given
}

/// Says in the log what nobody is told otherwise.
fn note_left_out(count: usize, what: &str, voice: &Voice) {
    if count > 0 {
        let text = format!(
            "{count} {what} beyond the first {} were left out",
            sanitize::NAMES
        );
        voice.say(tracing::Level::WARN, &text);
    }
}

pub(super) fn addresses(given: Vec<String>) -> Result<Vec<String>, kernel::EngineError> {
    sanitize::addresses(&given)?;
    Ok(given)
}

/// A list of bans that could be read again; an error before the client has it.
pub(super) fn addresses_for_plugin(given: Vec<String>) -> Result<Vec<String>, kernel::EngineError> {
    if given.len() > sanitize::NAMES {
        return Err(kernel::EngineError::Rejected(format!(
            "{} addresses are too many to ban: give {} at most",
            given.len(),
            sanitize::NAMES
        )));
    }
    Ok(given)
}

pub(super) fn metainfo(given: Vec<u8>) -> Result<Vec<u8>, kernel::EngineError> {
    sanitize::metainfo(&given)?;
    Ok(given)
}

/// A JSON object; an error of the plugin when it is none.
pub(super) fn object(given: &str) -> Result<Map<String, Value>, kernel::EngineError> {
    if given.len() > OBJECT {
        return Err(kernel::EngineError::Protocol(
            "preferences of more than 1 MiB".to_owned(),
        ));
    }
    serde_json::from_str(given).map_err(|error| {
        // The error's own text may name a value.
        kernel::EngineError::Protocol(format!(
            "the preferences are no JSON object, by line {}, column {}",
            error.line(),
            error.column()
        ))
    })
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
        queueing: given.queueing,
        default_save_path: given.default_save_path,
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
        lacks: given.lacks,
    };
    sanitize::health(&mut health);
    health
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_about_preferences_names_no_value() {
        for text in [r#""secret""#, r#"{"a": secret}"#, r#"["secret"]"#, "{"] {
            let error = object(text).unwrap_err().to_string();
            assert!(!error.contains("secret") && error.contains("line 1"), "{error}");
        }
        assert_eq!(object(r#"{"a":1}"#).map(|object| object.len()), Ok(1));
    }

    #[test]
    fn more_addresses_than_could_be_read_again_are_not_banned() {
        let addresses = |count: usize| vec!["192.0.2.1".to_owned(); count];
        assert!(addresses_for_plugin(addresses(sanitize::NAMES)).is_ok());
        let refused = addresses_for_plugin(addresses(sanitize::NAMES + 1)).unwrap_err();
        assert!(matches!(refused, kernel::EngineError::Rejected(_)), "{refused}");
    }
}
