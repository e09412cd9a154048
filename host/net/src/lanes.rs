//! Lanes of the work of this crate that blocks.
//!
//! The C library looks up names of hosts, and cannot be interrupted. Libraries that look up names by themselves (the one of
//! PostgreSQL, the one of mail) do it in the runtime's own pool, where nothing else of the service runs.
//!
//! Bounds: 32 names are looked up at once, 256 wait; two looks at the machine at once, 64 wait; one reading of the authorities, and all who need them; two bodies
//! are inflated, 64 wait.

use qm_lanes::{Bounds, Lane};

/// Names of hosts are looked up.
pub static NAMES: Lane = Lane::new("net.names", Bounds::new(32, 256));
/// The machine is asked for its own addresses.
pub static MACHINE: Lane = Lane::new("net.machine", Bounds::new(2, 64).of_one(2, 64));
/// The certificate authorities are read.
pub static AUTHORITIES: Lane = Lane::new("net.authorities", Bounds::new(1, 1024).of_one(1, 1024));
/// What came compressed is inflated, up to what its reader takes.
pub static INFLATING: Lane = Lane::new("net.inflating", Bounds::new(2, 64));
