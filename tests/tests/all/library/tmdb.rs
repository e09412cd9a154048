//! A server on loopback that answers as TMDB's API 3 does, as far as anybody asks about shows here.

use std::sync::{Arc, Mutex};

use qm_lanes::IgnorePoison;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// The origin that its plugin asks for.
pub const ORIGIN: &str = "https://api.themoviedb.org";
pub const KEY: &str = "0123456789abcdef0123456789abcdef";

/// The title that it gives to an episode.
pub fn episode(show: &str, season: usize, number: usize) -> String {
    format!("{show}, part {season}.{number}")
}

/// Shows that it knows, and what it was asked since somebody looked.
pub struct Tmdb {
    pub port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Tmdb {
    /// The paths that it was asked for since the last look, in the order of their letters.
    pub fn asked(&self) -> Vec<String> {
        let mut asked = std::mem::take(&mut *self.asked.lock().ignore_poison());
        asked.sort();
        asked
    }
}

/// Starts it with these shows, whose two seasons have so many episodes each.
pub async fn start(shows: &'static [&'static str], season: usize) -> Tmdb {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let ours = asked.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, shows, season, ours.clone()));
        }
    });
    Tmdb { port, asked }
}

async fn answer(mut stream: TcpStream, shows: &[&str], season: usize, asked: Arc<Mutex<Vec<String>>>) {
    let mut head = Vec::new();
    while !head.windows(4).any(|part| part == b"\r\n\r\n") {
        if stream.read_buf(&mut head).await.unwrap_or(0) == 0 {
            return;
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let target = head.split_whitespace().nth(1).unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    asked.lock().ignore_poison().push(path.to_owned());
    // Whoever has another key finds nothing.
    let body = head
        .contains(KEY)
        .then(|| body(path, query, shows, season))
        .flatten();
    let (status, body) = match body {
        Some(body) => ("200 OK", body),
        None => (
            "404 Not Found",
            json!({ "success": false, "status_code": 34, "status_message": "Not found." }),
        ),
    };
    let body = body.to_string();
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    // Whoever has gone needs no answer.
    let _ = stream.write_all(answer.as_bytes()).await;
}

fn body(path: &str, query: &str, shows: &[&str], season: usize) -> Option<Value> {
    let hit = |number: usize| {
        let name = shows.get(number)?;
        Some(json!({
            "id": 9000 + number, "name": name, "original_name": name, "first_air_date": "2021-02-03",
            "overview": format!("All about {name}."), "status": "Ended", "vote_average": 7.5, "vote_count": 20,
            "genres": [{ "id": 18, "name": "Drama" }], "number_of_seasons": 2,
        }))
    };
    let parts: Vec<&str> = path.trim_start_matches("/3/").split('/').collect();
    let number = |text: &str| text.parse::<usize>().ok()?.checked_sub(9000);
    match parts.as_slice() {
        ["search", "tv"] => {
            // No first word of a name is in another one.
            let is_meant = |name: &&str| name.split(' ').next().is_some_and(|word| query.contains(word));
            let found = shows.iter().position(is_meant).and_then(hit);
            let hits: Vec<Value> = found.into_iter().collect();
            let total = hits.len();
            Some(json!({ "page": 1, "results": hits, "total_pages": 1, "total_results": total }))
        }
        ["tv", id] => hit(number(id)?),
        ["tv", id, "season", of] => {
            let (name, of) = (shows.get(number(id)?)?, of.parse::<usize>().ok()?);
            let one = |number: usize| {
                json!({
                    "episode_number": number, "season_number": of, "name": episode(name, of, number), "runtime": 40,
                    "air_date": "2021-02-03",
                })
            };
            Some(json!({ "episodes": (1..=season).map(one).collect::<Vec<_>>() }))
        }
        _ => None,
    }
}
