//! HTTP and clock for `webapi-core`, through the host.

use sdk_engine::{clock, http, transport};
use webapi_core::{Answer, Clock, Http, NetError, Request};

pub struct HostHttp;

impl Http for HostHttp {
    type Answer = HostAnswer;

    fn send(&self, request: Request) -> Result<HostAnswer, NetError> {
        let header = |(name, value): (&'static str, String)| http::Header {
            name: name.into(),
            value: value.into(),
        };
        let request = http::Request {
            method: request.method.into(),
            url: request.url,
            headers: request.headers.into_iter().map(header).collect(),
            body: request.body,
            idle_ms: request.idle_ms,
            max_body: request.max_body,
        };
        http::send(&request).map(HostAnswer).map_err(net_error)
    }
}

pub struct HostAnswer(http::Response);

impl Answer for HostAnswer {
    fn status(&self) -> u16 {
        self.0.status()
    }

    fn header_values(&self, name: &str) -> Vec<String> {
        let named = self
            .0
            .headers()
            .into_iter()
            .filter(|header| header.name.eq_ignore_ascii_case(name));
        named
            .filter_map(|header| String::from_utf8(header.value).ok())
            .collect()
    }

    fn read(&mut self, max: u32) -> Result<Vec<u8>, NetError> {
        self.0.read(max).map_err(net_error)
    }

    fn read_to_end(&mut self) -> Result<Vec<u8>, NetError> {
        self.0.read_to_end().map_err(net_error)
    }
}

fn net_error(error: transport::NetError) -> NetError {
    match error {
        transport::NetError::Denied(what) => NetError::Denied(what),
        transport::NetError::Timeout => NetError::Timeout,
        transport::NetError::Refused => NetError::Refused,
        transport::NetError::Closed => NetError::Closed,
        transport::NetError::TooLarge => NetError::TooLarge,
        transport::NetError::Other(text) => NetError::Other(text),
    }
}

pub struct HostClock;

impl Clock for HostClock {
    fn monotonic_ms(&self) -> u64 {
        clock::monotonic_ms()
    }

    fn sleep_ms(&self, ms: u32) {
        clock::sleep_ms(ms);
    }
}
