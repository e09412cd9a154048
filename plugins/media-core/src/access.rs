//! Address of a server, and its credentials.

use crate::model::Fault;

/// A configuration, as far as any of the products takes it.
#[derive(Clone, Default)]
pub struct Access {
    /// Without a slash at its end.
    pub base: String,
    pub token: Option<String>,
    pub api_key: Option<String>,
    pub username: Option<String>,
    pub password: Option<String>,
    /// The library that is refreshed; none: all.
    pub section: Option<String>,
}

/// The base URL as requests take it.
pub fn base(entered: Option<&str>) -> Result<String, Fault> {
    let entered = entered.map(str::trim).filter(|text| !text.is_empty());
    let entered = entered.ok_or_else(|| Fault::InvalidConfig("baseUrl is required".to_owned()))?;
    let invalid = || {
        Fault::InvalidConfig(
            "baseUrl must be a URL like http://host:32400, without a user name and a query".to_owned(),
        )
    };
    let (scheme, rest) = entered.split_once("://").ok_or_else(invalid)?;
    let authority = rest.split('/').next().unwrap_or_default();
    let sound = matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https")
        && !authority.is_empty()
        && !authority.contains('@')
        && !rest.contains(|c: char| matches!(c, '?' | '#' | '\\') || c.is_control() || c.is_whitespace());
    if sound {
        Ok(entered.trim_end_matches('/').to_owned())
    } else {
        Err(invalid())
    }
}

impl Access {
    /// Access with this address; the caller fills in the rest.
    pub fn with_address(entered: Option<&str>) -> Result<Self, Fault> {
        Ok(Self {
            base: base(entered)?,
            ..Self::default()
        })
    }

    /// A URL below the base URL; `path` begins with a slash.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }
}

/// A secret that may stand in a header: what may not would be a header of its own.
pub fn secret<'a>(given: Option<&'a str>, missing: &str) -> Result<&'a str, Fault> {
    let given = given.map(str::trim).filter(|text| !text.is_empty());
    let given = given.ok_or_else(|| Fault::InvalidConfig(missing.to_owned()))?;
    if given
        .bytes()
        .all(|byte| (0x21..0x7f).contains(&byte) && byte != b'"')
    {
        Ok(given)
    } else {
        Err(Fault::InvalidConfig(format!(
            "{} It holds characters that no such secret has.",
            missing.replace(" is required", " is wrong")
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bases() {
        for (entered, expected) in [
            ("http://127.0.0.1:32400//", Some("http://127.0.0.1:32400")),
            (" HTTPS://h/jellyfin/ ", Some("HTTPS://h/jellyfin")),
            ("h:32400", None),
            ("ftp://h", None),
            ("http://", None),
            ("http://u:p@h", None),
            ("http://h?x=1", None),
            ("http://h\r\n", Some("http://h")),
            ("http://h\r\nx: y", None),
        ] {
            assert_eq!(base(Some(entered)).ok().as_deref(), expected, "{entered}");
        }
        for none in [None, Some(""), Some("  ")] {
            assert_eq!(
                base(none),
                Err(Fault::InvalidConfig("baseUrl is required".to_owned()))
            );
        }
    }

    #[test]
    fn secrets_are_one_word() {
        assert_eq!(secret(Some(" abc "), "x"), Ok("abc"));
        for bad in ["a b", "a\r\nx: y", "a\"", "\u{e4}"] {
            assert!(secret(Some(bad), "Plex token is required.").is_err(), "{bad}");
        }
    }
}
