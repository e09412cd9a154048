//! What the first-party providers of metadata share, without bindings: the words for titles, members of strangers' JSON, whether an
//! answer is a document at all, and what a base URL is.
//!
//! Never: dials, and knows no product: each is a [`Product`].

mod answer;
pub mod json;
mod model;
mod url;

pub use answer::{Answer, MAX_BODY, Product, document};
pub use model::*;
pub use url::{base, with_query};
