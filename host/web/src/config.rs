//! What the HTTP surface needs to know of the configuration.

use std::fmt;
use std::sync::Arc;

use axum::response::Response;
use http::Method;
use prometheus::Registry;

/// What `/api/docs` shows.
#[derive(Clone)]
pub enum Docs {
    /// It is not served.
    Hidden,
    /// The document of the routes, made at once.
    Described,
    /// What this makes when somebody asks for the first time: making it costs more than the rest of a start.
    Later(DocumentMaker),
}

/// Makes the text of an API document.
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

/// Whoever is asked first about a request, by its method and path: an answer turns it away.
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

/// Settings of the surface; read from the environment by `server`.
#[derive(Clone, Debug)]
pub struct WebConfig {
    /// Origins a browser may call from: exact text, e.g. `https://box.example`.
    pub cors_origins: Vec<String>,
    /// 1: the last entry of `X-Forwarded-For` is the caller; 0: the socket's peer is.
    pub trusted_proxies: u8,
    /// Hits a route, method and address may make in 60 s where the route names no limit of its own; 0 = not limited.
    pub throttle_limit: u32,
    pub docs: Docs,
    /// The name that stands in the document's title.
    pub product: String,
    pub version: String,
    /// Where the surface counts its requests; the areas of the same server register theirs beside it.
    pub metrics: Registry,
    /// `None` lets everybody in.
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
