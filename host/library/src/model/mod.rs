//! Libraries, what lies in them, and what names say of it. Pure.

pub mod catalog;
pub mod doubt;
pub mod renames;
pub mod repair;
pub mod score;
pub mod table;
