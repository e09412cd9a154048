//! The media library over the whole server.

mod downloads;
mod tmdb;
