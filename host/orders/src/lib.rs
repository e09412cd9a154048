//! Orders about items of the media libraries: of people about many items, of rules and plugins, and after complete
//! downloads.
//!
//! Items are forgotten, deleted with their files, or moved into another library by jobs. Before each item the job checks the
//! rights of the person who gave the order. A complete download is followed by a job of its own (`service::download`): scan,
//! identify, metadata, names, pictures, subtitles, notes, refresh of media servers.
//!
//! Own state: none, and no lock. It takes locks of the crates below only by calling them, and holds no transaction
//! meanwhile.
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
