//! The import `media` of API 0.1, over [`qm_plugin_host::imports::media`].

use qm_plugin_host::imports::media::{Chore, items, libraries, run, servers};
use qm_plugin_host::imports::wit::common::PluginError;
use qm_plugin_host::role::State;
use qm_ports::action::{MediaPlace, MediaPlayer};
use qm_ports::library::Owned;
use wasmtime::Result;

use super::answered;
use super::shelves::{Host, Item, Library, Server};

fn library(place: MediaPlace) -> Library {
    Library {
        id: place.id,
        name: place.name,
        kind: place.kind,
        path: place.path,
        enabled: place.is_enabled,
        extra: Vec::new(),
    }
}

fn server(player: MediaPlayer) -> Server {
    Server {
        id: player.id,
        name: player.name,
        kind: player.kind,
        enabled: player.is_enabled,
        extra: Vec::new(),
    }
}

fn item(owned: Owned) -> Item {
    // A number that no file has is none.
    let number = |number: Option<i64>| number.and_then(|number| u32::try_from(number).ok());
    Item {
        id: owned.item_id,
        library_id: owned.library_id,
        media_type: owned.media_type,
        title: owned.title,
        year: number(owned.year),
        season: number(owned.season),
        episode: number(owned.episode),
        episode_end: number(owned.episode_end),
        known: owned.is_known,
        path: owned.path,
        size: u64::try_from(owned.size).unwrap_or_default(),
        quality: owned.quality,
        resolution: owned.resolution,
        video_codec: owned.video_codec,
        audio_codec: owned.audio_codec,
        hdr: owned.hdr,
        release_group: owned.release_group,
        extra: Vec::new(),
    }
}

fn all<T, W>(found: Vec<T>, word: fn(T) -> W) -> Vec<W> {
    found.into_iter().map(word).collect()
}

async fn chore(state: &mut State, chore: Chore, id: String) -> Result<Result<(), PluginError>> {
    Ok(run(state, chore, id).await?.map_err(answered))
}

impl Host for State {
    async fn libraries(&mut self) -> Result<Result<Vec<Library>, PluginError>> {
        let found = libraries(self).await?;
        Ok(found.map(|found| all(found, library)).map_err(answered))
    }

    async fn servers(&mut self) -> Result<Result<Vec<Server>, PluginError>> {
        let found = servers(self).await?;
        Ok(found.map(|found| all(found, server)).map_err(answered))
    }

    async fn items(&mut self, after: Option<String>) -> Result<Result<Vec<Item>, PluginError>> {
        let found = items(self, after).await?;
        Ok(found.map(|found| all(found, item)).map_err(answered))
    }

    async fn scan(&mut self, library: String) -> Result<Result<(), PluginError>> {
        chore(self, Chore::Scan, library).await
    }

    async fn identify(&mut self, item: String) -> Result<Result<(), PluginError>> {
        chore(self, Chore::Identify, item).await
    }

    async fn fetch_metadata(&mut self, item: String) -> Result<Result<(), PluginError>> {
        chore(self, Chore::FetchMetadata, item).await
    }

    async fn refresh(&mut self, server: String) -> Result<Result<(), PluginError>> {
        chore(self, Chore::Refresh, server).await
    }
}
