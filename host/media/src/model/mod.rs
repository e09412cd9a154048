//! Rows of libraries, items and shows as they are worked with. Pure.

pub mod bulk;
pub mod details;
pub mod external;
pub mod extra;
pub mod ignored;
pub mod item;
pub mod library;
pub mod measured;
pub mod metadata;
pub mod series;
pub mod show;
pub mod titles;
pub mod tracks;
pub mod view;
