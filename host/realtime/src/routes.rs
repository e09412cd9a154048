//! `GET /ws/`: handshake and choice of the protocol.

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use base64::Engine;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use hyper_util::rt::TokioIo;
use qm_kernel::ErrorKind;
use qm_web::{ApiError, Client};
use serde_json::json;
use sha1::{Digest, Sha1};
use tracing::Instrument;
use url::form_urlencoded;

use super::hub::{Hub, Refused};
use super::message::Protocol;
use super::session::{self, Handshake};

/// Router of the channel; mounted beside the API, because it has its own authentication.
pub fn ws_router(hub: Hub) -> Router {
    Router::new()
        .route("/ws", any(connect))
        .route("/ws/", any(connect))
        .with_state(hub)
}

async fn connect(State(hub): State<Hub>, Client(client): Client, request: Request) -> Response {
    let query = Query::read(request.uri().query().unwrap_or_default());
    let protocol = if query.eio.is_some() {
        Protocol::SocketIo
    } else {
        Protocol::Plain
    };
    let accept = match check(&hub, &query, &request) {
        Ok(accept) => accept,
        Err(refusal) => return refusal.into_response(),
    };
    let token = query.token.or_else(|| bearer(request.headers()));
    let known = token.as_deref().is_some_and(|token| is_good(&hub, token));
    let socket = match hub.enter(protocol, client.ip, known) {
        Ok(socket) => socket,
        Err(why) => {
            tracing::debug!(client.ip = %client.ip, ?why, "a realtime client is refused");
            return ApiError::new(ErrorKind::Unavailable, "Too many realtime connections")
                .with_code("unavailable.sockets")
                .into_response();
        }
    };
    let span =
        tracing::info_span!(parent: None, "realtime.socket", socket.id = socket.id, client.ip = %client.ip);
    let upgrade = hyper::upgrade::on(request);
    let work = async move {
        match upgrade.await {
            Ok(upgraded) => session::run(TokioIo::new(upgraded), hub, socket, Handshake { token }).await,
            Err(error) => {
                tracing::debug!(%error, "a realtime client left during its handshake");
                hub.leave(&socket);
            }
        }
    };
    tokio::spawn(work.instrument(span));
    switching(accept)
}

fn is_good(hub: &Hub, token: &str) -> bool {
    let verified = hub.verifier().verify(token);
    verified.is_ok_and(|principal| hub.ctx().now() < principal.expires_at)
}

fn switching(accept: HeaderValue) -> Response {
    let mut response = StatusCode::SWITCHING_PROTOCOLS.into_response();
    let headers = response.headers_mut();
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    response
}

/// Reason to refuse a connection, in the words of the requested protocol.
enum Refusal {
    EngineIo {
        status: StatusCode,
        code: u8,
        message: &'static str,
    },
    Plain(ApiError),
}

impl Refusal {
    fn engine_io(code: u8, message: &'static str) -> Self {
        Self::EngineIo {
            status: StatusCode::BAD_REQUEST,
            code,
            message,
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match self {
            Self::EngineIo {
                status,
                code,
                message,
            } => (status, axum::Json(json!({ "code": code, "message": message }))).into_response(),
            Self::Plain(error) => {
                let mut response = error.into_response();
                if response.status() == StatusCode::METHOD_NOT_ALLOWED {
                    let allowed = HeaderValue::from_static("GET");
                    response.headers_mut().insert(header::ALLOW, allowed);
                }
                response
            }
        }
    }
}

/// Checks a handshake; returns the value of `Sec-WebSocket-Accept`.
fn check(hub: &Hub, query: &Query, request: &Request) -> Result<HeaderValue, Refusal> {
    let origin_ok = origin_allowed(&hub.config().cors_origins, request.headers());
    let accept = accept_key(request.headers());
    let is_get = request.method() == Method::GET;
    if is_get && !origin_ok {
        hub.refuse(Refused::Origin);
    }
    let Some(version) = query.eio.as_deref() else {
        let path = request.uri().path();
        let error =
            |kind, message: &'static str, code| Refusal::Plain(ApiError::new(kind, message).with_code(code));
        return match accept {
            _ if !is_get => Err(Refusal::Plain(ApiError::method_not_allowed(
                request.method(),
                path,
            ))),
            _ if !origin_ok => Err(error(
                ErrorKind::Forbidden,
                "Origin not allowed",
                "forbidden.origin",
            )),
            None => Err(error(
                ErrorKind::BadRequest,
                "This address speaks WebSocket only",
                "bad_request.handshake",
            )),
            Some(accept) => Ok(accept),
        };
    };
    if version != "4" {
        return Err(Refusal::engine_io(5, "Unsupported protocol version"));
    }
    if query.sid.is_some() {
        return Err(Refusal::engine_io(1, "Session ID unknown"));
    }
    if query.transport.as_deref() != Some("websocket") {
        return Err(Refusal::engine_io(0, "Transport unknown"));
    }
    if !is_get {
        return Err(Refusal::engine_io(2, "Bad handshake method"));
    }
    if !origin_ok {
        return Err(Refusal::EngineIo {
            status: StatusCode::FORBIDDEN,
            code: 4,
            message: "Forbidden",
        });
    }
    accept.ok_or_else(|| Refusal::engine_io(3, "Bad request"))
}

#[derive(Default)]
struct Query {
    eio: Option<String>,
    transport: Option<String>,
    sid: Option<String>,
    token: Option<String>,
}

impl Query {
    fn read(text: &str) -> Self {
        let mut query = Self::default();
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            let slot = match &*name {
                "EIO" => &mut query.eio,
                "transport" => &mut query.transport,
                "sid" => &mut query.sid,
                "token" => &mut query.token,
                _ => continue,
            };
            *slot = Some(value.into_owned());
        }
        query
    }
}

/// Only browsers send an origin, and they send the true one: it must be listed, or be this server's own.
fn origin_allowed(listed: &[String], headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else {
        return true;
    };
    let Ok(origin) = origin.to_str() else { return false };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let own = origin.split_once("://").map(|(_, authority)| authority);
    listed.iter().any(|one| one == origin) || (own.is_some() && own == host)
}

fn bearer(headers: &HeaderMap) -> Option<String> {
    let (scheme, token) = headers
        .get(header::AUTHORIZATION)?
        .to_str()
        .ok()?
        .split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| token.trim().to_owned())
}

/// `Sec-WebSocket-Accept` for a proper WebSocket handshake (RFC 6455, 4.2).
fn accept_key(headers: &HeaderMap) -> Option<HeaderValue> {
    const MAGIC: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    let holds = |name, word: &str| {
        let texts = headers
            .get_all(name)
            .iter()
            .filter_map(|value| value.to_str().ok());
        texts
            .flat_map(|text| text.split(','))
            .any(|one| one.trim().eq_ignore_ascii_case(word))
    };
    let key = headers.get(header::SEC_WEBSOCKET_KEY)?;
    let is_key = base64::engine::general_purpose::STANDARD
        .decode(key)
        .is_ok_and(|bytes| bytes.len() == 16);
    if !holds(header::UPGRADE, "websocket")
        || !holds(header::CONNECTION, "upgrade")
        || !holds(header::SEC_WEBSOCKET_VERSION, "13")
        || !is_key
    {
        return None;
    }
    let digest = Sha1::new().chain_update(key).chain_update(MAGIC).finalize();
    HeaderValue::try_from(base64::engine::general_purpose::STANDARD.encode(digest)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(header::HeaderName, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.clone(), value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn the_accept_key_is_that_of_the_standard() {
        let mut headers = headers(&[
            (header::UPGRADE, "WebSocket"),
            (header::CONNECTION, "keep-alive, Upgrade"),
            (header::SEC_WEBSOCKET_VERSION, "13"),
            (header::SEC_WEBSOCKET_KEY, "dGhlIHNhbXBsZSBub25jZQ=="),
        ]);
        assert_eq!(accept_key(&headers).unwrap(), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        headers.insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("8"));
        assert!(accept_key(&headers).is_none());
    }

    #[test]
    fn an_origin_is_listed_or_our_own() {
        let listed = ["https://box.example".to_owned()];
        for (origin, expected) in [
            (None, true),
            (Some("https://box.example"), true),
            (Some("https://box.example.evil.test"), false),
            (Some("http://127.0.0.1:4000"), true),
            (Some("http://127.0.0.1:4001"), false),
            (Some("null"), false),
        ] {
            let mut headers = headers(&[(header::HOST, "127.0.0.1:4000")]);
            if let Some(origin) = origin {
                headers.insert(header::ORIGIN, HeaderValue::from_static(origin));
            }
            assert_eq!(origin_allowed(&listed, &headers), expected, "{origin:?}");
        }
    }
}
