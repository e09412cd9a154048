//! Libraries, what lies in them, and what names say of it. Pure.

pub mod bulk;
pub mod catalog;
pub mod details;
pub mod doubt;
pub mod external;
pub mod extra;
pub mod ignored;
pub mod item;
pub mod library;
pub mod metadata;
pub mod renames;
pub mod repair;
pub mod score;
pub mod series;
pub mod show;
pub mod streams;
pub mod table;
pub mod titles;
pub mod view;
