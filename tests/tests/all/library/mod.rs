//! The media library over the whole server.

mod beside;
mod downloads;
mod tmdb;
