//! Environment variables of the server, as the settings page shows them.

/// A variable that this build reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvEntry {
    /// The variable's name.
    pub key: &'static str,
    /// Group on the page, e.g. `Security`.
    pub group: &'static str,
    pub label: &'static str,
    pub description: &'static str,
    pub secret: bool,
    /// True when present and not empty.
    pub set: bool,
    /// Its value; always `None` for a secret.
    pub value: Option<String>,
}
