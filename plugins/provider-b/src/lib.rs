//! The provider `provider_b`: TheTVDB, by version 4 of its API. A key, and the PIN of a subscriber where the key wants one, go into the
//! body of a login; what that gives goes into a header and is kept, sealed, until it is refused.

mod client;

use provider_b_core as core;
use provider_shell::convert;
use sdk_provider::{
    Abilities, Description, Descriptor, Episode, Found, Hit, Image, Kind, Provider, ProviderError, Query,
    Subject, TitleDetails,
};

use crate::client::Client;

/// The origin of [`core::BASE`].
const ORIGIN: &str = "https://api4.thetvdb.com";

const SCHEMA: &str = r#"{
  "type": "object",
  "required": ["apiKey"],
  "properties": {
    "apiKey": {"type": "string", "title": "API key", "writeOnly": true, "minLength": 1, "maxLength": 256},
    "pin": {"type": "string", "title": "Subscriber PIN", "writeOnly": true, "maxLength": 256,
      "description": "For keys that are paid for by their users"},
    "baseUrl": {"type": "string", "title": "Base URL", "format": "uri", "x-grant": "http-url",
      "description": "Where the API is asked instead of https://api4.thetvdb.com/v4, a proxy say"},
    "timeoutMs": {"type": "integer", "minimum": 1000, "maximum": 60000}
  },
  "additionalProperties": false
}"#;

struct Plugin;

fn fault<T>(read: Result<T, core::Fault>) -> Result<T, ProviderError> {
    read.map_err(convert::fault)
}

impl Provider for Plugin {
    fn describe() -> Description {
        sdk_provider::install_panic_hook();
        Description {
            about: Descriptor {
                id: "provider_b".to_owned(),
                label: "TheTVDB".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                config_schema: SCHEMA.to_owned(),
                capabilities: Vec::new(),
                hosts: vec![ORIGIN.to_owned()],
                extra: Vec::new(),
            },
            kinds: vec![Kind::Movie, Kind::Show],
            abilities: Abilities::all(),
            find_sources: vec!["titledb".to_owned()],
            extra: Vec::new(),
        }
    }

    fn verify(config: String) -> Result<(), ProviderError> {
        sdk_provider::install_panic_hook();
        Client::from_config(&config)?.login()?;
        Ok(())
    }

    fn search(config: String, query: Query) -> Result<Found, ProviderError> {
        sdk_provider::install_panic_hook();
        let client = Client::from_config(&config)?;
        let kind = convert::kind(query.kind);
        let page = query.page.max(1);
        let request = fault(core::search(kind, &query.title, query.year, page))?;
        let document = client.get(&request, "a list of titles")?;
        let found = core::page(&document, kind, page, query.language.as_deref());
        Ok(convert::found(fault(found)?))
    }

    fn details(config: String, subject: Subject) -> Result<TitleDetails, ProviderError> {
        sdk_provider::install_panic_hook();
        let client = Client::from_config(&config)?;
        let kind = convert::kind(subject.kind);
        let request = fault(core::details(kind, &subject.id))?;
        let document = client.get(&request, "a title")?;
        let (language, country) = (subject.language.as_deref(), subject.country.as_deref());
        let title = core::title(&document, kind, language, country);
        Ok(convert::title(fault(title)?))
    }

    fn episodes(
        config: String,
        show: String,
        season: u32,
        language: Option<String>,
    ) -> Result<Vec<Episode>, ProviderError> {
        sdk_provider::install_panic_hook();
        let client = Client::from_config(&config)?;
        let mut episodes = Vec::new();
        for page in 0..core::MAX_PAGES {
            let request = fault(core::episodes_of(&show, season, language.as_deref(), page))?;
            let document = client.get(&request, "a season")?;
            episodes.extend(fault(core::episodes(&document, season))?);
            if !core::more(&document) {
                break;
            }
        }
        if episodes.is_empty() {
            let what = format!("TheTVDB has no season {season} of the show");
            return Err(ProviderError::NotFound(what));
        }
        Ok(episodes.into_iter().map(convert::episode).collect())
    }

    fn artwork(config: String, subject: Subject) -> Result<Vec<Image>, ProviderError> {
        sdk_provider::install_panic_hook();
        let client = Client::from_config(&config)?;
        let request = fault(core::artwork(convert::kind(subject.kind), &subject.id))?;
        let document = client.get(&request, "a list of images")?;
        let images = core::images(&document, subject.language.as_deref());
        Ok(images.into_iter().map(convert::image).collect())
    }

    fn find(
        config: String,
        source: String,
        id: String,
        _language: Option<String>,
    ) -> Result<Vec<Hit>, ProviderError> {
        sdk_provider::install_panic_hook();
        let client = Client::from_config(&config)?;
        let request = fault(core::find(&source, &id))?;
        let document = client.get(&request, "titles of an id")?;
        let found = fault(core::found(&document))?;
        Ok(found.into_iter().map(convert::hit).collect())
    }
}

sdk_provider::export_provider!(Plugin);
