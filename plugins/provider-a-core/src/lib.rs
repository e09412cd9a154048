//! The API of TMDB, version 3, without bindings: what is asked, and what an answer says.
//!
//! Never: dials. Fields that are missing or of another type than documented are none; an answer that is no document of the API is a
//! [`Fault`].

mod answer;
mod images;
mod parts;
mod request;
mod title;

pub use answer::document;
pub use images::images;
pub use parts::{episodes, found, page};
pub use provider_model::{Answer, Fault, Kind};
pub use request::{
    BASE, Request, artwork, base, details, episodes_of, find, is_token, key, lists, search, verify,
};
pub use title::details as title;
