//! Outermost layer: request id and span, security and CORS headers on every answer, preflights, validators,
//! panics. Every answer passes here, and failures are logged here, once.

use std::any::Any;
use std::convert::Infallible;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::{MatchedPath, Request};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use http::{HeaderName, HeaderValue, Method, StatusCode, header};
use http_body::Body as _;
use qm_kernel::{Ctx, ErrorKind};
use tower::{Layer, Service};
use tracing::Instrument;

use crate::client::{Attendance, Attended, Origin, RequestId, client_ip};
use crate::config::Doorkeeper;
use crate::error::{ApiError, Failure, JSON};
use crate::headers::{Cors, cross_origin, preflight, secure};
use crate::metrics::{HttpMetrics, Running};
use crate::reply::Framable;
use crate::silence::TimedBody;
use crate::{WebConfig, etag};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Longest silence of a caller within its request body.
const BODY_SILENCE: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub(crate) struct EdgeLayer(Arc<Edge>);

struct Edge {
    cors: Cors,
    trusted_proxies: u8,
    metrics: Arc<HttpMetrics>,
    doorkeeper: Option<Doorkeeper>,
    ctx: Ctx,
}

impl EdgeLayer {
    pub(crate) fn new(config: &WebConfig, metrics: Arc<HttpMetrics>, ctx: Ctx) -> Self {
        let cors = Cors::new(&config.cors_origins);
        Self(Arc::new(Edge {
            cors,
            trusted_proxies: config.trusted_proxies,
            metrics,
            doorkeeper: config.doorkeeper.clone(),
            ctx,
        }))
    }
}

impl<S> Layer<S> for EdgeLayer {
    type Service = EdgeService<S>;

    fn layer(&self, inner: S) -> EdgeService<S> {
        EdgeService {
            inner,
            edge: Arc::clone(&self.0),
        }
    }
}

#[derive(Clone)]
pub(crate) struct EdgeService<S> {
    inner: S,
    edge: Arc<Edge>,
}

/// Facts of the request that shape the answer.
struct Asked {
    request_id: RequestId,
    attended: Attended,
    origin: Option<HeaderValue>,
    /// `If-None-Match` of a GET or HEAD.
    validator: Option<HeaderValue>,
    tagged: bool,
}

impl<S> Service<Request> for EdgeService<S>
where
    S: Service<Request, Error = Infallible>,
    S::Response: IntoResponse + Send + 'static,
    S::Future: Send + 'static,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let edge = Arc::clone(&self.edge);
        let asked = edge.receive(&mut request);
        let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
        let running = edge.metrics.begin(request.method(), route);
        // A target and level of its own: log lines keep the request's name under any filter.
        let span = tracing::error_span!(
            target: "request",
            "http.request",
            request.id = asked.request_id.as_str(),
            http.method = request.method().as_str(),
            http.route = route,
        );
        if request.method() == Method::OPTIONS {
            let response = span.in_scope(|| ended(running, answer_preflight(&request, asked)));
            return Box::pin(std::future::ready(Ok(response)));
        }
        // Checked here and not in a layer of its own, which would box and copy the whole service for each
        // request.
        let turned_away = edge
            .doorkeeper
            .as_ref()
            .and_then(|doorkeeper| doorkeeper.turns_away(request.method(), request.uri().path()));
        if let Some(answer) = turned_away {
            let work = async move { Ok(ended(running, edge.send(asked, answer).await)) };
            return Box::pin(work.instrument(span));
        }
        let reads_only = asked.tagged;
        let answer = span.in_scope(|| self.inner.call(request));
        let work = async move {
            let outcome = if reads_only {
                AssertUnwindSafe(answer).catch_unwind().await
            } else {
                to_the_end(answer).await
            };
            let response = match outcome {
                Ok(Ok(response)) => response.into_response(),
                Ok(Err(never)) => match never {},
                Err(panic) => panicked(panic.as_ref()),
            };
            Ok(ended(running, edge.send(asked, response).await))
        };
        Box::pin(work.instrument(span))
    }
}

/// Runs a request that may make a change in a task of its own: a caller that hangs up must not stop it
/// between the change and its audit, or between the commit and its events.
async fn to_the_end<F>(answer: F) -> Result<F::Output, Box<dyn Any + Send>>
where
    F: Future<Output: Send> + Send + 'static,
{
    let task = tokio::spawn(answer.in_current_span());
    task.await.map_err(|ended| match ended.try_into_panic() {
        Ok(panic) => panic,
        // The runtime is shutting down.
        Err(_) => Box::new("the server is stopping") as Box<dyn Any + Send>,
    })
}

impl Edge {
    fn receive(&self, request: &mut Request) -> Asked {
        let request_id = RequestId::from_bytes(self.ctx.bytes());
        let ip = client_ip(request.headers(), request.extensions(), self.trusted_proxies);
        let attendance = Attendance::default();
        request.extensions_mut().insert(Origin {
            ip,
            request_id,
            proxied: self.trusted_proxies > 0,
            attendance: attendance.clone(),
        });
        if !request.body().is_end_stream() {
            let body = std::mem::take(request.body_mut());
            *request.body_mut() = axum::body::Body::new(TimedBody::new(body, BODY_SILENCE));
        }
        let tagged = matches!(*request.method(), Method::GET | Method::HEAD);
        Asked {
            request_id,
            attended: Attended(attendance),
            origin: self.cors.allowed(request.headers()),
            validator: request
                .headers()
                .get(header::IF_NONE_MATCH)
                .filter(|_| tagged)
                .cloned(),
            tagged,
        }
    }

    async fn send(&self, asked: Asked, response: Response) -> Response {
        drop(asked.attended);
        let mut response = report(in_our_words(response));
        if asked.tagged {
            response = etag::apply(asked.validator.as_ref(), response).await;
        }
        let framable = response.extensions_mut().remove::<Framable>().is_some();
        let headers = response.headers_mut();
        if headers
            .get(header::CONTENT_TYPE)
            .is_some_and(|value| value == "application/json")
        {
            headers.insert(header::CONTENT_TYPE, JSON);
        }
        cross_origin(asked.origin, headers);
        decorate(asked.request_id, headers);
        if framable {
            headers.remove(header::X_FRAME_OPTIONS);
        }
        response
    }
}

/// Counts an answer, and writes the line of the access log if enabled (`access=debug`).
fn ended(running: Running, response: Response) -> Response {
    let status = response.status();
    let seconds = running.end(status);
    tracing::debug!(
        target: "access",
        status = status.as_u16(),
        ms = seconds * 1000.0,
        "answered"
    );
    response
}

fn answer_preflight(request: &Request, asked: Asked) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let wanted = request
        .headers()
        .get(header::ACCESS_CONTROL_REQUEST_HEADERS)
        .cloned();
    preflight(asked.origin, wanted, response.headers_mut());
    decorate(asked.request_id, response.headers_mut());
    response
}

fn decorate(request_id: RequestId, headers: &mut http::HeaderMap) {
    secure(headers);
    if let Ok(value) = HeaderValue::from_str(request_id.as_str()) {
        headers.insert(REQUEST_ID, value);
    }
}

/// Converts plain-text answers of the framework into the contract's error body.
fn in_our_words(response: Response) -> Response {
    let status = response.status();
    let is_error = status.is_client_error() || status.is_server_error();
    let is_ours = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(b"application/json"));
    // A handler's own answer to an invalid range: no body, the size in a header.
    let is_range =
        status == StatusCode::RANGE_NOT_SATISFIABLE && response.headers().contains_key(header::CONTENT_RANGE);
    if !is_error || is_ours || is_range {
        return response;
    }
    if status == StatusCode::PAYLOAD_TOO_LARGE {
        return ApiError::body_too_large().into_response();
    }
    ApiError::with_status(status, status.canonical_reason().unwrap_or("Error")).into_response()
}

/// Logs a failure: a caller's mistake at debug, an upstream's at warn, ours at error.
fn report(mut response: Response) -> Response {
    if let Some(failure) = response.extensions_mut().remove::<Failure>() {
        let status = response.status();
        let cause = failure
            .source
            .as_deref()
            .map(|source| chain(source))
            .unwrap_or_default();
        let message = failure.message;
        if status == StatusCode::INTERNAL_SERVER_ERROR {
            tracing::error!(status = status.as_u16(), cause, "{message}");
        } else if status.is_server_error() {
            tracing::warn!(status = status.as_u16(), cause, "{message}");
        } else {
            tracing::debug!(status = status.as_u16(), cause, "{message}");
        }
    }
    response
}

fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

fn panicked(panic: &(dyn Any + Send)) -> Response {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("no text");
    ApiError::new(ErrorKind::Internal, format!("a handler panicked: {text}")).into_response()
}

/// Answers an unknown path.
pub(crate) async fn not_found(request: Request) -> ApiError {
    ApiError::not_found(request.method(), request.uri().path())
}

/// Answers a path that exists under other methods; the router adds them in `Allow`.
pub(crate) async fn method_not_allowed(request: Request) -> ApiError {
    ApiError::method_not_allowed(request.method(), request.uri().path())
}
