//! Tests of the channel over real sockets, with a fake state source and a fake verifier behind the real
//! listener.

mod handshake;
mod plain;
mod slow;
mod socket_io;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use qm_kernel::{Ctx, Permission, PermissionSet, Principal, Role, TokenError, TokenVerifier};
use qm_web::{ConnectionLimits, Routes, WebConfig, finish, serve};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use super::{Audience, Hub, HubConfig, Room, SessionsEnded, StateSource, ws_router};

const DEADLINE: Duration = Duration::from_mins(1);

/// Verifier for tokens of the form `user permission,permission lifetime_ms`; `SUPER_ADMIN` is a permission
/// here.
struct Tokens(Ctx);

impl TokenVerifier for Tokens {
    fn verify(&self, token: &str) -> Result<Principal, TokenError> {
        let parts: Vec<&str> = token.split(' ').collect();
        let [user, permissions, lifetime] = parts[..] else {
            return Err(TokenError::Unauthorized);
        };
        let lifetime: u64 = lifetime.parse().map_err(|_| TokenError::Unauthorized)?;
        let is_super = permissions == "SUPER_ADMIN";
        let held = permissions.split(',').filter_map(Permission::from_key);
        Ok(Principal {
            user_id: user.into(),
            username: user.into(),
            roles: if is_super {
                vec![Role::SuperAdmin]
            } else {
                Vec::new()
            },
            permissions: held.fold(PermissionSet::empty(), PermissionSet::with),
            expires_at: self.0.now().plus(Duration::from_millis(lifetime)),
        })
    }
}

const VIEWER: &str = "alice torrents.view 600000";

/// Fake state: a growing list of numbers.
struct Numbers(Mutex<Vec<u64>>);

impl Numbers {
    fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(Vec::new())))
    }

    /// Adds a number and publishes the change.
    fn grow(&self, hub: &Hub, pad: usize) {
        let seq = {
            let mut numbers = self.0.lock().unwrap();
            let next = numbers.len() as u64 + 1;
            numbers.push(next);
            next
        };
        let delta =
            json!({ "engineId": "e1", "seq": seq, "full": false, "torrents": [seq], "pad": "x".repeat(pad) });
        hub.state_changed("e1", seq, Bytes::from(delta.to_string()));
    }
}

impl StateSource for Numbers {
    fn room(&self) -> Room {
        Room::Perm(Permission::TorrentsView)
    }

    fn event(&self) -> &'static str {
        "torrents:update"
    }

    fn snapshot(&self) -> (u64, Bytes) {
        let numbers = self.0.lock().unwrap();
        let seq = numbers.len() as u64;
        let state = json!({ "engineId": "e1", "seq": seq, "full": true, "torrents": *numbers });
        (seq, Bytes::from(state.to_string()))
    }

    fn full_list(&self) -> Bytes {
        Bytes::from(json!({ "engineId": "e1", "torrents": *self.0.lock().unwrap() }).to_string())
    }
}

struct Server {
    hub: Hub,
    address: SocketAddr,
}

impl Server {
    async fn start(config: HubConfig) -> Self {
        let ctx = Ctx::system();
        let verifier = Arc::new(Tokens(ctx.clone()));
        // Events of these tests belong to no area.
        let config = HubConfig {
            audiences: &[("", Audience::Any)],
            ..config
        };
        let hub = Hub::new(config, verifier.clone(), ctx.clone());
        let routes = Routes::new().mount(ws_router(hub.clone()));
        let router = finish(routes, WebConfig::default(), verifier, ctx);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(serve(
            listener,
            router,
            ConnectionLimits::default(),
            std::future::pending(),
        ));
        Self { hub, address }
    }

    async fn with_numbers(config: HubConfig) -> (Self, Arc<Numbers>) {
        let server = Self::start(config).await;
        let numbers = Numbers::new();
        server.hub.attach_source("e1", numbers.clone());
        (server, numbers)
    }

    fn url(&self, query: &str) -> String {
        format!("ws://{}/ws/{query}", self.address)
    }

    async fn connect(&self, query: &str) -> Client {
        let (stream, _) = tokio_tungstenite::connect_async(self.url(query)).await.unwrap();
        Client(stream)
    }

    /// A plain client that has sent this token.
    async fn plain(&self, token: &str) -> Client {
        let mut request = self.url("").into_client_request().unwrap();
        request
            .headers_mut()
            .insert("authorization", format!("Bearer {token}").parse().unwrap());
        let (stream, _) = tokio_tungstenite::connect_async(request).await.unwrap();
        let mut client = Client(stream);
        let hello = client.json().await;
        assert_eq!(hello["event"], "auth:ok", "{hello}");
        client
    }

    /// Waits until the counters hold what the test needs.
    async fn until(&self, what: &str, holds: impl Fn(&super::HubCounters) -> bool) {
        let reached = timeout(DEADLINE, async {
            while !holds(&self.hub.counters()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        assert!(reached.await.is_ok(), "never {what}: {:?}", self.hub.counters());
    }
}

struct Client(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Client {
    async fn message(&mut self) -> Message {
        let message = timeout(DEADLINE, self.0.next())
            .await
            .expect("the server said nothing in time");
        message.expect("the connection ended").expect("a proper frame")
    }

    /// The next text.
    async fn text(&mut self) -> String {
        loop {
            match self.message().await {
                Message::Text(text) => return text.to_string(),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("no text but {other:?}"),
            }
        }
    }

    async fn json(&mut self) -> Value {
        serde_json::from_str(&self.text().await).unwrap()
    }

    async fn say(&mut self, text: impl Into<String>) {
        self.0.send(Message::text(text.into())).await.unwrap();
    }

    async fn auth(&mut self, token: &str) {
        self.say(json!({ "event": "auth", "data": { "token": token } }).to_string())
            .await;
    }

    /// Reads up to the close frame; returns its code.
    async fn closed(&mut self) -> u16 {
        loop {
            match self.message().await {
                Message::Close(Some(frame)) => return frame.code.into(),
                Message::Close(None) => return 1005,
                _ => {}
            }
        }
    }
}

#[test]
fn of_what_is_somebodys_own_they_hear_and_who_sees_all() {
    let own = |user: Option<&str>| Room::Owner {
        user: user.map(Arc::from),
        or: &[Permission::JobsViewAll, Permission::JobsAdmin],
    };
    for (token, hears_own, hears_nobodys) in [
        ("alice torrents.view 600000", true, false),
        ("bob torrents.view 600000", false, false),
        ("bob jobs.view_all 600000", true, true),
        ("bob jobs.admin 600000", true, true),
        ("bob SUPER_ADMIN 600000", true, true),
    ] {
        let principal = Tokens(Ctx::system()).verify(token).unwrap();
        let heard = (
            own(Some("alice")).admits(&principal),
            own(None).admits(&principal),
        );
        assert_eq!(heard, (hears_own, hears_nobodys), "{token}");
    }
}
