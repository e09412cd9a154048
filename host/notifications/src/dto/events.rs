//! Queries and answers about events and preferences.

use qm_platform::notification::NotificationSpec;
use qm_web::{Fields, FromBody};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::model::channel::{CHAT_APP_A, CHAT_APP_B, EMAIL, KNOWN, MAX_ID, is_id};
use crate::model::preference::{MAX_OTHERS, Preference, PreferenceChange};

/// Largest number of event keys in one request.
const MAX_KEYS: usize = 200;
/// Largest number of characters of a key.
const MAX_KEY: usize = 200;

/// An event that people can be told of.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NotificationEvent)]
pub struct EventView {
    #[schema(example = "torrent.completed")]
    pub key: &'static str,
    /// `playback`, `downloads`, `storage`, `providers`, `security`, `users` or `workflows`.
    pub category: &'static str,
    /// `info`, `success`, `warning` or `error`.
    pub severity: &'static str,
    /// For translations of clients.
    pub title_key: String,
    pub description_key: String,
    /// It shows in the inbox of somebody who never said whether it should.
    pub default_in_app: bool,
    /// `affected_user`, `resource_owner` or `permission_holders`.
    pub recipient_strategy: &'static str,
    /// Permission of the recipients; absent for an event of the user's own account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_permission: Option<&'static str>,
    /// Builder of its card.
    pub presentation_builder: &'static str,
}

impl From<&NotificationSpec> for EventView {
    fn from(event: &NotificationSpec) -> Self {
        Self {
            key: event.key,
            category: event.category.as_str(),
            severity: event.severity.as_str(),
            title_key: format!("events.{}.title", event.key),
            description_key: format!("events.{}.description", event.key),
            default_in_app: event.default_in_app,
            recipient_strategy: event.audience.recipients.as_str(),
            required_permission: event.audience.permission.map(qm_kernel::Permission::key),
            presentation_builder: event.builder.as_str(),
        }
    }
}

/// Every event.
#[derive(Serialize, ToSchema)]
#[schema(as = NotificationEvents)]
pub struct EventsView {
    /// In the order in which clients list them.
    pub events: Vec<EventView>,
}

/// Preference of a user for an event.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NotificationPreference)]
pub struct PreferenceView {
    pub event_key: &'static str,
    /// Off: they are not told at all.
    pub enabled: bool,
    pub in_app_enabled: bool,
    pub email_enabled: bool,
    pub chat_app_a_enabled: bool,
    pub chat_app_b_enabled: bool,
    /// Ids of further channels that are on.
    pub other_channels: Vec<String>,
}

impl PreferenceView {
    pub fn new(event: &NotificationSpec, preference: Preference) -> Self {
        Self {
            event_key: event.key,
            enabled: preference.enabled,
            in_app_enabled: preference.in_app,
            email_enabled: preference.goes_by(EMAIL),
            chat_app_a_enabled: preference.goes_by(CHAT_APP_A),
            chat_app_b_enabled: preference.goes_by(CHAT_APP_B),
            other_channels: preference
                .channels
                .into_iter()
                .filter(|id| !KNOWN.contains(&id.as_str()))
                .collect(),
        }
    }
}

/// An event, and how the caller wants to be told of it.
#[derive(Serialize, ToSchema)]
#[schema(as = NotificationPreferenceRow)]
pub struct PreferenceRow {
    pub definition: EventView,
    pub preference: PreferenceView,
    /// They said so; otherwise it is the default.
    pub customized: bool,
}

/// The caller's preferences.
#[derive(Serialize, ToSchema)]
#[schema(as = NotificationPreferences)]
pub struct PreferencesView {
    /// One an event, in the order of the catalogue.
    pub rows: Vec<PreferenceRow>,
}

/// Result of changing several preferences.
#[derive(Serialize, ToSchema)]
#[schema(as = NotificationPreferencesChanged)]
pub struct ChangedView {
    pub updated: usize,
    /// Keys that no event has.
    pub skipped: Vec<String>,
}

/// Changes of a preference; absent fields stay. A channel may be enabled before it is connected.
#[derive(Default, ToSchema, FromBody)]
#[schema(as = NotificationPreferencePatch, rename_all = "camelCase")]
#[fields(check = names_channels)]
pub struct PreferencePatch {
    pub enabled: Option<bool>,
    pub in_app_enabled: Option<bool>,
    pub email_enabled: Option<bool>,
    pub chat_app_a_enabled: Option<bool>,
    pub chat_app_b_enabled: Option<bool>,
    /// Ids of all further channels that are to be on.
    #[field(max_items = MAX_OTHERS, each_max = MAX_ID)]
    pub other_channels: Option<Vec<String>>,
}

const NO_CHANNEL: &str =
    "each value in otherChannels must be the id of a channel that has no switch of its own";

fn names_channels(patch: &PreferencePatch, f: &mut Fields<'_>) {
    if !patch.names_channels() {
        f.broken(NO_CHANNEL);
    }
}

impl PreferencePatch {
    fn names_channels(&self) -> bool {
        let mut others = self.other_channels.iter().flatten();
        others.all(|id| is_id(id) && !KNOWN.contains(&id.as_str()))
    }

    /// Parses a patch inside a body; errors carry the name of the member.
    fn nested(f: &mut Fields<'_>, name: &'static str) -> Self {
        let given: Map<String, Value> = f.object(name).required().get();
        let mut patch = Self::default();
        for (key, value) in &given {
            let place = match key.as_str() {
                "enabled" => &mut patch.enabled,
                "inAppEnabled" => &mut patch.in_app_enabled,
                "emailEnabled" => &mut patch.email_enabled,
                "chatAppAEnabled" => &mut patch.chat_app_a_enabled,
                "chatAppBEnabled" => &mut patch.chat_app_b_enabled,
                "otherChannels" => {
                    patch.other_channels = others(f, name, value);
                    continue;
                }
                other => {
                    let shown = &other[..other.floor_char_boundary(MAX_KEY)];
                    f.broken(format!("property {name}.{shown} should not exist"));
                    continue;
                }
            };
            match value {
                Value::Null => {}
                Value::Bool(on) => *place = Some(*on),
                _ => f.broken(format!("{name}.{key} must be a boolean value")),
            }
        }
        if !patch.names_channels() {
            f.broken(format!("{name}: {NO_CHANNEL}"));
        }
        patch
    }
}

fn others(f: &mut Fields<'_>, name: &str, value: &Value) -> Option<Vec<String>> {
    let ids: Option<Vec<String>> = match value {
        Value::Null => return None,
        Value::Array(items) if items.len() <= MAX_OTHERS => items
            .iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect(),
        _ => None,
    };
    if ids.is_none() {
        f.broken(format!(
            "{name}.otherChannels must be an array of no more than {MAX_OTHERS} texts"
        ));
    }
    ids
}

impl From<PreferencePatch> for PreferenceChange {
    fn from(patch: PreferencePatch) -> Self {
        let switches = [
            (EMAIL, patch.email_enabled),
            (CHAT_APP_A, patch.chat_app_a_enabled),
            (CHAT_APP_B, patch.chat_app_b_enabled),
        ];
        Self {
            enabled: patch.enabled,
            in_app: patch.in_app_enabled,
            switched: switches
                .into_iter()
                .filter_map(|(channel, on)| Some((channel, on?)))
                .collect(),
            others: patch.other_channels,
        }
    }
}

/// One change of several preferences.
#[derive(ToSchema, FromBody)]
#[schema(as = NotificationPreferencesPatch, rename_all = "camelCase")]
pub struct BulkPatch {
    #[field(max_items = MAX_KEYS, each_max = MAX_KEY)]
    pub event_keys: Vec<String>,
    /// As the body of a change of one.
    #[field(with = PreferencePatch::nested)]
    #[schema(value_type = Object)]
    pub patch: PreferencePatch,
}
