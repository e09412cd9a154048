//! SQL statements of this area.

pub mod actions;
pub mod ledger;
pub mod logs;
pub mod rules;
pub mod runs;
pub mod stalls;
