//! The API of TheTVDB, version 4, without bindings: what is asked, and what an answer says.
//!
//! Never: dials. Fields that are missing or of another type than documented are none; an answer that is no document of the API is a
//! [`Fault`]. Nothing that this API answers is a rating: its score counts favourites.

mod answer;
mod images;
mod login;
mod parts;
mod request;
mod title;
mod words;

pub use answer::document;
pub use images::images;
pub use login::{Session, bearer, credentials, open, seal};
pub use parts::{episodes, found, more, page};
pub use provider_model::{Answer, Fault, Kind};
pub use request::{
    BASE, Login, MAX_PAGES, Request, artwork, base, details, episodes_of, find, login, search,
};
pub use title::details as title;
