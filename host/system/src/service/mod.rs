//! Services of this area.

pub mod configurations;
pub mod health;
pub mod metrics;
pub mod pins;
pub mod update;
pub mod values;
pub mod watch;
