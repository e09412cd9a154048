//! Support for the tests of this crate: a wire that is real, recorded or scripted; a real client; torrents.

#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on ends"
)]

pub mod announce;
pub mod choices;
pub mod client;
pub mod exchange;
pub mod http;
pub mod scenarios;
pub mod torrents;
pub mod wire;

use std::cell::Cell;

use std::ops::{Deref, DerefMut};

use webapi_core::{Clock, Config, Session};

use wire::Wire;

/// A session that knows whether somebody real is at the other end.
pub struct TestSession {
    session: Session<Wire, StepClock>,
    is_real: bool,
}

impl TestSession {
    pub fn is_real(&self) -> bool {
        self.is_real
    }
}

impl Deref for TestSession {
    type Target = Session<Wire, StepClock>;
    fn deref(&self) -> &Self::Target {
        &self.session
    }
}

impl DerefMut for TestSession {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.session
    }
}

/// Time stands still: no back-off ever ends.
pub struct StoppedClock;

impl Clock for StoppedClock {
    fn monotonic_ms(&self) -> u64 {
        1000
    }
    fn sleep_ms(&self, _: u32) {}
}

/// Every look at it is two seconds after the last, so nothing that is throttled by time hides in a test; sleeping is real
/// where the wire is.
pub struct StepClock {
    now: Cell<u64>,
    sleeps: bool,
}

impl Clock for StepClock {
    fn monotonic_ms(&self) -> u64 {
        self.now.set(self.now.get() + 2000);
        self.now.get()
    }

    fn sleep_ms(&self, ms: u32) {
        self.now.set(self.now.get() + u64::from(ms));
        if self.sleeps {
            std::thread::sleep(std::time::Duration::from_millis(u64::from(ms)));
        }
    }
}

pub fn config(base_url: &str, username: &str, password: &str) -> Config {
    let json = serde_json::json!({ "baseUrl": base_url, "username": username, "password": password });
    let Ok(config) = Config::parse(&json.to_string()) else {
        panic!("{base_url} is an address")
    };
    config
}

pub fn session(wire: Wire, base_url: &str, username: &str, password: &str) -> TestSession {
    let is_real = wire.is_real();
    let clock = StepClock {
        now: Cell::new(0),
        sleeps: is_real,
    };
    TestSession {
        session: Session::new(config(base_url, username, password), wire, clock),
        is_real,
    }
}
