//! Identities and metadata of items and shows, in requests and answers.

pub mod items;
pub mod metadata;
pub mod repair;
pub mod shows;
pub mod titles;
