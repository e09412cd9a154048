//! Files that somebody watches now, as the media servers tell: these stay where they are.
//!
//! Media servers name what is played, not its file; so names are compared. One that does not answer names nothing.
//! Bounds: eight servers, five seconds each; an answer counts for half a minute.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use qm_lanes::IgnorePoison;
use qm_ports::media_server::PlaySession;

use super::Rename;

const MAX_SERVERS: usize = 8;
const PATIENCE: Duration = Duration::from_secs(5);
const COUNTS: Duration = Duration::from_secs(30);

/// Films and episodes that are played at a moment.
#[derive(Clone, Debug, Default)]
pub struct Playing(Arc<Vec<Played>>);

#[derive(Debug)]
struct Played {
    /// Key of the title of the show or film.
    title: String,
    season: Option<u32>,
    episode: Option<u32>,
    year: Option<u32>,
}

/// Last answer of the media servers, and when it came.
#[derive(Default)]
pub struct LastPlaying(Mutex<Option<(Instant, Playing)>>);

impl Playing {
    pub fn new(sessions: &[PlaySession]) -> Self {
        let played = sessions.iter().map(|session| Played {
            title: key(session.show_title.as_deref().unwrap_or(&session.title)),
            season: session.season,
            episode: session.episode,
            year: session.year,
        });
        Self(Arc::new(
            played.filter(|played| !played.title.is_empty()).collect(),
        ))
    }

    /// True if the name of a file says that it is played: the show with its season and episode, or the film with its year.
    pub fn holds(&self, path: &Path) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let read = qm_release::parse(&name);
        let Some(title) = read.title.as_deref().map(key) else {
            return false;
        };
        self.0.iter().any(|played| {
            let is_title = played.title == title;
            match (played.season, played.episode) {
                (Some(season), Some(episode)) => {
                    let is_in = read.episodes.contains(&episode) || read.episode == Some(episode);
                    is_title && read.season == Some(season) && is_in
                }
                _ => is_title && read.episode.is_none() && played.year.is_some() && played.year == read.year,
            }
        })
    }
}

/// Letters and digits of a title.
fn key(title: &str) -> String {
    let letters = title.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

impl Rename {
    /// Films and episodes that are played now.
    pub(super) async fn find_playing(&self) -> Playing {
        if let Some((at, playing)) = &*self.playing.0.lock().ignore_poison()
            && at.elapsed() < COUNTS
        {
            return playing.clone();
        }
        let mut sessions = Vec::new();
        let servers = self.servers.servers().await.unwrap_or_default();
        let asked = servers.iter().filter(|server| {
            server.is_enabled && server.abilities.sessions && server.is_online != Some(false)
        });
        for server in asked.take(MAX_SERVERS) {
            if let Ok(Ok(found)) = tokio::time::timeout(PATIENCE, self.servers.sessions(&server.id)).await {
                sessions.extend(found);
            }
        }
        let playing = Playing::new(&sessions);
        *self.playing.0.lock().ignore_poison() = Some((Instant::now(), playing.clone()));
        playing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_played_is_known_by_its_name() {
        let show = PlaySession {
            title: "The Wire - S01E02".to_owned(),
            show_title: Some("The Wire".to_owned()),
            season: Some(1),
            episode: Some(2),
            ..PlaySession::default()
        };
        let film = PlaySession {
            title: "Tide".to_owned(),
            year: Some(1999),
            ..PlaySession::default()
        };
        let playing = Playing::new(&[show, film]);
        for (name, is_played) in [
            ("The.Wire.S01E02.1080p.mkv", true),
            ("The.Wire.S01E03.1080p.mkv", false),
            ("The.Wire.S02E02.mkv", false),
            ("Tide.1999.mkv", true),
            ("Tide.2005.mkv", false),
            ("Tide.mkv", false),
        ] {
            assert_eq!(playing.holds(&Path::new("/dl").join(name)), is_played, "{name}");
        }
    }
}
