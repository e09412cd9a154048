//! Port for areas that follow feeds: the network's guarded fetch, with readable errors of a site.

use async_trait::async_trait;
use qm_feeds::FeedError;
use qm_net::{FeedAnswer, FeedBody, FeedFault, FeedLimits, Net};
use qm_ports::feed::{FeedSource, FetchError, Fetched, Validators};

/// Fetches feeds through the URL guard of `net`.
#[derive(Clone)]
pub struct GuardedFeeds {
    net: Net,
}

impl GuardedFeeds {
    pub fn new(net: Net) -> Self {
        Self { net }
    }
}

#[async_trait]
impl FeedSource for GuardedFeeds {
    async fn fetch(&self, url: &str, validators: &Validators) -> Result<Fetched, FetchError> {
        let (etag, date) = (validators.etag.as_deref(), validators.last_modified.as_deref());
        let answer = self.net.fetch_feed(url, etag, date, FeedLimits::default()).await;
        match answer.map_err(to_fetch_error)? {
            FeedAnswer::NotModified => Ok(Fetched::NotModified),
            FeedAnswer::Body(body) => Ok(Fetched::Body {
                bytes: body.bytes,
                content_type: body.content_type,
                etag: body.etag,
                last_modified: body.last_modified,
            }),
        }
    }
}

fn to_fetch_error(fault: FeedFault) -> FetchError {
    let message = fault.to_string();
    match fault {
        FeedFault::Refused(text) => FetchError::Refused(text),
        FeedFault::Unreachable(text) => FetchError::Unreachable(text),
        FeedFault::Timeout(text) => FetchError::Timeout(text),
        FeedFault::TooLarge(text) => FetchError::TooLarge(text),
        FeedFault::Unusable(text) => FetchError::Unusable(text),
        FeedFault::Status {
            status,
            retry_after,
            body,
            ..
        } => of_status(status, retry_after, &body, message),
    }
}

/// Error for an HTTP status, with details from the body, e.g. that a captcha is the cause, not a wrong key.
fn of_status(status: u16, retry_after: Option<u32>, body: &FeedBody, message: String) -> FetchError {
    let message = match qm_feeds::read(&body.bytes, body.content_type.as_deref()) {
        Err(
            why @ (FeedError::LoginPage { .. }
            | FeedError::Challenge { .. }
            | FeedError::Told { .. }
            | FeedError::PlainText(_)),
        ) => format!("{message}: {why}"),
        _ => message,
    };
    if status == 429 || status == 503 && retry_after.is_some() {
        let pause = retry_after.map_or_else(|| "a while".to_owned(), |seconds| format!("{seconds} s"));
        return FetchError::Throttled {
            seconds: retry_after,
            message: format!("{message}; it asks to be left alone for {pause}"),
        };
    }
    FetchError::Status { status, message }
}

#[cfg(test)]
mod tests {
    use qm_net::NetConfig;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// Result of fetching one answer.
    async fn fetched(answer: &str, validators: &Validators) -> Result<Fetched, FetchError> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let answer = answer.to_owned();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            assert!(stream.read(&mut [0; 4096]).await.unwrap() > 0);
            stream.write_all(answer.as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
        });
        let net = Net::new(NetConfig {
            ssrf_allow_hosts: vec!["127.0.0.1".to_owned()],
            ..NetConfig::default()
        });
        let feeds = GuardedFeeds::new(net.unwrap());
        let url = format!("http://127.0.0.1:{port}/rss?passkey=hidden");
        feeds.fetch(&url, validators).await
    }

    fn error(status: &str, body: &str) -> String {
        format!(
            "HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
    }

    #[tokio::test]
    async fn documents_pass_as_they_are() {
        let none = Validators::default();
        let body = fetched(
            "HTTP/1.1 200 OK\r\ncontent-type: text/xml\r\netag: \"1\"\r\ncontent-length: 6\r\n\r\n<rss/>",
            &none,
        )
        .await;
        let expected = Fetched::Body {
            bytes: "<rss/>".into(),
            content_type: Some("text/xml".to_owned()),
            etag: Some("\"1\"".to_owned()),
            last_modified: None,
        };
        assert_eq!(body, Ok(expected));
        let known = Validators {
            etag: Some("\"1\"".to_owned()),
            last_modified: None,
        };
        let same = fetched("HTTP/1.1 304 Not Modified\r\n\r\n", &known).await;
        assert_eq!(same, Ok(Fetched::NotModified));
    }

    #[tokio::test]
    async fn errors_say_what_came_with_them() {
        let captcha = "<html><title>Just a moment...</title></html>";
        for (answer, says, pause) in [
            (
                error("429 Too Many Requests\r\nretry-after: 60", ""),
                "answered HTTP 429 (Too Many Requests); it asks to be left alone for 60 s",
                Some(60),
            ),
            (error("429 Too Many Requests", ""), "left alone for a while", None),
            (
                error("503 Service Unavailable\r\nretry-after: 9", captcha),
                "wants to see a person",
                Some(9),
            ),
            (
                error("503 Service Unavailable", ""),
                "`127.0.0.1` answered HTTP 503 (Service Unavailable)",
                None,
            ),
            (
                error("403 Forbidden", captcha),
                "answered HTTP 403 (Forbidden): the site, or what stands before it, answered a page that wants to see a person",
                None,
            ),
            (
                error("401 Unauthorized", "<error code='100' description='Bad key'/>"),
                "the error 100: Bad key",
                None,
            ),
            (
                error("400 Bad Request", "Invalid passkey"),
                "\"Invalid passkey\"",
                None,
            ),
            (
                error("500 Internal Server Error", "<html>oops</html>"),
                "HTTP 500 (Internal Server Error)",
                None,
            ),
        ] {
            let fault = fetched(&answer, &Validators::default()).await.unwrap_err();
            assert!(fault.to_string().contains(says), "{fault}");
            assert!(!fault.to_string().contains("hidden"), "{fault}");
            assert_eq!(fault.retry_after(), pause, "{fault:?}");
        }
    }

    #[tokio::test]
    async fn what_leads_inside_is_refused_by_the_guards_sentence() {
        let feeds = GuardedFeeds::new(Net::new(NetConfig::default()).unwrap());
        let fault = feeds
            .fetch("http://127.0.0.1:1/rss?passkey=hidden", &Validators::default())
            .await
            .unwrap_err();
        let says = "`127.0.0.1` resolves to a blocked internal address (an administrator can allow the host in SSRF_ALLOW_HOSTS)";
        assert_eq!(fault, FetchError::Refused(says.to_owned()));
    }
}
