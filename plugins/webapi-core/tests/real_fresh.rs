//! A torrent that was handed over is told by the next poll, by every generation of qbittorrent-nox: also after the client was ended and
//! came back.
//!
//! Without one the tests are skipped with a printed line; with CI=true they fail.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on ends"
)]

mod support;

use std::time::{Duration, Instant};

use engine_model::{AddOptions, AddRequest, Attention, Source};
use qm_generations::{Program, each_generation};
use support::client::{Client, PASSWORD, USER};
use support::torrents::two_files;
use support::wire::Wire;
use webapi_core::{Clock, Session};

each_generation! { qbittorrent:
    what_was_handed_over_is_told_at_once,
}

struct Machine(Instant);

impl Clock for Machine {
    fn monotonic_ms(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).expect("a short time")
    }

    fn sleep_ms(&self, ms: u32) {
        std::thread::sleep(Duration::from_millis(u64::from(ms)));
    }
}

fn session(client: &Client) -> Session<Wire, Machine> {
    let config = support::config(&client.base_url(), USER, PASSWORD);
    Session::new(config, Wire::real().0, Machine(Instant::now()))
}

fn what_was_handed_over_is_told_at_once(program: &Program) {
    let mut client = Client::start(program, 0);
    // As the host has them: one that is only polled, and one for what users ask.
    let (mut sync, mut command) = (session(&client), session(&client));
    let mut cursor = None;
    for round in 0..6 {
        match round {
            2 => client.restart(),
            // The host reloads an engine so.
            4 => (sync, cursor) = (session(&client), None),
            _ => {}
        }
        for _ in 0..2 {
            let read = sync.poll(cursor, Attention::Watched, &[]);
            cursor = read.ok().map(|delta| delta.cursor);
        }
        let made = two_files(&format!("round {round}"));
        let request = AddRequest {
            hash: made.hash.clone(),
            source: Source::Metainfo(made.bytes.clone()),
            options: AddOptions {
                start_paused: true,
                ..AddOptions::default()
            },
        };
        command.add(&request).expect("it is taken");
        let deadline = Instant::now() + Duration::from_mins(2);
        while command.get(&made.hash).expect("an answer").is_none() {
            assert!(Instant::now() < deadline, "it is never listed");
            std::thread::sleep(Duration::from_millis(100));
        }
        let delta = sync
            .poll(cursor, Attention::Watched, std::slice::from_ref(&made.hash))
            .expect("a list");
        assert!(
            delta.changed.iter().any(|torrent| torrent.hash == made.hash),
            "round {round}: {:?}",
            delta.changed
        );
        cursor = Some(delta.cursor);
    }
}
