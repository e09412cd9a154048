//! One GET, with redirects inside its origin, within a time and a size.

use sdk_indexer::http::Response;
use sdk_indexer::transport::NetError;
use sdk_indexer::{HttpRequest, IndexerError, clock, header, read_until};
use torznab_core as core;

use crate::convert;

/// The name the service goes by.
const USER_AGENT: &str = "Quartermaster";
/// Redirects that are followed.
const MAX_REDIRECTS: usize = 5;

/// The bounds of a call.
pub struct Fetch {
    /// Deadline of the call, in milliseconds of the monotonic clock.
    deadline: u64,
    timeout_ms: u64,
    max_body: u64,
}

/// End of a request.
pub enum Landed {
    Answer(Answer),
    /// Redirected outside its origin; holds the URL.
    Away(String),
}

pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
    content_type: Option<String>,
    retry_after: Option<String>,
}

impl Answer {
    /// Text of the answer, when it may be a document of the protocol.
    pub fn document(&self, expected: &str) -> Result<(String, Option<String>), IndexerError> {
        let answer = core::Answer {
            status: self.status,
            content_type: self.content_type.as_deref(),
            retry_after: self.retry_after.as_deref(),
            body: &self.body,
            now: i64::try_from(clock::now_ms()).unwrap_or(i64::MAX),
        };
        core::document(answer, expected).map_err(convert::fault)
    }
}

impl Fetch {
    pub fn new(timeout_ms: u64, max_body: u64) -> Self {
        Self {
            deadline: clock::monotonic_ms() + timeout_ms,
            timeout_ms,
            max_body,
        }
    }

    pub fn get(&self, url: &str) -> Result<Landed, IndexerError> {
        let origin = core::Origin::parse(url);
        let mut url = url.to_owned();
        for _ in 0..=MAX_REDIRECTS {
            let response = self.send(&url)?;
            let headers = response.headers();
            let text = |name: &str| header(&headers, name).map(str::to_owned);
            let status = response.status();
            let to = text("location").filter(|_| matches!(status, 301 | 302 | 303 | 307 | 308));
            if let Some(location) = to {
                let next = core::redirect(&url, &location).ok_or_else(|| {
                    IndexerError::Redirected("redirects to something that is no address".to_owned())
                })?;
                if core::is_sign_in(&next) {
                    return Err(IndexerError::LoginPage(
                        "redirects to a page on which people sign in: check the base URL and the API key"
                            .to_owned(),
                    ));
                }
                if core::Origin::parse(&next).is_none() || core::Origin::parse(&next) != origin {
                    return Ok(Landed::Away(next));
                }
                url = next;
                continue;
            }
            return Ok(Landed::Answer(Answer {
                status,
                content_type: text("content-type"),
                retry_after: text("retry-after"),
                body: read_until(&response, self.deadline).map_err(|error| self.network(error))?,
            }));
        }
        Err(IndexerError::Redirected(format!(
            "redirects in a circle: more than {MAX_REDIRECTS} redirects were not followed"
        )))
    }

    /// Milliseconds that are left.
    fn left(&self) -> Result<u32, IndexerError> {
        match self.deadline.saturating_sub(clock::monotonic_ms()) {
            0 => Err(self.late()),
            left => Ok(u32::try_from(left).unwrap_or(u32::MAX)),
        }
    }

    fn late(&self) -> IndexerError {
        IndexerError::Timeout(format!("did not answer within {} ms", self.timeout_ms))
    }

    fn send(&self, url: &str) -> Result<Response, IndexerError> {
        HttpRequest::new("GET", url, self.left()?)
            .header("User-Agent", USER_AGENT)
            .header(
                "Accept",
                "application/rss+xml, application/xml, text/xml, application/x-bittorrent, */*",
            )
            .max_body(self.max_body)
            .send_raw()
            .map_err(|(_, error)| self.network(error))
    }

    /// Never with the URL: it may hold the key.
    fn network(&self, error: NetError) -> IndexerError {
        match error {
            NetError::Denied(what) => IndexerError::Denied(what),
            NetError::Timeout => self.late(),
            NetError::Refused => IndexerError::Unreachable("nobody listens at its address".to_owned()),
            NetError::Closed => {
                IndexerError::Unreachable("closed the connection before it had answered".to_owned())
            }
            NetError::TooLarge => {
                IndexerError::TooLarge(format!("answered more than {} MiB", self.max_body >> 20))
            }
            NetError::Other(why) => IndexerError::Unreachable(why),
        }
    }
}
