//! The variables the server was started with, as the settings page shows them.

/// A variable that this build reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvEntry {
    /// The variable's name.
    pub key: &'static str,
    /// What it belongs to, e.g. `Security`.
    pub group: &'static str,
    pub label: &'static str,
    pub description: &'static str,
    pub secret: bool,
    /// Present and not empty.
    pub set: bool,
    /// What it was set to; always `None` for a secret.
    pub value: Option<String>,
}
