//! Addresses of peers, as users give them.

use std::net::{IpAddr, SocketAddr};

use crate::Error;

/// Addresses of peers in the one form that each has: an IPv4 address that is written as an IPv6 one is the IPv4 address.
pub fn peer_addresses(peers: &[String]) -> Result<Vec<SocketAddr>, Error> {
    let address = |peer: &String| match peer.parse::<SocketAddr>() {
        Ok(address) => Ok(SocketAddr::new(address.ip().to_canonical(), address.port())),
        Err(_) => Err(Error::Rejected(format!(
            "`{peer}` is no peer: give its address and port, an IPv6 address in brackets"
        ))),
    };
    peers.iter().map(address).collect()
}

/// The same of addresses without a port.
pub fn ip_addresses(addresses: &[String]) -> Result<Vec<IpAddr>, Error> {
    let one = |address: &String| match address.parse::<IpAddr>() {
        Ok(ip) => Ok(ip.to_canonical()),
        Err(_) => Err(Error::Rejected(format!(
            "`{address}` is no address: give an IPv4 or an IPv6 address, without a port"
        ))),
    };
    addresses.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_form() {
        let form = |peer: &str| {
            let parsed = peer_addresses(&[peer.to_owned()]).ok()?;
            parsed.first().map(ToString::to_string)
        };
        for (peer, expected) in [
            ("192.0.2.1:6881", Some("192.0.2.1:6881")),
            ("[2001:DB8:0::1]:1", Some("[2001:db8::1]:1")),
            ("[::ffff:192.0.2.1]:6881", Some("192.0.2.1:6881")),
            ("[fe80::1%2]:6881", Some("[fe80::1]:6881")),
            ("192.0.2.1", None),
            ("example.org:1", None),
            ("192.0.2.1:6881|192.0.2.2:1", None),
            ("", None),
        ] {
            assert_eq!(form(peer).as_deref(), expected, "{peer}");
        }
        let ips = ip_addresses(&["::ffff:192.0.2.1".to_owned(), "2001:DB8::1".to_owned()]);
        let ips = ips.map(|ips| ips.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(ips, Ok(vec!["192.0.2.1".to_owned(), "2001:db8::1".to_owned()]));
        assert!(ip_addresses(&["192.0.2.1:6881".to_owned()]).is_err());
    }
}
