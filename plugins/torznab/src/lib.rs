//! The protocols Torznab and Newznab: two names of one way to ask, which torrent and usenet indexers and their aggregators
//! speak.

mod convert;
mod fetch;

use qm_metainfo::magnet::is_magnet;
use sdk_indexer::{
    Capabilities, Carrier, Config, Description, Descriptor, Found, Implementation, Indexer, IndexerError,
    Payload, PluginError, Query,
};
use torznab_core as core;

use crate::fetch::{Fetch, Landed};

/// Limit of a search result and of an indexer's capabilities, in bytes.
const MAX_DOCUMENT: u64 = 5 << 20;
/// Bytes of a .torrent file.
const MAX_TORRENT: u64 = 10 << 20;
/// Bytes of an answer that may be a magnet link.
const MAX_MAGNET: usize = 64 << 10;
/// Time limit on a call when the configuration names none, in milliseconds.
const TIMEOUT_MS: u64 = 15_000;

const SCHEMA: &str = r#"{
  "type": "object",
  "required": ["baseUrl"],
  "properties": {
    "baseUrl": {"type": "string", "title": "URL", "format": "uri", "x-grant": "http-url",
      "description": "Where the indexer is, without /api"},
    "apiKey": {"type": "string", "title": "API key", "writeOnly": true},
    "timeoutMs": {"type": "integer", "minimum": 1000, "maximum": 120000, "default": 15000}
  },
  "additionalProperties": false
}"#;

struct Torznab;

impl Indexer for Torznab {
    fn describe() -> Description {
        sdk_indexer::install_panic_hook();
        Description {
            about: Descriptor {
                id: "torznab".to_owned(),
                label: "Torznab and Newznab".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                config_schema: SCHEMA.to_owned(),
                capabilities: Vec::new(),
                hosts: Vec::new(),
                extra: Vec::new(),
            },
            implementations: vec![
                implementation("torznab", "Torznab", Carrier::Torrent),
                implementation("newznab", "Newznab", Carrier::Usenet),
            ],
            extra: Vec::new(),
        }
    }

    fn caps(implementation: String, config: String) -> Result<Capabilities, IndexerError> {
        let target = Target::read(&implementation, &config)?;
        let text = target.document(core::caps_params(), "a description of the indexer (<caps>)")?;
        let mut caps = core::caps(&text.0).map_err(convert::fault)?;
        caps.warnings.extend(text.1);
        Ok(convert::caps(caps))
    }

    fn search(implementation: String, config: String, query: Query) -> Result<Found, IndexerError> {
        let target = Target::read(&implementation, &config)?;
        let params = core::search_params(&convert::query(query));
        let text = target.document(params, "a feed")?;
        let mut found = core::feed(&text.0, Some(&target.endpoint)).map_err(convert::fault)?;
        found.warnings.extend(text.1);
        Ok(convert::found(found))
    }

    fn download(implementation: String, config: String, link: String) -> Result<Payload, IndexerError> {
        let target = Target::read(&implementation, &config)?;
        if core::Origin::parse(&link) != Some(target.origin) {
            return Ok(Payload::Elsewhere(link));
        }
        let fetch = Fetch::new(target.timeout_ms, MAX_TORRENT);
        let answer = match fetch.get(&link)? {
            Landed::Answer(answer) => answer,
            Landed::Away(url) if is_magnet(&url) => return Ok(Payload::Magnet(url)),
            Landed::Away(url) => return Ok(Payload::Elsewhere(url)),
        };
        if (200..300).contains(&answer.status) {
            if answer.body.first() == Some(&b'd') {
                return Ok(Payload::Torrent(answer.body));
            }
            let text = String::from_utf8_lossy(answer.body.get(..MAX_MAGNET).unwrap_or(&answer.body));
            let text = text.trim_start_matches('\u{feff}').trim();
            if is_magnet(text) && answer.body.len() < MAX_MAGNET {
                return Ok(Payload::Magnet(text.to_owned()));
            }
        }
        let (text, _) = answer.document("a .torrent file")?;
        // Some answer what went wrong in their protocol, and everything else is no file either.
        Err(match core::feed(&text, None) {
            Err(fault @ (core::Fault::Api { .. } | core::Fault::Auth(_) | core::Fault::Throttled { .. })) => {
                convert::fault(fault)
            }
            _ => IndexerError::Unparsable("answered something else than a .torrent file".to_owned()),
        })
    }
}

fn implementation(id: &str, label: &str, carrier: Carrier) -> Implementation {
    Implementation {
        id: id.to_owned(),
        label: label.to_owned(),
        carrier,
        config_schema: SCHEMA.to_owned(),
        capabilities: Vec::new(),
        extra: Vec::new(),
    }
}

/// An indexer that is asked.
struct Target {
    endpoint: String,
    origin: core::Origin,
    key: Option<String>,
    timeout_ms: u64,
}

impl Target {
    fn read(implementation: &str, config: &str) -> Result<Self, IndexerError> {
        sdk_indexer::install_panic_hook();
        if !matches!(implementation, "torznab" | "newznab") {
            return Err(IndexerError::Unsupported(format!(
                "speaks no protocol `{implementation}`"
            )));
        }
        let invalid = |error: PluginError| match error {
            PluginError::InvalidConfig(why) => IndexerError::InvalidConfig(why),
            other => IndexerError::InvalidConfig(format!("{other:?}")),
        };
        let config = Config::parse(config).map_err(invalid)?;
        let base = config.text("baseUrl");
        let base = base.ok_or_else(|| IndexerError::InvalidConfig("`baseUrl` is missing".to_owned()))?;
        let origin = core::Origin::parse(base).ok_or_else(|| {
            IndexerError::InvalidConfig(
                "`baseUrl` must be a URL like http://host:port/path, without a user name".to_owned(),
            )
        })?;
        let timeout = config.number("timeoutMs").map_err(invalid)?;
        Ok(Self {
            endpoint: core::endpoint(base),
            origin,
            key: config.text("apiKey").map(str::to_owned),
            timeout_ms: timeout.unwrap_or(TIMEOUT_MS).clamp(1000, 120_000),
        })
    }

    /// Document for these parameters, with a warning about its encoding.
    fn document(
        &self,
        params: Vec<(&'static str, String)>,
        expected: &str,
    ) -> Result<(String, Option<String>), IndexerError> {
        let key = self.key.clone().map(|key| ("apikey", key));
        let params: Vec<_> = key.into_iter().chain(params).collect();
        let url = core::with_params(&self.endpoint, &params);
        match Fetch::new(self.timeout_ms, MAX_DOCUMENT).get(&url)? {
            Landed::Answer(answer) => answer.document(expected),
            Landed::Away(url) => Err(IndexerError::Redirected(format!(
                "redirects to {}: if that is the indexer, enter it as its base URL",
                core::host_of(&url)
            ))),
        }
    }
}

sdk_indexer::export_indexer!(Torznab);
