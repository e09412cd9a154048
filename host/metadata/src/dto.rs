//! Request and response types.

use std::collections::BTreeMap;

use qm_web::{Fields, FromBody};
use serde::Serialize;
use utoipa::ToSchema;

/// Largest number of characters of a key or a PIN.
const MAX_KEY: usize = 1024;

/// A key to test. What is blank, absent or a mask is read from the settings, then from the environment.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct KeyTest {
    #[schema(write_only)]
    pub api_key: Option<String>,
}

impl FromBody for KeyTest {
    const OPTIONAL: bool = true;

    fn from_body(f: &mut Fields<'_>) -> Self {
        Self {
            api_key: entered(f, "apiKey"),
        }
    }
}

/// A key and a subscriber's PIN to test. What is blank, absent or a mask is read from the settings, then from the environment.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct KeyAndPinTest {
    #[schema(write_only)]
    pub api_key: Option<String>,
    #[schema(write_only)]
    pub pin: Option<String>,
}

impl FromBody for KeyAndPinTest {
    const OPTIONAL: bool = true;

    fn from_body(f: &mut Fields<'_>) -> Self {
        Self {
            api_key: entered(f, "apiKey"),
            pin: entered(f, "pin"),
        }
    }
}

fn entered(f: &mut Fields<'_>, name: &'static str) -> Option<String> {
    let text = f.string(name).max(MAX_KEY).optional()?;
    (!qm_kernel::secret::keeps(&text)).then(|| text.trim().to_owned())
}

/// Result of testing a key, with a sentence.
#[derive(Serialize, ToSchema)]
pub struct KeyTestView {
    pub ok: bool,
    pub message: String,
}

/// Metadata providers in use.
#[derive(Serialize, ToSchema)]
pub struct ProvidersView {
    /// Providers with a key, whatever they know.
    pub configured: Vec<String>,
    pub chains: ChainsView,
    pub universal: UniversalView,
}

/// Providers in the order they are asked; `universal` alone: all of them, and their answers are merged.
#[derive(Serialize, ToSchema)]
pub struct ChainsView {
    pub tv: Vec<String>,
    pub movie: Vec<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UniversalView {
    pub enabled: bool,
    /// Enabled, and more than one provider is configured.
    pub active: bool,
    /// The provider preferred for a field, by field.
    pub fields: BTreeMap<String, String>,
    pub composable_fields: Vec<&'static str>,
}
