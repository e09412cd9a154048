//! Settings: a typed registry over the table of key and JSON value.
//!
//! A setting is a constant that names its key, type, default and owner; areas declare theirs and read through it. The generic writers of
//! the API store what they are given, so a stored value that is not of the setting's type reads as the default. They
//! refuse a setting that has a route of its own, and a key that is no setting.
//!
//! Bounds: a key of [`MAX_KEY`] characters, a value of [`MAX_VALUE`] bytes of JSON, [`MAX_KEYS`] settings at once.

mod declare;
mod document;
mod environment;
mod own;
pub(crate) mod repo;
mod service;
mod spec;
mod value;
mod writers;

#[cfg(test)]
mod tests;

#[doc(hidden)]
pub use declare::{DECLARED, Declared};
pub use document::settings_table;
pub use environment::EnvEntry;
pub use own::{MAIL, PRODUCT_NAME, TIMEZONE};
pub use service::Settings;
pub use spec::{SecretSetting, Setting, SettingSpec};
pub use value::SettingValue;
pub use writers::Writer;

/// Longest key a generic writer takes, in characters.
pub const MAX_KEY: usize = 200;
/// Longest value a generic writer takes, in bytes of JSON.
pub const MAX_VALUE: usize = 64 * 1024;
/// Most settings that one request changes.
pub const MAX_KEYS: usize = 500;
