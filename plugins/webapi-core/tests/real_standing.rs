//! The standing of torrents with their trackers, as every generation of qbittorrent-nox tells it.
//!
//! Without one the tests are skipped with a printed line; with CI=true they fail.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on ends"
)]

mod support;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use engine_model::{Attention, Standing, State, Torrent};
use qm_generations::{Program, each_generation};
use support::announce;
use support::client::{Client, PASSWORD, USER};
use support::wire::Wire;

each_generation! { qbittorrent:
    one_tracker_that_works_is_enough,
}

/// Magnet links announce before they have metadata.
fn one_tracker_that_works_is_enough(program: &Program) {
    let client = Client::start(program, 0);
    let at = announce::serve();
    let add = |digit: char, paths: &[&str]| {
        let hash = digit.to_string().repeat(40);
        let trackers: Vec<String> = paths.iter().map(|path| format!("&tr={at}/{path}")).collect();
        let link = format!("magnet:?xt=urn:btih:{hash}{}", trackers.concat());
        let link = percent_encoding::utf8_percent_encode(&link, percent_encoding::NON_ALPHANUMERIC);
        client.tell("/torrents/add", &format!("urls={link}"));
        hash
    };
    let works = add('a', &["internal-error", "working"]);
    let lost = add('b', &["unregistered-torrent"]);
    let fails = add('c', &["internal-error"]);
    let alone = add('d', &[]);
    let mut session = support::session(Wire::real().0, &client.base_url(), USER, PASSWORD);
    let mut known: HashMap<String, Torrent> = HashMap::new();
    let mut cursor = None;
    let mut told = |hash: &str, standing: Option<Standing>| -> Torrent {
        let deadline = Instant::now() + Duration::from_mins(4);
        let mut asked = Instant::now();
        loop {
            // A 5.x client now and then loses the answer to an announce, and makes the next one half an hour later.
            if asked.elapsed() >= Duration::from_secs(30) {
                client.tell("/torrents/reannounce", "hashes=all");
                asked = Instant::now();
            }
            let delta = session.poll(cursor, Attention::Watched, &[]).expect("a list");
            cursor = Some(delta.cursor);
            known.extend(
                delta
                    .changed
                    .into_iter()
                    .map(|torrent| (torrent.hash.clone(), torrent)),
            );
            if let Some(torrent) = known
                .get(hash)
                .filter(|torrent| torrent.tracker_standing == standing)
            {
                return torrent.clone();
            }
            assert!(
                Instant::now() < deadline,
                "{hash} never came to {standing:?}: {:?}",
                known.get(hash)
            );
            std::thread::sleep(Duration::from_millis(200));
        }
    };
    let torrent = told(&works, Some(Standing::Working));
    assert_eq!(
        (torrent.state, torrent.tracker_message),
        (State::Downloading, None)
    );
    let torrent = told(&lost, Some(Standing::Unregistered));
    assert_eq!(torrent.state, State::Error);
    assert_eq!(torrent.tracker_message.as_deref(), Some("unregistered torrent"));
    assert_eq!(
        torrent.tracker_host.as_deref(),
        Some("127.0.0.1"),
        "though no tracker of it works"
    );
    let torrent = told(&fails, Some(Standing::Failing));
    assert_eq!(
        (torrent.state, torrent.tracker_message.as_deref()),
        (State::Downloading, Some("internal error"))
    );
    assert_eq!(told(&alone, None).tracker_host, None);
    session.close();
}
