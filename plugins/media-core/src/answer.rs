//! Requests to a media server, and the check of their answers.

use serde_json::Value;

use crate::model::Fault;

/// Limit of an answer, in bytes; a longer one is not read to its end.
pub const MAX_BODY: u64 = 8 << 20;

/// A request to a server.
pub struct Request {
    pub method: &'static str,
    pub url: String,
    pub headers: Vec<(&'static str, String)>,
    /// JSON.
    pub body: Option<Value>,
}

impl Request {
    pub fn get(url: String) -> Self {
        Self {
            method: "GET",
            url,
            headers: Vec::new(),
            body: None,
        }
    }

    pub fn post(url: String) -> Self {
        Self {
            method: "POST",
            ..Self::get(url)
        }
    }

    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub fn json(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }
}

/// Answer of the media server.
pub struct Answer {
    pub status: u16,
    pub location: Option<String>,
    pub body: Vec<u8>,
}

/// Sender of requests. Redirects are not followed.
pub trait Net {
    fn ask(&self, request: Request) -> Result<Answer, Fault>;
}

impl Answer {
    /// The answer, if it is a good one; `product` is who answered.
    pub fn good(self, product: &str) -> Result<Self, Fault> {
        let status = self.status;
        let said = || format!("{product} responded with HTTP {status}.");
        match status {
            200..=299 => Ok(self),
            300..=399 => Err(Fault::Redirected(elsewhere(product, self.location.as_deref()))),
            401 | 403 => Err(Fault::Auth(said())),
            _ => Err(Fault::Status {
                status,
                message: said(),
            }),
        }
    }

    /// The same for a session that is to end, whose refusals have a text of their own.
    pub fn ended(self, what: &str) -> Result<(), Fault> {
        match self.status {
            200..=299 => Ok(()),
            status => Err(Fault::Status {
                status,
                message: format!("{what} failed with HTTP {status}."),
            }),
        }
    }

    /// JSON document of the answer; `Unparsable` when the body is not JSON.
    pub fn json(&self, product: &str) -> Result<Value, Fault> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let start = self.body.iter().position(|byte| !byte.is_ascii_whitespace());
            let start = &self.body[start.unwrap_or(self.body.len())..];
            let what = if start.is_empty() {
                "nothing"
            } else if start.first() == Some(&b'<') {
                "a page or XML"
            } else if error.is_eof() {
                "JSON that breaks off"
            } else {
                "something else"
            };
            Fault::Unparsable(format!(
                "{product} was expected to answer JSON, and answered {what}: is the base URL that of {product}?"
            ))
        })
    }
}

/// Message about a redirect, with its origin only: path and query may hold a secret.
fn elsewhere(product: &str, location: Option<&str>) -> String {
    let origin = location.and_then(|location| {
        let (scheme, rest) = location.split_once("://")?;
        let authority = rest.split(['/', '?', '#', '\\']).next()?;
        let host = authority.rsplit('@').next()?;
        (matches!(scheme, "http" | "https") && !host.is_empty()).then(|| format!("{scheme}://{host}"))
    });
    match origin {
        Some(origin) => {
            format!(
                "{product} redirects to {origin}: if that is the server, enter its address as the base URL"
            )
        }
        None => format!("{product} redirects to another page: is the base URL complete?"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn answer(status: u16, location: Option<&str>, body: &str) -> Answer {
        Answer {
            status,
            location: location.map(str::to_owned),
            body: body.as_bytes().to_vec(),
        }
    }

    #[test]
    fn statuses() {
        let of = |status| answer(status, None, "").good("Plex").map(|_| ());
        assert_eq!(of(204), Ok(()));
        let said = "Plex responded with HTTP 401.".to_owned();
        assert_eq!(of(401), Err(Fault::Auth(said)));
        assert!(matches!(of(503), Err(Fault::Status { status: 503, .. })));
        let led = answer(302, Some("https://u:p@away.test/x?token=secret"), "").good("Plex");
        match led.map(|_| ()) {
            Err(Fault::Redirected(why)) => {
                assert!(
                    why.contains("https://away.test:") && !why.contains("secret") && !why.contains("u:p"),
                    "{why}"
                );
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn documents_that_are_none_say_what_they_are() {
        for (body, says) in [
            ("", "nothing"),
            (" <html>", "a page or XML"),
            ("{\"a\":[1,", "breaks off"),
            ("pong", "something else"),
        ] {
            match answer(200, None, body).json("Kodi") {
                Err(Fault::Unparsable(why)) => assert!(why.contains(says), "{body}: {why}"),
                other => panic!("{body}: {other:?}"),
            }
        }
    }

    proptest! {
        #[test]
        fn no_answer_is_too_odd(status in 0_u16..1000, location in "\\PC{0,40}", body in prop::collection::vec(any::<u8>(), 0..100)) {
            let odd = Answer { status, location: Some(location), body };
            if let Ok(good) = odd.good("Plex") {
                let _ = good.json("Plex");
            }
        }
    }
}
