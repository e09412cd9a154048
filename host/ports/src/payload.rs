//! The data of torrents on disk, as an area sees it that touches files and does not know the torrents area.

use std::borrow::Cow;
use std::path::Path;

use async_trait::async_trait;
use qm_kernel::Caller;

use crate::action::TorrentRef;
use crate::engine::Torrent;

/// Place of a torrent's data. A client that does not know it (yet) tells the shared directory, and to take that for the
/// torrent's own would make every file in it the torrent's. `None`: nobody knows.
pub fn data_path(torrent: &Torrent) -> Option<Cow<'_, str>> {
    let own = torrent.content_path.as_str();
    let save_path = normalised(&torrent.save_path);
    let path = match normalised(own) {
        path if own.starts_with('/') && path != save_path => path,
        _ if !torrent.save_path.starts_with('/') => return None,
        _ => normalised(&format!("{save_path}/{}", torrent.name))
            .into_owned()
            .into(),
    };
    (path != "/").then_some(path)
}

/// Path as [`normalise`] leaves it, copied only where that differs.
pub fn normalised(path: &str) -> Cow<'_, str> {
    let plain = |rest: &str| rest.split('/').all(|segment| !matches!(segment, "" | "." | ".."));
    match path.strip_prefix('/') {
        Some(rest) if plain(rest) => Cow::Borrowed(path),
        _ => Cow::Owned(normalise(path)),
    }
}

/// Absolute path without `.`, `..`, doubled or trailing slashes. A relative one is taken from `/`.
pub fn normalise(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            name => segments.push(name),
        }
    }
    format!("/{}", segments.join("/"))
}

/// A torrent and where its data lies, as of the engine's last snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TorrentPayload {
    pub engine_id: String,
    /// Lower-case hexadecimal info-hash.
    pub hash: String,
    pub name: String,
    /// Absolute: the torrent's only file, or the folder of its files.
    pub path: String,
    /// As `GET /api/torrents` shows it, e.g. `seeding`.
    pub state: &'static str,
    /// True if the engine answered its last read.
    pub live: bool,
}

impl TorrentPayload {
    pub fn torrent(&self) -> TorrentRef {
        TorrentRef {
            engine_id: self.engine_id.clone(),
            hash: self.hash.clone(),
        }
    }
}

/// Manner in which a torrent is removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removal<'a> {
    pub with_data: bool,
    /// Data that other torrents use is kept; otherwise such a removal is refused.
    pub keep_shared: bool,
    /// Torrents that are removed by the same order: nothing is kept for them.
    pub along: &'a [TorrentRef],
}

/// Finds torrents by their data, and removes them.
#[async_trait]
pub trait TorrentPayloads: Send + Sync {
    /// The torrents of all engines whose data is at one of `paths`, contains it, or lies below it; each once. Paths are
    /// absolute and compared component by component.
    fn touching(&self, paths: &[&Path]) -> Vec<TorrentPayload>;

    /// Checks that these torrents could be removed with their data, as things are now. The error is a sentence that
    /// names the torrents which use the data too.
    async fn check_removal(&self, payloads: &[TorrentPayload]) -> Result<(), String>;

    /// Removes the torrent from its engine, with its data when asked, and audits it as a removal by `caller`. The
    /// error is a sentence that names the engine.
    async fn remove(
        &self,
        payload: &TorrentPayload,
        removal: Removal<'_>,
        caller: Caller<'_>,
    ) -> Result<(), String>;
}
