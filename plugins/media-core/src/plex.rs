//! Plex Media Server: JSON, with the token of an account in `X-Plex-Token`.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::access::{Access, secret};
use crate::answer::{Answer, Net, Request};
use crate::json::{address, id, list, number, percent, source, text, titled};
use crate::model::{Abilities, About, Extent, Fault, Playing, Product};

const NAME: &str = "Plex";

/// Plex Media Server.
pub struct Plex;

fn token(access: &Access) -> Result<&str, Fault> {
    secret(access.token.as_deref(), "Plex token is required.")
}

fn send(access: &Access, net: &dyn Net, path: &str) -> Result<Answer, Fault> {
    net.ask(Request::get(access.url(path)).header("X-Plex-Token", token(access)?))
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

impl Product for Plex {
    fn id(&self) -> &'static str {
        "plex"
    }

    fn label(&self) -> &'static str {
        NAME
    }

    fn platform(&self) -> &'static str {
        "Plex Media Server"
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
    "baseUrl": {"type": "string", "title": "URL", "format": "uri", "x-grant": "http-url", "description": "E.g. http://plex:32400"},
    "token": {"type": "string", "title": "Plex token", "writeOnly": true},
    "librarySectionId": {"type": ["string", "integer"], "title": "Library that is refreshed", "description": "Empty: all"},
    "timeoutMs": {"type": "integer"}
  }
}"#
    }

    fn check(&self, access: &Access) -> Result<(), Fault> {
        token(access).map(|_| ())
    }

    fn test(&self, access: &Access, net: &dyn Net) -> Result<About, Fault> {
        let identity = send(access, net, "/identity")?.good(NAME)?.json(NAME)?;
        let container = identity.get("MediaContainer").ok_or_else(|| {
            Fault::Unparsable("answered JSON that is not Plex's: it has no MediaContainer".to_owned())
        })?;
        // It answers whoever asks; the libraries prove the token.
        send(access, net, "/library/sections")?.good(NAME)?;
        Ok(About {
            name: text(container, "friendlyName"),
            version: text(container, "version"),
        })
    }

    fn refresh(&self, access: &Access, extent: &Extent, net: &dyn Net) -> Result<(), Fault> {
        let library = extent.library.as_ref().or(access.section.as_ref());
        // A folder is looked for in one library; without one all of all is looked through.
        let path = match (library, &extent.path) {
            (Some(library), Some(path)) => format!(
                "/library/sections/{}/refresh?path={}",
                encoded(library),
                encoded(path)
            ),
            (Some(library), None) => format!("/library/sections/{}/refresh", encoded(library)),
            (None, _) => "/library/sections/all/refresh".to_owned(),
        };
        send(access, net, &path)?.good(NAME).map(|_| ())
    }

    fn sessions(&self, access: &Access, net: &dyn Net) -> Result<Vec<Playing>, Fault> {
        let all = send(access, net, "/status/sessions?includeGuids=1")?
            .good(NAME)?
            .json(NAME)?;
        let container = all.get("MediaContainer").ok_or_else(|| {
            Fault::Unparsable("answered JSON that is not Plex's: it has no MediaContainer".to_owned())
        })?;
        Ok(list(container, "Metadata").iter().filter_map(playing).collect())
    }

    fn terminate(
        &self,
        access: &Access,
        session: &str,
        message: Option<&str>,
        net: &dyn Net,
    ) -> Result<(), Fault> {
        let mut path = format!("/status/sessions/terminate?sessionId={}", encoded(session));
        if let Some(message) = message {
            path.push_str("&reason=");
            path.push_str(&encoded(message));
        }
        send(access, net, &path)?.ended("Plex terminate")
    }
}

fn playing(item: &Value) -> Option<Playing> {
    let none = Value::Null;
    let of = |name: &str| item.get(name).unwrap_or(&none);
    let first = |value: &Value, name: &str| list(value, name).first().cloned().unwrap_or_default();
    let media = first(item, "Media");
    let part = first(&media, "Part");
    let (show, own) = (text(item, "grandparentTitle"), text(item, "title"));
    let copies = |name| text(of("TranscodeSession"), name).as_deref() == Some("copy");
    let method = if copies("videoDecision") && copies("audioDecision") {
        Some("directstream".to_owned())
    } else {
        text(&part, "decision").map(|word| word.to_ascii_lowercase())
    };
    let ids = list(item, "Guid").iter().filter_map(|guid| {
        let guid = text(guid, "id")?;
        let (product, id) = guid.split_once("://")?;
        Some((source(product)?, id.to_owned()))
    });
    Some(Playing {
        id: id(of("Session"), "id")
            .or_else(|| id(item, "sessionKey"))
            .or_else(|| id(item, "ratingKey"))?,
        user_id: id(of("User"), "id"),
        user_name: text(of("User"), "title"),
        title: titled(show.as_deref(), own.as_deref()),
        episode_title: show.is_some().then_some(own).flatten(),
        show_title: show,
        season: number(item, "parentIndex"),
        episode: number(item, "index"),
        year: number(item, "year"),
        media_type: text(item, "type"),
        library_name: text(item, "librarySectionTitle"),
        device: text(of("Player"), "device"),
        client: text(of("Player"), "product"),
        ip_address: text(of("Player"), "address").map(address),
        playback_state: text(of("Player"), "state"),
        progress_percent: percent(item, item, ("viewOffset", "duration")),
        playback_method: method,
        video_codec: text(&media, "videoCodec"),
        audio_codec: text(&media, "audioCodec"),
        resolution: text(&media, "videoResolution"),
        dynamic_range: text(&media, "videoDynamicRange"),
        container: text(&part, "container").or_else(|| text(&media, "container")),
        bitrate: number(&media, "bitrate"),
        art_path: text(item, "grandparentThumb")
            .or_else(|| text(item, "thumb"))
            .or_else(|| text(item, "parentThumb")),
        external_ids: ids.collect(),
    })
}
