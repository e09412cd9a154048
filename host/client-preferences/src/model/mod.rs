//! Offers of preferences, made from the schema of a plugin, and changes held against them. Pure.

pub mod fence;
pub mod offer;

pub use offer::{Offer, Preference, Shown};
