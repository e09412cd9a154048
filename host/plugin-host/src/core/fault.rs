//! Why a call brought no word of the plugin: what lies with the instance, its lane or its configuration. A role words it
//! in the terms of its own trait.

/// A call that the plugin did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Too many calls wait for the lane, or this one waited too long.
    #[error("the plugin is busy")]
    Busy,
    /// The lane was ended while the call waited or ran.
    #[error("it was closed")]
    Closed,
    /// No installed plugin provides it any more, or one of another role does; the text says so.
    #[error("{0}")]
    Missing(String),
    /// The configuration makes no sense; the text names the property.
    #[error("{0}")]
    InvalidConfig(String),
    /// The call's time ran out, and the instance with it.
    #[error("{0}")]
    TimedOut(String),
    /// The instance trapped, or its failures keep the lane from trying again.
    #[error("{0}")]
    Failed(String),
}
