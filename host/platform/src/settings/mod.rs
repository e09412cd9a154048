//! Settings: a typed registry over the table of key and JSON value.
//!
//! A setting is a constant with key, type, default and owner; areas declare theirs and read through it. The
//! generic writers of the API store any value, so a stored value of the wrong type reads as the default. They
//! refuse a setting that has its own route, and a key that is no setting.
//!
//! Bounds: a key of [`MAX_KEY`] characters, a value of [`MAX_VALUE`] bytes of JSON, [`MAX_KEYS`] settings at
//! once.

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
