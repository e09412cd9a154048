//! Plugins that are not in use yet: until the last has been loaded or refused, nobody can say that one is missing.

use qm_kernel::ErrorKind;

/// Something that a plugin provides was asked for while a plugin that may provide it is still being compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{wanted} cannot be used yet: {waits}; try again in some seconds")]
pub struct Settling {
    /// A noun with its article, e.g. `the engine kind rtorrent`.
    pub wanted: String,
    /// A sentence on what is waited for, which names the file.
    pub waits: String,
}

impl Settling {
    /// The word in `code` of an answer; never changes.
    pub const CODE: &str = "unavailable.plugin_settling";
    pub const KIND: ErrorKind = ErrorKind::Unavailable;

    /// An example for the API document.
    pub fn unknown() -> Self {
        Self {
            wanted: "…".to_owned(),
            waits: "…".to_owned(),
        }
    }
}
