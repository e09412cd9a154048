//! Settings of the system.

use qm_platform::{SettingValue, settings};
use serde_json::{Value, json};

settings! {
    of "system";

    /// Theme with which clients start.
    pub THEME: String = "general.theme", || "dark".to_owned(), seeded();

    /// Daily check for newer versions of the server.
    pub UPDATE_CHECK: UpdateCheck = "system.updateCheck", || UpdateCheck { enabled: true };
}

/// Value of the setting: whether the check is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateCheck {
    pub enabled: bool,
}

impl SettingValue for UpdateCheck {
    const KIND: &'static str = "object";

    fn from_json(value: &Value) -> Option<Self> {
        let enabled = value.get("enabled")?.as_bool()?;
        Some(Self { enabled })
    }

    fn to_json(&self) -> Value {
        json!({ "enabled": self.enabled })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_look_for_updates_comes_back_as_it_was_stored() {
        let off = UpdateCheck { enabled: false };
        assert_eq!(UpdateCheck::from_json(&off.to_json()), Some(off));
        assert_eq!(UpdateCheck::from_json(&json!({ "enabled": "yes" })), None);
        assert_eq!(UPDATE_CHECK.spec().default, json!({ "enabled": true }));
    }
}
