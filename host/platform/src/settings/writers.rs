//! Generic writers of settings: they accept any value that violates no rule, for settings without their own
//! route.
//!
//! Sending back displayed values changes nothing: neither masked secrets, nor settings with their own routes,
//! nor rows that no setting of this version owns.

use std::collections::BTreeMap;

use qm_db::{Db, Tx};
use qm_kernel::{Caller, ClientInfo, Permission};
use serde_json::{Value, json};

use super::{MAX_KEY, MAX_KEYS, MAX_VALUE, SettingSpec, Settings, declare};
use crate::acting::{Acting, Actor};
use crate::audit::{Audit, AuditEntry};
use crate::error::PlatformError;

/// Largest number of unknown keys named in one answer.
const MAX_TOLD: usize = 20;
/// Similarity of two keys (0 to 1) from which one is suggested for the other.
const LIKE: f64 = 0.85;

/// The user who changes settings, and the permission check.
#[derive(Clone, Copy)]
pub struct Writer<'a> {
    pub acting: &'a dyn Acting,
    pub caller: Caller<'a>,
}

impl Settings {
    /// Stores all `changes` or none, with one audit row; returns every setting for display.
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
            .judge(&mut tx, writer.caller.principal, &[Permission::SettingsManage])
            .await?;
        let stored = self.list(&mut tx).await?;
        let changes: BTreeMap<&String, &Value> = changes
            .iter()
            .filter(|(key, value)| stored.get(*key) != Some(value))
            .collect();
        check_owners(&changes, &stored)?;
        // Sorted by key: on PostgreSQL two changes of the same rows could deadlock otherwise.
        for (key, value) in &changes {
            self.write(&mut tx, key, value).await?;
        }
        if changes.is_empty() {
            return Ok(stored);
        }
        record(&mut tx, audit, &actor, writer.caller.client, &changes).await?;
        let shown = self.list(&mut tx).await?;
        tx.commit().await?;
        Ok(shown)
    }
}

/// Audits the names of the keys only: a value may be a secret.
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

/// Refuses settings with their own route, and unknown keys. `null` removes a row that an earlier version
/// left.
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

/// The setting with the most similar key, if any is similar enough.
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
