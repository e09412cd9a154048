//! Shows: airing status of shows from providers, i.e. if more episodes are expected.
//!
//! People look titles up; areas with rules ask before they store a rule on a show, and hear when its status has become
//! another one. What a provider said is kept and asked anew from time to time, the more seldom the less it changes.
//! Invariants: a lookup always answers, with `unknown` where nobody could say; a status that changed is told once, to the
//! rules first; a provider that fails loses nothing that was known, and holds up no other show; nothing here disables a rule.
//! Deliberately absent: providers (they come with media), a way to correct a status by hand.
//!
//! Bounds: a title has [`MAX_TITLE`] characters; 50 questions in a batch, four of them at once; a provider has eight
//! seconds for an answer; 100 shows are asked anew an hour; a show that nobody asked for in half a year and no rule is about is
//! forgotten.
//!
//! Events: `rss.show_status.changed`, and one of `rss.show.ended`, `rss.show.canceled`, `rss.show.became_active`.
//! Realtime, to holders of `rss.view`: the same, `rss.show_status.lookup.completed` and `rss.show_status.lookup.failed`.

mod area;
mod dto;
mod events;
mod model;
mod repo;
mod routes;
mod service;
#[cfg(test)]
mod testing;

pub use area::AREA;
use events::EVENTS;
pub use model::title::MAX_TITLE;
use routes::routes;
pub use service::Shows;
use service::ShowsDeps;
