//! Internal addresses, and addresses that are never dialled. Pure; on parsed addresses only, never on texts.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// True for an address that a URL from a user or a feed must not reach.
///
/// IPv4: the contract's list and what is reserved besides. IPv6: whatever is not global unicast (2000::/3), and in that
/// the blocks that carry an IPv4 address (6to4, Teredo) or are no hosts (documentation). IPv4-mapped addresses go by
/// the address inside; NAT64, SIIT and IPv4-compatible ones are outside 2000::/3 and so blocked whatever is inside.
pub fn is_internal(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => is_internal_v4(v4),
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => is_internal_v4(v4),
            None => is_internal_v6(v6),
        },
    }
}

const INTERNAL_V4: &[(Ipv4Addr, u8)] = &[
    (Ipv4Addr::UNSPECIFIED, 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 3),
    // A cloud's fabric controller, although its address is a public one.
    (Ipv4Addr::new(168, 63, 129, 16), 32),
];

fn is_internal_v4(ip: Ipv4Addr) -> bool {
    INTERNAL_V4.iter().any(|&(net, bits)| in_net_v4(ip, net, bits))
}

fn is_internal_v6(ip: Ipv6Addr) -> bool {
    let s = ip.segments();
    let global_unicast = s[0] & 0xe000 == 0x2000;
    let special = s[0] == 0x2002                       // 6to4 carries an IPv4 address
        || (s[0] == 0x2001 && s[1] < 0x0200)           // Teredo, benchmarking, ORCHID: IETF assignments
        || (s[0] == 0x2001 && s[1] == 0x0db8)          // documentation
        || (s[0] == 0x3fff && s[1] < 0x1000); // documentation
    !global_unicast || special
}

/// True for an address that is forbidden even for endpoints configured by an operator: link-local, cloud
/// metadata, "this network", multicast and broadcast, also when wrapped into IPv6.
pub fn is_never_dialled(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => is_never_v4(v4),
        IpAddr::V6(v6) => {
            let link_local = v6.segments()[0] & 0xffc0 == 0xfe80;
            v6.is_unspecified()
                || v6.is_multicast()
                || link_local
                || v6 == AWS_METADATA_V6
                || inner_v4(v6).is_some_and(is_never_v4)
        }
    }
}

const AWS_METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254);

fn is_never_v4(ip: Ipv4Addr) -> bool {
    const METADATA: &[Ipv4Addr] = &[
        Ipv4Addr::new(100, 100, 100, 200),
        Ipv4Addr::new(168, 63, 129, 16),
        Ipv4Addr::new(192, 0, 0, 192),
    ];
    let first = ip.octets()[0];
    first == 0 || first >= 224 || ip.is_link_local() || METADATA.contains(&ip)
}

/// The IPv4 address inside an IPv6 one: mapped, compatible, translated (SIIT), NAT64 or 6to4.
fn inner_v4(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let s = ip.segments();
    let from = |hi: u16, lo: u16| Ipv4Addr::from((u32::from(hi) << 16) | u32::from(lo));
    match s {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0 | 0xffff, hi, lo] | [0, 0, 0, 0, 0xffff, 0, hi, lo] => Some(from(hi, lo)),
        [0x64, 0xff9b, 0, 0, 0, 0, hi, lo] | [0x64, 0xff9b, 1, _, _, _, hi, lo] => Some(from(hi, lo)),
        [0x2002, hi, lo, ..] => Some(from(hi, lo)),
        _ => None,
    }
}

/// True when the first `bits` bits (at most 32) are equal.
pub fn in_net_v4(ip: Ipv4Addr, net: Ipv4Addr, bits: u8) -> bool {
    let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
    (u32::from(ip) ^ u32::from(net)) & mask == 0
}

/// True when the first `bits` bits (at most 128) are equal.
pub fn in_net_v6(ip: Ipv6Addr, net: Ipv6Addr, bits: u8) -> bool {
    let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
    (u128::from(ip) ^ u128::from(net)) & mask == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn internal_addresses_are_blocked() {
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.0.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.7",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.3",
            "203.0.113.9",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "168.63.129.16",
            "100.100.100.200",
            "::",
            "::1",
            "::7f00:1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:7f00:1",
            "::ffff:a00:1",
            "::ffff:0:7f00:1",
            "64:ff9b::7f00:1",
            "64:ff9b::808:808",
            "64:ff9b:1::a00:1",
            "64:ff9b:1:ffff::1",
            "100::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "2001::1",
            "2001:2::1",
            "2001:10::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "2002:808:808::1",
            "3fff::1",
            "5f00::1",
        ] {
            assert!(is_internal(ip(text)), "{text} must be blocked");
        }
    }

    #[test]
    fn public_addresses_are_not() {
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.1",
            "100.63.255.255",
            "100.128.0.1",
            "126.0.0.1",
            "128.0.0.1",
            "169.253.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "192.167.0.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "::ffff:8.8.8.8",
            "2606:4700:4700::1111",
            "2a00:1450::1",
            "2001:4860::8888",
        ] {
            assert!(!is_internal(ip(text)), "{text} must be reachable");
        }
    }

    #[test]
    fn operators_may_name_private_hosts_but_no_metadata() {
        for text in [
            "0.0.0.0",
            "169.254.169.254",
            "100.100.100.200",
            "192.0.0.192",
            "168.63.129.16",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "fe80::1",
            "ff02::1",
            "fd00:ec2::254",
            "::ffff:169.254.169.254",
            "::169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "2002:a9fe:a9fe::1",
            "::ffff:0:169.254.169.254",
        ] {
            assert!(is_never_dialled(ip(text)), "{text} must never be dialled");
        }
        for text in [
            "127.0.0.1",
            "10.1.2.3",
            "192.168.0.2",
            "172.17.0.1",
            "100.64.0.1",
            "::1",
            "fd12::1",
            "8.8.8.8",
        ] {
            assert!(!is_never_dialled(ip(text)), "{text} may be configured");
        }
    }

    #[test]
    fn prefixes_of_any_length() {
        assert!(in_net_v4(Ipv4Addr::new(9, 9, 9, 9), Ipv4Addr::new(1, 1, 1, 1), 0));
        assert!(!in_net_v4(
            Ipv4Addr::new(9, 9, 9, 9),
            Ipv4Addr::new(9, 9, 9, 8),
            32
        ));
        assert!(in_net_v6(
            "fd00::1".parse().unwrap(),
            "fd00::".parse().unwrap(),
            8
        ));
        assert!(in_net_v6("fd00::1".parse().unwrap(), "::".parse().unwrap(), 0));
    }
}
