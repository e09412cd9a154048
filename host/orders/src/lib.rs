//! Orders about what lies in the media libraries: of people about many items, of rules and plugins, and of downloads that are whole.
//!
//! Items are forgotten, deleted with their files, or moved into another library by jobs, which judge before each item whether the one
//! who gave the order still may. A download that is whole is followed by a job of its own (`service::download`): scan, identify,
//! metadata, refresh of media servers.
//!
//! Own state: none, and no lock. It takes the turns of the rooms below it by calling them, and holds no transaction while it does.
//!
//! Events: `media_server.refresh_failed`. Actions of automation: `media_scan_library`, `media_match`, `media_fetch_metadata`.

mod dto;
mod events;
mod ops;
mod routes;
mod service;

pub use events::EVENTS;
pub use routes::routes;
pub use service::download::TYPE as DOWNLOAD_JOB;
pub use service::{Orders, OrdersDeps, Outside};
