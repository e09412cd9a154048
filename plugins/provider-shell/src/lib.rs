//! Bridge from the plugins of providers to the host: records of the core as those of the contract, and one request with a
//! limit of time and size. No error names a URL: it may hold a key.

pub mod convert;
mod net;

pub use net::{Site, Told, read};
