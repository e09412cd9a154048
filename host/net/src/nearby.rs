//! Addresses of this machine and the networks it is connected to: a URL with such a target reaches no public
//! service, but the machine itself, its router or its neighbours.
//!
//! Read from `/proc/net`, which needs neither a privilege nor a netlink socket. Bounds: [`MAX_READ`] bytes of
//! a table, so a machine with the routes of the whole Internet shows only a part; read again after [`KEPT`]
//! at most.

use std::io::Read as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use qm_lanes::IgnorePoison;

use crate::address::{in_net_v4, in_net_v6};
use crate::lanes::MACHINE;

const MAX_READ: u64 = 64 << 20;
const KEPT: Duration = Duration::from_secs(10);
/// Shortest prefix of a local network: shorter ones are default routes, as tunnels create them.
const SHORTEST_V4: u8 = 8;
const SHORTEST_V6: u8 = 16;

/// Addresses and networks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nearby {
    v4: Vec<(Ipv4Addr, u8)>,
    v6: Vec<(Ipv6Addr, u8)>,
}

impl Nearby {
    /// Parses `/proc/net/fib_trie` and `/proc/net/if_inet6`. Other lines are ignored.
    pub fn read(fib_trie: &str, if_inet6: &str) -> Self {
        let (own, mut v4) = routes(fib_trie);
        // A network in which we have no address is only routed through an interface, such as a tunnel.
        v4.retain(|&(net, bits)| bits >= SHORTEST_V4 && own.iter().any(|&ip| in_net_v4(ip, net, bits)));
        v4.extend(own.into_iter().map(|ip| (ip, 32)));
        v4.sort_unstable();
        v4.dedup();
        let v6 = if_inet6.lines().filter_map(interface_v6);
        Self { v6: v6.collect(), v4 }
    }

    fn of_this_machine() -> std::io::Result<Self> {
        let text = |path: &str| {
            let mut bytes = Vec::new();
            std::fs::File::open(path)?
                .take(MAX_READ)
                .read_to_end(&mut bytes)?;
            Ok::<_, std::io::Error>(String::from_utf8_lossy(&bytes).into_owned())
        };
        // Without IPv6 there is no such file.
        let v6 = text("/proc/net/if_inet6").unwrap_or_default();
        Ok(Self::read(&text("/proc/net/fib_trie")?, &v6))
    }

    pub fn contains(&self, ip: IpAddr) -> bool {
        match ip.to_canonical() {
            IpAddr::V4(ip) => self.v4.iter().any(|&(net, bits)| in_net_v4(ip, net, bits)),
            IpAddr::V6(ip) => self.v6.iter().any(|&(net, bits)| in_net_v6(ip, net, bits)),
        }
    }
}

/// Local addresses, and networks on a link.
fn routes(fib_trie: &str) -> (Vec<Ipv4Addr>, Vec<(Ipv4Addr, u8)>) {
    let (mut own, mut linked) = (Vec::new(), Vec::new());
    let mut leaf = None;
    for line in fib_trie.lines().map(str::trim_start) {
        if let Some(address) = line.strip_prefix("|-- ") {
            leaf = address.parse().ok();
        } else if let (Some(address), Some(route)) = (leaf, line.strip_prefix('/')) {
            let mut words = route.split_whitespace();
            let bits = words.next().and_then(|bits| bits.parse::<u8>().ok());
            match (bits, words.next(), words.next()) {
                (Some(32), Some("host"), Some("LOCAL")) => own.push(address),
                (Some(bits), Some("link"), Some("UNICAST")) if bits <= 32 => linked.push((address, bits)),
                _ => {}
            }
        }
    }
    (own, linked)
}

/// `fd00…02 04 40 00 82 eth0`: address, number, prefix length, scope, flags, name.
fn interface_v6(line: &str) -> Option<(Ipv6Addr, u8)> {
    let mut words = line.split_whitespace();
    let address = u128::from_str_radix(words.next()?, 16).ok()?;
    let bits = u8::from_str_radix(words.nth(1)?, 16).ok()?;
    let bits = if (SHORTEST_V6..=128).contains(&bits) {
        bits
    } else {
        128
    };
    Some((Ipv6Addr::from_bits(address), bits))
}

/// Surroundings of the machine, refreshed now and then.
pub enum Surroundings {
    Machine(Mutex<Option<(Instant, Arc<Nearby>)>>),
    /// Given by the caller, and never refreshed.
    Told(Arc<Nearby>),
}

impl Surroundings {
    pub fn of_this_machine() -> Self {
        Self::Machine(Mutex::default())
    }

    pub async fn look(self: &Arc<Self>) -> Arc<Nearby> {
        let kept = match &**self {
            Self::Told(nearby) => return nearby.clone(),
            Self::Machine(kept) => kept,
        };
        let known = kept.lock().ignore_poison().clone();
        if let Some((at, nearby)) = &known
            && at.elapsed() < KEPT
        {
            return nearby.clone();
        }
        let looked = MACHINE.run_for(None, |_| Nearby::of_this_machine()).await;
        let nearby = match looked.map_err(std::io::Error::other).flatten() {
            Ok(nearby) => Arc::new(nearby),
            Err(error) => {
                tracing::warn!(%error, "the machine's own addresses cannot be read, and are told by their ranges alone");
                known.map(|(_, nearby)| nearby).unwrap_or_default()
            }
        };
        *kept.lock().ignore_poison() = Some((Instant::now(), nearby.clone()));
        nearby
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIB_TRIE: &str = "Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
        /1 link UNICAST
     +-- 203.0.112.0/23 2 0 2
        |-- 198.18.5.0
           /24 link UNICAST
        |-- 8.20.30.0
           /22 link UNICAST
        |-- 8.20.31.255
           /32 link BROADCAST
        |-- 9.9.9.9
           /32 universe UNICAST
        |-- nonsense
           /32 host LOCAL
Local:
        |-- 127.0.0.0
           /8 host LOCAL
        |-- 8.20.30.7
           /32 host LOCAL
        |-- 5.6.7.8
           /32 host LOCAL
           /99 link UNICAST
";
    const IF_INET6: &str = "2a0104f8000000000000000000000002 04 40 00 82     eth0
20014860000000000000000000000005 05 80 00 80     wg0
2a0e0000000000000000000000000001 06 00 00 80     tun0
nonsense
";

    #[test]
    fn own_addresses_and_the_networks_they_are_in_are_near() {
        let nearby = Nearby::read(FIB_TRIE, IF_INET6);
        for near in [
            "8.20.30.7",
            "8.20.28.1",
            "8.20.31.254",
            "5.6.7.8",
            "::ffff:5.6.7.8",
            "2a01:4f8::1",
            "2001:4860::5",
            "2a0e::1",
        ] {
            assert!(nearby.contains(near.parse().expect("an address")), "{near}");
        }
        // Targets behind a tunnel, or by a default route, are not nearby.
        for far in [
            "8.20.32.1",
            "8.20.27.1",
            "5.6.7.9",
            "9.9.9.9",
            "198.18.5.1",
            "1.1.1.1",
            "2001:4860::6",
            "2a0e::2",
            "2a01:4f8:0:1::1",
        ] {
            assert!(!nearby.contains(far.parse().expect("an address")), "{far}");
        }
        assert_eq!(Nearby::read("", ""), Nearby::default());
    }

    #[test]
    fn this_machine_finds_itself() {
        let nearby = Nearby::of_this_machine().expect("/proc is there");
        assert!(nearby.contains(IpAddr::V4(Ipv4Addr::LOCALHOST)));
        // The source address of the system is one of ours.
        let socket = std::net::UdpSocket::bind("0.0.0.0:0").expect("a socket");
        if socket.connect("198.51.100.1:9").is_ok() {
            let own = socket.local_addr().expect("bound").ip();
            assert!(nearby.contains(own), "{own}");
        }
    }
}
