//! Metadata: lookups of films and shows at providers, and the merge of their answers.
//!
//! Providers are plugins without policy; the policy is here: keys from the settings (or the environment), the
//! order by kind of library, the choice among search hits, the merge of several answers field by field,
//! caching and pauses. Invariants: an answer is complete or absent; a provider that fails, or asks for a
//! pause, is paused for a while and delays no other; a key is never logged, shown or put into an audit entry;
//! a user without the permission to test keys sends none. Deliberately absent: the stored metadata of an
//! item, which is the library's, and the content of images.
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
use routes::routes;
pub use service::EnvironmentKeys;
use service::{MetadataArea, MetadataDeps};
