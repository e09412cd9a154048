//! Configuration that an operator enters: the URL of the client, and the login.

use serde_json::{Map, Value};

use crate::error::Error;

/// Milliseconds of silence that are borne when nothing was configured.
const TIMEOUT_MS: u32 = 15_000;

/// JSON Schema of the configuration, as `describe` gives it to the host. `baseUrl` alone grants anything.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "required": ["baseUrl"],
  "properties": {
    "baseUrl": {
      "type": "string", "maxLength": 500, "format": "uri", "x-grant": "http-url", "title": "Web UI address",
      "description": "Where the client's Web UI is, e.g. http://127.0.0.1:8080 or https://seedbox.example/qbittorrent"
    },
    "username": {
      "type": "string", "maxLength": 200, "default": "", "title": "User name",
      "description": "Of the Web UI. Empty when the client lets this machine in without a login"
    },
    "password": { "type": "string", "maxLength": 500, "default": "", "writeOnly": true, "title": "Password" },
    "timeoutMs": {
      "type": "integer", "minimum": 1, "maximum": 600000, "default": 15000, "title": "Timeout",
      "description": "Milliseconds of silence after which a call fails"
    }
  }
}"#;

/// A configuration that makes sense. Has no `Debug`: it holds the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Config {
    /// Scheme, host, port and path, without a slash at its end and without `/api/v2`.
    pub base_url: String,
    pub username: String,
    pub password: String,
    pub timeout_ms: u32,
}

impl Config {
    /// Reads the JSON object the host hands to `open`.
    pub fn parse(json: &str) -> Result<Config, Error> {
        let object: Map<String, Value> = serde_json::from_str(json)
            .map_err(|_| Error::InvalidConfig("the configuration is not a JSON object".into()))?;
        Ok(Config {
            base_url: base_url(&text(&object, "baseUrl")?)?,
            username: text(&object, "username")?,
            password: text(&object, "password")?,
            timeout_ms: timeout(&object)?,
        })
    }
}

fn text(object: &Map<String, Value>, key: &str) -> Result<String, Error> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(Error::InvalidConfig(format!("{key} must be a text"))),
    }
}

fn timeout(object: &Map<String, Value>) -> Result<u32, Error> {
    match object.get("timeoutMs") {
        None | Some(Value::Null) => Ok(TIMEOUT_MS),
        // Older rows hold it as text.
        Some(value) => value
            .as_u64()
            .or_else(|| value.as_str()?.trim().parse().ok())
            .and_then(|ms| u32::try_from(ms).ok())
            .filter(|ms| (1..=600_000).contains(ms))
            .ok_or_else(|| Error::InvalidConfig("timeoutMs must be an integer from 1 to 600000".into())),
    }
}

fn base_url(entered: &str) -> Result<String, Error> {
    let wrong = |what: &str| {
        Err(Error::InvalidConfig(format!(
            "baseUrl {what}, e.g. http://127.0.0.1:8080"
        )))
    };
    let trimmed = entered.trim().trim_end_matches('/');
    let url = trimmed
        .strip_suffix("/api/v2")
        .unwrap_or(trimmed)
        .trim_end_matches('/');
    if url.is_empty() {
        return wrong("is missing: enter the address of the client's Web UI");
    }
    let Some((scheme, rest)) = url.split_once("://") else {
        return wrong("must begin with http:// or https://");
    };
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return wrong("must begin with http:// or https://");
    }
    let authority = rest.split('/').next().unwrap_or_default();
    if authority.is_empty() || authority.starts_with(':') {
        return wrong("names no host");
    }
    if authority.contains('@') {
        return wrong("must not hold a user name: use the fields username and password");
    }
    if url.contains(['?', '#']) || url.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return wrong("must be a plain address without query, fragment or blanks");
    }
    Ok(url.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(entered: &str) -> Result<String, Error> {
        let json = serde_json::json!({ "baseUrl": entered }).to_string();
        Config::parse(&json).map(|config| config.base_url)
    }

    #[test]
    fn addresses_are_taken_as_people_enter_them() {
        for (entered, url) in [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
            (" https://box.example/qbt// ", "https://box.example/qbt"),
            ("http://box:8080/api/v2/", "http://box:8080"),
            ("HTTP://[::1]:8080", "HTTP://[::1]:8080"),
        ] {
            assert_eq!(base(entered).as_deref(), Ok(url), "{entered}");
        }
    }

    #[test]
    fn addresses_that_make_no_sense_are_named() {
        for entered in [
            "",
            "/",
            "127.0.0.1:8080",
            "ftp://host",
            "http://",
            "http://:80",
            "http://u:p@host",
            "http://host/?a",
            "http://ho st",
            "http://host/\r\nX: y",
        ] {
            assert!(
                matches!(base(entered), Err(Error::InvalidConfig(text)) if text.contains("baseUrl")),
                "{entered}"
            );
        }
    }

    #[test]
    fn the_other_fields_have_defaults_and_types() {
        let parse = |json: &str| Config::parse(json);
        let Ok(config) = parse(r#"{"baseUrl":"http://h","unknown":1}"#) else {
            panic!("a plain address is enough")
        };
        assert_eq!(
            (
                config.username.as_str(),
                config.password.as_str(),
                config.timeout_ms
            ),
            ("", "", 15_000)
        );
        for json in [
            "[]",
            "nonsense",
            r#"{"baseUrl":5}"#,
            r#"{"baseUrl":"http://h","timeoutMs":0}"#,
            r#"{"baseUrl":"http://h","timeoutMs":"soon"}"#,
            r#"{"baseUrl":"http://h","password":{}}"#,
        ] {
            assert!(matches!(parse(json), Err(Error::InvalidConfig(_))), "{json}");
        }
    }

    #[test]
    fn the_schema_is_json_and_hides_the_password() {
        let schema: Value = serde_json::from_str(SCHEMA).expect("the schema must be JSON");
        assert_eq!(schema["properties"]["password"]["writeOnly"], true);
        assert_eq!(schema["properties"]["baseUrl"]["x-grant"], "http-url");
    }
}
