//! User names and passwords inside URLs. A URL is stored and shown as it is, so none may have them: the fields beside it are
//! for that, and a password's is encrypted.

use std::collections::BTreeSet;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

/// A URL without its user information, and that.
#[derive(Debug, PartialEq, Eq)]
pub struct Parted {
    pub url: String,
    pub username: String,
    pub password: String,
}

/// Takes a URL apart that names a user or a password, with or without a scheme; `None` when it names neither.
pub fn part(url: &str) -> Option<Parted> {
    let start = url.find("://").map_or(0, |at| at + 3);
    let rest = &url[start..];
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let (info, host) = rest[..end].rsplit_once('@')?;
    let (username, password) = info.split_once(':').unwrap_or((info, ""));
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    Some(Parted {
        url: format!("{}{host}{}", &url[..start], &rest[end..]),
        username: decoded(username),
        password: decoded(password),
    })
}

/// The fields of a configuration that hold a URL with user information. Encrypted ones are not looked into.
pub fn fields<'a>(config: &'a Map<String, Value>, secrets: &[String]) -> Vec<(&'a str, Parted)> {
    let secrets: BTreeSet<&str> = secrets.iter().map(String::as_str).collect();
    let shown = config.iter().filter(|(name, _)| !secrets.contains(name.as_str()));
    shown
        .filter_map(|(name, value)| {
            let text = value.as_str()?;
            let holds_url = matches!(name.as_str(), "url" | "baseUrl") || text.contains("://");
            Some((name.as_str(), part(text).filter(|_| holds_url)?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        for (url, expected) in [
            (
                "http://me:secret@nas:80/RPC2",
                Some(("http://nas:80/RPC2", "me", "secret")),
            ),
            ("me:p%40ss%2F@nas/RPC2", Some(("nas/RPC2", "me", "p@ss/"))),
            ("https://token@nas", Some(("https://nas", "token", ""))),
            ("https://:secret@nas?x=1", Some(("https://nas?x=1", "", "secret"))),
            ("http://a@b:c@nas/", Some(("http://nas/", "a@b", "c"))),
            (
                "http://me:secret@[fd00::1]:80/",
                Some(("http://[fd00::1]:80/", "me", "secret")),
            ),
            ("http://@nas/", Some(("http://nas/", "", ""))),
            ("http://nas/RPC2?user=a@b", None),
            ("http://nas/@me", None),
            ("nas", None),
            ("", None),
        ] {
            let expected = expected.map(|(url, username, password)| Parted {
                url: url.to_owned(),
                username: username.to_owned(),
                password: password.to_owned(),
            });
            assert_eq!(part(url), expected, "{url}");
        }
    }

    #[test]
    fn only_what_is_shown_and_a_url_is_looked_at() {
        let config = json!({
            "url": "http://a:b@nas/", "baseUrl": "c@nas", "proxy": "socks5://d:e@nas", "username": "me@home.org",
            "socketPath": "/run/a@b", "password": "x://y:z@q", "port": 5,
        });
        let config = config.as_object().expect("an object");
        let found: Vec<&str> = fields(config, &["password".to_owned()])
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(found, ["baseUrl", "proxy", "url"]);
    }
}
