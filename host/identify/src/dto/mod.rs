//! Statements of what items and shows are, as they are sent and answered.

pub mod items;
pub mod metadata;
pub mod repair;
pub mod shows;
pub mod titles;
