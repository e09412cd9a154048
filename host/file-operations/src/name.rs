//! Names of items as they are shown.

use qm_confined::{Component, ConfinedPath};

/// An item's name; of the root that of its directory.
pub fn shown_name(item: &ConfinedPath) -> String {
    let of_root = || {
        let path = item.absolute();
        path.file_name()
            .map_or_else(|| "/".to_owned(), |name| name.to_string_lossy().into_owned())
    };
    item.name().map_or_else(of_root, Component::text)
}
