//! Torznab and Newznab without bindings: requests, and the reading of answers.
//!
//! Pure; no I/O. Bounds: documents as long as the caller lets them be, 64 levels deep, 10,000 releases, 8 KiB a text. No
//! entity that a document declares is read, so none can grow or name a file.

mod caps;
mod date;
mod feed;
mod model;
mod page;
mod query;
mod url;
mod verdict;
mod xml;

pub use caps::caps;
pub use date::unix_ms;
pub use feed::feed;
pub use model::{Caps, Category, Fault, Found, Limits, Query, Release, Server};
pub use query::{caps_params, search_params, term};
pub use url::{Origin, endpoint, host_of, is_sign_in, redirect, with_params};
pub use verdict::{Answer, document};
