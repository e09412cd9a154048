//! Libraries, what lies in them, and what names say of it. Pure.

pub mod bulk;
pub mod details;
pub mod doubt;
pub mod item;
pub mod library;
pub mod name;
pub mod place;
pub mod score;
pub mod series;
pub mod show;
pub mod table;
pub mod view;
