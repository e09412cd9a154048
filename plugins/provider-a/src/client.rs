//! One request to TMDB within a time and a size. No error names a URL: it may hold the key.

use provider_a_core as core;
use sdk_provider::http::Response;
use sdk_provider::transport::NetError;
use sdk_provider::{Config, HttpRequest, PluginError, ProviderError, clock, header};

use crate::convert;

/// The name the service goes by.
const USER_AGENT: &str = "Quartermaster";
/// Time limit on a request when the configuration names none, in milliseconds.
const TIMEOUT_MS: u64 = 8000;
/// Bytes of one piece of a body.
const PIECE: u32 = 256 << 10;

/// A document of the API.
pub type Document = serde_json::Value;

/// Who is asked, with which key.
pub struct Client {
    base: String,
    key: String,
    timeout_ms: u64,
}

impl Client {
    pub fn of(config: &str) -> Result<Self, ProviderError> {
        let invalid = |error: PluginError| match error {
            PluginError::InvalidConfig(why) => ProviderError::InvalidConfig(why),
            other => ProviderError::InvalidConfig(format!("{other:?}")),
        };
        let config = Config::parse(config).map_err(invalid)?;
        let timeout = config.number("timeoutMs").map_err(invalid)?;
        Ok(Self {
            base: core::base(config.text("baseUrl")).map_err(convert::fault)?,
            key: core::key(config.text("apiKey")).map_err(convert::fault)?,
            timeout_ms: timeout.unwrap_or(TIMEOUT_MS).clamp(1000, 60_000),
        })
    }

    /// The document that answers a request; `expected` names it, for people.
    pub fn get(&self, request: &core::Request, expected: &str) -> Result<Document, ProviderError> {
        let deadline = clock::monotonic_ms() + self.timeout_ms;
        let response = self.send(request)?;
        let headers = response.headers();
        let body = self.body(&response, deadline)?;
        let answer = core::Answer {
            status: response.status(),
            retry_after: header(&headers, "retry-after"),
            location: header(&headers, "location"),
            body: &body,
            now: clock::now_ms(),
        };
        core::document(answer, expected).map_err(convert::fault)
    }

    fn send(&self, request: &core::Request) -> Result<Response, ProviderError> {
        let token = core::is_token(&self.key);
        let url = request.url(&self.base, (!token).then_some(self.key.as_str()));
        let idle = u32::try_from(self.timeout_ms).unwrap_or(u32::MAX);
        let mut sent = HttpRequest::new("GET", &url, idle)
            .header("User-Agent", USER_AGENT)
            .header("Accept", "application/json")
            .max_body(core::MAX_BODY);
        if token {
            sent = sent.header("Authorization", &format!("Bearer {}", self.key));
        }
        sent.send_raw().map_err(|(_, error)| self.network(error))
    }

    fn body(&self, response: &Response, deadline: u64) -> Result<Vec<u8>, ProviderError> {
        let mut body = Vec::new();
        loop {
            if clock::monotonic_ms() >= deadline {
                return Err(self.late());
            }
            let piece = response.read(PIECE).map_err(|error| self.network(error))?;
            if piece.is_empty() {
                return Ok(body);
            }
            body.extend_from_slice(&piece);
        }
    }

    fn late(&self) -> ProviderError {
        ProviderError::Timeout(format!("TMDB did not answer within {} ms", self.timeout_ms))
    }

    fn network(&self, error: NetError) -> ProviderError {
        match error {
            NetError::Denied(what) => ProviderError::Denied(what),
            NetError::Timeout => self.late(),
            NetError::Refused => {
                ProviderError::Unreachable("nobody listens at the address of TMDB".to_owned())
            }
            NetError::Closed => {
                ProviderError::Unreachable("TMDB closed the connection before it had answered".to_owned())
            }
            NetError::TooLarge => {
                ProviderError::TooLarge(format!("TMDB answered more than {} MiB", core::MAX_BODY >> 20))
            }
            NetError::Other(why) => ProviderError::Unreachable(why),
        }
    }
}
