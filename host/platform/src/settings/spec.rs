//! Types that describe settings.

use serde_json::Value;

use super::value::SettingValue;

/// A typed setting. Made by [`settings!`](macro@crate::settings).
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct Setting<T> {
    /// Dotted key; its identity, never renamed.
    pub key: &'static str,
    /// Area that reads it.
    pub owner: &'static str,
    /// Description in one sentence.
    pub about: &'static str,
    /// The only route that changes it, e.g. `PUT /api/files/root`; the generic writers refuse it then.
    pub route: Option<&'static str>,
    /// Members of an object that are secrets: stored encrypted, shown as a mask.
    pub secret_members: &'static [&'static str],
    /// True when it is stored at the first start, so that lists of settings show it.
    pub seeded: bool,
    /// Rule for values that writers store, e.g. `must be the name of a time zone`; `None`: any value is
    /// stored, and an unusable one reads as the default.
    pub rule: Option<&'static str>,
    /// True when no area of this version reads it: no document lists it.
    pub to_come: bool,
    /// Value while nothing usable is stored.
    pub default: fn() -> T,
    /// Check of values beyond the type; others read as the default.
    pub accepts: fn(&T) -> bool,
}

/// A secret setting: stored encrypted, shown as a mask, absent when it cannot be decrypted. Made by
/// [`settings!`](macro@crate::settings).
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct SecretSetting {
    pub key: &'static str,
    pub owner: &'static str,
    pub about: &'static str,
    /// The only route that changes it; `None`: the generic writers accept it as text and store it encrypted.
    pub route: Option<&'static str>,
    /// True when no area of this version reads it: no document lists it.
    pub to_come: bool,
}

/// Description of a setting in lists and documents.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingSpec {
    pub key: &'static str,
    pub owner: &'static str,
    pub about: &'static str,
    /// True when the whole value is a secret.
    pub secret: bool,
    pub secret_members: &'static [&'static str],
    pub seeded: bool,
    pub route: Option<&'static str>,
    pub to_come: bool,
    /// `text`, `number`, `integer`, `boolean`, `list of texts`, `object` or `secret`.
    pub kind: &'static str,
    /// `null`: none.
    pub default: Value,
}

impl<T: SettingValue> Setting<T> {
    /// A setting for the generic writers that accepts every value of its type. Only for the macro.
    #[doc(hidden)]
    pub const fn declared(
        key: &'static str,
        owner: &'static str,
        about: &'static str,
        default: fn() -> T,
    ) -> Self {
        Self {
            key,
            owner,
            about,
            route: None,
            secret_members: &[],
            seeded: false,
            rule: None,
            to_come: false,
            default,
            accepts: |_| true,
        }
    }

    #[must_use]
    pub const fn to_come(self) -> Self {
        Self {
            to_come: true,
            ..self
        }
    }

    #[must_use]
    pub const fn seeded(self) -> Self {
        Self { seeded: true, ..self }
    }

    #[must_use]
    pub const fn by_route(self, route: &'static str) -> Self {
        Self {
            route: Some(route),
            ..self
        }
    }

    #[must_use]
    pub const fn accepts(self, accepts: fn(&T) -> bool) -> Self {
        Self { accepts, ..self }
    }

    #[must_use]
    pub const fn rule(self, rule: &'static str) -> Self {
        Self {
            rule: Some(rule),
            ..self
        }
    }

    /// The rule that `value` violates; `null` removes the stored value.
    pub fn broken_by(&self, value: &Value) -> Option<&'static str> {
        let fits = value.is_null() || T::from_json(value).as_ref().is_some_and(self.accepts);
        self.rule.filter(|_| !fits)
    }

    #[must_use]
    pub const fn secret_members(self, secret_members: &'static [&'static str]) -> Self {
        Self {
            secret_members,
            ..self
        }
    }

    pub fn spec(&self) -> SettingSpec {
        SettingSpec {
            key: self.key,
            owner: self.owner,
            about: self.about.trim_start(),
            secret: false,
            secret_members: self.secret_members,
            seeded: self.seeded,
            route: self.route,
            to_come: self.to_come,
            kind: T::KIND,
            default: (self.default)().to_json(),
        }
    }

    /// Converts a stored value; an unusable one becomes the default.
    pub(super) fn read(&self, stored: Option<&Value>) -> T {
        stored
            .and_then(T::from_json)
            .filter(self.accepts)
            .unwrap_or_else(self.default)
    }
}

impl SecretSetting {
    /// A secret for the generic writers. Only for the macro.
    #[doc(hidden)]
    pub const fn declared(key: &'static str, owner: &'static str, about: &'static str) -> Self {
        Self {
            key,
            owner,
            about,
            route: None,
            to_come: false,
        }
    }

    #[must_use]
    pub const fn to_come(self) -> Self {
        Self {
            to_come: true,
            ..self
        }
    }

    #[must_use]
    pub const fn by_route(self, route: &'static str) -> Self {
        Self {
            route: Some(route),
            ..self
        }
    }

    pub fn spec(&self) -> SettingSpec {
        SettingSpec {
            key: self.key,
            owner: self.owner,
            about: self.about.trim_start(),
            secret: true,
            secret_members: &[],
            seeded: false,
            route: self.route,
            to_come: self.to_come,
            kind: "secret",
            default: Value::Null,
        }
    }
}
