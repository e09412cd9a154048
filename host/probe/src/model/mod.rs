//! Streams of files, in the words of this service. Pure.

pub mod streams;
