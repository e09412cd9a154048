//! The plugin host against guests that misbehave (`plugins/fixtures`): contained, counted and shown.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod actions;
mod bench;
mod channel;
mod chats;
mod check;
mod compile;
mod files;
mod hostile;
mod indexer;
mod isolation;
mod media_server;
mod metadata;
mod metadata_b;
mod network;
mod reload;
mod shelves;
mod untrusted;
mod webhook;
