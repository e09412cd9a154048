//! Protocols of Plex, Jellyfin, Emby and Kodi, after their public documents: requests, and the meaning of their answers.
//!
//! Owns: the wire formats. Never: the network, the bindings; whoever has them implements [`Net`], so that all of it is tested
//! natively with answers of the products.

mod access;
mod answer;
mod home;
mod json;
mod kodi;
mod model;
mod plex;

pub use access::Access;
pub use answer::{Answer, MAX_BODY, Net, Request};
pub use home::Home;
pub use kodi::Kodi;
pub use model::{Abilities, About, Extent, Fault, Playing, Product};
pub use plex::Plex;
