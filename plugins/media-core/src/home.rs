//! Jellyfin and Emby, which are spoken to alike: JSON, with an API key in a header.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::access::{Access, secret};
use crate::answer::{Answer, Net, Request};
use crate::json::{address, id, list, number, percent, source, text, titled};
use crate::model::{Abilities, About, Extent, Fault, Playing, Product};

/// Time for which a message stays on the screen, in milliseconds.
const MESSAGE_MS: u32 = 5000;
/// Containers that a list of them stands for, the first that it names.
const CONTAINERS: [(&str, &str); 8] = [
    ("mp4", "mp4"),
    ("mkv", "mkv"),
    ("matroska", "mkv"),
    ("webm", "webm"),
    ("avi", "avi"),
    ("mov", "mov"),
    ("mpegts", "mpegts"),
    ("flv", "flv"),
];

/// Jellyfin or Emby.
pub struct Home {
    id: &'static str,
    name: &'static str,
    /// Jellyfin takes `Authorization: MediaBrowser` only, unless the older header was switched on again.
    authorizes: bool,
}

impl Home {
    pub const JELLYFIN: Self = Self {
        id: "jellyfin",
        name: "Jellyfin",
        authorizes: true,
    };
    pub const EMBY: Self = Self {
        id: "emby",
        name: "Emby",
        authorizes: false,
    };

    fn send(&self, access: &Access, net: &dyn Net, request: Request) -> Result<Answer, Fault> {
        let key = key(access)?;
        let mut request = request.header("X-Emby-Token", key);
        if self.authorizes {
            request = request.header("Authorization", format!("MediaBrowser Token=\"{key}\""));
        }
        net.ask(request)
    }

    fn get(&self, access: &Access, net: &dyn Net, path: &str) -> Result<Value, Fault> {
        let answer = self.send(access, net, Request::get(access.url(path)))?;
        answer.good(self.name)?.json(self.name)
    }
}

fn key(access: &Access) -> Result<&str, Fault> {
    secret(access.api_key.as_deref(), "API key is required.")
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

impl Product for Home {
    fn id(&self) -> &'static str {
        self.id
    }

    fn label(&self) -> &'static str {
        self.name
    }

    fn platform(&self) -> &'static str {
        self.name
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            libraries: true,
            recently_added: true,
            sessions: true,
            watch_history: true,
            refresh: true,
            terminate_sessions: true,
            refresh_library: true,
            refresh_path: true,
        }
    }

    fn schema(&self) -> &'static str {
        r#"{
  "type": "object",
  "properties": {
    "baseUrl": {"type": "string", "title": "URL", "format": "uri", "x-grant": "http-url", "description": "E.g. http://server:8096"},
    "apiKey": {"type": "string", "title": "API key", "writeOnly": true},
    "timeoutMs": {"type": "integer"}
  }
}"#
    }

    fn check(&self, access: &Access) -> Result<(), Fault> {
        key(access).map(|_| ())
    }

    fn test(&self, access: &Access, net: &dyn Net) -> Result<About, Fault> {
        let info = self.get(access, net, "/System/Info/Public")?;
        let about = About {
            name: text(&info, "ServerName"),
            version: text(&info, "Version"),
        };
        if about == About::default() {
            let why = format!("answered JSON that is not {}'s: it has no version", self.name);
            return Err(Fault::Unparsable(why));
        }
        // It answers whoever asks; the libraries prove the key.
        self.send(access, net, Request::get(access.url("/Library/VirtualFolders")))?
            .good(self.name)?;
        Ok(about)
    }

    fn refresh(&self, access: &Access, extent: &Extent, net: &dyn Net) -> Result<(), Fault> {
        let request = match (&extent.path, &extent.library) {
            (Some(path), _) => Request::post(access.url("/Library/Media/Updated"))
                .json(json!({ "Updates": [{ "Path": path, "UpdateType": "Modified" }] })),
            (None, Some(library)) => Request::post(access.url(&format!(
                "/Items/{}/Refresh?Recursive=true&MetadataRefreshMode=Default&ImageRefreshMode=Default",
                encoded(library)
            ))),
            (None, None) => Request::post(access.url("/Library/Refresh")),
        };
        self.send(access, net, request)?.good(self.name).map(|_| ())
    }

    fn sessions(&self, access: &Access, net: &dyn Net) -> Result<Vec<Playing>, Fault> {
        let all = self.get(access, net, "/Sessions")?;
        let all = all.as_array().ok_or_else(|| {
            Fault::Unparsable(format!(
                "answered JSON that is not {}'s: no list of sessions",
                self.name
            ))
        })?;
        Ok(all.iter().filter_map(playing).collect())
    }

    fn terminate(
        &self,
        access: &Access,
        session: &str,
        message: Option<&str>,
        net: &dyn Net,
    ) -> Result<(), Fault> {
        let path = |what: &str| access.url(&format!("/Sessions/{}/{what}", encoded(session)));
        if let Some(message) = message {
            let body = json!({ "Text": message, "Header": "Quartermaster", "TimeoutMs": MESSAGE_MS });
            // Not every client shows one, and the session ends all the same.
            let _ = self.send(access, net, Request::post(path("Message")).json(body));
        }
        self.send(access, net, Request::post(path("Playing/Stop")))?
            .ended("Session stop")
    }
}

fn playing(session: &Value) -> Option<Playing> {
    let item = session.get("NowPlayingItem").filter(|item| item.is_object())?;
    let none = Value::Null;
    let play = session.get("PlayState").unwrap_or(&none);
    let (show, own) = (text(item, "SeriesName"), text(item, "Name"));
    let stream = |kind: &str| {
        let mut all = list(item, "MediaStreams").iter();
        all.find(|stream| stream.get("Type").and_then(Value::as_str) == Some(kind))
            .unwrap_or(&none)
    };
    let (video, audio) = (stream("Video"), stream("Audio"));
    let lower = |text: String| text.to_ascii_lowercase();
    let paused = play.get("IsPaused").and_then(Value::as_bool) == Some(true);
    let ids = item.get("ProviderIds").and_then(Value::as_object);
    let ids = ids.into_iter().flatten();
    let ids = ids.filter_map(|(product, id)| Some((source(product)?, id.as_str()?.to_owned())));
    Some(Playing {
        id: id(session, "Id")?,
        user_id: id(session, "UserId"),
        user_name: text(session, "UserName"),
        title: titled(show.as_deref(), own.as_deref()),
        episode_title: show.is_some().then_some(own).flatten(),
        show_title: show,
        season: number(item, "ParentIndexNumber"),
        episode: number(item, "IndexNumber"),
        year: number(item, "ProductionYear"),
        media_type: text(item, "Type").map(lower),
        library_name: None,
        device: text(session, "DeviceName"),
        client: text(session, "Client"),
        ip_address: text(session, "RemoteEndPoint").map(address),
        playback_state: Some(if paused { "paused" } else { "playing" }.to_owned()),
        progress_percent: percent(item, play, ("PositionTicks", "RunTimeTicks")),
        playback_method: text(play, "PlayMethod").map(lower),
        video_codec: text(video, "Codec"),
        audio_codec: text(audio, "Codec"),
        resolution: number(video, "Height").map(|lines| format!("{lines}p")),
        dynamic_range: text(video, "VideoRange"),
        container: text(item, "Container").map(|text| container(&text)),
        bitrate: number(video, "BitRate").map(|bits| (bits + 500) / 1000),
        art_path: art(item),
        external_ids: ids.collect(),
    })
}

/// One container; some products answer all that a file could be.
fn container(text: &str) -> String {
    let all: Vec<_> = text
        .split(',')
        .map(|one| one.trim().to_ascii_lowercase())
        .collect();
    let known = CONTAINERS
        .iter()
        .find(|(name, _)| all.iter().any(|one| one == name));
    match known {
        Some((_, short)) => (*short).to_owned(),
        None => all.into_iter().next().unwrap_or_default(),
    }
}

fn art(item: &Value) -> Option<String> {
    let of = id(item, "SeriesId").or_else(|| id(item, "Id"))?;
    let tag = text(item, "SeriesPrimaryImageTag").or_else(|| text(item.get("ImageTags")?, "Primary"))?;
    Some(format!(
        "/Items/{}/Images/Primary?tag={}",
        encoded(&of),
        encoded(&tag)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_are_one() {
        for (given, expected) in [
            ("matroska", "mkv"),
            ("mov,mp4,m4a", "mp4"),
            ("OGG,oga", "ogg"),
            ("mkv", "mkv"),
        ] {
            assert_eq!(container(given), expected);
        }
    }
}
