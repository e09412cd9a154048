//! Parts that the services of the rooms share.

pub mod find;
pub mod jobs;
mod pace;
mod rights;
mod triggers;

pub use pace::Pace;
pub use rights::Rights;
pub use triggers::{NoTriggers, Triggers};
