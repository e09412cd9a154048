//! The HTTP client of a test: our API with one user's token.

use serde_json::{Value, json};

use crate::http::{Http, Reply, Request};
use crate::wait::until;

/// Calls the API of one server as one user, or as nobody.
#[derive(Clone)]
pub struct Api {
    http: Http,
    base: String,
    token: Option<String>,
}

impl Api {
    pub fn new(http: Http, base: String, token: Option<String>) -> Api {
        Api { http, base, token }
    }

    /// The same server as somebody else.
    pub fn with_token(&self, token: Option<String>) -> Api {
        Api {
            token,
            ..self.clone()
        }
    }

    /// The access token, for the realtime channel.
    pub fn token(&self) -> &str {
        self.token.as_deref().expect("this client has a token")
    }

    /// `http://address`, without a trailing slash.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// A request to `path` (with its query) that carries the token.
    pub fn request(&self, method: &str, path: &str) -> Request {
        let request = self.http.request(method, &format!("{}{path}", self.base));
        let request = request.of_api(method, path);
        match &self.token {
            Some(token) => request.header("authorization", &format!("Bearer {token}")),
            None => request,
        }
    }

    /// Sends a request whose answer may be anything.
    ///
    /// # Panics
    /// When the server does not answer.
    pub async fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Reply {
        let request = self.request(method, path);
        let request = match body {
            Some(body) => request.json(body),
            None => request,
        };
        request
            .send()
            .await
            .unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    async fn good(&self, method: &str, path: &str, body: Option<&Value>, status: u16) -> Value {
        let reply = self.send(method, path, body).await;
        assert_eq!(reply.status, status, "{method} {path}: {}", reply.text());
        reply.json()
    }

    /// A GET that must answer 200.
    pub async fn get(&self, path: &str) -> Value {
        self.good("GET", path, None, 200).await
    }

    /// A POST with a JSON body that must answer 201.
    pub async fn post(&self, path: &str, body: Value) -> Value {
        self.good("POST", path, Some(&body), 201).await
    }

    /// A bare POST that must answer 201.
    pub async fn act(&self, path: &str) -> Value {
        self.good("POST", path, None, 201).await
    }

    /// A PUT that must answer 200.
    pub async fn put(&self, path: &str, body: Value) -> Value {
        self.good("PUT", path, Some(&body), 200).await
    }

    /// A PATCH that must answer 200.
    pub async fn patch(&self, path: &str, body: Value) -> Value {
        self.good("PATCH", path, Some(&body), 200).await
    }

    /// A DELETE that must answer 200.
    pub async fn delete(&self, path: &str) -> Value {
        self.good("DELETE", path, None, 200).await
    }

    /// Hands over a .torrent file with these fields of the form; it must be taken.
    pub async fn upload_torrent(&self, fields: &[(&str, &str)], metainfo: &[u8]) -> Value {
        let request = self.request("POST", "/api/torrents/upload");
        let request = request.multipart(fields, &[("file", "sample.torrent", metainfo)]);
        let reply = request.send().await.expect("the server answers");
        assert_eq!(reply.status, 201, "{}", reply.text());
        reply.json()
    }

    /// Creates an engine and answers its id.
    pub async fn add_engine(&self, name: &str, kind: &str, config: Value) -> String {
        let body = json!({ "name": name, "kind": kind, "config": config });
        let created = self.post("/api/engines", body).await;
        created["id"].as_str().expect("an id").to_owned()
    }

    /// One torrent of an engine as the API lists it; `None` when it does not.
    pub async fn torrent(&self, engine: &str, hash: &str) -> Option<Value> {
        let reply = self
            .send("GET", &format!("/api/torrents/{hash}?engineId={engine}"), None)
            .await;
        (reply.status == 200).then(|| reply.json())
    }

    /// Waits until the API shows a torrent as `wanted` says.
    pub async fn until_torrent(
        &self,
        engine: &str,
        hash: &str,
        what: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        until(what, || async {
            self.torrent(engine, hash).await.filter(|torrent| wanted(torrent))
        })
        .await
    }
}
