//! Declaration of an area's settings.

use linkme::distributed_slice;
use serde_json::Value;

use super::spec::SettingSpec;

/// Every setting of the program.
#[distributed_slice]
pub static DECLARED: [Declared];

/// A declared setting of any type.
#[derive(Clone, Copy)]
pub struct Declared {
    pub key: &'static str,
    /// True when the whole value is a secret.
    pub secret: bool,
    pub spec: fn() -> SettingSpec,
    /// The rule that a value violates, if the setting has one.
    pub broken_by: fn(&Value) -> Option<&'static str>,
}

/// Declares the settings of an area:
///
/// ```
/// qm_platform::settings! {
///     of "files";
///
///     /// Days that deleted files stay in the trash; 0: for ever.
///     pub TRASH_RETENTION_DAYS: f64 = "files.trashRetentionDays", || 30.0, accepts(|days| *days >= 0.0);
///
///     /// The key of the picture service.
///     pub secret PICTURES_KEY = "files.picturesKey";
/// }
/// ```
///
/// Each is a constant, [`Setting`](crate::Setting) or [`SecretSetting`](crate::SecretSetting), and what its comment says
/// stands in the document of settings. Behind the key come the default and the conditions, as the types' methods name
/// them. A setting cannot be made in another way, and one that is made is in the list by which secrets are encrypted,
/// masked and sealed anew under another key.
#[macro_export]
macro_rules! settings {
    (of $owner:literal; $($settings:tt)+) => {
        $crate::settings!(@next $owner, $($settings)+);
    };
    (@next $owner:literal,) => {};
    (@next $owner:literal,
        $(#[doc = $about:literal])+
        $vis:vis secret $name:ident = $key:literal $(, $condition:ident($($given:expr),*))*;
        $($settings:tt)*
    ) => {
        $(#[doc = $about])+
        $vis const $name: $crate::SecretSetting =
            $crate::SecretSetting::declared($key, $owner, concat!($($about),+))$(.$condition($($given),*))*;
        $crate::settings!(@listed $name, true, |_| None);
        $crate::settings!(@next $owner, $($settings)*);
    };
    (@next $owner:literal,
        $(#[doc = $about:literal])+
        $vis:vis $name:ident: $kind:ty = $key:literal, $default:expr $(, $condition:ident($($given:expr),*))*;
        $($settings:tt)*
    ) => {
        $(#[doc = $about])+
        $vis const $name: $crate::Setting<$kind> =
            $crate::Setting::declared($key, $owner, concat!($($about),+), $default)$(.$condition($($given),*))*;
        $crate::settings!(@listed $name, false, |value| $name.broken_by(value));
        $crate::settings!(@next $owner, $($settings)*);
    };
    (@listed $name:ident, $secret:literal, $broken_by:expr) => {
        #[allow(unsafe_code, reason = "the list is a section of the linked program")]
        const _: () = {
            #[$crate::private::linkme::distributed_slice($crate::private::DECLARED)]
            #[linkme(crate = $crate::private::linkme)]
            static LISTED: $crate::private::Declared = $crate::private::Declared {
                key: $name.key,
                secret: $secret,
                spec: || $name.spec(),
                broken_by: $broken_by,
            };
        };
    };
}

/// Every setting, by key.
pub(crate) fn all() -> Vec<SettingSpec> {
    let mut specs: Vec<SettingSpec> = DECLARED.iter().map(|declared| (declared.spec)()).collect();
    specs.sort_by_key(|spec| spec.key);
    specs
}

pub(super) fn is_known(key: &str) -> bool {
    find(key).is_some()
}

/// True for a secret that the generic writers accept as text.
pub(super) fn is_secret_of_writers(key: &str) -> bool {
    find(key).is_some_and(|declared| declared.secret && (declared.spec)().route.is_none())
}

pub(super) fn is_secret(key: &str) -> bool {
    find(key).is_some_and(|declared| declared.secret)
}

/// The rule of the setting `key` that `value` violates, if any.
pub(super) fn broken_rule(key: &str, value: &Value) -> Option<&'static str> {
    find(key).and_then(|declared| (declared.broken_by)(value))
}

fn find(key: &str) -> Option<&'static Declared> {
    DECLARED.iter().find(|declared| declared.key == key)
}
