//! Request and answer bodies of the routes of this area.

pub mod answers;
pub mod requests;
pub mod trials;
