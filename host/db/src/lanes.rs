//! The lane of files that are claimed, or made, before they are opened.
//!
//! Bounds: two at once, eight that wait.

use qm_lanes::{Bounds, Lane};

pub static FILES: Lane = Lane::new("db.files", Bounds::new(2, 8));
