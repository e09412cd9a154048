//! Conversion of network errors to errors of a call, in words that tell a user where to look.

use crate::PluginError;
use crate::transport::NetError;

/// Error of a call for a network error at the address `whom` (`127.0.0.1:5000`, `http://nas/RPC2`).
pub fn plugin_error(whom: &str, error: NetError) -> PluginError {
    match error {
        NetError::Denied(what) => PluginError::Denied(what),
        NetError::Timeout => PluginError::Timeout(format!("{whom} fell silent")),
        NetError::Refused => PluginError::Unreachable(format!("{whom} refused the connection")),
        NetError::Closed => {
            PluginError::Unreachable(format!("{whom} closed the connection before it had answered"))
        }
        NetError::TooLarge => PluginError::Protocol(format!("the answer of {whom} is too large")),
        NetError::Other(why) => PluginError::Unreachable(format!("{whom}: {why}")),
    }
}

/// Error of a call for mail that was not accepted. A server that asks to try later counts as one that cannot be reached: both are
/// tried again.
impl From<crate::mail::MailError> for PluginError {
    fn from(error: crate::mail::MailError) -> Self {
        use crate::mail::MailError as E;
        match error {
            E::Denied(why) => PluginError::Denied(why),
            E::NotConfigured => PluginError::Rejected("Email is not configured.".to_owned()),
            E::Invalid(what) => PluginError::InvalidConfig(what),
            E::Unreachable(why) => PluginError::Unreachable(why),
            E::Timeout => PluginError::Timeout("the mail server did not answer in time".to_owned()),
            E::Later(words) => {
                PluginError::Unreachable(format!("the mail server asks to try again later: {words}"))
            }
            E::Refused(words) => PluginError::Rejected(words),
            E::Auth(words) => PluginError::Auth(words),
            E::Busy => PluginError::Throttled(None),
            E::Other((name, why)) => PluginError::Protocol(format!("{name}: {why}")),
        }
    }
}

/// Conversion for calls of which only the outcome counts; [`plugin_error`] also names the address that was called.
impl From<NetError> for PluginError {
    fn from(error: NetError) -> Self {
        plugin_error("the other side", error)
    }
}

impl From<engine_model::Error> for PluginError {
    fn from(error: engine_model::Error) -> Self {
        use engine_model::Error;
        match error {
            Error::Unreachable(text) => PluginError::Unreachable(text),
            Error::Timeout(text) => PluginError::Timeout(text),
            Error::Auth(text) => PluginError::Auth(text),
            Error::InvalidConfig(text) => PluginError::InvalidConfig(text),
            Error::NotFound(subject) => PluginError::NotFound(subject.as_str().to_owned()),
            Error::Unsupported(text) => PluginError::Unsupported(text),
            Error::Rejected(text) => PluginError::Rejected(text),
            Error::Protocol(text) => PluginError::Protocol(text),
        }
    }
}
