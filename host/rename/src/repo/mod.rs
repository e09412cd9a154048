//! Tables of this area.

pub mod history;
pub mod presets;
pub mod runs;
