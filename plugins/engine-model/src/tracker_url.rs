//! The URL of a tracker, of which only the host is shown: the rest may hold what proves a user.

/// The host name in a tracker's URL, without user and port.
pub fn host_of(url: &str) -> Option<String> {
    let authority = url.split_once("://")?.1.split(['/', '?', '#']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let name = match host.strip_prefix('[') {
        Some(literal) => literal.split(']').next()?,
        None => host.split(':').next()?,
    };
    (!name.is_empty()).then(|| name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_host_is_taken() {
        for (url, host) in [
            (
                "https://user@Tracker.example:8443/announce?key=1",
                Some("tracker.example"),
            ),
            ("udp://[2001:db8::1]:6969", Some("2001:db8::1")),
            ("http://t/a@b", Some("t")),
            ("dht://", None),
            ("announce", None),
            ("", None),
        ] {
            assert_eq!(host_of(url).as_deref(), host, "{url}");
        }
    }
}
