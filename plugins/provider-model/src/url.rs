//! Base URLs as people enter them, and URLs below them.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::model::Fault;

/// Characters that are encoded in the value of a parameter: all but letters, digits and these.
const PARAMETER: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b',');

/// The base URL as requests take it: without a query and a slash at its end.
pub fn base(entered: Option<&str>, default: &str) -> Result<String, Fault> {
    let Some(entered) = entered else {
        return Ok(default.to_owned());
    };
    let invalid = || {
        Fault::InvalidConfig(
            "`baseUrl` must be a URL like https://host/3, without a user name and a query".to_owned(),
        )
    };
    let (scheme, rest) = entered.trim().split_once("://").ok_or_else(invalid)?;
    let authority = rest.split('/').next().unwrap_or_default();
    let sound = matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https")
        && !authority.is_empty()
        && !authority.contains('@')
        && !rest.contains(|c: char| matches!(c, '?' | '#' | '\\') || c.is_control() || c.is_whitespace());
    if sound {
        Ok(entered.trim().trim_end_matches('/').to_owned())
    } else {
        Err(invalid())
    }
}

/// A URL with these parameters.
pub fn with_query<'p>(mut url: String, params: impl Iterator<Item = (&'p str, &'p str)>) -> String {
    let mut glue = '?';
    for (name, value) in params {
        url.push(glue);
        url.push_str(name);
        url.push('=');
        url.extend(utf8_percent_encode(value, PARAMETER));
        glue = '&';
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bases() {
        const BASE: &str = "https://api.test/3";
        assert_eq!(base(None, BASE).as_deref(), Ok(BASE));
        for (entered, expected) in [
            ("http://127.0.0.1:81/3/", Some("http://127.0.0.1:81/3")),
            (" HTTPS://h ", Some("HTTPS://h")),
            ("h/3", None),
            ("ftp://h/3", None),
            ("http://", None),
            ("http:///3", None),
            ("http://u:p@h/3", None),
            ("http://h/3?a=b", None),
            ("http://h/3#a", None),
            ("http://h/ 3", None),
        ] {
            assert_eq!(base(Some(entered), BASE).ok().as_deref(), expected, "{entered}");
        }
    }

    #[test]
    fn values_of_a_query() {
        let params = [("q", "a b&c=d/\u{e4}"), ("l", "en,null")];
        assert_eq!(
            with_query("http://h/x".to_owned(), params.into_iter()),
            "http://h/x?q=a%20b%26c%3Dd%2F%C3%A4&l=en,null"
        );
        assert_eq!(with_query("http://h".to_owned(), [].into_iter()), "http://h");
    }
}
