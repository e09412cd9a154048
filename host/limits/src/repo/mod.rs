//! Tables of this area: rows and statements.

pub mod ledger;
pub mod share;
pub mod speed;

/// A number as a column holds it.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
