//! The real binary, as its operator meets it.

mod backup;
mod document;
mod logs;
mod place;
mod secrets;
mod start;
mod user;
