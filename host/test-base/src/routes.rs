//! Client of an area's routes, which reaches them without a socket.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Request, header};
use http_body_util::BodyExt as _;
use qm_kernel::Ctx;
use qm_web::{Docs, Routes, WebConfig};
use serde_json::Value;
use tower::ServiceExt as _;

use crate::people::RoleTokens;

/// Client of routes, which are guarded as in a server; only the throttle is off. Its tokens are the names of roles.
pub struct Visitor {
    router: Router,
    /// Beginning of every path.
    base: &'static str,
}

impl Visitor {
    pub fn new(base: &'static str, routes: Routes<()>, ctx: Ctx) -> Self {
        let config = WebConfig {
            throttle_limit: 0,
            docs: Docs::Hidden,
            ..WebConfig::default()
        };
        Self {
            router: qm_web::finish(routes, config, Arc::new(RoleTokens), ctx),
            base,
        }
    }

    /// Sends a request with the token of a role, to a path below the base.
    pub async fn ask(&self, role: &str, method: &str, path: &str, body: Option<Value>) -> Answer {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header(header::AUTHORIZATION, format!("Bearer {role}"));
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        self.send(request.body(body).expect("a request")).await
    }

    /// Sends a GET with the token of a role and the tag of an earlier answer.
    pub async fn ask_again(&self, role: &str, path: &str, tag: &HeaderValue) -> Answer {
        let request = Request::get(format!("{}{path}", self.base))
            .header(header::AUTHORIZATION, format!("Bearer {role}"))
            .header(header::IF_NONE_MATCH, tag);
        self.send(request.body(Body::empty()).expect("a request")).await
    }

    async fn send(&self, request: Request<Body>) -> Answer {
        let Ok(answer) = self.router.clone().oneshot(request).await;
        let (parts, body) = answer.into_parts();
        Answer {
            status: parts.status.as_u16(),
            headers: parts.headers,
            bytes: body.collect().await.expect("a whole body").to_bytes().to_vec(),
        }
    }
}

/// Answer to a request, as it was sent.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub bytes: Vec<u8>,
}

impl Answer {
    /// The body; null when it is no JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_default()
    }

    /// Status, and the body as [`Answer::json`].
    pub fn status_and_json(&self) -> (u16, Value) {
        (self.status, self.json())
    }

    /// Status, code and message of a refusal. Several messages are shown as the list that they are.
    pub fn refusal(&self) -> (u16, String, String) {
        let body = self.json();
        let text = |member: &Value| match member {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        };
        (self.status, text(&body["code"]), text(&body["message"]))
    }
}
