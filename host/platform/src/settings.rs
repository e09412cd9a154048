//! Settings: a typed registry over the table of key and JSON value.
//!
//! A setting is a constant that names its key, type, default and owner; areas read through it. The generic writers of
//! the API store what they are given, so a stored value that is not of the setting's type reads as the default.

use qm_db::{DbError, Json, Tx, exec, opt, sql};
use qm_kernel::Ctx;
use serde_json::Value;

sql! {
    FIND = "SELECT value FROM settings WHERE key = $1";
    PUT = "INSERT INTO settings (key, value, updated_at) VALUES ($1, $2, $3) \
        ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at";
    SEED = "INSERT INTO settings (key, value, updated_at) VALUES ($1, $2, $3) ON CONFLICT (key) DO NOTHING";
}

/// A setting and how to read it.
#[derive(Clone, Copy, Debug)]
pub struct Setting<T> {
    /// Dotted; its identity, never renamed.
    pub key: &'static str,
    /// The area that reads it.
    pub owner: &'static str,
    /// What it does, one sentence.
    pub about: &'static str,
    /// Shown as a mask and refused by the generic writers.
    pub secret: bool,
    /// Written to the database at the first start, so that lists of settings show it.
    pub seeded: bool,
    /// What holds while nothing usable is stored.
    pub default: fn() -> T,
    /// Values that the type allows and the setting does not read as the default too.
    pub accepts: fn(&T) -> bool,
}

/// A setting as lists and documents show it.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingSpec {
    pub key: &'static str,
    pub owner: &'static str,
    pub about: &'static str,
    pub secret: bool,
    pub seeded: bool,
    /// `text`, `integer` or `boolean`.
    pub kind: &'static str,
    pub default: Value,
}

impl<T: SettingValue> Setting<T> {
    pub fn spec(&self) -> SettingSpec {
        SettingSpec {
            key: self.key,
            owner: self.owner,
            about: self.about,
            secret: self.secret,
            seeded: self.seeded,
            kind: T::KIND,
            default: (self.default)().to_json(),
        }
    }
}

/// A type a setting can have.
pub trait SettingValue: Sized {
    const KIND: &'static str;
    fn from_json(value: &Value) -> Option<Self>;
    fn to_json(&self) -> Value;
}

impl SettingValue for String {
    const KIND: &'static str = "text";

    fn from_json(value: &Value) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }

    fn to_json(&self) -> Value {
        Value::from(self.as_str())
    }
}

impl SettingValue for i64 {
    const KIND: &'static str = "integer";

    fn from_json(value: &Value) -> Option<Self> {
        value.as_i64()
    }

    fn to_json(&self) -> Value {
        Value::from(*self)
    }
}

impl SettingValue for bool {
    const KIND: &'static str = "boolean";

    fn from_json(value: &Value) -> Option<Self> {
        value.as_bool()
    }

    fn to_json(&self) -> Value {
        Value::from(*self)
    }
}

/// The settings there are, by owner. An area that has settings of its own adds them here.
pub mod catalogue {
    use super::{Setting, SettingSpec};

    pub const PRODUCT_NAME: Setting<String> = Setting {
        key: "general.productName",
        owner: "platform",
        about: "The name clients show; the one the server was started with until it is changed.",
        secret: false,
        seeded: true,
        default: || "Quartermaster".to_owned(),
        accepts: |name| !name.trim().is_empty(),
    };
    pub const THEME: Setting<String> = Setting {
        key: "general.theme",
        owner: "platform",
        about: "The look clients start with.",
        secret: false,
        seeded: true,
        default: || "dark".to_owned(),
        accepts: |_| true,
    };
    pub const REFRESH_TOKEN_TTL_DAYS: Setting<i64> = Setting {
        key: "security.refreshTokenTtlDays",
        owner: "identity",
        about: "For information: JWT_REFRESH_TTL_DAYS decides.",
        secret: false,
        seeded: true,
        default: || 30,
        accepts: |days| *days >= 1,
    };
    pub const ACCESS_TOKEN_TTL_MINUTES: Setting<i64> = Setting {
        key: "security.accessTokenTtlMinutes",
        owner: "identity",
        about: "For information: JWT_ACCESS_TTL decides.",
        secret: false,
        seeded: true,
        default: || 15,
        accepts: |minutes| *minutes >= 1,
    };
    pub const POLL_INTERVAL_MS: Setting<i64> = Setting {
        key: "engine.pollIntervalMs",
        owner: "torrents",
        about: "For information: an engine is read every 2 seconds.",
        secret: false,
        seeded: true,
        default: || 2000,
        accepts: |ms| *ms > 0,
    };
    pub const DEFAULT_ROOT_PATH: Setting<String> = Setting {
        key: "fileManager.defaultRootPath",
        owner: "files",
        about: "The only folder files may be managed in; empty: the roots of FILE_MANAGER_ROOTS.",
        secret: false,
        seeded: true,
        default: String::new,
        accepts: |_| true,
    };

    /// Every setting, by key.
    pub fn all() -> Vec<SettingSpec> {
        let mut specs = vec![
            PRODUCT_NAME.spec(),
            THEME.spec(),
            REFRESH_TOKEN_TTL_DAYS.spec(),
            ACCESS_TOKEN_TTL_MINUTES.spec(),
            POLL_INTERVAL_MS.spec(),
            DEFAULT_ROOT_PATH.spec(),
        ];
        specs.sort_by_key(|spec| spec.key);
        specs
    }
}

/// Reads and writes settings. Cheap to clone.
#[derive(Clone)]
pub struct Settings {
    ctx: Ctx,
}

impl Settings {
    pub fn new(ctx: Ctx) -> Self {
        Self { ctx }
    }

    /// The stored value, or the default when there is none or it is not one the setting takes.
    pub async fn get<T: SettingValue>(&self, tx: &mut Tx, setting: &Setting<T>) -> Result<T, DbError> {
        let stored = opt!(tx, (String,), FIND, setting.key).await?;
        let value = stored
            .and_then(|(text,)| serde_json::from_str(&text).ok())
            .and_then(|value| T::from_json(&value))
            .filter(setting.accepts);
        Ok(value.unwrap_or_else(setting.default))
    }

    pub async fn put<T: SettingValue>(
        &self,
        tx: &mut Tx,
        setting: &Setting<T>,
        value: &T,
    ) -> Result<(), DbError> {
        exec!(tx, PUT, setting.key, Json(value.to_json()), self.ctx.now().ms())
            .await?
            .exactly(1)
    }

    /// Writes the seeded settings that are missing; what is stored stays. `product_name` is the name the server was
    /// started with.
    pub async fn seed_defaults(&self, tx: &mut Tx, product_name: &str) -> Result<(), DbError> {
        for spec in catalogue::all().into_iter().filter(|spec| spec.seeded) {
            let value = if spec.key == catalogue::PRODUCT_NAME.key {
                Value::from(product_name)
            } else {
                spec.default
            };
            let _ = exec!(tx, SEED, spec.key, Json(&value), self.ctx.now().ms()).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use qm_db::{Db, db_test, value};
    use serde_json::json;

    use super::*;

    sql! { COUNT = "SELECT COUNT(*) FROM settings"; }

    #[test]
    fn keys_are_unique_and_described() {
        let specs = catalogue::all();
        assert!(specs.windows(2).all(|pair| pair[0].key < pair[1].key));
        assert!(
            specs
                .iter()
                .all(|spec| spec.about.ends_with('.') && !(spec.secret && spec.seeded))
        );
    }

    db_test! {
        async fn seeding_fills_gaps_and_changes_nothing(db: Db) {
            let settings = Settings::new(Ctx::system());
            let mut tx = db.begin_write().await.unwrap();
            settings.put(&mut tx, &catalogue::THEME, &"light".to_owned()).await.unwrap();
            for name in ["Box", "Other"] {
                settings.seed_defaults(&mut tx, name).await.unwrap();
            }
            assert_eq!(value!(&mut tx, i64, COUNT).await.unwrap(), 6);
            assert_eq!(settings.get(&mut tx, &catalogue::THEME).await.unwrap(), "light");
            assert_eq!(settings.get(&mut tx, &catalogue::PRODUCT_NAME).await.unwrap(), "Box");
            assert_eq!(settings.get(&mut tx, &catalogue::POLL_INTERVAL_MS).await.unwrap(), 2000);
        }

        async fn unusable_values_read_as_the_default(db: Db) {
            let settings = Settings::new(Ctx::system());
            let mut tx = db.begin_write().await.unwrap();
            assert_eq!(settings.get(&mut tx, &catalogue::REFRESH_TOKEN_TTL_DAYS).await.unwrap(), 30);
            for (stored, read) in [(json!(7), 7), (json!("7"), 30), (json!(0), 30), (json!(1.5), 30), (json!(null), 30)] {
                exec!(&mut tx, PUT, "security.refreshTokenTtlDays", Json(stored), 0_i64).await.unwrap().exactly(1).unwrap();
                assert_eq!(settings.get(&mut tx, &catalogue::REFRESH_TOKEN_TTL_DAYS).await.unwrap(), read);
            }
            settings.put(&mut tx, &catalogue::REFRESH_TOKEN_TTL_DAYS, &90).await.unwrap();
            assert_eq!(settings.get(&mut tx, &catalogue::REFRESH_TOKEN_TTL_DAYS).await.unwrap(), 90);
        }
    }
}
