//! What the plugins of providers do with the host: words of the core as those of the contract, and one request within a time and a
//! size. No error names a URL: it may hold a key.

pub mod convert;
mod net;

pub use net::{Site, Told, read};
