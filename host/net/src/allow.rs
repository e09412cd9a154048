//! `SSRF_ALLOW_HOSTS`: internal hosts that an administrator allows for guarded requests.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::NetError;
use crate::address::{in_net_v4, in_net_v6, is_internal};
use crate::nearby::Nearby;

/// The parsed list. A match lifts the address check and nothing else.
#[derive(Debug, Default)]
pub struct AllowList {
    names: Vec<String>,
    nets: Vec<Net>,
}

#[derive(Debug)]
enum Net {
    V4(Ipv4Addr, u8),
    V6(Ipv6Addr, u8),
}

impl AllowList {
    /// Blank entries are skipped; an entry that is no host name, address or block is an error that names it.
    pub fn parse(entries: &[String]) -> Result<Self, NetError> {
        let mut list = Self::default();
        for entry in entries
            .iter()
            .map(|entry| entry.trim())
            .filter(|entry| !entry.is_empty())
        {
            if let Some(net) = parse_net(entry) {
                list.nets.push(net);
            } else {
                let wrong = || NetError::AllowEntry(entry.to_owned());
                match url::Host::parse(entry) {
                    Ok(url::Host::Domain(name)) if !name.contains('*') => list.names.push(bare(&name)),
                    _ => return Err(wrong()),
                }
            }
        }
        Ok(list)
    }

    /// True when `host`, which resolved to `ips`, may be dialled: its name is listed, or every internal or
    /// nearby address of it is. One listed address does not allow another one of the same answer.
    pub fn permits(&self, host: &str, ips: &[IpAddr], nearby: &Nearby) -> bool {
        let is_inside = |ip| is_internal(ip) || nearby.contains(ip);
        self.names.contains(&bare(host)) || ips.iter().all(|&ip| !is_inside(ip) || self.lists(ip))
    }

    fn lists(&self, ip: IpAddr) -> bool {
        let ip = ip.to_canonical();
        self.nets.iter().any(|net| match (net, ip) {
            (Net::V4(net, bits), IpAddr::V4(ip)) => in_net_v4(ip, *net, *bits),
            (Net::V6(net, bits), IpAddr::V6(ip)) => in_net_v6(ip, *net, *bits),
            _ => false,
        })
    }
}

/// Names compare in lower case and without the final dot.
fn bare(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

fn parse_net(entry: &str) -> Option<Net> {
    let (address, bits) = match entry.split_once('/') {
        Some((address, bits)) => (address, Some(bits.parse::<u8>().ok()?)),
        None => (entry, None),
    };
    let address = address
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(address);
    match address.parse::<IpAddr>().ok()? {
        IpAddr::V4(ip) => bits
            .is_none_or(|bits| bits <= 32)
            .then(|| Net::V4(ip, bits.unwrap_or(32))),
        IpAddr::V6(ip) => bits
            .is_none_or(|bits| bits <= 128)
            .then(|| Net::V6(ip, bits.unwrap_or(128))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[&str]) -> AllowList {
        AllowList::parse(&entries.iter().map(|&entry| entry.to_owned()).collect::<Vec<_>>()).unwrap()
    }

    fn ips(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn names_addresses_and_blocks_match() {
        let list = list(&["Tracker.LAN", "192.168.1.5", "10.0.0.0/8", "[fd00::]/8", " "]);
        assert!(list.permits("tracker.lan", &ips(&["192.168.9.9"]), &Nearby::default()));
        assert!(list.permits("TRACKER.lan.", &ips(&["127.0.0.1"]), &Nearby::default()));
        assert!(list.permits("other.lan", &ips(&["192.168.1.5"]), &Nearby::default()));
        assert!(list.permits("other.lan", &ips(&["::ffff:192.168.1.5"]), &Nearby::default()));
        assert!(list.permits("other.lan", &ips(&["10.200.0.1", "1.1.1.1"]), &Nearby::default()));
        assert!(list.permits("other.lan", &ips(&["fd12::1"]), &Nearby::default()));
        assert!(!list.permits("other.lan", &ips(&["192.168.1.6"]), &Nearby::default()));
        assert!(!list.permits("sub.tracker.lan", &ips(&["192.168.1.6"]), &Nearby::default()));
    }

    #[test]
    fn a_listed_address_does_not_vouch_for_its_neighbour() {
        assert!(!list(&["10.0.0.1"]).permits(
            "x.example",
            &ips(&["10.0.0.1", "169.254.169.254"]),
            &Nearby::default()
        ));
    }

    #[test]
    fn what_is_nearby_counts_as_internal() {
        let nearby = Nearby::read("|-- 8.8.8.8\n/32 host LOCAL\n", "");
        assert!(!list(&[]).permits("x.example", &ips(&["8.8.8.8"]), &nearby));
        assert!(list(&["8.8.8.0/24"]).permits("x.example", &ips(&["8.8.8.8"]), &nearby));
        assert!(list(&["x.example"]).permits("x.example", &ips(&["8.8.8.8"]), &nearby));
        assert!(list(&[]).permits("x.example", &ips(&["8.8.8.9"]), &nearby));
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        for entry in [
            "10.0.0.0/33",
            "fd00::/129",
            "*.lan",
            "a b",
            "http://x/",
            "10.0.0.0/x",
        ] {
            let error = AllowList::parse(&[entry.to_owned()]).unwrap_err();
            assert!(error.to_string().contains(entry), "{error}");
        }
    }
}
