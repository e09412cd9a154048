//! Libraries, what lies in them, and what names say of it. Pure.

pub mod doubt;
pub mod renames;
