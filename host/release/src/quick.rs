//! The short reading of a release name, for matching against many of them.

use crate::clip;
use crate::model::QuickView;

/// Reads what matching needs.
pub fn quick(name: &str) -> QuickView {
    QuickView {
        proper: clip(name).contains("PROPER"),
        ..QuickView::default()
    }
}
