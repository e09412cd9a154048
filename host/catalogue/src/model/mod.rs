//! Lists of many items in memory, points of episodes, lines of tables. Pure.

pub mod catalog;
pub mod score;
pub mod table;
