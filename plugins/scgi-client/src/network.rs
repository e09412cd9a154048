//! The host's network and clock behind the traits of `scgi-core`.

use scgi_core::{Clock, Endpoint, NetError, Reply, Transport};
use sdk_engine::{HttpRequest, clock, http, transport};

/// Bytes asked of a socket at once; asking for more costs the host a larger buffer each time.
const PIECE_BYTES: u32 = 64 << 10;

pub struct HostNetwork {
    /// `Authorization` header of each HTTP request.
    pub authorization: Option<String>,
}

/// Reply of rTorrent: a stream over SCGI, or an HTTP response.
pub enum HostReply {
    Stream(transport::Connection),
    Http(http::Response),
}

impl Transport for HostNetwork {
    type Reply = HostReply;

    fn dial(&self, endpoint: &Endpoint, idle_ms: u32, request: &[u8]) -> Result<HostReply, NetError> {
        let connection = match endpoint {
            Endpoint::Tcp { host, port } => sdk_engine::connect_tcp(host, *port, idle_ms),
            Endpoint::Unix { path } => sdk_engine::connect_unix(path, idle_ms),
            Endpoint::Http { .. } => return Err(NetError::Other("HTTP is posted, not dialled".to_owned())),
        };
        let connection = connection.map_err(net_error)?;
        connection.write(request).map_err(net_error)?;
        Ok(HostReply::Stream(connection))
    }

    fn post(&self, url: &str, idle_ms: u32, body: Vec<u8>) -> Result<(u16, HostReply), NetError> {
        let mut request = HttpRequest::new("POST", url, idle_ms).body("text/xml", body);
        if let Some(authorization) = &self.authorization {
            request = request.header("Authorization", authorization);
        }
        let response = request.send_raw();
        let response = response.map_err(|(_, error)| net_error(error))?;
        Ok((response.status(), HostReply::Http(response)))
    }
}

impl Reply for HostReply {
    fn read(&mut self) -> Result<Vec<u8>, NetError> {
        match self {
            HostReply::Stream(connection) => connection.read(PIECE_BYTES),
            HostReply::Http(response) => response.read(PIECE_BYTES),
        }
        .map_err(net_error)
    }
}

fn net_error(error: transport::NetError) -> NetError {
    match error {
        transport::NetError::Denied(what) => NetError::Denied(what),
        transport::NetError::Timeout => NetError::Timeout,
        transport::NetError::Refused => NetError::Refused,
        transport::NetError::Closed => NetError::Closed,
        transport::NetError::TooLarge => NetError::TooLarge,
        transport::NetError::Other(why) => NetError::Other(why),
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
