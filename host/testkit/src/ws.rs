//! A plain WebSocket client of the realtime channel: JSON messages `{event, data}`, kept in the order they came.

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::api::Api;
use crate::contract;
use crate::wait::PATIENCE;

/// One open socket.
pub struct Ws {
    stream: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl Ws {
    /// Connects with the user's token in the query.
    pub async fn connect(api: &Api) -> Ws {
        Self::open(&format!("{}/ws/?token={}", api.base(), api.token()), &[]).await
    }

    /// Connects with an `Authorization` header.
    pub async fn connect_with_header(api: &Api) -> Ws {
        let authorization = format!("Bearer {}", api.token());
        let headers = [("authorization", authorization.as_str())];
        Self::open(&format!("{}/ws/", api.base()), &headers).await
    }

    /// Connects as nobody; [`Ws::authenticate`] comes next.
    pub async fn connect_bare(api: &Api) -> Ws {
        Self::open(&format!("{}/ws/", api.base()), &[]).await
    }

    /// Connects with the user's token in the query, as a browser does that shows a page of `origin`.
    pub async fn connect_from(api: &Api, origin: &str) -> Ws {
        let url = format!("{}/ws/?token={}", api.base(), api.token());
        Self::open(&url, &[("origin", origin)]).await
    }

    async fn open(url: &str, headers: &[(&'static str, &str)]) -> Ws {
        let mut request = url
            .replacen("http", "ws", 1)
            .into_client_request()
            .expect("a ws:// address");
        for &(name, value) in headers {
            request
                .headers_mut()
                .insert(name, value.parse().expect("a header value"));
        }
        let (stream, _) = connect_async(request)
            .await
            .unwrap_or_else(|error| panic!("no WebSocket at {url}: {error}"));
        Ws { stream }
    }

    /// Sends a token as a message, the first time or again.
    pub async fn authenticate(&mut self, token: &str) {
        self.send(&json!({ "event": "auth", "data": { "token": token } }))
            .await;
    }

    pub async fn send(&mut self, message: &Value) {
        self.stream
            .send(Message::text(message.to_string()))
            .await
            .expect("the socket is open");
    }

    /// The next message; `None` once the server has closed the socket.
    ///
    /// # Panics
    /// When neither happens within [`PATIENCE`].
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            let next = tokio::time::timeout(PATIENCE, self.stream.next()).await;
            match next.unwrap_or_else(|_| panic!("no message and no close within {PATIENCE:?}"))? {
                Ok(Message::Text(text)) => {
                    let message: Value = serde_json::from_str(&text).expect("messages are JSON");
                    contract::message(message["event"].as_str().unwrap_or_default(), &message["data"]);
                    return Some(message);
                }
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// The next message for which `wanted` gives a value; others are passed over.
    ///
    /// # Panics
    /// When the socket closes first, or [`PATIENCE`] runs out in all.
    pub async fn until<T>(&mut self, what: &str, mut wanted: impl FnMut(&str, &Value) -> Option<T>) -> T {
        let search = async {
            loop {
                let message = self
                    .next()
                    .await
                    .unwrap_or_else(|| panic!("the socket closed while waiting for {what}"));
                if let Some(value) = wanted(message["event"].as_str().unwrap_or_default(), &message["data"]) {
                    return value;
                }
            }
        };
        tokio::time::timeout(PATIENCE, search)
            .await
            .unwrap_or_else(|_| panic!("gave up waiting for {what}"))
    }
}

/// The torrents of one engine as a plain client knows them, from the messages it got.
#[derive(Default)]
pub struct Mirror {
    pub seq: Option<u64>,
    pub torrents: std::collections::BTreeMap<String, Value>,
    /// Full states received.
    pub fulls: usize,
}

impl Mirror {
    /// Applies one `torrents:update`.
    ///
    /// # Panics
    /// When a delta does not follow the state it changes: that is a gap nobody resynced.
    pub fn apply(&mut self, data: &Value) {
        let seq = data["seq"].as_u64().expect("seq is a number");
        if data["full"] == json!(true) {
            self.torrents.clear();
            self.fulls += 1;
        } else {
            assert_eq!(
                Some(seq),
                self.seq.map(|seen| seen + 1),
                "a delta that does not follow"
            );
        }
        self.seq = Some(seq);
        for torrent in data["torrents"].as_array().into_iter().flatten() {
            self.torrents.insert(
                torrent["hash"].as_str().expect("a hash").to_owned(),
                torrent.clone(),
            );
        }
        for hash in data["removed"].as_array().into_iter().flatten() {
            self.torrents.remove(hash.as_str().expect("a hash"));
        }
    }
}
