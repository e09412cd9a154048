//! Identification of what lies in the media libraries: what an item or a show is, what it is about, and who says so.
//!
//! A name is read (`service::names`), the data set of titles has an id for it (`service::titles`), providers of metadata tell what it
//! is about (`service::fetch` for an order, `service::enrich` for what scans and downloads bring), the data set adds its rating
//! (`service::cross`), people say otherwise (`service::edit`, `service::details`, `service::entitle`). Each field is stored with who
//! said it: what people said stays, an answer to what is no longer so is dropped, and who is silent takes nothing away.
//! Nobody outside is asked while a transaction is open.
//!
//! Own state: one semaphore, the turn of those who ask what a repair would do. It is held while providers are asked, and nothing else
//! is taken under it but transactions.

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
