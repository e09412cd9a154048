//! Torrents whose data is on the disk already: one trait, [`SeedIntake`], over the torrents area and whatever clients it
//! drives.

use async_trait::async_trait;
use bytes::Bytes;

use crate::intake::{IntakeError, TakenTorrent};

/// Wishes for a torrent that is to be seeded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeedWish {
    pub engine_id: String,
    /// `None`: without one.
    pub category: Option<String>,
    pub tags: Vec<String>,
    pub start_paused: bool,
}

/// Engine that a torrent goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeedEngine {
    /// As the operator calls it.
    pub name: String,
    /// It knows torrents of version 2, and so takes the padding of a hybrid for what it is.
    pub knows_v2: bool,
}

/// A torrent with its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeedTorrent {
    /// The .torrent file.
    pub file: Bytes,
    /// Absolute: the directory that holds the torrent's file or folder.
    pub save_path: String,
    pub wish: SeedWish,
}

/// Adds torrents for seeding, without a caller.
#[async_trait]
pub trait SeedIntake: Send + Sync {
    /// The engine of a wish; none: there is no such engine. The error is what the engine would refuse about the wish, or why
    /// it cannot be asked.
    fn check_wish(&self, wish: &SeedWish) -> Result<Option<SeedEngine>, IntakeError>;

    /// Judges a directory that an engine may be told of as the place of a torrent's content; answers how it is told.
    async fn check_directory(&self, path: &str) -> Result<String, IntakeError>;

    /// Hands a torrent to its engine, which checks the data, and waits until the engine lists it. One that the engine has
    /// already stays as it is.
    async fn seed_torrent(&self, torrent: SeedTorrent) -> Result<TakenTorrent, IntakeError>;
}
