//! RSS: feeds, rules that select items from them, and the torrents that are grabbed for the rules.
//!
//! A *poll* reads a feed, item by item; what it has not seen before is judged by every enabled rule that looks at the feed. What
//! a rule decides to grab is a row (`rss_grabs`), stored in one transaction with the item before a client is asked; the add
//! happens outside of any transaction, and how it went is stored after it. A start that finds such a row pending asks the
//! client again, which has a torrent once.
//! Invariants: a torrent is grabbed once, whatever its guids and however many feeds show it; of a release a rule has one
//! torrent, and only a candidate of a better place takes its place; a feed that cannot be read keeps its rules and shows why.
//! Bounds: one request a site at a time, a few sites at once; items are stored fifty a transaction.
//! Deliberately absent: copies in a library (they come with the media area), and more than one page of a feed.
//!
//! Events: `rss.rule.created_for_inactive_show`, which is told to holders of `rss.view` over sockets too.
//! Actions of automation: `refresh_rss_show_status`, `disable_rss_rule`, `convert_rule_to_backfill`.

mod area;
mod dto;
mod error;
mod events;
mod lanes;
mod model;
mod repo;
mod routes;
mod service;
mod settings;
#[cfg(test)]
mod testing;

pub use area::AREA;
use events::EVENTS;
use routes::routes;
use service::{Rss, RssDeps};
