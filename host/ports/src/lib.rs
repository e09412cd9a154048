//! Tier 1: what areas offer each other, as traits and the records that pass through them, one file a port. The area that
//! offers a port implements its trait, `server` hands it to the areas that use it, and neither knows the other.
//!
//! | port | offered by | used by |
//! |---|---|---|
//! | [`action`] | the plugin host; [`action::TorrentHands`] and [`action::TagKeeper`] torrents | automation; the plugin host; commands of torrents |
//! | [`engine`] | the plugin host | torrents |
//! | [`channel`] | the plugin host | notifications |
//! | [`feed`] | the network, wired by `server` | whoever follows feeds |
//! | [`indexer`] | the plugin host; [`indexer::Indexers`] indexers | indexers; whoever looks for releases |
//! | [`media_server`] | the plugin host; [`media_server::MediaServers`] media servers | media servers; whoever refreshes them or asks who is watching |
//! | [`metadata`] | the plugin host | whoever names films and shows |
//! | [`file_events`] | files, the renaming of media | the media library |
//! | [`payload`] | torrents | files, the renaming of media |
//! | [`probe`] | torrents | the system's health |
//! | [`carry`] | files | torrents |
//! | [`intake`] | torrents; [`intake::IntakeTeller`] areas that grab | RSS; torrents |
//! | [`seed`] | torrents | created torrents |
//! | [`root`] | files | created torrents |
//! | [`library`] | the media library | whoever asks what people own |
//! | [`parking`] | parking | torrents that are wanted |
//! | [`sight`] | torrents | transfer history |
//! | [`preferences`] | torrents | client preferences |
//! | [`list`] | torrents | automation, the renaming of media |
//! | [`shelves`] | the media library | the renaming of media |
//! | [`subjects`] | the media library | artwork, notes (NFO) |
//! | [`beside`] | artwork, notes (NFO), duplicates | the media library |
//! | [`helpers`] | the renaming of media, artwork, notes (NFO) | the media library |
//! | [`notes`] | the media library | notes (NFO) |
//! | [`inventory`] | the media library | duplicates |
//! | [`folders`] | the media library | folders of shows |
//! | [`trash`] | files | duplicates, folders of shows |
//! | [`rules`] | automation | torrents |
//! | [`mail`] | mail | the plugin host |
//! | [`titledb`] | titledb | whoever asks what a title is |
//! | [`holder`] | identity | files |
//! | [`shows`] | shows; [`shows::ShowProvider`] who knows of media; [`shows::ShowRules`] areas with rules on shows | areas with rules on shows; shows |
//!
//! Owns no I/O, and words that are not about one area (instants, errors, the principal) are the kernel's.

pub mod action;
pub mod beside;
pub mod carry;
pub mod channel;
pub mod engine;
pub mod feed;
pub mod file_events;
pub mod folders;
pub mod helpers;
pub mod holder;
pub mod indexer;
pub mod intake;
pub mod inventory;
pub mod library;
pub mod list;
pub mod mail;
pub mod media_server;
pub mod metadata;
pub mod notes;
pub mod parking;
pub mod payload;
pub mod placeholders;
pub mod preferences;
pub mod probe;
pub mod root;
pub mod rules;
pub mod seed;
pub mod settling;
pub mod shelves;
pub mod shows;
pub mod sight;
pub mod subjects;
pub mod titledb;
pub mod trash;

pub use holder::Holders;
pub use payload::{Removal, TorrentPayload, TorrentPayloads};
pub use probe::{EngineProbe, EngineProbes};
pub use root::DefaultRoot;
pub use settling::Settling;
