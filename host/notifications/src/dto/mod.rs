//! Request and answer bodies of the routes of this area.

pub mod channels;
pub mod events;
pub mod inbox;
