//! Identification of items and shows of media libraries: their titles, ids and metadata, each with its source.
//!
//! A name is read (`service::names`), the data set of titles has an id for it (`service::titles`), providers give metadata
//! (`service::fetch` for an order, `service::enrich` after scans and downloads), the data set adds its rating
//! (`service::cross`), and people correct it (`service::edit`, `service::details`, `service::entitle`). Each field is stored
//! with its source: values of people stay, an outdated answer is dropped, and a silent provider removes nothing. No outside
//! service is asked while a transaction is open.
//!
//! Own state: one semaphore, for previews of a repair. It is held while providers are asked, and under it only transactions
//! are taken.

mod dto;
mod model;
mod repo;
mod routes;
mod service;

pub use routes::routes;
pub use service::enrich::{One, Silence, TYPE as ENRICH_JOB};
pub use service::fetch::{NEEDED as FETCH_NEEDS, TYPE as FETCH_JOB};
pub use service::reidentify::TYPE as REIDENTIFY_JOB;
pub use service::{Identification, IdentificationDeps};
