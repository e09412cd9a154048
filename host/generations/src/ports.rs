//! Ports for the clients that tests start.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};

/// A port of 127.0.0.1 that was free a moment ago, from below the range of outgoing connections, so that only
/// another test process could take it before it is bound.
///
/// # Panics
/// When none of the 20,000 is free.
pub fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    const FIRST: u32 = 10_000;
    const COUNT: u32 = 20_000;
    loop {
        // Processes of one run start at different places, and no port is used twice soon.
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = FIRST + (std::process::id().wrapping_mul(7919).wrapping_add(step)) % COUNT;
        let port = u16::try_from(port).unwrap_or(u16::MAX);
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
        assert!(step < COUNT, "no free port on 127.0.0.1");
    }
}
