//! Lanes for the blocking work of this crate.
//!
//! Host names are resolved by the C library, which cannot be interrupted. Libraries that resolve names
//! themselves (PostgreSQL, mail) use the runtime's own pool, which nothing else of the service uses.
//!
//! Bounds: 32 names are resolved at once, 256 wait; two looks at the machine's addresses, 64 wait; one
//! reading of the authorities, for which all wait; two decompressions, 64 wait.

use qm_lanes::{Bounds, Lane};

/// Resolving host names.
pub static NAMES: Lane = Lane::new("net.names", Bounds::new(32, 256));
/// Reading the machine's own addresses.
pub static MACHINE: Lane = Lane::new("net.machine", Bounds::new(2, 64).of_one(2, 64));
/// Reading the certificate authorities.
pub static AUTHORITIES: Lane = Lane::new("net.authorities", Bounds::new(1, 1024).of_one(1, 1024));
/// Decompressing bodies, up to the reader's limit.
pub static INFLATING: Lane = Lane::new("net.inflating", Bounds::new(2, 64));
