//! Indexer API 0.1: bindings of `wit/indexer@0.1.0` and the way from them to the words of `ports`.

use async_trait::async_trait;
use qm_plugin_host::role::{Code, Descriptor, State, Voice, one_line};
use qm_ports::indexer::{
    Caps, CapsCategory, CapsLimits, CapsServer, Found, IndexerError, Payload, Query, Release,
};
use serde_json::Value;
use wasmtime::Store;
use wasmtime::component::{HasSelf, Linker};

use super::description::{self, PluginProtocol};
use super::{Answer, IndexerCode};
use crate::stateless;

mod bindings {
    wasmtime::component::bindgen!({
        path: "../../wit/indexer@0.1.0",
        world: "indexer-protocol",
        imports: { default: async | trappable },
        exports: { default: async },
        // What all roles share is bound once.
        with: { "quartermaster:base": qm_plugin_host::imports::wit },
    });
}

use bindings::quartermaster::indexer::releases as wit;
use bindings::{IndexerProtocol, IndexerProtocolPre};

/// The most of an error's text, a name or a warning that leaves the plugin. Bytes.
const TEXT: usize = 1 << 10;
/// The most of a URL; what is longer is none.
const URL: usize = 16 << 10;
/// The most releases of an answer; the WIT says so.
const RELEASES: usize = 10_000;
const WARNINGS: usize = 16;
const CATEGORIES: usize = 1000;
/// The most attributes of a release, and the bytes of each; the WIT says so.
const EXTRA: usize = 32;
const EXTRA_TEXT: usize = 256;
/// The most of a .torrent file; the WIT says so.
const TORRENT: usize = 10 << 20;

impl wit::Host for State {}

pub(super) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    wit::add_to_linker::<_, HasSelf<State>>(linker, |state| state)
}

stateless::declare_adapter!(IndexerProtocolPre => IndexerProtocol);

#[async_trait]
impl Code for Adapter {
    async fn describe(&self, mut store: Store<State>) -> wasmtime::Result<Descriptor> {
        let world = self.world(&mut store).await?;
        let said = world
            .quartermaster_indexer_indexer()
            .call_describe(&mut store)
            .await?;
        let told: Vec<PluginProtocol> = said.implementations.into_iter().map(told_of).collect();
        Ok(Descriptor::new(said.about, description::traits(&told)))
    }
}

#[async_trait]
impl IndexerCode for Adapter {
    async fn caps(&self, store: &mut Store<State>, protocol: &str, config: &str) -> Answer<Caps> {
        let world = self.world(store).await?;
        let answer = world
            .quartermaster_indexer_indexer()
            .call_caps(&mut *store, protocol, config)
            .await?;
        let voice = store.data().voice();
        Ok(answer
            .map(|given| caps(given, voice))
            .map_err(|given| error(given, voice)))
    }

    async fn search(
        &self,
        store: &mut Store<State>,
        protocol: &str,
        config: &str,
        query: Query,
    ) -> Answer<Found> {
        let world = self.world(store).await?;
        let query = wit::Query {
            term: query.term,
            season: query.season,
            episode: query.episode,
            categories: query.categories,
            tv_search: query.tv_search,
            extra: Vec::new(),
        };
        let answer = world
            .quartermaster_indexer_indexer()
            .call_search(&mut *store, protocol, config, &query)
            .await?;
        let voice = store.data().voice();
        Ok(answer
            .map(|given| found(given, voice))
            .map_err(|given| error(given, voice)))
    }

    async fn download(
        &self,
        store: &mut Store<State>,
        protocol: &str,
        config: &str,
        link: &str,
    ) -> Answer<Payload> {
        let world = self.world(store).await?;
        let answer = world
            .quartermaster_indexer_indexer()
            .call_download(&mut *store, protocol, config, link)
            .await?;
        let voice = store.data().voice();
        Ok(answer.map_err(|given| error(given, voice)).and_then(payload))
    }
}

fn told_of(said: wit::Implementation) -> PluginProtocol {
    PluginProtocol {
        config_schema: description::schema(&said.id, &said.config_schema).unwrap_or_else(Value::String),
        id: said.id,
        label: said.label,
        carrier: match said.carrier {
            wit::Carrier::Torrent => "torrent",
            wit::Carrier::Usenet => "usenet",
        }
        .to_owned(),
        capabilities: said.capabilities,
    }
}

fn line(text: &str) -> String {
    one_line(text, TEXT).trim().to_owned()
}

fn caps(given: wit::Capabilities, voice: &Voice) -> Caps {
    let category = |category: wit::Category| CapsCategory {
        id: category.id,
        name: line(&category.name),
    };
    let params = given.supported_params.iter().take(CATEGORIES);
    Caps {
        server: given.server.map(|server| CapsServer {
            title: server.title.map(|title| line(&title)),
        }),
        tv_search: given.tv_search,
        movie_search: given.movie_search,
        supported_params: params.map(|param| line(param)).collect(),
        categories: given
            .categories
            .into_iter()
            .take(CATEGORIES)
            .map(category)
            .collect(),
        limits: given.limits.map(|limits| CapsLimits {
            default: limits.default,
            max: limits.max,
        }),
        warnings: warnings(&given.warnings, voice),
    }
}

fn warnings(given: &[String], voice: &Voice) -> Vec<String> {
    let lines = given.iter().take(WARNINGS);
    lines.map(|text| voice.blot(line(text))).collect()
}

fn found(given: wit::Found, voice: &Voice) -> Found {
    Found {
        warnings: warnings(&given.warnings, voice),
        releases: given.releases.into_iter().take(RELEASES).map(release).collect(),
    }
}

/// A release as the rest of the server may store and show it. Its links stay whole: an aggregator's hold what it needs.
fn release(given: wit::Release) -> Release {
    Release {
        title: line(&given.title),
        download_url: given.download_url.and_then(url),
        info_hash: given.info_hash.and_then(hash),
        size: given.size,
        seeders: given.seeders,
        peers: given.peers,
        grabs: given.grabs,
        categories: given.categories.into_iter().take(CATEGORIES).collect(),
        published: given.published,
        guid: given.guid.map(|guid| line(&guid)).filter(|guid| !guid.is_empty()),
        page: given.page.and_then(url),
        extra: given
            .extra
            .into_iter()
            .filter(|(name, value)| name.len() + value.len() <= EXTRA_TEXT)
            .take(EXTRA)
            .map(|(name, value)| (line(&name), line(&value)))
            .collect(),
    }
}

/// A URL that is one line and not endless.
fn url(text: String) -> Option<String> {
    let sound = !text.is_empty() && text.len() <= URL && !text.contains(char::is_control);
    sound.then_some(text)
}

fn hash(text: String) -> Option<String> {
    let sound = (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    sound.then(|| text.to_ascii_lowercase())
}

fn payload(given: wit::Payload) -> Result<Payload, IndexerError> {
    let sound = |text: String| {
        url(text).ok_or_else(|| IndexerError::Unparsable("answered a link that is none".to_owned()))
    };
    match given {
        wit::Payload::Torrent(bytes) if bytes.len() > TORRENT => Err(IndexerError::TooLarge(format!(
            "answered a file of more than {} MiB",
            TORRENT >> 20
        ))),
        wit::Payload::Torrent(bytes) => Ok(Payload::Torrent(bytes)),
        wit::Payload::Magnet(text) => Ok(Payload::Magnet(sound(text)?)),
        wit::Payload::Elsewhere(text) => Ok(Payload::Elsewhere(sound(text)?)),
    }
}

/// An error as the plugin words it, without the secrets it was given.
fn error(error: wit::IndexerError, voice: &Voice) -> IndexerError {
    use IndexerError as E;
    use wit::IndexerError as W;
    let text = |text: String| voice.blot(line(&text));
    match error {
        W::Unreachable(why) => E::Unreachable(text(why)),
        W::Timeout(why) => E::Timeout(text(why)),
        W::Auth(why) => E::Auth(text(why)),
        W::Throttled(throttle) => E::Throttled {
            seconds: throttle.seconds,
            message: text(throttle.message),
        },
        W::LoginPage(why) => E::LoginPage(text(why)),
        W::Captcha(why) => E::Captcha(text(why)),
        W::Unparsable(why) => E::Unparsable(text(why)),
        W::Api(told) => E::Api {
            code: text(told.code),
            description: text(told.description),
        },
        W::Status(told) => E::Status {
            status: told.status,
            message: text(told.message),
        },
        W::TooLarge(why) => E::TooLarge(text(why)),
        W::Redirected(why) => E::Redirected(text(why)),
        W::InvalidConfig(why) => E::InvalidConfig(text(why)),
        W::Unsupported(why) => E::Unsupported(text(why)),
        W::Denied(why) => E::Denied(text(why)),
        W::Other((name, why)) => E::Unparsable(text(format!("{name}: {why}"))),
    }
}
