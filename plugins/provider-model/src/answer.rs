//! Check that an answer is a document of the API: statuses, the API's own errors, web pages.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::Value;

use crate::model::Fault;

/// Limit of an answer, in bytes.
pub const MAX_BODY: u64 = 4 << 20;
/// The most values in an answer: each costs more memory than its text has bytes.
const MAX_VALUES: usize = 500_000;
/// Longest pause that is believed, in seconds.
const MAX_PAUSE: u64 = 24 * 3600;

/// Product that answers.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    /// Name for people.
    pub name: &'static str,
    /// Code and description of an error of its API, where a document is one.
    pub error: fn(&Value) -> Option<(String, String)>,
}

/// An answer whose body has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    pub status: u16,
    pub retry_after: Option<&'a str>,
    pub location: Option<&'a str>,
    pub body: &'a [u8],
    /// Unix milliseconds.
    pub now: u64,
}

/// The document of an answer; `expected` names it, for people.
pub fn document(product: Product, answer: Answer<'_>, expected: &str) -> Result<Value, Fault> {
    let (status, name) = (answer.status, product.name);
    if (300..400).contains(&status) {
        let to = answer.location.and_then(place);
        let to = to.map_or_else(String::new, |to| format!(" to {to}"));
        return Err(Fault::Redirected(format!(
            "{name} redirects{to}, which is not followed: check the base URL"
        )));
    }
    if !(200..300).contains(&status) {
        return Err(bad_status(product, answer));
    }
    let body = trimmed(answer.body);
    if body.is_empty() {
        return Err(Fault::Unparsable(format!(
            "{name} answered nothing where {expected} was expected"
        )));
    }
    if body.first() == Some(&b'<') {
        return Err(Fault::Unparsable(format!(
            "{name} answered a web page where {expected} was expected: check the base URL, and what stands between"
        )));
    }
    let values = body
        .iter()
        .filter(|byte| matches!(byte, b',' | b'[' | b'{'))
        .count();
    if values > MAX_VALUES {
        return Err(Fault::TooLarge(format!(
            "{name} answered more than {MAX_VALUES} values"
        )));
    }
    let document: Value = serde_json::from_slice(body).map_err(|_| {
        Fault::Unparsable(format!(
            "{name} answered something that is no JSON, or the begin of some, where {expected} was expected"
        ))
    })?;
    if !document.is_object() {
        return Err(Fault::Unparsable(format!(
            "{name} answered other JSON where {expected} was expected"
        )));
    }
    Ok(document)
}

fn trimmed(body: &[u8]) -> &[u8] {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    body.trim_ascii()
}

/// Scheme and host of a redirect, never its query, which may repeat the key.
fn place(location: &str) -> Option<String> {
    let (scheme, rest) = location.trim().split_once("://")?;
    let host = rest.split(['/', '?', '#', '\\']).next()?;
    let host = host.rsplit('@').next()?;
    let sound = |text: &str| !text.is_empty() && text.len() <= 100 && !text.contains(char::is_control);
    (sound(scheme) && sound(host)).then(|| format!("{scheme}://{host}"))
}

/// Code and description of an error, as lines.
fn read_error(product: Product, document: &Value) -> Option<(String, String)> {
    let (code, description) = (product.error)(document)?;
    let line = |text: &str| {
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ").chars().take(300).collect()
    };
    Some((line(&code), line(&description)))
}

fn bad_status(product: Product, answer: Answer<'_>) -> Fault {
    let (status, name) = (answer.status, product.name);
    let body = trimmed(answer.body);
    // An error is short; what is long is none.
    let document: Option<Value> = (body.len() < 64 << 10)
        .then(|| serde_json::from_slice(body).ok())
        .flatten();
    let error = document.and_then(|document| read_error(product, &document));
    let words = match &error {
        Some((code, description)) => format!("{name} answered HTTP {status} ({code}: {description})"),
        None => format!("{name} answered HTTP {status}"),
    };
    let seconds = answer.retry_after.and_then(|text| pause(text, answer.now));
    match (status, &error) {
        (429, _) => Fault::Throttled {
            seconds,
            message: words,
        },
        (503, _) if seconds.is_some() => Fault::Throttled {
            seconds,
            message: words,
        },
        (401 | 403, _) => Fault::Auth(format!("{words}: it refuses the key")),
        // A 404 that is not the API's own says that the base URL leads elsewhere.
        (404, Some(_)) => Fault::NotFound(words),
        (_, Some((code, description))) if (400..500).contains(&status) => Fault::Api {
            code: code.clone(),
            description: description.clone(),
        },
        _ => Fault::Status {
            status,
            message: words,
        },
    }
}

/// Seconds of a `Retry-After`: a number, or a date.
fn pause(text: &str, now: u64) -> Option<u32> {
    let text = text.trim();
    let seconds = match text.parse::<u64>() {
        Ok(seconds) => seconds,
        Err(_) => {
            let until = httpdate::parse_http_date(text).ok()?;
            let now = UNIX_EPOCH + Duration::from_millis(now);
            let left = until.duration_since(now).unwrap_or_default();
            left.as_secs() + u64::from(left.subsec_nanos() > 0)
        }
    };
    u32::try_from(seconds.min(MAX_PAUSE)).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::json::text;

    const TEST: Product = Product {
        name: "TMDB",
        error: |document| {
            let code = document.get("status_code")?.as_u64()?.to_string();
            Some((code, text(document, "status_message")?))
        },
    };
    const NOW: u64 = 1_714_550_400_000; // 2024-05-01 08:00:00

    fn ask(status: u16, body: &str) -> Result<Value, Fault> {
        with(status, None, None, body)
    }

    fn with(
        status: u16,
        retry_after: Option<&str>,
        location: Option<&str>,
        body: &str,
    ) -> Result<Value, Fault> {
        let answer = Answer {
            status,
            retry_after,
            location,
            body: body.as_bytes(),
            now: NOW,
        };
        document(TEST, answer, "a list of titles")
    }

    #[test]
    fn documents_are_objects() {
        assert!(ask(200, "\u{feff} {\"a\":1}\n").is_ok());
        for (body, says) in [
            ("", "nothing"),
            (" \n", "nothing"),
            ("<!DOCTYPE html><html>", "web page"),
            ("{\"a\":", "no JSON"),
            ("garbage", "no JSON"),
            ("[]", "other JSON"),
            ("null", "other JSON"),
            (&"[".repeat(100_000), "no JSON"),
        ] {
            match ask(200, body) {
                Err(Fault::Unparsable(why)) => assert!(why.contains(says), "{body}: {why}"),
                other => panic!("{body}: {other:?}"),
            }
        }
        let many = format!("[{}0]", "0,".repeat(MAX_VALUES));
        assert!(matches!(ask(200, &many), Err(Fault::TooLarge(_))));
    }

    #[test]
    fn errors_of_the_api() {
        let refused = r#"{"status_code":7,"status_message":"Invalid API key:\n You must be granted a valid key.","success":false}"#;
        assert_eq!(
            ask(401, refused),
            Err(Fault::Auth(
                "TMDB answered HTTP 401 (7: Invalid API key: You must be granted a valid key.): it refuses the key"
                    .to_owned()
            ))
        );
        let unknown = r#"{"success":false,"status_code":34,"status_message":"The resource you requested could not be found."}"#;
        assert!(matches!(ask(404, unknown), Err(Fault::NotFound(_))));
        assert!(matches!(
            ask(404, "<html>"),
            Err(Fault::Status { status: 404, .. })
        ));
        assert!(matches!(
            ask(502, "<html>"),
            Err(Fault::Status { status: 502, .. })
        ));
        assert!(matches!(ask(503, ""), Err(Fault::Status { status: 503, .. })));
        let page = r#"{"success":false,"status_code":22,"status_message":"Invalid page"}"#;
        let expected = Fault::Api {
            code: "22".to_owned(),
            description: "Invalid page".to_owned(),
        };
        assert_eq!(ask(422, page), Err(expected));
    }

    #[test]
    fn pauses() {
        for (text, expected) in [
            (Some("17"), Some(17)),
            (Some(" 0 "), Some(0)),
            (Some("99999999999"), Some(86_400)),
            (Some("Wed, 01 May 2024 08:02:00 GMT"), Some(120)),
            (Some("Wed, 01 May 2024 07:00:00 GMT"), Some(0)),
            (Some("soon"), None),
            (Some("-1"), None),
            (None, None),
        ] {
            match with(429, text, None, "") {
                Err(Fault::Throttled { seconds, .. }) => assert_eq!(seconds, expected, "{text:?}"),
                other => panic!("{other:?}"),
            }
        }
        assert!(matches!(
            with(503, Some("5"), None, ""),
            Err(Fault::Throttled { seconds: Some(5), .. })
        ));
    }

    #[test]
    fn redirects_are_told_without_their_query() {
        match with(302, None, Some("https://u:p@login.test/x?api_key=secret"), "") {
            Err(Fault::Redirected(why)) => {
                assert!(why.contains("https://login.test,"), "{why}");
                assert!(!why.contains("secret") && !why.contains("u:p"), "{why}");
            }
            other => panic!("{other:?}"),
        }
        assert!(matches!(with(301, None, None, ""), Err(Fault::Redirected(_))));
    }

    proptest! {
        #[test]
        fn no_answer_is_too_odd(status in 100_u16..600, body in prop::collection::vec(any::<u8>(), 0..300), after in "\\PC{0,30}") {
            let answer = Answer { status, retry_after: Some(&after), location: Some(&after), body: &body, now: NOW };
            let _ = document(TEST, answer, "x");
        }
    }
}
