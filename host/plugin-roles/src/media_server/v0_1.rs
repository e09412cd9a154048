//! Media server API 0.1: bindings of `wit/media-server@0.1.0`, and its calls in the words of `ports`. What a plugin answers is
//! untrusted: it is cut to the bounds of the contract.

use async_trait::async_trait;
use qm_plugin_host::role::{Code, Descriptor, State, Voice, one_line};
use qm_ports::media_server::{Extent, MediaServerError, PlaySession, ServerAbilities, ServerAbout};
use wasmtime::Store;
use wasmtime::component::{HasSelf, Linker};

use super::description::{self, PluginProduct};
use super::{Answer, ServerCode};
use crate::stateless;
use crate::vetted::is_id;

mod bindings {
    wasmtime::component::bindgen!({
        path: "../../wit/media-server@0.1.0",
        world: "media-server",
        imports: { default: async | trappable },
        exports: { default: async },
        // What all roles share is bound once.
        with: { "quartermaster:base": qm_plugin_host::imports::wit },
    });
}

use bindings::quartermaster::media_server::playing as wit;
use bindings::{MediaServer, MediaServerPre};

/// The most of an error's text or a name that leaves the plugin. Bytes.
const TEXT: usize = 1 << 10;
/// The most of an id of the product's; what is longer is none. Bytes.
const ID: usize = 256;
/// The most of a picture's path; what is longer is none. Bytes.
const PATH: usize = 2 << 10;
/// The most sessions of an answer; the WIT says so.
const SESSIONS: usize = 500;
/// The most ids of what is played.
const EXTERNAL_IDS: usize = 16;

impl wit::Host for State {}

pub(super) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    wit::add_to_linker::<_, HasSelf<State>>(linker, |state| state)
}

stateless::declare_adapter!(MediaServerPre => MediaServer);

#[async_trait]
impl Code for Adapter {
    async fn describe(&self, mut store: Store<State>) -> wasmtime::Result<Descriptor> {
        let world = self.world(&mut store).await?;
        let server = world.quartermaster_media_server_server();
        let said = server.call_describe(&mut store).await?;
        let told = PluginProduct::new(
            said.platform,
            abilities(said.abilities),
            &said.about.config_schema,
        );
        Ok(Descriptor::new(said.about, description::traits(&told)))
    }
}

#[async_trait]
impl ServerCode for Adapter {
    async fn test(&self, store: &mut Store<State>, config: &str) -> Answer<ServerAbout> {
        let world = self.world(store).await?;
        let server = world.quartermaster_media_server_server();
        let answer = server.call_test(&mut *store, config).await?;
        let voice = store.data().voice();
        Ok(answer
            .map(|given| ServerAbout {
                name: name(given.name, voice),
                version: name(given.version, voice),
            })
            .map_err(|given| error(given, voice)))
    }

    async fn refresh(&self, store: &mut Store<State>, config: &str, extent: Extent) -> Answer<()> {
        let world = self.world(store).await?;
        let server = world.quartermaster_media_server_server();
        let extent = wit::Extent {
            library: extent.library,
            path: extent.path,
            extra: Vec::new(),
        };
        let answer = server.call_refresh(&mut *store, config, &extent).await?;
        Ok(answer.map_err(|given| error(given, store.data().voice())))
    }

    async fn sessions(&self, store: &mut Store<State>, config: &str) -> Answer<Vec<PlaySession>> {
        let world = self.world(store).await?;
        let server = world.quartermaster_media_server_server();
        let answer = server.call_sessions(&mut *store, config).await?;
        let voice = store.data().voice();
        let read = |given: Vec<wit::Session>| {
            let all = given.into_iter().take(SESSIONS);
            all.filter_map(|given| session(given, voice)).collect()
        };
        Ok(answer.map(read).map_err(|given| error(given, voice)))
    }

    async fn terminate(
        &self,
        store: &mut Store<State>,
        config: &str,
        session: &str,
        message: Option<String>,
    ) -> Answer<()> {
        let world = self.world(store).await?;
        let server = world.quartermaster_media_server_server();
        let answer = server
            .call_terminate(&mut *store, config, session, message.as_deref())
            .await?;
        Ok(answer.map_err(|given| error(given, store.data().voice())))
    }
}

fn abilities(said: wit::Abilities) -> ServerAbilities {
    let has = |flag| said.contains(flag);
    ServerAbilities {
        libraries: has(wit::Abilities::LIBRARIES),
        recently_added: has(wit::Abilities::RECENTLY_ADDED),
        sessions: has(wit::Abilities::SESSIONS),
        watch_history: has(wit::Abilities::WATCH_HISTORY),
        refresh: has(wit::Abilities::REFRESH),
        terminate_sessions: has(wit::Abilities::TERMINATE_SESSIONS),
        refresh_library: has(wit::Abilities::REFRESH_LIBRARY),
        refresh_path: has(wit::Abilities::REFRESH_PATH),
    }
}

/// One line that says something, without a secret of the configuration.
fn name(text: Option<String>, voice: &Voice) -> Option<String> {
    let text = voice.blot(one_line(&text?, TEXT).trim().to_owned());
    (!text.is_empty()).then_some(text)
}

/// A key that is repeated to the product byte for byte.
fn key(text: String) -> Option<String> {
    let sound = (1..=ID).contains(&text.len()) && !text.contains(char::is_control);
    sound.then_some(text)
}

/// A path below the base URL: no other origin, and no secret in it.
fn path(text: Option<String>, voice: &Voice) -> Option<String> {
    let text = text?;
    let sound = text.len() <= PATH
        && text.starts_with('/')
        && !text.starts_with("//")
        && !text.contains(|c: char| c.is_control() || c == '\\')
        && voice.blot(text.clone()) == text;
    sound.then_some(text)
}

fn session(given: wit::Session, voice: &Voice) -> Option<PlaySession> {
    let name = |text| name(text, voice);
    let ids = given.external_ids.into_iter().take(EXTERNAL_IDS);
    let ids =
        ids.filter_map(|given| Some((Some(given.source).filter(|source| is_id(source))?, key(given.id)?)));
    Some(PlaySession {
        id: key(given.id)?,
        user_id: given.user_id.and_then(key),
        user_name: name(given.user_name),
        title: name(Some(given.title))?,
        show_title: name(given.show_title),
        episode_title: name(given.episode_title),
        season: given.season,
        episode: given.episode,
        year: given.year,
        media_type: name(given.media_type),
        library_name: name(given.library_name),
        device: name(given.device),
        client: name(given.client),
        ip_address: name(given.ip_address),
        playback_state: name(given.playback_state),
        progress_percent: given.progress_percent.map(|percent| percent.min(100)),
        playback_method: name(given.playback_method),
        video_codec: name(given.video_codec),
        audio_codec: name(given.audio_codec),
        resolution: name(given.resolution),
        dynamic_range: name(given.dynamic_range),
        container: name(given.container),
        bitrate: given.bitrate,
        art_path: path(given.art_path, voice),
        external_ids: ids.collect(),
    })
}

/// An error as the plugin words it, without the secrets it was given.
fn error(error: wit::ServerError, voice: &Voice) -> MediaServerError {
    use MediaServerError as E;
    use wit::ServerError as W;
    let text = |text: String| voice.blot(one_line(&text, TEXT).trim().to_owned());
    match error {
        W::Unreachable(why) => E::Unreachable(text(why)),
        W::Timeout(why) => E::Timeout(text(why)),
        W::Auth(why) => E::Auth(text(why)),
        W::Status(told) => E::Status {
            status: told.status,
            message: text(told.message),
        },
        W::Unparsable(why) => E::Unparsable(text(why)),
        W::TooLarge(why) => E::TooLarge(text(why)),
        W::Redirected(why) => E::Redirected(text(why)),
        W::InvalidConfig(why) => E::InvalidConfig(text(why)),
        W::Unsupported(why) => E::Unsupported(text(why)),
        W::Denied(why) => E::Denied(text(why)),
        W::Other((name, why)) => E::Unparsable(text(format!("{name}: {why}"))),
    }
}
