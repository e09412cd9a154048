pub mod act;
pub mod addresses;
pub mod kinds;
pub mod names;
pub mod params;
pub mod results;
pub mod wish;

/// Torrents of one bulk.
pub const MOST: usize = 10_000;
