//! The few things that are done with URLs. The host judges each URL again before it dials, so nothing here is a boundary.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Characters that are encoded in the value of a parameter: all but letters, digits and these.
const PARAMETER: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b',');

/// Scheme, host and port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// `http` or `https`
    scheme: String,
    /// Lower case; an IPv6 address in brackets.
    host: String,
    port: u16,
}

impl Origin {
    /// Origin of an absolute http(s) URL without a user name.
    pub fn parse(url: &str) -> Option<Self> {
        let (scheme, rest) = url.trim().split_once("://")?;
        let scheme = scheme.to_ascii_lowercase();
        let default = match scheme.as_str() {
            "http" => 80,
            "https" => 443,
            _ => return None,
        };
        let authority = rest.split(['/', '?', '#', '\\']).next()?;
        if authority.contains('@') {
            return None;
        }
        let port_at = match authority.rfind(']') {
            Some(end) => authority[end..].find(':').map(|at| end + at),
            None => authority.rfind(':'),
        };
        let (host, port) = match port_at {
            Some(at) => (&authority[..at], &authority[at + 1..]),
            None => (authority, ""),
        };
        let port = if port.is_empty() {
            default
        } else {
            port.parse().ok()?
        };
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        (!host.is_empty()).then_some(Self { scheme, host, port })
    }

    /// Text of the origin, as a user can enter it.
    pub fn text(&self) -> String {
        let Self { scheme, host, port } = self;
        match (scheme.as_str(), port) {
            ("http", 80) | ("https", 443) => format!("{scheme}://{host}"),
            _ => format!("{scheme}://{host}:{port}"),
        }
    }
}

/// The host a URL leads to, for people; never the rest of it, which may hold a secret.
pub fn host_of(url: &str) -> String {
    Origin::parse(url).map_or_else(|| "an unusable address".to_owned(), |origin| origin.text())
}

/// The address of the protocol: `/api` below the base URL, unless that ends so. A query of the base URL stays.
pub fn endpoint(base: &str) -> String {
    let base = base.trim();
    let base = base.split('#').next().unwrap_or(base);
    let (path, query) = base
        .split_once('?')
        .map_or((base, None), |(path, query)| (path, Some(query)));
    let path = path.trim_end_matches('/');
    let ends = path
        .split_once("://")
        .and_then(|(_, rest)| rest.rsplit_once('/'))
        .is_some_and(|(_, last)| last.eq_ignore_ascii_case("api"));
    let slash = if ends { "" } else { "/api" };
    match query.filter(|query| !query.is_empty()) {
        Some(query) => format!("{path}{slash}?{query}"),
        None => format!("{path}{slash}"),
    }
}

/// URL with these parameters added to its query.
pub fn with_params(url: &str, params: &[(&str, String)]) -> String {
    let mut whole = url.to_owned();
    let mut glue = if url.contains('?') { '&' } else { '?' };
    for (name, value) in params {
        whole.push(glue);
        whole.push_str(name);
        whole.push('=');
        whole.extend(utf8_percent_encode(value, PARAMETER));
        glue = '&';
    }
    whole
}

/// URL that a `Location` of the answer from `from` leads to; `None` when it makes no sense.
pub fn redirect(from: &str, location: &str) -> Option<String> {
    let location = location.trim();
    let lower = location.get(..8).unwrap_or(location).to_ascii_lowercase();
    if lower.starts_with("magnet:") || lower.starts_with("http://") || lower.starts_with("https://") {
        return Some(location.to_owned());
    }
    let origin = Origin::parse(from)?;
    if let Some(rest) = location.strip_prefix("//") {
        return Some(format!("{}://{rest}", origin.scheme));
    }
    if location.starts_with('/') {
        return Some(format!("{}{location}", origin.text()));
    }
    if location.is_empty() || has_scheme(location) {
        return None;
    }
    let path = from.split(['?', '#']).next().unwrap_or(from);
    if location.starts_with('?') {
        return Some(format!("{path}{location}"));
    }
    let after_scheme = path.find("://")? + 3;
    let directory = match path[after_scheme..].rfind('/') {
        Some(at) => &path[..=after_scheme + at],
        None => return Some(format!("{path}/{location}")),
    };
    Some(format!("{directory}{location}"))
}

/// True when a URL leads to a page on which people sign in, by a part of its path. Jackett redirects there without a key or
/// with a wrong one, and so do proxies that stand before an indexer.
pub fn is_sign_in(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let path = path.split_once("://").map_or(path, |(_, rest)| rest);
    let mut parts = path.split('/').skip(1);
    parts.any(|part| {
        let bare = part.split('.').next().unwrap_or(part);
        ["login", "signin", "sign-in", "sign_in"]
            .iter()
            .any(|word| bare.eq_ignore_ascii_case(word))
    })
}

fn has_scheme(text: &str) -> bool {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')));
    end.is_some_and(|end| end > 0 && text[end..].starts_with(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_the_protocol() {
        for (base, expected) in [
            ("http://i.example", "http://i.example/api"),
            ("http://i.example/", "http://i.example/api"),
            ("http://i.example///", "http://i.example/api"),
            ("http://i.example/api", "http://i.example/api"),
            ("http://i.example/API/", "http://i.example/API"),
            ("http://i.example/1/api", "http://i.example/1/api"),
            ("http://i.example/myapi", "http://i.example/myapi/api"),
            ("http://prowlarr:9696/1/", "http://prowlarr:9696/1/api"),
            ("http://i.example/x?a=1&b=2", "http://i.example/x/api?a=1&b=2"),
            ("http://i.example/api?a=1", "http://i.example/api?a=1"),
            ("http://i.example/?", "http://i.example/api"),
            ("http://api", "http://api/api"),
            ("http://api/api", "http://api/api"),
            (" http://i.example/x#y ", "http://i.example/x/api"),
        ] {
            assert_eq!(endpoint(base), expected, "{base}");
        }
    }

    #[test]
    fn parameters_come_behind_what_is_there() {
        let params = [("t", "search".to_owned()), ("q", "a b&c=\u{e4}/+".to_owned())];
        assert_eq!(
            with_params("http://h/api", &params),
            "http://h/api?t=search&q=a%20b%26c%3D%C3%A4%2F%2B"
        );
        assert_eq!(
            with_params("http://h/api?k=1", &params[..1]),
            "http://h/api?k=1&t=search"
        );
        assert_eq!(
            with_params("http://h/api", &[("cat", "5000,5030".to_owned())]),
            "http://h/api?cat=5000,5030"
        );
    }

    #[test]
    fn origins_are_told_apart() {
        let same = |a, b| Origin::parse(a).is_some() && Origin::parse(a) == Origin::parse(b);
        assert!(same("http://H.example/a", "HTTP://h.EXAMPLE.:80?x"));
        assert!(same("https://h/", "https://h:443"));
        assert!(same("http://[::1]:9/a", "http://[::1]:9"));
        for (a, b) in [
            ("http://h/", "https://h/"),
            ("http://h/", "http://h:81/"),
            ("http://h/", "http://i/"),
        ] {
            assert!(!same(a, b), "{a} {b}");
        }
        for bad in [
            "ftp://h/",
            "h",
            "http://",
            "http://u@h/",
            "http://h:port/",
            "magnet:?xt=urn:btih:x",
        ] {
            assert_eq!(Origin::parse(bad), None, "{bad}");
        }
        assert_eq!(
            Origin::parse("http://h:81/x").map(|o| o.text()).as_deref(),
            Some("http://h:81")
        );
        assert_eq!(host_of("https://h/secret?apikey=k"), "https://h");
    }

    #[test]
    fn pages_to_sign_in_are_known_by_their_paths() {
        for (url, is_one) in [
            ("http://h:9117/UI/Login?ReturnUrl=%2Fapi", true),
            ("https://auth.h/login", true),
            ("https://h/login.php?back=x", true),
            ("https://h/users/sign_in#x", true),
            ("https://login.h/api", false),
            ("https://h/api?next=/login", false),
            ("https://h/dl/catalogin/file.torrent", false),
            ("magnet:?xt=urn:btih:00&dn=login", false),
        ] {
            assert_eq!(is_sign_in(url), is_one, "{url}");
        }
    }

    #[test]
    fn redirects_are_resolved() {
        let from = "http://h:81/a/b?apikey=k";
        for (location, expected) in [
            ("magnet:?xt=urn:btih:00", Some("magnet:?xt=urn:btih:00")),
            ("MAGNET:?xt=1", Some("MAGNET:?xt=1")),
            ("https://other/x", Some("https://other/x")),
            ("//other/x", Some("http://other/x")),
            ("/x?y", Some("http://h:81/x?y")),
            ("c", Some("http://h:81/a/c")),
            ("?z=1", Some("http://h:81/a/b?z=1")),
            ("", None),
            ("javascript:alert(1)", None),
            ("file:///etc/passwd", None),
        ] {
            assert_eq!(redirect(from, location).as_deref(), expected, "{location}");
        }
        assert_eq!(redirect("http://h", "c").as_deref(), Some("http://h/c"));
    }
}
