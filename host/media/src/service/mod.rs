//! Parts that the services of the media crates share.

pub mod find;
pub mod jobs;
mod pace;
mod rights;
mod shared;

pub use pace::Pace;
pub use rights::Rights;
pub use shared::Shared;
