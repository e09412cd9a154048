//! Rules of parking, rows of parked torrents, and what is judged of them. Pure.

pub mod judge;
pub mod row;
pub mod rules;
pub mod summary;
