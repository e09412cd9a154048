//! Trackers of a host, replaced in torrents that have one of it.

use qm_engines::{Engine, TorrentsError};
use qm_ports::engine::{Command, EngineError, Subject, TrackerStatus};

use super::TorrentCommands;
use crate::error::CommandsError;
use crate::model::act::{HostChange, NewAddress, Order};
use crate::model::addresses::{at_host, has_host};

impl TorrentCommands {
    pub(super) async fn replace_host(
        &self,
        engine: &Engine,
        hash: &str,
        order: &Order,
        change: &HostChange,
    ) -> Result<(), CommandsError> {
        let trackers = engine.driver.trackers(hash).await;
        let trackers = trackers.map_err(TorrentsError::blame_engine(&engine.name()))?;
        let old: Vec<&str> = trackers
            .iter()
            .filter(|tracker| tracker.status != TrackerStatus::Disabled)
            .map(|tracker| tracker.url.as_str())
            .filter(|url| has_host(url, &change.host))
            .collect();
        if old.is_empty() {
            let missing = EngineError::NotFound(Subject::Tracker);
            return Err(TorrentsError::blame_engine(&engine.name())(missing).into());
        }
        let mut known: Vec<String> = trackers.iter().map(|tracker| tracker.url.clone()).collect();
        for old_url in old {
            let new_url = match &change.to {
                NewAddress::Host(host) => at_host(old_url, host),
                NewAddress::Url(url) => Some(url.clone()),
            };
            let Some(new_url) = new_url.filter(|new| new != old_url) else {
                continue;
            };
            let old_url = old_url.to_owned();
            // A torrent has an address once: what became the same as another one goes.
            let command = if known.contains(&new_url) {
                Command::RemoveTracker { url: old_url }
            } else {
                known.push(new_url.clone());
                Command::ReplaceTracker { old_url, new_url }
            };
            self.tell(engine, hash, order, command, None).await?;
        }
        Ok(())
    }
}

/// True if a torrent may have a tracker of the host, by what the list tells: the first one's host, and how many there are.
pub(super) fn may_have_host(torrent: &qm_ports::engine::Torrent, host: &str) -> bool {
    let first = torrent.tracker_host.as_deref();
    let is_first = first
        .is_some_and(|first| has_host(&format!("http://{first}"), host.split(':').next().unwrap_or(host)));
    is_first || host.starts_with('[') || torrent.trackers_count != Some(u32::from(first.is_some()))
}

#[cfg(test)]
mod tests {
    use qm_ports::engine::Torrent;

    use super::*;

    #[test]
    fn a_torrent_with_one_tracker_elsewhere_need_not_be_asked() {
        let torrent = |host: Option<&str>, count: Option<u32>| Torrent {
            tracker_host: host.map(str::to_owned),
            trackers_count: count,
            ..Torrent::default()
        };
        for (host, count, may) in [
            (Some("old.example"), Some(1), true),
            (Some("OLD.example"), Some(1), true),
            (Some("other.example"), Some(1), false),
            (Some("other.example"), Some(2), true),
            (Some("other.example"), None, true),
            (None, Some(0), false),
            (None, Some(1), true),
            (None, None, true),
        ] {
            assert_eq!(
                may_have_host(&torrent(host, count), "old.example:80"),
                may,
                "{host:?} {count:?}"
            );
        }
    }
}
