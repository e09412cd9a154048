//! What is asked for and what is answered.

pub mod channels;
pub mod events;
pub mod inbox;
