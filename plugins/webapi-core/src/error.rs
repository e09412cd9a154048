//! Errors of a call, in the words every engine plugin uses, and how the client's statuses become one of them.

use crate::http::{Answer, NetError};

/// Characters of the client's own text that an error may carry.
const EXCERPT_CHARS: usize = 200;

pub use engine_model::{Error, Subject};

/// True when the client itself is out of reach, so that trying the next torrent is pointless.
pub(crate) fn is_transport(error: &Error) -> bool {
    matches!(error, Error::Unreachable(_) | Error::Timeout(_) | Error::Auth(_))
}

impl From<NetError> for Error {
    fn from(error: NetError) -> Self {
        match error {
            NetError::Denied(what) => {
                Error::InvalidConfig(format!("baseUrl does not cover what was asked: {what}"))
            }
            NetError::Timeout => Error::Timeout("no answer in time".into()),
            NetError::Refused => Error::Unreachable("connection refused".into()),
            NetError::Closed => {
                Error::Unreachable("the connection closed before the answer was complete".into())
            }
            NetError::TooLarge => Error::Protocol("the answer is larger than was agreed".into()),
            NetError::Other(text) => Error::Unreachable(text),
        }
    }
}

/// Lets 2xx through and gives everything else a meaning. A 404 is taken for an unknown torrent: it is what the client
/// says on every call that names one; a call that names none maps it before.
pub(crate) fn checked<A: Answer>(mut answer: A) -> Result<A, Error> {
    let status = answer.status();
    Err(match status {
        200..=299 => return Ok(answer),
        300..=399 => Error::Protocol(redirected(&answer)),
        401 => {
            Error::Auth("the client refuses the request (401): credentials, or its Host header check".into())
        }
        403 => Error::Auth(format!("the client forbids it (403): {}", excerpt(&mut answer))),
        404 => Error::NotFound(Subject::Torrent),
        400 | 409 | 413 | 415 | 422 => Error::Rejected(excerpt_or(&mut answer, status)),
        429 => Error::Unreachable("asked too often (429)".into()),
        502..=504 => Error::Unreachable(format!("a proxy answered {status}: {}", excerpt(&mut answer))),
        _ => Error::Protocol(format!("unexpected status {status}: {}", excerpt(&mut answer))),
    })
}

pub(crate) fn redirected<A: Answer>(answer: &A) -> String {
    let location = answer
        .header_values("location")
        .into_iter()
        .next()
        .unwrap_or_default();
    format!(
        "redirects to `{}` ({}); set baseUrl to where the Web UI really is",
        clean(location.as_bytes()),
        answer.status()
    )
}

/// The beginning of an answer's body, fit for one line.
pub(crate) fn excerpt<A: Answer>(answer: &mut A) -> String {
    // Whatever arrives first will do: the text only helps a person.
    match answer.read(1024) {
        Ok(bytes) if !bytes.is_empty() => clean(&bytes),
        _ => "no text".into(),
    }
}

fn excerpt_or<A: Answer>(answer: &mut A, status: u16) -> String {
    match excerpt(answer) {
        text if text == "no text" => format!("status {status}"),
        text => text,
    }
}

pub(crate) fn clean(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let flat = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    flat.take(EXCERPT_CHARS).collect::<String>().trim().to_owned()
}

pub(crate) fn garbled(what: &str, error: &serde_json::Error) -> Error {
    use serde_json::error::Category;
    // The error's own text may hold a value, and that may be a name or a secret.
    let fault = match error.classify() {
        Category::Data => "a value is of another type",
        Category::Eof => "it ends too early",
        Category::Syntax | Category::Io => "it is no JSON",
    };
    Error::Protocol(format!(
        "{what} is not what the Web API says: {fault}, at line {} column {}",
        error.line(),
        error.column()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::canned::Canned;

    #[test]
    fn statuses_have_meanings() {
        let of = |status| checked(Canned::new(status, "why")).map(|_| ()).unwrap_err();
        assert!(checked(Canned::new(204, "")).is_ok());
        assert_eq!(of(404), Error::NotFound(Subject::Torrent));
        assert_eq!(of(409), Error::Rejected("why".into()));
        assert_eq!(of(415), Error::Rejected("why".into()));
        assert!(matches!(of(401), Error::Auth(_)));
        assert!(matches!(of(403), Error::Auth(_)));
        assert!(matches!(of(302), Error::Protocol(_)));
        assert!(matches!(of(500), Error::Protocol(_)));
        assert!(matches!(of(502), Error::Unreachable(_)));
    }

    #[test]
    fn a_clients_text_is_cut_and_flattened() {
        let long = format!("a\r\n\u{1b}[31m{}", "é".repeat(5000));
        let text = excerpt(&mut Canned::new(500, &long));
        assert!(text.chars().count() <= EXCERPT_CHARS);
        assert!(!text.chars().any(char::is_control));
    }

    #[test]
    fn an_error_of_json_names_no_value() {
        for (json, fault) in [
            (r#"{"name": "secret"}"#, "another type"),
            (r#"["secret"#, "too early"),
            ("[secret]", "no JSON"),
        ] {
            let error = serde_json::from_str::<Vec<u8>>(json).unwrap_err();
            let text = garbled("a list", &error).to_string();
            assert!(text.contains(fault) && !text.contains("secret"), "{text}");
        }
    }

    #[test]
    fn a_redirect_names_its_goal() {
        let answer = Canned::new(302, "").with_header("Location", "https://elsewhere/login");
        assert!(redirected(&answer).contains("https://elsewhere/login"));
    }
}
