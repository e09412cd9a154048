//! Lane for claiming and creating files before they are opened.
//!
//! Bounds: two at once, eight waiting.

use qm_lanes::{Bounds, Lane};

pub static FILES: Lane = Lane::new("db.files", Bounds::new(2, 8));
