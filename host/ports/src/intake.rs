//! Torrents that an area adds by itself: one trait, [`TorrentIntake`], over the torrents area and whatever clients it drives.

use async_trait::async_trait;

/// A torrent to add.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTorrent {
    /// A magnet link, or the http(s) address of a .torrent, which the URL guard judges.
    pub source: String,
    /// `None`: the default engine.
    pub engine_id: Option<String>,
    /// `None`: the engine's own.
    pub save_path: Option<String>,
}

/// A torrent that a client has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenTorrent {
    /// The info-hash that the client lists it under, or will.
    pub hash: String,
    /// The client had it already.
    pub existed: bool,
}

/// Judge of torrents by the info-hashes that their sources tell, asked before any client is.
#[async_trait]
pub trait HashJudge: Send + Sync {
    /// True if the torrent that has all of these is wanted; an error where nobody can say now.
    async fn is_wanted(&self, hashes: &[String]) -> Result<bool, IntakeError>;
}

/// Why a torrent was not added, by what is to be done about it. Each text continues a sentence such as "Download failed: …".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IntakeError {
    /// Asking again changes nothing: the source, the path or the client says no.
    #[error("{0}")]
    Refused(String),
    /// The address of the .torrent did not answer.
    #[error("{0}")]
    Source(String),
    /// The [`HashJudge`] does not want the torrent with this info-hash; no client was asked to add it.
    #[error("The torrent is known already")]
    Unwanted { hash: String },
    /// There is no engine, or it did not answer; it is not known if it has the torrent.
    #[error("{0}")]
    Engine(String),
}

/// Adds torrents without a caller. A torrent that a client has already stays as it is, so adding one again does no harm.
#[async_trait]
pub trait TorrentIntake: Send + Sync {
    /// Id of the engine that a torrent goes to: the one that is named, if it is there, else the default.
    fn engine(&self, named: Option<&str>) -> Option<String>;

    /// A directory that torrents may be saved into, absolute and without links as far as it exists here; otherwise why it is
    /// none.
    async fn check_save_path(&self, path: &str) -> Result<String, String>;

    /// Hands a torrent to its engine and waits until the engine lists it. A torrent that `judge` does not want, once
    /// its info-hash is known, is not handed over.
    async fn take_in(
        &self,
        torrent: NewTorrent,
        judge: Option<&dyn HashJudge>,
    ) -> Result<TakenTorrent, IntakeError>;

    /// The engines that list a torrent, as far as is known.
    fn engines_with(&self, hash: &str) -> Vec<String>;

    /// Removes a torrent with its data from an engine. The same torrent on other engines loses its data too, so it has
    /// to be removed there as well. If another torrent uses the data, nothing is removed. A torrent that is not there
    /// counts as removed.
    async fn remove(&self, engine_id: &str, hash: &str) -> Result<(), IntakeError>;
}
