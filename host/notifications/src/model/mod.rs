//! Data types and pure rules of this area.

pub mod address;
pub mod catalogue;
pub mod channel;
pub mod code;
pub mod delivery;
pub mod inbox;
pub mod message;
pub mod preference;
pub mod presentation;
pub mod proof;
pub mod render;
pub mod template;
