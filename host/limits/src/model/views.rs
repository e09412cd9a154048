//! Limits as answers show them, and the things that requests name.

use qm_kernel::{Permission, Timestamp};
use qm_ports::engine::{RateLimits, RateMode, ShareLimits};

use super::ledger::Entry;
use super::share::{Effective, Facts, Layer, ON_CATEGORY, ON_ENGINE, ON_TORRENT, Scope};
use super::speed::Speed;

/// The thing that a request about limits on sharing means.
#[derive(Clone, Debug)]
pub enum Asked {
    Torrent { engine_id: Option<String>, hash: String },
    Category(String),
    Engine(String),
}

impl Asked {
    /// Permissions of whoever sets its limits.
    pub const fn permissions(&self) -> &'static [Permission] {
        match self {
            Self::Torrent { .. } => ON_TORRENT,
            Self::Category(_) => ON_CATEGORY,
            Self::Engine(_) => ON_ENGINE,
        }
    }
}

/// Limits on a thing, and what they come to.
pub struct ShareView {
    pub scope: Scope,
    /// None where nothing is set.
    pub own: Option<Layer>,
    pub effective: Effective,
    /// Standing of a torrent; none for others.
    pub torrent: Option<TorrentShare>,
}

/// Standing of a torrent with its limits.
pub struct TorrentShare {
    pub facts: Facts,
    /// Limits are held against it now.
    pub is_judged: bool,
    pub entry: Option<Entry>,
    /// Limits that the client itself has for it, where it tells them.
    pub client: Option<ShareLimits>,
}

/// Result of the last pass over an engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    pub mode: RateMode,
    pub limits: RateLimits,
    /// Why the client does not have them.
    pub problem: Option<String>,
}

/// Speeds of an engine, and what is in force.
pub struct SpeedView {
    pub engine_id: String,
    /// None where none are set.
    pub speed: Option<Speed>,
    /// The mode that holds now.
    pub mode: Option<RateMode>,
    /// When the time table changes the mode next.
    pub until: Option<Timestamp>,
    pub standing: Option<Standing>,
}
