//! Tests of the routes, on both databases and real directories.

mod detection;
mod many;
mod plans;
mod suffixes;
