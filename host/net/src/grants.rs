//! Grants: endpoints that one configured plugin instance may dial. They are read from the operator's
//! configuration by the `x-grant` marks of the plugin's schema, never from the plugin's words or the schema's
//! defaults. No wildcards.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value};
use url::{Host, Url};

use crate::dial::Endpoint;
use crate::trust::{CERTIFICATE, Trust};

/// The endpoints that may be dialled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// Origins of the plugin granted by an administrator, and those entered by ordinary users: external only.
    own: HashSet<(String, String, u16)>,
    tcp: HashSet<(String, u16)>,
    unix: HashSet<String>,
    http: HashSet<(String, String, u16)>,
    /// Pinned certificates of configured origins.
    trusted: HashMap<(String, String, u16), Arc<Trust>>,
}

impl Grants {
    /// Grants without any endpoint.
    pub fn none() -> Self {
        Self::default()
    }

    /// Reads the marks of `schema` (an object schema) in `config`.
    ///
    /// A marked property that is absent, null or empty grants nothing. An invalid value is an error that
    /// names the property, and so is an invalid mark (whatever `config` holds).
    pub fn from_config(schema: &Value, config: &Map<String, Value>) -> Result<Self, String> {
        let mut grants = Self::default();
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return Ok(grants);
        };
        for (name, property) in properties {
            let Some(mark) = Mark::from_property(name, property)? else {
                continue;
            };
            let Some(text) = text_of(name, config)? else {
                continue;
            };
            match mark {
                Mark::HttpUrl => grants.add_url(name, text)?,
                Mark::UnixPath => grants.add_unix(name, text)?,
                Mark::TcpHost { port } => {
                    if let Some(port) = port_of(port, config)? {
                        grants.tcp.insert((host_of(name, text)?, port));
                    }
                }
            }
        }
        let is_marked = properties
            .get(CERTIFICATE)
            .is_some_and(|property| property.get("x-trust") == Some(&Value::Bool(true)));
        match text_of(CERTIFICATE, config)? {
            Some(text) if is_marked => grants.trusting(&Trust::parse(CERTIFICATE, text)?),
            _ => Ok(grants),
        }
    }

    /// Trusts only this certificate for the configured origins. It needs TLS: an origin with plain HTTP is an
    /// error.
    pub fn trusting(mut self, trust: &Trust) -> Result<Self, String> {
        let trust = Arc::new(trust.clone());
        let secure = self.http.iter().filter(|(scheme, ..)| scheme == "https");
        self.trusted = secure.map(|origin| (origin.clone(), trust.clone())).collect();
        if self.trusted.is_empty() && !self.http.is_empty() {
            return Err(format!(
                "`{CERTIFICATE}` is for an address that begins with https://, and there is none"
            ));
        }
        Ok(self)
    }

    /// Adds the plugin's own origins, each in the form of [`Grants::origin`].
    #[must_use]
    pub fn with_origins<'a>(mut self, origins: impl IntoIterator<Item = &'a str>) -> Self {
        let parts = |origin: &str| origin_of(&Url::parse(origin).ok()?);
        self.own.extend(origins.into_iter().filter_map(parts));
        self
    }

    /// Grants for the configuration of an ordinary user: its URLs must be external, and nothing else is
    /// granted.
    #[must_use]
    pub fn outward(self) -> Self {
        let Self {
            mut own,
            http,
            trusted,
            ..
        } = self;
        own.extend(http);
        Self {
            own,
            trusted,
            ..Self::default()
        }
    }

    /// Grants scheme, host and port of one URL configured by an operator.
    pub fn of_url(name: &str, url: &str) -> Result<Self, String> {
        let mut grants = Self::default();
        grants.add_url(name, url)?;
        Ok(grants)
    }

    /// Canonical form of an origin that a plugin requests: `https://host`, with `:port` unless it is the
    /// default. Anything more than an origin, or a wildcard, is an error that explains the form.
    pub fn origin(text: &str) -> Result<String, String> {
        let wrong =
            || format!("`{text}` is no origin: write `https://host` or `https://host:port`, without a path");
        let url = Url::parse(text).map_err(|_| wrong())?;
        let bare = matches!(url.scheme(), "http" | "https")
            && url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none();
        let host = host_of(text, url.host_str().unwrap_or_default()).map_err(|_| wrong())?;
        if !bare {
            return Err(wrong());
        }
        let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
        Ok(format!("{}://{}{port}", url.scheme(), bracketed(&host)))
    }

    fn add_url(&mut self, name: &str, text: &str) -> Result<(), String> {
        let wrong = || format!("`{name}` must be a URL like http://host:port/path");
        let url = Url::parse(text).map_err(|_| wrong())?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong());
        }
        let host = host_of(name, url.host_str().unwrap_or_default())?;
        let port = url.port_or_known_default().ok_or_else(wrong)?;
        self.http.insert((url.scheme().to_owned(), host, port));
        Ok(())
    }

    fn add_unix(&mut self, name: &str, text: &str) -> Result<(), String> {
        if !text.starts_with('/') || text.contains('\0') {
            return Err(format!("`{name}` must be the absolute path of a unix socket"));
        }
        self.unix.insert(text.to_owned());
        Ok(())
    }

    /// True when `endpoint` is granted, by the name that was entered.
    pub fn allows(&self, endpoint: &Endpoint) -> bool {
        match endpoint {
            Endpoint::Tcp { host, port } => self.tcp.contains(&(normal(host), *port)),
            Endpoint::Unix(path) => self.unix.contains(path),
        }
    }

    /// True when scheme, host and port of `url` are granted.
    pub fn allows_url(&self, url: &Url) -> bool {
        self.reach_of(url).is_some()
    }

    /// Pinned certificates of the server of `url`; `None`: the machine's authorities.
    pub(crate) fn trust_of(&self, url: &Url) -> Option<&Arc<Trust>> {
        // Most configurations have none.
        if self.trusted.is_empty() {
            return None;
        }
        self.trusted.get(&origin_of(url)?)
    }

    /// Source of the grant for scheme, host and port of `url`. The operator's configuration comes first.
    pub(crate) fn reach_of(&self, url: &Url) -> Option<Reach> {
        let origin = origin_of(url)?;
        if self.http.contains(&origin) {
            Some(Reach::Configured)
        } else {
            self.own.contains(&origin).then_some(Reach::Own)
        }
    }
}

/// Scheme, host and port of a URL in canonical form.
fn origin_of(url: &Url) -> Option<(String, String, u16)> {
    let (host, port) = (normal(url.host_str()?), url.port_or_known_default()?);
    Some((url.scheme().to_owned(), host, port))
}

/// Source of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The operator, who may mean an internal address.
    Configured,
    /// The plugin with an administrator's grant, or an ordinary user: external only.
    Own,
}

/// Mark of the schema on one property.
enum Mark<'a> {
    HttpUrl,
    UnixPath,
    /// With the name of the property for the port.
    TcpHost {
        port: &'a str,
    },
}

impl<'a> Mark<'a> {
    fn from_property(name: &str, property: &'a Value) -> Result<Option<Self>, String> {
        let Some(mark) = property.get("x-grant") else {
            return Ok(None);
        };
        let port = property.get("x-grant-port").and_then(Value::as_str);
        match (mark.as_str(), port) {
            (Some("http-url"), _) => Ok(Some(Mark::HttpUrl)),
            (Some("unix-path"), _) => Ok(Some(Mark::UnixPath)),
            (Some("tcp-host"), Some(port)) => Ok(Some(Mark::TcpHost { port })),
            (Some("tcp-host"), None) => Err(format!("the schema gives `{name}` no port (x-grant-port)")),
            _ => Err(format!(
                "the schema marks `{name}` with an unknown x-grant {mark}"
            )),
        }
    }
}

fn text_of<'a>(name: &str, config: &'a Map<String, Value>) -> Result<Option<&'a str>, String> {
    match config.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.trim())),
        Some(_) => Err(format!("`{name}` must be a text")),
    }
}

/// A port as a number, or as a numeric text (forms send both).
fn port_of(name: &str, config: &Map<String, Value>) -> Result<Option<u16>, String> {
    let number = match config.get(name) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Number(number)) => number.as_u64(),
        Some(Value::String(text)) if text.trim().is_empty() => return Ok(None),
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(_) => None,
    };
    let port = number
        .and_then(|number| u16::try_from(number).ok())
        .filter(|&port| port != 0);
    port.map(Some)
        .ok_or_else(|| format!("`{name}` must be a port (1 to 65535)"))
}

/// True for one host name or address without scheme and port.
pub fn is_host(text: &str) -> bool {
    host_of("host", text).is_ok()
}

fn host_of(name: &str, text: &str) -> Result<String, String> {
    let wrong = || format!("`{name}` must be one host name or address");
    if text.contains('*') {
        return Err(wrong());
    }
    let host = normal(text);
    if matches!(Host::parse(&bracketed(&host)), Ok(host) if !host.to_string().is_empty()) {
        Ok(host)
    } else {
        Err(wrong())
    }
}

/// Names in the form of the URL parser: lower case, canonical addresses, no brackets, no final dot.
fn normal(host: &str) -> String {
    let bare = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(host);
    match Host::parse(&bracketed(bare)) {
        Ok(Host::Domain(name)) => name.strip_suffix('.').map_or(name.clone(), str::to_owned),
        Ok(Host::Ipv4(ip)) => ip.to_string(),
        Ok(Host::Ipv6(ip)) => ip.to_string(),
        Err(_) => bare.to_ascii_lowercase(),
    }
}

fn bracketed(host: &str) -> String {
    if host.contains(':') && !host.starts_with('[') {
        format!("[{host}]")
    } else {
        host.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({"type": "object", "properties": {
            "url": {"type": "string", "x-grant": "http-url"},
            "host": {"type": "string", "default": "rtorrent", "x-grant": "tcp-host", "x-grant-port": "port"},
            "port": {"type": "integer", "default": 5000},
            "socket": {"type": "string", "x-grant": "unix-path"},
            "name": {"type": "string"},
        }})
    }

    fn grants(config: Value) -> Result<Grants, String> {
        Grants::from_config(&schema(), config.as_object().unwrap())
    }

    fn tcp(host: &str, port: u16) -> Endpoint {
        Endpoint::Tcp {
            host: host.to_owned(),
            port,
        }
    }

    #[test]
    fn own_origins_are_granted_beside_what_is_configured() {
        let grants = Grants::of_url("url", "http://nas:8080/x").unwrap();
        let grants = grants.with_origins(["https://api.example.org", "http://nas:8080"]);
        for (url, reach) in [
            ("http://nas:8080/", Some(Reach::Configured)),
            ("https://API.example.org/path?q", Some(Reach::Own)),
            ("https://api.example.org:444/", None),
            ("http://api.example.org/", None),
            ("https://evil.example.org/", None),
        ] {
            assert_eq!(grants.reach_of(&Url::parse(url).unwrap()), reach, "{url}");
        }
    }

    #[test]
    fn what_a_person_entered_leads_outside() {
        let config = json!({
            "url": "https://push.example.org:8443/x", "host": "10.0.0.7", "port": 5000, "socket": "/run/docker.sock",
        });
        let grants = grants(config).unwrap().outward();
        let reach = |url: &str| grants.reach_of(&Url::parse(url).unwrap());
        assert_eq!(reach("https://push.example.org:8443/y"), Some(Reach::Own));
        assert_eq!(reach("https://push.example.org/"), None);
        assert!(!grants.allows(&tcp("10.0.0.7", 5000)));
        assert!(!grants.allows(&Endpoint::Unix("/run/docker.sock".to_owned())));
    }

    #[test]
    fn origins_have_one_form_and_nothing_beside_it() {
        for (text, origin) in [
            ("https://API.Example.org", "https://api.example.org"),
            ("https://api.example.org:443/", "https://api.example.org"),
            ("http://api.example.org:8080", "http://api.example.org:8080"),
            ("https://[2001:DB8::1]", "https://[2001:db8::1]"),
        ] {
            assert_eq!(Grants::origin(text).as_deref(), Ok(origin));
        }
        for text in [
            "api.example.org",
            "ftp://api.example.org",
            "https://api.example.org/path",
            "https://api.example.org?q",
            "https://user@api.example.org",
            "https://*.example.org",
            "https://",
        ] {
            assert!(
                Grants::origin(text).unwrap_err().contains("is no origin"),
                "{text}"
            );
        }
    }

    #[test]
    fn only_what_was_entered_is_granted() {
        let all = grants(json!({
            "url": "http://Box.LAN/rpc?x=1", "host": "10.0.0.7", "port": "5000", "socket": "/run/rt.sock", "name": "other"
        }))
        .unwrap();
        assert!(all.allows(&tcp("10.0.0.7", 5000)));
        assert!(
            all.allows(&tcp("0xa.7", 5000)),
            "one address, whichever way it is written"
        );
        assert!(!all.allows(&tcp("10.0.0.7", 5001)));
        assert!(!all.allows(&tcp("other", 5000)));
        assert!(all.allows(&Endpoint::Unix("/run/rt.sock".to_owned())));
        assert!(!all.allows(&Endpoint::Unix("/run/../run/rt.sock".to_owned())));
        for (url, ok) in [
            ("http://box.lan/anything", true),
            ("http://box.lan:80/", true),
            ("http://box.lan./", true),
            ("http://user:pw@box.lan/", true),
            ("https://box.lan/", false),
            ("http://box.lan:8080/", false),
            ("http://box.lan@evil.example/", false),
            ("http://sub.box.lan/", false),
        ] {
            assert_eq!(all.allows_url(&Url::parse(url).unwrap()), ok, "{url}");
        }
    }

    #[test]
    fn one_url_grants_its_own_place_only() {
        let grants = Grants::of_url("THE_URL", "https://box.lan:8443/tags?per_page=100").unwrap();
        for (url, ok) in [
            ("https://box.lan:8443/other", true),
            ("https://box.lan/tags", false),
            ("http://box.lan:8443/tags", false),
            ("https://box.lan.evil.example:8443/tags", false),
        ] {
            assert_eq!(grants.allows_url(&Url::parse(url).unwrap()), ok, "{url}");
        }
        let error = Grants::of_url("THE_URL", "ftp://box.lan/").unwrap_err();
        assert!(error.contains("`THE_URL`"), "{error}");
    }

    #[test]
    fn defaults_and_blanks_grant_nothing() {
        for config in [
            json!({}),
            json!({"host": "", "port": 5000}),
            json!({"host": "h", "port": null, "url": " "}),
        ] {
            assert_eq!(grants(config).unwrap(), Grants::none());
        }
    }

    #[test]
    fn nonsense_names_the_property() {
        for (config, name) in [
            (json!({"url": "ftp://x/"}), "url"),
            (json!({"url": "not a url"}), "url"),
            (json!({"url": 5}), "url"),
            (json!({"host": "*.lan", "port": 1}), "host"),
            (json!({"host": "a b", "port": 1}), "host"),
            (json!({"host": "h", "port": 70000}), "port"),
            (json!({"host": "h", "port": 0}), "port"),
            (json!({"socket": "relative.sock"}), "socket"),
        ] {
            let error = grants(config).unwrap_err();
            assert!(error.contains(&format!("`{name}`")), "{error}");
        }
    }

    #[test]
    fn addresses_of_version_6_match_in_any_form() {
        let granted = grants(json!({"host": "[0:0::1]", "port": 5000, "url": "http://[::1]:8080/"})).unwrap();
        assert!(granted.allows(&tcp("::1", 5000)));
        assert!(granted.allows_url(&Url::parse("http://[0:0:0:0:0:0:0:1]:8080/").unwrap()));
    }
}
