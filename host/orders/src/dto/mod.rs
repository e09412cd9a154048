//! Orders, in requests and answers.

pub mod bulk;
