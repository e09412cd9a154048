//! Requests to TheTVDB, with the token of a login. No secret stands in a URL.

use provider_b_core as core;
use provider_shell::{Site, Told, convert, read};
use sdk_provider::{ProviderError, clock, kv};

/// A document of the API.
pub type Document = serde_json::Value;

/// Key under which the sealed token is stored.
const KEPT: &str = "session";
const REFUSED: u16 = 401;

/// Client of the TheTVDB API, with its base URL and login.
pub struct Client {
    base: String,
    session: core::Session,
    site: Site,
}

impl Client {
    pub fn from_config(config: &str) -> Result<Self, ProviderError> {
        let (config, site) = read("TheTVDB", config)?;
        let base = core::base(config.text("baseUrl")).map_err(convert::fault)?;
        let session = core::credentials(&base, config.text("apiKey"), config.text("pin"));
        Ok(Self {
            session: session.map_err(convert::fault)?,
            base,
            site,
        })
    }

    /// A token, asked for anew.
    pub fn login(&self) -> Result<String, ProviderError> {
        let url = core::login().url(&self.base);
        let told = self.site.ask("POST", &url, &[], Some(self.session.body()))?;
        let document = core::document(told.answer(), "a token").map_err(convert::fault)?;
        core::bearer(&document).map_err(convert::fault)
    }

    /// The document that answers a request; `expected` names it, for people. A token that is refused is given up, and one login is
    /// tried.
    pub fn get(&self, request: &core::Request, expected: &str) -> Result<Document, ProviderError> {
        let kept = kv::get(KEPT).ok().flatten();
        let token = kept
            .as_deref()
            .and_then(|kept| core::open(&self.session, kept, clock::now_ms()));
        if let Some(token) = token {
            let told = self.ask(request, &token)?;
            if told.status() != REFUSED {
                return core::document(told.answer(), expected).map_err(convert::fault);
            }
            // Another call may have put a newer one there by now.
            let _ = kv::exchange(KEPT, kept.as_deref(), None);
        }
        let token = self.login()?;
        let told = self.ask(request, &token)?;
        if told.status() != REFUSED
            && let Some(sealed) = core::seal(&self.session, &token, clock::now_ms())
        {
            // What cannot be kept costs the next call a login.
            let _ = kv::set(KEPT, &sealed);
        }
        core::document(told.answer(), expected).map_err(convert::fault)
    }

    fn ask(&self, request: &core::Request, token: &str) -> Result<Told, ProviderError> {
        let bearer = format!("Bearer {token}");
        self.site.ask(
            "GET",
            &request.url(&self.base),
            &[("Authorization", &bearer)],
            None,
        )
    }
}
