//! The plugin host against guests that misbehave (`plugins/fixtures`): contained, counted and shown.

mod bench;
mod check;
mod files;
mod isolation;
mod network;
mod reload;
mod untrusted;
