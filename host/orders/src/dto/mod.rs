//! Orders as they are sent and answered.

pub mod bulk;
