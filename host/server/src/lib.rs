//! The top of the house: reads the configuration, wires the areas together and runs them as one process.
//!
//! Owns the command line, the order of the start and of the end, and nothing of any area. Tests build the same
//! [`App`](app::App) from parts of their own: a frozen clock, a fake engine, a database, a free port.

pub mod api;
pub mod app;
pub mod areas;
pub mod cli;
pub mod config;
mod descriptors;
pub mod failure;
pub mod feeds;
pub mod logging;
pub mod node;
mod plugins;
pub mod secrets;
mod settings_to_come;
pub mod shutdown;
pub mod start;

pub use plugins::PLUGIN_CACHE;
// Linked for the migrations that it declares.
use qm_migrations as _;

/// The product's name, as clients and documents show it.
pub const PRODUCT: &str = "Quartermaster";
/// The version of this build.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
