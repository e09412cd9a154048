//! The media library over the whole server.

mod beside;
mod disks;
mod downloads;
mod merged;
mod renamed;
mod seeding;
mod shelf;
mod tmdb;
