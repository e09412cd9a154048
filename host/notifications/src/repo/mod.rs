//! SQL statements of this area.

pub mod channels;
pub mod deliveries;
pub mod inbox;
pub mod preferences;
pub mod sealed;
