//! Lists, in requests and answers.

pub mod items;
pub mod series;
pub mod shows;
