//! An engine's configuration, as the operator entered it.

use serde_json::{Map, Value};

use crate::PluginError;

/// The JSON object that `open` is given. Values may come as numbers or as text; a blank text counts as not given.
pub struct Config(Map<String, Value>);

impl Config {
    pub fn parse(json: &str) -> Result<Self, PluginError> {
        match serde_json::from_str(json) {
            Ok(Value::Object(fields)) => Ok(Self(fields)),
            Ok(_) => Err(PluginError::InvalidConfig(
                "the configuration must be a JSON object".to_owned(),
            )),
            // serde_json quotes nothing of the text, so no secret ends in the message.
            Err(error) => Err(PluginError::InvalidConfig(format!(
                "the configuration is not JSON: {error}"
            ))),
        }
    }

    /// A text; `None` when absent or blank.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0
            .get(name)
            .and_then(Value::as_str)
            .map(str::trim)
            .filter(|text| !text.is_empty())
    }

    /// A text in which blanks count, such as a password; `None` when absent.
    pub fn secret(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// A whole number from 0; `None` when absent or blank.
    pub fn number(&self, name: &str) -> Result<Option<u64>, PluginError> {
        let number = match self.0.get(name) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(text)) if text.trim().is_empty() => return Ok(None),
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(Value::Number(number)) => number.as_u64(),
            Some(_) => None,
        };
        number
            .map(Some)
            .ok_or_else(|| PluginError::InvalidConfig(format!("`{name}` must be a whole number")))
    }

    /// A TCP port; `None` when absent or blank.
    pub fn port(&self, name: &str) -> Result<Option<u16>, PluginError> {
        let Some(number) = self.number(name)? else {
            return Ok(None);
        };
        match u16::try_from(number) {
            Ok(port) if port > 0 => Ok(Some(port)),
            _ => Err(PluginError::InvalidConfig(format!(
                "`{name}` must be a port, 1 to 65535"
            ))),
        }
    }
}
