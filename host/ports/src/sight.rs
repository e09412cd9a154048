//! Engines as they were read last, for areas that count what they move: one trait, [`EngineSights`], over the loaded engines.

use std::sync::Arc;

use crate::list::TorrentList;

/// An engine with its last list.
#[derive(Clone)]
pub struct EngineSight {
    /// Its last read succeeded: the list is of now.
    pub is_online: bool,
    /// Nothing was left out of the list: a torrent that is not in it is gone.
    pub is_whole: bool,
    pub list: Arc<dyn TorrentList>,
}

/// Offered by torrents. Never asks a client.
pub trait EngineSights: Send + Sync {
    /// The loaded engines that were read since the start.
    fn sights(&self) -> Vec<EngineSight>;

    /// Id of the engine that a request without one means; none while none is loaded.
    fn default_engine(&self) -> Option<String>;

    /// True if an engine of this id is loaded.
    fn is_loaded(&self, engine_id: &str) -> bool;
}
