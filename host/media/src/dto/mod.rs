//! Views of rows as several rooms answer them, and the fields that they read alike.

pub mod beside;
pub mod faults;
pub mod fields;
pub mod items;
pub mod libraries;
pub mod shows;
