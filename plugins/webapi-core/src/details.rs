//! Files, peers and trackers of one torrent.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, garbled};
use crate::http::{Answer, Clock, Http};
use crate::link::{Call, LARGE, Link};
use crate::session::Session;
use crate::values::{Num, Text};
use engine_model::{File, Peer, Tracker, TrackerStatus};

#[derive(Default, Deserialize)]
#[serde(default)]
struct FileItem {
    index: Num,
    name: Text,
    size: Num,
    progress: Num,
    priority: Num,
    availability: Num,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PeersAnswer {
    peers: BTreeMap<String, PeerItem>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PeerItem {
    ip: Text,
    port: Num,
    client: Text,
    country_code: Text,
    country: Text,
    progress: Num,
    dl_speed: Num,
    up_speed: Num,
    flags: Text,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct TrackerItem {
    pub(crate) url: Text,
    tier: Num,
    pub(crate) status: Num,
    num_seeds: Num,
    num_leeches: Num,
    pub(crate) msg: Text,
}

impl<H: Http, C: Clock> Session<H, C> {
    pub fn files(&mut self, hash: &str) -> Result<Vec<File>, Error> {
        self.by_name(hash, |link, id| files(link, id))
    }

    pub fn peers(&mut self, hash: &str) -> Result<Vec<Peer>, Error> {
        let answer: PeersAnswer = self.by_name(hash, |link, id| {
            json(link, "/sync/torrentPeers", &[("hash", id), ("rid", "0")])
        })?;
        Ok(answer.peers.into_values().map(Peer::from).collect())
    }

    pub fn trackers(&mut self, hash: &str) -> Result<Vec<Tracker>, Error> {
        self.by_name(hash, |link, id| trackers(link, id))
    }
}

/// The files of a torrent by the client's own name for it; none while a magnet link has no metadata.
pub(crate) fn files<H: Http, C: Clock>(link: &mut Link<H, C>, id: &str) -> Result<Vec<File>, Error> {
    let items: Vec<FileItem> = json(link, "/torrents/files", &[("hash", id)])?;
    Ok(items
        .into_iter()
        .zip(0..)
        .map(|(item, position)| item.file(position))
        .collect())
}

pub(crate) fn trackers<H: Http, C: Clock>(link: &mut Link<H, C>, id: &str) -> Result<Vec<Tracker>, Error> {
    let items: Vec<TrackerItem> = json(link, "/torrents/trackers", &[("hash", id)])?;
    // DHT, PeX and LSD stand in the same list, as `** [DHT] **`.
    Ok(items
        .into_iter()
        .filter(|item| !item.url.0.starts_with("**"))
        .map(Tracker::from)
        .collect())
}

fn json<T: DeserializeOwned, H: Http, C: Clock>(
    link: &mut Link<H, C>,
    path: &str,
    query: &[(&str, &str)],
) -> Result<T, Error> {
    let body = link.call(&Call::get(path, query, LARGE))?.read_to_end()?;
    serde_json::from_slice(&body).map_err(|error| garbled(path, &error))
}

impl FileItem {
    fn file(self, position: u32) -> File {
        File {
            index: self
                .index
                .non_negative()
                .and_then(|index| u32::try_from(index).ok())
                .unwrap_or(position),
            path: self.name.0,
            size: self.size.unsigned(),
            progress: self.progress.fraction(),
            priority: self.priority.unsigned().min(2) as u8, // 6 and 7 are both "high"
            availability: Some(self.availability)
                .filter(|copies| !copies.is_absent() && copies.float() >= 0.0)
                .map(Num::float),
        }
    }
}

impl From<PeerItem> for Peer {
    fn from(item: PeerItem) -> Self {
        Peer {
            ip: item.ip.0,
            port: u16::try_from(item.port.unsigned()).unwrap_or(0),
            client: item.client.non_empty(),
            country: item.country_code.non_empty().or(item.country.non_empty()),
            progress: item.progress.fraction(),
            download_rate: item.dl_speed.unsigned(),
            upload_rate: item.up_speed.unsigned(),
            encrypted: item.flags.0.contains('E'),
        }
    }
}

impl From<TrackerItem> for Tracker {
    fn from(item: TrackerItem) -> Self {
        let count = |n: Num| n.non_negative().map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        Tracker {
            url: item.url.0,
            tier: item.tier.small(),
            status: match item.status.unsigned() {
                0 => TrackerStatus::Disabled,
                2 => TrackerStatus::Working,
                // 5.x tells apart why: 4 fails, 5 refuses, 6 is not reached.
                4..=6 => TrackerStatus::Error,
                _ => TrackerStatus::Enabled,
            },
            seeders: count(item.num_seeds),
            leechers: count(item.num_leeches),
            message: item.msg.non_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tracker(json: &str) -> Tracker {
        serde_json::from_str::<TrackerItem>(json)
            .expect("an object")
            .into()
    }

    #[test]
    fn files_have_an_index_and_three_priorities() {
        let items: Vec<FileItem> = serde_json::from_str(
            r#"[{"index":0,"name":"a/b.bin","size":10,"progress":0.25,"priority":0,"piece_range":[0,1]},
                {"name":"c","priority":1},{"name":"d","priority":7,"size":-1,"progress":null}]"#,
        )
        .expect("a list");
        let files: Vec<_> = items
            .into_iter()
            .zip(0..)
            .map(|(item, position)| item.file(position))
            .collect();
        assert_eq!(
            files[0],
            File {
                index: 0,
                path: "a/b.bin".into(),
                size: 10,
                progress: 0.25,
                priority: 0,
                availability: None,
            }
        );
        assert_eq!((files[1].index, files[1].priority), (1, 1));
        assert_eq!((files[2].index, files[2].priority, files[2].size), (2, 2, 0));
    }

    #[test]
    fn peers_are_read() {
        let answer: PeersAnswer = serde_json::from_str(
            r#"{"full_update":true,"peers":{"127.0.0.1:6881":{"client":"rTorrent","country_code":"de","country":"Germany",
            "dl_speed":5,"up_speed":6,"flags":"D E","ip":"127.0.0.1","port":6881,"progress":0.5},
            "[::1]:70000":{"ip":"::1","port":70000,"country":"N/A","flags":"u"}},"rid":1,"show_flags":true}"#,
        )
        .expect("an object");
        let peers: Vec<Peer> = answer.peers.into_values().map(Peer::from).collect();
        assert_eq!(
            peers[0],
            Peer {
                ip: "127.0.0.1".into(),
                port: 6881,
                client: Some("rTorrent".into()),
                country: Some("de".into()),
                progress: 0.5,
                download_rate: 5,
                upload_rate: 6,
                encrypted: true,
            }
        );
        assert_eq!(
            (peers[1].port, peers[1].country.as_deref(), peers[1].encrypted),
            (0, Some("N/A"), false)
        );
    }

    #[test]
    fn trackers_are_read() {
        let one =
            tracker(r#"{"url":"udp://t","tier":1,"status":2,"num_seeds":3,"num_leeches":-1,"msg":"hello"}"#);
        assert_eq!(
            one,
            Tracker {
                url: "udp://t".into(),
                tier: 1,
                status: TrackerStatus::Working,
                seeders: Some(3),
                leechers: None,
                message: Some("hello".into()),
            }
        );
        for (status, expected) in [
            (0, TrackerStatus::Disabled),
            (1, TrackerStatus::Enabled),
            (2, TrackerStatus::Working),
            (3, TrackerStatus::Enabled),
            (4, TrackerStatus::Error),
            (5, TrackerStatus::Error),
            (6, TrackerStatus::Error),
            (9, TrackerStatus::Enabled),
        ] {
            assert_eq!(
                tracker(&format!(r#"{{"status":{status},"tier":-1}}"#)).status,
                expected
            );
        }
        assert_eq!(tracker(r#"{"tier":"","msg":""}"#).message, None);
    }

    proptest! {
        #[test]
        fn hostile_answers_never_panic(json in r#"[\[\]{}",:0-9a-z_.-]{0,60}"#) {
            let _ = serde_json::from_str::<Vec<FileItem>>(&json);
            let _ = serde_json::from_str::<PeersAnswer>(&json);
            let _ = serde_json::from_str::<Vec<TrackerItem>>(&json);
        }
    }
}
