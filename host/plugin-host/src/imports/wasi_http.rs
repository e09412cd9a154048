//! `wasi:http` for components that were not written for us: the same grants, client and limits as our own `http`.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, LengthLimitError, Limited, StreamBody};
use qm_net::{DialError, HttpRequest};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

use crate::core::state::Network;

/// Silence that is allowed when the component does not say.
const IDLE: Duration = Duration::from_secs(15);
/// One piece of an answer's body.
const PIECE: usize = 64 << 10;

type Io = Box<dyn Future<Output = Result<(), Error>> + Send>;
type Sent = (http::Response<WasiBody>, Io);

pub(crate) struct Hooks(pub(crate) Network);

impl WasiHttpHooks for Hooks {
    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Io,
    ) -> Box<dyn Future<Output = Result<Sent, Error>> + Send> {
        let network = self.0.clone();
        Box::new(async move { send(network, request, options).await })
    }
}

async fn send(
    network: Network,
    request: http::Request<WasiBody>,
    options: Option<RequestOptions>,
) -> Result<Sent, Error> {
    let idle = options
        .and_then(|options| options.first_byte_timeout)
        .unwrap_or(IDLE);
    let (head, body) = request.into_parts();
    let body = Limited::new(body, network.max_body())
        .collect()
        .await
        .map_err(|error| body_error(&*error))?;
    let headers = head
        .headers
        .iter()
        .map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()));
    let request = HttpRequest {
        method: head.method.to_string(),
        url: head.uri.to_string(),
        headers: headers.collect(),
        body: body.to_bytes(),
        idle,
        max_body: network.max_body(),
    };
    let answer = network.send(request).await.map_err(dial_error)?;
    let mut response = http::Response::builder().status(answer.inner.status());
    if let Some(headers) = response.headers_mut() {
        headers.clone_from(answer.inner.headers());
    }
    let pieces = stream::try_unfold(answer, |mut answer| async move {
        let piece: Bytes = answer.inner.read(PIECE).await.map_err(dial_error)?;
        Ok((!piece.is_empty()).then(|| (http_body::Frame::data(piece), answer)))
    });
    let response = response
        .body(StreamBody::new(pieces).boxed_unsync())
        .map_err(|_| Error::HttpProtocolError)?;
    Ok((response, Box::new(std::future::ready(Ok(())))))
}

fn body_error(error: &(dyn std::error::Error + Send + Sync + 'static)) -> Error {
    if error.is::<LengthLimitError>() {
        Error::HttpRequestBodySize(None)
    } else {
        Error::InternalError(Some("the request body broke off".to_owned()))
    }
}

fn dial_error(error: DialError) -> Error {
    match error {
        DialError::Denied(_) => Error::HttpRequestDenied,
        DialError::Timeout => Error::HttpResponseTimeout,
        DialError::Refused => Error::ConnectionRefused,
        DialError::Closed => Error::ConnectionTerminated,
        DialError::TooLarge => Error::HttpResponseBodySize(None),
        DialError::Other(text) => Error::InternalError(Some(text)),
    }
}
