//! The full reading of a release name.

use crate::clip;
use crate::model::Release;

/// Reads a release name.
pub fn parse(name: &str) -> Release {
    let title = clip(name).trim();
    Release {
        title: (!title.is_empty()).then(|| title.to_owned()),
        ..Release::default()
    }
}
