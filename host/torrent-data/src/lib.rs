//! Data of torrents: who uses it, where it may lie, and how it is moved and removed.
//!
//! Several torrents may use the same files. The *guard* (`service::shared_data`) finds out who else uses what an order would
//! take, over the last lists of all engines, and alone makes the proof that `Engine::order_taking` asks for. A *claim* on
//! places keeps two orders from taking the same data at once. *Moves* and *removals* have rows, written before a client is
//! told anything, so that the next process ends what this one began.
//!
//! Directories that clients are told are judged here, as text and by where they lead (`service::places`), when they are
//! chosen and again right before a client hears of them.
//!
//! It takes engines and their lists from `qm_engines`, and the file manager by the port `DataMover`. It opens no path itself,
//! and knows no routes, lists of people, or adding.
//!
//! Own state: two locks of moves (torrents that are busy, complaints that were logged) and one of claims. None is held
//! together with another, and nothing is awaited under them. A claim may be held while clients and the file manager are
//! asked; no transaction is open meanwhile.

mod lanes;
mod model;
pub mod repo;
mod service;

pub use service::{
    DataSight, How, OwnData, Places, Subject, TorrentData, TorrentDataDeps, checked_hash, count_auto_managed,
    is_carried_out_here, may_move, told_of,
};
