//! The roles of this host, one folder each: the trait all its versions implement, one adapter a frozen version, and the
//! way to the trait the rest of the server knows.

pub(crate) mod actions;
pub(crate) mod channel;
mod claims;
pub(crate) mod engine;
pub(crate) mod indexer;
pub(crate) mod media_server;
pub(crate) mod metadata;
mod vetted;

use crate::core::role::Roles;

/// Every role; a file is matched against them in order.
pub(crate) const ALL: Roles = &[
    &engine::EngineRole,
    &channel::ChannelRole,
    &actions::ActionsRole,
    &indexer::IndexerRole,
    &metadata::MetadataRole,
    &media_server::MediaServerRole,
];
