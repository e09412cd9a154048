//! Preferences as they are answered, and changes as they are sent.

use qm_web::{Fields, FromBody};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::model::{Offer, Preference, Shown};

/// Changes by the keys of preferences. Those that are not named stay as they are.
#[derive(ToSchema)]
#[schema(as = ClientPreferenceChanges, value_type = Object)]
pub struct Changes(pub Map<String, Value>);

impl FromBody for Changes {
    fn from_body(f: &mut Fields<'_>) -> Self {
        Self(f.all())
    }
}

/// Preferences of an engine's torrent client.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ClientPreferences)]
pub struct PreferencesView {
    pub engine_id: String,
    /// Text about all of them, such as how long a change lasts; null when its plugin says nothing.
    pub text: Option<String>,
    /// In the order of their keys.
    pub items: Vec<PreferenceView>,
}

/// A preference, with what it may be and what it is.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ClientPreference)]
pub struct PreferenceView {
    /// Name by which it is changed.
    pub key: String,
    /// `boolean`, `integer`, `number` or `string`.
    pub r#type: String,
    /// Null is a value too: no limit, or the client's own choice.
    pub nullable: bool,
    /// The value; null also when the client does not tell it. Of a secret a mask, or null when there is none.
    #[schema(value_type = Option<Value>)]
    pub value: Value,
    /// Sentence for people; null when the plugin has none.
    pub text: Option<String>,
    /// Unit of the number, such as `minutes`; null when it has none.
    pub unit: Option<String>,
    /// Name of the group that it is shown in, such as `queue`; null when it is in none.
    pub group: Option<String>,
    /// Smallest number; null without one.
    pub minimum: Option<f64>,
    /// Largest number; null without one.
    pub maximum: Option<f64>,
    /// Words to choose from; null when there is no such choice.
    pub options: Option<Vec<String>>,
    /// It is told and cannot be changed.
    pub read_only: bool,
    pub secret: bool,
    /// It is an absolute directory of the client's file system, and must lie in the allowed roots.
    pub directory: bool,
}

impl PreferenceView {
    fn new(preference: Preference, value: Value) -> Self {
        Self {
            key: preference.key,
            r#type: preference.kind,
            nullable: preference.is_nullable,
            value,
            text: preference.text,
            unit: preference.unit,
            group: preference.group,
            minimum: preference.minimum,
            maximum: preference.maximum,
            options: preference.options,
            read_only: preference.is_read_only,
            secret: preference.is_secret,
            directory: preference.is_directory,
        }
    }
}

impl PreferencesView {
    pub fn new(engine_id: String, shown: Shown) -> Self {
        let Shown { offer, values } = shown;
        let view = |preference: Preference| {
            let value = Offer::show(&preference, values.get(&preference.key));
            PreferenceView::new(preference, value)
        };
        Self {
            engine_id,
            text: offer.text,
            items: offer.preferences.into_iter().map(view).collect(),
        }
    }
}
