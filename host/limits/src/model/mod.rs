//! Limits without a database or a client: pure rules.

pub mod count;
pub mod due;
pub mod ledger;
pub mod schedule;
pub mod share;
pub mod speed;
pub mod views;
