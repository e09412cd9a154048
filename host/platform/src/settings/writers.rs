//! The generic writers of settings: they take any value that breaks no rule, for a setting that has no route of its own.
//!
//! Whoever sends back what they were shown changes nothing by it: that goes for secrets that come as masks, for settings
//! with routes of their own, and for rows that no setting of this version owns.

use std::collections::BTreeMap;

use qm_db::{Db, Tx};
use qm_kernel::{ClientInfo, Permission, Principal};
use serde_json::{Value, json};

use super::{MAX_KEY, MAX_KEYS, MAX_VALUE, SettingSpec, Settings, declare};
use crate::acting::{Acting, Actor};
use crate::audit::{Audit, AuditEntry};
use crate::error::PlatformError;

/// Most unknown keys that one answer names.
const MAX_TOLD: usize = 20;
/// Likeness of two keys, of 0 to 1, from which one may be meant by the other.
const LIKE: f64 = 0.85;

/// Who changes settings, and who judges whether they still may.
#[derive(Clone, Copy)]
pub struct Writer<'a> {
    pub acting: &'a dyn Acting,
    pub principal: &'a Principal,
    pub client: &'a ClientInfo,
}

impl Settings {
    /// Stores all of `changes`, or none of them, with one audit row; answers every setting as a response may show it.
    pub async fn change(
        &self,
        db: &Db,
        audit: &Audit,
        writer: Writer<'_>,
        changes: &BTreeMap<String, Value>,
    ) -> Result<BTreeMap<String, Value>, PlatformError> {
        check(changes)?;
        let mut tx = db.begin_write().await?;
        let actor = writer
            .acting
            .judge(&mut tx, writer.principal, &[Permission::SettingsManage])
            .await?;
        let stored = self.list(&mut tx).await?;
        let changes: BTreeMap<&String, &Value> = changes
            .iter()
            .filter(|(key, value)| stored.get(*key) != Some(value))
            .collect();
        check_owners(&changes, &stored)?;
        // In the order of their keys, whatever order they came in: on PostgreSQL two changes of the same rows would
        // wait for each other otherwise.
        for (key, value) in &changes {
            self.write(&mut tx, key, value).await?;
        }
        if changes.is_empty() {
            return Ok(stored);
        }
        record(&mut tx, audit, &actor, writer.client, &changes).await?;
        let shown = self.list(&mut tx).await?;
        tx.commit().await?;
        Ok(shown)
    }
}

/// Names of keys only: a value may be a secret.
async fn record(
    tx: &mut Tx,
    audit: &Audit,
    actor: &Actor,
    client: &ClientInfo,
    changes: &BTreeMap<&String, &Value>,
) -> Result<(), PlatformError> {
    let keys: Vec<&String> = changes.keys().copied().collect();
    let entry = AuditEntry {
        object_type: Some("setting"),
        object_id: match &*keys {
            [key] => Some((*key).clone()),
            _ => None,
        },
        metadata: Some(json!({ "keys": keys })),
        ..actor.entry("settings.update", client)
    };
    Ok(audit.record(tx, entry).await?)
}

/// Refuses changes of what has a route of its own, and of what no setting of this version is. `null` takes away a row that
/// an earlier version left.
fn check_owners(
    changes: &BTreeMap<&String, &Value>,
    stored: &BTreeMap<String, Value>,
) -> Result<(), PlatformError> {
    let specs = declare::all();
    let owned = specs
        .iter()
        .filter_map(|spec| Some((spec.key, spec.route?)))
        .find(|(key, _)| changes.keys().any(|changed| changed == key));
    if let Some((key, route)) = owned {
        return Err(PlatformError::SettingHasRoute { key, route });
    }
    let unknown = changes.iter().filter(|(key, value)| {
        let takes_away = value.is_null() && stored.contains_key(**key);
        !declare::is_known(key) && !takes_away
    });
    let refused: Vec<String> = unknown
        .take(MAX_TOLD)
        .map(|(key, _)| match nearest(key, &specs) {
            Some(known) => format!("{key} is not a setting; did you mean {known}?"),
            None => format!("{key} is not a setting; docs/settings.md lists all of them"),
        })
        .collect();
    if refused.is_empty() {
        Ok(())
    } else {
        Err(PlatformError::BadSettings(refused))
    }
}

/// The setting whose key is most like `key`, if one is.
fn nearest(key: &str, specs: &[SettingSpec]) -> Option<&'static str> {
    let likeness = |spec: &SettingSpec| strsim::jaro_winkler(&key.to_lowercase(), &spec.key.to_lowercase());
    specs
        .iter()
        .filter(|spec| !spec.to_come)
        .map(|spec| (likeness(spec), spec.key))
        .filter(|(likeness, _)| *likeness >= LIKE)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, key)| key)
}

fn check(changes: &BTreeMap<String, Value>) -> Result<(), PlatformError> {
    let mut broken = Vec::new();
    if changes.len() > MAX_KEYS {
        broken.push(format!("no more than {MAX_KEYS} settings can be changed at once"));
    }
    for (key, value) in changes {
        if broken.len() > MAX_KEYS {
            break;
        }
        let named: String = key.chars().take(MAX_KEY).filter(|c| !c.is_control()).collect();
        if key.trim().is_empty() || key.chars().count() > MAX_KEY || key.contains(char::is_control) {
            let rule = format!("a key must have 1 to {MAX_KEY} characters, none of them a control character");
            broken.push(format!("{rule}: `{named}`"));
        } else if value.to_string().len() > MAX_VALUE {
            broken.push(format!("{named} must not be larger than {MAX_VALUE} bytes"));
        } else if !(value.is_string() || value.is_null()) && declare::is_secret_of_writers(key) {
            broken.push(format!("{named} must be a string"));
        } else if let Some(rule) = declare::broken_rule(key, value) {
            broken.push(format!("{named} {rule}"));
        }
    }
    if broken.is_empty() {
        Ok(())
    } else {
        Err(PlatformError::BadSettings(broken))
    }
}
