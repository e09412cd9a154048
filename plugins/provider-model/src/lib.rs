//! Code that the first-party providers of metadata share, without bindings: records of titles, readers of untrusted JSON, the
//! check that an answer is a document, and the check of a base URL.
//!
//! Never: dials, and knows no product: each is a [`Product`].

mod answer;
pub mod json;
mod model;
mod url;

pub use answer::{Answer, MAX_BODY, Product, document};
pub use model::*;
pub use url::{base, with_query};
