//! Keys of the providers with settings of their own, and their test.

use std::time::Duration;

use qm_db::{DbError, Tx};
use qm_kernel::{Caller, Permission, Secret};
use qm_platform::{AuditEntry, AuditResult, SecretSetting, judge_alone};
use qm_ports::metadata::{ProviderConfig, ProviderError};
use serde_json::{Map, json};

use super::{MetadataArea, member};
use crate::dto::KeyTestView;
use crate::error::MetadataError;
use crate::settings::{OMDB_API_KEY, PROVIDER_A_API_KEY, PROVIDER_B_API_KEY, PROVIDER_B_PIN};

/// Time limit of a provider's answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(8);
const PATIENCE_MS: u32 = 8000;
/// Additional time, so that the plugin can report the time-out itself.
const PARTING: Duration = Duration::from_secs(1);
/// Largest number of characters of a displayed reason.
const REASON: usize = 300;

/// Keys from the environment.
#[derive(Clone, Debug, Default)]
pub struct EnvironmentKeys {
    pub provider_a: Option<Secret>,
    pub provider_b: Option<Secret>,
    pub provider_b_pin: Option<Secret>,
    /// Key for ratings.
    pub omdb: Option<Secret>,
}

/// Present keys: from the settings, or else from the environment.
#[derive(Default)]
pub(super) struct Keys {
    a: Option<Secret>,
    b: Option<Secret>,
    pin: Option<Secret>,
}

/// Provider whose key is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyOf {
    ProviderA,
    ProviderB,
}

impl KeyOf {
    const fn id(self) -> &'static str {
        match self {
            KeyOf::ProviderA => "provider_a",
            KeyOf::ProviderB => "provider_b",
        }
    }

    /// Setting that holds the key.
    const fn setting(self) -> &'static str {
        match self {
            KeyOf::ProviderA => "media.providerAApiKey",
            KeyOf::ProviderB => "media.providerBApiKey",
        }
    }

    const fn action(self) -> &'static str {
        match self {
            KeyOf::ProviderA => "media.provider_a.key_tested",
            KeyOf::ProviderB => "media.provider_b.key_tested",
        }
    }
}

impl Keys {
    /// Configuration of a provider; that of an additional one is entered for its plugin by an administrator.
    pub(super) fn config(&self, provider: &str) -> ProviderConfig {
        let members = match provider {
            "provider_a" => vec![("apiKey", member(self.a.as_ref()))],
            "provider_b" => vec![
                ("apiKey", member(self.b.as_ref())),
                ("pin", member(self.pin.as_ref())),
            ],
            _ => Vec::new(),
        };
        let given = members
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)));
        ProviderConfig {
            fields: given.collect::<Map<_, _>>(),
            timeout_ms: Some(PATIENCE_MS),
        }
    }
}

fn blank(secret: &Secret) -> bool {
    secret.expose().trim().is_empty()
}

impl MetadataArea {
    async fn key(
        &self,
        tx: &mut Tx,
        setting: &SecretSetting,
        environment: Option<&Secret>,
    ) -> Result<Option<Secret>, DbError> {
        let stored = self.settings.get_secret(tx, setting).await?;
        let stored = stored.filter(|secret| !blank(secret));
        Ok(stored.or_else(|| environment.filter(|secret| !blank(secret)).cloned()))
    }

    pub(super) async fn keys(&self, tx: &mut Tx) -> Result<Keys, DbError> {
        let environment = &self.environment;
        Ok(Keys {
            a: self
                .key(tx, &PROVIDER_A_API_KEY, environment.provider_a.as_ref())
                .await?,
            b: self
                .key(tx, &PROVIDER_B_API_KEY, environment.provider_b.as_ref())
                .await?,
            pin: self
                .key(tx, &PROVIDER_B_PIN, environment.provider_b_pin.as_ref())
                .await?,
        })
    }

    /// The present key for ratings.
    pub(super) async fn rating_key(&self) -> Result<Option<Secret>, DbError> {
        let mut tx = self.db.begin_read().await?;
        self.key(&mut tx, &OMDB_API_KEY, self.environment.omdb.as_ref())
            .await
    }

    /// Asks a provider if a key is valid. Missing values are taken from the present keys.
    pub async fn test_key(
        &self,
        caller: Caller<'_>,
        of: KeyOf,
        (key, pin): (Option<String>, Option<String>),
    ) -> Result<KeyTestView, MetadataError> {
        let needed = &[Permission::SettingsManage];
        let actor = judge_alone(&*self.acting, &self.db, caller.principal, needed).await?;
        if self.providers.providers().iter().all(|kind| kind.id != of.id())
            && let Some(settling) = self.providers.settling(of.id())
        {
            return Err(settling.into());
        }
        let used_supplied_key = key.is_some();
        let mut config = {
            let mut tx = self.db.begin_read().await?;
            self.keys(&mut tx).await?.config(of.id())
        };
        for (name, value) in [("apiKey", key), ("pin", pin)] {
            if let Some(value) = value {
                config.fields.insert(name.to_owned(), value.into());
            }
        }
        let (ok, message) = self.verdict(of, config).await;
        let entry = AuditEntry {
            object_type: Some("setting"),
            object_id: Some(of.setting().to_owned()),
            result: if ok {
                AuditResult::Success
            } else {
                AuditResult::Failure
            },
            metadata: Some(json!({ "usedSuppliedKey": used_supplied_key, "message": message })),
            ..actor.entry(of.action(), caller.client)
        };
        self.audit.record_alone(&self.db, entry).await;
        Ok(KeyTestView { ok, message })
    }

    /// True for a valid key, and the reason otherwise. The plugin host has removed secrets from the
    /// provider's text.
    async fn verdict(&self, of: KeyOf, config: ProviderConfig) -> (bool, String) {
        let id = of.id();
        if !config.fields.contains_key("apiKey") {
            // A key may be configured for the plugin itself.
            match self.providers.is_configured(id, config.clone()).await {
                Ok(()) => {}
                Err(ProviderError::InvalidConfig(_)) => return (false, "No API key is set.".to_owned()),
                Err(other) => return (false, short(&other.to_string())),
            }
        }
        let asked = tokio::time::timeout(PATIENCE + PARTING, self.providers.verify(id, config)).await;
        let late = || "Could not reach the provider: timed out (8 s).".to_owned();
        match asked {
            Ok(Ok(())) => (true, "The key is valid.".to_owned()),
            Err(_) | Ok(Err(ProviderError::Timeout(_))) => (false, late()),
            Ok(Err(ProviderError::Auth(_))) => (false, "The key was rejected (401).".to_owned()),
            Ok(Err(ProviderError::Status { status, .. })) => {
                (false, format!("Unexpected response (HTTP {status})."))
            }
            Ok(Err(ProviderError::Unreachable(why))) => {
                (false, format!("Could not reach the provider: {}", short(&why)))
            }
            Ok(Err(other)) => (false, short(&other.to_string())),
        }
    }
}

fn short(text: &str) -> String {
    text.chars().take(REASON).collect()
}
