//! The provider `provider_a`: TMDB, by version 3 of its API. A key goes into the query, as that version wants it; a token (of
//! version 4) into a header, and then no URL holds a secret.

mod client;

use provider_a_core as core;
use provider_shell::convert;
use sdk_provider::{
    Abilities, Description, Descriptor, Episode, Found, Hit, Image, Kind, Provider, ProviderError, Query,
    Subject, TitleDetails,
};

use crate::client::Client;

/// The origin of [`core::BASE`].
const ORIGIN: &str = "https://api.themoviedb.org";

const SCHEMA: &str = r#"{
  "type": "object",
  "required": ["apiKey"],
  "properties": {
    "apiKey": {"type": "string", "title": "API key or read access token", "writeOnly": true, "minLength": 1, "maxLength": 1024},
    "baseUrl": {"type": "string", "title": "Base URL", "format": "uri", "x-grant": "http-url",
      "description": "Where the API is asked instead of https://api.themoviedb.org/3, a proxy say"},
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
                id: "provider_a".to_owned(),
                label: "TMDB".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                config_schema: SCHEMA.to_owned(),
                capabilities: Vec::new(),
                hosts: vec![ORIGIN.to_owned()],
                extra: Vec::new(),
            },
            kinds: vec![Kind::Movie, Kind::Show],
            abilities: Abilities::all(),
            find_sources: vec!["titledb".to_owned(), "provider_b".to_owned()],
            extra: Vec::new(),
        }
    }

    fn verify(config: String) -> Result<(), ProviderError> {
        sdk_provider::install_panic_hook();
        Client::from_config(&config)?.get(&core::verify(), "a word about the key")?;
        Ok(())
    }

    fn search(config: String, query: Query) -> Result<Found, ProviderError> {
        sdk_provider::install_panic_hook();
        let client = Client::from_config(&config)?;
        let kind = convert::kind(query.kind);
        let language = query.language.as_deref();
        let request = fault(core::search(kind, &query.title, query.year, language, query.page))?;
        let document = client.get(&request, "a list of titles")?;
        Ok(convert::found(fault(core::page(&document, kind))?))
    }

    fn details(config: String, subject: Subject) -> Result<TitleDetails, ProviderError> {
        sdk_provider::install_panic_hook();
        let client = Client::from_config(&config)?;
        let kind = convert::kind(subject.kind);
        let request = fault(core::details(kind, &subject.id, subject.language.as_deref()))?;
        let document = client.get(&request, "a title")?;
        let title = core::title(&document, kind, subject.country.as_deref());
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
        let request = fault(core::episodes_of(&show, season, language.as_deref()))?;
        let document = client.get(&request, "a season")?;
        let episodes = fault(core::episodes(&document, season))?;
        Ok(episodes.into_iter().map(convert::episode).collect())
    }

    fn artwork(config: String, subject: Subject) -> Result<Vec<Image>, ProviderError> {
        sdk_provider::install_panic_hook();
        let client = Client::from_config(&config)?;
        let (kind, language) = (convert::kind(subject.kind), subject.language.as_deref());
        let request = fault(core::artwork(kind, &subject.id, language))?;
        let document = client.get(&request, "a list of images")?;
        Ok(core::images(&document, language)
            .into_iter()
            .map(convert::image)
            .collect())
    }

    fn find(
        config: String,
        source: String,
        id: String,
        language: Option<String>,
    ) -> Result<Vec<Hit>, ProviderError> {
        sdk_provider::install_panic_hook();
        let client = Client::from_config(&config)?;
        let request = fault(core::find(&source, &id, language.as_deref()))?;
        let document = client.get(&request, "titles of an id")?;
        Ok(fault(core::found(&document))?
            .into_iter()
            .map(convert::hit)
            .collect())
    }
}

sdk_provider::export_provider!(Plugin);
