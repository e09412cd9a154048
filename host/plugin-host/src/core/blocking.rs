//! Lanes of the work of the plugin host that blocks.
//!
//! Bounds: two components are translated in this process, 64 wait; four files are read or code is mapped, 256 wait.

use qm_lanes::{Bounds, Lane};

/// Components are translated where there is no child for it.
pub(crate) static COMPILING: Lane = Lane::new("plugins.compiling", Bounds::new(2, 64));
/// Files are read, kept code is mapped and pruned.
pub(crate) static FILES: Lane = Lane::new("plugins.files", Bounds::new(4, 256));
