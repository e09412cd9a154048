//! The real binary, as its operator meets it.

mod backup;
mod place;
mod secrets;
mod start;
