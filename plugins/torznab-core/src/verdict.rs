//! Check of an answer before its document is read: statuses, web pages, errors of the protocol.

use qm_feeds::decode;
use qm_loose_xml::{Element, Node};

use crate::date::unix_ms;
use crate::model::Fault;
use crate::page::{self, Page};
use crate::xml::walk;

/// An answer whose body has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    pub status: u16,
    pub content_type: Option<&'a str>,
    pub retry_after: Option<&'a str>,
    pub body: &'a [u8],
    /// Unix milliseconds.
    pub now: i64,
}

/// Longest pause that is believed, in seconds.
const MAX_PAUSE: i64 = 24 * 3600;

/// The text of an answer that may be a document of the protocol, with what is odd about its encoding; `expected` names the
/// document, for people.
pub fn document(answer: Answer<'_>, expected: &str) -> Result<(String, Option<String>), Fault> {
    let (text, odd) = decode(answer.body, answer.content_type);
    let is_page = page::is_page(&text);
    let status = answer.status;
    if !(200..300).contains(&status) {
        return Err(bad_status(answer, &text, is_page));
    }
    if text.trim().is_empty() {
        return Err(Fault::Unparsable(format!(
            "answered an empty document where {expected} was expected"
        )));
    }
    if answer.body.starts_with(&[0x1f, 0x8b]) {
        return Err(Fault::Unparsable(format!(
            "answered compressed data, which was not asked for, where {expected} was expected"
        )));
    }
    if is_page {
        return Err(web_page(&text, expected));
    }
    if text.trim_start().starts_with(['{', '[']) {
        return Err(Fault::Unparsable(format!(
            "answered JSON where {expected} was expected"
        )));
    }
    Ok((text, odd))
}

fn bad_status(answer: Answer<'_>, text: &str, is_page: bool) -> Fault {
    let status = answer.status;
    let told = api_error(text).map(|(code, description)| format!("{code}: {description}"));
    let words = |more: &str| match &told {
        Some(told) => format!("HTTP {status} ({told})"),
        None if more.is_empty() => format!("HTTP {status}"),
        None => format!("HTTP {status}: {more}"),
    };
    let seconds = answer.retry_after.and_then(|text| pause(text, answer.now));
    if status == 429 || (status == 503 && seconds.is_some()) {
        let message = words("it asks to be left alone for a while");
        return Fault::Throttled { seconds, message };
    }
    match page::kind(text) {
        Page::Captcha if is_page => Fault::Captcha(words(
            "it, or what stands before it, wants to see a person (a captcha)",
        )),
        Page::Login if is_page && matches!(status, 401 | 403) => {
            Fault::LoginPage(words("it answered a page on which people sign in"))
        }
        _ if matches!(status, 401 | 403) => Fault::Auth(words("it refuses the API key")),
        _ => Fault::Status {
            status,
            message: words(""),
        },
    }
}

fn web_page(text: &str, expected: &str) -> Fault {
    // Not what stands on it: whoever may name an address need not see what answers there.
    match page::kind(text) {
        Page::Login => Fault::LoginPage(format!(
            "answered a page on which people sign in where {expected} was expected: check the base URL and the API key"
        )),
        Page::Captcha => Fault::Captcha(
            "answered a page that wants to see a person, a captcha: open the indexer in a browser, or use an aggregator that can".to_owned(),
        ),
        Page::Other => Fault::Unparsable(format!(
            "answered a web page where {expected} was expected: check the base URL"
        )),
    }
}

/// Seconds of a `Retry-After`: a number, or a date.
fn pause(text: &str, now: i64) -> Option<u32> {
    let seconds = match text.trim().parse::<i64>() {
        Ok(seconds) => seconds,
        Err(_) => (unix_ms(text)? - now + 999) / 1000,
    };
    u32::try_from(seconds.clamp(0, MAX_PAUSE)).ok()
}

/// Code and description of an `<error>` document.
fn api_error(text: &str) -> Option<(String, String)> {
    let mut walk = walk(text);
    while let Some(node) = walk.next_node() {
        if let Node::Open(element) = node {
            return (element.name == "error").then(|| read_error(&element));
        }
    }
    None
}

fn read_error(element: &Element) -> (String, String) {
    let line = |name: &str, most: usize| {
        let words: Vec<&str> = element
            .attribute(name)
            .unwrap_or_default()
            .split_whitespace()
            .collect();
        words.join(" ").chars().take(most).collect::<String>()
    };
    let (code, description) = (line("code", 40), line("description", 300));
    let or = |text: String, other: &str| if text.is_empty() { other.to_owned() } else { text };
    (or(code, "error"), or(description, "no description"))
}

/// The fault of an `<error>`: 1xx are about accounts, and two codes about having asked too often.
pub(crate) fn api_fault(element: &Element) -> Fault {
    let (code, description) = read_error(element);
    fault_of(code, description)
}

pub(crate) fn fault_of(code: String, description: String) -> Fault {
    match code.as_str() {
        "100" | "101" | "102" => Fault::Auth(format!("{code}: {description}")),
        "429" | "500" | "501" => Fault::Throttled {
            seconds: None,
            message: format!("{code}: {description}"),
        },
        _ => Fault::Api { code, description },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_714_550_400_000;

    fn ask(status: u16, retry_after: Option<&str>, body: &str) -> Result<String, Fault> {
        let answer = Answer {
            status,
            content_type: Some("text/xml"),
            retry_after,
            body: body.as_bytes(),
            now: NOW,
        };
        document(answer, "a feed").map(|(text, _)| text)
    }

    #[test]
    fn a_document_is_handed_on() {
        assert_eq!(ask(200, None, "<rss/>"), Ok("<rss/>".to_owned()));
        assert_eq!(
            ask(200, None, "<error code='1'/>"),
            Ok("<error code='1'/>".to_owned())
        );
    }

    #[test]
    fn each_wrong_answer_is_a_fault_of_its_own() {
        let login = "<html><title>Orchard</title><form><input type='password'></form>";
        let captcha = "<!doctype html><title>Just a moment...</title>";
        let gateway = "<html><head><title>502 Bad Gateway</title></head>";
        let words = |result: Result<String, Fault>| match result.unwrap_err() {
            Fault::Auth(text) => ("auth", text),
            Fault::Throttled { message, .. } => ("throttled", message),
            Fault::LoginPage(text) => ("login", text),
            Fault::Captcha(text) => ("captcha", text),
            Fault::Unparsable(text) => ("unparsable", text),
            Fault::Api { code, .. } => ("api", code),
            Fault::Status { message, .. } => ("status", message),
        };
        for (status, body, kind, says) in [
            (200, login, "login", "people sign in where"),
            (200, captcha, "captcha", "wants to see a person"),
            (200, gateway, "unparsable", "a web page where"),
            (200, "", "unparsable", "an empty document"),
            (200, " \r\n", "unparsable", "an empty document"),
            (200, "{\"error\":1}", "unparsable", "JSON"),
            (403, captcha, "captcha", "HTTP 403"),
            (403, login, "login", "HTTP 403"),
            (401, "no", "auth", "HTTP 401"),
            (
                403,
                "<error code='101' description='Account suspended'/>",
                "auth",
                "HTTP 403 (101: Account suspended)",
            ),
            (500, gateway, "status", "HTTP 500"),
            (404, login, "status", "HTTP 404"),
            (
                400,
                "<error code='201' description='Incorrect parameter'/>",
                "status",
                "HTTP 400 (201: Incorrect parameter)",
            ),
            (429, gateway, "throttled", "HTTP 429"),
            (503, captcha, "captcha", "HTTP 503"),
            (304, "", "status", "HTTP 304"),
        ] {
            let (told, text) = words(ask(status, None, body));
            assert_eq!(told, kind, "{status} {body}: {text}");
            assert!(text.contains(says), "{status} {body}: {text}");
        }
    }

    #[test]
    fn pauses_are_read_and_bounded() {
        let seconds = |status, after| match ask(status, after, "").unwrap_err() {
            Fault::Throttled { seconds, .. } => seconds,
            other => panic!("{other:?}"),
        };
        assert_eq!(seconds(429, None), None);
        assert_eq!(seconds(429, Some("17")), Some(17));
        assert_eq!(seconds(503, Some(" 5 ")), Some(5));
        assert_eq!(seconds(429, Some("Wed, 01 May 2024 08:01:00 GMT")), Some(60));
        assert_eq!(seconds(429, Some("Wed, 01 May 2020 08:01:00 GMT")), Some(0));
        assert_eq!(seconds(429, Some("999999999")), Some(86_400));
        assert_eq!(seconds(429, Some("soon")), None);
        assert!(matches!(
            ask(503, None, ""),
            Err(Fault::Status { status: 503, .. })
        ));
    }
}
