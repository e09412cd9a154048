//! A session of engine API 0.2, alive in its own store.

use async_trait::async_trait;
use qm_plugin_host::imports::wit::common::PluginError;
use qm_plugin_host::role::Resident;
use qm_plugin_host::role::State;
use qm_ports::engine::*;
use wasmtime::Store;
use wasmtime::component::ResourceAny;

use super::bindings::EngineProvider;
use super::convert;
use super::wit;
use crate::engine::{Answer, Calls, More, MoreAnswer};
use crate::engine::{errors, sanitize};

/// Calls a method of the session. One expression: the call's future borrows what the accessors return.
macro_rules! call {
    ($live:ident . $method:ident ( $($argument:expr),* )) => {
        $live
            .world
            .quartermaster_engine_engine()
            .session()
            .$method(&mut $live.store, $live.handle $(, $argument)*)
            .await
    };
}
/// Store, world and the exported resource.
pub(super) struct Live {
    store: Store<State>,
    world: EngineProvider,
    handle: ResourceAny,
    /// The cursor this session gave last. Another one means nothing to it, whatever it may think.
    cursor: Option<u64>,
    /// Bad rows are reported once a session.
    told: bool,
}

impl Live {
    pub(super) fn new(store: Store<State>, world: EngineProvider, handle: ResourceAny) -> Self {
        Self {
            store,
            world,
            handle,
            cursor: None,
            told: false,
        }
    }

    fn word<T, U>(
        &self,
        answer: Result<T, PluginError>,
        convert: impl FnOnce(T) -> U,
    ) -> Result<U, EngineError> {
        answer
            .map(convert)
            .map_err(|error| errors::read(error, self.store.data().voice()))
    }

    fn take(&mut self, asked: Option<u64>, given: wit::Delta) -> Result<Delta, EngineError> {
        if asked.is_none() && !given.full {
            return Err(EngineError::Protocol(
                "the plugin gave a part when it was asked for everything".to_owned(),
            ));
        }
        let (delta, dropped) = convert::delta(given, self.store.data().now());
        if dropped > 0 && !std::mem::replace(&mut self.told, true) {
            let text = format!(
                "{dropped} torrents without a proper info-hash (40 lower-case hex digits) were dropped"
            );
            self.store.data().voice().say(tracing::Level::WARN, &text);
        }
        self.cursor = Some(delta.cursor);
        Ok(delta)
    }

    async fn run_command(&mut self, hashes: &[String], command: &wit::Command) -> Answer<Vec<Outcome>> {
        let answer = call!(self.call_run(hashes, command))?;
        Ok(self.word(answer, |given| {
            convert::outcomes(hashes, given, self.store.data().voice())
        }))
    }
}

#[async_trait]
impl Resident for Live {
    type Error = EngineError;

    fn state(&mut self) -> &mut State {
        self.store.data_mut()
    }

    async fn close(&mut self) -> wasmtime::Result<()> {
        self.handle.resource_drop_async(&mut self.store).await
    }
}

#[async_trait]
impl Calls for Live {
    async fn health(&mut self) -> Answer<Health> {
        let answer = call!(self.call_health())?;
        Ok(self.word(answer, convert::health))
    }

    async fn poll(&mut self, cursor: Option<u64>, attention: Attention, fresh: Vec<String>) -> Answer<Delta> {
        let cursor = cursor.filter(|&cursor| self.cursor == Some(cursor));
        let attention = convert::attention(attention);
        let answer = call!(self.call_poll(cursor, attention, &fresh))?;
        let given = self.word(answer, |given| given);
        Ok(given.and_then(|given| self.take(cursor, given)))
    }

    async fn get(&mut self, hash: String) -> Answer<Option<Torrent>> {
        let answer = call!(self.call_get(&hash))?;
        let now = self.store.data().now();
        let one = |given: Option<wit::Torrent>| given.map(|given| convert::torrent(given, now));
        Ok(self.word(answer, |given| sanitize::torrent(one(given))))
    }

    async fn files(&mut self, hash: String) -> Answer<Vec<File>> {
        let answer = call!(self.call_files(&hash))?;
        Ok(self.word(answer, convert::files))
    }

    async fn peers(&mut self, hash: String) -> Answer<Vec<Peer>> {
        let answer = call!(self.call_peers(&hash))?;
        Ok(self.word(answer, convert::peers))
    }

    async fn trackers(&mut self, hash: String) -> Answer<Vec<Tracker>> {
        let answer = call!(self.call_trackers(&hash))?;
        Ok(self.word(answer, convert::trackers))
    }

    async fn add(&mut self, request: AddRequest) -> Answer<()> {
        let request = convert::add_request(request);
        let answer = call!(self.call_add(&request))?;
        Ok(self.word(answer, |()| ()))
    }

    async fn run(&mut self, hashes: Vec<String>, command: Command) -> Answer<Vec<Outcome>> {
        self.run_command(&hashes, &convert::command(command)).await
    }

    async fn run_other(&mut self, hashes: Vec<String>, name: &str, arguments: &str) -> Answer<Vec<Outcome>> {
        let command = wit::Command::Other((name.to_owned(), arguments.to_owned()));
        self.run_command(&hashes, &command).await
    }

    async fn session_stats(&mut self) -> Answer<SessionStats> {
        let answer = call!(self.call_session_stats())?;
        Ok(self.word(answer, convert::session_stats))
    }

    async fn all_time(&mut self) -> Answer<Option<Transfer>> {
        let answer = call!(self.call_all_time())?;
        Ok(self.word(answer, |given| given.map(convert::transfer)))
    }

    async fn rate_limits(&mut self, mode: RateMode) -> Answer<RateLimits> {
        let answer = call!(self.call_get_rate_limits(convert::mode_for_plugin(mode)))?;
        Ok(self.word(answer, convert::rate_limits))
    }

    async fn set_rate_limits(&mut self, mode: RateMode, limits: RateLimits) -> Answer<()> {
        let limits = wit::RateLimits {
            download: limits.download,
            upload: limits.upload,
        };
        let answer = call!(self.call_set_rate_limits(convert::mode_for_plugin(mode), limits))?;
        Ok(self.word(answer, |()| ()))
    }

    async fn ask_more(&mut self, question: More) -> Answer<MoreAnswer> {
        use MoreAnswer as A;
        let done = match question {
            More::Export(hash) => {
                let answer = call!(self.call_export_metainfo(&hash))?;
                let bytes = self.word(answer, |bytes| bytes);
                return Ok(bytes.and_then(convert::metainfo).map(A::Bytes));
            }
            More::RateMode => {
                let answer = call!(self.call_get_rate_mode())?;
                return Ok(self.word(answer, |mode| A::RateMode(convert::rate_mode(mode))));
            }
            More::Categories => {
                let answer = call!(self.call_list_categories())?;
                let voice = self.store.data().voice();
                return Ok(self.word(answer, |given| A::Categories(convert::categories(given, voice))));
            }
            More::Tags => {
                let answer = call!(self.call_list_tags())?;
                let voice = self.store.data().voice();
                return Ok(self.word(answer, |given| A::Texts(convert::tags(given, voice))));
            }
            More::BannedPeers => {
                let answer = call!(self.call_get_banned_peers())?;
                let given = self.word(answer, |given| given);
                return Ok(given.and_then(convert::addresses).map(A::Texts));
            }
            More::PreferencesSchema => {
                let answer = call!(self.call_preferences_schema())?;
                let text = self.word(answer, |text| text);
                return Ok(text.and_then(|text| convert::object(&text)).map(A::Object));
            }
            More::Preferences => {
                let answer = call!(self.call_get_preferences())?;
                let text = self.word(answer, |text| text);
                return Ok(text.and_then(|text| convert::object(&text)).map(A::Object));
            }
            More::SetRateMode(mode) => call!(self.call_set_rate_mode(convert::mode_for_plugin(mode)))?,
            More::CreateCategory(category) => {
                let category = convert::category_for_plugin(category);
                call!(self.call_create_category(&category))?
            }
            More::EditCategory(category) => {
                let category = convert::category_for_plugin(category);
                call!(self.call_edit_category(&category))?
            }
            More::RemoveCategories(names) => call!(self.call_remove_categories(&names))?,
            More::CreateTags(tags) => call!(self.call_create_tags(&tags))?,
            More::DeleteTags(tags) => call!(self.call_delete_tags(&tags))?,
            More::SetPreferences(changes) => {
                let changes = serde_json::Value::Object(changes).to_string();
                call!(self.call_set_preferences(&changes))?
            }
            More::SetBannedPeers(addresses) => match convert::addresses_for_plugin(addresses) {
                Ok(addresses) => call!(self.call_set_banned_peers(&addresses))?,
                Err(error) => return Ok(Err(error)),
            },
        };
        Ok(self.word(done, |()| A::Done))
    }
}
