//! Request about many torrents.

use super::act::Order;

/// The torrents that are meant.
#[derive(Clone, Debug)]
pub enum Chosen {
    /// Torrents of one engine, the default one unless it is named.
    OfEngine {
        engine_id: Option<String>,
        hashes: Vec<String>,
    },
    /// Torrents by engine and hash.
    Items(Vec<(Option<String>, String)>),
    /// Torrents on every engine that lists them.
    OnAll(Vec<String>),
    /// All torrents of an engine that may have a tracker of the order's host; `all`: of every engine.
    OfHost { engine_id: Option<String>, all: bool },
}

/// A request about many torrents.
#[derive(Clone, Debug)]
pub struct BulkWish {
    pub order: Order,
    pub chosen: Chosen,
    /// A request that knows no jobs waits, however many torrents it names.
    pub waits: bool,
}
