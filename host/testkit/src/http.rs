//! The plain HTTP client of the tests: bodies read whole, nothing followed, nothing retried, no cookies.

use std::net::{IpAddr, Ipv4Addr};

use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::contract;

/// A client; clones share connections.
#[derive(Clone)]
pub struct Http(reqwest::Client);

/// A whole answer.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: bytes::Bytes,
}

impl Reply {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// When it is none, showing it.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error} in answer {}: {}", self.status, self.text()))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// A request that is being put together.
pub struct Request {
    client: reqwest::Client,
    /// Method and path of an operation of ours, whose answer is held against the API document.
    operation: Option<(String, String)>,
    inner: reqwest::RequestBuilder,
}

impl Default for Http {
    fn default() -> Self {
        Self::new()
    }
}

impl Http {
    pub fn new() -> Http {
        Self::build(None)
    }

    /// A client whose connections come from this address of 127.0.0.0/8.
    pub fn from_address(address: Ipv4Addr) -> Http {
        Self::build(Some(address.into()))
    }

    fn build(local: Option<IpAddr>) -> Http {
        // Fails when another test of this process installed it already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .local_address(local)
            .build();
        Http(client.expect("a client without options that can fail"))
    }

    pub fn request(&self, method: &str, url: &str) -> Request {
        let method = Method::from_bytes(method.as_bytes()).expect("an HTTP method");
        Request {
            inner: self.0.request(method, url),
            client: self.0.clone(),
            operation: None,
        }
    }

    pub async fn get(&self, url: &str) -> Result<Reply, reqwest::Error> {
        self.request("GET", url).send().await
    }
}

impl Request {
    /// Marks it as one to our API, with its path as it stands in the document (the query may follow).
    pub(crate) fn of_api(self, method: &str, path: &str) -> Request {
        Request {
            operation: Some((method.to_owned(), path.to_owned())),
            ..self
        }
    }

    pub fn header(self, name: &str, value: &str) -> Request {
        Request {
            inner: self.inner.header(name, value),
            ..self
        }
    }

    pub fn body(self, content_type: &str, body: impl Into<bytes::Bytes>) -> Request {
        let inner = self.inner.header("content-type", content_type).body(body.into());
        Request { inner, ..self }
    }

    pub fn json(self, body: &Value) -> Request {
        self.body("application/json", body.to_string())
    }

    pub fn form(self, fields: &[(&str, &str)]) -> Request {
        let body = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        self.body("application/x-www-form-urlencoded", body)
    }

    /// `multipart/form-data` of text fields and files `(part name, file name, bytes)`.
    pub fn multipart(self, fields: &[(&str, &str)], files: &[(&str, &str, &[u8])]) -> Request {
        const BOUNDARY: &str = "quartermaster-test-7d1f3c";
        let mut body = Vec::new();
        for (name, value) in fields {
            let head =
                format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
            body.extend_from_slice(head.as_bytes());
        }
        for (name, file, bytes) in files {
            let head = format!(
                "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"{file}\"\r\n\
                 Content-Type: application/x-bittorrent\r\n\r\n"
            );
            body.extend_from_slice(head.as_bytes());
            body.extend_from_slice(bytes);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
        self.body(&format!("multipart/form-data; boundary={BOUNDARY}"), body)
    }

    /// Sends it and leaves the body to be read piece by piece.
    pub async fn open(self) -> Result<reqwest::Response, reqwest::Error> {
        self.client.execute(self.inner.build()?).await
    }

    pub async fn send(self) -> Result<Reply, reqwest::Error> {
        let operation = self.operation.clone();
        let answer = self.open().await?;
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let reply = Reply {
            status,
            headers,
            body: answer.bytes().await?,
        };
        // An answer without our request id is one of the proxy in front of us.
        if let Some((method, path)) = operation
            && reply.header("x-request-id").is_some()
        {
            contract::answer(&method, &path, &reply);
        }
        Ok(reply)
    }
}
