//! Reading single variables.

use std::ffi::OsString;
use std::path::PathBuf;

use qm_kernel::Secret;

/// A variable that cannot be used. Its text never holds a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("{variable} is `{value}`, but must be {expected}; correct it or unset it")]
    Value {
        variable: &'static str,
        value: String,
        expected: String,
    },
    #[error("{variable} (its value is not shown) must be {expected}; correct it")]
    Secret {
        variable: &'static str,
        expected: String,
    },
    #[error("{variable} is not valid UTF-8; correct it or unset it")]
    NotText { variable: &'static str },
}

impl ConfigError {
    pub(super) fn value(variable: &'static str, value: &str, expected: &str) -> Self {
        // Whatever the value holds, the error stays one line.
        let value = value.escape_debug().to_string();
        Self::Value {
            variable,
            value,
            expected: expected.to_owned(),
        }
    }

    pub(super) fn secret(variable: &'static str, expected: &str) -> Self {
        Self::Secret {
            variable,
            expected: expected.to_owned(),
        }
    }
}

/// Looks variables up; trims texts and takes an empty one for unset.
pub(super) struct Reader<'a> {
    lookup: &'a dyn Fn(&str) -> Option<OsString>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(lookup: &'a dyn Fn(&str) -> Option<OsString>) -> Self {
        Self { lookup }
    }

    pub(super) fn text(&self, variable: &'static str) -> Result<Option<String>, ConfigError> {
        let Some(value) = (self.lookup)(variable) else {
            return Ok(None);
        };
        let text = value
            .into_string()
            .map_err(|_| ConfigError::NotText { variable })?;
        let trimmed = text.trim();
        Ok((!trimmed.is_empty()).then(|| trimmed.to_owned()))
    }

    /// Value that `parse` accepts; `expected` describes a valid one, for the error.
    pub(super) fn parsed<T>(
        &self,
        variable: &'static str,
        expected: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, ConfigError> {
        let Some(text) = self.text(variable)? else {
            return Ok(None);
        };
        parse(&text)
            .map(Some)
            .ok_or_else(|| ConfigError::value(variable, &text, expected))
    }

    /// A path may be any bytes the system takes; it is not trimmed.
    pub(super) fn path(&self, variable: &'static str) -> Option<PathBuf> {
        (self.lookup)(variable)
            .filter(|path| !path.is_empty())
            .map(PathBuf::from)
    }

    /// Items between commas, trimmed, blanks dropped; `None` when nothing is left.
    pub(super) fn list(&self, variable: &'static str) -> Result<Option<Vec<String>>, ConfigError> {
        let items = self.text(variable)?.map(|text| {
            text.split(',')
                .map(str::trim)
                .filter(|item| !item.is_empty())
                .map(str::to_owned)
                .collect::<Vec<_>>()
        });
        Ok(items.filter(|items| !items.is_empty()))
    }

    /// Secret as it is, spaces included.
    pub(super) fn secret(&self, variable: &'static str) -> Result<Option<Secret>, ConfigError> {
        let Some(value) = (self.lookup)(variable).filter(|value| !value.is_empty()) else {
            return Ok(None);
        };
        value
            .into_string()
            .map(|text| Some(Secret::new(text)))
            .map_err(|_| ConfigError::NotText { variable })
    }

    pub(super) fn secret_list(&self, variable: &'static str) -> Result<Vec<Secret>, ConfigError> {
        Ok(self
            .list(variable)?
            .unwrap_or_default()
            .into_iter()
            .map(Secret::new)
            .collect())
    }
}
