//! Configuration of the HTTP surface.

use std::fmt;
use std::sync::Arc;

use axum::response::Response;
use http::Method;
use prometheus::Registry;

/// Content of `/api/docs`.
#[derive(Clone)]
pub enum Docs {
    /// Not served.
    Hidden,
    /// The document of the routes, created at once.
    Described,
    /// Created at the first request, because it costs more than the rest of a start.
    Later(DocumentMaker),
}

/// Creates the text of an API document.
pub type DocumentMaker = Arc<dyn Fn() -> Result<String, serde_json::Error> + Send + Sync>;

impl fmt::Debug for Docs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Docs::Hidden => "Hidden",
            Docs::Described => "Described",
            Docs::Later(_) => "Later",
        })
    }
}

/// First check of each request, by method and path: an answer refuses it.
#[derive(Clone)]
pub struct Doorkeeper(Arc<dyn Fn(&Method, &str) -> Option<Response> + Send + Sync>);

impl Doorkeeper {
    pub fn new(ask: impl Fn(&Method, &str) -> Option<Response> + Send + Sync + 'static) -> Self {
        Self(Arc::new(ask))
    }

    pub(crate) fn turns_away(&self, method: &Method, path: &str) -> Option<Response> {
        (self.0)(method, path)
    }
}

impl fmt::Debug for Doorkeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Doorkeeper")
    }
}

/// Configuration of the surface; `server` reads it from the environment.
#[derive(Clone, Debug)]
pub struct WebConfig {
    /// Origins a browser may call from: exact text, e.g. `https://box.example`.
    pub cors_origins: Vec<String>,
    /// 1: the caller is the last entry of `X-Forwarded-For`; 0: the socket's peer.
    pub trusted_proxies: u8,
    /// Requests per minute, route, method and address, where the route has no limit of its own; 0 =
    /// unlimited.
    pub throttle_limit: u32,
    pub docs: Docs,
    /// Product name in the document's title.
    pub product: String,
    pub version: String,
    /// Registry for the metrics of requests, shared with the areas.
    pub metrics: Registry,
    /// `None` admits everybody.
    pub doorkeeper: Option<Doorkeeper>,
}

impl Default for WebConfig {
    fn default() -> Self {
        Self {
            cors_origins: vec!["http://localhost:5173".to_owned()],
            trusted_proxies: 1,
            throttle_limit: 120,
            docs: Docs::Described,
            product: "Quartermaster".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            metrics: Registry::new(),
            doorkeeper: None,
        }
    }
}
