//! Request and response types.

use std::collections::BTreeMap;

use qm_web::FromBody;
use serde::Serialize;
use utoipa::ToSchema;

/// Largest number of characters of a key or a PIN.
const MAX_KEY: usize = 1024;

/// A key to test. What is blank, absent or a mask is read from the settings, then from the environment.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
#[fields(optional)]
pub struct KeyTest {
    #[field(max = MAX_KEY, and_then = entered)]
    #[schema(write_only)]
    pub api_key: Option<String>,
}

/// A key and a subscriber's PIN to test. What is blank, absent or a mask is read from the settings, then from the environment.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
#[fields(optional)]
pub struct KeyAndPinTest {
    #[field(max = MAX_KEY, and_then = entered)]
    #[schema(write_only)]
    pub api_key: Option<String>,
    #[field(max = MAX_KEY, and_then = entered)]
    #[schema(write_only)]
    pub pin: Option<String>,
}

fn entered(text: &str) -> Option<String> {
    (!qm_kernel::secret::keeps(text)).then(|| text.trim().to_owned())
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
