//! Metadata: which providers are asked about a film or a show, in which order, and what is made of their answers.
//!
//! Providers are plugins, which keep no policy; it is here: keys from the settings (or the environment), the order by kind of library,
//! which hit of a search is meant, the merge of several answers field by field, what is asked again and when.
//! Invariants: an answer is whole or none; a provider that fails, or asks to be left alone, is left alone for a while and holds up no
//! other; a key is never logged, told or put into an audit entry; who may not test keys any more sends none.
//! Deliberately absent: what is stored about an item, which is the library's, and images.
//!
//! Bounds: a request of a provider has 8 s; four calls of one provider at a time and four a second after the first forty; answers are
//! kept for a day, 32 MiB of them and 5,000; a provider is left alone for a day at most. OMDb, asked for ratings alone, is no
//! provider and has the same bounds.
//!
//! Events and realtime: none.

mod area;
mod dto;
mod error;
mod model;
mod routes;
mod service;
mod settings;
#[cfg(test)]
mod testing;

pub use area::AREA;
pub use error::MetadataError;
pub use routes::routes;
pub use service::{EnvironmentKeys, MetadataArea, MetadataDeps};
