//! One request to TMDB. No error names a URL: it may hold the key.

use provider_a_core as core;
use provider_shell::{Site, convert, read};
use sdk_provider::ProviderError;

/// A document of the API.
pub type Document = serde_json::Value;

/// Client of the TMDB API, with its base URL and key.
pub struct Client {
    base: String,
    key: String,
    site: Site,
}

impl Client {
    pub fn from_config(config: &str) -> Result<Self, ProviderError> {
        let (config, site) = read("TMDB", config)?;
        Ok(Self {
            base: core::base(config.text("baseUrl")).map_err(convert::fault)?,
            key: core::key(config.text("apiKey")).map_err(convert::fault)?,
            site,
        })
    }

    /// The document that answers a request; `expected` names it, for people.
    pub fn get(&self, request: &core::Request, expected: &str) -> Result<Document, ProviderError> {
        let token = core::is_token(&self.key);
        let url = request.url(&self.base, (!token).then_some(self.key.as_str()));
        let bearer = format!("Bearer {}", self.key);
        let headers: &[(&str, &str)] = if token { &[("Authorization", &bearer)] } else { &[] };
        let told = self.site.ask("GET", &url, headers, None)?;
        core::document(told.answer(), expected).map_err(convert::fault)
    }
}
