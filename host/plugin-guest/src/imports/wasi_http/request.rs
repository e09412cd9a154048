//! Requests, and sending them.

use std::time::Duration;

use bytes::Bytes;
use qm_net::{DialError, HttpRequest, HttpResponse};
use url::Url;
use wasmtime::Result;
use wasmtime::component::Resource;

use super::body::{Gathering, OutgoingBody};
use super::code_of;
use super::fields::Fields;
use super::response::Pending;
use super::types::{self, ErrorCode, Method, Scheme};
use crate::memory::{Charge, HANDLE};
use crate::state::{Open, State};

const MAX_METHOD: usize = 64;
const MAX_AUTHORITY: usize = 1 << 10;
const MAX_PATH: usize = 16 << 10;
/// Silence that is allowed when the guest does not say.
const IDLE: Duration = Duration::from_secs(15);

/// A request that is being made up.
pub struct OutgoingRequest {
    method: Method,
    path: Option<String>,
    scheme: Option<Scheme>,
    authority: Option<String>,
    headers: Fields,
    body: Option<Gathering>,
    charge: Charge,
}

impl OutgoingRequest {
    /// Charges what it holds now.
    fn settle(&mut self) -> Result<()> {
        let method = match &self.method {
            Method::Other(text) => text.len(),
            _ => 0,
        };
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        // A scheme is one of the two that can be asked for.
        let texts = method + text(&self.path) + text(&self.authority);
        Ok(self.charge.resize(HANDLE + texts)?)
    }

    fn url(&self) -> Result<Url, ErrorCode> {
        let scheme = match self.scheme {
            Some(Scheme::Http) => "http",
            Some(Scheme::Https) | None => "https",
            Some(Scheme::Other(_)) => return Err(ErrorCode::HttpProtocolError),
        };
        let (Some(authority), path) = (&self.authority, self.path.as_deref().unwrap_or("/")) else {
            return Err(ErrorCode::HttpRequestUriInvalid);
        };
        let slash = if path.starts_with('/') { "" } else { "/" };
        Url::parse(&format!("{scheme}://{authority}{slash}{path}"))
            .map_err(|_| ErrorCode::HttpRequestUriInvalid)
    }
}

fn word(method: Method) -> String {
    match method {
        Method::Get => "GET".to_owned(),
        Method::Head => "HEAD".to_owned(),
        Method::Post => "POST".to_owned(),
        Method::Put => "PUT".to_owned(),
        Method::Delete => "DELETE".to_owned(),
        Method::Connect => "CONNECT".to_owned(),
        Method::Options => "OPTIONS".to_owned(),
        Method::Trace => "TRACE".to_owned(),
        Method::Patch => "PATCH".to_owned(),
        Method::Other(text) => text,
    }
}

/// Tells whether `text` is so short and `good` that it may be kept; none is.
fn fits(text: Option<&str>, max: usize, good: impl Fn(&str) -> bool) -> bool {
    text.is_none_or(|text| text.len() <= max && good(text))
}

impl types::HostOutgoingRequest for State {
    fn new(&mut self, headers: Resource<Fields>) -> Result<Resource<OutgoingRequest>> {
        let mut headers = self.table.delete(headers)?;
        headers.fix();
        let request = OutgoingRequest {
            method: Method::Get,
            path: None,
            scheme: None,
            authority: None,
            headers,
            body: None,
            charge: self.account.charge(HANDLE)?,
        };
        Ok(self.table.push(request)?)
    }

    fn body(&mut self, this: Resource<OutgoingRequest>) -> Result<Result<Resource<OutgoingBody>, ()>> {
        let max = self.network.max_body();
        let request = self.table.get_mut(&this)?;
        if request.body.is_some() {
            return Ok(Err(()));
        }
        let (body, gathering) = OutgoingBody::new(&self.account, request.headers.content_length(), max)?;
        request.body = Some(gathering);
        Ok(Ok(self.table.push(body)?))
    }

    fn method(&mut self, this: Resource<OutgoingRequest>) -> Result<Method> {
        Ok(self.table.get(&this)?.method.clone())
    }

    fn set_method(&mut self, this: Resource<OutgoingRequest>, method: Method) -> Result<Result<(), ()>> {
        let good = |text: &str| http::Method::from_bytes(text.as_bytes()).is_ok();
        if let Method::Other(text) = &method
            && !fits(Some(text), MAX_METHOD, good)
        {
            return Ok(Err(()));
        }
        let request = self.table.get_mut(&this)?;
        request.method = method;
        request.settle().map(Ok)
    }

    fn path_with_query(&mut self, this: Resource<OutgoingRequest>) -> Result<Option<String>> {
        Ok(self.table.get(&this)?.path.clone())
    }

    fn set_path_with_query(
        &mut self,
        this: Resource<OutgoingRequest>,
        path: Option<String>,
    ) -> Result<Result<(), ()>> {
        let good = |text: &str| {
            (text.is_empty() || text.starts_with(['/', '?']))
                && text.parse::<http::uri::PathAndQuery>().is_ok()
        };
        if !fits(path.as_deref(), MAX_PATH, good) {
            return Ok(Err(()));
        }
        let request = self.table.get_mut(&this)?;
        request.path = path;
        request.settle().map(Ok)
    }

    fn scheme(&mut self, this: Resource<OutgoingRequest>) -> Result<Option<Scheme>> {
        Ok(self.table.get(&this)?.scheme.clone())
    }

    fn set_scheme(
        &mut self,
        this: Resource<OutgoingRequest>,
        scheme: Option<Scheme>,
    ) -> Result<Result<(), ()>> {
        if matches!(scheme, Some(Scheme::Other(_))) {
            return Ok(Err(()));
        }
        self.table.get_mut(&this)?.scheme = scheme;
        Ok(Ok(()))
    }

    fn authority(&mut self, this: Resource<OutgoingRequest>) -> Result<Option<String>> {
        Ok(self.table.get(&this)?.authority.clone())
    }

    fn set_authority(
        &mut self,
        this: Resource<OutgoingRequest>,
        authority: Option<String>,
    ) -> Result<Result<(), ()>> {
        let good = |text: &str| text.parse::<http::uri::Authority>().is_ok();
        if !fits(authority.as_deref(), MAX_AUTHORITY, good) {
            return Ok(Err(()));
        }
        let request = self.table.get_mut(&this)?;
        request.authority = authority;
        request.settle().map(Ok)
    }

    fn headers(&mut self, this: Resource<OutgoingRequest>) -> Result<Resource<Fields>> {
        let copy = self.table.get(&this)?.headers.copy(true)?;
        Ok(self.table.push(copy)?)
    }

    fn drop(&mut self, this: Resource<OutgoingRequest>) -> Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

impl super::outgoing_handler::Host for State {
    fn handle(
        &mut self,
        request: Resource<OutgoingRequest>,
        options: Option<Resource<Options>>,
    ) -> Result<Result<Resource<Pending>, ErrorCode>> {
        let options = match options {
            Some(options) => Some(self.table.delete(options)?),
            None => None,
        };
        let request = self.table.delete(request)?;
        // Grant, then slot, then a body.
        let url = match request.url() {
            Ok(url) => url,
            Err(error) => return Ok(Err(error)),
        };
        if !self.network.allows(&url) {
            return Ok(Err(ErrorCode::HttpRequestDenied));
        }
        let slot = match self.network.slot() {
            Ok(slot) => slot,
            Err(DialError::Other(_)) => return Ok(Err(ErrorCode::ConnectionLimitReached)),
            Err(error) => return Ok(Err(code_of(error))),
        };
        let first_byte = options.and_then(|options| options.first_byte);
        let idle = first_byte.map_or(IDLE, Duration::from_nanos);
        let network = self.network.clone();
        let sending = async move {
            let (body, _held) = match request.body {
                Some(gathering) => {
                    let (body, held) = gathering.whole().await?;
                    (body, Some(held))
                }
                None => (Bytes::new(), None),
            };
            let request = HttpRequest {
                method: word(request.method),
                url: url.into(),
                headers: request.headers.into_list(),
                body,
                idle,
                max_body: network.max_body(),
            };
            let answer: Open<HttpResponse> = network.send_in(slot, request).await.map_err(code_of)?;
            Ok(answer)
        };
        let pending = Pending::new(Box::pin(sending), self.account.charge(HANDLE)?);
        Ok(Ok(self.table.push(pending)?))
    }
}

/// Times a guest asks for, in nanoseconds. The client bounds its connect itself.
pub struct Options {
    connect: Option<u64>,
    first_byte: Option<u64>,
    between_bytes: Option<u64>,
    _charge: Charge,
}

impl types::HostRequestOptions for State {
    fn new(&mut self) -> Result<Resource<Options>> {
        let options = Options {
            connect: None,
            first_byte: None,
            between_bytes: None,
            _charge: self.account.charge(HANDLE)?,
        };
        Ok(self.table.push(options)?)
    }

    fn connect_timeout(&mut self, this: Resource<Options>) -> Result<Option<u64>> {
        Ok(self.table.get(&this)?.connect)
    }

    fn set_connect_timeout(&mut self, this: Resource<Options>, time: Option<u64>) -> Result<Result<(), ()>> {
        self.table.get_mut(&this)?.connect = time;
        Ok(Ok(()))
    }

    fn first_byte_timeout(&mut self, this: Resource<Options>) -> Result<Option<u64>> {
        Ok(self.table.get(&this)?.first_byte)
    }

    fn set_first_byte_timeout(
        &mut self,
        this: Resource<Options>,
        time: Option<u64>,
    ) -> Result<Result<(), ()>> {
        self.table.get_mut(&this)?.first_byte = time;
        Ok(Ok(()))
    }

    fn between_bytes_timeout(&mut self, this: Resource<Options>) -> Result<Option<u64>> {
        Ok(self.table.get(&this)?.between_bytes)
    }

    fn set_between_bytes_timeout(
        &mut self,
        this: Resource<Options>,
        time: Option<u64>,
    ) -> Result<Result<(), ()>> {
        self.table.get_mut(&this)?.between_bytes = time;
        Ok(Ok(()))
    }

    fn drop(&mut self, this: Resource<Options>) -> Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}
