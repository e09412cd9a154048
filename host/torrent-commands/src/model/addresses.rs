//! Addresses of trackers: their check, and the change of their host.
//!
//! An address holds the key of its user. The key goes along to another host only because a person asked for that who may see it.

/// Letters of an address.
const LONGEST: usize = 2_000;

/// True for an address that clients take.
pub fn is_tracker(url: &str) -> bool {
    let scheme_fits = ["http://", "https://", "udp://"].iter().any(|scheme| {
        url.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    });
    scheme_fits && url.len() <= LONGEST && !url.contains(char::is_control) && host_of(url).is_some()
}

/// True for `host` or `host:port`; an IPv6 address stands in brackets.
pub fn is_host(host: &str) -> bool {
    let (name, port) = split_port(host);
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
    !name.is_empty()
        && host.len() <= 255
        && host.chars().all(fits)
        && (name.starts_with('[') == name.ends_with(']'))
        && (name.starts_with('[') || !name.contains([':', '[', ']']))
        && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
}

/// Host and port, which may be absent.
fn split_port(host: &str) -> (&str, Option<&str>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (host, None),
    }
}

/// An address in three parts: the host with its port, and the texts before and behind it.
fn cut(url: &str) -> Option<(&str, &str, &str)> {
    let begin = url.find("://")? + 3;
    let length = url[begin..].find(['/', '?', '#']).unwrap_or(url.len() - begin);
    let end = begin + length;
    let begin = url[begin..end].rfind('@').map_or(begin, |at| begin + at + 1);
    (begin < end).then(|| (&url[..begin], &url[begin..end], &url[end..]))
}

/// Host of an address, without its port.
pub fn host_of(url: &str) -> Option<&str> {
    cut(url).map(|(_, host, _)| split_port(host).0)
}

/// True if the address has this host; a port counts where `host` names one.
pub fn has_host(url: &str, host: &str) -> bool {
    let Some((_, own, _)) = cut(url) else { return false };
    let (name, port) = split_port(own);
    let (asked, asked_port) = split_port(host);
    name.eq_ignore_ascii_case(asked) && (asked_port.is_none() || asked_port == port)
}

/// The address at another host; its port stays, unless `host` names one.
pub fn at_host(url: &str, host: &str) -> Option<String> {
    let (before, own, after) = cut(url)?;
    let port = split_port(own).1.filter(|_| split_port(host).1.is_none());
    let port = port.map_or_else(String::new, |port| format!(":{port}"));
    Some(format!("{before}{host}{port}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_and_changed_and_all_else_stays() {
        let url = "https://user@Old.example:2710/key/announce?a=1@b";
        assert_eq!(host_of(url), Some("Old.example"));
        assert!(has_host(url, "old.example") && has_host(url, "old.example:2710"));
        assert!(!has_host(url, "old.example:80") && !has_host(url, "example"));
        let moved = |host| at_host(url, host);
        assert_eq!(
            moved("new.example").as_deref(),
            Some("https://user@new.example:2710/key/announce?a=1@b")
        );
        assert_eq!(
            moved("new.example:443").as_deref(),
            Some("https://user@new.example:443/key/announce?a=1@b")
        );
        assert_eq!(host_of("udp://[::1]:80/announce"), Some("[::1]"));
        assert_eq!(
            at_host("udp://[::1]:80", "t.example").as_deref(),
            Some("udp://t.example:80")
        );
        assert_eq!((host_of("nonsense"), host_of("http:///x")), (None, None));
    }

    #[test]
    fn what_is_no_host_or_tracker_is_told() {
        for fine in [
            "t.example",
            "t.example:80",
            "[::1]",
            "[::1]:80",
            "münchen.example",
        ] {
            assert!(is_host(fine), "{fine}");
        }
        for bad in [
            "",
            "t.example/x",
            "a@b",
            "t.example:",
            "t.example:0",
            "t.example:99999",
            "::1",
            "a b",
            "t\n",
            "[::1",
            ":80",
        ] {
            assert!(!is_host(bad), "{bad}");
        }
        assert!(is_tracker("HTTP://t.example/announce") && is_tracker("udp://t:1"));
        for bad in [
            "wss://t",
            "http://",
            "http://t\n",
            "t.example",
            &format!("http://t/{}", "x".repeat(2_000)),
        ] {
            assert!(!is_tracker(bad), "{bad}");
        }
    }
}
