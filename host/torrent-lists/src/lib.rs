//! Lists of torrents in memory: the versions of one engine's list, and what requests read of them.
//!
//! A *snapshot* is one version of an engine's list, immutable and swapped whole by the engine's sync loop. A delta makes the
//! next version; torrents that it does not touch are shared with the one before, their JSON too. *Pages* belong to one
//! version, or to several that are shown as one list: they filter, order and render, and keep what they rendered.
//!
//! This crate does no I/O and knows no engine and no database. It is given what a client said, with the instant of it, and
//! hands out bytes.
//!
//! Own state: the pages of a version keep their orders and what was rendered behind two locks, which are held for no longer
//! than it takes to look something up or to put it there. Nothing is awaited and nothing else is locked under them.
//! Bounds: those of an engine ([`Limits`]); those of rendered pages stand in `pages`.

mod entry;
mod limits;
mod pages;
mod query;
mod snapshot;

pub use entry::{TorrentEntry, TorrentPage, TorrentView};
pub use limits::{Excess, Limits, Room};
pub use pages::{Pages, RenderedPage, TooSlow, etag_of};
pub use query::{Filter, ListQuery, Order, SortBy};
pub use snapshot::{Admission, Changes, Snapshot};
