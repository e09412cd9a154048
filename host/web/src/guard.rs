//! Checks before every handler, in this order: throttle (429), bearer token (401), permission (403). One
//! guard per route, created with the router: its access, budget and number cost nothing per request.

use std::convert::Infallible;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::extract::{FromRequestParts, Request};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use http_body::Body as _;
use prometheus::IntCounter;
use qm_kernel::{
    AddressBlock, Ctx, ErrorKind, Permission, Principal, Requester, Timestamp, TokenError, TokenVerifier,
};
use qm_lanes::{Who, on_behalf};
use tower::{Layer, Service};

use crate::body::BodyBounds;
use crate::client::{Client, Origin, client_ip};
use crate::error::ApiError;
use crate::routes::Access;
use crate::throttle::{Throttle, Verdict};
use crate::tokens::Tokens;

const RATE_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const RATE_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RATE_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// State shared by all guards of a server.
pub(crate) struct Gate {
    throttle: Throttle,
    tokens: Tokens,
    ctx: Ctx,
    trusted_proxies: u8,
    throttled: IntCounter,
}

impl Gate {
    /// `throttled` counts the refusals of the throttle.
    pub(crate) fn new(
        verifier: Arc<dyn TokenVerifier>,
        ctx: Ctx,
        trusted_proxies: u8,
        throttled: IntCounter,
    ) -> Self {
        Self {
            throttle: Throttle::new(),
            tokens: Tokens::new(verifier),
            ctx,
            trusted_proxies,
            throttled,
        }
    }
}

/// Guard of one route, as a layer around its handlers.
#[derive(Clone)]
pub(crate) struct GuardLayer(Arc<Guard>);

struct Guard {
    gate: Arc<Gate>,
    access: Access,
    /// `None`: no throttle.
    limit: Option<u32>,
    bodies: BodyBounds,
    /// Number of the path pattern; with the method it is the throttle's key.
    route: u32,
}

impl GuardLayer {
    pub(crate) fn new(
        gate: Arc<Gate>,
        access: Access,
        limit: Option<u32>,
        bodies: BodyBounds,
        route: u32,
    ) -> Self {
        Self(Arc::new(Guard {
            gate,
            access,
            limit,
            bodies,
            route,
        }))
    }
}

impl<S> Layer<S> for GuardLayer {
    type Service = GuardService<S>;

    fn layer(&self, inner: S) -> GuardService<S> {
        GuardService {
            inner,
            guard: Arc::clone(&self.0),
        }
    }
}

#[derive(Clone)]
pub(crate) struct GuardService<S> {
    inner: S,
    guard: Arc<Guard>,
}

impl<S> Service<Request> for GuardService<S>
where
    S: Service<Request, Response = Response, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let now = self.guard.gate.ctx.now();
        let budget = match self.guard.count(&request, now) {
            Ok(budget) => budget,
            Err(Throttled { retry_secs }) => {
                let mut response = ApiError::throttled().into_response();
                response
                    .headers_mut()
                    .insert(header::RETRY_AFTER, HeaderValue::from(retry_secs));
                return Box::pin(std::future::ready(Ok(response)));
            }
        };
        if let Err(error) = self.guard.admit(&mut request, now) {
            let mut response = error.into_response();
            budget.show(response.headers_mut());
            return Box::pin(std::future::ready(Ok(response)));
        }
        if !request.body().is_end_stream() {
            request.extensions_mut().insert(self.guard.bodies);
        }
        // Work in lanes counts for the caller's share.
        let who = self.guard.who(&request);
        let answer = self.inner.call(request);
        Box::pin(async move {
            let Ok(mut response) = on_behalf(who, answer).await;
            budget.show(response.headers_mut());
            Ok(response)
        })
    }
}

impl Guard {
    fn ip(&self, request: &Request) -> IpAddr {
        request.extensions().get::<Origin>().map_or_else(
            || client_ip(request.headers(), request.extensions(), self.gate.trusted_proxies),
            |origin| origin.ip,
        )
    }

    /// User id; for an anonymous caller, the address block.
    fn who(&self, request: &Request) -> Who {
        match request.extensions().get::<Arc<Principal>>() {
            Some(principal) => principal.user_id.clone(),
            None => format!("{:?}", AddressBlock::containing(self.ip(request))).into(),
        }
    }

    fn count(&self, request: &Request, now: Timestamp) -> Result<Budget, Throttled> {
        let Some(limit) = self.limit else {
            return Ok(Budget(None));
        };
        let ip = self.ip(request);
        let key = self.route * METHODS + method_number(request.method());
        match self.gate.throttle.hit(key, ip, limit, now) {
            Verdict::Allowed {
                remaining,
                reset_secs,
            } => Ok(Budget(Some([limit, remaining, reset_secs]))),
            Verdict::Blocked { retry_secs } => {
                self.gate.throttled.inc();
                Err(Throttled { retry_secs })
            }
        }
    }

    /// Stores the principal in the request where a token is needed.
    fn admit(&self, request: &mut Request, now: Timestamp) -> Result<(), ApiError> {
        let needed = match &self.access {
            Access::Public | Access::Ticket(_) => return Ok(()),
            Access::Authenticated => &[][..],
            Access::All(permissions) => permissions,
        };
        let token = bearer(request.headers()).ok_or_else(|| ApiError::bare(401))?;
        let principal = self.gate.tokens.verify(token, now).map_err(refused)?;
        if !needed
            .iter()
            .all(|permission| principal.has_permission(*permission))
        {
            let missing: Vec<&str> = principal
                .missing(needed)
                .into_iter()
                .map(Permission::key)
                .collect();
            let message = format!("Missing permission(s): {}", missing.join(", "));
            return Err(ApiError::new(ErrorKind::Forbidden, message).with_code("forbidden.permission"));
        }
        request.extensions_mut().insert(principal);
        Ok(())
    }
}

const METHODS: u32 = 8;

/// A HEAD uses the budget of its GET.
fn method_number(method: &Method) -> u32 {
    match *method {
        Method::GET | Method::HEAD => 0,
        Method::POST => 1,
        Method::PUT => 2,
        Method::PATCH => 3,
        Method::DELETE => 4,
        _ => METHODS - 1,
    }
}

fn refused(error: TokenError) -> ApiError {
    match error {
        TokenError::Unauthorized => ApiError::bare(401),
        TokenError::WrongType => {
            ApiError::new(ErrorKind::Unauthorized, "Invalid token type").with_code("unauthorized.token_type")
        }
    }
}

/// The token of `Authorization: Bearer <token>`.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers
        .get(header::AUTHORIZATION)?
        .to_str()
        .ok()?
        .trim()
        .split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

struct Throttled {
    retry_secs: u32,
}

/// Limit, remaining requests and seconds to the window's end; empty for an unlimited route.
#[derive(Clone, Copy)]
struct Budget(Option<[u32; 3]>);

impl Budget {
    fn show(self, headers: &mut HeaderMap) {
        if let Some([limit, remaining, reset]) = self.0 {
            headers.insert(RATE_LIMIT, HeaderValue::from(limit));
            headers.insert(RATE_REMAINING, HeaderValue::from(remaining));
            headers.insert(RATE_RESET, HeaderValue::from(reset));
        }
    }
}

/// Extractor: the caller. A public route has none, so it answers 401 there.
#[derive(Clone, Debug)]
pub struct Auth(pub Principal);

impl<S: Sync> FromRequestParts<S> for Auth {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        let principal = parts
            .extensions
            .get::<Arc<Principal>>()
            .ok_or_else(|| ApiError::bare(401))?;
        Ok(Auth(Principal::clone(principal)))
    }
}

/// Extractor: the caller and the client they use, for operations that check or audit who asked.
#[derive(Clone, Debug)]
pub struct By(pub Requester);

impl<S: Sync> FromRequestParts<S> for By {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Auth(principal) = Auth::from_request_parts(parts, state).await?;
        let Client(client) = Client::from_request_parts(parts, state).await?;
        Ok(By(Requester { principal, client }))
    }
}
