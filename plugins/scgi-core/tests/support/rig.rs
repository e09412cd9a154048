//! A real rTorrent with the code under test on one side, and questions of its own on the other.

use std::collections::HashMap;
use std::path::Path;

use engine_model::{AddOptions, AddRequest, Attention, Command, Source, State, Torrent};
use scgi_core::native::Native;
use scgi_core::wire::Exchange;
use scgi_core::xml::{self, Param, Value, parse_response};
use scgi_core::{Endpoint, Error, Poller};

use super::daemon::{Daemon, NativeClient, wait_for};
use super::metainfo::Metainfo;

/// Asks rTorrent without the code under test's own questions.
pub fn ask(endpoint: &Endpoint, method: &str, params: &[Param<'_>]) -> Value {
    let mut exchange = Exchange::start(&Native, endpoint, 5_000, xml::call(method, params)).unwrap();
    let mut body = Vec::new();
    while let Some(piece) = exchange.piece().unwrap() {
        body.extend(piece);
    }
    parse_response(&body)
        .unwrap()
        .unwrap_or_else(|fault| Value::Text(fault.text))
}

pub struct Rig {
    pub daemon: Daemon,
    pub client: NativeClient,
    pub poller: Poller,
    pub cursor: Option<u64>,
    pub known: HashMap<String, Torrent>,
}

impl Rig {
    pub fn new(daemon: Daemon) -> Self {
        let client = daemon.client();
        Self {
            daemon,
            client,
            poller: Poller::default(),
            cursor: None,
            known: HashMap::new(),
        }
    }

    pub fn text(&self, method: &str, hash: &str) -> String {
        ask(
            &self.daemon.endpoint,
            method,
            &[Param::Text(&hash.to_uppercase())],
        )
        .text()
    }

    /// Answer of a method with an argument about a torrent.
    pub fn text_of(&self, method: &str, hash: &str, argument: &str) -> String {
        let target = hash.to_uppercase();
        ask(
            &self.daemon.endpoint,
            method,
            &[Param::Text(&target), Param::Text(argument)],
        )
        .text()
    }

    pub fn int(&self, method: &str, hash: &str) -> i64 {
        ask(
            &self.daemon.endpoint,
            method,
            &[Param::Text(&hash.to_uppercase())],
        )
        .int()
    }

    pub fn run(&self, hash: &str, command: Command) -> Result<(), Error> {
        let mut outcomes = self.client.run(&[hash.to_owned()], &command);
        assert_eq!(outcomes.len(), 1);
        outcomes.remove(0)
    }

    /// Polls as the host does, and keeps the list as the host does.
    pub fn poll(&mut self) -> &HashMap<String, Torrent> {
        self.poll_for(Attention::Watched)
    }

    pub fn poll_for(&mut self, attention: Attention) -> &HashMap<String, Torrent> {
        let known = &mut self.known;
        let mut told = Vec::new();
        let summary = self
            .poller
            .poll(&self.client, self.cursor, attention, &mut |torrent| {
                told.push(torrent);
            })
            .unwrap();
        if summary.full {
            known.clear();
        }
        for hash in &summary.removed {
            assert!(known.remove(hash).is_some(), "{hash} is gone but was never told");
        }
        for torrent in told {
            known.insert(torrent.hash.clone(), torrent);
        }
        assert_eq!(summary.stats.torrent_count as usize, known.len());
        let active = known
            .values()
            .filter(|t| matches!(t.state, State::Downloading | State::Seeding))
            .count();
        assert_eq!(summary.stats.active_count as usize, active);
        assert_eq!(
            summary.stats.total_downloaded,
            known.values().map(|torrent| torrent.downloaded).sum::<u64>()
        );
        self.cursor = Some(summary.cursor);
        known
    }

    pub fn wait_for_state(&mut self, hash: &str, state: State) -> Torrent {
        wait_for(&format!("{state:?}"), || {
            self.poll()
                .get(hash)
                .filter(|torrent| torrent.state == state)
                .cloned()
        })
    }
}

pub fn add(metainfo: &Metainfo, save_path: &Path) -> AddRequest {
    let source = Source::Metainfo(metainfo.bytes.clone());
    saved_at(&metainfo.hash, source, save_path)
}

/// Request that adds a magnet link of this hash.
pub fn add_magnet(hash: &str, link: &str, save_path: &Path) -> AddRequest {
    saved_at(hash, Source::Magnet(link.to_owned()), save_path)
}

fn saved_at(hash: &str, source: Source, save_path: &Path) -> AddRequest {
    AddRequest {
        hash: hash.to_owned(),
        source,
        options: AddOptions {
            save_path: Some(save_path.display().to_string()),
            ..AddOptions::default()
        },
    }
}

/// The same with other options.
pub fn with(mut request: AddRequest, change: impl FnOnce(&mut AddOptions)) -> AddRequest {
    change(&mut request.options);
    request
}

pub fn home() -> tempfile::TempDir {
    tempfile::Builder::new()
        .prefix("qm-rtorrent")
        .tempdir_in("/tmp")
        .unwrap()
}
