//! Lists, in requests and answers.

mod fields;
pub mod items;
pub mod series;
pub mod shows;
