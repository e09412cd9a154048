//! Address blocks that count as one caller. An IPv6 network gives each of its members a block of 2^64
//! addresses, so limits per address are counted per block.

use std::net::{IpAddr, Ipv6Addr};

/// Addresses that count as one: an IPv4 address by itself, of IPv6 a /64, or a /48 where [`AddressBlock::site`] says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddressBlock(IpAddr);

impl AddressBlock {
    /// The block one caller holds. An IPv4 address inside IPv6 (`::ffff:198.51.100.7`) counts as the IPv4 address.
    pub fn containing(address: IpAddr) -> Self {
        Self(mask(address, 64))
    }

    /// The /48 that one site may hold, whose blocks share a larger budget; `None` for IPv4, which has no such thing.
    pub fn site(address: IpAddr) -> Option<Self> {
        let site = mask(address, 48);
        site.is_ipv6().then_some(Self(site))
    }

    /// The first address of the block.
    pub const fn first(self) -> IpAddr {
        self.0
    }
}

/// Keeps the first `bits` of an IPv6 address.
fn mask(address: IpAddr, bits: u32) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let kept = address.to_bits() & (u128::MAX << (128 - bits));
            IpAddr::V6(Ipv6Addr::from_bits(kept))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_ipv6_caller_is_its_64_and_an_ipv4_caller_its_address() {
        for (address, block, site) in [
            ("198.51.100.7", "198.51.100.7", None),
            ("::ffff:198.51.100.7", "198.51.100.7", None),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::", Some("2001:db8:1::")),
            (
                "2001:db8:1:2:ffff:ffff:ffff:ffff",
                "2001:db8:1:2::",
                Some("2001:db8:1::"),
            ),
            ("2001:db8:1:3::6", "2001:db8:1:3::", Some("2001:db8:1::")),
            ("::1", "::", Some("::")),
        ] {
            assert_eq!(
                AddressBlock::containing(ip(address)).first(),
                ip(block),
                "{address}"
            );
            let site = site.map(|site| AddressBlock(ip(site)));
            assert_eq!(AddressBlock::site(ip(address)), site, "{address}");
        }
    }
}
